"""Undo leads back to any stored event, is an event itself, and reaches as far as promised."""

import numpy as np
import pytest

from helpers.homes import NEVER, Clock, crash, flip_bit, opened, png, snapshot_files, watch
from onlooker.core.errors import NotFound
from onlooker.home.events import digest
from onlooker.home.people import merge, rename
from onlooker.home.retention import DAY, RetentionPolicy


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
    for path in snapshot_files(tmp_path)[1:]:
        flip_bit(path)
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


@pytest.mark.parametrize("to", [-1, 0.5, 9])
@pytest.mark.parametrize("forgotten", [False, True])
def test_what_never_was_an_event_is_not_said_to_be_from_before_a_forgetting(
    tmp_path, to, forgotten
):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        if forgotten:
            home.forget("ana")
        with pytest.raises(NotFound, match=f"event {to} cannot be undone to; give one from"):
            home.undo(to=to)


def test_undo_reaches_back_as_far_as_it_was_promised(tmp_path):
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
        assert len(snapshot_files(tmp_path)) <= 10
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


@pytest.mark.parametrize("change", [rename, merge])
def test_undo_of_a_rename_renames_the_history_back(tmp_path, change):
    def names():
        return [seen.name for seen in home.album.sightings()]

    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        home.teach(np.ones(8), "dora")
        for name in ("ana", "dora"):
            home.record_sighting(camera="door", frame=1, name=name, vertex=None)
        before = home.sequence
        change(home, "ana", "anna" if change is rename else "dora")
        after, renamed = home.sequence, names()
        assert renamed == (["anna", "dora"] if change is rename else ["dora", "dora"])
        home.undo(to=before)
        assert names() == ["ana", "dora"]
        home.undo(to=after)
        assert names() == renamed
        home.undo(to=before)
        home.record_sighting(camera="door", frame=2, name="ana", vertex=None)
        assert names() == ["ana", "dora", "ana"]


# ---- what an undo would take back


def test_a_preview_says_what_the_undo_then_does(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8, np.float32), "ana")
        home.observe(np.full(8, 0.1, np.float32), camera="door", frame=1)
        before = home.sequence
        home.teach(np.full(8, 5.0, np.float32), "ben")
        home.teach(np.full(8, 5.2, np.float32), "ben")
        home.observe(np.full(8, 5.4, np.float32), camera="door", frame=2)
        home.teach(np.full(8, 9.0, np.float32), not_name="ana")
        rename(home, "ana", "anna")
        word, sequence = digest(home.learner), home.sequence
        seen = home.undo_preview(before)
        assert (digest(home.learner), home.sequence) == (word, sequence)  # nothing was changed
        assert (seen.to, seen.events) == (before, sequence - before)
        assert (seen.people, seen.people_back) == (("ben",), ())
        assert seen.renamed == {"anna": "ana"}
        assert (seen.labels, seen.labels_back) == ({"ben": 2}, {})
        assert (seen.learned, seen.learned_back, seen.excluded) == (1, 0, 1)
        home.undo(to=before)
        assert home.learner.names == ("ana",)
        # The undo of the undo brings all of it back.
        back = home.undo_preview(sequence)
        assert (back.people, back.people_back) == ((), ("ben",))
        assert back.renamed == {"ana": "anna"}
        assert (back.labels, back.labels_back) == ({}, {"ben": 2})
        assert (back.learned, back.learned_back, back.excluded_back) == (0, 1, 1)


def test_the_preview_of_an_undone_merge_has_both_people(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8, np.float32), "ana")
        home.teach(np.full(8, 5.0, np.float32), "ben")
        merge(home, "ana", "ben")
        seen = home.undo_preview(home.sequence - 1)
        assert (seen.people, seen.people_back, seen.renamed) == ((), ("ana",), {})
        assert (seen.labels, seen.labels_back) == ({"ben": 1}, {"ana": 1})


def test_a_preview_refuses_what_the_undo_refuses(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8, np.float32), "ana")
        home.teach(np.full(8, 5.0, np.float32), "ben")
        assert home.undo_preview(home.sequence).events == 0
        home.forget("ana")
        for to in (0, 99, -1, "1"):
            with pytest.raises(NotFound, match="cannot be undone to"):
                home.undo_preview(to)
