"""`onlooker enroll` on real faces: what is taught, and what is refused before anything changes."""

import pytest

from helpers.commands import error_of, onlooker, rows
from helpers.filming import WALL, face_before_wall, moving, write_film, write_picture
from onlooker.home.reopen import reopen
from onlooker.vision.finder import face_distances


def sequence():
    """The number of the newest event of the home."""
    with reopen("h", face_distances()) as home:
        return home.sequence


@pytest.fixture
def ana(pictures):
    return sorted((pictures / "people" / "ana").iterdir())


def test_enroll_one_person_then_the_others(pictures, ana):
    (row,) = rows(onlooker("enroll", "ana", *ana, "--home", "h"))
    assert row == {"name": "ana", "taught": 4, "labeled": 4}
    assert rows(onlooker("enroll", "--people", pictures / "people", "--home", "h")) == [
        {"name": "ana", "taught": 0, "labeled": 4},
        {"name": "ben", "taught": 4, "labeled": 4},
    ]
    with reopen("h", face_distances()) as home:
        assert len(home.album.vertices()) == 8


def test_who_was_forgotten_can_be_enrolled_again(ana):
    rows(onlooker("enroll", "ana", *ana, "--home", "h"))
    rows(onlooker("people", "forget", "ana", "--home", "h"))
    (row,) = rows(onlooker("enroll", "ana", *ana, "--home", "h"))
    assert row == {"name": "ana", "taught": 4, "labeled": 4}


def test_who_is_enrolled_and_forgotten_is_not_taught_by_a_folder(pictures, ana):
    rows(onlooker("enroll", "ana", *ana, "--home", "h"))
    rows(onlooker("people", "forget", "ana", "--home", "h"))
    result = onlooker("watch", pictures / "frames", "--people", pictures / "people", "--home", "h")
    assert {sighting["label"] for sighting in rows(result)} <= {"ben", None}
    assert "ana is not taught again" in result.stderr


def test_a_bad_picture_names_itself_and_nothing_is_taught(ana, tmp_path):
    write_picture(tmp_path / "wall.png", WALL)
    rows(onlooker("enroll", "ana", *ana[:1], "--home", "h"))
    text = error_of(onlooker("enroll", "ana", *ana, tmp_path / "wall.png", "--home", "h"))
    assert "wall.png shows no face" in text
    assert sequence() == 1


def test_one_picture_cannot_have_two_names(ana):
    rows(onlooker("enroll", "ana", *ana[2:], "--home", "h"))
    before = sequence()
    text = error_of(onlooker("enroll", "eve", *ana, "--home", "h"))
    assert "'ana'" in text
    assert "'eve'" in text
    assert sequence() == before


def test_enroll_from_a_video_then_watch(pictures, tmp_path):
    write_film(tmp_path / "ana.mp4", moving([face_before_wall(1, number) for number in range(5)]))
    result = onlooker("enroll", "ana", "ana.mp4", "--home", "h")
    assert rows(result) == [{"name": "ana", "taught": 4, "labeled": 4}]
    assert result.stderr == ""
    again = onlooker("enroll", "ana", "ana.mp4", "--home", "h")
    assert rows(again) == [{"name": "ana", "taught": 0, "labeled": 4}]
    sightings = rows(onlooker("watch", pictures / "frames", "--home", "h"))
    assert [sighting["label"] for sighting in sightings] == ["ana"] * 4 + [None] * 8


def test_a_bad_video_names_itself_and_nothing_is_taught(ana, tmp_path):
    write_film(tmp_path / "wall.mp4", [WALL] * 3)
    (tmp_path / "half.mp4").write_bytes((tmp_path / "wall.mp4").read_bytes()[:500])
    rows(onlooker("enroll", "ana", *ana[:1], "--home", "h"))
    for file, words in (("wall.mp4", "of 3, 3 show none"), ("half.mp4", "cut short")):
        text = error_of(onlooker("enroll", "ana", *ana, file, "--home", "h"))
        assert file in text
        assert words in text
    assert sequence() == 1


def test_people_may_be_videos(tmp_path):
    (tmp_path / "people" / "ben").mkdir(parents=True)
    frames = moving([face_before_wall(1, number) for number in range(5)])
    write_film(tmp_path / "people" / "ana.mp4", frames)
    write_film(tmp_path / "people" / "ben" / "still.mp4", [face_before_wall(2, 0)])
    result = rows(onlooker("enroll", "--people", "people", "--home", "h"))
    assert [row["taught"] for row in result] == [4, 1]
    with reopen("h", face_distances()) as home:
        assert home.learner.names == ("ana", "ben")
