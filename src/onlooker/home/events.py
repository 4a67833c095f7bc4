"""What is written of every change. `home/replay.py` makes a state of it again.

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

The journal of a home in its database: events with their vectors, in order.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Entry
from onlooker.home.database import Database, HomeError

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


_EVENT = "sequence, time, camera, frame, kind, entries, next_id, type, crc"
AT_ONCE = 500
"""Events read in one go, or deleted in one transaction: what is overwritten passes through the
log, which must not need as much room again as the journal has."""


class EventLog:
    """The events of a store. Only the sequence orders them; the clock may have been set."""

    def __init__(self, store: Database) -> None:
        self._store = store

    def append(self, event: Event, data: bytes | None = None) -> None:
        """An event and the vectors it brings; by itself, or within a transaction."""
        row = *event.columns, event.crc, data
        self._store.change("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def events(self, after: int, upto: int) -> Iterator[tuple[Event, bool]]:
        """Events in order, each with whether it is as it was written."""
        sql = f"SELECT {_EVENT} FROM events WHERE sequence > ? AND sequence <= ? ORDER BY sequence"
        for *columns, crc in self._store.each(sql, (after, upto)):
            event = Event(*columns)
            yield event, event.crc == crc

    def changes(self, after: int, upto: int) -> Iterator[tuple[int, list[Change] | None]]:
        """The same for a restart, which may have a hundred thousand to read: number and changes.

        None: it is not as it was written. The changes of many events are read in one go, which
        takes a fraction of the time that one by one does.
        """
        sql = f"SELECT {_EVENT} FROM events WHERE sequence > ? AND sequence <= ? ORDER BY sequence"
        rows = self._store.each(sql, (after, upto))
        damage: HomeError | None = None
        while damage is None:
            some: list[tuple[Any, ...]] = []
            try:
                some.extend(islice(rows, AT_ONCE))
            except HomeError as error:
                damage = error  # what could be read before it counts
            if not some and damage is None:
                return
            sound = [crc_of(row[:-1]) == row[-1] for row in some]
            kept = [row[ENTRIES] for row, good in zip(some, sound, strict=True) if good]
            read = iter(json.loads(f"[{','.join(kept)}]"))
            for row, good in zip(some, sound, strict=True):
                yield row[0], next(read) if good else None
        raise damage

    def listed(
        self,
        after: int,
        limit: int,
        *,
        before: int | None = None,
        kind: str | None = None,
        camera: str | None = None,
        newest: bool = False,
    ) -> list[Event]:
        """Some events for people, in order, or the newest first; damaged ones are left out."""
        wanted = {"sequence < ?": before, "kind = ?": kind, "camera = ?": camera}
        given = {test: value for test, value in wanted.items() if value is not None}
        where = " AND ".join(("sequence > ?", *given))
        order = "DESC" if newest else "ASC"
        sql = f"SELECT {_EVENT} FROM events WHERE {where} ORDER BY sequence {order} LIMIT ?"
        rows = self._store.run(sql, (after, *given.values(), limit))
        return [event for *columns, crc in rows if (event := Event(*columns)).crc == crc]

    def times(self, sequences: Iterable[int]) -> dict[int, float]:
        """When these events happened, those that are still there."""
        wanted = list(sequences)
        marks = ",".join("?" * len(wanted))
        sql = f"SELECT sequence, time FROM events WHERE sequence IN ({marks})"
        return {row[0]: row[1] for row in self._store.run(sql, wanted)}

    def last_undo(self, after: int, upto: int) -> int | None:
        """The sequence number of the newest undo between two others."""
        sql = "SELECT max(sequence) FROM events WHERE kind = 'undo' AND sequence BETWEEN ? AND ?"
        found: int | None = self._store.run(sql, (after + 1, upto))[0][0]
        return found

    def last(self) -> tuple[int, int]:
        """The newest event's number and the id that is next after it; zeros without any."""
        rows = self._store.run(
            "SELECT sequence, CAST(next_id AS INTEGER) FROM events ORDER BY sequence DESC LIMIT 1"
        )
        sequence, next_id = rows[0] if rows else (0, 0)
        return int(sequence), int(next_id)

    def vectors(self, sequences: Iterable[int]) -> dict[int, NDArray[Any]]:
        """The vectors that these events brought, by vertex; damaged ones are left out."""
        found: dict[int, NDArray[Any]] = {}
        sql = f"SELECT {_EVENT}, data FROM events WHERE sequence = ? AND data IS NOT NULL"
        for sequence in sequences:
            for *columns, crc, data in self._store.run(sql, (sequence,)):
                if (event := Event(*columns)).crc == crc:
                    found |= vectors_in(event, data)
        return found

    def brought_a_vector(self, upto: int) -> int | None:
        """The newest event up to that one which brought any."""
        sql = "SELECT max(sequence) FROM events WHERE data IS NOT NULL AND sequence <= ?"
        found: int | None = self._store.run(sql, (upto,))[0][0]
        return found

    def prune(self, oldest: int) -> int:
        """Forget how the state of that event came about: how many events went."""
        sql = (
            "DELETE FROM events WHERE sequence IN "
            "(SELECT sequence FROM events WHERE sequence < ? ORDER BY sequence LIMIT ?)"
        )
        gone = 0
        while went := self._store.change(sql, (oldest, AT_ONCE)):
            gone += went
        return gone
