"""Costly features are measured where something is new, and the names of tracks are the same.

Detector and features are made up, so that it is known who is where and what was measured; the
rest is real. The last test has the real detector and SFace, and simulated people.
"""

from functools import cache, partial
from itertools import combinations, islice

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.core.errors import NotFound
from onlooker.core.similarity import Euclidean
from onlooker.home.home import Home
from onlooker.recognition.recognizer import SETTLED, FaceRecognizer
from onlooker.simulation.scenarios import scenario
from onlooker.vision.alignment import TEMPLATE
from onlooker.vision.finder import FaceFinder, FinderParts
from onlooker.vision.measuring import (
    EVERY,
    RADIUS,
    SETTLED_RADIUS,
    change,
    small_aligned_face,
    small_face,
)
from onlooker.vision.scales import DEFAULT_SCALES
from onlooker.vision.types import FaceBox, Frame, Refusal
from onlooker.web.frames import TRACKS, LiveRecognizer

SIDE = 60
GREYS = {"ana": 60, "ben": 120, "cleo": 180}
DARK = Refusal("too dark", 3.0, 40.0)


@cache
def texture(number):
    """What a face looks like: smooth, no two alike, 0 on average."""
    noise = np.random.default_rng(number).normal(size=(SIDE, SIDE))
    smooth = cv2.GaussianBlur(noise, (0, 0), 4)
    return 25 * (smooth - smooth.mean()) / smooth.std()


def draw(pixels, place, person, look=0):
    """A face at one of three places; the look may change, the mean grey is the person's."""
    seed = 100 * look + (sorted(GREYS).index(person) if person in GREYS else 50)
    face = np.clip(GREYS.get(person, 230) + texture(seed), 0, 255)
    left = 30 + 100 * place
    pixels[40 : 40 + SIDE, left : left + SIDE] = face[:, :, None]


class Scene:
    """Pixels, and where the detector will find faces in them."""

    def __init__(self):
        self.boxes = {}

    def frame(self, index, *faces, camera="door", light=1.0, jitter=(0, 0)):
        """None leaves a place empty."""
        pixels = np.full((140, 340, 3), 20, np.uint8)
        boxes = []
        for place, face in enumerate(faces):
            if face is not None:
                draw(pixels, place, *([face] if isinstance(face, str) else face))
                left, top = 30 + 100 * place + jitter[0], 40 + jitter[1]
                boxes.append(FaceBox(left, top, SIDE, SIDE))
        pixels = (pixels * light).astype(np.uint8)
        self.boxes[id(pixels)] = pixels, boxes
        return Frame(camera, index, index / 25, pixels)

    def detect(self, pixels):
        elsewhere = [FaceBox(130, 40, SIDE, SIDE)]  # a picture from a file: the second place
        return self.boxes.get(id(pixels), (pixels, elsewhere))[1]


class MeanGrey:
    """The mean grey as the only feature; counts what it measures."""

    tag, distance = "grey", Euclidean()

    def __init__(self):
        self.calls = 0

    def __call__(self, pixels, box):
        self.calls += 1
        left, top = 30 + 100 * round((box.left - 30) / 100), 40
        return np.array([pixels[top : top + SIDE, left : left + SIDE].mean() / 255], np.float32)


class Rig:
    """A recognizer that knows ana, ben and cleo, and what it measured."""

    def __init__(self, *, knowledge=None, kind="sface", judge=lambda pixels, box: None, **options):
        self.scene, self.features = Scene(), MeanGrey()
        parts = FinderParts(self.scene.detect, self.features, judge)
        self.finder = FaceFinder(kind=kind, parts=parts)
        self.learner = knowledge or OnlineHarmonicLearner(HeatKernel(0.02, 1e-4), features="grey")
        for name, grey in GREYS.items():
            self.learner.teach(np.array([grey / 255], np.float32), name)
        self.recognizer = FaceRecognizer(self.learner, self.finder, **options)

    def see(self, index, *faces, **how):
        return self.recognizer.see(self.scene.frame(index, *faces, **how))


def test_a_still_face_is_measured_when_it_comes_and_every_so_many_frames():
    rig = Rig()
    seen = [rig.see(index, "ana")[0] for index in range(2 * EVERY + 3)]
    assert [at for at, each in enumerate(seen) if each.measured] == [0, EVERY, 2 * EVERY]
    assert rig.features.calls == 3
    assert {each.name for each in seen} == {"ana"}
    assert len({each.track for each in seen}) == 1


def test_a_face_that_is_not_measured_has_the_last_answer_and_teaches_nothing():
    rig = Rig()
    first, again = rig.see(0, "ana")[0], rig.see(1, "ana")[0]
    assert (first.measured, again.measured) == (True, False)
    assert again.answer == first.answer
    assert again.refusal is None
    examples = rig.learner.vertices().multiplicities.sum()
    rig.see(2, "ana")
    assert rig.learner.vertices().multiplicities.sum() == examples


def test_a_face_that_changes_is_measured_at_once():
    rig = Rig()
    looks = [0, 0, 0, 1, 1, 2]
    measured = [rig.see(index, ("ana", look))[0].measured for index, look in enumerate(looks)]
    assert measured == [True, False, False, True, False, True]


def test_a_face_that_changes_little_by_little_is_measured_before_it_is_another():
    rig = Rig()
    scene = rig.scene.frame(0, "ana").pixels
    other = rig.scene.frame(0, ("ana", 1)).pixels
    box, steps, measured = FaceBox(30, 40, SIDE, SIDE), EVERY - 1, []
    for index in range(steps):
        share = index / (steps - 1)
        pixels = (scene * (1 - share) + other * share).astype(np.uint8)
        rig.scene.boxes[id(pixels)] = pixels, [box]
        measured.append(rig.recognizer.see(Frame("door", index, 0.0, pixels))[0].measured)
    assert 2 <= sum(measured) < steps


@pytest.mark.parametrize(("faces", "measured"), [(SETTLED - 1, True), (SETTLED, False)])
def test_where_measured_faces_agree_on_a_name_only_a_larger_change_is_measured(faces, measured):
    rig = Rig()
    for look in range(faces):
        assert rig.see(look, ("ana", look))[0].measured
    before = rig.scene.frame(faces, ("ana", faces - 1)).pixels
    other = rig.scene.frame(faces, ("ana", faces)).pixels
    pixels, box = (0.59 * before + 0.41 * other).astype(np.uint8), FaceBox(30, 40, SIDE, SIDE)
    rig.scene.boxes[id(pixels)] = pixels, [box]
    assert RADIUS < change(small_face(before, box), small_face(pixels, box)) < SETTLED_RADIUS
    assert rig.recognizer.see(Frame("door", faces, 0.0, pixels))[0].measured == measured
    assert rig.see(faces + 1, ("ben", faces + 1))[0].measured  # somebody else differs by more


def test_a_head_that_tilts_and_comes_nearer_is_nothing_new():
    """The aligned face is compared, not the box."""
    face = np.clip(128 + 2 * texture(7), 0, 255).astype(np.uint8)
    picture = cv2.copyMakeBorder(face, 60, 60, 60, 60, cv2.BORDER_REFLECT)
    pixels, center = np.repeat(picture[:, :, None], 3, axis=2), (90, 90)
    landmarks = TEMPLATE * SIDE / 112 + 60
    turn = cv2.getRotationMatrix2D(center, 20, 1.3)
    moved = cv2.warpAffine(pixels, turn, (180, 180))
    there = landmarks @ turn[:, :2].T + turn[:, 2]
    looks = [
        small_aligned_face(
            picture, FaceBox(60, 60, SIDE, SIDE, 1.0, tuple(map(tuple, points.tolist())))
        )
        for picture, points in ((pixels, landmarks), (moved, there))
    ]
    assert change(*looks) < RADIUS / 2


def test_tracks_are_measured_independently():
    rig = Rig()
    rig.see(0, "ana", "ben")
    left, right = rig.see(1, ("ana", 1), "ben")
    assert (left.measured, right.measured) == (True, False)
    left, right, new = rig.see(2, ("ana", 1), "ben", "cleo")
    assert (left.measured, right.measured, new.measured) == (False, False, True)


def test_boxes_that_jitter_and_light_that_changes_are_nothing_new():
    rig = Rig()
    for index, shift in enumerate([(0, 0), (3, -2), (-4, 4), (0, 3), (2, 2)]):
        rig.see(index, "cleo", jitter=shift)
    for index, light in enumerate([0.9, 0.8, 1.0], 5):
        rig.see(index, "cleo", light=light)
    assert rig.features.calls == 1


def test_somebody_who_steps_where_another_one_stood_is_measured_until_the_track_has_the_name():
    every, some = Rig(every_face=True), Rig()
    people = ["ana"] * 20 + ["ben"] * 20
    for index, person in enumerate(people):
        (expected,), (seen,) = every.see(index, person), some.see(index, person)
        assert seen.name == expected.name
        if seen.name != seen.answer.label:
            assert seen.measured
    assert seen.name == "ben"
    assert some.features.calls < every.features.calls / 2


def test_a_face_without_a_name_is_measured_until_the_track_has_settled():
    rig = Rig()
    seen = [rig.see(index, "somebody")[0] for index in range(EVERY)]
    assert [each.measured for each in seen] == [True] * SETTLED + [False] * (EVERY - SETTLED)
    assert {each.name for each in seen} == {None}


def test_after_a_correction_every_face_is_measured_and_names_follow_at_once():
    rig = Rig()
    for index in range(SETTLED + 1):
        rig.see(index, "ana", "somebody")
    rig.learner.teach(rig.features(*unknown(rig)), "dan")
    rig.recognizer.clear_votes()
    ana, dan = rig.see(SETTLED + 1, "ana", "somebody")
    assert (ana.measured, dan.measured) == (True, True)
    assert (ana.name, dan.name) == ("ana", "dan")


def unknown(rig):
    frame = rig.scene.frame(0, None, "somebody")
    return frame.pixels, rig.scene.detect(frame.pixels)[0]


def test_a_face_that_is_taught_is_named_in_the_next_frame():
    rig = Rig()
    for index in range(SETTLED + 1):
        assert rig.see(index, None, "somebody")[0].name is None
    rig.recognizer.teach(*unknown(rig), "dan")
    assert rig.see(SETTLED + 1, None, "somebody")[0].name == "dan"


def test_who_is_enrolled_is_named_in_the_next_frame(tmp_path):
    rig = Rig()
    for index in range(SETTLED + 1):
        (seen,) = rig.see(index, None, "somebody")
    assert (seen.name, seen.measured) == (None, False)
    assert cv2.imwrite(str(tmp_path / "dan.png"), unknown(rig)[0])
    rig.recognizer.enrol_folder(tmp_path)
    assert rig.see(SETTLED + 1, None, "somebody")[0].name == "dan"


def test_a_look_without_contrast_says_nothing():
    flat, face = np.full((42, 42), 90, np.uint8), small_face(*unknown(Rig()))
    assert change(flat, flat) > RADIUS
    assert change(flat, face) > RADIUS
    assert change(face, face) < 0.01


def test_a_refused_face_is_judged_in_each_frame_until_one_is_measured():
    refusals = [DARK, DARK, None]
    rig = Rig(judge=lambda pixels, box: refusals.pop(0))
    seen = [rig.see(index, "ana")[0] for index in range(5)]
    assert refusals == []
    assert [each.refusal for each in seen] == [DARK, DARK, None, None, None]
    assert [each.measured for each in seen] == [True, True, True, False, False]


def test_a_known_face_that_becomes_too_poor_is_judged_until_it_is_good():
    refusals = [None, DARK, None]
    rig = Rig(judge=lambda pixels, box: refusals.pop(0))
    looks = [0, 1, 1, 1]
    seen = [rig.see(index, ("ana", look))[0] for index, look in enumerate(looks)]
    assert [each.refusal for each in seen] == [None, DARK, None, None]
    assert [each.measured for each in seen] == [True, True, True, False]
    assert [each.name for each in seen] == ["ana"] * 4
    assert seen[1].answer is None


@pytest.mark.parametrize("options", [{"kind": "pixels"}, {"kind": "hog"}, {"every_face": True}])
def test_cheap_features_are_measured_in_every_frame_and_others_if_asked(options):
    rig = Rig(**options)
    assert all(rig.see(index, "ana")[0].measured for index in range(5))
    assert rig.features.calls == 5


def test_an_embedding_is_costly_too():
    rig = Rig(kind="embedding")
    assert [rig.see(index, "ana")[0].measured for index in range(3)] == [True, False, False]


def test_of_two_faces_with_one_name_the_other_gets_it_when_the_first_has_gone():
    rig = Rig(one_each=True)
    assert [seen.name for seen in rig.see(0, "ana")] == ["ana"]
    first, second = rig.see(1, "ana", "ana")  # the first is not measured, and has the name
    assert (first.answer.label, second.answer.label) == ("ana", None)
    assert first.measured is False
    for index in range(2, SETTLED + 3):
        rig.see(index, "ana", "ana")
    (seen,) = rig.see(SETTLED + 3, None, "ana")
    assert (seen.measured, seen.answer.label) == (True, "ana")


people = st.sampled_from([None, *GREYS, "somebody"])
steps = st.lists(st.tuples(people, people, people, st.integers(1, 12)), min_size=1, max_size=4)


@pytest.mark.parametrize("one_each", [False, True])
@settings(max_examples=8, deadline=None)
@given(steps=steps)
def test_names_are_those_with_every_face_measured(one_each, steps):
    """People come, go, and take each other's places; whoever stays looks the same."""
    every, some = Rig(every_face=True, one_each=one_each), Rig(one_each=one_each)
    index = 0
    for *faces, frames in steps:
        for _ in range(frames):
            expected, seen = every.see(index, *faces), some.see(index, *faces)
            assert [(one.track, one.name) for one in seen] == [
                (one.track, one.name) for one in expected
            ]
            index += 1
    assert some.features.calls <= every.features.calls


# ---- around a home


class Cards:
    """Strangers on paper."""

    def __init__(self):
        self.count = 0

    def observe(self, vector, **details):
        self.count += 1
        return self.count

    def is_shown(self, number):
        return True


@pytest.fixture
def home(tmp_path):
    learner = partial(OnlineHarmonicLearner, HeatKernel(0.02, 1e-4), features="grey")
    with Home(tmp_path / "home", new_learner=learner) as opened:
        yield opened


@pytest.mark.parametrize("one_each", [False, True])
def test_each_face_is_measured_once_whoever_asks(home, one_each):
    cards = Cards()
    rig = Rig(knowledge=home, strangers=cards, one_each=one_each)
    rig.see(0, "ana", "ben", "somebody")
    assert rig.features.calls == 3
    for index in range(1, SETTLED):
        rig.see(index, "ana", "ben", "somebody")
    before, calls = home.sequence, rig.features.calls
    assert (calls, cards.count) == (2 + SETTLED, SETTLED)
    frame = rig.scene.frame(SETTLED, "ana", "ben", "somebody")
    faces = rig.recognizer.recognize(frame).faces
    assert (rig.features.calls, home.sequence, cards.count) == (calls, before, SETTLED)
    assert [(face.vertex, face.card) for face in faces] == [(None, None)] * 3
    assert [face.sighting.name for face in faces] == ["ana", "ben", None]


def test_a_face_on_the_page_can_be_clicked_in_frames_where_it_was_not_measured(home):
    rig = Rig(knowledge=home)
    live = LiveRecognizer(rig.finder)
    live.start(home, Cards())
    for index in range(SETTLED + 1):
        result = live.see(rig.scene.frame(index, "ana", "somebody"))
    assert [seen.measured for seen in result.sightings] == [False, False]
    assert (result.vertices, result.cards) == ((None, None), (None, None))
    ana, somebody = (live.recent.face("door", seen.track) for seen in result.sightings)
    assert (ana.sighting.name, ana.sighting.frame) == ("ana", 0)
    assert ana.vector is not None
    assert (somebody.card, somebody.sighting.frame) == (SETTLED, SETTLED - 1)


def test_a_face_that_stays_is_remembered_longer_than_those_that_went(home):
    rig = Rig(knowledge=home)
    live = LiveRecognizer(rig.finder)
    live.start(home, Cards())
    (stays,) = live.see(rig.scene.frame(0, "ana")).sightings
    (gone,) = live.see(rig.scene.frame(0, "ben", camera="yard")).sightings
    live.see(rig.scene.frame(1, "ana"))
    for number in range(TRACKS - 1):
        live.see(rig.scene.frame(100 * number, "cleo", camera="hall"))
    assert live.recent.face("door", stays.track).sighting.name == "ana"
    with pytest.raises(NotFound):
        live.recent.face("yard", gone.track)


# ---- real


class OncePerFace:
    """Features for two recognizers that see the same frames: a network answers once for both."""

    def __init__(self, features):
        self.tag, self.distance = features.tag, features.distance
        self._features, self._vectors, self.calls = features, {}, 0

    def __call__(self, pixels, box):
        self.calls += 1
        if box not in self._vectors:
            self._vectors[box] = self._features(pixels, box)
        return self._vectors[box]


def test_names_of_simulated_people_are_those_with_every_face_embedded():
    real = FaceFinder(kind="sface")
    features = OncePerFace(real.features)
    finder = FaceFinder(kind="sface", parts=FinderParts(real.detect, features, real.judge))
    kernel, both, taught = HeatKernel(*DEFAULT_SCALES["sface"]), [], set()
    for every_face in (True, False):
        learner = OnlineHarmonicLearner(kernel, features=features.tag)
        both.append(FaceRecognizer(learner, finder, every_face=every_face))
    named, measured, equal, looks = [], [], [], {}
    for frame, truth in islice(scenario("V1"), 45):
        if truth.person not in taught:
            taught.add(truth.person)
            box = finder.detect(frame.pixels)[0]
            looks[truth.person] = small_aligned_face(frame.pixels, box)
            for recognizer in both:
                recognizer.teach(frame.pixels, box, truth.person)
            continue
        every, new = (recognizer.see(frame) for recognizer in both)
        equal.append([seen.name for seen in every] == [seen.name for seen in new])
        named += [seen.name is not None for seen in every]
        measured += [seen.measured for seen in new]
    assert all(equal)
    assert np.mean(named) > 0.5
    assert np.mean(measured) < 0.9
    assert all(change(a, b) > RADIUS for a, b in combinations(looks.values(), 2))
