"""Forgetting leaves no byte, also when it is interrupted."""

import numpy as np
import pytest

from helpers.homes import crash, files_with, opened, png, snapshot_files
from onlooker.core.errors import NotFound
from onlooker.home.database import NotSaved
from onlooker.home.events import digest
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
        assert receipt.events > 50
        assert receipt.snapshots >= 1
        assert home.learner.names == ("ana",)
        assert home.album.picture(1) == remaining
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
