"""Takeover: synthetic people whose distances are known, and the whole experiment on shades."""

from dataclasses import asdict
from itertools import islice

import numpy as np
import pytest

from helpers.shades import one_by_one, shade_finder, write_shades
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.core.errors import BadValue
from onlooker.experiments import takeover as experiment
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.parallel import running_on
from onlooker.experiments.report.html import drawing
from onlooker.experiments.takeover import (
    ATTACKS,
    GUARDS,
    NO_ATTACK,
    in_turn,
    outcomes,
    places,
    show,
    taken_back,
    taken_for,
    takeover,
)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Attacks of 400 frames take long and find nothing else."""
    monkeypatch.setattr(experiment, "LENGTHS", LENGTHS)


KERNEL = HeatKernel(0.19, 9.5e-6)
RADIUS = 0.7
LENGTHS = (1, 6, 30, 100)


def two_people(seed):
    """Faces of two people 1.41 apart, and what lies between them, as unit vectors."""
    rng = np.random.default_rng(seed)
    victim, attacker = np.eye(128)[:2]

    def faces(center, count):
        moved = center + rng.normal(scale=0.02, size=(count, 128))
        return moved / np.linalg.norm(moved, axis=1)[:, None]

    shares = (np.arange(100) + 0.5) / 100
    blends = np.concatenate([faces((1 - at) * victim + at * attacker, 1) for at in shares])
    return faces(victim, 20), faces(attacker, 40), blends


def a_learner(victims, radius):
    learner = OnlineHarmonicLearner(KERNEL, trust_radius=radius)
    for x in victims[:4]:
        learner.teach(x, "ana")
    return learner


def taken_after(seed, radius, *, objected=False):
    """By attack and length: how many of the attacker's faces are taken, and the victim's lost."""
    own, theirs, blends = two_people(seed)
    found = {}
    for after in outcomes(a_learner(own, radius), "ana", own, theirs[:20], blends):
        learner = after.objected if objected else after.alone
        objecting = objected and after.objected is after.alone
        taken = taken_for(learner, "ana", theirs[20:], objecting=objecting)[1]
        lost = sum(learner.predict(x).label != "ana" for x in own)
        found[after.attack, after.length] = taken, lost
    return found


@pytest.mark.parametrize("seed", range(3))
def test_with_the_radius_no_attack_succeeds_and_the_victim_loses_nothing(seed):
    assert set(taken_after(seed, RADIUS).values()) == {(0, 0)}


@pytest.mark.parametrize("seed", range(3))
def test_without_it_a_morph_takes_the_name_and_nothing_else_does(seed):
    found = taken_after(seed, None)
    morphs = {("morph", length) for length in LENGTHS}  # one half way is near enough to both
    assert {key for key, (taken, _) in found.items() if taken} == morphs
    assert {taken for taken, _ in found.values()} == {0, 20}


def test_not_ana_ends_a_takeover():
    found = taken_after(0, None, objected=True)
    assert {taken for taken, _ in found.values()} == {0}


def test_not_ana_is_said_once_of_a_face_that_is_then_not_counted():
    own, theirs, _ = two_people(0)
    learner = a_learner(own, None)
    learner.teach(theirs[0], "ana")
    shown, taken, said = taken_for(learner, "ana", theirs[20:], objecting=True)
    assert (shown, said) == (19, True)
    (excluded,) = learner.vertices().negatives.values()
    assert excluded == {"ana"}
    assert taken_for(learner, "ana", theirs[20:], objecting=False) == (20, taken, False)


def test_of_two_who_walk_in_turn_the_attackers_own_face_is_objected_to():
    own, theirs, _ = two_people(0)
    learner = a_learner(own, None)
    learner.teach(theirs[5], "ana")
    frames = list(islice(in_turn(own, theirs), 6))
    assert [frame.ordinary for frame in frames] == [True, False] * 3
    assert not show(learner, "ana", frames, objecting=False)
    assert show(learner, "ana", frames, objecting=True)
    assert list(learner.vertices().negatives.values()) == [{"ana"}]


def test_a_label_that_is_taken_back_leaves_nothing():
    own, theirs, _ = two_people(0)
    learner = a_learner(own, None)
    learner.teach(theirs[0], "ana")
    for x in theirs[1:20]:
        assert learner.observe(x).label == "ana"
    for corrected in taken_back(learner, "ana", theirs[0]):
        assert taken_for(corrected, "ana", theirs[20:], objecting=False)[1] == 0
    assert taken_for(learner, "ana", theirs[20:], objecting=False)[1] == 20, "it is a copy"


def test_levels_of_a_shorter_morph_are_spread_and_refused_ones_left_out():
    assert places(100, 6) == [8, 25, 41, 58, 75, 91]
    own, theirs, _ = two_people(0)
    nothing = [None] * 100
    sizes = {
        after.length: len(after.alone)
        for after in outcomes(a_learner(own, None), "ana", own, theirs, nothing)
        if after.attack in ("morph", NO_ATTACK)
    }
    assert set(sizes.values()) == {4}


@pytest.fixture
def setup(tmp_path, monkeypatch):
    """Shades, a tenth apart from frame to frame; people are eight apart, the radius is 1.05."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = write_shades(tmp_path, ("ana", "ben"), 16)
    return Setup(data=folder, seeds=1, finder=shade_finder())


def test_every_attack_on_everybody_with_every_guard(setup):
    with running_on(one_by_one):
        section, rows = takeover(setup)
    assert len(rows) == 2 * len(GUARDS) * (1 + len(ATTACKS) * len(LENGTHS))
    by = {(row.attack, row.length, row.guard, row.victim): row for row in rows}
    for victim in ("ana", "ben"):
        for attack, length in ((NO_ATTACK, 0), ("companions", 100), ("morph", 1)):
            assert not by[attack, length, "none", victim].taken
        assert by["morph", 100, "none", victim].succeeded
        assert by["morph", 100, "negative", victim].objections == 1
    assert not any(row.taken for row in rows if row.guard in ("radius", "both"))
    assert {row.trust_radius for row in rows if row.guard in ("none", "negative")} == {None}
    assert section.name == "takeover"
    assert "door, 2 attackers, 2 pairs, attacks that succeed: none " in section.found
    assert "radius 0 of 24 (0.0%)" in section.found
    (figure,) = section.figures
    assert [axes.get_title(loc="left") for axes in figure.axes] == list(ATTACKS)
    assert drawing(figure).count("<svg") == 1
    for each in section.tables:
        assert all(len(row) == len(each.header) for row in each.rows)
    assert asdict(rows[0])["attack"] == NO_ATTACK


def test_one_person_alone_cannot_be_attacked(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = write_shades(tmp_path, ("ana",), 16)
    with pytest.raises(BadValue, match="takeover needs two people"):
        takeover(Setup(data=folder, seeds=1, finder=shade_finder()))
