"""Faces are cached by the contents of the pictures: never searched twice, never stale."""

from dataclasses import replace
from itertools import chain

import cv2
import numpy as np
import pytest

from onlooker.core.errors import BadValue
from onlooker.experiments.datasets import facebank
from onlooker.experiments.datasets.facebank import faces_cache, find_faces
from onlooker.experiments.datasets.manifest import Picture, read_dataset
from onlooker.simulation.filming import Truth
from onlooker.simulation.orl import pictures_of
from onlooker.simulation.scenarios import write_dataset
from onlooker.video.image_files import read_picture
from onlooker.vision.finder import FaceFinder
from onlooker.vision.types import FaceBox, Frame

FINDER = FaceFinder(kind="pixels")


def crop_of(person, index):
    """A tight crop of a stranger, at no camera."""
    pixels = cv2.cvtColor(pictures_of(person)[0], cv2.COLOR_GRAY2BGR)
    return Frame("", index, 0.0, pixels), Truth(None, "", FaceBox(0, 0, 1, 1))


def frame_of(person, index):
    """Somebody in front of a wall; or only the wall."""
    wall = np.full((480, 640), 90, np.uint8)
    if person is not None:
        wall[120:344, 220:404] = cv2.resize(pictures_of(person)[0], (184, 224))
    pixels = cv2.cvtColor(wall, cv2.COLOR_GRAY2BGR)
    return Frame("door", index, 0.0, pixels), Truth(None, "", FaceBox(0, 0, 1, 1))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dataset")
    scenes = [frame_of(person, index) for index, person in enumerate((1, 2, None))]
    crowd = [crop_of(person, person) for person in (30, 31)]
    write_dataset(folder, {"walk": scenes, "crowd": crowd}, suffix=".png")
    return folder


@pytest.fixture
def pictures(dataset):
    return read_dataset(dataset).pictures


@pytest.fixture(scope="module")
def bank(dataset, tmp_path_factory):
    """A cache that has the faces of all pictures."""
    folder = tmp_path_factory.mktemp("bank")
    find_faces(read_dataset(dataset).pictures, FINDER, folder=folder)
    return folder


def same(one, other):
    """Whether two lists of faces are equal to the last bit."""
    assert [len(faces) for faces in one] == [len(faces) for faces in other]
    for a, b in zip(chain(*one), chain(*other), strict=True):
        assert a.box == b.box
        assert a.refusal == b.refusal
        assert (a.vector is None) == (b.vector is None)
        if a.vector is not None:
            assert a.vector.dtype == b.vector.dtype == np.float32
            np.testing.assert_array_equal(a.vector, b.vector)
    return True


def files_in(folder):
    return {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}


def test_the_faces_are_those_of_the_finder(pictures, bank):
    found = find_faces(pictures, FINDER, folder=bank)
    assert [len(faces) for faces in found] == [1, 1, 0, 1, 1]
    for picture, faces in zip(pictures[:3], found[:3], strict=True):
        pixels = read_picture(picture.path)
        assert tuple(face.box for face in faces) == FINDER.detect(pixels)
        for face in faces:
            np.testing.assert_array_equal(face.vector, FINDER.features(pixels, face.box))


def test_a_crop_at_no_camera_gets_surroundings_and_the_face_stays_the_same(pictures, bank):
    for picture, (face,) in zip(
        pictures[3:], find_faces(pictures, FINDER, folder=bank)[3:], strict=True
    ):
        crop = read_picture(picture.path)
        height, width = crop.shape[:2]
        border = max(height, width) // 2
        assert border <= face.box.center[0] <= border + width
        assert border <= face.box.center[1] <= border + height


def test_nothing_is_looked_for_twice_and_nothing_else_is_left_behind(pictures, bank):
    before = files_in(bank)
    assert all(name.endswith(".npz") for name in before)
    first, second = (find_faces(pictures, FINDER, folder=bank) for _ in range(2))
    assert same(first, second)
    assert files_in(bank) == before


def copied(pictures, folder):
    folder.mkdir(exist_ok=True)
    copies = [replace(each, path=folder / f"{at}.png") for at, each in enumerate(pictures)]
    for old, new in zip(pictures, copies, strict=True):
        new.path.write_bytes(old.path.read_bytes())
    return copies


def test_moved_pictures_are_known_by_what_is_in_them(pictures, bank, tmp_path):
    before = files_in(bank)
    moved = copied(pictures, tmp_path)
    assert same(find_faces(moved, FINDER, folder=bank), find_faces(pictures, FINDER, folder=bank))
    assert files_in(bank) == before


def test_another_picture_under_the_same_name_is_looked_at(pictures, bank, tmp_path):
    copies = copied(pictures, tmp_path)
    before = find_faces(copies, FINDER, folder=bank)
    files = files_in(bank)
    copies[0].path.write_bytes(pictures[1].path.read_bytes())
    after = find_faces(copies, FINDER, folder=bank)
    assert same(after, [before[1], *before[1:]])
    assert (after[0][0].vector != before[0][0].vector).any()
    assert len(files_in(bank)) == len(files) + 1
    assert files.items() <= files_in(bank).items()


def test_another_finder_searches_again_and_gives_its_refusals(pictures, bank):
    strict = FaceFinder(kind="pixels", min_size=200)
    before = files_in(bank)
    found = find_faces(pictures, strict, folder=bank)
    assert len(files_in(bank)) == len(before) + 2, "a file for each set"
    for face in chain(*found):
        assert face.vector is None
        assert face.refusal.startswith("too small")
    assert same(find_faces(pictures, strict, folder=bank), found)


@pytest.mark.parametrize(
    "other",
    [
        FaceFinder(kind="pixels", size=256),
        FaceFinder(kind="pixels", detector="haar"),
        FaceFinder(kind="pixels", min_size=25),
        FaceFinder(kind="hog"),
    ],
    ids=lambda finder: finder.tag,
)
def test_whatever_decides_what_comes_out_decides_the_file(pictures, bank, other):
    chunks = [
        facebank.PictureChunk((pictures[0].path,), (False,), finder, bank)
        for finder in (FINDER, other)
    ]
    assert chunks[0].file() != chunks[1].file()
    assert (
        facebank.PictureChunk((pictures[0].path,), (True,), FINDER, bank).file() != chunks[0].file()
    )


def test_one_error_names_all_pictures_that_cannot_be_read(pictures, tmp_path):
    for name, content in (("broken.png", b"\x89PNG\r\n\x1a\n"), ("empty.jpg", b"")):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder.jpg").mkdir()
    names = ["broken.png", "empty.jpg", "folder.jpg", "gone.png"]
    bad = [Picture("walk", "door", None, at, tmp_path / name) for at, name in enumerate(names)]
    with pytest.raises(BadValue) as caught:
        find_faces([*pictures[:1], *bad], FINDER, folder=tmp_path / "cache")
    assert all(name in str(caught.value) for name in names)
    assert str(pictures[0].path) not in str(caught.value)
    assert not files_in(tmp_path / "cache")


def test_damaged_files_are_written_anew(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(facebank, "CHUNK", 1)
    for each in pictures:
        facebank.find_in_chunk(
            facebank.PictureChunk((each.path,), (not each.camera,), FINDER, tmp_path)
        )
    found = find_faces(pictures, FINDER, folder=tmp_path)
    files = sorted(tmp_path.iterdir())
    contents = [file.read_bytes() for file in files]
    half = len(contents[1]) // 2
    damaged = (
        b"",
        contents[1][:half],
        contents[2][:200] + bytes(200) + contents[2][400:],
        b"not a file of numpy",
    )
    for file, content in zip(files, damaged, strict=False):
        file.write_bytes(content)
    untouched = files[4].stat().st_mtime_ns
    assert same(find_faces(pictures, FINDER, folder=tmp_path), found)
    assert sorted(tmp_path.iterdir()) == files
    assert files[4].stat().st_mtime_ns == untouched
    for file in files:
        with np.load(file) as arrays:
            assert len(arrays["counts"]) == 1


def test_no_pictures_have_no_faces(tmp_path):
    assert find_faces([], FINDER, folder=tmp_path) == []
    assert not files_in(tmp_path)


def test_the_faces_are_kept_in_the_cache_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert faces_cache() == tmp_path / "onlooker" / "faces"
    assert find_faces([], FINDER) == []
    assert faces_cache().is_dir()
