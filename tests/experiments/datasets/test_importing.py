"""Importing folders of people: layouts, order, refusals, and nothing lost."""

import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.core.errors import BadValue
from onlooker.experiments.datasets import importing
from onlooker.experiments.datasets.importing import import_people, natural
from onlooker.experiments.datasets.manifest import MANIFEST, read_dataset


def paint(path, shade=0):
    """A tiny JPEG file, whatever its name; the shade tells it apart."""
    path.parent.mkdir(parents=True, exist_ok=True)
    grey = np.full((8, 8, 3), shade, np.uint8)
    path.write_bytes(cv2.imencode(".jpg", grey)[1].tobytes())


def shade(path):
    return int(cv2.imread(str(path))[0, 0, 0])


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}


def test_the_pictures_of_each_person_in_the_order_people_count(tmp_path):
    for at, name in enumerate(("1.jpg", "2.jpg", "10.JPG", "100.png")):
        paint(tmp_path / "people" / "ana" / name, 50 * at)
    paint(tmp_path / "people" / "ben" / "x.jpg", 200)
    (tmp_path / "people" / "ana" / "notes.txt").write_text("left out")
    (tmp_path / "people" / ".hidden").mkdir()
    (tmp_path / "people" / "readme.txt").write_text("left out")
    found = read_dataset(import_people(tmp_path / "people", tmp_path / "d"))
    assert [(each.set, each.camera, each.person, each.frame) for each in found.pictures] == [
        *(("imported", "camera1", "ana", number) for number in range(4)),
        ("imported", "camera1", "ben", 0),
    ]
    assert [shade(each.path) for each in found.pictures] == [0, 50, 100, 150, 200]
    shutil.rmtree(tmp_path / "people")  # the dataset does not need it
    assert read_dataset(tmp_path / "d").digest == found.digest


def test_sequences_follow_each_other_at_one_camera(tmp_path):
    for at, name in enumerate(("head2/1.jpg", "head2/2.jpg", "head10/1.jpg")):
        paint(tmp_path / "people" / "ana" / name, 50 * at)
    found = read_dataset(import_people(tmp_path / "people", tmp_path / "d")).pictures
    assert {each.camera for each in found} == {"camera1"}
    assert [(each.frame, shade(each.path)) for each in found] == [(0, 0), (1, 50), (2, 100)]


def test_vidtimit_as_it_is_unpacked(tmp_path):
    """PERSON/video/SEQUENCE, frames without a suffix, and sound beside it."""
    for number in (1, 2, 11):
        paint(tmp_path / "V" / "fadg0" / "video" / "sa1" / f"{number:03d}", number)
    sound = tmp_path / "V" / "fadg0" / "audio" / "sa1.wav"
    sound.parent.mkdir()
    sound.write_bytes(b"RIFF....WAVE")
    found = read_dataset(import_people(tmp_path / "V", tmp_path / "d")).pictures
    assert [(each.person, each.frame) for each in found] == [("fadg0", at) for at in range(3)]
    assert [shade(each.path) for each in found] == [1, 2, 11]


def test_chokepoint_has_cameras_first(tmp_path):
    for camera in ("P1E_S1_C1", "P1E_S1_C2"):
        for person in ("0001", "0003"):
            paint(tmp_path / "P1E" / camera / person / "00000084.pgm.jpg")
    found = read_dataset(import_people(tmp_path / "P1E", tmp_path / "d", first="camera")).pictures
    assert [(each.camera, each.person) for each in found] == [
        ("P1E_S1_C1", "0001"),
        ("P1E_S1_C1", "0003"),
        ("P1E_S1_C2", "0001"),
        ("P1E_S1_C2", "0003"),
    ]


def test_a_second_set_is_added_and_the_first_stays(tmp_path):
    paint(tmp_path / "people" / "ana" / "1.jpg")
    import_people(tmp_path / "people", tmp_path / "d", recording="one")
    manifest = tmp_path / "d" / MANIFEST
    text = manifest.read_text(encoding="utf-8").splitlines()
    text = [text[0] + ",condition", text[1] + ",dark"]
    manifest.write_text("\n".join(text), encoding="utf-8")  # without a newline at the end
    import_people(tmp_path / "people", tmp_path / "d", recording="two/../x")
    found = read_dataset(tmp_path / "d").pictures
    assert [(each.set, each.condition) for each in found] == [("one", "dark"), ("two/../x", "")]


WRONG = {
    "pictures at the top": (["1.jpg"], "person", "has pictures itself; a folder for each person"),
    "too deep": (["ana/a/b/1.jpg"], "person", "ana has its pictures too deep"),
    "both": (["ana/1.jpg", "ana/s/2.jpg"], "person", "ana has pictures and folders with"),
    "one without": (["ana/1.jpg", "ben/notes.txt"], "person", "ben has no pictures"),
    "nothing": ([], "person", "has no pictures in folders of people"),
    "people as cameras": (["ana/1.jpg"], "camera", "ana has pictures itself, CAMERA/PERSON"),
    "no usable name": (["\x01/1.jpg"], "person", "no usable name"),
}


@pytest.mark.parametrize(("paths", "first", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_layout_is_one_line_and_nothing_is_written(tmp_path, paths, first, message):
    people, into = tmp_path / "people", tmp_path / "d"
    people.mkdir()
    for path in paths:
        paint(people / path)
    with pytest.raises(BadValue, match=message) as refused:
        import_people(people, into, first=first)
    assert "\n" not in str(refused.value)
    assert not into.exists()


@pytest.mark.parametrize("there", ["other files", "a file", "the set's folder", "a bad manifest"])
def test_nothing_that_is_there_is_lost(tmp_path, there):
    paint(tmp_path / "people" / "ana" / "1.jpg")
    into = tmp_path / "d"
    if there == "a file":
        into.write_text("mine.")
    else:
        import_people(tmp_path / "people", into, recording="one")
        if there == "other files":
            (into / MANIFEST).unlink()
        elif there == "a bad manifest":
            (into / MANIFEST).write_text("not a table")
        else:
            (into / "imported").mkdir()
            (into / "imported" / "mine.txt").write_text("mine")
    before = files(tmp_path)
    with pytest.raises(BadValue) as refused:
        import_people(tmp_path / "people", into)
    assert "\n" not in str(refused.value)
    assert files(tmp_path) == before


@pytest.mark.parametrize("failing", ["copyfile", "replace_file"])
def test_a_full_disk_leaves_the_dataset_as_it_was(tmp_path, monkeypatch, failing):
    paint(tmp_path / "people" / "ana" / "1.jpg")
    import_people(tmp_path / "people", tmp_path / "d", recording="one")
    before = files(tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(importing.shutil if failing == "copyfile" else importing, failing, full)
    with pytest.raises(BadValue, match="No space left on device"):
        import_people(tmp_path / "people", tmp_path / "d", recording="two")
    assert files(tmp_path) == before
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == [MANIFEST, "one"]


@given(st.lists(st.integers(0, 10**6), unique=True, max_size=20))
def test_numbers_are_sorted_by_value_with_and_without_zeros(numbers):
    names = [Path(f"frame{number:0{1 + number % 7}d}.jpg") for number in numbers]
    ordered = sorted(names, key=natural)
    assert ordered == [name for _, name in sorted(zip(numbers, names, strict=True))]
