"""The journal of a home in its database: events with their vectors, in order."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from numpy.typing import NDArray

from onlooker.faces.journal import ENTRIES, Change, Event, crc_of, vectors_in
from onlooker.faces.store import Store, StoreError

_EVENT = "sequence, time, camera, frame, kind, entries, next_id, type, crc"
AT_ONCE = 500
"""Events read in one go, or deleted in one transaction: what is overwritten passes through the
log, which must not need as much room again as the journal has."""


class Ledger:
    """The events of a store. Only the sequence orders them; the clock may have been set."""

    def __init__(self, store: Store) -> None:
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
        damage: StoreError | None = None
        while damage is None:
            some: list[tuple[Any, ...]] = []
            try:
                some.extend(islice(rows, AT_ONCE))
            except StoreError as error:
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
