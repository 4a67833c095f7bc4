"""The SQLite database of a home: its tables, transactions and errors.

This is the only module that imports sqlite3. One connection reads, writes and checkpoints, in the
thread that opened it. WAL with synchronous=FULL: a committed transaction survives a power cut.
secure_delete: deleted values are overwritten. SQLite does not notice a flipped bit inside a value,
so rows that cannot be computed again carry a CRC32 (`row_crc`).
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

from onlooker.core.errors import OnlookerError
from onlooker.home.wal import PAGE_SIZES

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
    # History by person, not by name: a person who is renamed is the same one. And whom an event
    # was about, so that forgetting one person leaves the events of the others.
    """
    CREATE TABLE persons (person INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL);
    CREATE INDEX person_names ON persons (name);
    INSERT INTO persons (name)
        SELECT DISTINCT name FROM sightings WHERE name IS NOT NULL ORDER BY name;
    ALTER TABLE sightings RENAME TO named_sightings;
    CREATE TABLE sightings (
        number INTEGER PRIMARY KEY, time REAL NOT NULL, camera TEXT NOT NULL,
        frame INTEGER NOT NULL, person INTEGER, vertex INTEGER, crc INTEGER NOT NULL);
    INSERT INTO sightings
        SELECT number, time, camera, frame, person, vertex,
            row_crc(number, time, camera, frame, person, vertex)
        FROM named_sightings LEFT JOIN persons USING (name);
    DROP TABLE named_sightings;
    ALTER TABLE events ADD COLUMN person INTEGER;
    """,
    # What an undo takes back of strangers, so that it can be undone by another process.
    """
    CREATE TABLE card_steps (
        number INTEGER PRIMARY KEY, event INTEGER NOT NULL, time REAL NOT NULL,
        content TEXT NOT NULL, crc INTEGER NOT NULL);
    """,
    # Sightings of strangers too; and the face of each sighting, to be shown and to be found. The
    # checksum covers the card, but a row that is damaged stays so.
    """
    ALTER TABLE sightings ADD COLUMN card INTEGER;
    UPDATE sightings SET crc = row_crc(number, time, camera, frame, person, vertex, NULL)
        WHERE crc = row_crc(number, time, camera, frame, person, vertex);
    CREATE INDEX sighting_cards ON sightings (card) WHERE card IS NOT NULL;
    CREATE TABLE sighting_vectors (
        number INTEGER PRIMARY KEY, crc INTEGER NOT NULL, vector BLOB NOT NULL);
    CREATE TABLE sighting_pictures (
        number INTEGER PRIMARY KEY, crc INTEGER NOT NULL, png BLOB NOT NULL);
    """,
)
"""Number n brings a database of version n to version n + 1. Never change one: add another."""

VERSION = len(SCHEMA_CHANGES)
"""The version that this code reads and writes."""
_UNREADABLE = sqlite3.Error, UnicodeDecodeError
"""The second: SQLite's message quotes a schema that is no text any more."""
_CHANGES = "changes"
"""A number in the table meta."""
LOG_SUFFIXES = ("-wal", "-shm")
"""Of the files beside a database: its write-ahead log, and an index of that."""
COPIED_PAGES = 256
"""Pages of a database that are copied at a time."""
SQLITE_VERSION = sqlite3.sqlite_version
"""For problem reports."""
_text = partial(str, encoding="utf-8", errors="replace")
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_FAILING_CODES = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM)
"""Those of a system that does not give what is in the file: it may be sound, and may come back."""
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
        self._changes: int | None = None
        self._is_numbered = False
        """Whether the open transaction has an event or a sighting, which have numbers."""
        self.on_counted: Callable[[], object] = lambda: None
        """Called when a transaction is on the disk that `changes` counts."""
        path.touch(mode=0o600)
        with _translated_errors(HomeError):
            self._connection = sqlite3.connect(path, isolation_level=None)
        try:
            with _translated_errors(HomeError):
                # A flipped bit may leave no UTF-8: then the CRC has to report it, not the decoder.
                self._connection.text_factory = _text
                self._connection.create_function(
                    "row_crc", -1, lambda *columns: row_crc(columns), deterministic=True
                )
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
            self.mark_numbered()  # the version is the number
            for script in SCHEMA_CHANGES[version:]:
                for statement in filter(str.strip, script.split(";")):
                    self._connection.execute(statement)
            if import_rows is not None:
                import_rows()
            self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def hold(self) -> None:
        """Read this moment only from now on, whatever other connections change; until it closes."""
        with _translated_errors(HomeError):
            self._connection.execute("BEGIN")
            self.query("SELECT count(*) FROM sqlite_master")  # begins to read

    def copy_to(self, path: Path, between: Callable[[], object] = lambda: None) -> None:
        """Write a consistent copy, the write-ahead log included, into a new file.

        between is called after each part and may raise an error to give up.
        """
        path.touch(mode=0o600)
        with _translated_errors(NotSaved):
            copy = sqlite3.connect(path)
            try:
                self._connection.backup(copy, pages=COPIED_PAGES, progress=lambda *_: between())
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
        """Whether every page is sound; HomeError where a failing disk keeps that secret."""
        try:
            ((found,),) = self.query("PRAGMA quick_check(1)")
        except HomeDamaged:
            return False
        failure = re.search(r"error code=(\d+)", found)
        if failure and int(failure[1]) & 0xFF in _FAILING_CODES:
            raise HomeError("the database cannot be read at the moment; check the disk")
        return bool(found == "ok")

    def take_over(self, damaged: Path) -> int:
        """Copy every row that can still be read in a damaged database: how many.

        A table is read from both ends up to the damage. Rows that are damaged themselves are copied
        too: those who read them check them. Tables of another version are left alone. A disk that
        fails meanwhile is a HomeError: a row that it does not give is not lost.
        """
        for _ in range(2):  # SQLite calls a schema damaged that the disk did not give once
            with _skipped_damage(), closing(_read_only(damaged)) as source:
                return self._take_over_tables(source)
        return 0

    def _take_over_tables(self, source: sqlite3.Connection) -> int:
        if source.execute("PRAGMA user_version").fetchone() != (VERSION,):
            return 0
        names = (
            "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        )
        tables, copied = dict(self.query(names)), 0
        source.execute("SELECT count(*) FROM sqlite_master")  # reads the schema: or raises here
        with self.transaction():
            for table, sql in tables.items():
                key = "1" if "WITHOUT ROWID" in sql else "rowid"
                copied += self._take_over_table(source, table, key)
        return copied

    def _take_over_table(self, source: sqlite3.Connection, table: str, key: str) -> int:
        copied = 0
        for order in ("ASC", "DESC"):
            with _skipped_damage():
                for row in source.execute(f"SELECT * FROM {table} ORDER BY {key} {order}"):
                    marks = ",".join("?" * len(row))
                    insert = f"INSERT OR IGNORE INTO {table} VALUES ({marks})"
                    copied += self.execute(insert, row)
                return copied
        return copied

    # ---- statements

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, which may still be rolled back."""
        return self._connection.in_transaction

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of the block or nothing; on the disk when the block ends without an error.

        Inside another transaction it is a part of that one. What has no number is counted
        (`changes`), so that a transaction that goes missing is missed.
        """
        connection = self._connection
        if connection.in_transaction:
            yield
            return
        with _translated_errors(NotSaved):
            connection.execute("BEGIN IMMEDIATE")
            self._is_numbered, before = False, connection.total_changes
            try:
                yield
                is_counted = not self._is_numbered and connection.total_changes > before
                if is_counted:
                    self._changes = None
                    values = _CHANGES, self.changes + 1
                    self.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        if is_counted:
            self._changes = values[1]
            self.on_counted()

    def mark_numbered(self) -> None:
        """Do not count the open transaction: it has a number that would be missed."""
        self._is_numbered = True

    @property
    def changes(self) -> int:
        """How many transactions there were without an event or a sighting, which have numbers."""
        if self._changes is None:
            self._changes = self.number(_CHANGES) or 0
        return self._changes

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

    def checkpoint_if_needed(self) -> None:
        """The same, unless the log is empty already; without waiting for another reader."""
        log = Path(f"{self._path}-wal")
        if not (log.exists() and log.stat().st_size):
            return
        waits = self.query("PRAGMA busy_timeout")[0][0]
        self.query("PRAGMA busy_timeout = 0")
        try:
            self.checkpoint()
        finally:
            self.query(f"PRAGMA busy_timeout = {waits}")

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


def page_size(path: Path) -> int:
    """The page size that a database file states, or the usual one where it states none."""
    header = b""
    with suppress(OSError), path.open("rb") as file:
        header = file.read(18)[16:]
    size = int.from_bytes(header, "big")
    return 65536 if size == 1 else size if size in PAGE_SIZES else 4096


def _read_only(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    connection.text_factory = _text
    return connection


@contextmanager
def _skipped_damage() -> Iterator[None]:
    """Leave the block where a database is damaged; a disk that fails is a HomeError."""
    try:
        yield
    except _UNREADABLE as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _FAILING_CODES:
            raise HomeError(f"{error}; check the disk") from error


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
    except UnicodeDecodeError as error:
        raise HomeDamaged("the database is damaged: its schema cannot be read") from error
