"""VN: what cameras at home do to a face, with the condition of every frame in the truth."""

from collections import Counter
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest

from onlooker.simulation.conditions import (
    CONDITIONS,
    UNDISTURBED,
    Effect,
    Visit,
    face_plan,
    turned_face,
)
from onlooker.simulation.filming import Appearance, CameraView, film
from onlooker.simulation.orl import pictures_of
from onlooker.simulation.scenarios import _at_the_door, scenario
from onlooker.simulation.scenery import HEIGHT, WIDTH

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"
NAMES = [condition.name for condition in CONDITIONS]


def visit_of(name, frames=3, *, person=2, seed=0):
    """A visit of one person under one condition, in front of a grey wall."""
    view = CameraView(
        camera="door", place="porch", background=np.full((HEIGHT, WIDTH), 120, np.uint8)
    )
    condition = CONDITIONS[NAMES.index(name)]
    runs = [Appearance(person, True, view, frames, condition)]
    return list(film(runs, np.random.default_rng(seed)))


def middle(frame, truth):
    """The face as grey levels, without its surroundings."""
    grey = cv2.cvtColor(frame.pixels, cv2.COLOR_BGR2GRAY)
    size = round(0.8 * truth.box.width), round(0.8 * truth.box.height)
    return cv2.getRectSubPix(grey, size, truth.box.center).astype(float)


def test_the_page_lists_every_condition_with_its_numbers_and_its_reason():
    text = PAGE.read_text(encoding="utf-8").partition("### The first result")[0]
    rows = [row for row in text.splitlines() if row.startswith("| ")]
    for condition in CONDITIONS:
        (row,) = (row for row in rows if row.startswith(f"| {condition.name} |"))
        assert condition.reason in row
        assert ("passes through" in row) == condition.moves
        for field in fields(Effect):
            ends = getattr(condition.mild, field.name), getattr(condition.strong, field.name)
            plain = getattr(UNDISTURBED, field.name)
            assert (f"{field.name} {ends[0]:g} to {ends[1]:g}" in row) == (ends != (plain, plain))


def test_everybody_comes_under_every_condition_and_so_do_strangers():
    known, unknown = list(range(1, 9)), list(range(9, 41))
    runs = _at_the_door(known, unknown, 960, np.random.default_rng(0))
    assert sum(run.frames for run in runs) == 960
    for name in NAMES:
        met = Counter(run.person for run in runs if run.condition.name == name)
        assert set(known) < set(met), f"{name} shows all eight"
        assert sum(person in unknown for person in met.elements()) >= 3, f"{name} shows strangers"
    assert {run.person for run in runs if not run.known} == set(unknown)
    strangers = sum(run.frames for run in runs if not run.known) / 960
    assert strangers == pytest.approx(3 / 11, abs=0.01)


def test_the_order_of_the_conditions_is_mixed():
    runs = _at_the_door(list(range(1, 9)), list(range(9, 41)), 960, np.random.default_rng(0))
    names = [run.condition.name for run in runs[11:]]
    assert sum(a != b for a, b in pairwise(names)) > 0.8 * len(names)


def test_labels_can_come_from_clear_frames():
    runs = _at_the_door(list(range(1, 9)), list(range(9, 41)), 480, np.random.default_rng(0))
    first = runs[:11]
    assert {run.condition.name for run in first} == {"clear"}
    assert all(run.frames >= 4 for run in first), "four labels a person"
    assert {run.person for run in first if run.known} == set(range(1, 9))


def test_the_papers_videos_have_no_condition():
    for name in ("V1", "V2", "VO"):
        assert {truth.condition for _, truth in scenario(name, frames=4)} == {""}


def test_a_face_far_away_is_24_to_60_pixels_wide_and_comes_closer():
    widths = [truth.box.width for _, truth in visit_of("far", 12)]
    assert widths == sorted(widths)
    assert 24 <= widths[0] < 32
    assert 48 < widths[-1] <= 60


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("dusk", lambda face, clear: face.mean() < 0.5 * clear.mean()),
        ("backlight", lambda face, clear: face.mean() < 0.75 * clear.mean()),
        ("infrared", lambda face, clear: face.mean() > clear.mean()),
        ("motion", lambda face, clear: detail(face) < 0.8 * detail(clear)),
    ],
)
def test_light_and_blur_do_what_they_say(name, test):
    clear = middle(*visit_of("clear", 1)[0])
    assert all(test(middle(*scene), clear) for scene in visit_of(name, 4))


def detail(face):
    return np.abs(np.diff(cv2.GaussianBlur(face, (0, 0), 1.5), axis=1)).mean()


def test_behind_an_infrared_face_it_is_dark_and_behind_a_backlit_one_bright():
    corners = {
        name: visit_of(name, 1)[0][0].pixels[:20, :20].mean()
        for name in ("clear", "infrared", "backlight")
    }
    assert corners["infrared"] < 0.5 * corners["clear"]
    assert corners["backlight"] > 1.4 * corners["clear"]


@pytest.mark.parametrize(
    ("name", "point"),
    [("mask", (0, 1.0)), ("beard", (0, 1.4)), ("glasses", (0, -0.04)), ("hood", (0, -1.0))],
)
def test_what_is_worn_lies_where_the_face_is(name, point):
    """The opacity at a point in the face's own coordinates; between the eyes nothing lies over."""
    draw = CONDITIONS[NAMES.index(name)].draw
    for person in (2, 9, 15):
        plan = face_plan(pictures_of(person)[0], 1, 0)
        cover = draw(plan, 1.0)
        gap = np.hypot(plan.across - point[0], plan.down - point[1])
        assert cover.opacity.flat[gap.argmin()] > 0.5
        free = np.hypot(plan.across - 0.5, plan.down)  # the left eye itself can be seen
        assert cover.opacity.flat[free.argmin()] < 0.7


def test_a_hand_comes_in_and_hides_more_and_more():
    face = pictures_of(2)[0]
    draw = CONDITIONS[NAMES.index("hand")].draw
    for variant in range(3):
        for side in (-1, 1):
            plan = face_plan(face, side, variant)
            inside = (np.abs(plan.across) < 0.8) & (plan.down > -0.8) & (plan.down < 1.7)
            shares = [draw(plan, share).opacity[inside].mean() for share in (0.0, 0.5, 1.0)]
            assert shares == sorted(shares)
            assert shares[-1] > 0.15


def test_a_head_that_is_turned_shows_less_of_one_half():
    face = pictures_of(2)[0]
    seen, head = turned_face(face, 50.0)
    mirrored, other = turned_face(np.ascontiguousarray(face[:, ::-1]), -50.0)
    np.testing.assert_array_equal(mirrored, seen[:, ::-1])
    np.testing.assert_array_equal(other, head[:, ::-1])
    assert head[60, 5] == 1
    assert head[100, 90] == 0
    straight, _ = turned_face(face, 0.01)
    inner = slice(20, 72)
    gap = np.abs(straight[20:100, inner].astype(float) - face[20:100, inner]).mean()
    assert gap < 6, "hardly turned, it is the same face"


def test_a_visit_has_one_strength_or_passes_through_all():
    rng = np.random.default_rng(0)
    for condition in CONDITIONS:
        visit = Visit(condition, rng)
        ends = [visit.effect(share) for share in (0.0, 1.0)]
        if condition.moves:
            assert ends == [condition.mild, condition.strong]
        else:
            assert ends[0] == ends[1]
