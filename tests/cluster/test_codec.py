"""What travels as bytes arrives as it was."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from onlooker.cluster.codec import (
    decode_answer,
    decode_batch,
    encode_answer,
    encode_batch,
)
from onlooker.cluster.messages import BatchAnswer, ExampleAnswer, NumberedExample
from onlooker.core.records import Prediction

counts = st.integers(0, 2**63 - 1)
floats = st.floats(allow_nan=False)
names = st.none() | st.text()
vectors = hnp.arrays(
    st.sampled_from([np.float32, np.float64, np.uint8]), hnp.array_shapes(max_dims=2, min_side=0)
)
examples = st.builds(
    NumberedExample, counts, vectors, names, counts, st.none() | floats, st.none() | st.binary()
)
predictions = st.builds(
    Prediction, names, st.dictionaries(st.text(), floats), floats, st.none() | counts
)
answers = st.builds(ExampleAnswer, counts, st.none() | predictions, st.booleans(), names)


def same(one, other):
    """All of an example, the type of its vector too."""
    plain = ("number", "name", "frame", "taken", "picture")
    return (
        all(getattr(one, field) == getattr(other, field) for field in plain)
        and one.vector.dtype == other.vector.dtype
        and np.array_equal(one.vector, other.vector, equal_nan=True)
    )


@given(st.text(), counts, st.lists(examples, max_size=4), counts)
def test_a_batch_arrives_as_it_was(sender, session, batch, acknowledged):
    parcel = encode_batch(sender, session, batch, acknowledged)
    to, number, arrived, upto = decode_batch(parcel)
    assert (to, number, upto) == (sender, session, acknowledged)
    assert len(arrived) == len(batch)
    assert all(map(same, arrived, batch))


@given(st.lists(answers, max_size=4), counts, st.none() | counts)
def test_an_answer_arrives_as_it_was(given, event, expected):
    delivery = BatchAnswer(tuple(given), event, expected)
    assert decode_answer(encode_answer(delivery)) == delivery
