"""Answers by how frequent names are expected to be, against the formula.

Masses are compared with those of the oracle in test_against_oracle.py.
"""

import numpy as np
import pytest

from helpers.streams import state
from onlooker import ClassPrior, HeatKernel, OnlineHarmonicLearner
from onlooker.core.class_prior import weigh
from onlooker.core.errors import BadValue

EVEN = ClassPrior()


def crowded():
    """Many examples beside ana's label, and few beside ben's."""
    learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.5, cutoff=1e-5), max_vertices=50)
    learner.teach([0.0], "ana")
    learner.teach([4.0], "ben")
    for x in (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0):
        learner.observe([x])
    return learner


@pytest.mark.parametrize("shares", [None, {"ana": 1, "ben": 3}, {"ben": 0.2, "ana": 0.7}])
@pytest.mark.parametrize("x", [0.1, 2.0, 2.9, 3.2])
def test_an_answer_is_the_largest_share_times_score_by_mass(shares, x):
    learner = crowded()
    seen, masses = learner.predict([x]), learner.masses()
    answered = ClassPrior(shares).answer(learner, seen)
    expected = {
        name: (shares or {}).get(name, 1.0) * seen.scores[name] / masses[name] for name in masses
    }
    assert answered.label == max(expected, key=expected.__getitem__)
    scale = sum(seen.scores.values()) / sum(expected.values())
    for name, value in expected.items():
        assert answered.scores[name] == pytest.approx(value * scale)
    assert (answered.sink, answered.vertex, answered.support) == (
        seen.sink,
        seen.vertex,
        seen.support,
    )


def test_a_prior_of_the_masses_themselves_changes_no_score():
    learner = crowded()
    seen = learner.predict([2.9])
    answered = ClassPrior(learner.masses()).answer(learner, seen)
    assert answered.label == seen.label == "ana"
    assert answered.scores == pytest.approx(dict(seen.scores))
    assert EVEN.answer(learner, seen).label == "ben"


def test_nobody_and_candidates_stay_what_they_are():
    learner = crowded()
    learner.trust_radius = 1.0
    for x, candidate in ((99.0, None), (1.5, "ana")):
        answered = ClassPrior().answer(learner, learner.predict([x]))
        assert (answered.label, answered.candidate) == (None, candidate)


def test_what_is_learned_does_not_depend_on_the_prior():
    plain, weighed, prior = crowded(), crowded(), ClassPrior({"ana": 1, "ben": 9})
    for x in np.linspace(1.0, 3.5, 30):
        plain.observe([x])
        prior.answer(weighed, weighed.observe([x]))
    assert state(plain) == state(weighed)


def test_masses_are_taken_anew_when_names_or_examples_change():
    learner, prior = crowded(), ClassPrior()
    np.testing.assert_array_equal(prior.masses(learner), list(learner.masses().values()))
    learner.teach([8.0], "cem")
    assert prior.masses(learner).shape == (3,)
    learner.observe([8.1])  # one of 14: more than two in a hundred
    np.testing.assert_array_equal(prior.masses(learner), list(learner.masses().values()))
    learner.forget("cem")
    np.testing.assert_array_equal(prior.masses(learner), list(learner.masses().values()))


def test_before_any_label_there_is_no_mass_and_nobody():
    learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.5, cutoff=1e-5))
    assert learner.masses() == {}
    assert learner.examples == 0
    answered = EVEN.answer(learner, learner.observe([0.0]))
    assert (answered.label, answered.scores) == (None, {})


def test_a_name_without_mass_gets_no_score():
    scores = np.array([[0.0, 0.5]])
    np.testing.assert_array_equal(weigh(scores, np.array([0.0, 2.0]), np.ones(2)), scores)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({"ana": 1}, "no share for 'ben'"),
        ({"ana": 0, "ben": 1}, "above 0"),
        ({"ana": -1, "ben": 1}, "at least 0"),
        ({"ana": float("nan"), "ben": 1}, "at least 0"),
        ({"ana": float("inf"), "ben": 1}, "at least 0"),
        ({"ana": "much", "ben": 1}, "at least 0"),
    ],
)
def test_shares_that_make_no_sense_are_refused(shares, words):
    learner = crowded()
    with pytest.raises(BadValue, match=words):
        ClassPrior(shares).answer(learner, learner.predict([1.0]))
