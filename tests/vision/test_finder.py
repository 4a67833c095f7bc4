"""Faces of a picture; a finder is a description that travels, and its parts are built on use."""

import pickle
from dataclasses import fields
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from helpers.services import scene
from onlooker.cli.recognizers import finder_from
from onlooker.cli.settings import load_settings
from onlooker.core.errors import BadValue
from onlooker.vision.alignment import CannotAlign
from onlooker.vision.detector import Haar, YuNet
from onlooker.vision.finder import FaceFinder, FinderParts
from onlooker.vision.hog import HogFeatures
from onlooker.vision.pixels import PixelFeatures
from onlooker.vision.sface import SFaceFeatures
from onlooker.vision.types import FaceBox, Refusal

SOME = [
    FaceFinder(),
    FaceFinder(size=None),
    FaceFinder(size=256),
    FaceFinder(detector="haar", kind="pixels"),
    FaceFinder(detector="haar", size=None, kind="pixels"),
    FaceFinder(min_size=40),
    FaceFinder(kind="pixels"),
    FaceFinder(kind="hog"),
]


@pytest.mark.parametrize("finder", SOME, ids=repr)
def test_only_the_description_travels(finder):
    assert finder.detect is finder.detect  # built once
    assert callable(finder.features)
    assert finder.judge(np.zeros((9, 9, 3), np.uint8), FaceBox(0, 0, 9, 9)) is not None
    packed = pickle.dumps(finder)
    assert len(packed) < 200
    arrived = pickle.loads(packed)
    assert arrived == finder
    assert hash(arrived) == hash(finder)
    assert arrived.tag == finder.tag
    assert set(vars(pickle.loads(packed))) == {field.name for field in fields(FaceFinder)}


def test_faces_are_detected_then_judged_then_measured():
    finder, pixels = FaceFinder(), scene(1)
    (face,) = finder.faces(pixels)
    (box,) = finder.detect(pixels)
    assert (face.box, face.refusal) == (box, None)
    np.testing.assert_array_equal(face.vector, finder.features(pixels, box))


def test_a_poor_face_has_a_reason_and_no_vector():
    finder, pixels = FaceFinder(min_size=400), scene(1)
    (face,) = finder.faces(pixels)
    assert face.refusal == finder.judge(pixels, face.box)
    assert (face.refusal.reason, face.vector) == ("too small", None)


def cannot_align(pixels, box):
    raise CannotAlign("no face", Refusal("landmarks make no face", 0.0, 1e-6))


def test_ready_parts_take_the_place_of_the_description():
    wide, narrow = FaceBox(0, 0, 40, 40), FaceBox(50, 0, 20, 40)
    parts = FinderParts(
        detect=lambda pixels: (wide, narrow),
        features=lambda pixels, box: np.full(1, box.width, np.float32),
        judge=lambda pixels, box: Refusal("narrow", 20, 30) if box is narrow else None,
    )
    finder = FaceFinder(parts=parts)
    assert (finder.detect, finder.features, finder.judge) == parts
    first, second = finder.faces(np.zeros((60, 90, 3), np.uint8))
    assert (first.box, first.vector.tolist(), first.refusal) == (wide, [40.0], None)
    assert (second.box, second.vector, second.refusal.reason) == (narrow, None, "narrow")


def test_ready_parts_that_can_travel_travel_with_the_finder():
    parts = FinderParts(SimpleNamespace(name="detector"), PixelFeatures(), FaceFinder().judge)
    finder = FaceFinder(parts=parts)
    assert pickle.loads(pickle.dumps(finder)) == finder


def test_a_face_that_cannot_be_aligned_is_refused_like_a_poor_one():
    box = FaceBox(0, 0, 40, 40)
    parts = FinderParts(lambda pixels: (box,), cannot_align, lambda pixels, box: None)
    (face,) = FaceFinder(parts=parts).faces(np.zeros((60, 90, 3), np.uint8))
    assert (face.vector, str(face.refusal)) == (None, "landmarks make no face: 0, needs 1e-06")


def test_the_picture_of_a_face_is_small_lossless_and_its_own():
    pixels = scene(1)
    (face,) = FaceFinder().faces(pixels)
    small = face.thumbnail()
    assert small.shape == (96, 96, 3)
    assert not np.shares_memory(small, pixels)
    decoded = cv2.imdecode(np.frombuffer(face.png(), np.uint8), cv2.IMREAD_COLOR)
    np.testing.assert_array_equal(decoded, small)


def test_an_embedding_travels_without_being_looked_for():
    finder = FaceFinder(kind="embedding", model="nowhere.onnx")
    assert pickle.loads(pickle.dumps(finder)) == finder


def test_whatever_decides_what_comes_out_is_in_the_tag():
    tags = [finder.tag for finder in SOME]
    assert len(set(tags)) == len(SOME)


def test_the_parts_are_those_that_were_asked_for():
    assert isinstance(FaceFinder().detect, YuNet)
    assert FaceFinder(size=256).detect.size == 256
    assert isinstance(FaceFinder(detector="haar", size=None, kind="pixels").detect, Haar)
    assert FaceFinder(kind="pixels").features == PixelFeatures()
    assert FaceFinder(kind="hog").features == HogFeatures()
    assert isinstance(FaceFinder().features, SFaceFeatures)
    assert FaceFinder(min_size=40).judge.min_size == 40


def test_an_embedding_of_faces_without_landmarks_is_refused():
    with pytest.raises(BadValue, match=r"landmarks.*yunet"):
        FaceFinder(detector="haar", kind="embedding")
    with pytest.raises(BadValue, match="landmarks"):
        finder_from(load_settings({}, features="embedding", detector="haar"))


@pytest.fixture
def _no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_no_file")
@pytest.mark.parametrize(
    ("environment", "options", "expected"),
    [
        ({}, {}, FaceFinder()),
        ({"ONLOOKER_SIZE": "640"}, {}, FaceFinder(size=640)),
        ({"ONLOOKER_MIN_SIZE": "40"}, {}, FaceFinder(min_size=40)),
        # as in the paper: full size
        ({}, {"detector": "haar"}, FaceFinder(detector="haar", size=None, kind="pixels")),
        (
            {"ONLOOKER_SIZE": "320"},
            {"detector": "haar"},
            FaceFinder(detector="haar", size=320, kind="pixels"),
        ),
        (
            {"ONLOOKER_EMBEDDING": "sface"},
            {"features": "embedding"},
            FaceFinder(kind="embedding", model="sface"),
        ),
    ],
    ids=lambda value: str(value),
)
def test_settings_decide_the_finder(environment, options, expected):
    assert finder_from(load_settings(environment, **options)) == expected
