"""Frames in, sightings out, with a detector and features made up and everything else real."""

from dataclasses import dataclass

import cv2
import numpy as np
import pytest

from onlooker import HeatKernel, OnlineHarmonicLearner, OnlookerError
from onlooker.faces.recognizer import FaceRecognizer
from onlooker.faces.records import FaceBox, Frame, Refusal

DARK = Refusal("too dark", 3.0, 40.0)


def detect(pixels):
    """White frames around faces mark them: every face is a square of one grey on black."""
    _, mask = cv2.threshold(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY), 5, 255, cv2.THRESH_BINARY)
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    boxes = [FaceBox(*map(float, cv2.boundingRect(contour))) for contour in contours]
    return sorted(boxes, key=lambda box: box.left)


@dataclass(frozen=True)
class Grey:
    """The grey of a face as its only feature."""

    tag: str = "grey"

    def __call__(self, pixels, box):
        x, y = map(int, box.center)
        return np.array([pixels[y, x, 0] / 255.0], dtype=np.float32)


def judge(pixels, box):
    return DARK if Grey()(pixels, box)[0] < 0.1 else None


def scene(*faces):
    """A picture with faces of these greys side by side."""
    pixels = np.zeros((60, 300, 3), np.uint8)
    for place, grey in enumerate(faces):
        pixels[10:50, 20 + 70 * place : 60 + 70 * place] = grey
    return pixels


def recognizer(**options):
    learner = OnlineHarmonicLearner(HeatKernel(0.03, 1e-4), features="grey")
    found = FaceRecognizer(learner, detect=detect, features=Grey(), judge=judge, **options)
    learner.teach(np.array([0.4], np.float32), "ana")
    learner.teach(np.array([0.9], np.float32), "ben")
    return found


def frame(index, *faces):
    return Frame("door", index, index / 25, scene(*faces))


def test_every_face_gets_a_sighting_with_its_name_box_and_track():
    ana, ben = recognizer().see(frame(0, 104, 228))
    assert (ana.name, ben.name) == ("ana", "ben")
    assert ana.box.left < ben.box.left
    assert ana.track != ben.track
    assert (ana.camera, ana.frame, ana.time) == ("door", 0, 0.0)


def test_a_person_who_changes_slowly_stays_known_and_a_stranger_stays_nobody():
    watched = recognizer()
    for index, grey in enumerate(range(102, 150, 3)):
        (seen,) = watched.see(frame(index, grey))
        assert seen.answer.label == "ana"
    (stranger,) = watched.see(frame(100, 190))
    assert stranger.name is None
    assert stranger.answer.label is None


def test_looking_without_learning_leaves_no_trace():
    watched = recognizer()
    before = len(watched.learner)
    watched.see(frame(0, 110), learn=False)
    assert len(watched.learner) == before


def test_a_poor_face_is_reported_with_the_reason_and_neither_named_nor_learned():
    watched = recognizer()
    before = len(watched.learner)
    (seen,) = watched.see(frame(0, 20))
    assert (seen.name, seen.answer, seen.refusal) == (None, None, DARK)
    assert len(watched.learner) == before


def test_a_track_keeps_its_name_through_a_face_that_nobody_knows():
    watched = recognizer()
    for index in range(3):
        watched.see(frame(index, 104))
    (seen,) = watched.see(frame(3, 190))
    assert seen.name == "ana"
    assert seen.answer.label is None


def test_a_stranger_who_steps_where_somebody_stood_does_not_inherit_the_name():
    watched = recognizer()
    for index in range(30):
        watched.see(frame(index, 104))
    names = [watched.see(frame(30 + index, 190))[0].name for index in range(15)]
    assert names[-1] is None


def test_two_faces_in_one_frame_are_two_people_if_asked():
    first, second = recognizer(one_each=True).see(frame(0, 110, 103))
    assert first.answer.label is None
    assert second.answer.label == "ana"
    both = recognizer().see(frame(0, 110, 103))
    assert [seen.answer.label for seen in both] == ["ana", "ana"]


def test_the_face_that_lost_its_name_is_not_learned():
    watched = recognizer(one_each=True)
    before = watched.learner.vertices().multiplicities.sum()
    watched.see(frame(0, 110, 103))
    assert watched.learner.vertices().multiplicities.sum() == before + 1


def test_other_features_than_the_learner_knows_are_refused():
    learner = OnlineHarmonicLearner(HeatKernel(0.03, 1e-4), features="pixels")
    with pytest.raises(OnlookerError, match=r"'pixels'.*'grey'"):
        FaceRecognizer(learner, detect=detect, features=Grey(), judge=judge)


def save(path, *faces):
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), scene(*faces))
    return path


def test_a_folder_of_people_is_enrolled(tmp_path):
    for number, grey in enumerate((60, 62, 64, 66)):
        save(tmp_path / "cleo" / f"{number}.png", grey)
    save(tmp_path / "dan.png", 160)
    watched = recognizer()
    assert watched.enrol_folder(tmp_path) == {"cleo": 4, "dan": 1}
    assert watched.see(frame(0, 63))[0].name == "cleo"
    assert watched.see(frame(9, 160))[0].name == "dan"


@pytest.mark.parametrize(
    ("faces", "words"), [((), "no face"), ((60, 160), "2 faces"), ((20,), "too dark")]
)
def test_a_bad_picture_is_named_and_nobody_of_its_set_is_taught(tmp_path, faces, words):
    good, bad = save(tmp_path / "good.png", 60), save(tmp_path / "bad.png", *faces)
    watched = recognizer()
    before = len(watched.learner)
    with pytest.raises(OnlookerError, match=rf"bad\.png.*{words}"):
        watched.enrol("cleo", [good, bad])
    assert len(watched.learner) == before


def test_an_empty_folder_says_what_it_needs(tmp_path):
    with pytest.raises(OnlookerError, match="NAME"):
        recognizer().enrol_folder(tmp_path)


def test_a_face_that_was_seen_can_be_named():
    watched = recognizer()
    picture = scene(180)
    watched.teach(picture, detect(picture)[0], "eve")
    assert watched.see(frame(0, 181))[0].name == "eve"
