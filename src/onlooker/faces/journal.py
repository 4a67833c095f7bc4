"""What is written of every change. `faces/replay.py` makes a state of it again.

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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Entry

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
    """The verb: observe, teach, unteach, drop, forget, merge, rename, merge names, undo."""
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
        return crc_of(self.columns)

    @property
    def changes(self) -> list[Change]:
        """The entries, read."""
        changes: list[Change] = json.loads(self.entries)
        return changes


ENTRIES = 5
"""Where the entries stand among the columns."""


def crc_of(columns: tuple[Any, ...]) -> int:
    """What an event with these columns must have as its CRC."""
    return crc32(repr(columns).encode())


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


def gone_in(entries: Iterable[Entry]) -> list[int]:
    """The vertices from before the call that are no more after it.

    >>> gone_in([Entry("new", 7), Entry("merged", 7, into=3), Entry("dropped", 2)])
    [2]
    """
    made, gone = set[int](), list[int]()
    for entry in entries:
        if entry.kind == "new":
            made.add(entry.vertex)
        elif entry.kind in ("merged", "dropped") and entry.vertex not in made:
            gone.append(entry.vertex)
    return gone


def shown_in(kind: str, entries: Sequence[Entry]) -> int | None:
    """The vertex that a picture belongs to: what was taught, or what is new and stays."""
    if kind == "teach":
        return entries[0].vertex
    return next((entry.vertex for entry in entries if entry.vector is not None), None)


def _bytes(vector: NDArray[Any]) -> memoryview:
    plain = np.asarray(vector, vector.dtype.newbyteorder("<"), order="C")
    return plain.view(np.uint8).data


def digest(learner: OnlineHarmonicLearner) -> str:
    """One word for ids, vectors, multiplicities, labels and radius: same word, same knowledge."""
    known = learner.vertices()
    words = hashlib.sha256()
    for column in (known.ids, known.vectors, known.multiplicities):
        words.update(f"{column.dtype.str} {column.shape} ".encode())
        words.update(np.ascontiguousarray(column).tobytes())
    words.update(json.dumps([known.names, learner.names, learner.radius]).encode())
    return words.hexdigest()
