"""The gate says what is wrong with a face, how much of it there is, and how much it takes."""

import csv
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.core.errors import BadValue
from onlooker.vision.detector import YuNet
from onlooker.vision.quality import Gate, sharpness
from onlooker.vision.types import FaceBox, Refusal

SHARED = Path(__file__).parents[3] / "shared" / "data"
BOX = FaceBox(200, 100, 150, 190)


def drawn(height: int = 480, width: int = 640) -> np.ndarray:
    """A face of ellipses where BOX is, on a grey wall."""
    frame = np.full((height, width, 3), 110, np.uint8)
    cv2.ellipse(frame, (275, 195), (70, 92), 0, 0, 360, (150, 170, 200), cv2.FILLED)
    for x in (245, 305):
        cv2.ellipse(frame, (x, 170), (14, 7), 0, 0, 360, (240, 240, 240), cv2.FILLED)
        cv2.circle(frame, (x, 170), 6, (30, 30, 30), cv2.FILLED)
        cv2.line(frame, (x - 18, 152), (x + 18, 150), (40, 50, 60), 6)
    cv2.line(frame, (275, 175), (268, 215), (110, 120, 150), 5)
    cv2.ellipse(frame, (275, 245), (28, 9), 0, 0, 360, (70, 70, 150), cv2.FILLED)
    cv2.ellipse(frame, (275, 110), (68, 30), 0, 180, 360, (20, 25, 30), cv2.FILLED)
    return frame


def blurred(frame: np.ndarray, share: float) -> np.ndarray:
    """Out of focus by a share of the face's width."""
    return cv2.GaussianBlur(frame, (0, 0), share * BOX.width)


def dimmed(frame: np.ndarray, factor: float) -> np.ndarray:
    return (frame * factor).astype(np.uint8)


def faded(frame: np.ndarray, factor: float) -> np.ndarray:
    return (110 + (frame - 110.0) * factor).astype(np.uint8)


def test_a_good_face_passes():
    assert Gate()(drawn(), BOX) is None


@pytest.mark.parametrize(
    ("frame", "box", "reason", "threshold"),
    [
        (drawn(), FaceBox(200, 100, 23.5, 30), "too small", 24),
        (drawn(), FaceBox(200, 100, 30, 23.5), "too small", 24),
        (dimmed(drawn(), 0.004), BOX, "too dark", 1),
        (faded(drawn(), 0.05), BOX, "too little contrast", 5),
        (blurred(drawn(), 0.12), BOX, "too blurred", 0.12),
    ],
    ids=["narrow", "low", "dark", "faded", "blurred"],
)
def test_a_poor_face_is_refused_with_the_reason(frame, box, reason, threshold):
    refusal = Gate()(frame, box)
    assert refusal is not None
    assert (refusal.reason, refusal.threshold) == (reason, threshold)
    assert 0 <= refusal.value < threshold
    assert type(refusal.value) is type(refusal.threshold) is float


def test_the_measured_value_is_the_value_of_the_face():
    frame = np.zeros((100, 100, 3), np.uint8)
    assert Gate()(frame, FaceBox(10, 10, 40, 40)) == Refusal("too dark", 0.0, 1.0)
    assert Gate()(frame, FaceBox(10, 10, 16, 20)) == Refusal("too small", 16.0, 24.0)
    striped = np.full((100, 100, 3), 100, np.uint8)
    striped[::2] = 104
    refusal = Gate()(striped, FaceBox(10, 10, 40, 40))
    assert refusal == Refusal("too little contrast", 2.0, 5.0)


@pytest.mark.parametrize(
    ("name", "frame", "box"),
    [
        ("min_size", drawn(), FaceBox(200, 100, 20, 20)),
        ("min_brightness", dimmed(drawn(), 0.004), BOX),
        ("min_contrast", faded(drawn(), 0.05), BOX),
        ("min_sharpness", blurred(drawn(), 0.12), BOX),
    ],
)
def test_zero_switches_one_test_off(name, frame, box):
    alone = dict.fromkeys(["min_size", "min_brightness", "min_contrast", "min_sharpness"], 0.0)
    assert Gate(**alone)(frame, box) is None
    alone[name] = getattr(Gate(), name)
    assert Gate(**alone)(frame, box) is not None


@pytest.mark.parametrize("factor", [0.25, 0.5, 2, 4])
def test_sharpness_does_not_depend_on_resolution(factor):
    frame = cv2.cvtColor(drawn(), cv2.COLOR_BGR2GRAY)[100:290, 200:350]
    how = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    scaled = cv2.resize(frame, None, fx=factor, fy=factor, interpolation=how)
    assert sharpness(scaled) == pytest.approx(sharpness(frame), rel=0.15)


@pytest.mark.parametrize("factor", [0.2, 0.5])
def test_sharpness_does_not_depend_on_light(factor):
    frame = cv2.cvtColor(drawn(), cv2.COLOR_BGR2GRAY)[100:290, 200:350]
    assert sharpness(dimmed(frame, factor)) == pytest.approx(sharpness(frame), rel=0.1)


def test_more_blur_is_less_sharp():
    frame = cv2.cvtColor(drawn(), cv2.COLOR_BGR2GRAY)
    values = [
        sharpness(blurred(frame, share)[100:290, 200:350]) for share in (0.01, 0.03, 0.06, 0.1)
    ]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("min_size", [0, 24])
@pytest.mark.parametrize(
    "box", [FaceBox(700, 100, 50, 50), FaceBox(-90, -90, 50, 50), FaceBox(9, 9, 0, 0)]
)
def test_a_box_outside_the_frame_is_too_small(box, min_size):
    refusal = Gate(min_size=min_size)(drawn(), box)
    assert refusal is not None
    assert (refusal.reason, refusal.value) == ("too small", 0.0)


def test_only_what_lies_in_the_frame_counts():
    frame = drawn()
    assert Gate()(frame, FaceBox(-30, 100, 50, 50)) == Refusal("too small", 20.0, 24.0)


def test_grey_alpha_and_sixteen_bits_are_the_same_face():
    frame = np.repeat(dimmed(drawn(), 0.02)[:, :, :1], 3, axis=2)
    expected = Gate()(frame, BOX)
    assert expected is not None
    assert Gate()(frame[:, :, 0], BOX) == expected
    assert Gate()(np.dstack([frame, frame[:, :, 0]]), BOX) == expected
    assert Gate()(frame.astype(np.uint16) * 257, BOX) == expected


@given(
    left=st.floats(-50, 50),
    top=st.floats(-50, 50),
    width=st.floats(0, 100),
    height=st.floats(0, 100),
    value=st.integers(0, 255),
)
def test_any_box_in_any_flat_frame_is_refused(left, top, width, height, value):
    frame = np.full((40, 40, 3), value, np.uint8)
    for gate in (Gate(), Gate(min_size=0, min_brightness=0, min_contrast=0)):
        refusal = gate(frame, FaceBox(left, top, width, height))
        assert refusal is not None
        assert refusal.value < refusal.threshold


@pytest.mark.parametrize("name", ["min_size", "min_brightness", "min_contrast", "min_sharpness"])
@pytest.mark.parametrize("value", [-1, float("nan"), "24"])
def test_bad_thresholds_are_named(name, value):
    with pytest.raises(BadValue, match=name):
        Gate(**{name: value})


@pytest.mark.skipif(not (SHARED / "manifest.csv").exists(), reason="the shared frames are absent")
@pytest.mark.parametrize("name", ["two-cameras", "webcams"])
def test_hardly_any_real_face_is_refused(name):
    with (SHARED / "manifest.csv").open(encoding="utf-8") as lines:
        paths = [row["path"] for row in csv.DictReader(lines) if row["set"] == name]
    detector, gate = YuNet(), Gate()
    counts: Counter[str] = Counter()
    for path in paths[:: len(paths) // 150]:
        frame = cv2.imread(str(SHARED / path))
        for box in detector(frame):
            refusal = gate(frame, box)
            counts[refusal.reason if refusal else "fine"] += 1
    assert counts["fine"] >= 0.98 * counts.total(), counts
