"""Several cards at once: named, joined or ignored in one change; whom a card may be."""

import json

import numpy as np
import pytest

from helpers.homes import LENGTH, png, small_learner
from onlooker.core.errors import BadValue, NotFound
from onlooker.home.home import Home
from onlooker.strangers.book import StrangerBook
from onlooker.strangers.groups import LIKELY_REACH
from onlooker.strangers.undo_history import UndoStep

REACH = small_learner().kernel.reach
FAR = 9.0


def place(x, y=0.0):
    vector = np.zeros(LENGTH)
    vector[:2] = x, y
    return vector


@pytest.fixture
def book(tmp_path):
    with Home(tmp_path / "home", new_learner=small_learner) as home, StrangerBook(home) as book:
        yield book


def three_cards(book):
    """The numbers of three cards of three faces each, far from each other."""
    numbers = []
    for card in range(3):
        for step in range(3):
            number = book.observe(
                place(card * FAR, step * 0.7 * REACH),
                camera="door",
                frame=step,
                picture=png(3 * card + step),
                quality=9.0,
            )
        numbers.append(number)
    return numbers


def shown(book):
    return {
        card.number: (card.count, card.hidden, [face.key for face in card.faces])
        for card in book.cards(hidden=True)
    }


def reopened(book):
    """What another process reads from the disk."""
    with StrangerBook(book.home) as again:
        return shown(again)


@pytest.mark.parametrize("verb", ["name", "join", "ignore"])
def test_what_was_done_to_several_cards_is_undone_at_once(book, verb):
    one, two, three = three_cards(book)
    before, event = shown(book), book.home.sequence
    if verb == "name":
        assert book.name_all([one, three, one], "ana") == 6
        assert shown(book).keys() == {two}
        assert book.home.predict(place(2 * FAR)).label == "ana"
    elif verb == "join":
        assert book.join([three, one]) == one
        assert shown(book).keys() == {one, two}
        assert shown(book)[one][0] == 6
    else:
        assert book.ignore_all([one, three]) == 6
        assert [card.number for card in book.cards()] == [two]
    assert reopened(book) == shown(book)
    book.home.undo(to=event)
    book.undone(event)
    assert shown(book) == before
    assert reopened(book) == before


def test_who_is_seen_after_a_join_goes_to_the_one_card_and_after_an_undo_to_their_own(book):
    one, two, _ = three_cards(book)
    event = book.home.sequence
    book.join([one, two])
    assert book.observe(place(FAR, 0.1), camera="door", frame=9) == one
    assert book.observe(place(0.0, 0.1), camera="door", frame=9) == one
    book.home.undo(to=event)
    book.undone(event)
    assert book.observe(place(FAR, 0.0), camera="door", frame=9) == two


def cards_of_sightings(book):
    return [sighting.card for sighting in book.home.album.sightings()]


def test_after_an_undone_join_every_card_has_its_own_sightings_again(book):
    """Joined twice, seen in between, and undone by a process that was started later."""
    one, two, three = three_cards(book)
    numbers = [one, two, three, two, three]
    for time, card in enumerate(numbers):
        book.home.album.record_sighting(float(time), "door", time, None, None, card=card)
    event = book.home.sequence
    book.join([two, three])
    assert cards_of_sightings(book) == [one, two, two, two, two]
    book.home.album.record_sighting(9.0, "door", 9, None, None, card=two)
    book.join([one, two])
    assert set(cards_of_sightings(book)) == {one}
    with StrangerBook(book.home) as again:
        again.home.undo(to=event)
        again.undone(event)
    assert cards_of_sightings(book) == [*numbers, two]
    assert book.home.album.damaged() == 0


def test_a_card_that_is_gone_changes_none_of_the_others(book):
    one, two, _ = three_cards(book)
    before, event = shown(book), book.home.sequence
    for act in (
        lambda: book.name_all([one, 99], "ana"),
        lambda: book.ignore_all([one, 99]),
        lambda: book.join([one, 99]),
    ):
        with pytest.raises(NotFound, match="99"):
            act()
    with pytest.raises(BadValue, match="two strangers"):
        book.join([two, two])
    assert shown(book) == before
    assert book.home.sequence == event


def test_more_cards_than_can_be_undone_one_by_one_are_undone_as_one(book):
    numbers = [book.observe(place(card * FAR), camera="door", frame=0) for card in range(12)]
    event = book.home.sequence
    book.name_all(numbers, "ana")
    book.home.undo(to=event)
    book.undone(event)
    assert sorted(shown(book)) == numbers


def test_a_card_may_be_the_same_person_as_one_that_is_a_little_too_far_away(book):
    near, far = 0.5 * (1 + LIKELY_REACH) * REACH, 2 * LIKELY_REACH * REACH
    first = book.observe(place(0.0), camera="door", frame=0, picture=png(1))
    second = book.observe(place(near), camera="door", frame=0, picture=png(2))
    book.observe(place(near + far), camera="door", frame=0, picture=png(3))
    book.home.teach(place(0.0, near), "ana")
    pairs = book.same_person()
    assert [(pair.card, pair.other, pair.name) for pair in pairs] == [(first, second, None)]
    assert pairs[0].gap == pytest.approx(near / REACH)
    book.join([first, second])
    (pair,) = book.same_person()
    assert (pair.card, pair.other, pair.name) == (first, None, "ana")
    book.exclude(first, "ana")
    assert book.same_person() == []


def test_a_change_that_was_stored_when_it_was_of_one_card_is_read(book):
    one, *_ = three_cards(book)
    book.name(one, "ana")
    (step,) = book._undo_history.steps
    row = step.columns()
    content = json.loads(row.content)
    del content["joined"]
    older = content | {"removed": content["removed"][0]}, content | {"removed": None}
    named, answered = (UndoStep.of(row._replace(content=json.dumps(each))) for each in older)
    assert [each.card.number for each in named.removed] == [one]
    assert len(named.removed[0].members) == 3
    assert answered.removed == ()
