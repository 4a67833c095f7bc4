"""Shared by the kill tests: a child's environment, the comparison afterwards, the long run."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import pytest

from onlooker.home.events import digest


def environment():
    """The environment of a child process: the same packages, none of the user's settings."""
    ours = {key: value for key, value in os.environ.items() if not key.startswith("ONLOOKER_")}
    return ours | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}


def scratch():
    """A new folder, in memory where that is possible: syncs are made, not waited for."""
    return Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))


def assert_never_killed(home, learner, probes):
    """A home that was killed and a learner that was not must know and predict the same."""
    assert home.problems == ()
    assert digest(home.learner) == digest(learner)
    assert home.learner.next_id == learner.next_id
    assert set(home.album.vertices()) <= set(home.vertices().ids.tolist())
    for x in probes:
        found, expected = home.predict(x), learner.predict(x)
        assert found.label == expected.label
        assert found.scores == pytest.approx(expected.scores, abs=1e-8)


def long_version(description, kill_often):
    """Kill as often as the command line says, in a folder of its own, and print one line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        summary = kill_often(Path(place), options.kills, options.seed)
    print(f"{options.kills} kills: nothing acknowledged was lost; {summary}")
