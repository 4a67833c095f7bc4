"""FaceFinder are a few words that travel; what they are built of is built where it is needed."""

import pickle
from dataclasses import fields

import numpy as np
import pytest

from onlooker.cli.recognizers import finder_from
from onlooker.cli.settings import load_settings
from onlooker.core.errors import BadValue
from onlooker.vision.detector import Haar, YuNet
from onlooker.vision.finder import FaceFinder
from onlooker.vision.pixels import PixelFeatures
from onlooker.vision.types import FaceBox

SOME = [
    FaceFinder(),
    FaceFinder(size=None),
    FaceFinder(size=256),
    FaceFinder(detector="haar"),
    FaceFinder(detector="haar", size=None),
    FaceFinder(min_size=40),
]


@pytest.mark.parametrize("finder", SOME, ids=repr)
def test_only_the_words_travel(finder):
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


def test_an_embedding_travels_without_being_looked_for():
    finder = FaceFinder(kind="embedding", model="nowhere.onnx")
    assert pickle.loads(pickle.dumps(finder)) == finder


def test_whatever_decides_what_comes_out_is_in_the_tag():
    tags = [finder.tag for finder in SOME]
    assert len(set(tags)) == len(SOME)


def test_the_parts_are_those_that_were_asked_for():
    assert isinstance(FaceFinder().detect, YuNet)
    assert FaceFinder(size=256).detect.size == 256
    assert isinstance(FaceFinder(detector="haar", size=None).detect, Haar)
    assert FaceFinder().features == PixelFeatures()
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
        (
            {},
            {"detector": "haar"},
            FaceFinder(detector="haar", size=None),
        ),  # as in the paper: full size
        ({"ONLOOKER_SIZE": "320"}, {"detector": "haar"}, FaceFinder(detector="haar", size=320)),
        (
            {"ONLOOKER_EMBEDDING": "sface"},
            {"features": "embedding"},
            FaceFinder(kind="embedding", model="sface"),
        ),
    ],
    ids=lambda value: str(value),
)
def test_settings_decide_the_eyes(environment, options, expected):
    assert finder_from(load_settings(environment, **options)) == expected
