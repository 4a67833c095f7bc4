"""One card a stranger, whatever the order; nothing of them stays longer than it should."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from helpers.homes import LENGTH, files_with, png, small_learner, stream
from helpers.hooks import Hook
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.alerts.channels import Alerts
from onlooker.alerts.queue import WAITING
from onlooker.alerts.webhook import Webhook
from onlooker.cli.alerts import print_and_send_alarm
from onlooker.core.errors import (
    BadName,
    BadValue,
    BadVector,
    LabelConflict,
    NotFound,
    WrongVectorLength,
)
from onlooker.home.alarms import RUN, Alarm
from onlooker.home.card_table import CardTable
from onlooker.home.database import NotSaved
from onlooker.home.events import digest
from onlooker.home.home import Home
from onlooker.home.retention import RetentionPolicy
from onlooker.strangers.book import StrangerBook
from onlooker.strangers.cards import ALIKE, FACES, CardFace, SeenAt, best_faces
from onlooker.strangers.correction import learned_only_through, wrong
from onlooker.strangers.strangers import Strangers

KERNEL = HeatKernel(0.4, 1e-4)
REACH = KERNEL.reach
HOUR = 3600.0
STILL = np.zeros(LENGTH)


def see(strangers, x, at=0.0, camera="door", **more):
    x = [x] if np.isscalar(x) else x
    return strangers.see(x, time=at, camera=camera, frame=0, **more)


def shown(strangers):
    """Everything that is shown of strangers."""
    return [
        (
            card.number,
            card.count,
            card.first,
            card.last,
            card.hidden,
            [(f.vector.tolist(), f.picture, f.quality, f.seen) for f in card.faces],
        )
        for card in strangers.cards(hidden=True)
    ]


# Cards -------------------------------------------------------------------------------------


def test_a_stranger_seen_fifty_times_is_one_card():
    strangers, rng = Strangers(KERNEL), np.random.default_rng(3)
    for number in range(50):
        see(strangers, rng.normal(size=LENGTH) * 0.1, at=float(number), camera=f"c{number % 2}")
    (card,) = strangers.cards()
    assert card.count == 50
    assert (card.first.time, card.first.camera) == (0.0, "c0")
    assert (card.last.time, card.last.camera) == (49.0, "c1")


def test_two_strangers_are_two_cards_the_more_often_seen_first():
    strangers = Strangers(KERNEL)
    numbers = [see(strangers, x) for x in (0.0, 9.0, 9.1, 0.1, 9.2)]
    assert numbers == [1, 2, 2, 1, 2]
    assert [(card.number, card.count) for card in strangers.cards()] == [(2, 3), (1, 2)]


def test_groups_that_become_linked_become_one_card_with_the_older_number():
    strangers = Strangers(KERNEL)
    assert [see(strangers, x) for x in (0.0, 1.8 * REACH, 50.0)] == [1, 2, 3]
    assert see(strangers, 0.9 * REACH, at=5.0) == 1
    assert [(card.number, card.count) for card in strangers.cards()] == [(1, 3), (3, 1)]
    assert see(strangers, 1.8 * REACH) == 1
    with pytest.raises(NotFound, match="no stranger 2 any more"):
        strangers.card(2)
    assert see(strangers, 99.0) == 4  # numbers are not used again


@pytest.mark.parametrize(("away", "cards"), [(1.1, 1), (1.3, 2)])
def test_a_blurred_face_of_a_track_does_not_make_a_second_card(away, cards):
    strangers = Strangers(KERNEL)
    first = see(strangers, 0.0)
    assert see(strangers, away * REACH, likely=first) == (first if cards == 1 else 2)
    assert len(strangers.cards()) == cards


def test_a_track_joins_the_cards_of_its_faces_and_no_card_that_is_gone():
    strangers = Strangers(KERNEL)
    one, other = see(strangers, 0.0), see(strangers, 2.0 * REACH)
    assert see(strangers, 1.1 * REACH, likely=one) == one  # it is connected to the other
    assert [card.number for card in strangers.cards()] == [one]
    assert see(strangers, 50.0, likely=other) == 3


def test_a_face_that_may_not_start_a_card_is_added_where_it_belongs_or_not_at_all(tmp_path):
    with opened(tmp_path) as home, StrangerBook(home) as book:
        see = partial(book.observe, camera="door", frame=0)
        (still, near, far) = (np.full(LENGTH, x) for x in (0.0, 0.05, 9.0))
        first = see(still)
        before = book.strangers.changes
        assert see(far, starts=False) is None
        assert (book.strangers.changes, len(book.strangers)) == (before, 1)
        assert see(near, starts=False) == first
        assert see(far) == first + 1
        assert [card.count for card in book.cards()] == [2, 1]


points = st.lists(st.integers(-40, 40), min_size=1, max_size=25)


@given(points=points, order=st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_cards_are_the_components_of_the_similarity_graph_in_any_order(points, order):
    xs = [point * REACH / 3.5 for point in points]
    weights = np.array([KERNEL.similarity([x], np.array(xs)[:, None]) for x in xs])
    _, parts = connected_components(weights > 0, directed=False)
    expected = sorted(np.bincount(parts).tolist())
    for _ in range(3):
        strangers = Strangers(KERNEL)
        for x in xs:
            see(strangers, x)
        assert sorted(card.count for card in strangers.cards()) == expected
        assert strangers.cards()[0].number <= len(xs)
        order.shuffle(xs)


@given(
    xs=st.lists(st.floats(-30, 30), min_size=1, max_size=40),
    budget=st.integers(1, 6),
    room=st.integers(0, 300),
)
@settings(max_examples=80, deadline=None)
def test_never_more_than_the_budget_and_no_card_without_a_vertex(xs, budget, room):
    strangers = Strangers(KERNEL, max_vertices=budget, picture_bytes=room)
    again = Strangers(KERNEL, max_vertices=budget, picture_bytes=room)
    for number, x in enumerate(xs):
        picture = png(number)
        card = see(strangers, x, at=float(number), picture=picture, quality=x)
        assert card == see(again, x, at=float(number), picture=lambda made=picture: made, quality=x)
        assert card in [card.number for card in strangers.cards()]
        assert 1 <= len(strangers.cards()) <= len(strangers) <= budget
        faces = [face for card in strangers.cards() for face in card.faces]
        assert all(1 <= len(card.faces) <= FACES for card in strangers.cards())
        assert sum(len(face.picture or b"") for face in faces) <= room
    assert shown(strangers) == shown(again)


def test_a_full_house_does_not_make_two_strangers_one():
    strangers = Strangers(KERNEL, max_vertices=3)
    for number, x in enumerate([0.0, 10.0, 20.0, 10.1, 0.1, 30.0]):
        see(strangers, x, at=float(number))
    assert [(c.number, c.count) for c in strangers.cards()] == [(1, 2), (2, 2), (4, 1)]


def test_a_stranger_seen_51_times_is_not_pushed_out_by_299_seen_once():
    strangers = Strangers(KERNEL, max_vertices=30)
    for number in range(51):
        see(strangers, 0.0, at=float(number))
    for number in range(1, 60):
        see(strangers, 10.0 * number, at=51.0 + number)
    cards = strangers.cards()
    assert (cards[0].number, cards[0].count) == (1, 51)
    assert [card.number for card in cards[1:]] == list(range(32, 61))  # the oldest went first


def test_where_all_were_seen_twice_somebody_new_can_still_stay():
    strangers = Strangers(KERNEL, max_vertices=3)
    for number, x in enumerate([0.0, 0.0, 10.0, 10.0, 20.0, 20.0, 30.0, 30.0]):
        see(strangers, x, at=float(number))
    assert [(card.number, card.count) for card in strangers.cards()] == [(2, 2), (3, 2), (4, 2)]


def test_the_best_faces_that_differ_are_kept():
    strangers, made = Strangers(KERNEL), []
    for number, (x, quality) in enumerate([(0.0, 5), (0.01, 9), (1.0, 1), (2.0, 2), (3.0, 3)]):
        see(
            strangers,
            x,
            quality=quality,
            picture=lambda number=number: made.append(1) or png(number),
        )
    see(strangers, 4.0, quality=0.5, picture=lambda: made.append("poor") or png())
    (card,) = strangers.cards()
    assert [face.quality for face in card.faces] == [9, 3, 2, 1]
    assert [face.picture for face in card.faces] == [png(1), png(4), png(3), png(2)]
    assert "poor" not in made


def smallest_gap(vectors):
    return min((abs(x - y).max() for x, y in combinations(vectors, 2)), default=np.inf)


@given(st.lists(st.integers(0, 400), min_size=FACES + 1, max_size=FACES + 1, unique=True))
def test_no_other_four_faces_with_the_best_one_differ_more_than_those_of_the_card(places):
    seen = SeenAt(0.0, "door", 0)
    faces = [CardFace(np.array([place / 2]), None, 1.0, seen) for place in places]
    first, *others = [face.vector for face in faces]
    chosen = [face.vector for face in best_faces(faces, KERNEL)]
    assert len(chosen) == FACES
    assert chosen[0] is first  # of equals the first
    most = max(smallest_gap([first, *three]) for three in combinations(others, FACES - 1))
    assert smallest_gap(chosen) == most


@given(st.lists(st.tuples(st.integers(0, 90), st.floats(-1, 9)), min_size=1, max_size=9))
def test_no_two_faces_of_a_card_are_alike_and_none_is_left_out_that_is_unlike_all(drawn):
    seen = SeenAt(0.0, "door", 0)
    faces = [CardFace(np.array([x / 10]), None, quality, seen) for x, quality in drawn]
    chosen = [face.vector for face in best_faces(faces, KERNEL)]
    assert 1 <= len(chosen) <= FACES
    assert all(KERNEL.similarity(x, [y])[0] < ALIKE for x, y in combinations(chosen, 2))
    if len(chosen) < FACES:
        assert all(KERNEL.similarity(face.vector, chosen).max() >= ALIKE for face in faces)


@given(st.lists(st.floats(0, 30), min_size=1, max_size=30))
def test_the_faces_of_a_card_never_become_more_alike_while_its_best_one_stays(places):
    strangers, before = Strangers(HeatKernel(8.0, 1e-4)), 0.0
    for place in places:
        number = see(strangers, place, quality=1.0)
        vectors = [face.vector for face in strangers.card(number).faces]
        assert vectors[0].item() == places[0]
        if len(vectors) == FACES:
            assert smallest_gap(vectors) >= before
            before = smallest_gap(vectors)


def test_a_card_shows_faces_from_all_over_a_walk_and_not_four_frames_in_a_row():
    strangers = Strangers(KERNEL)
    for frame, place in enumerate(np.linspace(0.0, 9.0, 200)):
        number = strangers.see(
            [place], time=float(frame), camera="door", frame=frame, quality=1000.0 + frame
        )
    frames = sorted(face.seen.frame for face in strangers.card(number).faces)
    assert frames[-1] > 190
    assert np.diff(frames).min() >= 15


def test_a_poor_face_is_not_chosen_because_it_differs():
    strangers = Strangers(KERNEL)
    for place in (0.0, 0.5, 1.0, 1.5):
        see(strangers, place, quality=100.0)
    number = see(strangers, 3.0, quality=20.0)
    assert [face.vector.item() for face in strangers.card(number).faces] == [0.0, 0.5, 1.0, 1.5]
    see(strangers, 3.0, quality=30.0)
    assert 3.0 in [face.vector.item() for face in strangers.card(number).faces]


@pytest.mark.parametrize(
    ("wrong_one", "error"),
    [
        ({"x": [np.nan]}, BadVector),
        ({"x": [1.0, 2.0]}, WrongVectorLength),
        ({"time": np.inf}, BadValue),
        ({"quality": "good"}, BadValue),
        ({"picture": b"GIF89a"}, BadValue),
        ({"picture": lambda: b"GIF89a"}, BadValue),
        ({"times": 0}, BadValue),
    ],
)
def test_what_is_refused_changes_nothing(wrong_one, error):
    strangers = Strangers(KERNEL)
    for x in (0.0, 1.8 * REACH):
        see(strangers, x)
    before = shown(strangers)
    given_ = {"x": [0.9 * REACH], "time": 1.0, "camera": "door", "frame": 1, "quality": 9.0}
    with pytest.raises(error):
        strangers.see(**given_ | wrong_one)
    assert shown(strangers) == before
    assert see(strangers, 9.0) == 3


# Naming and ignoring -----------------------------------------------------------------------


def test_naming_teaches_the_learner_and_removes_the_stranger():
    strangers, learner = Strangers(KERNEL), small_learner()
    rng = np.random.default_rng(1)
    ana, other = rng.normal(size=(2, LENGTH)) * 9
    for number in range(20):
        card = see(strangers, ana + rng.normal(size=LENGTH) * 0.15, quality=number)
    see(strangers, other)
    taught = strangers.name(card, "ana", lambda x, name, _: learner.teach(x, name))
    assert 1 <= taught <= FACES
    assert [card.count for card in strangers.cards()] == [1]
    assert len(strangers) == 1
    assert all(
        learner.observe(ana + rng.normal(size=LENGTH) * 0.15).label == "ana" for _ in range(20)
    )
    assert learner.observe(other).label is None


def test_a_name_that_is_refused_leaves_the_card():
    strangers = Strangers(KERNEL)
    card = see(strangers, 0.0)

    def refuse(*_):
        raise LabelConflict("somebody else")

    with pytest.raises(LabelConflict):
        strangers.name(card, "ana", refuse)
    with pytest.raises(BadName):
        strangers.name(card, " ", refuse)
    assert [card.number for card in strangers.cards()] == [card]


def test_who_is_ignored_stays_ignored():
    strangers = Strangers(KERNEL)
    card = see(strangers, 0.0, picture=png())
    strangers.ignore(card)
    assert see(strangers, 0.1, picture=png(1)) == card
    assert strangers.cards() == []
    (hidden,) = strangers.cards(hidden=True)
    assert hidden.count == 2
    assert [face.picture for face in hidden.faces] == [None]
    assert not strangers.mark_alerted(card)
    late = see(strangers, 1.8 * REACH, picture=png(2))
    assert [card.number for card in strangers.cards()] == [late]
    see(strangers, 0.9 * REACH)
    assert strangers.cards() == []
    assert {face.picture for face in strangers.card(card).faces} == {None}


# Expiry ------------------------------------------------------------------------------------


def test_what_is_too_old_goes():
    strangers = Strangers(KERNEL)
    for x, at in ((0.0, 1.0), (9.0, 2.0), (9.1, 5.0), (20.0, 1.0)):
        see(strangers, x, at=at, picture=png(int(at)))
    strangers.ignore(3)
    assert strangers.expire(3.0, hidden_before=0.5) == 1
    assert [card.number for card in strangers.cards(hidden=True)] == [2, 3]
    (card,) = strangers.cards()
    assert (card.count, len(strangers)) == (2, 2)  # the card goes on, its old vector is gone
    assert [face.picture for face in card.faces] == [None]
    assert card.faces[0].vector.tolist() == [9.1]
    assert strangers.expire(3.0) == 1
    assert strangers.expire(99.0) == 1
    assert len(strangers) == 0


def test_the_old_picture_of_somebody_who_is_still_here_goes_from_the_file_too(tmp_path):
    clock = Clock()
    picture = png(5, side=24)
    with opened(tmp_path) as home, StrangerBook(home, clock=clock) as book:
        book.observe(STILL, camera="door", frame=np.int64(0), picture=picture)
        book.expire()
        assert files_with(tmp_path, picture[60:90])
        for _ in range(3):
            clock.now += 4 * HOUR
            book.observe(STILL, camera="door", frame=1)
            book.expire()
        assert [card.count for card in book.cards()] == [4]
        assert files_with(tmp_path, picture[60:90]) == []


def test_a_clock_set_back_neither_deletes_the_new_nor_keeps_the_old_for_ever():
    strangers, day = Strangers(KERNEL), 24 * HOUR
    see(strangers, 0.0, at=10 * day, picture=png())
    now = 9 * day
    see(strangers, 9.0, at=now)
    assert strangers.expire(now - 8 * HOUR, now=now) == 0
    now += 9 * HOUR
    assert strangers.expire(now - 8 * HOUR, now=now) == 2


# On disk -----------------------------------------------------------------------------------


class Clock:
    def __init__(self, now=1e9):
        self.now = now

    def __call__(self):
        return self.now


def opened(folder, **options):
    return Home(folder, **({"new_learner": small_learner} | options))


@given(seed=st.integers(0, 10**6), cut=st.integers(1, 39))
@settings(max_examples=10, deadline=None)
def test_strangers_from_a_database_go_on_as_if_nothing_had_been(tmp_path_factory, seed, cut):
    folder = tmp_path_factory.mktemp("strangers")
    rng = np.random.default_rng(seed)
    xs = (rng.integers(-12, 12, size=40) * REACH / 2.5).astype(np.float32)
    clock, expected = Clock(0.0), Strangers(KERNEL, max_vertices=6)

    def reopened():
        home = opened(folder, new_learner=lambda: OnlineHarmonicLearner(KERNEL))
        return home, StrangerBook(home, max_vertices=6, clock=clock)

    home, book = reopened()
    for number, x in enumerate(xs):
        clock.now, face = float(number), np.array([x])
        see(expected, face, at=clock.now, picture=png(number), quality=float(x))
        origin = {"camera": "door", "frame": 0}
        book.observe(face, **origin, picture=png(number), quality=float(x))
        if number == cut:
            expected.ignore(expected.cards()[0].number)
            book.ignore(book.cards()[0].number)
            book.close()
            home.close()
            home, book = reopened()
        assert shown(book.strangers) == shown(expected)
    assert book.strangers.expire(30.0) == expected.expire(30.0)
    assert shown(book.strangers) == shown(expected)
    home.close()


def test_a_restart_shows_the_same_cards(tmp_path):
    with opened(tmp_path) as home, StrangerBook(home) as book:
        for number, (x, _) in enumerate(stream(4, 60)):
            book.observe(x, camera="door", frame=number, picture=png(number))
        before = shown(book.strangers)
        assert len(before) > 2
    with opened(tmp_path) as home, StrangerBook(home) as book:
        assert shown(book.strangers) == before
        assert book.problems == []


def test_strangers_survive_a_database_that_is_set_aside_while_nobody_new_is_seen(tmp_path):
    with opened(tmp_path) as home, StrangerBook(home) as book:
        book.observe(np.zeros(LENGTH), camera="door", frame=0)
        book.expire()
        files = home._files
        files.database.close_as_it_is()
        files._replace_database("a test says so", home.learner)
    with opened(tmp_path) as home, StrangerBook(home) as book:
        assert [card.count for card in book.cards()] == [1]


def test_a_crash_loses_the_last_sightings_only(tmp_path):
    with opened(tmp_path) as home:
        book = StrangerBook(home, save_every=10)
        for number in range(15):
            book.observe(np.zeros(LENGTH), camera="door", frame=number)
        (card,) = StrangerBook(home).cards()
    assert card.count == 10


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE cards SET count = count + 1 WHERE number = 1",
        "UPDATE cards SET last_time = 'noon' WHERE number = 1",
        "UPDATE card_vertices SET vector = zeroblob(32) WHERE card = 1",
        "UPDATE card_vertices SET turn = 99 WHERE card = 1",
    ],
)
def test_a_damaged_card_is_left_out_with_a_word_and_the_others_stay(tmp_path, damage):
    with opened(tmp_path) as home:
        with StrangerBook(home) as book:
            book.observe(np.zeros(LENGTH), camera="door", frame=0, picture=png())
            book.observe(np.full(LENGTH, 9.0), camera="door", frame=1, picture=png(1))
        assert home.database.execute(damage) == 1
        with StrangerBook(home) as book:
            assert [card.number for card in book.cards()] == [2]
            assert book.problems == ["1 damaged rows of strangers are skipped"]
        with StrangerBook(home) as book:
            assert [card.number for card in book.cards()] == [2]
            assert book.problems == []


def test_a_damaged_face_is_not_shown_and_its_card_stays(tmp_path):
    with opened(tmp_path) as home:
        with StrangerBook(home) as book:
            book.observe(np.zeros(LENGTH), camera="door", frame=0, picture=png())
        assert home.database.execute("UPDATE card_faces SET png = x'00'") == 1
        with StrangerBook(home) as book:
            assert [(card.number, card.faces) for card in book.cards()] == [(1, ())]


def test_cards_that_contradict_each_other_are_not_shown(tmp_path, monkeypatch):
    with opened(tmp_path) as home:
        with StrangerBook(home) as book:
            book.observe(np.zeros(LENGTH), camera="door", frame=0)
        monkeypatch.setattr(Strangers, "restore", lambda *_: (_ for _ in ()).throw(BadValue("no")))
        with StrangerBook(home) as book:
            assert book.cards() == []
            assert "stored strangers are not shown: no" in book.problems[0]


def test_no_byte_of_who_was_named_and_forgotten_remains(tmp_path):
    rng = np.random.default_rng(8)
    seen = [(rng.normal(size=LENGTH) * 0.1).astype(np.float32) for _ in range(6)]
    pictures = [png(number, side=24) for number in range(6)]
    needles = [x.tobytes() for x in seen] + [picture[60:90] for picture in pictures]
    with opened(tmp_path) as home, StrangerBook(home, save_every=1) as book:
        for number, (x, picture) in enumerate(zip(seen, pictures, strict=True)):
            card = book.observe(x, camera="door", frame=number, picture=picture, quality=number)
        assert files_with(tmp_path, *needles)
        assert book.name(card, "ana") >= 1
        assert home.predict(seen[0]).label == "ana"
        book.forget("ana")
    assert files_with(tmp_path, *needles) == []


def test_faces_of_an_ignored_stranger_are_deleted_on_a_full_disk_too(tmp_path, monkeypatch):
    """In the space that the ballast reserves."""
    picture, ballast = png(5, side=24), tmp_path / "ballast"
    retention = RetentionPolicy(ballast_megabytes=0.1)
    with opened(tmp_path, retention=retention) as home, StrangerBook(home) as book:
        card = book.observe(np.zeros(LENGTH), camera="door", frame=0, picture=picture)
        book.expire()
        home.expire()
        assert ballast.exists()
        put_faces = CardTable.put_faces

        def full_disk(self, *arguments):
            if ballast.exists():
                raise NotSaved("database or disk is full")
            put_faces(self, *arguments)

        monkeypatch.setattr(CardTable, "put_faces", full_disk)
        book.ignore(card)
        assert ballast.exists()
        assert files_with(tmp_path, picture[60:90]) == []


@pytest.mark.parametrize("decision", ["name", "wrong", "forget"])
def test_a_decision_that_is_interrupted_changes_neither_home_nor_strangers(
    tmp_path, monkeypatch, decision
):
    with opened(tmp_path) as home, StrangerBook(home, save_every=1) as book:
        home.teach(np.zeros(LENGTH), "ana")
        vertex = home.observe(np.full(LENGTH, 0.1), camera="door", frame=0).vertex
        card = book.observe(np.full(LENGTH, 9.0), camera="door", frame=1)
        book.observe(np.full(LENGTH, 0.3), camera="door", frame=2)
        before = digest(home.learner), shown(book.strangers), home.sequence
        act = {
            "name": lambda: book.name(card, "ben"),
            "wrong": lambda: book.wrong(vertex),
            "forget": lambda: book.forget("ana"),
        }[decision]

        def interrupted(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(StrangerBook, "_write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                act()
        assert (digest(home.learner), shown(book.strangers), home.sequence) == before
        assert shown(StrangerBook(home).strangers) == before[1]
        act()
        assert shown(StrangerBook(home).strangers) == shown(book.strangers)
        assert digest(home.learner) != before[0]


def test_who_is_ignored_is_stored_as_long_as_sightings(tmp_path):
    clock = Clock()
    retention = RetentionPolicy(stranger_hours=8, sighting_days=30)
    with (
        opened(tmp_path, retention=retention) as home,
        StrangerBook(home, clock=clock) as book,
    ):
        postman, other = np.zeros(LENGTH), np.full(LENGTH, 9.0)
        book.ignore(book.observe(postman, camera="door", frame=0))
        book.observe(other, camera="door", frame=0, picture=png(5, side=24))
        clock.now += 7 * HOUR
        assert book.expire() == 0
        assert files_with(tmp_path, png(5, side=24)[60:90])
        clock.now += 2 * HOUR
        assert book.expire() == 1
        assert not files_with(tmp_path, png(5, side=24)[60:90])
        clock.now += 24 * HOUR
        book.observe(postman, camera="door", frame=1)
        assert book.cards() == []
        clock.now += 31 * 24 * HOUR
        assert book.expire() == 1


# Wrong -------------------------------------------------------------------------------------


def reaching(learner, without=None):
    """The unlabeled vertices from which a walk gets to a label; plain and slow."""
    known = learner.vertices()
    rows = [row for row, vertex in enumerate(known.ids) if vertex != without]
    vectors = known.vectors[rows].astype(float)
    near = [learner.kernel.similarity(vector, vectors) > 0 for vector in vectors]
    found, left = set(), [at for at, row in enumerate(rows) if known.names[row] is not None]
    while left:
        here = left.pop()
        for there, row in enumerate(rows):
            if near[here][there] and known.names[row] is None and there not in found:
                found.add(there)
                left.append(there)
    return {int(known.ids[rows[at]]) for at in found}


@pytest.mark.parametrize("seed", range(8))
def test_wrong_drops_exactly_what_was_learned_only_through_it(tmp_path, seed):
    rng = np.random.default_rng(seed)
    with opened(tmp_path, new_learner=lambda: small_learner(max_vertices=30)) as home:
        spots = np.zeros((2, LENGTH))
        spots[1, 0] = 9.0 if seed % 4 < 2 else 14.0  # whether the two meet
        for name, spot in zip(("ana", "ben"), spots, strict=True):
            home.teach(spot, name, picture=png(7))
        arms = [sign * np.eye(LENGTH)[axis] for sign in (1, -1) for axis in (0, 1)]
        for frame, far in enumerate(np.repeat([1.2, 2.4, 3.6, 4.8], 8)):  # chains that grow
            on = spots[frame % 2] + arms[frame // 2 % 4] * far + rng.normal(size=LENGTH) * 0.12
            home.observe(on, camera="door", frame=frame, picture=lambda n=frame: png(n))
        if seed % 2:
            home.unteach(spots[1])  # some reach nothing already: those are not its fault
        ids = home.vertices().ids.tolist()
        before, through = reaching(home.learner), {}
        for vertex in ids:
            through[vertex] = before - reaching(home.learner, without=vertex) - {vertex}
            assert set(learned_only_through(home.learner, vertex)) == through[vertex]
        vertex = max(through, key=lambda each: len(through[each]))
        expected = through[vertex] | {vertex}
        assert len(expected) > 1
        counts = dict(zip(ids, home.vertices().multiplicities.tolist(), strict=True))
        strangers = Strangers(home.learner.kernel)
        result = wrong(home, vertex, strangers, time=5.0)
        assert set(home.vertices().ids.tolist()) == set(ids) - expected
        assert result.vertices[-1] == vertex
        assert result.examples == sum(counts[each] for each in expected)
        cards = strangers.cards()
        assert sum(card.count for card in cards) == result.examples
        assert {card.number for card in cards} == set(result.cards)
        assert any(face.picture for card in cards for face in card.faces)
        home.undo(to=result.undo_to)
        assert home.vertices().ids.tolist() == ids


def test_wrong_that_was_interrupted_can_be_said_again(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(LENGTH), "ana")
        for step in range(1, 6):
            home.observe(np.eye(LENGTH)[0] * step, camera="door", frame=step)
        doomed = learned_only_through(home.learner, 1)
        assert doomed == [5, 4, 3, 2]
        for gone in range(len(doomed)):
            assert learned_only_through(home.learner, 1) == doomed[gone:]
            home.drop(doomed[gone])


def test_wrong_on_a_vertex_that_is_gone_is_reported(tmp_path):
    with opened(tmp_path) as home, StrangerBook(home) as book:
        home.teach(np.zeros(LENGTH), "ana")
        for vertex in (7, -1):
            with pytest.raises(NotFound, match=f"no vertex {vertex} any more"):
                book.wrong(vertex)
        assert book.cards() == []
        assert book.wrong(0).vertices == (0,)
        assert home.learner.names == ()


# Alerts ------------------------------------------------------------------------------------


def test_an_alarm_is_printed_with_its_words_and_sent_without_the_name(tmp_path, capsys):
    with Hook() as hook, opened(tmp_path, clock=Clock(5.0)) as home:
        alerts = Alerts(hook.address, None, None)
        home.teach(np.zeros(LENGTH), "ana")
        home.replace_learner("alarm", home.learner, [Alarm("region", "ana", (0,)).change])
        (event,) = home.events(kind="alarm")
        print_and_send_alarm(alerts, event)
        alerts.close()
    (_, sent), where = hook.heard[0], {"camera": None, "frame": None, "time": 5.0}
    assert sent == {"event": "alarm", "kind": "region", "sequence": 2, **where}
    assert f"onlooker: alarm: is this ana? {RUN} faces" in capsys.readouterr().err


def test_a_new_stranger_raises_one_alert(tmp_path):
    with Hook() as hook, opened(tmp_path) as home:
        webhook = Webhook(hook.address)
        options = {"alert": webhook, "alert_after": 2, "clock": Clock(5.0)}
        with StrangerBook(home, **options) as book:
            for frame in range(4):
                book.observe(np.zeros(LENGTH), camera="door", frame=frame)
            book.observe(np.full(LENGTH, 9.0), camera="door", frame=9)
        with StrangerBook(home, **options) as book:
            book.observe(np.zeros(LENGTH), camera="door", frame=10)
        webhook.close()
    expected = {"event": "stranger", "card": 1, "count": 2, "camera": "door", "frame": 1}
    assert hook.heard == [("/hook?token=secret", expected | {"time": 5.0})]
    assert (webhook.sent, webhook.failed, webhook.problem) == (1, 0, "")


@pytest.mark.parametrize("answer", [302, 307, 404, 500])
def test_an_alert_that_is_not_received_is_told_without_the_address(answer, caplog):
    with Hook() as other, Hook(answer, where=other.address) as hook:
        webhook = Webhook(hook.address, pause=0.01)
        webhook({"event": "stranger"})
        webhook.close()
    assert other.heard == []
    assert webhook.failed == 1
    assert f"it answered {answer}" in webhook.problem
    assert "secret" not in webhook.problem + caplog.text


def test_nobody_waits_for_a_webhook_that_hangs():
    free = threading.Event()
    with Hook(wait=free) as hook:
        webhook = Webhook(hook.address, timeout=0.2, pause=0.01)
        start = time.monotonic()
        for number in range(WAITING + 20):
            webhook({"number": number})
        assert time.monotonic() - start < 0.2
        assert webhook.dropped >= 19
        webhook.close(timeout=0.1)
        free.set()


def test_a_machine_that_is_not_there_is_reported():
    with Hook() as hook:
        gone = hook.address
    webhook = Webhook(gone, pause=0.01)
    webhook({})
    webhook.close()
    assert webhook.failed == 1
    assert "refused" in webhook.problem


@pytest.mark.parametrize(
    "address",
    ["ftp://a/b", "file:///etc/passwd", "http://", "http:///x", "http://u:secret@a/b", "a", "",
     "http://a/b c", "http://a/\r\nX: y", "http://a:99999/"],
)  # fmt: skip
def test_addresses_that_are_none(address):
    with pytest.raises(BadValue, match="a webhook has an address") as error:
        Webhook(address)
    assert "secret" not in str(error.value)


# Kills -------------------------------------------------------------------------------------

FORGET = """
import os, sys
import numpy as np
from helpers.homes import small_learner
from onlooker.home.home import Home
from onlooker.strangers.book import StrangerBook
folder, stop, count = sys.argv[1], int(sys.argv[2]), 0
def traced(sql):
    global count
    count += 1
    if count == stop:
        os.kill(os.getpid(), 9)
with Home(folder, new_learner=small_learner) as home, StrangerBook(home) as book:
    home.database._connection.set_trace_callback(traced)
    book.forget("ana")
    home.database._connection.set_trace_callback(None)
print(count)
"""


def forget_ana(folder, stop):
    return subprocess.run(
        [sys.executable, "-c", FORGET, str(folder), str(stop)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )


def test_forgetting_killed_at_any_statement_leaves_all_of_it_or_nothing(tmp_path):
    """Vectors, pictures, sightings, cards; who was kept out of it, and the cameras, stay."""
    whole, picture = tmp_path / "whole", png(7, side=24)
    mine, card = np.full(LENGTH, 0.111), np.full(LENGTH, 0.777)
    with opened(whole) as home, StrangerBook(home, save_every=1) as book:
        home.teach(np.full(LENGTH, 9.0), "ben")
        book.observe(card, camera="door", frame=0, picture=picture)
        book.observe(np.full(LENGTH, 40.0), camera="door", frame=1)
        home.teach(mine, "ana", picture=png(8, side=24))
        home.observe(np.full(LENGTH, 0.3), camera="door", frame=2)
        home.record_sighting(camera="door", frame=2, name="ana", vertex=1)
        home.cameras.add("door", "rtsp://10.0.0.5/1")
        home.taught.add([SimpleNamespace(name="ana", vector=mine)])
        assert home.predict(card).label == "ana"
    needles = [b"ana", mine.tobytes(), card.tobytes(), picture[60:90], png(8, side=24)[60:90]]
    statements = int(forget_ana(shutil.copytree(whole, tmp_path / "0"), 0).stdout)
    assert statements > 20
    outcomes = set()
    for stop in range(1, statements + 1, max(1, statements // 16)):
        folder = shutil.copytree(whole, tmp_path / str(stop))
        assert forget_ana(folder, stop).returncode == -signal.SIGKILL
        with opened(folder) as home, StrangerBook(home) as book:
            known = "ana" in home.learner.names
            outcomes.add(known)
            assert home.problems == ()
            assert [one.number for one in book.cards()] == ([1, 2] if known else [2])
            assert bool(home.album.sightings()) == known
            assert home.cameras.sources() == {"door": "rtsp://10.0.0.5/1"}
            assert home.predict(np.full(LENGTH, 9.0)).label == "ben"
        assert bool(files_with(folder, *needles)) == known
    assert outcomes == {True, False}
