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


def test_a_face_that_gets_a_name_is_not_told_that_the_person_was_never_here(tmp_path):
    """She has changed since she was seen: no sighting is linked to the face, but a chain is."""
    with opened(tmp_path) as home:
        home.teach(ANA, "ana")
        home.teach(BEN, "ben")
        see(home, ANA, 1, "ana")
        see(home, ANA + 0.1, 2, "ana", camera="yard")
        for step in range(1, 60):
            changed = (ANA + 0.05 * step).astype(np.float32)
            if home.observe(changed, camera="door", frame=step).label != "ana":
                break
            last = changed
        assert home.album.find_face(last, home.learner.kernel) == []
        (ana,) = home.find_face(last)
        assert (ana.name, ana.similarity, ana.count) == ("ana", 0.0, 2)
        assert (ana.cameras, ana.best.camera) == ({"door": 1, "yard": 1}, "yard")
        assert home.find_face(BEN) == []  # he is known, and was never seen


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


def test_a_face_whose_sighting_damage_took_goes_when_anybody_is_forgotten(tmp_path):
    """Nobody can tell any more whose face it was."""
    with opened(tmp_path) as home:
        home.teach(ANA, "ana")
        see(home, ANA, 1, "ana")
        see(home, BEN, 2, "ben")
        home.database.execute("DELETE FROM sightings WHERE number = 1")
        home.forget("ben")
    assert files_with(tmp_path, near(ANA, 1).tobytes(), png(1)[40:]) == []


def test_a_sighting_without_a_name_is_counted_when_it_is_forgotten_with_its_vertex(tmp_path):
    with opened(tmp_path) as home:
        home.teach(ANA, "ana")
        home.teach(BEN, "ben")
        home.record_sighting(camera="door", frame=1, name=None, vertex=0)
        home.record_sighting(camera="door", frame=2, name="ana", vertex=None)
        home.record_sighting(camera="door", frame=3, name=None, vertex=1)
        assert home.forget("ana").sightings == 2
        assert [seen.frame for seen in home.album.sightings()] == [3]


def test_sightings_without_a_name_go_with_a_name_that_is_no_longer_known(tmp_path):
    """Those that would have had it, when it was known."""
    with opened(tmp_path) as home:
        home.teach(ANA, "ana")
        home.teach(BEN, "ben")
        see(home, ANA, 1, card=1)
        see(home, STRANGER, 2, card=2)
        home.unteach(ANA)
        home.teach(near(ANA, 5) + 9, "ana")
        home.undo(to=home.sequence - 1)
        assert "ana" not in home.learner.names
        assert home.forget("ana").sightings == 1
        assert [seen.frame for seen in home.album.sightings()] == [2]


def test_no_list_of_sightings_is_longer_than_a_hundred_unless_asked_for(tmp_path):
    database = open_database(tmp_path / "onlooker.db")
    album = Album(database)
    with database.transaction():
        for number in range(103):
            album.record_sighting(5.0, "door", number, "ana", None)
    assert [seen.number for seen in album.sightings()] == list(range(1, 101))
    assert [seen.number for seen in album.newest_sightings()] == list(range(103, 3, -1))
    assert len(album.newest_sightings(limit=102)) == 102
    database.close()


def test_how_often_somebody_was_seen_in_each_part_of_a_time(tmp_path):
    with opened(tmp_path, clock=(clock := Clock(1000.0))) as home:
        for clock.now, name in ((1000, "ana"), (1009, "ana"), (1010, "ben"), (1025, "ana"),
                                (1030, "ana"), (1031, "ana")):  # fmt: skip
            home.record_sighting(camera="door", frame=0, name=name)
        assert home.album.count("ana") == 5
        assert home.album.count("ben") == 1
        assert home.album.count("cem") == 0
        assert home.album.sighting_counts("ana", 1000.0, 1030.0, 3) == [2, 0, 2]
        assert home.album.sighting_counts("cem", 1000.0, 1030.0, 3) == [0, 0, 0]


def test_a_sighting_is_no_change_of_cards_or_cameras_that_could_be_missed(tmp_path):
    """It has a number: one that is lost would be reported twice, and as what it is not."""
    with opened(tmp_path) as home:
        home.teach(ANA, "ana")
        before = home.database.changes
        see(home, ANA, 1, "ana")
        home.teach(BEN, "ben")
        assert home.database.changes == before
        home.cameras.add("door", "rtsp://10.0.0.5/1")
        assert home.database.changes == before + 1
