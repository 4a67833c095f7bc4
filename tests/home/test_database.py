"""The database: its settings, its migrations, its transactions, and what it says of damage."""

import sqlite3
import threading
import time

import numpy as np
import pytest

from helpers.homes import open_database
from onlooker.core.records import Entry
from onlooker.home.database import (
    SCHEMA_CHANGES,
    VERSION,
    Database,
    HomeDamaged,
    HomeError,
    NotSaved,
    page_size,
)
from onlooker.home.events import CHUNK, Event, EventLog, change_of, encode_changes, encode_vectors
from onlooker.home.folder import needed_snapshots


@pytest.fixture
def store(tmp_path):
    one = open_database(tmp_path / "onlooker.db")
    yield one
    one.close()


@pytest.fixture
def log(store):
    return EventLog(store, time.time)


def event(sequence, kind="observe"):
    return Event(sequence, 1.5, "door", 7, kind, '[["absorbed",3]]')


def test_it_is_set_up_to_lose_nothing_and_to_leave_nothing(store):
    found = {
        name: store.query(f"PRAGMA {name}")[0][0]
        for name in ("journal_mode", "synchronous", "secure_delete", "user_version")
    }
    full = 2
    assert found == {
        "journal_mode": "wal",
        "synchronous": full,
        "secure_delete": 1,
        "user_version": len(SCHEMA_CHANGES),
    }


def test_an_older_database_is_brought_up_to_date(tmp_path):
    path = tmp_path / "onlooker.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(SCHEMA_CHANGES[0])
        connection.execute("PRAGMA user_version = 1")
        connection.execute("INSERT INTO meta VALUES ('stored', 7)")
    connection.close()
    store = open_database(path)
    assert store.number("stored") == 7
    assert store.query("SELECT name FROM sqlite_master WHERE name = 'strangers'") == []
    store.close()


def test_a_newer_database_is_refused(tmp_path):
    open_database(tmp_path / "onlooker.db").close()
    with sqlite3.connect(tmp_path / "onlooker.db") as connection:
        connection.execute(f"PRAGMA user_version = {len(SCHEMA_CHANGES) + 1}")
    connection.close()
    with pytest.raises(HomeError, match="update Onlooker"):
        open_database(tmp_path / "onlooker.db")


def test_a_migration_happens_once_and_as_a_whole(tmp_path, monkeypatch):
    path = tmp_path / "onlooker.db"
    open_database(path).close()
    broken = "CREATE TABLE extra (x); CREATE TABLE events (x)"
    monkeypatch.setattr("onlooker.home.database.VERSION", VERSION + 1)
    monkeypatch.setattr("onlooker.home.database.SCHEMA_CHANGES", (*SCHEMA_CHANGES, broken))
    with pytest.raises(HomeError, match="already exists"):
        open_database(path)
    monkeypatch.setattr(
        "onlooker.home.database.SCHEMA_CHANGES", (*SCHEMA_CHANGES, "CREATE TABLE extra (x)")
    )
    for _ in range(2):
        store = open_database(path)
        assert store.query("SELECT * FROM extra") == []
        store.close()


def with_vectors(sequence, vectors):
    """An event that brings these, and its data."""
    entries = [Entry("new", vertex, vector=vector) for vertex, vector in vectors.items()]
    kind, data = encode_vectors(entries)
    changes = encode_changes(change_of(entry) for entry in entries)
    return Event(sequence, 1.5, "door", 7, "merge", changes, 9, kind), data


def test_changes_read_in_one_go_are_those_of_the_events_and_damaged_ones_are_none(store, log):
    count = 2 * CHUNK + 3
    with store.transaction():
        for sequence in range(1, count + 1):
            log.insert(event(sequence))
    store.execute("UPDATE events SET frame = 8 WHERE sequence = ?", (CHUNK + 1,))
    found = list(log.changes(0, count))
    assert [sequence for sequence, _ in found] == list(range(1, count + 1))
    assert found.pop(CHUNK) == (CHUNK + 1, None)
    assert all(changes == [["absorbed", 3]] for _, changes in found)


def test_what_is_read_before_a_page_that_cannot_be_is_not_lost(store, log, monkeypatch):
    for sequence in (1, 2, 3):
        log.insert(event(sequence))
    whole = store.iterate

    def torn(*arguments):
        rows = whole(*arguments)
        yield next(rows)
        yield next(rows)
        raise HomeDamaged("a page is malformed")

    monkeypatch.setattr(store, "iterate", torn)
    read = []
    with pytest.raises(HomeDamaged):
        read.extend(log.changes(0, 3))
    assert [sequence for sequence, _ in read] == [1, 2]


def test_a_loop_that_was_left_is_collected_in_another_thread_without_complaint(store, log):
    for sequence in (1, 2, 3):
        log.insert(event(sequence))
    left = [store.iterate("SELECT * FROM events")]
    next(left[0])
    thread = threading.Thread(target=left.clear)
    heard = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.unraisablehook", heard.append)
        thread.start()
        thread.join()
    assert heard == []


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_events_and_vectors_come_back(store, log, kind):
    vectors = {3: np.arange(4, dtype=kind), 4: np.full(4, -2.5, dtype=kind)}
    first, data = with_vectors(1, vectors)
    with store.transaction():
        log.insert(first, data)
        log.insert(event(2))
    assert list(log.events(0, 9)) == [(first, True), (event(2), True)]
    assert [e.sequence for e, _ in log.events(1, 9)] == [2]
    found = log.vectors([1, 2, 5])
    assert {vertex: (v.dtype, v.tobytes()) for vertex, v in found.items()} == {
        vertex: (v.dtype, v.tobytes()) for vertex, v in vectors.items()
    }
    assert log.last() == (2, 0)
    assert log.last_with_vectors(9) == 1


@pytest.mark.parametrize("flip", ["data = zeroblob(32)", "type = '<f8'", "crc = 0", "data = x''"])
def test_a_damaged_vector_is_left_out(store, log, flip):
    one, data = with_vectors(1, {3: np.arange(4, dtype=np.float32), 4: np.ones(4, np.float32)})
    with store.transaction():
        log.insert(one, data)
    with store.transaction():
        store.execute(f"UPDATE events SET {flip}")
    assert log.vectors([1]) == {}


def test_any_flipped_bit_of_a_stored_vector_is_seen(tmp_path):
    """SQLite's own check would let it pass."""
    path, vector = tmp_path / "onlooker.db", np.full(64, 0.3)
    store = open_database(path)
    with store.transaction():
        EventLog(store, time.time).insert(*with_vectors(1, {3: vector, 4: np.ones(64)}))
    store.close()
    content = path.read_bytes()
    start = content.index(vector.tobytes())
    for at in (start, start + 100, start + 511):
        damaged = bytearray(content)
        damaged[at] ^= 8
        path.write_bytes(damaged)
        store = open_database(path)
        assert store.is_intact()
        assert list(EventLog(store, time.time).vectors([1])) == [4]
        store.close()


def test_an_undo_is_found(store, log):
    with store.transaction():
        for number in range(1, 8):
            log.insert(event(number, "undo" if number in (3, 5) else "observe"))
    assert [log.last_undo(0, 7), log.last_undo(0, 4), log.last_undo(5, 7)] == [5, 3, None]


def test_a_transaction_is_all_or_nothing(store, log):
    def write(number, then):
        with store.transaction():
            log.insert(event(number))
            then()

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(NotSaved):
        write(1, lambda: log.insert(event(1)))
    with pytest.raises(KeyboardInterrupt):
        write(2, interrupt)
    assert log.last()[0] == 0
    with store.transaction():
        log.insert(event(1))
    assert log.last()[0] == 1


def test_pruning_keeps_the_event_of_the_snapshot_itself(store, log):
    with store.transaction():
        for number in range(1, 6):
            log.insert(event(number))
    assert log.prune(3) == 2
    assert [e.sequence for e, _ in log.events(0, 9)] == [3, 4, 5]


def test_a_long_journal_is_deleted_without_a_log_as_long(store, log, tmp_path):
    """On a disk that is nearly full there is no room for it."""
    data = bytes(4000)
    with store.transaction():
        for number in range(1, 5 * CHUNK):
            log.insert(event(number), data)
    store.checkpoint()
    assert log.prune(5 * CHUNK - 1) == 5 * CHUNK - 2
    whole, wal = (tmp_path / name for name in ("onlooker.db", "onlooker.db-wal"))
    assert wal.stat().st_size < whole.stat().st_size / 2
    assert [e.sequence for e, _ in log.events(0, 10**6)] == [5 * CHUNK - 1]


def test_a_file_that_is_no_database_is_damaged(tmp_path):
    (tmp_path / "onlooker.db").write_bytes(b"not a database at all, but long enough" * 50)
    with pytest.raises(HomeDamaged, match="not a database"):
        Database(tmp_path / "onlooker.db")


def test_numbers_are_noted(store):
    assert store.number("x") is None
    store.set_number("x", 3)
    store.set_number("x", 4)
    assert store.number("x") == 4
    store.set_number("x", None)
    assert store.number("x") is None


@pytest.mark.parametrize("horizon", [5.0, 10.0, 100.0, 1e6])
def test_snapshots_are_thinned_but_reach_back_far_enough(horizon):
    times = {sequence: float(sequence) for sequence in range(0, 1000, 3)}
    needed = needed_snapshots(times, now=999.0, horizon=horizon)
    assert {996, 999} <= needed
    assert min(needed) == 0 or times[min(needed)] <= 999 - horizon < times[min(needed) + 3]
    assert len(needed) <= 11


def test_a_clock_that_was_wrong_does_not_take_the_newest_snapshots():
    times = {0: float("-inf"), 10: 5e9, 20: 100.0, 30: 200.0}
    assert {20, 30} <= needed_snapshots(times, now=200.0, horizon=1e6)


def test_a_log_without_events_starts_at_zero(log):
    assert log.first() == log.last_forgetting() == log.of_vertex(0) == 0
    assert log.last() == (0, 0)
    assert log.last_with_vectors(9) is None


@pytest.mark.parametrize("size", [512, 4096, 32768, 65536])
def test_the_page_size_of_a_database_is_what_its_file_states(tmp_path, size):
    """The largest does not fit into the two bytes of the header."""
    path = tmp_path / "onlooker.db"
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA page_size = {size}")
        connection.execute("CREATE TABLE one (x)")
    connection.close()
    assert page_size(path) == size


@pytest.mark.parametrize("header", [b"", b"short", b"x" * 16 + b"\x0f\x00", b"x" * 16 + b"\0\0"])
def test_a_header_that_states_no_page_size_gives_the_usual_one(tmp_path, header):
    path = tmp_path / "onlooker.db"
    assert page_size(path) == 4096
    path.write_bytes(header)
    assert page_size(path) == 4096


def test_rows_are_taken_over_from_a_database_of_this_version_only(tmp_path):
    """Those of another version have other columns."""
    rows = 3
    for version in (VERSION, VERSION - 1):
        damaged = tmp_path / f"damaged {version}"
        old = open_database(damaged)
        for number in range(rows):
            old.set_number(f"number {number}", number)
        counted = len(old.query("SELECT * FROM meta"))
        old.query(f"PRAGMA user_version = {version}")
        old.close()
        new = open_database(tmp_path / f"new {version}")
        assert new.take_over(damaged) == (counted if version == VERSION else 0)
        assert new.number("number 2") == (2 if version == VERSION else None)
        new.close()
