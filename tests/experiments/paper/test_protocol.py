"""The order in which a learner meets the pictures of a set, and who is labeled in it."""

from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker.core.errors import BadValue
from onlooker.experiments.datasets.facebank import BankedFace
from onlooker.experiments.datasets.manifest import Picture
from onlooker.experiments.paper.protocol import LABELS, RUN, Protocol, plan, turned
from onlooker.vision.types import FaceBox

lengths = st.integers(1, 95)
anybody = st.fixed_dictionaries({}, optional=dict.fromkeys(["ana", "ben", "eve", None], lengths))
ana_too = st.fixed_dictionaries({"ana": lengths}, optional={"ben": lengths, None: lengths})
two = st.fixed_dictionaries({"ana": lengths, "ben": lengths}, optional={None: lengths})
seeds = st.integers(0, 2**16)


def face(number, turn=0.0, usable=True):
    """A face that knows its number; the nose is `turn` eye distances off the middle."""
    landmarks = ((0.0, 0.0), (10.0, 0.0), (5.0 + 10 * turn, 5.0), (2.0, 8.0), (8.0, 8.0))
    vector = np.array([number], np.float32) if usable else None
    return BankedFace(FaceBox(0, 0, 9, 9, 1.0, landmarks), "" if usable else "too dark", vector)


class Cameras:
    """Pictures with one face each; the face's only number says which picture it is."""

    def __init__(self):
        self.found = []

    def add(self, camera, person, frames, faces=None, kind="walk"):
        for at, frame in enumerate(frames):
            number = len(self.found)
            picture = Picture(kind, camera, person, frame, Path(f"{number}.jpg"))
            self.found.append((picture, [face(number)] if faces is None else faces(at, number)))
        return self

    def pictures(self, steps):
        """The pictures of steps, by the numbers of their faces."""
        return [self.found[int(step.faces[0][0])][0] for step in steps]


def walks(*cameras):
    """Everybody counts frames alone, as on the cameras of the paper's rooms."""
    made = Cameras()
    for number, cast in enumerate(cameras):
        for person, length in cast.items():
            made.add(f"camera{number}", person, range(length))
    return made


def crowd_of(count):
    made = Cameras().add("", None, range(count), kind="crowd")
    return [(picture, [face(1000 + at)]) for at, (picture, _) in enumerate(made.found)]


def known(cast):
    return {person: length for person, length in cast.items() if person}


# ---- the order


@settings(max_examples=60)
@given(ana_too, anybody, seeds)
def test_every_picture_once_in_its_persons_time_camera_after_camera(first, second, seed):
    made = walks(first, second)
    steps = plan(made.found, [], Protocol(seed=seed))
    shown = made.pictures(steps)
    assert sorted(each.path for each in shown) == sorted(each.path for each, _ in made.found)
    assert [each.camera for each in shown] == sorted(each.camera for each in shown)
    assert [step.camera for step in steps] == [each.camera for each in shown]
    for camera, cast in (("camera0", first), ("camera1", second)):
        for person, length in cast.items():
            frames = [e.frame for e in shown if (e.camera, e.person) == (camera, person)]
            assert frames == list(range(length))


@settings(max_examples=60)
@given(two, seeds)
def test_people_stay_for_a_run(cast, seed):
    made = walks(cast)
    shown = made.pictures(plan(made.found, [], Protocol(seed=seed)))
    stays = [(each.person, each.frame // RUN) for each in shown]
    visits = [stay for stay, _ in groupby(stays)]
    assert len(visits) == len(set(visits)), "a run was interrupted"


def test_the_seed_decides_the_order():
    made = walks({"ana": 90, "ben": 90, "eve": 90})
    orders = [
        [each.path for each in made.pictures(plan(made.found, [], Protocol(seed=seed)))]
        for seed in (0, 0, 1, 2)
    ]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2] != orders[3]


def test_the_order_of_the_manifest_does_not_matter_within_a_person():
    made = walks({"ana": 40, "ben": 40})
    backwards = [*reversed(made.found[:40]), *reversed(made.found[40:])]
    one, other = (plan(found, [], Protocol(seed=3)) for found in (made.found, backwards))
    assert made.pictures(one) == made.pictures(other)


@given(seeds)
def test_a_camera_recorded_as_one_video_is_played_as_it_is(seed):
    rng = np.random.default_rng(seed)
    made = Cameras()
    frames = rng.permutation(60)
    for person, some in zip(("ana", "ben", None), np.split(frames, 3), strict=True):
        made.add("door", person, some.tolist())
    shown = made.pictures(plan(made.found, [], Protocol(seed=seed)))
    assert [each.frame for each in shown] == list(range(60))


# ---- labels


@settings(max_examples=60)
@given(ana_too, anybody, seeds)
def test_the_first_four_of_each_person_are_labeled_and_only_on_the_first_camera(
    first, second, seed
):
    made = walks(first, second)
    steps = plan(made.found, [], Protocol(seed=seed))
    labeled = [step for step in steps if step.labeled]
    shown = made.pictures(labeled)
    assert {each.camera for each in shown} == {"camera0"}
    for person, length in known(first).items():
        frames = [each.frame for each in shown if each.person == person]
        assert frames == list(range(min(LABELS, length)))
    assert all(step.person is not None for step in labeled)
    assert len(labeled) == sum(min(LABELS, length) for length in known(first).values())


@given(st.lists(st.booleans(), min_size=1, max_size=40).filter(any))
def test_faces_that_the_gate_refused_are_not_labeled(usable):
    made = Cameras().add(
        "door", "ana", range(len(usable)), lambda at, number: [face(number, usable=usable[at])]
    )
    steps = plan(made.found, [], Protocol())
    labeled = [at for at, step in enumerate(steps) if step.labeled]
    assert labeled == [at for at, good in enumerate(usable) if good][:LABELS]
    assert [step.faces[0] is not None for step in steps] == usable


def test_the_largest_face_is_the_one_that_is_labeled():
    """A picture whose largest face was refused is not labeled by its second."""
    made = Cameras().add(
        "door", "ana", range(6),
        lambda at, number: [face(number, usable=at >= 2), face(number)],
    )  # fmt: skip
    steps = plan(made.found, [], Protocol())
    assert [step.labeled for step in steps] == [False, False, True, True, True, True]
    assert all(len(step.faces) == 2 for step in steps)


def test_pictures_without_a_face_are_steps_without_a_face():
    made = Cameras().add(
        "door", "ana", range(5), lambda at, number: [] if at == 1 else [face(number)]
    )
    steps = plan(made.found, [], Protocol())
    assert [len(step.faces) for step in steps] == [1, 0, 1, 1, 1]
    assert [step.labeled for step in steps] == [True, False, True, True, True]


def test_whoever_has_no_label_is_a_stranger():
    made = walks({"ana": 40, "ben": 40, None: 40}, {"ana": 10, "eve": 10})
    steps = plan(made.found, [], Protocol(people=("ben",)))
    for step, picture in zip(steps, made.pictures(steps), strict=True):
        assert step.person == ("ben" if picture.person == "ben" else None)
        assert step.staged
    everybody = plan(made.found, [], Protocol())
    assert {step.person for step in everybody} == {"ana", "ben", None}  # eve came too late


def test_people_who_are_not_on_the_first_camera_are_one_error():
    made = walks({"ana": 5, "ben": 5}, {"eve": 5})
    with pytest.raises(BadValue, match="eve, joe; there: ana, ben"):
        plan(made.found, [], Protocol(people=("eve", "ana", "joe")))


def test_people_without_a_face_are_one_error():
    made = Cameras()
    made.add("door", "ana", range(3), lambda at, number: [])
    made.add("door", "ben", range(3))
    made.add("door", "eve", range(3), lambda at, number: [face(number, usable=False)])
    with pytest.raises(BadValue) as caught:
        plan(made.found, [], Protocol())
    message = str(caught.value)
    assert "ana has no face to label on camera door" in message
    assert "eve has no face to label on camera door" in message
    assert "ben" not in message


def test_a_set_of_strangers_only_is_refused():
    with pytest.raises(BadValue, match="nobody by name"):
        plan(walks({None: 5}).found, [], Protocol())


# ---- frontal labels


@settings(max_examples=30)
@given(seeds)
def test_frontal_labels_are_the_most_frontal_of_the_first_run(seed):
    rng = np.random.default_rng(seed)
    turns = {person: rng.uniform(-0.5, 0.5, 80) for person in ("ana", "ben")}
    made = Cameras()
    for person, turn in turns.items():
        made.add("door", person, range(80), lambda at, number, t=turn: [face(number, t[at])])
    steps = plan(made.found, [], Protocol(seed=seed, labeling="frontal"))
    shown = made.pictures([step for step in steps if step.labeled])
    for person, turn in turns.items():
        expected = sorted(range(RUN), key=lambda at: abs(turn[at]))[:LABELS]
        assert {each.frame for each in shown if each.person == person} == set(expected)


@given(st.floats(-2, 2), st.floats(0, 6.3), st.floats(0.5, 100))
def test_how_far_a_face_is_turned_does_not_depend_on_where_and_how_large_it_is(turn, angle, scale):
    plain = face(0, turn).box.landmarks
    rotation = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = np.array(plain) @ rotation.T + (7, -3)
    box = FaceBox(0, 0, 1, 1, 1.0, tuple((float(x), float(y)) for x, y in moved))
    assert turned(box) == pytest.approx(abs(turn), abs=1e-9)


def test_frontal_labels_need_landmarks():
    blind = BankedFace(FaceBox(0, 0, 9, 9), "", np.zeros(1, np.float32))
    made = Cameras().add("door", "ana", range(3), lambda at, number: [blind])
    with pytest.raises(BadValue, match="landmarks"):
        plan(made.found, [], Protocol(labeling="frontal"))


# ---- strangers


@settings(max_examples=60)
@given(st.integers(1, 150), st.integers(0, 80), seeds)
def test_strangers_are_spread_evenly_and_none_is_met_twice(length, strangers, seed):
    made, crowd = walks({"ana": length, "ben": 7}), crowd_of(80)
    steps = plan(made.found, crowd, Protocol(seed=seed, strangers=strangers))
    met = [step for step in steps if not step.staged]
    assert len(met) == strangers
    assert len({step.faces[0].item() for step in met}) == strangers
    assert all(step.person is None and not step.labeled for step in met)
    rest = [step for step in steps if step.staged]
    without = plan(made.found, [], Protocol(seed=seed))
    assert [step.faces[0].item() for step in rest] == [step.faces[0].item() for step in without]
    # How many of the recording come before each stranger: in equal steps, up to rounding.
    before = [at - number for number, at in enumerate(places_of(steps))]
    gaps = [b - a for a, b in pairwise(before)]
    assert not gaps or max(gaps) - min(gaps) <= 1
    if met:  # and half a step from either end
        half = len(rest) / strangers / 2
        assert abs(before[0] - half) <= 1
        assert abs(len(rest) - before[-1] - half) <= 1


def places_of(steps):
    return [at for at, step in enumerate(steps) if not step.staged]


def test_strangers_are_met_at_the_camera_that_is_on():
    made = walks({"ana": 20, "ben": 20}, {"ana": 20, "ben": 20})
    steps = plan(made.found, crowd_of(20), Protocol(strangers=20))
    cameras = [step.camera for step in steps]
    assert cameras == sorted(cameras)
    assert {step.camera for step in steps if not step.staged} == {"camera0", "camera1"}


def test_another_seed_meets_other_strangers():
    made = walks({"ana": 50})
    met = []
    for seed in (0, 0, 1):
        steps = plan(made.found, crowd_of(80), Protocol(seed=seed, strangers=9))
        met.append({steps[at].faces[0].item() for at in places_of(steps)})
    assert met[0] == met[1] != met[2]


def test_more_strangers_than_there_are_is_an_error():
    made = walks({"ana": 5})
    assert len(plan(made.found, crowd_of(3), Protocol(strangers=3))) == 8
    with pytest.raises(BadValue, match="4 strangers were asked for, the dataset has 3"):
        plan(made.found, crowd_of(3), Protocol(strangers=4))
