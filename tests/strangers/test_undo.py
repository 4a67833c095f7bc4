"""A change of mind about strangers: cards come back whole, and nothing stays that should not."""

from base64 import b64encode

import numpy as np
import pytest

from helpers.homes import LENGTH, files_with, png, small_learner
from onlooker import HeatKernel
from onlooker.core.errors import NotFound
from onlooker.home.database import NotSaved
from onlooker.home.events import digest
from onlooker.home.home import Home
from onlooker.home.retention import RetentionPolicy
from onlooker.strangers.book import StrangerBook
from onlooker.strangers.strangers import Strangers
from onlooker.strangers.undo_history import STEPS

KERNEL = HeatKernel(0.4, 1e-4)


def at(x):
    return np.full(LENGTH, float(x), np.float32)


def card_of(book, number):
    card = book.strangers.card(number)
    return card.number, card.count, card.first, card.last, [face.picture for face in card.faces]


@pytest.fixture
def now():
    return [1000.0]


@pytest.fixture
def home(tmp_path, now):
    with Home(
        tmp_path / "home",
        new_learner=small_learner,
        retention=RetentionPolicy(stranger_hours=1),
        clock=lambda: now[0],
    ) as opened:
        yield opened


@pytest.fixture
def book(home, tmp_path, now):
    with StrangerBook(home, clock=lambda: now[0]) as opened:
        yield opened


def meet(book, x, seed=0, **more):
    picture = png(seed)
    return book.observe(at(x), camera="door", frame=0, picture=picture, quality=seed, **more)


def test_undoing_a_name_brings_the_card_back_as_it_was(home, book):
    number = meet(book, 0.0, 1)
    meet(book, 0.1, 2)
    meet(book, 0.2, 3)
    meet(book, 9.0, 4)
    before, was = home.sequence, card_of(book, number)
    book.name(number, "ana")
    assert home.predict(at(0.0)).label == "ana"
    with pytest.raises(NotFound):
        book.strangers.card(number)
    home.undo(to=before)
    book.undone(before)
    assert card_of(book, number) == was
    assert home.predict(at(0.0)).label is None
    assert meet(book, 0.15) == number  # its vectors are back too, not only its pictures


def test_who_was_seen_since_is_one_with_the_card_that_comes_back(home, book):
    number = meet(book, 0.0)
    before = home.sequence
    book.name(number, "ana")
    again = meet(book, 0.1)
    assert again != number
    home.undo(to=before)
    book.undone(before)
    (card,) = book.cards()
    assert (card.number, card.count) == (number, 2)
    assert meet(book, 0.2) == number


def test_an_undo_that_reaches_less_far_brings_nothing_back(home, book):
    book.name(meet(book, 0.0), "ana")
    after = home.sequence
    home.teach(at(9.0), "ben")
    home.undo(to=after)
    book.undone(after)
    assert book.cards() == []


def test_undoing_wrong_takes_the_faces_off_the_strangers(home, book):
    number = meet(book, 0.3, 1)
    home.teach(at(0.0), "ana", picture=png(7))
    vertex = int(home.vertices().ids[0])
    home.observe(at(0.1), camera="door", frame=1)
    was, before = card_of(book, number)[:2], home.sequence
    book.wrong(vertex)
    assert book.strangers.card(number).count > 1
    home.undo(to=before)
    book.undone(before)
    assert card_of(book, number)[:2] == was
    (card,) = book.cards()
    assert [face.picture for face in card.faces] == [png(1)]


def test_undoing_wrong_gives_the_pictures_back(home, book):
    home.teach(at(0.0), "ana", picture=png(7))
    home.observe(at(0.3), camera="door", frame=1, picture=png(8))
    ids, before = home.vertices().ids.tolist(), home.sequence
    assert [home.album.picture(vertex) for vertex in ids] == [png(7), png(8)]
    book.wrong(ids[0])
    assert home.album.vertices() == []
    home.undo(to=before)
    book.undone(before)
    assert [home.album.picture(vertex) for vertex in ids] == [png(7), png(8)]


def test_chosen_pictures_only_are_taught(home, book):
    number = meet(book, 0.0, 1)
    meet(book, 0.35, 2)
    faces = book.strangers.card(number).faces
    assert [face.picture for face in faces] == [png(2), png(1)]
    for bad in (["0" * 16], []):
        with pytest.raises(NotFound):
            book.name(number, "ana", bad)
    assert book.name(number, "ana", [faces[1].key, faces[1].key, "0" * 16]) == 1
    (row,) = home.vertices().vectors
    assert np.array_equal(row, at(0.0))
    assert book.cards() == []  # the others went with the card


def test_a_choice_is_not_another_face_once_a_better_one_came(home, book):
    number = meet(book, 0.0, 1)
    (first,) = book.strangers.card(number).faces
    meet(book, 0.35, 2)
    assert book.strangers.card(number).faces[0].key != first.key
    book.name(number, "ana", [first.key])
    (row,) = home.vertices().vectors
    assert np.array_equal(row, at(0.0))


def test_what_was_ignored_can_be_shown_again(home, book, tmp_path):
    number = meet(book, 0.0)
    book.ignore(number)
    assert book.cards() == []
    book.show(number)
    assert [card.number for card in book.cards()] == [number]
    with pytest.raises(NotFound):
        book.show(99)
    meet(book, 0.1, 5)
    assert [face.picture for face in book.cards()[0].faces] == [png(5)]


def test_memory_of_named_strangers_is_short(home, book, now, tmp_path):
    for number in range(STEPS + 3):
        book.name(meet(book, 100.0 * number, number), f"p{number}")
    assert len(book._undo_history) == STEPS
    now[0] += 2 * 3600
    book.expire()
    assert len(book._undo_history) == 0
    book.name(meet(book, -100.0, 50), "zoe")
    assert len(book._undo_history) == 1
    book.forget("zoe")
    assert len(book._undo_history) == 0


def test_a_card_that_came_back_is_on_the_disk_and_one_that_went_is_not(home, book, tmp_path):
    face = png(3, side=16)
    number = book.observe(at(0.0), camera="door", frame=0, picture=face, quality=1.0)
    before = home.sequence
    book.name(number, "ana")
    inside = face[40:120]
    assert home.database.query("SELECT count(*) FROM card_faces") == [(0,)]
    home.undo(to=before)
    book.undone(before)
    assert home.database.query("SELECT png FROM card_faces") == [(face,)]
    assert files_with(tmp_path / "home", inside)


def test_cards_come_and_go_at_random_and_nothing_breaks():
    rng = np.random.default_rng(5)
    strangers, gone = Strangers(KERNEL, max_vertices=12), []
    for turn in range(150):
        strangers.see(
            rng.normal(size=3) * 3, time=float(turn), camera="door", frame=turn, picture=png(turn)
        )
        cards = strangers.cards(hidden=True)
        chosen = cards[int(rng.integers(len(cards)))].number
        if turn % 3 == 0:
            gone.append(strangers.removed_card(chosen))
            strangers.remove(chosen)
        elif turn % 3 == 1 and gone:
            strangers.restore_card(gone.pop(int(rng.integers(len(gone)))))
        elif turn % 7 == 2:
            strangers.remove_face(strangers.removed_card(chosen).members[0].vector, 1)
        if turn % 10 == 0:
            again = Strangers(KERNEL, max_vertices=12)
            again.restore(strangers.record())  # which refuses what contradicts itself
        assert len(strangers) <= 12
        assert all(card.count >= 1 for card in strangers.cards(hidden=True))


# ---- by another process


def whole(book, number):
    card = book.strangers.card(number)
    said = card.hidden, card.recent, card.not_names, card.ask
    vectors = [face.vector.tobytes() for face in card.faces]
    return *card_of(book, number), *said, vectors


ANSWERS = {
    "name": lambda book, number: book.name(number, "zoe"),
    "not": lambda book, number: book.exclude(number, "ana"),
    "nobody": lambda book, number: book.nobody(at(0.05), likely=number),
    "ignore": lambda book, number: book.ignore(number),
    "skip": lambda book, number: book.set_ask(number, False),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_undone_after_a_restart(tmp_path, answer):
    clock = {"clock": lambda: 1000.0}
    with Home(tmp_path, new_learner=small_learner, **clock) as home:
        home.teach(at(30.0), "ana")
        with StrangerBook(home, **clock) as book:
            for seed, x in enumerate((0.0, 0.3), start=1):
                number = meet(book, x, seed, candidate="ana")
            before, was, known = home.sequence, whole(book, number), digest(home.learner)
            ANSWERS[answer](book, number)
            assert home.sequence > before
    with Home(tmp_path, new_learner=small_learner, **clock) as home:
        with StrangerBook(home, **clock) as book:
            home.undo(to=before)
            book.undone(before)
            assert whole(book, number) == was
            assert digest(home.learner) == known
            assert len(book._undo_history) == 0
        with StrangerBook(home, **clock) as book:
            assert whole(book, number) == was
            assert len(book._undo_history) == 0
            assert meet(book, 0.15) == number


def test_wrong_is_undone_after_a_restart_with_its_pictures(tmp_path):
    with Home(tmp_path, new_learner=small_learner) as home, StrangerBook(home) as book:
        home.teach(at(0.0), "ana", picture=png(7))
        home.observe(at(0.3), camera="door", frame=1, picture=png(8))
        ids, before = home.vertices().ids.tolist(), home.sequence
        book.wrong(ids[0])
    with Home(tmp_path, new_learner=small_learner) as home, StrangerBook(home) as book:
        home.undo(to=before)
        book.undone(before)
        assert book.cards() == []
        assert [home.album.picture(vertex) for vertex in ids] == [png(7), png(8)]


def test_what_can_be_undone_expires_and_is_forgotten_with_anybody(home, book, now, tmp_path):
    face = png(3, side=16)
    inside = face[40:120]

    def steps():
        return home.database.query("SELECT count(*) FROM card_steps")[0][0]

    def stored():
        rows = home.database.query("SELECT content FROM card_steps")
        return any(b64encode(face).decode() in row[0] for row in rows)

    book.observe(at(0.0), camera="door", frame=0, picture=face, quality=1.0)
    book.ignore(book.cards()[0].number)
    assert (steps(), stored()) == (1, True), "an undo of ignoring brings the picture back"
    now[0] += 2 * 3600
    book.expire()
    assert steps() == 0
    book.name(meet(book, 50.0, 5), "zoe")
    assert steps() == 1
    book.forget("zoe")
    assert steps() == 0
    home.database.checkpoint()
    assert not files_with(tmp_path / "home", inside, b64encode(face)[60:120])


def test_an_undo_cannot_go_past_a_forgetting_nor_bring_a_card_of_it_back(home, book):
    number = meet(book, 0.0, 1)
    meet(book, 50.0, 2)
    home.teach(at(90.0), "ben")
    before = home.sequence
    book.name(number, "ana")
    book.forget("ana")
    with pytest.raises(NotFound):
        home.undo(to=before)
    book.undone(before)  # as a service does after an undo
    assert [card.number for card in book.cards()] == [2]
    assert home.predict(at(0.0)).label is None
    assert home.predict(at(90.0)).label == "ben"


def test_a_refused_write_leaves_what_can_be_undone_as_it_was(home, book, monkeypatch):
    number = meet(book, 0.0)
    book.set_ask(number, False)

    def refuse():
        raise NotSaved("no space left")

    monkeypatch.setattr(book, "_write", refuse)
    with pytest.raises(NotSaved):
        book.ignore(number)
    assert len(book._undo_history) == 1


def test_a_damaged_step_is_skipped_and_said(tmp_path):
    with Home(tmp_path, new_learner=small_learner) as home:
        with StrangerBook(home) as book:
            number = meet(book, 0.0)
            book.set_ask(number, False)
            home.database.execute("UPDATE card_steps SET content = 'x'")
        with StrangerBook(home) as book:
            assert "1 damaged rows" in book.problems[0]
            assert [card.number for card in book.cards()] == [number]
            assert len(book._undo_history) == 0
