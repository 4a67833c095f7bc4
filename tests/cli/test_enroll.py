"""`onlooker enroll` on real faces: what is taught, and what is refused before anything changes."""

import cv2
import numpy as np
import pytest

from helpers.commands import error_of, onlooker, rows
from helpers.filming import WALL, face_before_wall, moving, write_film, write_picture
from helpers.photos import photo_file
from helpers.tiny_onnx import model_in
from onlooker.home.reopen import reopen
from onlooker.simulation.orl import pictures_of
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


def test_a_small_face_in_a_large_photo_was_no_face(tmp_path):
    """The page found it: `enroll`, `explain` and `history find` looked at 320 pixels only."""
    wide, tall = (118, 144)
    for number in range(2):
        pixels = np.full((2000, 3000, 3), 150, np.uint8)
        face = cv2.resize(pictures_of(1)[number], (wide, tall), interpolation=cv2.INTER_CUBIC)
        pixels[900 : 900 + tall, 1400 : 1400 + wide] = face[:, :, None]
        (tmp_path / f"{number}.jpg").write_bytes(photo_file(pixels))
    (row,) = rows(onlooker("enroll", "ana", tmp_path / "0.jpg", "--home", "h"))
    assert row["taught"] == 1
    (row,) = rows(onlooker("explain", tmp_path / "1.jpg", "--home", "h", "--json"))
    assert row["faces"] == 1
    never = onlooker("history", "find", tmp_path / "1.jpg", "--home", "h")
    assert "nobody like that was here" in never.stderr


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


def test_a_video_of_two_people_is_refused(tmp_path):
    """One man, then another: one of the two had the name, without a word."""
    first, second = (
        moving([face_before_wall(person, number) for number in range(3)]) for person in (1, 2)
    )
    write_film(tmp_path / "two.mp4", [*first, *second])
    said = error_of(onlooker("enroll", "ana", "two.mp4", "--home", "h"))
    assert "two.mp4 seems to show two people" in said
    assert "cut it, or use pictures" in said


@pytest.mark.parametrize("name", ["", " "])
def test_nobody_is_enrolled_without_a_name(name, ana, tmp_path):
    assert "name" in error_of(onlooker("enroll", name, *ana, "--home", "h"))
    assert not (tmp_path / "h").exists()


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


# A photo library -----------------------------------------------------------------------------


def library(root):
    """As Frigate and immich lay it out: face crops, nested photos, a folder of unsorted faces."""
    for number in range(3):
        crop = face_before_wall(1, number)[120:344, 220:404]
        write_picture(root / "ana" / f"ana-{number}.webp", crop)
        write_picture(root / "ben" / "2024" / "trip" / f"{number}.jpg", face_before_wall(2, number))
    write_picture(root / "train" / "unsorted.webp", face_before_wall(3, 0))
    write_picture(root / "ben" / "wall.png", WALL)
    write_picture(root / "ben" / "two.png", np.hstack([face_before_wall(p, 0) for p in (2, 4)]))
    write_picture(root / "ben" / "ana.png", face_before_wall(1, 0)[120:344, 220:404])
    (root / "ben" / "notes.jpg").write_text("not a photo")
    (root / ".thumbnails").mkdir()
    (root / "README.txt").write_text("not a person")
    return root


def test_a_photo_library_is_taught_once_and_bad_photos_are_told_one_by_one(tmp_path):
    root = library(tmp_path / "faces")
    result = onlooker("enroll-folder", root, "--home", "h")
    assert rows(result) == [
        {"name": "ana", "photos": 3, "bad": 0, "taught": 3, "labeled": 3},
        {"name": "ben", "photos": 7, "bad": 4, "taught": 3, "labeled": 3},
    ]
    lines = result.stderr.splitlines()
    assert len(lines) == 4
    for file, words in (
        ("wall.png", "no face"),
        ("two.png", "2 faces"),
        ("notes.jpg", "not a JPEG"),
        ("ana.png", "another person"),
    ):
        assert any(file in each and words in each for each in lines), (file, lines)
    before = sequence()
    again = onlooker("enroll-folder", root, "--home", "h")
    assert [row["taught"] for row in rows(again)] == [0, 0]
    assert sequence() == before


def test_who_was_forgotten_is_not_brought_back_by_a_library(tmp_path):
    root = library(tmp_path / "faces")
    rows(onlooker("enroll-folder", root, "--home", "h", "--most", 2))
    rows(onlooker("people", "forget", "ana", "--home", "h"))
    again = onlooker("enroll-folder", root, "--home", "h", "--most", 2)
    assert {row["name"]: row["labeled"] for row in rows(again)} == {"ana": 0, "ben": 2}
    assert "ana is not taught again" in again.stderr


def test_a_library_without_a_usable_photo_makes_no_home(tmp_path):
    write_picture(tmp_path / "faces" / "ana" / "wall.png", WALL)
    said = onlooker("enroll-folder", "faces", "--home", "h")
    assert said.exit_code == 1
    assert "none of 1 photos in faces can be used" in said.stderr
    assert "nobody is in" in error_of(onlooker("enroll-folder", "faces/ana", "--home", "h"))
    assert not (tmp_path / "h").exists()


def test_a_library_could_not_be_taught_to_a_home_of_a_model(tmp_path):
    """`enroll` took the model, `enroll-folder` did not, and said to give it."""
    pytest.importorskip("onnxruntime")
    root, model = library(tmp_path / "faces"), model_in(tmp_path)
    rows(onlooker("enroll-folder", root, "--home", "h", "--model", model, "--provider", "cpu"))
    with reopen("h", face_distances()) as home:
        assert home.learner.features.startswith("blocks/")
        assert set(home.learner.names) == {"ana", "ben"}
    assert "--model FILE" in error_of(onlooker("enroll-folder", root, "--home", "h"))
