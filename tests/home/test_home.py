"""The verbs of a home are durable: it comes back as the learner that never ended."""

import numpy as np
import pytest

from helpers.homes import (
    NEVER,
    QUANTIZERS,
    Clock,
    assert_same_answers,
    crash,
    opened,
    png,
    small_learner,
    snapshot_files,
    stream,
    watch,
)
from onlooker.core.errors import BadValue, BadVector, LabelConflict, NotFound
from onlooker.home import people
from onlooker.home.database import NotSaved
from onlooker.home.events import EventLog, digest
from onlooker.home.home import FaceToTeach
from onlooker.home.retention import RetentionPolicy


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
        listed = [(e.sequence, e.time, e.camera, e.frame, e.kind) for e in home.events()]
    assert listed == [
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


@pytest.mark.parametrize("quantizer", QUANTIZERS)
def test_another_learner_is_merged_durably(tmp_path, quantizer):
    other = small_learner("doubling", max_vertices=4)
    for x, name in list(stream(3, 12)):
        other.teach(x, name or "nobody")
        other.observe(x + 0.1)
    assert other.radius > 0
    plain = small_learner(quantizer)
    plain.merge(other)
    home = opened(tmp_path, new_learner=lambda: small_learner(quantizer))
    home.merge(other)
    crash(home)
    with opened(tmp_path, new_learner=lambda: small_learner(quantizer)) as home:
        assert digest(home.learner) == digest(plain)
        assert home.learner.radius == plain.radius


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


def test_a_state_file_that_is_adopted_keeps_its_quantizer(tmp_path):
    learner = small_learner("doubling")
    learner.teach(np.zeros(8), "ana")
    learner.save(tmp_path / "state")
    with opened(tmp_path / "home", adopt=tmp_path / "state") as home:
        assert home.learner.quantizer == learner.quantizer != small_learner().quantizer


def test_a_learner_that_lost_every_face_still_knows_how_long_they_are(tmp_path):
    """Or the next one would be accepted with any length, after a restart only."""
    home = opened(tmp_path, retention=NEVER)
    home.teach(np.zeros(8), "ana")
    home.drop(0)
    with pytest.raises(BadVector):
        home.teach(np.zeros(5), "ana")
    crash(home)
    with opened(tmp_path) as home:
        assert len(home.learner) == 0
        with pytest.raises(BadVector):
            home.teach(np.zeros(5), "ana")
        home.teach(np.zeros(8), "ana")


def test_faces_are_taught_once_and_counted_by_name(tmp_path):
    faces = [FaceToTeach(name, np.full(8, at)) for name, at in
             (("ana", 0.0), ("ana", 1.0), ("ana", 1.0), ("ben", 5.0))]  # fmt: skip
    with opened(tmp_path) as home:
        assert home.teach_all(faces[2:]) == {"ana": 1, "ben": 1}
        assert home.teach_all(faces) == {"ana": 1, "ben": 0}
        assert home.vertices().names == ("ana", "ben", "ana")
        assert home.sequence == 3


def test_a_home_has_a_word_of_its_own_that_stays(tmp_path):
    words = set()
    for name in ("one", "two", "one", "two"):
        with opened(tmp_path / name) as home:
            words.add(home.identity)
            assert home.identity in words
    assert len(words) == 2
    assert {len(word) for word in words} == {16}


@pytest.mark.parametrize("state", ["failing", "live"])
def test_what_became_of_a_camera_is_an_event(tmp_path, state):
    with opened(tmp_path) as home:
        home.record_camera("door", state, "Connection refused")
        (event,) = home.events(kind="camera")
        assert event.camera == "door"
        assert event.changes == [["camera", state, "Connection refused"]]


def test_what_was_taken_out_of_a_face_is_not_a_part_of_it_any_more(tmp_path):
    """Or a second correction would take it out again."""
    with opened(tmp_path, new_learner=lambda: small_learner(max_vertices=1)) as home:
        home.teach(np.zeros(8), "ana")
        home.teach(np.full(8, 9.0), "ben")
        for number, at in enumerate((0.2, 0.25, 0.22)):
            home.observe(np.full(8, at), camera="door", frame=number)
        found, is_whole = home.merged_examples(2)
        assert (found.parts, is_whole) == ({2: {3: 1, 4: 1}}, True)
        home.reduce({2: {3: 1}})
        assert home.merged_examples(2)[0].parts == {2: {4: 1}}
        assert home.vertices().multiplicities.tolist() == [1, 1, 2]


def test_numbers_of_numpy_and_clocks_that_count_whole_seconds_are_kept(tmp_path):
    home = opened(tmp_path, clock=lambda: 7, retention=NEVER)
    home.teach(np.zeros(8), "ana", camera="a\ud800b", frame=np.int64(3))
    crash(home)
    with opened(tmp_path) as home:
        assert home.problems == ()
        (event,) = home.events()
        assert (event.time, event.frame) == (7.0, 3)


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


# Batches -----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["close", "crash"])
def test_a_batch_is_one_transaction_and_comes_back(tmp_path, how):
    plain = small_learner()
    home = opened(tmp_path, retention=RetentionPolicy(snapshot_every=7))
    examples = list(stream(3, 40))
    for start in range(0, 40, 8):
        with home.batch():
            for number, (x, name) in enumerate(examples[start : start + 8], start):
                if number < 4:
                    home.teach(x, name)
                    plain.teach(x, name)
                else:
                    home.observe(x, camera="door", frame=number)
                    plain.observe(x)
            home.set_number("last door", start + 8)
    home.close() if how == "close" else crash(home)
    with opened(tmp_path) as home:
        assert digest(home.learner) == digest(plain)
        assert home.number("last door") == 40
        assert_same_answers(home, plain, 9)


@pytest.mark.parametrize("error", [KeyboardInterrupt, NotSaved("full"), NotFound("nobody")])
def test_a_batch_that_fails_leaves_nothing(tmp_path, error):
    def fill(home):
        with home.batch():
            home.teach(np.ones(8), "ben")
            home.observe(np.full(8, 0.1), camera="door", frame=1)
            home.set_number("last door", 2)
            with home.batch():  # a part of the same transaction
                home.teach(np.full(8, 5.0), "cid")
            raise error

    with opened(tmp_path, retention=RetentionPolicy(retry_seconds=0)) as home:
        home.teach(np.zeros(8), "ana")
        before = digest(home.learner), home.sequence
        with pytest.raises(error if isinstance(error, type) else type(error)):
            fill(home)
        assert (digest(home.learner), home.sequence) == before
        assert home.number("last door") is None
        home.teach(np.ones(8), "ben")
    with opened(tmp_path) as home:
        assert home.learner.names == ("ana", "ben")
        assert home.problems == ()


def test_no_snapshot_is_written_inside_a_batch(tmp_path):
    """It would hold what is not committed yet."""
    with opened(tmp_path, retention=RetentionPolicy(snapshot_every=2)) as home:
        with home.batch():
            for number in range(6):
                home.teach(np.full(8, float(number)), "ana")
            assert snapshot_files(tmp_path)[-1].name == f"{0:012d}.snapshot"
        assert snapshot_files(tmp_path)[-1].name == f"{6:012d}.snapshot"


def test_an_observation_that_is_refused_inside_a_batch_raises(tmp_path, monkeypatch):
    """Outside it is answered without learning; inside, the sender must send it again."""
    with opened(tmp_path, retention=RetentionPolicy(retry_seconds=0)) as home:
        home.teach(np.zeros(8), "ana")

        def refuse(*_):
            raise NotSaved("full")

        with monkeypatch.context() as patch:
            patch.setattr(EventLog, "insert", refuse)
            assert home.observe(np.full(8, 0.1), camera="door", frame=0).label == "ana"
            with pytest.raises(NotSaved), home.batch():
                home.observe(np.full(8, 0.1), camera="door", frame=0)


@pytest.mark.parametrize("kind", ["rename", "merge"])
def test_who_a_face_is_not_follows_a_name_that_changes(tmp_path, kind):
    home = opened(tmp_path)
    home.teach(np.zeros(8), "ana")
    home.teach(np.full(8, 5.0), "ben")
    home.teach(np.full(8, 9.0), not_name="ana")
    home.teach(np.full(8, 5.0), not_name="ana")
    if kind == "rename":
        people.rename(home, "ana", "anna")
        expected = {1: {"anna"}, 2: {"anna"}}
    else:
        people.merge(home, "ana", "ben")
        expected = {2: {"ben"}}  # what ben is not says nothing of ben any more
    word = digest(home.learner)
    assert home.vertices().negatives == expected
    crash(home)
    with opened(tmp_path) as home:
        assert home.vertices().negatives == expected
        assert digest(home.learner) == word
