"""The event log of a home: one event per call that changed something, in the table `events`.

`replay.py` makes a learner of it again. The entries of an event are JSON, one short list per
change, in the order in which the graph made them:

    ["new", 7]  ["new", 7, 12, "ana"]                      a vertex, its examples, its name
    ["new", 7, 12, null, 1657960367]                       the CRC32 of its vector, if it stays
    ["absorbed", 3]  ["absorbed", 3, 5]                    one example more, or several
    ["merged", 7, 3]  ["dropped", 7]                       7 is part of 3 now; 7 is gone
    ["reduced", 3, 5, [7]]                                 7 had five examples; it is not in 3 now
    ["labeled", 7, "ana"]  ["unlabeled", 7]                unlabeled: of what it is not, too
    ["negatives", 7, ["ana"]]  ["negatives", 7, [null]]    all that 7 is not; null: it is nobody
    ["doubled", 0.5]  ["radius", 0.5]                      R after a doubling; R set by a merge
    ["names", ["ana", "ben"]]                              all names in order, when they changed
    ["undo", 41]                                           the state after event 41
    ["twice", 7, 3, "ana"]                                 two faces of one frame, near to 7 and 3,
                                                           were both ana; nothing changed
    ["people", [[2, "ana", "anna"]]]                       persons whose name changed; see album.py
    ["alarm", "region", "ana", [7, 9], null, 5]            see `alarms.py`; nothing is changed
    ["camera", "failing", "Connection refused"]            a camera fails, or is live, ended or
                                                           removed after it did; nothing is changed

The vectors themselves follow one another in the event's data, in the order of the entries.
"""

import hashlib
import json
from collections.abc import Callable, Container, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Entry
from onlooker.home.album import NameChange
from onlooker.home.database import Database, HomeDamaged, HomeError, row_crc

Change: TypeAlias = list[Any]
"""One entry as it is stored."""
CHUNK = 500
"""Events read at once, or deleted in one transaction: deleted rows are overwritten, which passes
through the write-ahead log, and that must not grow to the size of the whole event log."""
_COLUMNS = "sequence, time, camera, frame, kind, entries, next_id, type, crc"
_ENTRIES = 5
"""The position of the entries among the columns."""
_encode = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Event:
    """One call that changed something.

    >>> Event(1, 0.0, None, None, "drop", '[["dropped", 7]]').changes
    [['dropped', 7]]
    """

    sequence: int
    time: float
    """Seconds since 1970 by the wall clock, for people. Only the sequence orders events."""
    camera: str | None
    frame: int | None
    kind: str
    """The verb: observe, teach, exclude (who it is not), unteach, drop, reduce (what was merged is
    taken out again), forget, merge, rename,
    merge names, undo; answer (a person said something of a stranger that the learner does not
    learn, so there are no changes); twice (two faces of one frame had one name); alarm (of what the
    event before learned); camera (one began to fail, or that is over)."""
    entries: str
    next_id: int = 0
    """The id that the next vertex will get."""
    type: str | None = None
    """The number type of its vectors in numpy's notation: <f4 or <f8."""

    @property
    def columns(self) -> tuple[Any, ...]:
        """The fields in order."""
        origin = self.sequence, self.time, self.camera, self.frame, self.kind
        return *origin, self.entries, self.next_id, self.type

    @property
    def crc(self) -> int:
        """The checksum of all fields."""
        return row_crc(self.columns)

    @property
    def changes(self) -> list[Change]:
        """The entries, decoded."""
        changes: list[Change] = json.loads(self.entries)
        return changes


class EventLog:
    """Appends and reads events. Only the sequence orders them; the wall clock may be set."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock
        self.sequence = 0
        """The number of the newest event; `HomeFolder` sets it when it has read the disk."""
        self.damaged: set[int] = set()
        """Events that were asked for and could not be shown."""

    def append(
        self,
        kind: str,
        changes: Iterable[Change],
        *,
        next_id: int,
        entries: Iterable[Entry] = (),
        camera: str | None = None,
        frame: int | None = None,
        person: int | None = None,
        also: Callable[[], object] | None = None,
    ) -> None:
        """Store one event, and whatever `also` writes, in one transaction; durable on return."""
        number, now = self.sequence + 1, float(self._clock())
        number_type, data = encode_vectors(entries)
        stored = encode_changes(changes)
        event = Event(number, now, camera, frame, kind, stored, next_id, number_type)
        if also is None:
            self.insert(event, data, person)  # a single statement is a transaction
        else:
            with self._database.transaction():
                self.insert(event, data, person)
                also()
        self.sequence = number

    def insert(self, event: Event, data: bytes | None = None, person: int | None = None) -> None:
        """Store one event and the vectors it brings, by itself or within a transaction.

        person: the number of whoever it is about.
        """
        self._database.mark_numbered()
        row = *event.columns, event.crc, data, person
        self._database.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    # ---- reading for a replay

    def events(self, after: int, upto: int) -> Iterator[tuple[Event, bool]]:
        """Events in order, each with whether its checksum holds."""
        sql = (
            f"SELECT {_COLUMNS} FROM events WHERE sequence > ? AND sequence <= ? ORDER BY sequence"
        )
        for *columns, crc in self._database.iterate(sql, (after, upto)):
            event = Event(*columns)
            yield event, event.crc == crc

    def changes(self, after: int, upto: int) -> Iterator[tuple[int, list[Change] | None]]:
        """Number and changes of many events; None where the checksum does not hold.

        A restart may read 100,000 of them: decoding many at once takes a fraction of the time.
        """
        sql = (
            f"SELECT {_COLUMNS} FROM events WHERE sequence > ? AND sequence <= ? ORDER BY sequence"
        )
        rows = self._database.iterate(sql, (after, upto))
        damage: HomeError | None = None
        while damage is None:
            chunk: list[tuple[Any, ...]] = []
            try:
                chunk.extend(islice(rows, CHUNK))
            except HomeError as error:
                damage = error  # the rows read before it count
            if not chunk and damage is None:
                return
            sound = [row_crc(row[:-1]) == row[-1] for row in chunk]
            texts = [row[_ENTRIES] for row, good in zip(chunk, sound, strict=True) if good]
            decoded = iter(json.loads(f"[{','.join(texts)}]"))
            for row, good in zip(chunk, sound, strict=True):
                yield row[0], next(decoded) if good else None
        raise damage

    def vectors(self, sequences: Iterable[int]) -> dict[int, NDArray[Any]]:
        """The vectors that these events brought, by vertex; damaged ones are left out."""
        found: dict[int, NDArray[Any]] = {}
        sql = f"SELECT {_COLUMNS}, data FROM events WHERE sequence = ? AND data IS NOT NULL"
        for sequence in sequences:
            for *columns, crc, data in self._database.query(sql, (sequence,)):
                if (event := Event(*columns)).crc == crc:
                    found |= decode_vectors(event, data)
        return found

    def last_with_vectors(self, upto: int) -> int | None:
        """The newest event up to that one which brought any vector."""
        sql = "SELECT max(sequence) FROM events WHERE data IS NOT NULL AND sequence <= ?"
        found: int | None = self._database.query(sql, (upto,))[0][0]
        return found

    def last_undo(self, after: int, upto: int) -> int | None:
        """The newest undo after one event and up to another."""
        sql = "SELECT max(sequence) FROM events WHERE kind = 'undo' AND sequence BETWEEN ? AND ?"
        found: int | None = self._database.query(sql, (after + 1, upto))[0][0]
        return found

    def last(self) -> tuple[int, int]:
        """The newest stored event and the vertex id that comes next; zeros without events."""
        rows = self._database.query(
            "SELECT sequence, CAST(next_id AS INTEGER) FROM events ORDER BY sequence DESC LIMIT 1"
        )
        sequence, next_id = rows[0] if rows else (0, 0)
        if next_id is None:  # a bit in the head of the row says so
            raise HomeDamaged(f"event {sequence} is damaged")
        return int(sequence), int(next_id)

    def of_vertex(self, vertex: int) -> int:
        """The event that brought a vertex, or the oldest that is stored if it is older."""
        sql = "SELECT min(sequence) FROM events WHERE next_id > ?"
        found: int | None = self._database.query(sql, (vertex,))[0][0]
        return found or 0

    def first(self) -> int:
        """The oldest stored event; 0 without events."""
        found: int | None = self._database.query("SELECT min(sequence) FROM events")[0][0]
        return found or 0

    # ---- reading for people

    def select(
        self,
        after: int,
        limit: int,
        *,
        before: int | None = None,
        kind: str | None = None,
        camera: str | None = None,
        newest: bool = False,
    ) -> list[Event]:
        """Some events in order, or the newest first; damaged ones are left out and remembered."""
        wanted = {"sequence < ?": before, "kind = ?": kind, "camera = ?": camera}
        given = {test: value for test, value in wanted.items() if value is not None}
        where = " AND ".join(("sequence > ?", *given))
        order = "DESC" if newest else "ASC"
        sql = f"SELECT {_COLUMNS} FROM events WHERE {where} ORDER BY sequence {order} LIMIT ?"
        found = []
        for *columns, crc in self._database.query(sql, (after, *given.values(), limit)):
            event = Event(*columns)
            if event.crc == crc:
                found.append(event)
            else:
                self.damaged.add(event.sequence)
        return found

    def times(self, sequences: Iterable[int]) -> dict[int, float]:
        """When these events happened, those that are still stored."""
        wanted = list(sequences)
        marks = ",".join("?" * len(wanted))
        sql = f"SELECT sequence, time FROM events WHERE sequence IN ({marks})"
        return {row[0]: row[1] for row in self._database.query(sql, wanted)}

    def prune(self, oldest: int, *, before: float = inf, after: float = inf) -> int:
        """Delete the events before that one, and before a time or after another: how many."""
        sql = (
            "DELETE FROM events WHERE sequence IN (SELECT sequence FROM events "
            "WHERE sequence < ? AND (time <= ? OR time > ?) ORDER BY sequence LIMIT ?)"
        )
        deleted = 0
        while count := self._database.execute(sql, (oldest, before, after, CHUNK)):
            deleted += count
        return deleted

    # ---- names and persons

    def name_changes(self, after: int) -> list[NameChange]:
        """All changes of persons' names since an event, the newest first."""
        sql = (
            "SELECT entries FROM events WHERE sequence > ? AND instr(entries, '[\"people\",') "
            "ORDER BY sequence DESC"
        )
        found: list[NameChange] = []
        for (entries,) in self._database.query(sql, (after,)):
            for change in json.loads(entries):
                if change[0] == "people":
                    found += reversed(change[1])
        return found

    def mentions(self, name: str) -> bool:
        """Whether a name occurs in any event."""
        sql = "SELECT 1 FROM events WHERE instr(entries, ?) LIMIT 1"
        return bool(self._database.query(sql, (_encode(name),)))

    def vertices_of(self, persons: Iterable[int]) -> dict[int, NDArray[Any]]:
        """The vectors of all events about these persons, by vertex."""
        sql = "SELECT sequence FROM events WHERE person = ? AND data IS NOT NULL"
        rows = [row[0] for each in persons for row in self._database.query(sql, (each,))]
        return self.vectors(rows)

    def last_forgetting(self) -> int:
        """The newest event that forgot somebody; 0: there is none."""
        sql = "SELECT max(sequence) FROM events WHERE kind = 'forget'"
        return int(self._database.query(sql)[0][0] or 0)

    def forget(
        self, names: Set[str], persons: Set[int], *, upto: int, alive: Container[int]
    ) -> int:
        """Delete what is about persons, and names and vectors of theirs elsewhere: how many rows.

        Up to the event that forgot them; alive: the vertices that exist now. The rows of others
        stay. A vector goes if its vertex was forgotten; where nobody knows whom an event was about,
        it stays only if its vertex exists. In transactions of bounded size: after a crash, again.
        """
        deleted, gone = 0, self._forgotten_vertices(upto)
        self._erase_copies(names, persons, gone, upto=upto, alive=alive)
        for rows in self._chunks(upto):
            with self._database.transaction():
                for event, data, person, is_sound in rows:
                    if not is_sound or person in persons or _is_about(event, person, names):
                        deleted += self._delete(event.sequence)
                    else:
                        stays = Always() if person is not None else alive
                        self._replace(event, data, person, names, gone, stays)
        return deleted

    def _erase_copies(
        self,
        names: Set[str],
        persons: Set[int],
        gone: Set[int],
        *,
        upto: int,
        alive: Container[int],
    ) -> None:
        """Erase vectors of the forgotten that were once somebody else's: named so, and undone.

        Before anything of the forgotten is deleted: after a crash, their vectors are still known.
        """
        forgotten = set[bytes]()
        for rows in self._chunks(upto):
            for event, data, person, is_sound in rows:
                if is_sound and data is not None:
                    theirs = person in persons or _is_about(event, person, names)
                    found = decode_vectors(event, data)
                    forgotten |= {x.tobytes() for v, x in found.items() if theirs or v in gone}
        for rows in self._chunks(upto) if forgotten else ():
            with self._database.transaction():
                for event, data, person, is_sound in rows:
                    if is_sound and data is not None and person not in persons:
                        found = decode_vectors(event, data)
                        copies = {v for v, x in found.items() if x.tobytes() in forgotten}
                        copies = {v for v in copies if v not in alive}
                        self._replace(event, data, person, set(), copies, Always())

    def _chunks(self, upto: int) -> Iterator[list[tuple[Event, bytes | None, int | None, bool]]]:
        """All rows up to an event, some at a time: data, person, and whether it is sound."""
        last = 0
        sql = (
            f"SELECT {_COLUMNS}, data, person FROM events "
            "WHERE sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?"
        )
        while rows := self._database.query(sql, (last, upto, CHUNK)):
            last = rows[-1][0]
            yield [
                (event, data, person, event.crc == crc)
                for *columns, crc, data, person in rows
                for event in [Event(*columns)]
            ]

    def _replace(
        self,
        event: Event,
        data: bytes | None,
        person: int | None,
        names: Set[str],
        gone: Container[int],
        stays: Container[int],
    ) -> None:
        """Store an event without some names and vectors."""
        rest = _without_names(event, data, names, gone, stays)
        if rest != (event, data):
            self._delete(event.sequence)
            self.insert(*rest, person)

    def _forgotten_vertices(self, upto: int) -> set[int]:
        sql = "SELECT entries FROM events WHERE kind = 'forget' AND sequence <= ?"
        rows = self._database.query(sql, (upto,))
        changes = [change for (entries,) in rows for change in json.loads(entries)]
        return {change[1] for change in changes if change[0] == "dropped"}

    def _delete(self, sequence: int) -> int:
        return self._database.execute("DELETE FROM events WHERE sequence = ?", (sequence,))


class Always:
    """Contains everything."""

    def __contains__(self, _: object) -> bool:
        return True


def _is_about(event: Event, person: int | None, names: Set[str]) -> bool:
    """Whether an event that names no person taught or changed one of these names.

    An alarm is about two, if they touch.
    """
    if event.kind == "alarm":
        return any(names & {change[2], change[4]} for change in event.changes)
    if person is not None or event.kind not in ("teach", "rename", "merge names", "twice"):
        return False
    naming = ("new", "labeled", "twice")
    given = [change[2:4] for change in event.changes if change[0] in naming]
    return any(names & set(each) for each in given)


def _without_names(
    event: Event,
    data: bytes | None,
    names: Set[str],
    gone: Container[int],
    alive: Container[int],
) -> tuple[Event, bytes | None]:
    """An event without some names, and without vectors of vertices that are gone or not alive."""
    changes, pieces = [], []
    brought = sum(change[0] == "new" and len(change) == 5 for change in event.changes)
    size = len(data or b"") // max(1, brought)
    place = 0
    for change in event.changes:
        match change[0]:
            case "names" | "negatives":
                changes.append([*change[:-1], [name for name in change[-1] if name not in names]])
            case "people":
                changes.append(["people", [row for row in change[1] if not names & set(row[1:])]])
            case "labeled":
                changes.append([*change[:2], None if change[2] in names else change[2]])
            case "new" if len(change) > 2:
                vertex, count, name, *crc = change[1:]
                if crc:
                    piece = (data or b"")[place : place + size]
                    place += size
                    if vertex in gone or vertex not in alive:
                        crc = []
                    else:
                        pieces.append(piece)
                changes.append(["new", vertex, count, None if name in names else name, *crc])
            case _:
                changes.append(change)
    if changes == event.changes:
        return event, data
    left = b"".join(pieces) or None
    return replace(event, entries=encode_changes(changes), type=event.type if left else None), left


def encode_changes(changes: Iterable[Change]) -> str:
    """Entries as they are stored.

    >>> encode_changes([["new", 7], ["merged", 7, 3]])
    '[["new",7],["merged",7,3]]'
    """
    return _encode(list(changes))


def changes_of(
    learner: OnlineHarmonicLearner, entries: Iterable[Entry], names: Sequence[str], radius: float
) -> list[Change]:
    """What the last call did: to the graph, and to names and radius, which were these before it."""
    changes = [change_of(entry) for entry in entries]
    if learner.radius != radius:
        doubled = learner.changes().doubled
        changes += [["doubled", each] for each in doubled]
        if not doubled or doubled[-1] != learner.radius:
            changes.append(["radius", learner.radius])
    if learner.names != names:
        changes.append(["names", list(learner.names)])
    return changes


def change_of(entry: Entry) -> Change:
    """An entry of the learner as it is stored.

    >>> change_of(Entry("new", 7, 12))
    ['new', 7, 12, None]
    """
    match entry.kind:
        case "merged":
            return ["merged", entry.vertex, entry.into]
        case "labeled":
            return ["labeled", entry.vertex, entry.name]
        case "negatives":
            return ["negatives", entry.vertex, list(entry.not_names)]
        case "new" if entry.vector is not None:
            return ["new", entry.vertex, entry.count, entry.name, crc32(_bytes(entry.vector))]
        case "new" if entry.count != 1:
            return ["new", entry.vertex, entry.count, entry.name]
        case "absorbed" if entry.count != 1:
            return ["absorbed", entry.vertex, entry.count]
    return [entry.kind, entry.vertex]


def encode_vectors(entries: Iterable[Entry]) -> tuple[str | None, bytes | None]:
    """The number type of the vectors that an event brings, and all of them as one value."""
    vectors = [entry.vector for entry in entries if entry.vector is not None]
    if not vectors:
        return None, None
    return vectors[0].dtype.newbyteorder("<").str, b"".join(map(_bytes, vectors))


def decode_vectors(event: Event, data: bytes) -> dict[int, NDArray[Any]]:
    """The vectors that an event brought, by vertex; damaged ones are left out."""
    brought = [change for change in event.changes if change[0] == "new" and len(change) == 5]
    size = len(data) // max(1, len(brought))
    pieces = [data[at * size : (at + 1) * size] for at in range(len(brought))]
    return {
        change[1]: np.frombuffer(piece, event.type).astype(np.dtype(event.type).newbyteorder("="))
        for change, piece in zip(brought, pieces, strict=True)
        if crc32(piece) == change[4]
    }


def removed_vertices(entries: Iterable[Entry]) -> list[int]:
    """The vertices from before the call that no longer exist after it.

    >>> removed_vertices([Entry("new", 7), Entry("merged", 7, into=3), Entry("dropped", 2)])
    [2]
    """
    made, removed = set[int](), list[int]()
    for entry in entries:
        if entry.kind == "new":
            made.add(entry.vertex)
        elif entry.kind in ("merged", "dropped") and entry.vertex not in made:
            removed.append(entry.vertex)
    return removed


def pictured_vertex(kind: str, entries: Sequence[Entry]) -> int | None:
    """The vertex that a picture belongs to: what was taught, or what is new and stays."""
    if kind in ("teach", "exclude"):
        return entries[0].vertex
    return next((entry.vertex for entry in entries if entry.vector is not None), None)


def digest(learner: OnlineHarmonicLearner) -> str:
    """A hash of ids, vectors, multiplicities, labels, negatives and radius: equal hash, equal
    knowledge."""
    known = learner.vertices()
    checksum = hashlib.sha256()
    for column in (known.ids, known.vectors, known.multiplicities):
        checksum.update(f"{column.dtype.str} {column.shape} ".encode())
        checksum.update(np.ascontiguousarray(column).tobytes())
    checksum.update(json.dumps([known.names, learner.names, learner.radius]).encode())
    if known.negatives:  # without any, the hash is that of earlier versions
        said = {vertex: sorted(map(str, names)) for vertex, names in known.negatives.items()}
        checksum.update(json.dumps(said, sort_keys=True).encode())
    return checksum.hexdigest()


def _bytes(vector: NDArray[Any]) -> memoryview:
    plain = np.asarray(vector, vector.dtype.newbyteorder("<"), order="C")
    return plain.view(np.uint8).data
