"""What a home was told is there after any end; what it was told to forget is nowhere."""

import copy
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from helpers.homes import QUANTIZERS, files_with, open_database, png, small_learner, stream
from onlooker import OnlineHarmonicLearner
from onlooker.core.errors import BadValue, Incompatible, LabelConflict, NotFound
from onlooker.home.database import HomeDamaged, HomeError, NotSaved
from onlooker.home.disk import Ballast, HomeInUse
from onlooker.home.events import EventLog, digest
from onlooker.home.home import Home
from onlooker.home.retention import DAY, RetentionPolicy

NEVER = RetentionPolicy(snapshot_every=10**9)


class Clock:
    """A clock that stands until it is set."""

    def __init__(self, now=1e9):
        self.now = now

    def __call__(self):
        return self.now


def opened(folder, **options):
    """A home whose time is nobody's but the test's, if the test has a clock."""
    steady = {"steady": options["clock"]} if "clock" in options else {}
    home = Home(folder, **({"new_learner": small_learner} | steady | options))
    home._files.database.query("PRAGMA synchronous = OFF")  # nobody pulls the plug here
    return home


def crash(home):
    """What a kill leaves behind: no snapshot, no checkpoint, only the lock is gone."""
    home._files.database.close_as_it_is()
    home._files._lock.release()


def watch(home, seed, count, start=0, teach=2):
    """Some labels, then the stream."""
    for number, (x, name) in list(enumerate(stream(seed, start + count)))[start:]:
        if number < 2 * teach:
            home.teach(x, name)
        else:
            home.observe(x, camera="door", frame=number)


def assert_same_answers(home, learner, seed):
    for x, _ in stream(seed, 15):
        found, expected = home.predict(x), learner.predict(x)
        assert found.label == expected.label
        for name, score in expected.scores.items():
            assert found.scores[name] == pytest.approx(score, abs=1e-8)


# Coming back -------------------------------------------------------------------------------


@pytest.mark.parametrize("quantizer", QUANTIZERS)
@pytest.mark.parametrize("every", [7, 10**9], ids=["snapshots", "journal only"])
@pytest.mark.parametrize("how", ["close", "crash"])
def test_a_home_comes_back_as_the_learner_that_never_ended(tmp_path, quantizer, every, how):
    options = {
        "new_learner": lambda: small_learner(quantizer),
        "retention": RetentionPolicy(snapshot_every=every),
    }
    plain = small_learner(quantizer)
    for number, (x, name) in enumerate(stream(5, 120)):
        if number % 30 == 0:
            home = opened(tmp_path, **options)
        if number < 4:
            home.teach(x, name)
            plain.teach(x, name)
        else:
            assert home.observe(x, camera="door", frame=number).label == plain.observe(x).label
        if number % 30 == 29:
            assert digest(home.learner) == digest(plain)
            home.close() if how == "close" else crash(home)
    with opened(tmp_path, **options) as home:
        assert digest(home.learner) == digest(plain)
        assert home.learner.next_id == plain.next_id
        assert home.problems == ()
        assert_same_answers(home, plain, seed=6)


def test_an_outlier_writes_nothing(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        before = home.sequence
        assert home.observe(np.full(8, 99.0), camera="door", frame=1).label is None
        assert home.sequence == before


def test_one_event_a_call_with_camera_and_frame(tmp_path):
    with opened(tmp_path, clock=Clock(5.0)) as home:
        home.teach(np.zeros(8), "ana")
        home.observe(np.full(8, 0.1), camera="door", frame=7)
        home.drop(1)
        told = [(e.sequence, e.time, e.camera, e.frame, e.kind) for e in home.events()]
    assert told == [
        (1, 5.0, None, None, "teach"),
        (2, 5.0, "door", 7, "observe"),
        (3, 5.0, None, None, "drop"),
    ]


def test_what_the_learner_refuses_is_not_written(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        word = digest(home.learner)
        with pytest.raises(LabelConflict):
            home.teach(np.zeros(8), "ben")
        with pytest.raises(BadValue):
            home.observe([np.nan] * 8, camera="door", frame=0)
        with pytest.raises(NotFound):
            home.drop(77)
        with pytest.raises(NotFound, match="merged or dropped"):
            home.label(77, "ana")
        with pytest.raises(BadValue, match="PNG"):
            home.teach(np.ones(8), "ana", picture=b"GIF89a")
        assert home.sequence == 1
        assert digest(home.learner) == word


def test_a_face_is_labeled_by_its_vertex(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        vertex = home.observe(np.full(8, 0.1), camera="door", frame=0).vertex
        home.label(vertex, "ben")
        assert home.vertices().names == ("ana", "ben")


def test_another_learner_is_merged_durably(tmp_path):
    other = small_learner("doubling")
    for x, name in list(stream(3, 12)):
        other.teach(x, name or "nobody")
        other.observe(x + 0.1)
    plain = small_learner()
    plain.merge(other)
    home = opened(tmp_path)
    home.merge(other)
    crash(home)
    with opened(tmp_path) as home:
        assert digest(home.learner) == digest(plain)


def test_a_state_file_is_adopted_at_the_first_start_only(tmp_path):
    learner = small_learner(max_vertices=30)
    for x, name in stream(1, 5):
        learner.teach(x, name)
    learner.save(tmp_path / "state")
    for _ in range(2):
        home = opened(tmp_path / "home", adopt=tmp_path / "state")
        assert digest(home.learner) == digest(learner)
        assert home.learner.max_vertices == 30
        crash(home)
    (tmp_path / "state").unlink()
    with opened(tmp_path / "home") as home:
        assert digest(home.learner) == digest(learner)


def test_a_home_of_other_features_or_distance_is_refused(tmp_path):
    opened(tmp_path).close()
    with pytest.raises(Incompatible, match="test/8"):
        opened(
            tmp_path,
            new_learner=lambda: OnlineHarmonicLearner(small_learner().kernel, features="other"),
        )
    opened(tmp_path).close()


def test_a_second_service_is_refused_and_told_by_whom(tmp_path):
    with opened(tmp_path) as home:
        with pytest.raises(HomeInUse, match=f"process {os.getpid()};"):
            opened(tmp_path)
        home.teach(np.zeros(8), "ana")
    opened(tmp_path).close()


def test_a_folder_that_cannot_be_one_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(HomeError, match=r"cannot open a home in .*file: .*check the path"):
        opened(tmp_path / "file")


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


# Snapshots, and damage ---------------------------------------------------------------------


def snapshots(folder):
    return sorted(folder.glob("snapshots/*.snapshot"))


def spoil(path, at=-3):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


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
    newest = snapshots(tmp_path)[-1]
    if how == "bit":
        spoil(newest)
    elif how == "cut":
        newest.write_bytes(newest.read_bytes()[:100])
    else:
        newest.unlink()
    with opened(tmp_path) as home:
        assert digest(home.learner) == word
        assert [newest.name in problem for problem in home.problems] == [True] * (how != "gone")
    with opened(tmp_path) as home:
        assert home.problems == ()
        assert digest(home.learner) == word


def test_without_any_good_snapshot_the_home_says_so(tmp_path):
    opened(tmp_path).close()
    for path in snapshots(tmp_path):
        spoil(path)
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


def meddle(folder, sql, *values):

    store = open_database(folder / "onlooker.db")
    with store.transaction():
        store.execute(sql, values)
    store.close()


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
    meddle(tmp_path, sql)
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
    meddle(tmp_path, "UPDATE events SET crc = crc + 1 WHERE sequence = 20")

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


def test_numbers_of_numpy_and_clocks_that_count_whole_seconds_are_kept(tmp_path):
    home = opened(tmp_path, clock=lambda: 7, retention=NEVER)
    home.teach(np.zeros(8), "ana", camera="a\ud800b", frame=np.int64(3))
    crash(home)
    with opened(tmp_path) as home:
        assert home.problems == ()
        (event,) = home.events()
        assert (event.time, event.frame) == (7.0, 3)


def test_a_damaged_vector_costs_one_vertex(tmp_path):
    home = opened(tmp_path, retention=NEVER)
    home.teach(np.zeros(8), "ana")
    home.teach(np.ones(8), "ben")
    home.observe(np.full(8, 0.2), camera="door", frame=0)
    crash(home)
    meddle(tmp_path, "UPDATE events SET data = zeroblob(length(data)) WHERE sequence = 2")
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
    word = digest(OnlineHarmonicLearner.load(snapshots(tmp_path)[-1]))
    home = opened(tmp_path)
    assert digest(home.learner) == word
    assert any("set aside" in problem for problem in home.problems) == (garbage != "empty")
    assert "lost: pictures, sightings" in home.problems[-1]
    home.teach(np.full(8, 9.0), "later")
    word = digest(home.learner)
    crash(home)
    with opened(tmp_path) as home:
        assert home.problems == ()
        assert digest(home.learner) == word


# Pictures ----------------------------------------------------------------------------------


def test_a_picture_lives_as_long_as_its_vertex(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana", picture=png(0))
        for number, (x, _) in enumerate(stream(4, 80, people=1)):
            near = (x * 0.05).astype(np.float32)
            home.observe(near, camera="door", frame=number, picture=lambda n=number: png(n + 1))
        alive = set(home.vertices().ids.tolist())
        assert set(home.album.vertices()) == alive
        assert home.album.picture(0) == png(0)
        home.drop(max(alive))
        assert set(home.album.vertices()) == alive - {max(alive)}


def test_no_picture_is_made_of_a_face_that_does_not_stay(tmp_path):
    made = []
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        home.observe(np.zeros(8), camera="door", frame=0, picture=lambda: made.append(1) or png())
        home.observe(np.full(8, 99.0), camera="door", frame=1, picture=lambda: made.append(1))
    assert made == []


def test_a_damaged_picture_is_not_shown(tmp_path):
    home = opened(tmp_path)
    home.teach(np.zeros(8), "ana", picture=png())
    home.close()
    meddle(tmp_path, "UPDATE pictures SET crc = crc + 1")
    with opened(tmp_path) as home, pytest.raises(HomeDamaged, match="picture of vertex 0"):
        home.album.picture(0)


def test_a_picture_that_cannot_be_made_changes_nothing(tmp_path):
    def broken():
        raise RuntimeError("no picture")

    with opened(tmp_path) as home:
        with pytest.raises(RuntimeError):
            home.teach(np.zeros(8), "ana", picture=broken)
        assert (len(home.learner), home.sequence) == (0, 0)


# Undo --------------------------------------------------------------------------------------


def test_undo_goes_back_to_any_event(tmp_path):
    home = opened(tmp_path, retention=RetentionPolicy(snapshot_every=15))
    words = {0: digest(home.learner)}
    for step in range(50):
        watch(home, 8, 1, start=step)
        words[home.sequence] = digest(home.learner)
    newest = home.sequence
    for to in (*range(newest + 1), newest - 1, 20, 3, newest, 0, 31):
        home.undo(to=to)
        words[home.sequence] = digest(home.learner)
        assert words[home.sequence] == words[to]
    crash(home)
    with opened(tmp_path) as home:
        assert digest(home.learner) == words[31]
        for to in (newest + 1, newest + 2, 17):
            home.undo(to=to)
            assert digest(home.learner) == words[to]


def test_undo_is_found_again_when_its_snapshot_is_damaged(tmp_path):
    home = opened(tmp_path, retention=NEVER)
    watch(home, 8, 30)
    home.undo(to=12)
    home.teach(np.full(8, 4.0), "later")
    home.undo(to=home.sequence - 1)
    home.teach(np.full(8, 5.0), "even later")
    word, next_id = digest(home.learner), home.learner.next_id
    crash(home)
    for path in snapshots(tmp_path)[1:]:
        spoil(path)
    with opened(tmp_path) as home:
        assert digest(home.learner) == word
        assert home.learner.next_id == next_id


def test_ids_are_not_used_again_after_an_undo(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana", picture=png(1))
        home.teach(np.ones(8), "ben", picture=png(2))
        home.undo(to=1)
        assert home.album.vertices() == [0]
        home.teach(np.ones(8), "ben")
        assert home.vertices().ids.tolist() == [0, 2]


@pytest.mark.parametrize("to", [-1, 3, 1.0, "1", None, True])
def test_undo_to_what_is_not_there_is_refused(tmp_path, to):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        with pytest.raises(NotFound, match="from 0 to 1"):
            home.undo(to=to)
        assert home.sequence == 1


def test_undo_reaches_back_as_far_as_it_was_told(tmp_path):
    clock = Clock()
    retention = RetentionPolicy(snapshot_every=5, undo_days=2)
    with opened(tmp_path, retention=retention, clock=clock) as home:
        home.teach(np.zeros(8), "ana")
        words = {}
        for number in range(100):
            clock.now += DAY / 10
            home.observe(np.full(8, number / 1000), camera="door", frame=number)
            words[home.sequence] = clock.now, digest(home.learner)
        oldest = home.health().oldest
        assert 2 * DAY <= clock.now - words[oldest][0] <= 3 * DAY
        assert len(snapshots(tmp_path)) <= 10
        assert home.events()[0].sequence == oldest
        with pytest.raises(NotFound):
            home.undo(to=oldest - 1)
        home.undo(to=oldest)
        assert digest(home.learner) == words[oldest][1]


def test_a_journal_that_grows_too_large_reaches_back_less_far(tmp_path):
    clock = Clock()
    retention = RetentionPolicy(snapshot_every=10, undo_gigabytes=4e-5)
    with opened(tmp_path, retention=retention, clock=clock) as home:
        rng = np.random.default_rng(0)
        for number in range(300):
            clock.now += DAY / 20
            home.teach(rng.normal(size=8) * 9, f"a name of some length {number % 3}")
        assert 10 <= 300 - home.health().oldest < 100
        word = digest(home.learner)
        home.undo(to=home.health().oldest)
        home.undo(to=300)
        assert digest(home.learner) == word


# Forgetting --------------------------------------------------------------------------------


def everything_of(home, name):
    """Needles: the bytes of vectors and pictures, and the name."""
    known = home.vertices()
    rows = [row for row, label in enumerate(known.names) if label == name]
    return [name.encode(), *(known.vectors[row].tobytes() for row in rows)]


@pytest.mark.parametrize("every", [10, 10**9])
def test_no_byte_of_a_forgotten_person_remains(tmp_path, every):
    name = "Zebedee Quill"
    home = opened(tmp_path, retention=RetentionPolicy(snapshot_every=every))
    rng = np.random.default_rng(0)
    needles, pictures = [name.encode()], []
    for number in range(60):
        own = rng.normal(size=8) * 0.2 + (0 if number % 2 else 6)
        pictures.append(png(number, side=40))
        if number < 8:
            home.teach(own, "ana" if number % 2 else name, picture=pictures[-1])
        else:
            home.observe(own, camera="door", frame=number, picture=pictures[-1])
        home.record_sighting(
            camera="door", frame=number, name="ana" if number % 2 else name, vertex=None
        )
        if not number % 2:
            needles += [own.tobytes(), pictures[-1][-400:]]
    assert files_with(tmp_path, *needles)
    crash(home)
    with opened(tmp_path) as home:
        kept = home.album.picture(1)
        receipt = home.forget(name)
        assert files_with(tmp_path, *needles) == []
        assert [path.stem for path in snapshots(tmp_path)] == [f"{home.sequence:012d}"]
        assert (receipt.labeled, receipt.sightings) == (4, 30)
        assert receipt.pictures >= 4
        assert receipt.events > 50
        assert receipt.snapshots >= 1
        assert home.learner.names == ("ana",)
        assert home.album.picture(1) == kept
        with pytest.raises(NotFound):
            home.undo(to=home.sequence - 1)
        word = digest(home.learner)
    assert files_with(tmp_path, *needles) == []
    with opened(tmp_path) as home:
        assert digest(home.learner) == word
        assert [seen.name for seen in home.album.sightings()] == ["ana"] * 30


def test_forgetting_that_was_interrupted_is_finished_at_the_next_start(tmp_path, monkeypatch):
    home = opened(tmp_path)
    home.teach(np.zeros(8), "ana")
    home.teach(np.full(8, 7.0), "Zebedee")
    monkeypatch.setattr(type(home._files), "erase_history", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        home.forget("Zebedee")
    crash(home)
    monkeypatch.undo()
    assert files_with(tmp_path, b"Zebedee", np.full(8, 7.0).tobytes())
    with opened(tmp_path) as home:
        assert home.learner.names == ("ana",)
        assert files_with(tmp_path, b"Zebedee", np.full(8, 7.0).tobytes()) == []


def test_forgetting_that_cannot_be_finished_says_so_and_tidy_finishes_it(tmp_path, monkeypatch):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        home.teach(np.full(8, 7.0), "Zebedee")

        def full_disk(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", full_disk)
        with pytest.raises(NotSaved, match=r"forgotten, but copies.*No space left"):
            home.forget("Zebedee")
        monkeypatch.undo()
        home.expire()
        assert files_with(tmp_path, b"Zebedee", np.full(8, 7.0).tobytes()) == []


def test_a_database_set_aside_goes_with_the_forgotten(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        home.teach(np.full(8, 7.0), "Zebedee")
    database = tmp_path / "onlooker.db"
    database.write_bytes(b"?" + database.read_bytes()[1:])
    with opened(tmp_path) as home:
        assert "onlooker.db.damaged-1" in files_with(tmp_path, np.full(8, 7.0).tobytes())
        home.forget("Zebedee")
        assert files_with(tmp_path, b"Zebedee", np.full(8, 7.0).tobytes()) == []


# Retention and the clock -------------------------------------------------------------------


def test_sightings_expire(tmp_path):
    clock = Clock()
    with opened(tmp_path, clock=clock) as home:
        for number in range(4):
            home.record_sighting(camera="door", frame=number, name=None, vertex=None)
            clock.now += DAY
        assert home.expire(clock.now + 26 * DAY).sightings == 0
        assert home.expire(clock.now + 27.5 * DAY).sightings == 2
        clock.now += 31 * DAY
        assert home.expire().sightings == 2


class TwoClocks:
    """A home with a diary, beside a clock that is set and one that cannot be."""

    def __init__(self, folder):
        self.wall, self.steady = Clock(), Clock(0.0)
        retention = RetentionPolicy(snapshot_every=3)
        self.home = opened(folder, clock=self.wall, steady=self.steady, retention=retention)
        for number in range(12):
            self.home.teach(np.full(8, float(number)), "ana")
            self.home.record_sighting(camera="door", frame=number, name="ana", vertex=None)
            self.go_on(60)

    def go_on(self, seconds):
        self.wall.now += seconds
        self.steady.now += seconds

    @property
    def lines(self):
        return len(self.home.album.sightings())


def test_a_clock_that_jumps_ahead_for_a_minute_deletes_nothing(tmp_path):
    both = TwoClocks(tmp_path)
    with both.home as home:
        for _ in range(3):
            both.wall.now += 365 * DAY
            both.go_on(60)
            home.record_sighting(camera="door", frame=0, name="ana", vertex=None)
            home.teach(np.full(8, 90.0 + both.lines), "ana")
            tidied = home.expire()
            assert (tidied.sightings, tidied.events) == (0, 0)
            both.wall.now -= 365 * DAY
            both.go_on(4000)
            home.expire()
        assert both.lines == 15
        assert home.health().oldest == 0
        both.go_on(31 * DAY)  # what was seen in those minutes expires like everything else
        assert home.expire().sightings == 15


def test_a_clock_that_was_set_is_believed_after_an_hour(tmp_path):
    both = TwoClocks(tmp_path)
    with both.home as home:
        both.wall.now += 365 * DAY
        for _ in range(6):
            assert home.expire().sightings == 0
            both.go_on(600)
        assert home.expire().sightings == 12
        assert both.lines == 0


def test_a_clock_that_is_set_back_changes_nothing(tmp_path):
    clock = Clock()
    plain = small_learner()
    home = opened(tmp_path, clock=clock, retention=RetentionPolicy(snapshot_every=7))
    for number, (x, name) in enumerate(stream(9, 60)):
        if number in (20, 40):
            clock.now -= DAY
        clock.now += 1
        if number < 4:
            home.teach(x, name)
            plain.teach(x, name)
        else:
            home.observe(x, camera="door", frame=number)
            plain.observe(x)
        home.expire()
    sequences = [event.sequence for event in home.events()]
    assert sequences == list(range(1, home.sequence + 1))
    crash(home)
    with opened(tmp_path, clock=clock) as home:
        assert digest(home.learner) == digest(plain)
        home.undo(to=1)


# Disks that refuse -------------------------------------------------------------------------


def pages(home, count):
    """Let the database grow by so many pages and no more."""
    store = home._files.database
    used = store.query("PRAGMA page_count")[0][0]
    store.query(f"PRAGMA max_page_count = {used + count}")


@pytest.mark.parametrize("retry", [0, 1000])
def test_a_full_disk_keeps_serving_says_so_and_loses_nothing(tmp_path, retry):
    home = opened(
        tmp_path,
        new_learner=lambda: small_learner(max_vertices=100),
        retention=RetentionPolicy(retry_seconds=retry),
    )
    watch(home, 2, 20)
    pages(home, 9)
    word, sequence = digest(home.learner), home.sequence
    refused = 0
    for number, (x, name) in enumerate(stream(7, 15)):
        near = (x * 1e-3 + home.vertices().vectors[0]).astype(np.float32)
        answer = home.observe(near, camera="door", frame=number, picture=png(number, side=60))
        assert answer.label is not None
        if home.health().read_only is None:
            word, sequence = digest(home.learner), home.sequence
            continue
        refused += 1
        assert "full" in home.health().read_only
        assert (digest(home.learner), home.sequence) == (word, sequence)
        with pytest.raises(NotSaved, match="full"):
            home.teach(np.full(8, 50.0), name or "ana", picture=png(0, side=90))
        assert (digest(home.learner), home.sequence) == (word, sequence)
    assert refused > 3
    crash(home)
    with opened(tmp_path) as home:
        assert digest(home.learner) == word
        home.teach(np.full(8, 50.0), "later")
        assert home.health().read_only is None


@pytest.mark.skipif(sys.platform == "win32", reason="has no such limits")
def test_writes_that_the_system_refuses_lose_nothing(tmp_path):
    """No file may grow any more: errors come from the system itself, snapshots fail too."""
    import resource

    home = opened(
        tmp_path,
        new_learner=lambda: small_learner(max_vertices=100),
        retention=RetentionPolicy(retry_seconds=0, snapshot_every=10),
    )
    watch(home, 2, 20)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    largest = max(path.stat().st_size for path in tmp_path.rglob("*"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 9000, before[1]))
    try:
        for number in range(12):
            near = home.vertices().vectors[0] + np.float32(number * 1e-3)
            assert home.observe(near, camera="door", frame=number, picture=png(1, 60)).label
        assert home.health().read_only is not None
        word, sequence = digest(home.learner), home.sequence
        with pytest.raises(NotSaved):
            home.teach(np.full(8, 50.0), "later", picture=png(0, side=90))
        assert (digest(home.learner), home.sequence) == (word, sequence)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    crash(home)
    with opened(tmp_path) as home:
        assert digest(home.learner) == word
        home.teach(np.full(8, 50.0), "later", picture=png(0, side=90))


FILLED = """
import os, shutil, sys
from pathlib import Path
import numpy as np
from helpers.homes import files_with, png, small_learner
from onlooker.home.home import Home
from onlooker.home.events import digest
from onlooker.home.retention import RetentionPolicy
from onlooker.home.database import NotSaved

def fill():
    "The last byte of the disk is somebody else's."
    with open(place / "film.mp4", "ab", buffering=0) as film:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while film.write(bytes(size)):
                    pass
            except OSError:
                continue

place = Path(sys.argv[1])
folder = place / "home"
retention = RetentionPolicy(retry_seconds=0, ballast_megabytes=float(sys.argv[2]))
home = Home(folder, new_learner=lambda: small_learner(max_vertices=200), retention=retention)
face, rng = np.zeros(8, np.float32), np.random.default_rng(0)
for number in range(100):
    home.teach(face + number, "ana" if number % 2 else "Zebedee", picture=png(number, side=50))
home.expire()
fill()
refused = 0
for number in range(2000):
    near = face + np.float32(1 + number / 1e5)
    seen = home.observe(near, camera="door", frame=number, picture=png(number, side=250))
    assert seen.label == "ana"
    refused += home.health().read_only is not None
    if refused > 5:
        break
    fill()
assert refused > 5, refused
assert "full" in home.health().read_only, home.health()
word = digest(home.learner)
try:
    home.teach(face + 500, "Zebedee", picture=png(1, side=90))
except NotSaved:
    assert digest(home.learner) == word
try:
    home.forget("Zebedee")
except NotSaved as error:
    print("not forgotten:", error)
    raise SystemExit(3)
assert not files_with(folder, b"Zebedee", (face + 8).tobytes())
word = digest(home.learner)
home.close()
with Home(folder, new_learner=small_learner, retention=retention) as again:
    assert digest(again.learner) == word
    assert again.learner.names == ("ana",)
    os.unlink(place / "film.mp4")
    again.expire()
    assert (folder / "ballast").stat().st_size == float(sys.argv[2]) * 1e6
    again.teach(face + 500, "ben")
    assert again.health().read_only is None
print("forgotten")
"""


@pytest.fixture
def small_disk(tmp_path):
    """How to run a program that has a disk of its own, of some megabytes: the real thing."""
    inside = f"mount -t tmpfs -o size=64m tmpfs {tmp_path} && exec"
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    try:
        subprocess.run([*command, f"{inside} true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this system lets nobody mount a small disk")

    def run(program, *arguments):
        words = " ".join(map(shlex.quote, [sys.executable, "-c", program, *map(str, arguments)]))
        return subprocess.run(
            [*command, f"{inside} {words}"],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )

    return run


@pytest.mark.parametrize("megabytes", [12, 0])
def test_on_a_disk_that_is_really_full_naming_goes_on_and_forgetting_needs_ballast(
    tmp_path, small_disk, megabytes
):
    done = small_disk(FILLED, tmp_path, megabytes)
    assert done.stderr == ""
    told = "forgotten\n" if megabytes else "not forgotten: database or disk is full"
    assert done.stdout.startswith(told)
    assert done.returncode == (0 if megabytes else 3)


@pytest.mark.parametrize("laid", [True, False])
def test_a_refused_deletion_is_tried_again_in_the_room_of_the_ballast(tmp_path, monkeypatch, laid):
    retention = RetentionPolicy(ballast_megabytes=0.1)
    with opened(tmp_path, retention=retention) as home:
        home.teach(np.zeros(8), "ana")
        home.teach(np.full(8, 7.0), "Zebedee")
        ballast = tmp_path / "ballast"
        if laid:
            home.expire()
            assert ballast.stat().st_size == 100_000
        insert = EventLog.insert

        def full_disk(self, event, data=None):
            if not laid or ballast.exists():
                raise NotSaved("database or disk is full")
            insert(self, event, data)

        monkeypatch.setattr(EventLog, "insert", full_disk)
        if not laid:
            with pytest.raises(NotSaved, match="full"):
                home.forget("Zebedee")
            assert home.learner.names == ("ana", "Zebedee")
            return
        assert home.forget("Zebedee").labeled == 1
        assert files_with(tmp_path, b"Zebedee", np.full(8, 7.0).tobytes()) == []
        assert ballast.stat().st_size == 100_000
        assert home.health().read_only is None


def test_there_is_no_ballast_where_there_is_little_room(tmp_path, monkeypatch):
    """And what was taken is given back as far as there is room."""
    ballast = tmp_path / "ballast"
    for free, size in ((3.9e5, 0), (4.1e5, 100_000), (3e5, 100_000)):
        monkeypatch.setattr("shutil.disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        with opened(tmp_path, retention=RetentionPolicy(ballast_megabytes=0.1)) as home:
            home.expire()
        assert (ballast.stat().st_size if ballast.exists() else 0) == size
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=40_000))
    with Ballast(ballast, 100_000).released():
        assert not ballast.exists()
    assert ballast.stat().st_size == 40_000


def test_a_home_learns_again_when_there_is_room_again(tmp_path):
    with opened(tmp_path, retention=RetentionPolicy(retry_seconds=0)) as home:
        home.teach(np.zeros(8), "ana")
        pages(home, 0)
        with pytest.raises(NotSaved):
            home.teach(np.ones(8), "ana", picture=png(0, side=90))
        assert home.health().read_only
        pages(home, 1000)
        home.teach(np.ones(8), "ana", picture=png(0, side=90))
        assert home.health().read_only is None
        assert len(home.learner) == 2


@pytest.mark.parametrize("table", ["events", "pictures"])
def test_a_write_that_fails_half_way_leaves_memory_and_disk_as_they_were(tmp_path, table):
    home = opened(tmp_path, retention=RetentionPolicy(retry_seconds=0))
    watch(home, 2, 20)
    store = home._files.database
    store.query(
        f"CREATE TEMP TRIGGER refuse BEFORE INSERT ON {table} "
        "BEGIN SELECT RAISE(FAIL, 'disk I/O error'); END"
    )
    word, sequence = digest(home.learner), home.sequence
    with pytest.raises(NotSaved, match="disk I/O error"):
        home.teach(np.full(8, 50.0), "later", picture=png())
    assert (digest(home.learner), home.sequence) == (word, sequence)
    store.query("DROP TRIGGER refuse")
    home.teach(np.full(8, 50.0), "later", picture=png())
    word = digest(home.learner)
    crash(home)
    with opened(tmp_path) as home:
        assert digest(home.learner) == word


def test_damage_found_while_writing_costs_no_learned_thing(tmp_path):
    """A page of the pictures is gone: naming goes on, and the next change finds a new file."""
    with opened(tmp_path) as home:
        watch(home, 2, 20)
        for number in range(30):
            home.teach(np.full(8, 20.0 + number), "later", picture=png(number, side=60))
    home = opened(tmp_path, retention=RetentionPolicy(retry_seconds=0))
    word = digest(home.learner)
    store = home._files.database
    (root,) = store.query("SELECT rootpage FROM sqlite_master WHERE name = 'pictures'")[0]
    home.close()
    with open(tmp_path / "onlooker.db", "r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xa5" * 4096)
    home = opened(tmp_path, retention=RetentionPolicy(retry_seconds=0))
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


def test_the_files_are_for_their_owner_only(tmp_path):
    home = opened(tmp_path)
    home.teach(np.zeros(8), "ana")
    modes = {path.name: path.stat().st_mode & 0o077 for path in tmp_path.rglob("*")}
    crash(home)
    assert set(modes.values()) == {0}, modes


def test_ctrl_c_between_memory_and_disk_changes_nothing(tmp_path, monkeypatch):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        word = digest(home.learner)

        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(home._files.log, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            home.teach(np.ones(8), "ana")
        monkeypatch.undo()
        assert digest(home.learner) == word


def test_a_snapshot_that_fails_is_told_and_loses_nothing(tmp_path, monkeypatch):
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


# Everything at once ------------------------------------------------------------------------


points = st.tuples(st.integers(0, 5), st.integers(0, 3)).map(
    lambda at: np.array([*at, 0, 0, 0, 0, 0, 0]) * 0.4
)


class AnyOrder(RuleBasedStateMachine):
    """A home beside a plain learner that is never restarted; copies stand for its past."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.home = self.open()
        self.plain = small_learner(max_vertices=4)
        self.past = {0: copy.deepcopy(self.plain)}

    def open(self):
        return opened(
            self.folder.name,
            new_learner=lambda: small_learner(max_vertices=4),
            retention=RetentionPolicy(snapshot_every=6),
        )

    def both(self, act):
        found = expected = None
        try:
            expected = act(self.plain)
        except (NotFound, LabelConflict) as error:
            with pytest.raises(type(error)):
                act(self.home)
        else:
            found = act(self.home)
        self.compare()
        return found, expected

    def compare(self):
        assert digest(self.home.learner) == digest(self.plain)
        self.past.setdefault(self.home.sequence, copy.deepcopy(self.plain))

    @rule(x=points)
    def observe(self, x):
        def act(one):
            return one.observe(x, camera="a", frame=0) if one is self.home else one.observe(x)

        found, expected = self.both(act)
        assert (found.label, found.vertex) == (expected.label, expected.vertex)

    @rule(x=points, name=st.sampled_from(["ana", "ben"]))
    def teach(self, x, name):
        self.both(lambda one: one.teach(x, name))

    @rule(x=points)
    def unteach(self, x):
        self.both(lambda one: one.unteach(x))

    @rule(vertex=st.integers(0, 20))
    def drop(self, vertex):
        self.both(lambda one: one.drop(vertex))

    @rule(name=st.sampled_from(["ana", "ben"]))
    def forget(self, name):
        found, _ = self.both(lambda one: one.forget(name))
        if found is not None:
            self.past = {self.home.sequence: copy.deepcopy(self.plain)}

    @precondition(lambda self: len(self.past) > 1)
    @rule(data=st.data())
    def undo(self, data):
        to = data.draw(st.sampled_from(sorted(self.past)))
        before = self.plain.next_id
        self.home.undo(to=to)
        state = self.past[to].state()
        self.plain = self.past[to].restored(replace(state, next_id=before))
        self.compare()

    @rule(kill=st.booleans())
    def restart(self, kill):
        crash(self.home) if kill else self.home.close()
        self.home = self.open()
        assert self.home.problems == ()
        self.compare()

    def teardown(self):
        self.home.close()
        self.folder.cleanup()


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=20, stateful_step_count=20)
