"""The wire format of batches and their answers: a JSON header, then vectors and pictures as bytes.

Ray would pickle the records, which takes half a millisecond longer for a batch and its answer: a
quarter of what a call costs (`scripts/bench cluster`).
"""

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from onlooker.cluster.messages import BatchAnswer, ExampleAnswer, NumberedExample
from onlooker.core.records import Prediction

Batch: TypeAlias = tuple[str, int, list[NumberedExample], int]
"""Sender, session, examples, and the number up to which the sender has acknowledgements."""


def encode_batch(
    sender: str, session: int, examples: Sequence[NumberedExample], acknowledged: int
) -> bytes:
    """A batch as it travels to a site.

    >>> taught = NumberedExample(7, np.zeros(2), "ana", picture=b"png")
    >>> encoded = encode_batch("door", 1, [taught], 6)
    >>> sender, session, (example,), acknowledged = decode_batch(encoded)
    >>> sender, session, acknowledged, example.number, example.vector, example.picture
    ('door', 1, 6, 7, array([0., 0.]), b'png')
    """
    headers, parts = [], []
    for example in examples:
        vector = np.asarray(example.vector)
        picture_size = None if example.picture is None else len(example.picture)
        described = (example.number, example.name, example.frame, example.taken)
        headers.append((*described, vector.dtype.str, vector.shape, picture_size))
        parts += [vector.tobytes(), example.picture or b""]
    # JSON escapes every line break, so the first one ends the header.
    return b"\n".join([_json((sender, session, acknowledged, headers)), b"".join(parts)])


def decode_batch(encoded: bytes) -> Batch:
    """The inverse of `encode_batch`."""
    at = encoded.index(b"\n") + 1
    sender, session, acknowledged, headers = json.loads(encoded[:at])
    examples = []
    for number, name, frame, taken, kind, shape, picture_size in headers:
        dtype, count = np.dtype(kind), int(np.prod(shape, dtype=int))
        # A copy, because a view would keep the bytes of the whole batch in memory.
        vector = np.frombuffer(encoded, dtype, count, at).reshape(shape).copy()
        at += vector.nbytes
        picture = None if picture_size is None else encoded[at : at + picture_size]
        at += picture_size or 0
        examples.append(NumberedExample(number, vector, name, frame, taken, picture))
    return sender, session, examples, acknowledged


def encode_answer(answer: BatchAnswer) -> bytes:
    """An answer as it travels back to the sender.

    >>> prediction = Prediction("ana", {"ana": 0.7}, sink=0.1 + 0.2, vertex=17)
    >>> answers = ExampleAnswer(7, prediction), ExampleAnswer(8, None, refused="too long")
    >>> answer = BatchAnswer(answers, event=12)
    >>> decode_answer(encode_answer(answer)) == answer
    True
    """
    answers = [
        (each.number, _fields(each.prediction), each.duplicate, each.refused)
        for each in answer.answers
    ]
    return _json((answers, answer.event, answer.expected))


def decode_answer(encoded: bytes) -> BatchAnswer:
    """The inverse of `encode_answer`."""
    answers, event, expected = json.loads(encoded)
    decoded = (
        ExampleAnswer(number, None if fields is None else Prediction(*fields), duplicate, refused)
        for number, fields, duplicate, refused in answers
    )
    return BatchAnswer(tuple(decoded), event, expected)


def _fields(prediction: Prediction | None) -> tuple[Any, ...] | None:
    if prediction is None:
        return None
    answer = prediction.label, dict(prediction.scores), prediction.sink, prediction.vertex
    return *answer, prediction.candidate, prediction.support


def _json(value: object) -> bytes:
    return json.dumps(value).encode()
