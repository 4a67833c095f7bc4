"""The database of a home, and the only module that imports sqlite3.

One connection writes, reads and checkpoints, in the thread that made it. WAL with
synchronous=FULL: what a transaction has committed survives a power cut. secure_delete: what is
deleted is overwritten. SQLite does not see a flipped bit inside a value, so whatever we could not
make again carries a CRC32 of our own.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from onlooker.errors import OnlookerError
from onlooker.faces.journal import Event, vectors_in

MIGRATIONS = (
    """
    CREATE TABLE events (
        sequence INTEGER PRIMARY KEY, time REAL NOT NULL, camera TEXT, frame INTEGER,
        kind TEXT NOT NULL, entries TEXT NOT NULL, next_id INTEGER NOT NULL, type TEXT,
        crc INTEGER NOT NULL, data BLOB);
    CREATE INDEX undos ON events (sequence) WHERE kind = 'undo';
    CREATE TABLE pictures (
        vertex INTEGER PRIMARY KEY, time REAL NOT NULL, crc INTEGER NOT NULL, png BLOB NOT NULL);
    CREATE TABLE sightings (
        number INTEGER PRIMARY KEY, time REAL NOT NULL, camera TEXT NOT NULL,
        frame INTEGER NOT NULL, name TEXT, vertex INTEGER);
    CREATE TABLE strangers (
        number INTEGER PRIMARY KEY, time REAL NOT NULL, camera TEXT NOT NULL,
        frame INTEGER NOT NULL, crc INTEGER NOT NULL, png BLOB NOT NULL);
    CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL);
    """,
)
"""Number n brings a database of version n to version n + 1. Never change one: add another."""

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_EVENT = "sequence, time, camera, frame, kind, entries, next_id, type, crc"
_SETTINGS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "secure_delete = ON",
    "temp_store = MEMORY",
)


class StoreError(OnlookerError):
    """A home that cannot be opened, read or written."""


class StoreDamaged(StoreError):
    """Something in a home is not what was once written there."""


class NotSaved(StoreError):
    """A change could not be written, and so was not made."""


class Store:
    """Events with their vectors, pictures, sightings and strangers in one file."""

    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600)
        with _errors_of(StoreError):
            self._connection = sqlite3.connect(path, isolation_level=None)
        try:
            with _errors_of(StoreError):
                self._set_up()
                self._migrate(path)
        except BaseException:
            self._connection.close()
            raise

    def _set_up(self) -> None:
        # A flipped bit may leave no UTF-8: then the CRC must have the word, not the decoder.
        self._connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        for setting in _SETTINGS:
            self._connection.execute(f"PRAGMA {setting}")

    def _migrate(self, path: Path) -> None:
        version = int(self.run("PRAGMA user_version")[0][0])
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{path} has version {version}, this Onlooker reads up to {len(MIGRATIONS)}; "
                "update Onlooker"
            )
        for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
            with self.transaction():
                for statement in filter(str.strip, script.split(";")):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA user_version = {number}")

    def close(self) -> None:
        """Move everything into the main file, if that can be done now, and let go of it."""
        with suppress(StoreError):  # what is in the log is as safe
            self.checkpoint()
        self._connection.close()

    def abandon(self) -> None:
        """Let go of a file that is past saving."""
        self._connection.close()

    def sound(self) -> bool:
        """Whether every page can be read."""
        try:
            return self.run("PRAGMA quick_check(1)") == [("ok",)]
        except StoreError:
            return False

    # ---- for everybody who has something to keep here

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing; on the disk when the block has ended without an error."""
        connection = self._connection
        with _errors_of(NotSaved):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """One statement: its rows."""
        with _errors_of(StoreError):
            return self._connection.execute(sql, values).fetchall()

    def change(self, sql: str, values: Sequence[Any] = ()) -> int:
        """One statement, by itself or within a transaction: how many rows it changed."""
        with _errors_of(NotSaved):
            return self._connection.execute(sql, values).rowcount

    def checkpoint(self) -> None:
        """Empty the write-ahead log into the main file, and cut it to nothing."""
        if self.run("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:
            raise NotSaved("another program reads the store, so its log cannot be emptied; stop it")

    def compact(self) -> None:
        """Write the file anew, so that not even a freed corner of a page holds what was deleted."""
        with _errors_of(NotSaved):
            self._connection.execute("VACUUM")
        self.checkpoint()

    # ---- the journal

    def append(self, event: Event, data: bytes | None = None) -> None:
        """An event and the vectors it brings; by itself, or within a transaction."""
        row = *event.columns, event.crc, data
        self.change("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def events(self, after: int, upto: int) -> Iterator[tuple[Event, bool]]:
        """Events in order, each with whether it is as it was written."""
        sql = f"SELECT {_EVENT} FROM events WHERE sequence > ? AND sequence <= ? ORDER BY sequence"
        with _errors_of(StoreError):
            for *columns, crc in self._connection.execute(sql, (after, upto)):
                event = Event(*columns)
                yield event, event.crc == crc

    def listed(self, after: int, limit: int) -> list[Event]:
        """Some events for people, in order; damaged ones are left out."""
        sql = f"SELECT {_EVENT} FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?"
        rows = self.run(sql, (after, limit))
        return [event for *columns, crc in rows if (event := Event(*columns)).crc == crc]

    def last_undo(self, after: int, upto: int) -> int | None:
        """The sequence number of the newest undo between two others."""
        sql = "SELECT max(sequence) FROM events WHERE kind = 'undo' AND sequence BETWEEN ? AND ?"
        found: int | None = self.run(sql, (after + 1, upto))[0][0]
        return found

    def last(self) -> tuple[int, int]:
        """The newest event's number and the id that is next after it; zeros without any."""
        rows = self.run(
            "SELECT sequence, CAST(next_id AS INTEGER) FROM events ORDER BY sequence DESC LIMIT 1"
        )
        sequence, next_id = rows[0] if rows else (0, 0)
        return int(sequence), int(next_id)

    def vectors(self, sequences: Iterable[int]) -> dict[int, NDArray[Any]]:
        """The vectors that these events brought, by vertex; damaged ones are left out."""
        found: dict[int, NDArray[Any]] = {}
        sql = f"SELECT {_EVENT}, data FROM events WHERE sequence = ? AND data IS NOT NULL"
        for sequence in sequences:
            for *columns, crc, data in self.run(sql, (sequence,)):
                if (event := Event(*columns)).crc == crc:
                    found |= vectors_in(event, data)
        return found

    def brought_a_vector(self, upto: int) -> int | None:
        """The newest event up to that one which brought any."""
        sql = "SELECT max(sequence) FROM events WHERE data IS NOT NULL AND sequence <= ?"
        found: int | None = self.run(sql, (upto,))[0][0]
        return found

    def prune(self, oldest: int) -> int:
        """Forget how the state of that event came about: how many events went."""
        with self.transaction():
            return self.change("DELETE FROM events WHERE sequence < ?", (oldest,))

    @property
    def size(self) -> int:
        """Bytes in use, without those that were freed and will be used again."""
        names = ("page_count", "freelist_count", "page_size")
        pages, free, each = (int(self.run(f"PRAGMA {name}")[0][0]) for name in names)
        return (pages - free) * each

    # ---- single numbers

    def note(self, key: str, value: int | None) -> None:
        """Remember a number, or forget it."""
        with self.transaction():
            self.mark(key, value)

    def mark(self, key: str, value: int | None) -> None:
        """The same within a transaction."""
        self.change("DELETE FROM meta WHERE key = ?", (key,))
        if value is not None:
            self.change("INSERT INTO meta VALUES (?, ?)", (key, value))

    def noted(self, key: str) -> int | None:
        """A number that was remembered."""
        rows = self.run("SELECT value FROM meta WHERE key = ?", (key,))
        return int(rows[0][0]) if rows else None


@contextmanager
def _errors_of(kind: type[StoreError]) -> Iterator[None]:
    """SQLite's errors in our words: what is damaged is damaged, whatever we were about."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:
            raise StoreDamaged(f"the database is damaged: {error}") from error
        advice = "; free some space, or look at the disk" if kind is NotSaved else ""
        raise kind(f"{error}{advice}") from error
