"""The database of a home, and the only module that imports sqlite3.

One connection writes, reads and checkpoints, in the thread that made it. WAL with
synchronous=FULL: what a transaction has committed survives a power cut. secure_delete: what is
deleted is overwritten. SQLite does not see a flipped bit inside a value, so whatever we could not
make again carries a CRC32 of our own.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from onlooker.core.errors import OnlookerError

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
    "DROP TABLE strangers",  # whose faces are in a file of their own, with their cards
)
"""Number n brings a database of version n to version n + 1. Never change one: add another."""

VERSION = sqlite3.sqlite_version
"""Of SQLite, for people who report a problem."""
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SETTINGS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "secure_delete = ON",
    "temp_store = MEMORY",
)


class HomeError(OnlookerError):
    """A home that cannot be opened, read or written."""


class HomeDamaged(HomeError):
    """Something in a home is not what was once written there."""


class NotSaved(HomeError):
    """A change could not be written, and so was not made."""


class Database:
    """A file of tables. `EventLog` keeps the events in it, `Album` what people look at."""

    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600)
        with _errors_of(HomeError):
            self._connection = sqlite3.connect(path, isolation_level=None)
        try:
            with _errors_of(HomeError):
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
            raise HomeError(
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
        with suppress(HomeError):  # what is in the log is as safe
            self.checkpoint()
        self._connection.close()

    def abandon(self) -> None:
        """Let go of a file that is past saving."""
        self._connection.close()

    def sound(self) -> bool:
        """Whether every page can be read."""
        try:
            return self.run("PRAGMA quick_check(1)") == [("ok",)]
        except HomeError:
            return False

    # ---- for everybody who has something to keep here

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing; on the disk when the block has ended without an error.

        Within another one it is a part of that: all of both or nothing.
        """
        connection = self._connection
        if connection.in_transaction:
            yield
            return
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
        return list(self.each(sql, values))

    def each(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The same, one row at a time: there may be more than memory has room for."""
        with _errors_of(HomeError):
            # Not `yield from`: that closes the cursor of a loop that was left, in whichever thread
            # collects the garbage, and SQLite minds.
            cursor = self._connection.execute(sql, values)
            while (row := cursor.fetchone()) is not None:
                yield row

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
def _errors_of(kind: type[HomeError]) -> Iterator[None]:
    """SQLite's errors in our words: what is damaged is damaged, whatever we were about."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:
            raise HomeDamaged(f"the database is damaged: {error}") from error
        advice = "; free some space, or look at the disk" if kind is NotSaved else ""
        raise kind(f"{error}{advice}") from error
