"""VN by condition: every frame of somebody who is known ends in one of five ways."""

import cv2
import numpy as np
import pytest

from onlooker.experiments.home_conditions import COMPARED, home_conditions
from onlooker.experiments.paper.setup import Setup
from onlooker.simulation.filming import Truth
from onlooker.simulation.orl import pictures_of
from onlooker.simulation.scenarios import write_dataset
from onlooker.vision.finder import FaceFinder
from onlooker.vision.types import FaceBox, Frame

NAMES = {1: "ana", 2: "ben", 5: None}


def shot(index, person, condition, scale=2.0):
    wall = np.full((480, 640), 90, np.uint8)
    if condition != "gone":
        face = cv2.resize(pictures_of(person)[0], None, fx=scale, fy=scale)
        wall[100 : 100 + face.shape[0], 200 : 200 + face.shape[1]] = face
    wall[0, 0] = index  # no two pictures are the same
    pixels = cv2.cvtColor(wall, cv2.COLOR_GRAY2BGR)
    return Frame("door", index, 0.0, pixels), Truth(
        NAMES[person], "", FaceBox(0, 0, 1, 1), condition
    )


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """Two people in clear view, then gone from the picture, then too small; and a stranger."""
    folder = tmp_path_factory.mktemp("conditions")
    planned = [(1, "clear", 2.0)] * 6 + [(2, "clear", 2.0)] * 6 + [(5, "clear", 2.0)] * 2
    planned += [(1, "gone", 2.0)] * 3 + [(1, "far", 1.0)] * 4
    scenes = [shot(index, *each) for index, each in enumerate(planned)]
    write_dataset(folder / "data", {"walk": scenes}, suffix=".png")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        finder = FaceFinder(kind="pixels", min_size=90)
        return home_conditions(Setup(data=folder / "data", finder=finder, seeds=1))


def test_every_frame_is_counted_once_and_labeled_ones_are_not(outcome):
    _, rows = outcome
    assert {row.method for row in rows} == set(COMPARED)
    for method in COMPARED:
        own = {row.condition: row for row in rows if row.method == method}
        assert {name: row.frames for name, row in own.items()} == {"clear": 4, "gone": 3, "far": 4}
        for row in own.values():
            ends = row.undetected + row.refused + row.right + row.wrong + row.nobody
            assert ends == row.frames


def test_what_is_missed_has_its_cause(outcome):
    section, rows = outcome
    found = {row.condition: row for row in rows if row.method == "online"}
    assert found["clear"].right == 4
    assert found["clear"].stranger_frames == 2
    assert found["gone"].undetected == 3
    assert found["far"].refused == 4
    assert found["far"].refusals == "too small 4"
    assert "far 57%" in section.found, "of the seven that were missed"
    assert "too small 4" in section.found
    assert len(section.rows) == 4 * len(COMPARED), "three conditions, and all of them"
