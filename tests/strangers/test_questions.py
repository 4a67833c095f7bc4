"""Candidates become questions: asked best first, answered once, durable, and undone."""

import re
import sqlite3
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.homes import LENGTH, Clock, crash, files_with, opened, png
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.core.errors import LabelConflict, NotFound
from onlooker.home.database import SCHEMA_CHANGES, VERSION
from onlooker.home.events import digest
from onlooker.home.people import merge, rename
from onlooker.home.retention import DAY, HOUR, RetentionPolicy
from onlooker.strangers.book import StrangerBook
from onlooker.strangers.cards import RECENT, Card, SeenAt, merged_cards

KERNEL = HeatKernel(0.4, 1e-4)
SEEN = SeenAt(0.0, "door", 0)
new_learner = partial(OnlineHarmonicLearner, KERNEL, sink=1e-3, trust_radius=1.0)


def at(x):
    """A place on a straight line, or beside it; 1 is the trust radius."""
    place = np.zeros(LENGTH, np.float32)
    place[: np.size(x)] = x
    return place


@pytest.fixture
def home(tmp_path):
    with opened(tmp_path / "home", new_learner=new_learner) as found:
        found.teach(at(0), "ana")
        found.teach(at(20), "ben")
        for x in (0.4, 0.8):
            assert found.observe(at(x), camera="door", frame=0).label == "ana"
        yield found


@pytest.fixture
def book(home):
    with StrangerBook(home) as found:
        yield found


def meet(book, x, **more):
    """A face at a place, as the recognizer hands it on: its card, or None if it has a name."""
    answer = book.home.observe(at(x), camera="door", frame=0)
    if answer.label is not None:
        return None
    return book.observe(at(x), camera="door", frame=0, candidate=answer.candidate, **more)


def undo(book, to):
    book.home.undo(to=to)
    book.undone(to)


def answers(book):
    return [
        (card.number, card.count, card.candidate, card.hidden, card.ask, sorted(card.not_names))
        for card in book.cards(hidden=True)
    ]


# ---- candidates


def test_a_face_beyond_the_radius_is_a_question_about_its_candidate(book):
    number = meet(book, 1.3)
    ((card, _),) = book.questions()
    assert (card.number, card.candidate, card.candidates) == (number, "ana", {"ana": 1})
    assert meet(book, 40) != number
    assert [card.candidate for card, _ in book.questions()] == ["ana", None]


def test_the_best_question_comes_first(book):
    nobody = [meet(book, 40) for _ in range(5)]
    few, many = meet(book, 1.3), [meet(book, 21.3) for _ in range(3)]
    assert [card.number for card in book.cards()] == [nobody[0], many[0], few]
    assert [card.number for card, _ in book.questions()] == [many[0], few, nobody[0]]


def test_a_question_whose_answer_settles_more_comes_before_one_that_was_seen_more(book):
    book.home.teach(at(22), "cem")
    for _ in range(100):
        book.home.observe(at(21), camera="door", frame=0)  # between ben and cem
    more, *_ = (meet(book, 1.3) for _ in range(3))
    less = meet(book, [20.9, 0.95])
    assert [card.number for card in book.cards()] == [more, less]
    assert book.strangers.card(less).candidate in ("ben", "cem")
    assert [card.number for card, _ in book.questions()] == [less, more]


def learn(book, x, picture=True):
    """A face that is learned, and its vertex."""
    answer = book.home.observe(
        at(x), camera="door", frame=0, picture=png(int(abs(np.sum(x)) * 10)) if picture else None
    )
    return answer.vertex


def test_a_question_shows_the_learned_faces_from_which_the_radius_leads_on_farthest(book):
    learn(book, 0.45), learn(book, [0, 0.97], picture=False)
    here, there = learn(book, [0, 0.95]), learn(book, [0.6, -0.6])
    learn(book, [0.05, 0.9])  # like one that is shown
    learn(book, 0.95)  # like the face that is asked about
    learn(book, 20.9)  # ben
    meet(book, 1.3)
    ((card, learned),) = book.questions()
    assert card.candidate == "ana"
    assert learned == (here, there)
    meet(book, 40)
    assert [found for _, found in book.questions()] == [learned, ()]


def test_at_most_six_learned_faces_are_shown(book):
    for axis in range(1, LENGTH):
        learn(book, [*[0] * axis, 0.95])
    meet(book, 1.3)
    ((_, learned),) = book.questions()
    assert len(learned) == 6 < LENGTH - 1


def test_a_yes_confirms_the_learned_faces_and_undo_takes_that_back(book):
    here = learn(book, [0, 0.95])
    number, before = meet(book, 1.3), book.home.sequence
    assert book.home.predict(at([0, 1.9])).label is None
    assert book.name(number, "ana", learned=[here, 999]) == 2  # the other was merged since
    known = book.home.vertices(vectors=False)
    assert known.names[known.ids.tolist().index(here)] == "ana"
    assert book.home.predict(at([0, 1.9])).label == "ana"
    undo(book, before)
    assert book.home.predict(at([0, 1.9])).label is None
    ((card, learned),) = book.questions()
    assert (card.number, learned) == (number, (here,))


recents = st.lists(st.sampled_from(["ana", "ben", "cem", None]), max_size=RECENT)


@given(recent=recents, not_names=st.frozensets(st.sampled_from(["ana", "ben", "cem"])))
def test_the_candidate_is_the_most_frequent_that_was_not_denied(recent, not_names):
    card = Card(1, 9, SEEN, SEEN, (), recent=tuple(recent), not_names=not_names)
    rest = [name for name in recent if name is not None and name not in not_names]
    assert card.candidates == {name: rest.count(name) for name in set(rest)}
    if not rest:
        assert card.candidate is None
        return
    most = max(map(rest.count, rest))
    ties = [name for name in rest if rest.count(name) == most]
    assert card.candidate == ties[-1]  # the newest of them


@given(
    cards=st.lists(
        st.tuples(recents, st.frozensets(st.sampled_from(["ana", "ben"])), st.booleans()),
        min_size=1,
        max_size=4,
    )
)
@settings(deadline=None)
def test_what_was_said_of_either_card_holds_for_both_when_they_become_one(cards):
    both = [
        Card(
            number, 1, SEEN, SeenAt(float(number), None, None), (),
            recent=tuple(recent), not_names=said, ask=ask,
        )
        for number, (recent, said, ask) in enumerate(cards, start=1)
    ]  # fmt: skip
    one = merged_cards(both, KERNEL)
    assert one.not_names == frozenset().union(*(said for _, said, _ in cards))
    assert one.ask == all(ask for _, _, ask in cards)
    assert one.recent == tuple(name for recent, _, _ in cards for name in recent)[-RECENT:]


def test_only_the_latest_faces_say_who_it_may_be(book):
    number = meet(book, 1.3)
    for _ in range(RECENT):
        book.observe(at(1.3), camera="door", frame=0, candidate="ben")
    assert book.strangers.card(number).candidates == {"ben": RECENT}
    for _ in range(RECENT):
        book.observe(at(1.3), camera="door", frame=0)
    assert book.strangers.card(number).candidates == {}


# ---- answers


def test_yes_teaches_the_faces_and_the_radius_moves_along(book):
    number = meet(book, 1.3)
    book.name(number, "ana")
    assert book.questions() == []
    assert meet(book, 2.0) is None


def test_no_is_not_asked_again_for_that_name(home, book):
    number, before = meet(book, 1.3), home.sequence
    was = answers(book)
    assert book.exclude(number, "ana") == 1
    assert home.predict(at(1.3)).candidate is None
    meet(book, 1.32)
    book.observe(at(1.3), camera="door", frame=0, candidate="ana")
    ((card, _),) = book.questions()
    assert (card.number, card.candidate, card.not_names) == (number, None, {"ana"})
    assert home.predict(at(0.3)).label == "ana"
    undo(book, before)
    assert home.predict(at(1.3)).candidate == "ana"
    assert [row[2:] for row in answers(book)] == [row[2:] for row in was]


def test_not_ana_of_one_face_speaks_for_the_stranger_whose_it_is(home, book):
    number = [meet(book, x) for x in (4.0, 3.6, 3.2, 2.8)][-1]
    other, before, was = meet(book, 9.0), home.sequence, answers(book)
    assert book.exclude_face(at(2.5), "ana") == 5
    known = home.vertices()
    said = {round(float(known.vectors[known.ids == vertex][0, 0]), 1) for vertex in known.negatives}
    assert said == {2.5, 2.8, 3.2, 3.6, 4.0}
    by_number = {row[0]: row[-1] for row in answers(book)}
    assert by_number == {number: ["ana"], other: []}
    undo(book, before)
    assert home.vertices().negatives == {}
    assert answers(book) == was


def test_who_turns_out_to_be_ana_takes_back_all_that_was_said_against_it(home, book):
    number = [meet(book, x) for x in (4.0, 3.6, 3.2, 2.8)][-1]
    book.exclude_face(at(2.5), "ana")
    book.name(number, "ana")
    assert home.vertices().negatives == {}


def test_the_last_word_counts(home, book):
    number = meet(book, 1.3)
    book.exclude(number, "ana")
    assert book.name(number, "ana") == 1
    assert home.predict(at(1.3)).label == "ana"
    assert home.vertices().negatives == {}


def test_who_is_not_to_be_asked_about_is_not(home, book):
    number, before = meet(book, 1.3), home.sequence
    book.set_ask(number, False)
    assert book.questions() == []
    assert len(book.cards()) == 1  # it stays where everybody can name it
    assert [event.kind for event in home.events(before)] == ["answer"]
    undo(book, before)
    assert [card.number for card, _ in book.questions()] == [number]


def test_an_undo_of_what_was_done_later_does_not_ask_again(home, book):
    number = meet(book, 1.3)
    book.set_ask(number, False)
    before = home.sequence
    home.teach(at(60), "cem")
    undo(book, before)
    assert book.questions() == []


def test_answers_about_nobody_change_nothing(home, book):
    number, before = meet(book, 1.3), digest(home.learner)
    for act in (
        lambda: book.exclude(99, "ana"),
        lambda: book.exclude(number, "dora"),
        lambda: book.set_ask(99, False),
        lambda: book.ignore(99),
        lambda: book.show(99),
    ):
        with pytest.raises(NotFound):
            act()
    assert digest(home.learner) == before


# ---- nobody


def test_who_is_ignored_is_nobody_before_a_name_is_given(home, book):
    number = meet(book, 1.3, picture=png(1), quality=1.0)
    home.teach(at(2.0), "ana")  # from now on the face would be ana
    assert home.predict(at(1.35)).label == "ana"
    before, knowledge = home.sequence, digest(home.learner)
    assert book.ignore(number) == 1
    assert home.predict(at(1.3)).label is None
    assert home.vertices().negatives.popitem()[1] == {None}
    book.show(number)
    assert digest(home.learner) == knowledge  # nothing of the stranger stays in the learner
    assert home.predict(at(1.35)).label == "ana"
    undo(book, before)
    assert [face.picture for face in book.cards()[0].faces] == [png(1)]


def test_undoing_ignore_brings_the_card_and_its_pictures_back(home, book):
    number = meet(book, 1.3, picture=png(1), quality=1.0)
    before, knowledge = home.sequence, digest(home.learner)
    book.ignore(number)
    assert book.cards() == []
    undo(book, before)
    (card,) = book.cards()
    assert [face.picture for face in card.faces] == [png(1)]
    assert digest(home.learner) == knowledge


def test_naming_who_was_ignored_takes_nobody_back(home, book):
    number = meet(book, 1.3)
    book.ignore(number)
    assert book.name(number, "dora") == 1
    assert home.vertices().negatives == {}
    assert home.predict(at(1.3)).label == "dora"


def test_a_face_that_is_nobody_has_a_hidden_card_and_undo_removes_both(home, book):
    home.observe(at(0.6), camera="door", frame=0)
    before, knowledge = home.sequence, digest(home.learner)
    number = book.nobody(at(0.7))
    assert home.predict(at(0.7)).label is None
    assert [(card.number, card.hidden) for card in book.cards(hidden=True)] == [(number, True)]
    undo(book, before)
    assert book.cards(hidden=True) == []
    assert digest(home.learner) == knowledge


def test_who_has_a_name_cannot_be_nobody(home, book):
    before = digest(home.learner)
    with pytest.raises(LabelConflict, match="is labeled 'ana'"):
        book.nobody(at(0))
    assert (digest(home.learner), book.cards(hidden=True)) == (before, [])


def test_what_was_learned_stays_when_nobody_is_taken_back(home, book):
    known = dict(zip(home.vertices().ids.tolist(), home.vertices().multiplicities, strict=True))
    book.nobody(at(0.8))
    (card,) = book.cards(hidden=True)
    book.show(card.number)
    assert set(home.vertices().ids.tolist()) == set(known)
    assert home.vertices().negatives == {}


def test_not_ana_outlives_being_nobody_for_a_while(home, book):
    number = meet(book, 1.3)
    book.exclude(number, "ana")
    knowledge = [home.vertices().vectors.tolist(), list(home.vertices().negatives.values())]
    book.ignore(number)
    book.ignore(number)
    assert list(home.vertices().negatives.values()) == [{None, "ana"}]
    book.show(number)
    assert [home.vertices().vectors.tolist(), list(home.vertices().negatives.values())] == knowledge


def test_faces_of_who_was_ignored_long_ago_leave_the_home(tmp_path):
    clock, retention = Clock(), RetentionPolicy(sighting_days=30)
    options = {"new_learner": new_learner, "retention": retention, "clock": clock}
    with (
        opened(tmp_path / "home", **options) as home,
        StrangerBook(home, clock=clock) as book,
    ):
        home.teach(at(0), "ana")
        book.ignore(book.observe(at(9), camera="door", frame=0))
        home.teach(at(50), nobody=True)  # said without a card, so it is not ours to take back
        clock.now += 20 * DAY
        assert book.expire() == 0
        assert len(home.vertices().negatives) == 2
        clock.now += 11 * DAY
        assert book.expire() == 1
        assert len(home.vertices().negatives) == 1


def test_a_question_waits_three_days_for_its_answer_and_a_stranger_eight_hours(tmp_path):
    clock = Clock()
    options = {"new_learner": new_learner, "clock": clock}
    with (
        opened(tmp_path / "home", **options) as home,
        StrangerBook(home, clock=clock) as book,
    ):
        home.teach(at(0), "ana")
        for x in (0.4, 0.8):
            home.observe(at(x), camera="door", frame=0)
        maybe, other, skipped = meet(book, 1.3), meet(book, 40), meet(book, -1.3)
        book.set_ask(skipped, False)
        clock.now += 9 * HOUR
        assert book.expire() == 2
        assert [card.number for card, _ in book.questions()] == [maybe]
        assert other not in {card.number for card in book.cards()}
        clock.now += 62 * HOUR
        assert book.expire() == 0
        clock.now += 2 * HOUR
        assert book.expire() == 1
        assert book.cards() == []


# ---- names that change


@pytest.mark.parametrize("change", [rename, merge])
def test_a_candidate_follows_a_name_that_changes(home, book, change):
    number = meet(book, 1.3)
    book.exclude(meet(book, 21.3), "ben")
    to = "ben" if change is merge else "anna"
    before, was = home.sequence, answers(book)
    book.change_name(change, "ana", to)
    assert book.strangers.card(number).candidate == to
    undo(book, before)
    assert answers(book) == was


def test_a_name_that_is_gone_is_not_asked_about(home, book):
    before = home.sequence
    home.teach(at(60), "cem")
    assert meet(book, 61.3) is not None
    assert book.questions()[0].card.candidate == "cem"
    undo(book, before)
    assert [card.candidate for card, _ in book.questions()] == [None]


def test_forgetting_leaves_no_question_about_the_name(home, book, tmp_path):
    meet(book, 1.3)
    other = meet(book, 21.3)
    book.observe(at(21.3), camera="door", frame=0, candidate="ana")
    book.exclude(other, "ana")
    book.close()
    assert files_with(tmp_path / "home", b'"ana"')
    assert book.forget("ana").strangers == 1
    assert [(card.number, card.candidates) for card in book.cards()] == [(other, {"ben": 1})]
    assert book.cards()[0].not_names == frozenset()
    assert files_with(tmp_path / "home", b"ana") == []


def test_who_was_ignored_and_may_be_the_person_is_forgotten_too(home, book, tmp_path):
    number, other = meet(book, 1.3), meet(book, 40)
    vector = at(1.3).tobytes()
    for card in (number, other):
        book.ignore(card)
    assert home.predict(at(1.3)).candidate is None  # it is nobody, so nobody would ask
    assert files_with(tmp_path / "home", vector)
    assert book.forget("ana").strangers == 1
    assert [card.number for card in book.cards(hidden=True)] == [other]
    assert list(home.vertices().negatives.values()) == [{None}]
    assert files_with(tmp_path / "home", vector) == []


# ---- on the disk


def test_questions_and_answers_survive_a_kill(tmp_path):
    home = opened(tmp_path / "home", new_learner=new_learner)
    book = StrangerBook(home)
    home.teach(at(0), "ana")
    home.observe(at(0.8), camera="door", frame=0)
    home.teach(at(20), "ben")
    for x in (1.3, 40, 50, 60):
        meet(book, x)
    book.exclude(1, "ana")
    book.observe(at(1.3), camera="door", frame=0, candidate="ben")
    book.set_ask(2, False)
    book.ignore(3)
    expected = answers(book)
    crash(home)
    with opened(tmp_path / "home", new_learner=new_learner) as home, StrangerBook(home) as book:
        assert answers(book) == expected
        assert len(home.vertices().negatives) == 2


def test_a_damaged_question_costs_the_question_and_not_the_card(home, book, tmp_path):
    meet(book, 1.3)
    book.close()
    assert home.database.execute("""UPDATE card_questions SET recent = '["ben"]'""") == 1
    again = StrangerBook(home)
    assert again.problems == ["1 damaged rows of strangers are skipped"]
    assert [(card.count, card.candidate) for card in again.cards()] == [(1, None)]


def test_a_home_of_the_version_before_has_the_same_cards_and_nothing_to_say_of_them(tmp_path):
    folder = tmp_path / "home"
    with opened(folder, new_learner=new_learner) as home, StrangerBook(home) as book:
        for x in (1.3, 1.4, 40):
            meet(book, x, picture=png(1))
        book.strangers.ignore(2)
        expected = answers(book)
    with sqlite3.connect(folder / "onlooker.db") as connection:  # as it was written then
        connection.executescript(
            "DROP TABLE card_questions; DROP TABLE card_steps; DROP TABLE persons;"
            "DROP TABLE sightings; DROP TABLE sighting_vectors; DROP TABLE sighting_pictures;"
            "ALTER TABLE events DROP COLUMN person; PRAGMA user_version = 3"
        )
        (sightings,) = re.findall(r"CREATE TABLE sightings[^;]*;", SCHEMA_CHANGES[0])
        connection.executescript(sightings)
    connection.close()
    with opened(folder, new_learner=new_learner) as home, StrangerBook(home) as book:
        assert (home.problems, book.problems) == ((), [])
        assert answers(book) == expected
        home.teach(at(40), "ana")
        assert book.observe(at(1.3), camera="door", frame=1, candidate="ana") == 1
        assert book.questions()[0].card.candidate == "ana"
        assert (folder / f"before-version-{VERSION}" / "onlooker.db").exists()


faces = st.lists(
    st.tuples(
        st.sampled_from(["meet", "no", "skip", "ignore", "show", "name", "undo"]),
        st.integers(0, 9),
    ),
    max_size=14,
)


@given(steps=faces)
@settings(max_examples=25, deadline=None)
def test_any_order_of_answers_is_what_is_on_the_disk_and_undo_goes_back(steps, tmp_path_factory):
    folder = tmp_path_factory.mktemp("any") / "home"
    with opened(folder, new_learner=new_learner) as home, StrangerBook(home) as book:
        home.teach(at(0), "ana")
        home.observe(at(0.8), camera="door", frame=0)
        for what, which in steps:
            cards, before = book.cards(hidden=True), home.sequence
            if what == "meet" or not cards:
                meet(book, 1.2 + which)
                continue
            knowledge, said = digest(home.learner), answers(book)
            number = cards[which % len(cards)].number
            match what:
                case "no" if "ana" in home.learner.names:
                    book.exclude(number, "ana")
                case "skip":
                    book.set_ask(number, False)
                case "ignore":
                    book.ignore(number)
                case "show":
                    book.show(number)
                case "name":
                    book.name(number, "ana")
            if which % 2 and home.sequence > before:
                undo(book, before)
                assert (digest(home.learner), answers(book)) == (knowledge, said)
        book.close()
        assert answers(StrangerBook(home)) == answers(book)
