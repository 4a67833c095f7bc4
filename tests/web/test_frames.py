"""The message about a frame: how certain the page shows a face to be, and what is said of it."""

import json

import pytest

from onlooker.core.records import Prediction
from onlooker.vision.types import FaceBox, Refusal, Sighting
from onlooker.web.frames import FrameResult, StageSeconds, state_of
from onlooker.web.schemas import PredictionRow

BOX, BLURRED = FaceBox(0, 0, 40, 40), Refusal("too blurred", 1.0, 2.0)


def said(name, confidence=1.0):
    return Prediction(name, {name: confidence} if name else {}, 1 - confidence, None)


@pytest.mark.parametrize(
    ("track", "answer", "refusal", "state"),
    [
        ("ana", said("ana"), None, "known"),
        ("ana", said("ana", 0.4), None, "unsure"),
        ("ana", said("ben"), None, "unsure"),
        ("ana", said(None, 0.0), None, "unsure"),
        ("ana", None, BLURRED, "unsure"),
        (None, said("ana"), None, "unsure"),
        (None, said(None, 0.0), None, "nobody"),
        (None, None, BLURRED, "poor"),
        (None, None, None, "nobody"),
    ],
)
def test_a_page_looks_as_sure_as_the_learner_is(track, answer, refusal, state):
    assert state_of(Sighting("door", 0, 0.0, 1, BOX, track, answer, refusal)) == state


def test_the_live_view_says_of_a_face_what_recognize_says():
    sightings = (
        Sighting("door", 7, 0.5, 1, BOX, "\ud800 ana", said("\ud800 ana", 0.75)),
        Sighting("door", 7, 0.5, 2, BOX, None, None, BLURRED, measured=False),
    )
    result = FrameResult("door", 7, 0.5, sightings, (3, None), (None, 2), 40, StageSeconds(1, 2, 3))
    message = json.loads(result.message())
    ana, poor = message.pop("faces")
    assert message == {
        "camera": "door",
        "frame": 7,
        "time": 0.5,
        "learned": 40,
        "seconds": {"detect": 1, "features": 2, "learn": 3},
    }
    assert (ana["measured"], poor["measured"]) == (True, False)
    assert (ana["track"], ana["state"], ana["vertex"], ana["card"]) == (1, "known", 3, None)
    assert (poor["track"], poor["state"], poor["vertex"], poor["card"]) == (2, "poor", None, 2)
    for face, seen in zip((ana, poor), sightings, strict=True):
        row = PredictionRow.of(seen.box, seen.answer, seen.refusal)
        assert face["answer"] == row.model_dump()
    assert (ana["answer"]["name"], ana["answer"]["confidence"]) == ("\ud800 ana", 0.75)
    assert poor["answer"]["refusal"]["reason"] == "too blurred"
