"""Forgetting leaves no byte, also when it is interrupted."""

import os

import numpy as np
import pytest

from helpers.homes import crash, files_with, opened, png, small_learner, snapshot_files, watch
from onlooker.core.errors import NotFound
from onlooker.home.database import NotSaved
from onlooker.home.events import digest
from onlooker.home.people import merge, rename
from onlooker.home.retention import RetentionPolicy


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
        remaining = home.album.picture(1)
        receipt = home.forget(name)
        assert files_with(tmp_path, *needles) == []
        assert [path.stem for path in snapshot_files(tmp_path)] == [f"{home.sequence:012d}"]
        assert (receipt.labeled, receipt.sightings) == (4, 30)
        assert receipt.pictures >= 4
        assert receipt.events == 30
        assert receipt.snapshots >= 1
        assert home.learner.names == ("ana",)
        assert home.album.picture(1) == remaining
        with pytest.raises(NotFound, match="since somebody was forgotten after it; give one from"):
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
    monkeypatch.setattr(type(home._files), "erase_forgotten", lambda *_: 1 / 0)
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


def history(home, person, name):
    """The events and sightings of everybody else, and the pictures."""
    sql = "SELECT * FROM events WHERE person IS NOT ? ORDER BY sequence"
    events = home.database.query(sql, (person,))
    sightings = [seen for seen in home.album.sightings(limit=999) if seen.name != name]
    return events, sightings, {v: home.album.picture(v) for v in home.album.vertices()}


def test_forgetting_one_person_leaves_the_history_of_the_others_row_for_row(tmp_path):
    with opened(tmp_path, retention=RetentionPolicy(snapshot_every=9)) as home:
        watch(home, 2, 40)
        home.record_twice("ana", 3, 4, camera="door", frame=1)
        for number in range(6):
            home.teach(np.full(8, 30.0 + number), "Zebedee", picture=png(number))
            home.teach(np.full(8, 60.0 + number), "ana", picture=png(9 + number))
            for name in ("Zebedee", "ana", "person0"):
                home.record_sighting(camera="door", frame=number, name=name, vertex=None)
        mine = home.album.persons.number("Zebedee"), "Zebedee"
        events, sightings, pictures = history(home, *mine)
        receipt = home.forget("Zebedee")
        after = history(home, *mine)
        assert (receipt.events, receipt.sightings, receipt.pictures) == (6, 6, 6)
        names = [row for row in events if "Zebedee" in row[5]]
        assert len(names) <= 1  # of the next person's event, which lists all names
        unchanged = [row for row in events if "Zebedee" not in row[5]]
        assert [row for row in after[0] if row in unchanged] == unchanged
        assert len(after[0]) == len(events) + 1  # the forgetting itself
        assert after[1] == sightings
        assert after[2] == {v: png for v, png in pictures.items() if v in after[2]}
        assert len(after[2]) == 6
        home.expire()  # which deletes what is old, not what cannot be undone
        assert len(history(home, *mine)[0]) == len(events) + 1


@pytest.mark.parametrize("how", ["undone", "untaught", "dropped", "renamed", "merged", "sighted"])
def test_a_name_that_is_no_longer_known_can_be_forgotten(tmp_path, how):
    face, picture = np.full(8, 7.25), png(3, side=40)
    needles = [b"Zebedee", face.tobytes(), picture[-200:]]
    with opened(tmp_path, retention=RetentionPolicy(snapshot_every=2)) as home:
        home.teach(np.zeros(8), "ana", picture=png(1))
        if how == "sighted":
            home.record_sighting(camera="door", frame=1, name="Zebedee", vertex=None)
        else:
            home.teach(face, "Zebedee", picture=picture)
            home.record_sighting(camera="door", frame=1, name="Zebedee", vertex=None)
        if how == "undone":
            home.undo(to=1)
        elif how == "untaught":
            home.unteach(face)
        elif how == "dropped":
            home.drop(1)
        elif how == "renamed":
            rename(home, "Zebedee", "ben")
        elif how == "merged":
            merge(home, "Zebedee", "ana")
        assert "Zebedee" not in home.learner.names
        assert files_with(tmp_path, *needles)
        home.forget("Zebedee")
        if how in ("renamed", "merged"):  # the face is somebody's whom nobody forgot
            needles = needles[:1]
        assert files_with(tmp_path, *needles) == []
        seen = [each.name for each in home.album.sightings()]
        assert seen == {"renamed": ["ben"], "merged": ["ana"]}.get(how, [])
        with pytest.raises(NotFound, match="nobody is called 'Zebedee'"):
            home.forget("Zebedee")


def test_forgetting_a_person_erases_the_names_they_had_before(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        home.teach(np.full(8, 7.0), "Zebedee")
        rename(home, "Zebedee", "Quill")
        home.teach(np.full(8, 17.0), "dora")
        home.record_twice("Quill", 0, 1, camera="door", frame=1)
        home.forget("Quill")
        assert files_with(tmp_path, b"Zebedee", b"Quill", np.full(8, 7.0).tobytes()) == []


def test_a_face_that_was_called_so_once_goes_even_if_another_name_carries_it_now(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.full(8, 0.01), "Zebedee")
        home.observe(np.full(8, 0.05), camera="door", frame=1)
        home.teach(np.full(8, 0.02), "ana")
        home.unteach(np.full(8, 0.01))
        known = home.vertices()
        assert "Zebedee" not in home.learner.names
        home.forget("Zebedee")
        assert files_with(tmp_path, b"Zebedee", *(row.tobytes() for row in known.vectors[:2])) == []
        assert home.learner.names == ("ana",)


def test_forgetting_an_earlier_name_does_not_hide_faces_from_forgetting_the_person(tmp_path):
    """Their events still say whose they are, so an untaught face goes with the person."""
    with opened(tmp_path) as home:
        home.teach(np.full(8, 3.0), "Zebedee")
        home.teach(np.full(8, 3.4), "Zebedee")
        home.unteach(np.full(8, 3.0))
        rename(home, "Zebedee", "Quill")
        home.teach(np.full(8, 3.2), "ana")
        home.forget("Zebedee")
        home.forget("Quill")
        assert files_with(tmp_path, b"Quill", *(np.full(8, x).tobytes() for x in (3.0, 3.4))) == []


def test_a_name_before_a_forgotten_earlier_name_is_not_left_when_the_person_is_forgotten(tmp_path):
    """Zebedee became Quillon became Ysolde; without Quillon, nothing led from Ysolde to Zebedee."""
    with opened(tmp_path) as home:
        home.teach(np.full(8, 7.0), "Zebedee")
        home.teach(np.zeros(8), "ana")
        rename(home, "Zebedee", "Quillon")
        rename(home, "Quillon", "Ysolde")
        home.forget("Quillon")
        assert home.predict(np.full(8, 7.0)).label == "Ysolde"
        home.forget("Ysolde")
        assert home.learner.names == ("ana",)
        assert files_with(tmp_path, b"Zebedee", b"Quillon", b"Ysolde") == []


@pytest.mark.parametrize("right_first", [False, True])
def test_a_face_that_had_another_name_until_an_undo_is_not_left_under_that_name(
    tmp_path, right_first
):
    """Named by mistake, undone, named right; the event of the mistake still had the vector."""
    face, others = np.full(8, 7.0), np.full(8, 20.0)
    names = ("Zebedee", "Quill") if right_first else ("Quill", "Zebedee")
    with opened(tmp_path) as home:
        home.teach(others, "Quill")
        before = home.sequence
        home.teach(face, names[0])
        home.undo(to=before)
        home.teach(face, names[1])
        home.teach(np.full(8, 30.0), "Zebedee")
        home.forget("Zebedee")
        assert home.learner.names == ("Quill",)
        stays = right_first  # it is Quill's now
        assert bool(files_with(tmp_path, face.tobytes())) is stays
        assert files_with(tmp_path, others.tobytes()) != []
        assert home.predict(face).label == ("Quill" if stays else None)


def test_the_receipt_of_a_forgetting_holds_no_name(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "Zebedee")
        assert "Zebedee" not in repr(home.forget("Zebedee"))


def test_a_forgetting_killed_before_it_compacts_does_not_erase_the_history_of_others(
    tmp_path, monkeypatch
):
    class KilledError(Exception):
        pass

    def killed():
        raise KilledError

    home = opened(tmp_path)
    for number, name in enumerate(["ana", "Zebedee", "ana", "Zebedee"]):
        home.teach(np.full(8, 9.0 * number), name)
    monkeypatch.setattr(home._files.database, "compact", killed)
    with pytest.raises(KilledError):
        home.forget("Zebedee")
    crash(home)
    with opened(tmp_path) as home:
        assert [event.kind for event in home.events()] == ["teach", "teach", "forget"]
        assert files_with(tmp_path, b"Zebedee", np.full(8, 9.0).tobytes()) == []


def test_an_unfinished_snapshot_goes_with_the_forgotten(tmp_path):
    """A write that failed in this process, not in one before it."""
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        home.teach(np.full(8, 7.0), "Zebedee")
        (tmp_path / "snapshots" / ".onlooker-abc.tmp").write_bytes(b"half of Zebedee")
        home.forget("Zebedee")
        assert files_with(tmp_path, b"Zebedee") == []


def test_a_copy_that_is_still_being_written_does_not_stop_a_forgetting(tmp_path, monkeypatch):
    """Whoever writes it notices, and deletes it too."""
    remove = os.rmdir

    def written_again(path, **options):
        if str(path).startswith(".backup-") or "/.backup-" in str(path):
            raise OSError(39, "Directory not empty")
        remove(path, **options)

    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        home.teach(np.full(8, 7.0), "Zebedee")
        (tmp_path / ".backup-abc").mkdir()
        monkeypatch.setattr("os.rmdir", written_again)
        home.forget("Zebedee")
        assert home.learner.names == ("ana",)


def test_the_receipt_counts_what_once_had_a_name_that_is_no_longer_known(tmp_path):
    with opened(tmp_path) as home:
        home.teach(np.zeros(8), "ana")
        home.teach(np.full(8, 7.0), "Zebedee", picture=png(1))
        home.teach(np.full(8, 7.0), "Zebedee")
        home.teach(np.full(8, 9.0), "Zebedee")
        for face in (7.0, 9.0):
            home.unteach(np.full(8, face))
        known = home.vertices()
        examples = int(known.multiplicities[1:].sum())
        assert len(known.ids) == 3
        assert examples == 3
        receipt = home.forget("Zebedee")
        assert (receipt.labeled, receipt.unlabeled, receipt.multiplicity) == (0, 2, examples)
        assert receipt.pictures == 1
        assert home.vertices().ids.tolist() == [0]


@pytest.mark.parametrize("names", [("Zebedee", "ana"), ("ana", "Zebedee")])
def test_of_two_people_who_came_in_one_event_only_the_forgotten_one_leaves_it(tmp_path, names):
    """A merge brings many vectors, which follow one another in one value."""
    other, faces = small_learner(), {"Zebedee": np.full(8, 7.0), "ana": np.full(8, 20.0)}
    for name in names:
        other.teach(faces[name], name)
    with opened(tmp_path) as home:
        home.merge(other)
        home.forget("Zebedee")
        assert files_with(tmp_path, b"Zebedee", faces["Zebedee"].tobytes()) == []
        (vector,) = home._files.log.vectors([1]).values()
        assert vector.tobytes() == faces["ana"].tobytes()
