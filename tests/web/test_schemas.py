"""How certain the page shows a face to be."""

import pytest

from onlooker.core.records import Prediction
from onlooker.vision.types import FaceBox, Refusal, Sighting
from onlooker.web.schemas import state_of

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
