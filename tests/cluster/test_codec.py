"""What travels as bytes arrives as it was."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from onlooker.cluster.codec import (
    decode_answer,
    decode_batch,
    encode_answer,
    encode_batch,
)
from onlooker.cluster.messages import BatchAnswer, ClusterError, ExampleAnswer, NumberedExample
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


whole = encode_batch(
    "door", 3, [NumberedExample(7, np.ones(4, np.float32), "ana", 2, 1.5, b"p")], 6
)


@given(
    st.binary(max_size=99)
    | st.integers(0, len(whole) - 2).map(lambda size: whole[:size])
    | st.tuples(st.integers(0, whole.index(b"\n")), st.integers(1, 255)).map(
        lambda at: whole[: at[0]] + bytes([whole[at[0]] ^ at[1]]) + whole[at[0] + 1 :]
    )
)
def test_a_malformed_batch_raises_no_raw_exception(encoded):
    try:
        sender, session, examples, acknowledged = decode_batch(encoded)
    except ClusterError:
        return
    assert (type(sender), type(session), type(acknowledged)) == (str, int, int)
    assert all(type(example.number) is int for example in examples)


@pytest.mark.parametrize(
    "header",
    [
        '["door", 1, 6, [[7, "ana", 0, null, "<f4", [-1], null]]]',
        '["door", 1, 6, [[7, "ana", 0, null, "O", [1], null]]]',
        '["door", 1, 1e30, []]',
        '["door", true, 6, []]',
        '["door", 1, 6, [[7, "ana", 0, "noon", "<f4", [0], null]]]',
        '["door", 1, 6, [[7, "ana", 0, null, "<M8[D]", [0], null]]]',
        '["door", 1, 6, [[7, "ana", 0, null, {"names": []}, [0], null]]]',
        '["door", 1, 6, [[7, 5, 0, null, "<f4", [0], null]]]',
        '["door", 1, 6, [[7, "ana", 0, null, "<f4", [0], 9]]]',
        f'["door", 1, 6, [[7, "ana", 0, 1{"0" * 400}, "<f4", [0], null]]]',
        '{"a": 1}',
        "[" * 100_000,
    ],
)
def test_a_header_that_lies_is_refused_in_one_line(header):
    with pytest.raises(ClusterError, match=r"a batch cannot be read: .*; run the same version"):
        decode_batch(header.encode() + b"\n")


@pytest.mark.parametrize(
    "answer",
    [
        "no answer",
        "true",
        "[[], true, null]",
        '[[], 1, "2"]',
        "[[[7, null, false]], 1, null]",
        '[[["7", null, false, null]], 1, null]',
        '[[[7, ["ana", [0.5], 0.1, 3], false, null]], 1, null]',
        '[[[7, ["ana", {"ana": "much"}, 0.1, 3], false, null]], 1, null]',
        f'[[[7, ["ana", {{"ana": 1{"0" * 400}}}, 0.1, 3], false, null]], 1, null]',
        "[" * 100_000,
    ],
)
def test_a_malformed_answer_raises_no_raw_exception(answer):
    with pytest.raises(ClusterError, match=r"an answer cannot be read: .*; run the same version"):
        decode_answer(answer.encode())
