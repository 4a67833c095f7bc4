"""The SQLite database of a home: its tables, transactions and errors.

This is the only module that imports sqlite3. One connection reads, writes and checkpoints, in the
thread that opened it. WAL with synchronous=FULL: a committed transaction survives a power cut.
secure_delete: deleted values are overwritten. SQLite does not notice a flipped bit inside a value,
so rows that cannot be computed again carry a CRC32 (`row_crc`).
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

from onlooker.core.errors import OnlookerError

SCHEMA_CHANGES = (
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
    "DROP TABLE strangers",
    # What was in files beside the database: strangers.snapshot, cameras.json, register.json.
    """
    CREATE TABLE cards (
        number INTEGER PRIMARY KEY, count INTEGER NOT NULL,
        first_time REAL NOT NULL, first_camera TEXT, first_frame INTEGER,
        last_time REAL NOT NULL, last_camera TEXT, last_frame INTEGER,
        hidden INTEGER NOT NULL, alerted INTEGER NOT NULL, crc INTEGER NOT NULL);
    CREATE TABLE card_faces (
        card INTEGER NOT NULL, place INTEGER NOT NULL,
        time REAL NOT NULL, camera TEXT, frame INTEGER, quality REAL NOT NULL,
        type TEXT NOT NULL, vector BLOB NOT NULL, png BLOB, crc INTEGER NOT NULL,
        PRIMARY KEY (card, place));
    CREATE TABLE card_vertices (
        vertex INTEGER PRIMARY KEY, card INTEGER NOT NULL, turn INTEGER NOT NULL,
        time REAL NOT NULL, multiplicity INTEGER NOT NULL,
        type TEXT NOT NULL, vector BLOB NOT NULL, crc INTEGER NOT NULL);
    CREATE TABLE cameras (name TEXT PRIMARY KEY, source TEXT NOT NULL, crc INTEGER NOT NULL);
    CREATE TABLE taught (digest TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL);
    """,
    # Of a card: who it may be, who it is not, and whether to ask. A card without a row: nothing.
    """
    CREATE TABLE card_questions (
        card INTEGER PRIMARY KEY, recent TEXT NOT NULL, not_names TEXT NOT NULL,
        ask INTEGER NOT NULL, crc INTEGER NOT NULL);
    """,
)
"""Number n brings a database of version n to version n + 1. Never change one: add another."""

VERSION = len(SCHEMA_CHANGES)
"""The version that this code reads and writes."""
SQLITE_VERSION = sqlite3.sqlite_version
"""For problem reports."""
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
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
    """One file of tables, opened but not upgraded: call `upgrade` before using the tables."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch(mode=0o600)
        with _translated_errors(HomeError):
            self._connection = sqlite3.connect(path, isolation_level=None)
        try:
            with _translated_errors(HomeError):
                # A flipped bit may leave no UTF-8: then the CRC has to report it, not the decoder.
                self._connection.text_factory = partial(str, encoding="utf-8", errors="replace")
                for setting in _SETTINGS:
                    self._connection.execute(f"PRAGMA {setting}")
                self.query("PRAGMA user_version")  # reads the file: no database raises here
        except BaseException:
            self._connection.close()
            raise

    @property
    def version(self) -> int:
        """The version of the tables; 0 for an empty file."""
        return int(self.query("PRAGMA user_version")[0][0])

    def upgrade(self, import_rows: Callable[[], object] | None = None) -> None:
        """Bring the tables to the newest version in one transaction.

        import_rows fills new tables from elsewhere and belongs to the same transaction: a process
        that is killed on the way leaves the database as it was.
        """
        version = self.version
        if version > VERSION:
            raise HomeError(
                f"{self._path} has version {version}, this Onlooker reads up to {VERSION}; "
                "update Onlooker"
            )
        if version == VERSION:
            return
        with self.transaction():
            for script in SCHEMA_CHANGES[version:]:
                for statement in filter(str.strip, script.split(";")):
                    self._connection.execute(statement)
            if import_rows is not None:
                import_rows()
            self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def copy_to(self, path: Path) -> None:
        """Write a consistent copy, the write-ahead log included, into a new file."""
        path.touch(mode=0o600)
        with _translated_errors(NotSaved):
            copy = sqlite3.connect(path)
            try:
                self._connection.backup(copy)
            finally:
                copy.close()

    def close(self) -> None:
        """Checkpoint the write-ahead log if that is possible now, and close the connection."""
        with suppress(HomeError):  # what stays in the log is as safe there
            self.checkpoint()
        self._connection.close()

    def close_as_it_is(self) -> None:
        """Close without a checkpoint: for a file that is damaged beyond repair."""
        self._connection.close()

    def is_intact(self) -> bool:
        """Whether SQLite can read every page."""
        try:
            return self.query("PRAGMA quick_check(1)") == [("ok",)]
        except HomeError:
            return False

    # ---- statements

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of the block or nothing; on the disk when the block ends without an error.

        Inside another transaction it is a part of that one.
        """
        connection = self._connection
        if connection.in_transaction:
            yield
            return
        with _translated_errors(NotSaved):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement."""
        return list(self.iterate(sql, values))

    def iterate(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows one at a time: there may be more than fit into memory."""
        with _translated_errors(HomeError):
            # Not `yield from`: that would close the cursor of an abandoned loop in whichever thread
            # collects the garbage, and SQLite refuses other threads.
            cursor = self._connection.execute(sql, values)
            while (row := cursor.fetchone()) is not None:
                yield row

    def execute(self, sql: str, values: Sequence[Any] = ()) -> int:
        """One changing statement, by itself or within a transaction: how many rows it changed."""
        with _translated_errors(NotSaved):
            return self._connection.execute(sql, values).rowcount

    def checkpoint(self) -> None:
        """Move the write-ahead log into the main file and truncate the log."""
        if self.query("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:
            raise NotSaved(
                "another program reads the database, so its log cannot be emptied; stop it"
            )

    def compact(self) -> None:
        """Rewrite the file, so that no free page holds what was deleted."""
        with _translated_errors(NotSaved):
            self._connection.execute("VACUUM")
        self.checkpoint()

    @property
    def size(self) -> int:
        """Bytes in use, without free pages."""
        names = ("page_count", "freelist_count", "page_size")
        pages, free, page_size = (int(self.query(f"PRAGMA {name}")[0][0]) for name in names)
        return (pages - free) * page_size

    # ---- single numbers, in the table meta

    def number(self, key: str) -> int | None:
        """A stored number."""
        rows = self.query("SELECT value FROM meta WHERE key = ?", (key,))
        return int(rows[0][0]) if rows else None

    def numbers(self, prefix: str) -> dict[str, int]:
        """The stored numbers whose key is `PREFIX NAME`, by name."""
        sql = "SELECT key, value FROM meta WHERE substr(key, 1, ?) = ?"
        start = len(prefix) + 1
        return {key[start:]: int(n) for key, n in self.query(sql, (start, f"{prefix} "))}

    def set_number(self, key: str, value: int | None) -> None:
        """Store a number, or delete it."""
        with self.transaction():
            self.execute("DELETE FROM meta WHERE key = ?", (key,))
            if value is not None:
                self.execute("INSERT INTO meta VALUES (?, ?)", (key, value))


def as_text(text: str) -> str:
    """Text that a database accepts: lone surrogates are escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def row_crc(columns: Sequence[Any]) -> int:
    """The checksum of a row's other columns.

    >>> row_crc(("door", "rtsp://10.0.0.5/1"))
    368256116
    """
    return crc32(repr(tuple(columns)).encode("utf-8", "backslashreplace"))


@contextmanager
def _translated_errors(kind: type[HomeError]) -> Iterator[None]:
    """Raise SQLite's errors as ours; damage is HomeDamaged, whatever was being done."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE_CODES:
            raise HomeDamaged(f"the database is damaged: {error}") from error
        advice = "; free some space, or check the disk" if kind is NotSaved else ""
        raise kind(f"{error}{advice}") from error
