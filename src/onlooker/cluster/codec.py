"""Batches and their answers as bytes: a line of JSON, then the vectors and pictures as they are.

Ray would pickle the records; that takes half a millisecond more for a batch and its answer, a
quarter of what a call costs (`scripts/bench cluster`).
"""

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from onlooker.cluster.messages import BatchAnswer, ExampleAnswer, NumberedExample
from onlooker.core.records import Prediction

Batch: TypeAlias = tuple[str, int, list[NumberedExample], int]
"""Sender, session, examples, and up to where the sender was acknowledged."""


def encode_batch(
    sender: str, session: int, examples: Sequence[NumberedExample], acknowledged: int
) -> bytes:
    """As it travels to a site.

    >>> taught = NumberedExample(7, np.zeros(2), "ana", picture=b"png")
    >>> parcel = encode_batch("door", 1, [taught], 6)
    >>> sender, session, (example,), acknowledged = decode_batch(parcel)
    >>> sender, session, acknowledged, example.number, example.vector, example.picture
    ('door', 1, 6, 7, array([0., 0.]), b'png')
    """
    rows, parts = [], []
    for example in examples:
        vector = np.asarray(example.vector)
        size = None if example.picture is None else len(example.picture)
        words = (example.number, example.name, example.frame, example.taken)
        rows.append((*words, vector.dtype.str, vector.shape, size))
        parts += [vector.tobytes(), example.picture or b""]
    return b"\n".join([_line((sender, session, acknowledged, rows)), b"".join(parts)])


def decode_batch(parcel: bytes) -> Batch:
    """What `encode_batch` packed."""
    at = parcel.index(b"\n") + 1
    sender, session, acknowledged, rows = json.loads(parcel[:at])
    examples = []
    for number, name, frame, taken, kind, shape, size in rows:
        dtype, count = np.dtype(kind), int(np.prod(shape, dtype=int))
        # A copy: one vector that is kept must not hold on to all of the parcel.
        vector = np.frombuffer(parcel, dtype, count, at).reshape(shape).copy()
        at += vector.nbytes
        picture = None if size is None else parcel[at : at + size]
        at += size or 0
        examples.append(NumberedExample(number, vector, name, frame, taken, picture))
    return sender, session, examples, acknowledged


def encode_answer(delivery: BatchAnswer) -> bytes:
    """As it travels back.

    >>> seen = Prediction("ana", {"ana": 0.7}, sink=0.1 + 0.2, vertex=17)
    >>> answers = ExampleAnswer(7, seen), ExampleAnswer(8, None, refused="too long")
    >>> delivery = BatchAnswer(answers, event=12)
    >>> decode_answer(encode_answer(delivery)) == delivery
    True
    """
    answers = [_answer(answer) for answer in delivery.answers]
    return _line((answers, delivery.event, delivery.expected))


def decode_answer(parcel: bytes) -> BatchAnswer:
    """What `encode_answer` packed."""
    answers, event, expected = json.loads(parcel)
    made = (
        ExampleAnswer(number, None if seen is None else Prediction(*seen), again, refused)
        for number, seen, again, refused in answers
    )
    return BatchAnswer(tuple(made), event, expected)


def _answer(answer: ExampleAnswer) -> tuple[Any, ...]:
    seen = answer.prediction
    words = None if seen is None else (seen.label, dict(seen.scores), seen.sink, seen.vertex)
    return answer.number, words, answer.again, answer.refused


def _line(what: object) -> bytes:
    """JSON escapes every line break, so that the first one ends it."""
    return json.dumps(what).encode()
