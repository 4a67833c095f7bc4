"""A camera at its machine: only vectors travel, and a recording is delivered once."""

import time

import cv2
import pytest

from helpers.services import scene
from onlooker.cluster.camera import CameraLoop
from onlooker.cluster.config import CameraConfig, Config, SiteConfig
from onlooker.cluster.site import LocalSite, Site
from onlooker.vision.finder import FaceFinder, FinderParts
from onlooker.vision.measuring import EVERY


@pytest.fixture
def recording(tmp_path):
    folder = tmp_path / "door"
    folder.mkdir()
    for number in range(5):
        cv2.imwrite(str(folder / f"{number}.png"), scene(1, number, shift=2 * number))
    return folder


def until_ended(loop):
    deadline = time.monotonic() + 90
    while not (state := loop.state()).ended:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return state


def test_a_recording_becomes_vectors_and_is_delivered_once(tmp_path, recording):
    config = Config(tmp_path, (SiteConfig("north", tmp_path / "north"),))
    camera, finder = CameraConfig("door", str(recording)), config.finder
    seen = []

    class Watched(LocalSite):
        def send(self, sender, session, batch, acknowledged):
            seen.extend(batch)
            return super().send(sender, session, batch, acknowledged)

    with Watched(lambda: Site("north", tmp_path / "north", config.learner_config)) as site:
        first = until_ended(CameraLoop(camera, finder, lambda: site))
        assert (first.condition.state, first.condition.problem) == ("ended", "")
        assert first.condition.last_frame is not None
        assert first.counts.frames == 5
        assert first.sent.acknowledged == first.faces >= 3
        assert all(each.vector.shape == (128,) for each in seen)
        assert all(each.picture is None for each in seen)
        # The camera starts again, as after a crash: the same recording is not counted twice.
        again = until_ended(CameraLoop(camera, finder, lambda: site))
        assert again.faces == first.faces
        assert again.sent.acknowledged == 0
        assert site.call("report").last_numbers == {"door": first.faces}


def test_a_face_that_stays_as_it_is_is_sent_when_it_comes_and_every_so_many_frames(tmp_path):
    folder, frames = tmp_path / "door", EVERY + 3
    folder.mkdir()
    for number in range(frames):
        cv2.imwrite(str(folder / f"{number:02}.png"), scene(1))
    config = Config(tmp_path, (SiteConfig("north", tmp_path / "north"),))
    parts = FinderParts(config.finder.detect, config.finder.features, config.finder.judge)
    sent = []
    with LocalSite(lambda: Site("north", tmp_path / "north", config.learner_config)) as site:
        for kind in ("sface", "pixels"):  # costly, cheap
            camera, finder = CameraConfig(kind, str(folder)), FaceFinder(kind=kind, parts=parts)
            sent.append(until_ended(CameraLoop(camera, finder, lambda: site)).faces)
    assert sent == [2, frames]


@pytest.mark.parametrize("source", ["no such folder", "ftp://10.0.0.5/1"])
def test_a_source_that_cannot_be_is_a_problem_in_words(tmp_path, source):
    config = Config(tmp_path, ())
    with LocalSite(lambda: Site("north", tmp_path, config.learner_config)) as site:
        state = until_ended(CameraLoop(CameraConfig("door", source), config.finder, lambda: site))
    assert state.condition.state == "failing"
    problem = state.condition.problem
    assert "no such folder" in problem or "ftp" in problem
    assert state.faces == 0
