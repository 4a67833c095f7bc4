"""The wire format of batches and their answers: a JSON header, then vectors and pictures as bytes.

Ray would pickle the records, which takes half a millisecond longer for a batch and its answer: a
quarter of what a call costs (`scripts/bench cluster`).
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isnan
from typing import Any, TypeAlias

import numpy as np

from onlooker.cluster.messages import (
    BatchAnswer,
    ClusterError,
    ExampleAnswer,
    NumberedExample,
)
from onlooker.core.records import Prediction

Batch: TypeAlias = tuple[str, int, list[NumberedExample], int]
"""Sender, session, examples, and the number up to which the sender has acknowledgements."""
_KINDS = ("|u1", "<f2", "<f4", "<f8")
"""The types that vectors travel in."""


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
    """The inverse of `encode_batch`; what is no batch is refused with a ClusterError.

    >>> decode_batch(b"no batch")
    Traceback (most recent call last):
    ...
    onlooker.cluster.messages.ClusterError: a batch cannot be read: subsection not found; ...
    """
    with _errors_about("a batch"):
        return _decoded_batch(encoded)


@contextmanager
def _errors_about(what: str) -> Iterator[None]:
    """Bytes from elsewhere end a parser in many ways, and each means the same."""
    try:
        yield
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ClusterError(
            f"{what} cannot be read: {error}; run the same version at both ends"
        ) from error


def _decoded_batch(encoded: bytes) -> Batch:
    at = encoded.index(b"\n") + 1
    sender, session, acknowledged, headers = json.loads(encoded[:at])
    # How large a number may be is the site's to say: it says the same to those that encode nothing.
    if not (type(sender) is str and type(session) is type(acknowledged) is int):
        raise ValueError("its sender, session or acknowledgement is none")
    examples = []
    for number, name, frame, taken, kind, shape, picture_size in headers:
        sound = type(number) is type(frame) is int and _is_text(name) and kind in _KINDS
        timed = taken is None or _is_number(taken)
        if not (sound and timed and all(map(_is_count, [*shape, picture_size or 0]))):
            raise ValueError("an example in it has no number, frame, name, time, type or size")
        dtype, count = np.dtype(kind), int(np.prod(shape, dtype=int))
        # A copy, because a view would keep the bytes of the whole batch in memory.
        vector = np.frombuffer(encoded, dtype, count, at).reshape(shape).copy()
        at += vector.nbytes
        picture = None if picture_size is None else encoded[at : at + picture_size]
        at += picture_size or 0
        if at > len(encoded):
            raise ValueError("it is cut off")
        examples.append(NumberedExample(number, vector, name, frame, taken, picture))
    return sender, session, examples, acknowledged


def _is_count(value: object) -> bool:
    """Whether it is a number that a database can store, and not a bool."""
    return type(value) is int and 0 <= value < 1 << 63


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
    """The inverse of `encode_answer`; what is no answer is refused with a ClusterError.

    >>> decode_answer(b"[[], true, null]")
    Traceback (most recent call last):
    ...
    onlooker.cluster.messages.ClusterError: an answer cannot be read: its event or the number ...
    """
    with _errors_about("an answer"):
        answers, event, expected = json.loads(encoded)
        if not (_is_count(event) and _is_count(expected or 0)):
            raise ValueError("its event or the number it expects is none")
        return BatchAnswer(tuple(_example_answer(*each) for each in answers), event, expected)


def _example_answer(number: Any, fields: Any, duplicate: Any, refused: Any) -> ExampleAnswer:
    prediction = None if fields is None else Prediction(*fields)
    if not (_is_count(number) and type(duplicate) is bool and _is_text(refused)):
        raise ValueError("an answer in it has no number")
    if prediction is not None:
        scores = [*prediction.scores.values(), prediction.sink]
        texts = [prediction.label, prediction.candidate, prediction.support]
        sound = all(map(_is_number, scores)) and _is_count(prediction.vertex or 0)
        if not (sound and all(map(_is_text, texts))):
            raise ValueError("a prediction in it has no name, scores or vertex")
    return ExampleAnswer(number, prediction, duplicate, refused)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and not isnan(value)  # an error if it is 10^400


def _is_text(value: object) -> bool:
    return value is None or type(value) is str


def _fields(prediction: Prediction | None) -> tuple[Any, ...] | None:
    if prediction is None:
        return None
    answer = prediction.label, dict(prediction.scores), prediction.sink, prediction.vertex
    return *answer, prediction.candidate, prediction.support


def _json(value: object) -> bytes:
    return json.dumps(value).encode()
