"""Eyes are a few words that travel; what they are built of is built where it is needed."""

import pickle
from dataclasses import fields

import numpy as np
import pytest

from onlooker.cli.recognizers import eyes_of
from onlooker.cli.settings import settings
from onlooker.core.errors import BadValue
from onlooker.vision.detector import Haar, YuNet
from onlooker.vision.finder import Eyes
from onlooker.vision.pixels import PixelFeatures
from onlooker.vision.types import FaceBox

SOME = [
    Eyes(),
    Eyes(size=None),
    Eyes(size=256),
    Eyes(detector="haar"),
    Eyes(detector="haar", size=None),
    Eyes(min_size=40),
]


@pytest.mark.parametrize("eyes", SOME, ids=repr)
def test_only_the_words_travel(eyes):
    assert eyes.detect is eyes.detect  # built once
    assert callable(eyes.features)
    assert eyes.judge(np.zeros((9, 9, 3), np.uint8), FaceBox(0, 0, 9, 9)) is not None
    packed = pickle.dumps(eyes)
    assert len(packed) < 200
    arrived = pickle.loads(packed)
    assert arrived == eyes
    assert hash(arrived) == hash(eyes)
    assert arrived.tag == eyes.tag
    assert set(vars(pickle.loads(packed))) == {field.name for field in fields(Eyes)}


def test_an_embedding_travels_without_being_looked_for():
    eyes = Eyes(kind="embedding", model="nowhere.onnx")
    assert pickle.loads(pickle.dumps(eyes)) == eyes


def test_whatever_decides_what_comes_out_is_in_the_tag():
    tags = [eyes.tag for eyes in SOME]
    assert len(set(tags)) == len(SOME)


def test_the_parts_are_those_that_were_asked_for():
    assert isinstance(Eyes().detect, YuNet)
    assert Eyes(size=256).detect.size == 256
    assert isinstance(Eyes(detector="haar", size=None).detect, Haar)
    assert Eyes().features == PixelFeatures()
    assert Eyes(min_size=40).judge.min_size == 40


def test_an_embedding_of_faces_without_landmarks_is_refused():
    with pytest.raises(BadValue, match=r"landmarks.*yunet"):
        Eyes(detector="haar", kind="embedding")
    with pytest.raises(BadValue, match="landmarks"):
        eyes_of(settings({}, features="embedding", detector="haar"))


@pytest.fixture
def _no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_no_file")
@pytest.mark.parametrize(
    ("environment", "options", "expected"),
    [
        ({}, {}, Eyes()),
        ({"ONLOOKER_SIZE": "640"}, {}, Eyes(size=640)),
        ({"ONLOOKER_MIN_SIZE": "40"}, {}, Eyes(min_size=40)),
        ({}, {"detector": "haar"}, Eyes(detector="haar", size=None)),  # as in the paper: full size
        ({"ONLOOKER_SIZE": "320"}, {"detector": "haar"}, Eyes(detector="haar", size=320)),
        (
            {"ONLOOKER_EMBEDDING": "sface"},
            {"features": "embedding"},
            Eyes(kind="embedding", model="sface"),
        ),
    ],
    ids=lambda value: str(value),
)
def test_settings_decide_the_eyes(environment, options, expected):
    assert eyes_of(settings(environment, **options)) == expected
