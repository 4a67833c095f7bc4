"""Opening a folder: locks, other settings, damaged snapshots, events and databases."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from helpers.homes import (
    NEVER,
    change_database,
    crash,
    flip_bit,
    opened,
    png,
    small_learner,
    snapshot_files,
    watch,
)
from onlooker import OnlineHarmonicLearner
from onlooker.core.errors import Incompatible
from onlooker.home.database import HomeDamaged, HomeError, NotSaved
from onlooker.home.disk import HomeInUse
from onlooker.home.events import digest
from onlooker.home.retention import RetentionPolicy


def test_a_home_of_other_features_or_distance_is_refused(tmp_path):
    opened(tmp_path).close()
    with pytest.raises(Incompatible, match="test/8"):
        opened(
            tmp_path,
            new_learner=lambda: OnlineHarmonicLearner(small_learner().kernel, features="other"),
        )
    opened(tmp_path).close()


def test_a_second_service_is_refused_and_learns_by_whom(tmp_path):
    with opened(tmp_path) as home:
        with pytest.raises(HomeInUse, match=f"process {os.getpid()};"):
            opened(tmp_path)
        home.teach(np.zeros(8), "ana")
    opened(tmp_path).close()


def test_a_folder_that_cannot_be_one_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(HomeError, match=r"cannot open a home in .*file: .*check the path"):
        opened(tmp_path / "file")


def test_a_home_is_made_with_the_folders_it_lies_in(tmp_path):
    opened(tmp_path / "not" / "there" / "yet").close()
    assert snapshot_files(tmp_path / "not" / "there" / "yet")


def test_a_second_process_is_refused_too(tmp_path):
    program = (
        "import sys; from helpers.homes import small_learner; from onlooker.home.home import Home\n"
        "Home(sys.argv[1], new_learner=small_learner)"
    )
    with opened(tmp_path):
        run = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        )
    assert f"in use by process {os.getpid()};" in run.stderr


def test_unfinished_snapshots_are_removed(tmp_path):
    opened(tmp_path).close()
    left = tmp_path / "snapshots" / ".onlooker-abc.tmp"
    left.write_bytes(b"half")
    opened(tmp_path).close()
    assert not left.exists()


@pytest.mark.parametrize("how", ["bit", "cut", "gone"])
def test_a_damaged_snapshot_is_passed_over_and_nothing_is_lost(tmp_path, how):
    home = opened(tmp_path, retention=RetentionPolicy(snapshot_every=20))
    watch(home, 2, 60)
    word = digest(home.learner)
    crash(home)
    newest = snapshot_files(tmp_path)[-1]
    if how == "bit":
        flip_bit(newest)
    elif how == "cut":
        newest.write_bytes(newest.read_bytes()[:100])
    else:
        newest.unlink()
    with opened(tmp_path) as home:
        assert digest(home.learner) == word
        assert [newest.name in problem for problem in home.problems] == [True] * (how != "gone")
        home.forget("person0")
        assert home._files.snapshots.damaged == {}, "it is deleted with all that are older"
        word = digest(home.learner)
    with opened(tmp_path) as home:
        assert home.problems == ()
        assert digest(home.learner) == word


def test_a_snapshot_that_somebody_else_deleted_is_no_reason_to_keep_the_others(tmp_path):
    with opened(tmp_path, retention=RetentionPolicy(snapshot_every=5)) as home:
        watch(home, 2, 20)
        snapshots = home._files.snapshots
        gone, other = snapshots.sequences()[:2]
        snapshots.path(gone).unlink()
        assert snapshots.remove([gone, other]) == 2
        assert other not in snapshots.sequences()


def test_without_any_good_snapshot_the_home_says_so(tmp_path):
    opened(tmp_path).close()
    for path in snapshot_files(tmp_path):
        flip_bit(path)
    with pytest.raises(HomeDamaged, match="no good snapshot"):
        opened(tmp_path)


def digests(folder, seed, count, **options):
    """A home that watched, the digest after every event, and then a crash."""
    home = opened(folder, retention=NEVER, **options)
    words = {0: digest(home.learner)}
    for step in range(count):
        watch(home, seed, 1, start=step)
        words[home.sequence] = digest(home.learner)
    crash(home)
    return words


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("UPDATE events SET entries = replace(entries, '1', '2') WHERE sequence = 20", "damaged"),
        ("UPDATE events SET crc = crc + 1 WHERE sequence = 20", "damaged"),
        ("UPDATE events SET entries = CAST(x'ff' AS TEXT) WHERE sequence = 20", "damaged"),
        ("DELETE FROM events WHERE sequence = 20", "missing"),
    ],
    ids=["entries", "crc", "no text", "gone"],
)
def test_replay_stops_at_a_damaged_event_and_says_what_is_lost(tmp_path, sql, words):
    before = digests(tmp_path, 2, 40)
    last = max(before)
    change_database(tmp_path, sql)
    home = opened(tmp_path, retention=NEVER)
    assert digest(home.learner) == before[19]
    assert len(home.problems) == 1
    assert f"event 20 is {words}; lost: events 20 to {last}" in home.problems[0]
    home.teach(np.full(8, 3.0), "later")
    word = digest(home.learner)
    assert home.sequence == last + 2
    crash(home)
    with opened(tmp_path) as home:
        assert home.problems == ()
        assert digest(home.learner) == word


def test_nothing_is_learned_behind_damage_that_cannot_be_mended_yet(tmp_path, monkeypatch):
    before = digests(tmp_path, 2, 40)
    change_database(tmp_path, "UPDATE events SET crc = crc + 1 WHERE sequence = 20")

    def full_disk(*_, **__):
        raise NotSaved("disk full")

    monkeypatch.setattr("onlooker.home.events.EventLog.append", full_disk)
    home = opened(tmp_path, retention=RetentionPolicy(retry_seconds=0))
    assert "not be repaired yet: disk full" in home.health().read_only
    x = home.vertices().vectors[0]
    for _ in range(2):
        assert home.observe(x, camera="door", frame=0).label is not None
        with pytest.raises(NotSaved, match="repaired"):
            home.teach(np.full(8, 3.0), "later")
        assert digest(home.learner) == before[19]
    monkeypatch.undo()
    home.teach(np.full(8, 3.0), "later")
    assert home.health().read_only is None
    word = digest(home.learner)
    crash(home)
    with opened(tmp_path) as home:
        assert home.problems == ()
        assert digest(home.learner) == word


def test_a_damaged_vector_costs_one_vertex(tmp_path):
    home = opened(tmp_path, retention=NEVER)
    home.teach(np.zeros(8), "ana")
    home.teach(np.ones(8), "ben")
    home.observe(np.full(8, 0.2), camera="door", frame=0)
    crash(home)
    change_database(tmp_path, "UPDATE events SET data = zeroblob(length(data)) WHERE sequence = 2")
    for problems in (["the vector of vertex 1 is damaged; it is lost"], []):
        home = opened(tmp_path)
        assert home.vertices().ids.tolist() == [0, 2]
        assert home.learner.names == ("ana",)
        assert list(home.problems) == problems
        home.teach(np.full(8, 5.0), "ana")
        home.drop(int(home.vertices().ids[-1]))
        crash(home)


@pytest.mark.parametrize("garbage", ["header", "pages", "empty"])
def test_a_damaged_database_is_set_aside_for_the_newest_snapshot(tmp_path, garbage):
    with opened(tmp_path) as home:
        watch(home, 2, 60)
        word = digest(home.learner)
        home.observe(home.vertices().vectors[0], camera="door", frame=1, picture=png())
    database = tmp_path / "onlooker.db"
    content = bytearray(database.read_bytes())
    if garbage == "header":
        content[:100] = bytes(range(100))
    elif garbage == "pages":
        content[100:] = b"\xa5" * (len(content) - 100)
    else:
        content = b""
    database.write_bytes(content)
    word = digest(OnlineHarmonicLearner.load(snapshot_files(tmp_path)[-1]))
    home = opened(tmp_path)
    assert digest(home.learner) == word
    assert any("set aside" in problem for problem in home.problems) == (garbage != "empty")
    if garbage != "empty":
        assert "; 0 rows of it could be read" in home.problems[0]
    assert "lost: pictures, sightings" in home.problems[-1]
    home.teach(np.full(8, 9.0), "later")
    word = digest(home.learner)
    crash(home)
    with opened(tmp_path) as home:
        assert home.problems == ()
        assert digest(home.learner) == word


def test_after_damage_the_first_start_has_the_undo_horizon_of_the_next(tmp_path):
    """A snapshot from before the lost events is no place that every later event follows from."""
    with opened(tmp_path, retention=RetentionPolicy(snapshot_every=20)) as home:
        watch(home, 2, 60)
        assert home.health().oldest == 0
    (tmp_path / "onlooker.db").write_bytes(b"not a database")
    with opened(tmp_path) as home:
        first = home.health()
        home.undo(to=first.oldest)
    with opened(tmp_path) as home:
        assert home.health().oldest == first.oldest > 0


def filled(folder, pictures=30):
    """A home with pictures and sightings, closed; the digest of what it learned."""
    with opened(folder) as home:
        watch(home, 2, 20)
        for number in range(pictures):
            home.teach(np.full(8, 20.0 + number), "later", picture=png(number, side=60))
            face = {"vector": np.full(8, 20.0 + number), "picture": png(number)}
            home.record_sighting(camera="door", frame=number, name="later", **face)
        return digest(home.learner)


def root_page(home, table):
    """Where the first page of a table begins in the file."""
    sql = "SELECT rootpage FROM sqlite_master WHERE name = ?"
    return (home._files.database.query(sql, (table,))[0][0] - 1) * 4096


def overwrite(folder, start, content):
    with open(folder / "onlooker.db", "r+b") as file:
        file.seek(start)
        file.write(content)


def test_damage_found_while_writing_costs_no_learned_thing(tmp_path):
    """A page of the pictures is gone: naming goes on, and the next change finds a new file."""
    word = filled(tmp_path)
    home = opened(tmp_path, retention=RetentionPolicy(retry_seconds=0))
    overwrite(tmp_path, root_page(home, "pictures"), b"\xa5" * 4096)
    home._files.database.query("PRAGMA shrink_memory")
    home._files.database.query("PRAGMA cache_size = 0")
    assert digest(home.learner) == word
    with pytest.raises(HomeDamaged):
        home.teach(np.full(8, 70.0), "last", picture=png())
    assert digest(home.learner) == word
    assert any("set aside" in problem for problem in home.problems)
    home.teach(np.full(8, 70.0), "last", picture=png())
    word = digest(home.learner)
    crash(home)
    with opened(tmp_path) as home:
        assert digest(home.learner) == word
        assert home.problems == ()


def test_an_error_that_turns_out_to_be_no_damage_leaves_no_event(tmp_path, monkeypatch):
    """SQLite said that a page is damaged, and then that all are good: memory, not the disk."""
    with opened(tmp_path, retention=RetentionPolicy(retry_seconds=0)) as home:
        watch(home, 2, 9)
        before = digest(home.learner), home.sequence, home.learner.next_id

        def malformed(*_, **__):
            raise HomeDamaged("a page is malformed")

        monkeypatch.setattr(home._files.log, "append", malformed)
        with pytest.raises(HomeDamaged):
            home.teach(np.full(8, 70.0), "last")
        monkeypatch.undo()
        assert (digest(home.learner), home.sequence, home.learner.next_id) == before
        assert home.problems == ()
        home.teach(np.full(8, 70.0), "last")
        assert home.sequence == before[1] + 1


def test_a_disk_that_cannot_be_read_any_more_is_a_problem_and_naming_goes_on(tmp_path, monkeypatch):
    with opened(tmp_path, retention=RetentionPolicy(retry_seconds=0)) as home:
        home.teach(np.zeros(8), "ana")

        def unreadable(*_, **__):
            raise HomeError("disk I/O error")

        monkeypatch.setattr(home._files.log, "append", unreadable)
        monkeypatch.setattr(home._files.log, "last", unreadable)
        with pytest.raises(HomeError, match="disk I/O error"):
            home.teach(np.ones(8), "ben")
        assert home.problems == ("the disk cannot be read: disk I/O error",)
        assert home.observe(np.full(8, 0.1), camera="door", frame=0).label == "ana"
        monkeypatch.undo()
        home.teach(np.ones(8), "ben")
        assert home.learner.names == ("ana", "ben")


@pytest.mark.parametrize("table", ["events", "pictures", "sightings", "meta", "cards"])
def test_a_zeroed_page_does_not_keep_the_home_from_opening(tmp_path, table):
    """The snapshots have the learner; rows on other pages are taken over."""
    word = filled(tmp_path)
    with opened(tmp_path) as home:
        start = root_page(home, table)
    overwrite(tmp_path, start, bytes(4096))
    with opened(tmp_path) as home:
        assert "was set aside as onlooker.db.damaged-1" in home.problems[0]
        assert digest(home.learner) == word
        seen, shown = len(home.album.sightings()), len(home.album.vertices())
        assert seen == (0 if table == "sightings" else 30)
        assert shown == (0 if table == "pictures" else 30)
        if table == "sightings":
            assert "sightings 1 to 30 are lost" in home.problems
            faces = ("sighting_vectors", "sighting_pictures")
            left = [home.database.query(f"SELECT * FROM {each}") for each in faces]
            assert left == [[], []], "of nobody knows whom"
        home.teach(np.full(8, 70.0), "last", picture=png())
    with opened(tmp_path) as home:
        assert home.problems == ()


def test_damage_in_a_sighting_is_noticed(tmp_path):
    filled(tmp_path, pictures=3)
    change_database(tmp_path, "UPDATE sightings SET frame = frame + 1 WHERE number = 2")
    with opened(tmp_path) as home:
        assert home.problems == ("1 sightings are damaged and are not shown",)
        assert [seen.number for seen in home.album.sightings()] == [1, 3]


def test_a_damaged_camera_is_counted_and_not_watched(tmp_path):
    with opened(tmp_path) as home:
        for name in ("door", "yard", "hall"):
            home.cameras.add(name, f"rtsp://10.0.0.5/{name}")
        assert home.cameras.damaged() == 0
    change_database(tmp_path, "UPDATE cameras SET source = 'rtsp://elsewhere' WHERE name = 'yard'")
    with opened(tmp_path) as home:
        assert home.cameras.damaged() == 1
        assert list(home.cameras.sources()) == ["door", "hall"]


@pytest.mark.skipif(sys.platform == "win32", reason="has no such pipes")
@pytest.mark.parametrize(
    "name", ["onlooker.db", "onlooker.db-wal", "lock", "snapshots/000000000007.snapshot"]
)
def test_a_pipe_in_place_of_a_file_is_refused_at_once(tmp_path, name):
    opened(tmp_path).close()
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(HomeError, match=r"a device or a pipe, not a file \(.*check the path"):
        opened(tmp_path)


def test_a_snapshot_that_fails_is_reported_and_loses_nothing(tmp_path, monkeypatch):
    home = opened(tmp_path, retention=RetentionPolicy(snapshot_every=10))

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    watch(home, 2, 30)
    monkeypatch.undo()
    assert "No space left" in home.problems[0]
    word = digest(home.learner)
    crash(home)
    with opened(tmp_path) as home:
        assert digest(home.learner) == word


def test_a_damaged_event_of_the_history_is_left_out_and_reported(tmp_path):
    home = opened(tmp_path, retention=RetentionPolicy(snapshot_every=5))
    watch(home, 2, 20)
    home.close()
    change_database(tmp_path, "UPDATE events SET time = time + 1 WHERE sequence = 2")
    with opened(tmp_path) as home:
        assert 2 not in [event.sequence for event in home.events(limit=9)]
        assert home.problems == ("event 2 of the history is damaged and is not shown",)


def test_a_newest_event_whose_columns_are_gone_is_no_traceback(tmp_path):
    """A bit in the head of a row makes a number NULL, where the table allows none."""
    home = opened(tmp_path)
    watch(home, 2, 9)
    word = digest(home.learner)
    home.close()
    strict, loose = "next_id INTEGER NOT NULL", "next_id INTEGER"
    with closing(sqlite3.connect(tmp_path / "onlooker.db", isolation_level=None)) as database:

        def change_schema(one, other):
            database.execute("PRAGMA writable_schema = ON")
            database.execute("UPDATE sqlite_master SET sql = replace(sql, ?, ?)", (one, other))
            database.execute("PRAGMA writable_schema = RESET")

        change_schema(strict, loose)
        database.execute("UPDATE events SET next_id = NULL WHERE sequence = 9")
        change_schema(loose, strict)
    with opened(tmp_path) as home:
        assert digest(home.learner) == word
        assert "the database is damaged" in home.problems[0]


def test_a_schema_that_is_no_text_any_more_is_no_traceback(tmp_path):
    home = opened(tmp_path)
    watch(home, 2, 9)
    word = digest(home.learner)
    home.close()
    with closing(sqlite3.connect(tmp_path / "onlooker.db", isolation_level=None)) as database:
        database.execute("PRAGMA writable_schema = ON")
        sql = "UPDATE sqlite_master SET sql = CAST(? AS TEXT) WHERE name = 'cameras'"
        database.execute(sql, (b"CREATE TABLE cameras \xce(name",))
    with opened(tmp_path) as home:
        assert digest(home.learner) == word
        assert "the database is damaged" in home.problems[0]
