"""The database: its settings, its migrations, its transactions, and what it says of damage."""

import sqlite3
import threading

import numpy as np
import pytest

from onlooker.core.records import Entry
from onlooker.home.database import MIGRATIONS, Database, HomeDamaged, HomeError, NotSaved
from onlooker.home.events import AT_ONCE, Event, EventLog, as_change, data_of, written
from onlooker.home.snapshots import to_keep


@pytest.fixture
def store(tmp_path):
    one = Database(tmp_path / "onlooker.db")
    yield one
    one.close()


@pytest.fixture
def ledger(store):
    return EventLog(store)


def event(sequence, kind="observe"):
    return Event(sequence, 1.5, "door", 7, kind, '[["absorbed",3]]')


def test_it_is_set_up_to_lose_nothing_and_to_leave_nothing(store):
    told = {
        name: store.run(f"PRAGMA {name}")[0][0]
        for name in ("journal_mode", "synchronous", "secure_delete", "user_version")
    }
    full = 2
    assert told == {
        "journal_mode": "wal",
        "synchronous": full,
        "secure_delete": 1,
        "user_version": len(MIGRATIONS),
    }


def test_an_older_database_is_brought_up_to_date(tmp_path):
    path = tmp_path / "onlooker.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(MIGRATIONS[0])
        connection.execute("PRAGMA user_version = 1")
        connection.execute("INSERT INTO meta VALUES ('kept', 7)")
    connection.close()
    store = Database(path)
    assert store.noted("kept") == 7
    assert store.run("SELECT name FROM sqlite_master WHERE name = 'strangers'") == []
    store.close()


def test_a_newer_database_is_refused(tmp_path):
    Database(tmp_path / "onlooker.db").close()
    with sqlite3.connect(tmp_path / "onlooker.db") as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    with pytest.raises(HomeError, match="update Onlooker"):
        Database(tmp_path / "onlooker.db")


def test_a_migration_happens_once_and_as_a_whole(tmp_path, monkeypatch):
    path = tmp_path / "onlooker.db"
    Database(path).close()
    broken = "CREATE TABLE extra (x); CREATE TABLE events (x)"
    monkeypatch.setattr("onlooker.home.database.MIGRATIONS", (*MIGRATIONS, broken))
    with pytest.raises(HomeError, match="already exists"):
        Database(path)
    monkeypatch.setattr(
        "onlooker.home.database.MIGRATIONS", (*MIGRATIONS, "CREATE TABLE extra (x)")
    )
    for _ in range(2):
        store = Database(path)
        assert store.run("SELECT * FROM extra") == []
        store.close()


def with_vectors(sequence, vectors):
    """An event that brings these, and its data."""
    entries = [Entry("new", vertex, vector=vector) for vertex, vector in vectors.items()]
    kind, data = data_of(entries)
    changes = written(as_change(entry) for entry in entries)
    return Event(sequence, 1.5, "door", 7, "merge", changes, 9, kind), data


def test_changes_read_in_one_go_are_those_of_the_events_and_damaged_ones_are_none(store, ledger):
    count = 2 * AT_ONCE + 3
    with store.transaction():
        for sequence in range(1, count + 1):
            ledger.append(event(sequence))
    store.change("UPDATE events SET frame = 8 WHERE sequence = ?", (AT_ONCE + 1,))
    found = list(ledger.changes(0, count))
    assert [sequence for sequence, _ in found] == list(range(1, count + 1))
    assert found.pop(AT_ONCE) == (AT_ONCE + 1, None)
    assert all(changes == [["absorbed", 3]] for _, changes in found)


def test_what_is_read_before_a_page_that_cannot_be_is_not_lost(store, ledger, monkeypatch):
    for sequence in (1, 2, 3):
        ledger.append(event(sequence))
    whole = store.each

    def torn(*arguments):
        rows = whole(*arguments)
        yield next(rows)
        yield next(rows)
        raise HomeDamaged("a page is malformed")

    monkeypatch.setattr(store, "each", torn)
    read = []
    with pytest.raises(HomeDamaged):
        read.extend(ledger.changes(0, 3))
    assert [sequence for sequence, _ in read] == [1, 2]


def test_a_loop_that_was_left_is_collected_in_another_thread_without_complaint(store, ledger):
    for sequence in (1, 2, 3):
        ledger.append(event(sequence))
    left = [store.each("SELECT * FROM events")]
    next(left[0])
    thread = threading.Thread(target=left.clear)
    heard = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.unraisablehook", heard.append)
        thread.start()
        thread.join()
    assert heard == []


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_events_and_vectors_come_back(store, ledger, kind):
    vectors = {3: np.arange(4, dtype=kind), 4: np.full(4, -2.5, dtype=kind)}
    first, data = with_vectors(1, vectors)
    with store.transaction():
        ledger.append(first, data)
        ledger.append(event(2))
    assert list(ledger.events(0, 9)) == [(first, True), (event(2), True)]
    assert [e.sequence for e, _ in ledger.events(1, 9)] == [2]
    found = ledger.vectors([1, 2, 5])
    assert {vertex: (v.dtype, v.tobytes()) for vertex, v in found.items()} == {
        vertex: (v.dtype, v.tobytes()) for vertex, v in vectors.items()
    }
    assert ledger.last() == (2, 0)
    assert ledger.brought_a_vector(9) == 1


@pytest.mark.parametrize("flip", ["data = zeroblob(32)", "type = '<f8'", "crc = 0", "data = x''"])
def test_a_damaged_vector_is_left_out(store, ledger, flip):
    one, data = with_vectors(1, {3: np.arange(4, dtype=np.float32), 4: np.ones(4, np.float32)})
    with store.transaction():
        ledger.append(one, data)
    with store.transaction():
        store.change(f"UPDATE events SET {flip}")
    assert ledger.vectors([1]) == {}


def test_any_flipped_bit_of_a_stored_vector_is_seen(tmp_path):
    """SQLite's own check would let it pass."""
    path, vector = tmp_path / "onlooker.db", np.full(64, 0.3)
    store = Database(path)
    with store.transaction():
        EventLog(store).append(*with_vectors(1, {3: vector, 4: np.ones(64)}))
    store.close()
    content = path.read_bytes()
    start = content.index(vector.tobytes())
    for at in (start, start + 100, start + 511):
        damaged = bytearray(content)
        damaged[at] ^= 8
        path.write_bytes(damaged)
        store = Database(path)
        assert store.sound()
        assert list(EventLog(store).vectors([1])) == [4]
        store.close()


def test_an_undo_is_found(store, ledger):
    with store.transaction():
        for number in range(1, 8):
            ledger.append(event(number, "undo" if number in (3, 5) else "observe"))
    assert [ledger.last_undo(0, 7), ledger.last_undo(0, 4), ledger.last_undo(5, 7)] == [5, 3, None]


def test_a_transaction_is_all_or_nothing(store, ledger):
    def write(number, then):
        with store.transaction():
            ledger.append(event(number))
            then()

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(NotSaved):
        write(1, lambda: ledger.append(event(1)))
    with pytest.raises(KeyboardInterrupt):
        write(2, interrupt)
    assert ledger.last()[0] == 0
    with store.transaction():
        ledger.append(event(1))
    assert ledger.last()[0] == 1


def test_pruning_keeps_the_event_of_the_snapshot_itself(store, ledger):
    with store.transaction():
        for number in range(1, 6):
            ledger.append(event(number))
    assert ledger.prune(3) == 2
    assert [e.sequence for e, _ in ledger.events(0, 9)] == [3, 4, 5]


def test_a_long_journal_is_deleted_without_a_log_as_long(store, ledger, tmp_path):
    """On a disk that is nearly full there is no room for it."""
    data = bytes(4000)
    with store.transaction():
        for number in range(1, 5 * AT_ONCE):
            ledger.append(event(number), data)
    store.checkpoint()
    assert ledger.prune(5 * AT_ONCE - 1) == 5 * AT_ONCE - 2
    whole, log = (tmp_path / name for name in ("onlooker.db", "onlooker.db-wal"))
    assert log.stat().st_size < whole.stat().st_size / 2
    assert [e.sequence for e, _ in ledger.events(0, 10**6)] == [5 * AT_ONCE - 1]


def test_a_file_that_is_no_database_is_damaged(tmp_path):
    (tmp_path / "onlooker.db").write_bytes(b"not a database at all, but long enough" * 50)
    with pytest.raises(HomeDamaged, match="not a database"):
        Database(tmp_path / "onlooker.db")


def test_numbers_are_noted(store):
    assert store.noted("x") is None
    store.note("x", 3)
    store.note("x", 4)
    assert store.noted("x") == 4
    store.note("x", None)
    assert store.noted("x") is None


@pytest.mark.parametrize("horizon", [5.0, 10.0, 100.0, 1e6])
def test_snapshots_are_thinned_but_reach_back_far_enough(horizon):
    times = {sequence: float(sequence) for sequence in range(0, 1000, 3)}
    kept = to_keep(times, now=999.0, horizon=horizon)
    assert {996, 999} <= kept
    assert min(kept) == 0 or times[min(kept)] <= 999 - horizon < times[min(kept) + 3]
    assert len(kept) <= 11


def test_a_clock_that_was_wrong_does_not_take_the_newest_snapshots():
    times = {0: float("-inf"), 10: 5e9, 20: 100.0, 30: 200.0}
    assert {20, 30} <= to_keep(times, now=200.0, horizon=1e6)
