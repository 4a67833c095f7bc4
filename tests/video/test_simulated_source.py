"""The simulated camera as a source: at the pace of a camera, without an end, by name only."""

import itertools
import time

import numpy as np
import pytest

from onlooker.core.errors import BadValue
from onlooker.simulation.scenarios import FRAMES, scenario
from onlooker.video import decoding
from onlooker.video.addresses import SCENARIOS, Kind, SourceError, addresses_of
from onlooker.video.sources import frames_from
from onlooker.web.cameras import permitted


def test_it_is_a_camera_like_others():
    (address,) = addresses_of(["door=simulated:VO"])
    assert (address.kind, address.camera, address.shown) == (
        Kind.SIMULATED, "door", "simulated:VO",
    )  # fmt: skip
    assert set(SCENARIOS) == set(FRAMES)
    first, second = addresses_of(["simulated:V1", "simulated:V1"])
    assert (first.camera, second.camera) == ("simulated-V1", "simulated-V1-2")


@pytest.mark.parametrize("source", ["simulated:", "simulated:V9", "simulated:../V1", "simulated"])
def test_other_scenarios_are_refused(source):
    with pytest.raises(SourceError):
        addresses_of([source])
    with pytest.raises(BadValue):
        permitted(source, [])


def test_frames_come_at_a_cameras_pace_and_are_those_of_the_scenario():
    with frames_from("simulated:V1", queue_size=100) as frames:
        next(frames)  # the people take some seconds to get ready
        begun = time.monotonic()
        seen = list(itertools.islice(frames, 12))
        took = time.monotonic() - begun
    assert 0.6 < took < 4.0
    expected = [frame.pixels for frame, _ in itertools.islice(scenario("V1"), 13)][1:]
    assert [frame.index for frame in seen] == list(range(1, 13))
    assert all(np.array_equal(one.pixels, two) for one, two in zip(seen, expected, strict=True))
    assert {frame.camera for frame in seen} == {"simulated-V1"}


def short(monkeypatch, frames=5):
    monkeypatch.setattr(decoding, "scenario", lambda name: scenario(name, frames=frames))


def test_it_begins_again_when_the_film_is_over(monkeypatch):
    short(monkeypatch)
    with frames_from("simulated:V1", queue_size=100) as frames:
        seen = list(itertools.islice(frames, 12))
    assert np.array_equal(seen[0].pixels, seen[5].pixels)
    assert [frame.index for frame in seen] == list(range(12))


def test_a_replay_of_it_ends_and_drops_nothing(monkeypatch):
    short(monkeypatch)
    with frames_from("simulated:V2", live=False) as frames:
        seen = list(frames)
    assert [frame.index for frame in seen] == list(range(5))
    assert seen[1].time == pytest.approx(1 / 25)
