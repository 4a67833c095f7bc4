"""Who was where: sightings with their faces, found again by a face, and deleted with it."""

import numpy as np
import pytest

from helpers.homes import (
    Clock,
    change_database,
    files_with,
    open_database,
    opened,
    png,
    small_learner,
)
from onlooker.home.album import Album
from onlooker.home.database import SCHEMA_CHANGES, Database, HomeDamaged, row_crc
from onlooker.home.home import Home
from onlooker.home.retention import HOUR
from onlooker.strangers.book import StrangerBook

ANA, BEN, STRANGER = (np.full(8, at, np.float32) for at in (0.0, 5.0, -5.0))


def near(x, number):
    """Another face of somebody."""
    noise = np.random.default_rng([7, number]).normal(size=8) * 0.05
    return (x + noise).astype(np.float32)


def see(home, x, number, name=None, card=None, camera="door"):
    face = {"vector": near(x, number), "picture": png(number)}
    home.record_sighting(camera=camera, frame=number, name=name, card=card, **face)


def everything(home):
    """What a home stores of sightings: rows, vectors, pictures."""
    tables = ("sightings", "sighting_vectors", "sighting_pictures")
    return [home.database.query(f"SELECT count(*) FROM {table}")[0][0] for table in tables]


def test_a_face_is_found_among_those_who_were_here(tmp_path):
    clock = Clock(1000.0)
    with opened(tmp_path, clock=clock) as home:
        for number in range(6):
            see(home, ANA, number, "ana", camera=("door", "yard")[number % 2])
            see(home, BEN, 10 + number, "ben")
            clock.now += 60
        see(home, STRANGER, 20, card=3)
        (ana,) = home.find_face(near(ANA, 99))
        (stranger,) = home.find_face(near(STRANGER, 99))
        assert (ana.name, ana.card, ana.count) == ("ana", None, 6)
        assert ana.cameras == {"door": 3, "yard": 3}
        assert (ana.first.time, ana.last.time) == (1000.0, 1300.0)
        assert home.album.sighting_picture(ana.best.number) == png(ana.best.frame)
        assert (stranger.name, stranger.card, stranger.last.camera) == (None, 3, "door")
        assert home.find_face(np.full(8, 77.0)) == []


def test_whom_the_learner_names_comes_before_who_is_more_similar(tmp_path):
    with opened(tmp_path) as home:
        home.teach(ANA, "ana")
        see(home, ANA + 0.3, 1, "ana")
        see(home, ANA, 2, card=1)  # a stranger who looks more like her
        assert [who.name for who in home.find_face(ANA)] == ["ana", None]


def test_similarities_are_those_of_the_learner(tmp_path):
    with opened(tmp_path) as home:
        for number in range(40):
            see(home, ANA, number, "ana")
        x, kernel = near(ANA, 99), home.learner.kernel
        expected = kernel.similarity(x, [near(ANA, number) for number in range(40)])
        (ana,) = home.find_face(x)
        assert ana.similarity == pytest.approx(expected.max(), rel=1e-12)
        assert ana.best.frame == expected.argmax()


def test_a_damaged_vector_is_not_compared_and_a_damaged_picture_not_shown(tmp_path):
    with opened(tmp_path) as home:
        see(home, ANA, 1, "ana")
        see(home, BEN, 2, "ben")
    change_database(tmp_path, "UPDATE sighting_vectors SET vector = zeroblob(32) WHERE number = 2")
    change_database(tmp_path, "UPDATE sighting_pictures SET png = ? WHERE number = 1", png(5))
    with opened(tmp_path) as home:
        assert [who.count for who in home.find_face(ANA)] == [1]
        assert home.find_face(BEN) == []
        with pytest.raises(HomeDamaged, match="picture of sighting 1"):
            home.album.sighting_picture(1)
        assert home.album.sighting_picture(2) == png(2)
        assert home.album.sighting_picture(99) is None


def test_strangers_expire_before_people(tmp_path):
    clock = Clock()
    with opened(tmp_path, clock=clock) as home:
        see(home, ANA, 1, "ana")
        see(home, STRANGER, 2, card=1)
        assert home.expire(clock.now + 7 * HOUR).sightings == 0
        assert home.expire(clock.now + 9 * HOUR).sightings == 1
        assert [seen.name for seen in home.album.sightings()] == ["ana"]
        assert everything(home) == [1, 1, 1]
        assert home.expire(clock.now + 31 * 24 * HOUR).sightings == 1
        assert everything(home) == [0, 0, 0]


def test_forgetting_takes_the_faces_and_leaves_those_of_others(tmp_path):
    with opened(tmp_path) as home:
        home.teach(ANA, "ana")
        home.teach(BEN, "ben")
        see(home, ANA, 1, "ana")
        see(home, BEN, 2, "ben")
        see(home, ANA, 3, card=1)  # would be ana, if anybody asked
        see(home, STRANGER, 4, card=2)
        assert home.forget("ana").sightings == 2
        assert everything(home) == [2, 2, 2]
        needles = [face for n in (1, 3) for face in (near(ANA, n).tobytes(), png(n)[40:])]
    assert files_with(tmp_path, *needles) == []
    assert files_with(tmp_path, png(2)[40:])
    assert files_with(tmp_path, near(STRANGER, 4).tobytes())


def meet(home, book, x, number):
    """A face of a stranger, with its sighting."""
    card = book.observe(near(x, number), camera="door", frame=number, picture=png(number))
    see(home, x, number, card=card)
    return card


def test_a_stranger_who_is_named_was_here_before(tmp_path):
    with opened(tmp_path) as home, StrangerBook(home) as book:
        card = meet(home, book, STRANGER, 1)
        assert meet(home, book, STRANGER, 2) == card
        before = home.sequence
        book.name(card, "cem")
        assert [(seen.name, seen.card) for seen in home.album.sightings()] == [("cem", card)] * 2
        assert home.album.newest_sightings(strangers=True) == []
        home.undo(to=before)
        book.undone(before)
        assert [seen.name for seen in home.album.sightings()] == [None, None]
        assert home.album.damaged() == 0
        assert len(home.album.newest_sightings(strangers=True)) == 2


def test_sightings_follow_cards_that_turn_out_to_be_one(tmp_path):
    with opened(tmp_path) as home, StrangerBook(home) as book:
        one, other = (book.observe(STRANGER + gap, camera="door", frame=0) for gap in (0.0, 0.9))
        see(home, STRANGER, 1, card=one)
        see(home, STRANGER, 2, card=other)
        assert one != other
        assert book.observe(STRANGER + 0.45, camera="door", frame=1) == one
        assert {seen.card for seen in home.album.sightings()} == {one}
        assert home.album.damaged() == 0


def test_an_ignored_stranger_has_no_picture(tmp_path):
    with opened(tmp_path) as home, StrangerBook(home) as book:
        card = meet(home, book, STRANGER, 1)
        assert book.is_shown(card)
        book.ignore(card)
        assert not book.is_shown(card)
        assert not book.is_shown(99)
        assert [seen.picture for seen in home.album.sightings()] == [False]
    assert files_with(tmp_path, png(1)[40:]) == []


def test_a_home_of_version_6_keeps_its_sightings_and_what_is_damaged_stays_so(tmp_path):
    Home(tmp_path, new_learner=small_learner).close()
    (tmp_path / "onlooker.db").unlink()
    old = Database(tmp_path / "onlooker.db")
    for script in SCHEMA_CHANGES[:6]:
        for statement in filter(str.strip, script.split(";")):
            old.execute(statement)
    old.execute("INSERT INTO persons (name) VALUES ('ana')")
    for number, crc in ((1, 0), (2, 12345)):
        row = number, 5.0, "door", 7, 1, None
        values = (*row, crc or row_crc(row))
        old.execute("INSERT INTO sightings VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    old.execute("PRAGMA user_version = 6")
    old.close()
    with opened(tmp_path) as home:
        (seen,) = home.album.sightings()
        assert (seen.number, seen.name, seen.card, seen.picture) == (1, "ana", None, False)
        assert home.album.damaged() == 1


def test_faces_whose_sighting_was_lost_with_a_damaged_database_go(tmp_path):
    database = open_database(tmp_path / "onlooker.db")
    album = Album(database)
    for number in (1, 2):
        album.record_sighting(5.0, "door", 0, "ana", None, vector=ANA, picture=png(number))
    database.execute("DELETE FROM sightings WHERE number = 1")
    album.remove_loose_faces()
    assert album.sighting_picture(1) is None
    assert album.sighting_picture(2) == png(2)
    database.close()
