"""What is written of every change, and how a state is made of it again without solving.

An event is one call that changed something. Its entries are JSON, one short list a change, in
the order the graph made them:

    ["new", 7]  ["new", 7, 12, "ana"]                      a vertex, its examples, its name
    ["new", 7, 12, null, 1657960367]                       the CRC32 of its vector, if it stays
    ["absorbed", 3]  ["absorbed", 3, 5]                    one example more, or several
    ["merged", 7, 3]  ["dropped", 7]                       7 is part of 3 now; 7 is gone
    ["labeled", 7, "ana"]  ["unlabeled", 7]
    ["doubled", 0.5]  ["radius", 0.5]                      R after a doubling; R from elsewhere
    ["names", ["ana", "ben"]]                              all names in order, when they changed
    ["undo", 41]                                           the state after event 41

The vectors themselves follow one another in the event's data, in the order of the entries.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from onlooker.graph import UNLABELED
from onlooker.online import OnlineHarmonicLearner
from onlooker.records import Entry, State

Change: TypeAlias = list[Any]
"""One entry as it stands in the journal."""
_encode = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Event:
    """One call that changed something.

    >>> Event(1, 0.0, None, None, "drop", '[["dropped", 7]]').changes
    [['dropped', 7]]
    """

    sequence: int
    time: float
    """Seconds since 1970, as the clock had it: for people. Only sequence orders events."""
    camera: str | None
    frame: int | None
    kind: str
    """The verb: observe, teach, unteach, drop, forget, merge, undo."""
    entries: str
    next_id: int = 0
    """The id that the next vertex will get."""
    type: str | None = None
    """Of the numbers in its data, as numpy has it: <f4 or <f8."""

    @property
    def columns(self) -> tuple[Any, ...]:
        """The fields in order."""
        who = self.sequence, self.time, self.camera, self.frame, self.kind
        return *who, self.entries, self.next_id, self.type

    @property
    def crc(self) -> int:
        """Of everything above."""
        return crc32(repr(self.columns).encode())

    @property
    def changes(self) -> list[Change]:
        """The entries, read."""
        changes: list[Change] = json.loads(self.entries)
        return changes


def written(changes: Iterable[Change]) -> str:
    """Entries as they are kept.

    >>> written([["new", 7], ["merged", 7, 3]])
    '[["new",7],["merged",7,3]]'
    """
    return _encode(list(changes))


def as_change(entry: Entry) -> Change:
    """An entry of the learner as it stands in the journal.

    >>> as_change(Entry("new", 7, 12))
    ['new', 7, 12, None]
    """
    match entry.kind:
        case "merged":
            return ["merged", entry.vertex, entry.into]
        case "labeled":
            return ["labeled", entry.vertex, entry.name]
        case "new" if entry.vector is not None:
            return ["new", entry.vertex, entry.count, entry.name, crc32(_bytes(entry.vector))]
        case "new" if entry.count != 1:
            return ["new", entry.vertex, entry.count, entry.name]
        case "absorbed" if entry.count != 1:
            return ["absorbed", entry.vertex, entry.count]
    return [entry.kind, entry.vertex]


def data_of(entries: Iterable[Entry]) -> tuple[str | None, bytes | None]:
    """The vectors that an event brings, as one piece, and the type of their numbers."""
    vectors = [entry.vector for entry in entries if entry.vector is not None]
    if not vectors:
        return None, None
    return vectors[0].dtype.newbyteorder("<").str, b"".join(map(_bytes, vectors))


def vectors_in(event: Event, data: bytes) -> dict[int, NDArray[Any]]:
    """The vectors that an event brought, by vertex; damaged ones are left out."""
    brought = [change for change in event.changes if change[0] == "new" and len(change) == 5]
    size = len(data) // max(1, len(brought))
    pieces = [data[at * size : (at + 1) * size] for at in range(len(brought))]
    return {
        change[1]: np.frombuffer(piece, event.type).astype(np.dtype(event.type).newbyteorder("="))
        for change, piece in zip(brought, pieces, strict=True)
        if crc32(piece) == change[4]
    }


def _bytes(vector: NDArray[Any]) -> memoryview:
    plain = np.asarray(vector, vector.dtype.newbyteorder("<"), order="C")
    return plain.view(np.uint8).data


class Table:
    """The vertices of a learner as a plain table, to which changes are applied."""

    def __init__(self, state: State) -> None:
        names = [state.names[label] if label >= 0 else None for label in state.labels]
        counts = state.multiplicities.tolist()
        self.vertices: dict[int, list[Any]] = {
            vertex: [count, name, 0]
            for vertex, count, name in zip(state.ids.tolist(), counts, names, strict=True)
        }
        """Per id, how many examples it stands for, its name, and the event that brought it."""
        self.names, self.radius, self.next_id = list(state.names), state.radius, state.next_id
        self._vectors = dict(zip(state.ids.tolist(), state.vectors, strict=True))
        self._like = state.vectors[:0]

    def apply(self, changes: Iterable[Change], sequence: int) -> None:
        """Repeat what one event did."""
        vertices = self.vertices
        for change in changes:
            kind, vertex = change[0], change[1]
            if kind == "new":
                count, name = change[2:4] if len(change) > 2 else (1, None)
                vertices[vertex] = [count, name, sequence]
                self.next_id = max(self.next_id, vertex + 1)
            elif kind == "merged":
                vertices[change[2]][0] += vertices.pop(vertex)[0]
            elif kind == "absorbed":
                vertices[vertex][0] += change[2] if len(change) > 2 else 1
            elif kind == "dropped":
                del vertices[vertex]
            elif kind in ("labeled", "unlabeled"):
                vertices[vertex][1] = change[2] if kind == "labeled" else None
            elif kind == "names":
                self.names = change[1]
            elif kind in ("doubled", "radius"):
                self.radius = change[1]
            elif kind != "undo":
                raise ValueError(f"an event speaks of {kind!r}")

    @property
    def unknown(self) -> set[int]:
        """The events that brought the vectors which are still to be found."""
        missing = (vertex for vertex in self.vertices if vertex not in self._vectors)
        return {self.vertices[vertex][2] for vertex in missing}

    def complete(self, vectors: Mapping[int, NDArray[Any]]) -> list[int]:
        """Take in vectors; the vertices that remain without one are left out, and told."""
        self._vectors.update(vectors)
        lost = [vertex for vertex in self.vertices if vertex not in self._vectors]
        for vertex in lost:
            del self.vertices[vertex]
        return lost

    def state(self, like: NDArray[Any] | None = None) -> State:
        """The table as the arrays a learner is made of; like: a vector, should none be left."""
        used = {name for _, name, _ in self.vertices.values()}
        names = [name for name in self.names if name in used]
        numbers = {name: number for number, name in enumerate(names)}
        labels = [numbers.get(name, UNLABELED) for _, name, _ in self.vertices.values()]
        rows = [self._vectors[vertex] for vertex in self.vertices]
        empty = self._like if like is None or self._like.shape[1] else like[None][:0]
        return State(
            np.array(list(self.vertices), dtype=np.int64),
            np.array(rows) if rows else empty,
            np.array([count for count, _, _ in self.vertices.values()], dtype=np.int64),
            np.array(labels, dtype=np.int64),
            names,
            self.radius,
            self.next_id,
        )


def digest(learner: OnlineHarmonicLearner) -> str:
    """One word for ids, vectors, multiplicities, labels and radius: same word, same knowledge."""
    known = learner.vertices()
    words = hashlib.sha256()
    for column in (known.ids, known.vectors, known.multiplicities):
        words.update(f"{column.dtype.str} {column.shape} ".encode())
        words.update(np.ascontiguousarray(column).tobytes())
    words.update(json.dumps([known.names, learner.names, learner.radius]).encode())
    return words.hexdigest()
