"""One method on one set: the rows are complete, repeatable, and say what happened."""

from dataclasses import asdict, replace

import cv2
import numpy as np
import pytest

from onlooker.experiments.datasets.facebank import faces_cache
from onlooker.experiments.datasets.manifest import read_dataset
from onlooker.experiments.paper.methods import METHODS
from onlooker.experiments.paper.protocol import Protocol, Step
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.paper.trial import Trial, detection_rate, material, run, scores_by_camera
from onlooker.simulation.filming import Truth
from onlooker.simulation.orl import pictures_of
from onlooker.simulation.scenarios import write_dataset
from onlooker.vision.scales import DEFAULT_SCALES
from onlooker.vision.types import FaceBox, Frame

NAMES = {1: "ana", 2: "ben", 5: None}
NOWHERE = FaceBox(0, 0, 1, 1)


def shot(camera, index, *people):
    """People side by side in front of a wall, the first one largest."""
    wall = np.full((480, 640), 90, np.uint8)
    for place, person in enumerate(people):
        side = 1 if place else 1.25
        size = round(147 * side), round(179 * side)
        left = 30 + 300 * place
        wall[100 : 100 + size[1], left : left + size[0]] = cv2.resize(
            pictures_of(person)[index % 4], size
        )
    who = NAMES[people[0]] if people else None
    pixels = cv2.cvtColor(wall, cv2.COLOR_GRAY2BGR)
    return Frame(camera, index, 0.0, pixels), Truth(who, "", NOWHERE)


def video(camera, *shots):
    return [shot(camera, index, *people) for index, people in enumerate(shots)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """walk: two cameras, at the second one a wall and a stranger too; pairs: two faces a frame."""
    place = tmp_path_factory.mktemp("trial")
    faces = [cv2.cvtColor(pictures_of(20 + at)[0], cv2.COLOR_GRAY2BGR) for at in range(4)]
    crowd = [(Frame("", at, 0.0, face), Truth(None, "", NOWHERE)) for at, face in enumerate(faces)]
    walk = video("one", *[(1,)] * 6, *[(2,)] * 6) + video("two", (1,), (2,), (5,), ())
    pairs = video("one", *[(1,)] * 4, *[(2,)] * 4, *[(1, 2)] * 2)
    write_dataset(place / "data", {"walk": walk, "pairs": pairs, "crowd": crowd}, suffix=".png")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        yield place / "data"


def without_time(rows):
    return [asdict(replace(row, ms_per_frame=0.0)) for row in rows]


@pytest.fixture(scope="module")
def rows(folder):
    return run(Trial(folder, "walk", "online", 1e-6, protocol=Protocol(seed=3)))


def test_there_is_a_row_for_each_camera_with_what_was_asked_for(rows):
    assert [row.camera for row in rows] == ["one", "two"]
    for row in rows:
        assert (row.dataset, row.set, row.method) == ("data", "walk", "online")
        assert (row.features, row.detector, row.seed, row.strangers) == ("sface", "yunet", 3, 0)
        assert (row.cutoff, row.n_g) == (1e-6, 500)
        assert row.bandwidth == DEFAULT_SCALES["sface"].bandwidth
        assert row.sink == pytest.approx(1e-5)
        assert row.ms_per_frame > 0


def test_frames_with_a_face_are_counted_and_labeled_ones_are_not(rows):
    one, two = rows
    assert one.frames == 12 - 8
    assert two.frames == 3
    assert one.detection_rate == 1
    assert two.detection_rate == 0.75
    for row in rows:
        assert row.precision is None or 0 <= row.precision <= 1
        assert 0 <= row.recall <= 1
        assert row.contamination is None or 0 <= row.contamination <= 1
        assert 0 <= row.strangers_named <= row.frames


@pytest.mark.parametrize("method", ["online", "online-doubling", "nearest"])
def test_rows_repeat_but_for_the_time(folder, method):
    trial = Trial(folder, "walk", method, 1e-6, n_g=2)
    assert without_time(run(trial)) == without_time(run(trial))


def test_a_set_of_its_own_does_not_know_the_other(folder):
    (row,) = run(Trial(folder, "pairs", "nearest", 1e-6))
    assert (row.set, row.camera, row.frames) == ("pairs", "one", 2)
    assert row.contamination is None


def test_two_people_on_one_frame_are_wrong_unless_only_the_largest_face_counts(folder):
    both = Trial(folder, "pairs", "nearest", 1e-12)
    (row,) = run(both)
    (largest,) = run(replace(both, every_face=False))
    assert largest.frames == row.frames == 2
    assert row.precision == row.recall == 0
    assert largest.precision == largest.recall == 1


def test_strangers_of_the_crowd_join_and_are_no_part_of_the_recording(folder, rows):
    joined = run(Trial(folder, "walk", "nearest", 1e-6, protocol=Protocol(strangers=4)))
    assert sum(row.frames for row in joined) == sum(row.frames for row in rows) + 4
    assert [row.detection_rate for row in joined] == [row.detection_rate for row in rows]
    assert {row.strangers for row in joined} == {4}


def test_the_bandwidth_of_the_features_unless_another_is_given(folder):
    trial = Trial(folder, "walk", "nearest", 1e-6)
    assert trial.kernel.bandwidth == DEFAULT_SCALES["sface"].bandwidth
    assert replace(trial, bandwidth=0.1).kernel.bandwidth == 0.1
    assert trial.kernel.distance == trial.finder.features.distance


def test_every_method_can_be_named():
    assert {"online", "online-doubling", "nearest"} <= set(METHODS)


# ---- judging


def test_frames_without_a_face_and_labeled_ones_are_not_judged():
    x = np.zeros(1, np.float32)
    steps = [
        Step("one", "ana", (x,), labeled=True),
        Step("one", "ana", ()),
        Step("one", "ana", (x,)),
        Step("two", "ana", (x, x)),
        Step("two", None, (x,), staged=False),
        Step("three", "ana", ()),
    ]
    said = [(), (), ("ana",), ("ana", None), ("ben",), ()]
    scores = scores_by_camera(steps, said)
    assert [(camera, score.frames) for camera, score in scores.items()] == [
        ("one", 1), ("two", 2), ("three", 0),
    ]  # fmt: skip
    assert scores["one"].recall == 1
    assert (scores["two"].precision, scores["two"].recall) == (0.5, 1)
    assert scores["two"].strangers_named == 1
    assert scores["three"].precision is scores["three"].recall is None
    assert [detection_rate(steps, camera) for camera in scores] == [2 / 3, 1.0, 0.0]


def test_the_setup_finds_the_faces_of_each_picture_once(folder, tmp_path, monkeypatch):
    """They were found twice: in chunks of the whole dataset, then in chunks of each set."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    material.cache_clear()
    Setup(data=folder, seeds=1, strangers=2).prepare()
    searched = 0
    for file in faces_cache().iterdir():
        with np.load(file) as arrays:
            searched += len(arrays["counts"])
    assert searched == len(read_dataset(folder).pictures)
