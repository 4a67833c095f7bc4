"""Section 3.3: an example that is not connected to a labeled one is an outlier, and is skipped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.streams import state
from onlooker import ClosestPair, Doubling, HeatKernel, OnlineHarmonicLearner

KERNEL = HeatKernel(0.5, 1e-3)  # reaches 1.858
QUANTIZERS = [ClosestPair(), Doubling()]

positions = st.floats(-20, 20)


def taught(*, quantizer, min_score=0.0, sink=0.01, budget=5):
    learner = OnlineHarmonicLearner(
        KERNEL, sink=sink, max_vertices=budget, quantizer=quantizer, min_score=min_score
    )
    learner.teach([-3.0], "ana")
    learner.teach([3.0], "ben")
    return learner


def connected_to_a_label(learner, x):
    """By the plainest search, from x over vertices within reach of each other."""
    vertices = learner.vertices()
    places = vertices.vectors.ravel()
    found, waiting = set(), [x]
    while waiting:
        here = waiting.pop()
        for i in np.flatnonzero(abs(places - here) <= KERNEL.reach):
            if vertices.names[i] is not None:
                return True
            if i not in found:
                found.add(i)
                waiting.append(places[i])
    return False


@pytest.mark.parametrize("quantizer", QUANTIZERS, ids=repr)
@given(stream=st.lists(positions, max_size=30), x=positions)
def test_nobody_is_who_has_no_path_to_a_label(quantizer, stream, x):
    learner = taught(quantizer=quantizer)
    for other in stream:
        learner.observe([other])
    nearest = abs(learner.vertices().vectors.ravel() - x).min()
    if nearest < learner.radius:  # then another vertex absorbs x
        return
    assert (learner.predict([x]).label is not None) == connected_to_a_label(learner, x)


@pytest.mark.parametrize("quantizer", QUANTIZERS, ids=repr)
@given(
    stream=st.lists(positions, max_size=30), strangers=st.lists(positions.map(lambda x: x + 100))
)
def test_strangers_change_nothing_for_anybody(quantizer, stream, strangers):
    """Not a vertex, not a count, not a doubling they would have triggered."""
    plain, crowded = taught(quantizer=quantizer), taught(quantizer=quantizer)
    strangers = iter(strangers)
    for x in stream:
        stranger = next(strangers, None)
        if stranger is not None:
            answer = crowded.observe([stranger])
            assert (answer.label, answer.sink, answer.vertex) == (None, 1.0, None)
        assert crowded.observe([x]) == plain.observe([x])
    assert state(crowded) == state(plain)


@pytest.mark.parametrize("quantizer", QUANTIZERS, ids=repr)
def test_an_outlier_at_a_full_budget_triggers_no_shrinking(quantizer):
    learner = taught(quantizer=quantizer, budget=2)
    learner.observe([-2.0])
    learner.observe([2.0])
    before = state(learner)
    learner.observe([40.0])
    assert state(learner) == before
    learner.observe([-1.0])
    assert state(learner) != before


def test_nobody_comes_first_whatever_the_radius_is():
    """Closer than R to a vertex and yet not connected to it: an outlier, not absorbed."""
    learner = taught(quantizer=Doubling(), budget=1)
    learner.observe([-2.0])
    learner.observe([-1.0])
    assert learner.radius == 2.0 > KERNEL.reach
    before = state(learner)
    assert learner.observe([-3.0 - 1.9]).label is None
    assert state(learner) == before
    assert learner.observe([-3.0 - 1.8]).vertex == 0


def test_confidence_drops_with_the_hops_and_the_path_still_counts():
    """Decided by reachability: a score may be as small as it likes."""
    learner = taught(quantizer=ClosestPair(), sink=5.0, budget=50)
    scores = []
    for x in np.arange(4.0, 12.0):
        answer = learner.observe([x])
        assert answer.label == "ben"
        scores.append(answer.scores["ben"])
    assert (np.diff(scores) < 0).all()
    assert 0 < scores[-1] < 1e-7


@pytest.mark.parametrize("sink", [0.0, 1e-9, 10.0])
def test_reachability_does_not_depend_on_the_sink(sink):
    learner = taught(quantizer=ClosestPair(), sink=sink)
    learner.observe([4.5])
    assert learner.predict([6.0]).label == "ben"
    learner.unteach([3.0])
    assert learner.predict([6.0]).label is None
    assert learner.predict([4.5]).label is None
    assert learner.predict([6.0]).sink == 1.0


def test_a_walk_does_not_pass_through_a_label():
    """x sees ben only; ana is beyond him and gets nothing."""
    learner = OnlineHarmonicLearner(KERNEL, sink=0.0)
    learner.teach([0.0], "ana")
    learner.teach([1.5], "ben")
    answer = learner.observe([3.0])
    assert answer.scores == {"ana": 0.0, "ben": pytest.approx(1.0)}


def test_a_score_that_is_not_above_the_least_is_nobody_and_leaves_no_trace():
    strict = taught(quantizer=ClosestPair(), sink=0.5, min_score=0.6)
    loose = taught(quantizer=ClosestPair(), sink=0.5)
    before = state(strict)
    x = [4.0]
    assert loose.predict(x).scores["ben"] < 0.6
    assert strict.observe(x).label is None
    assert strict.observe(x).scores == loose.predict(x).scores
    assert state(strict) == before
    assert strict.observe([3.25]).label == "ben"


def test_a_similarity_of_exactly_epsilon_connects():
    """Section 2.2 removes the edges below epsilon, not the one at it."""
    learner = OnlineHarmonicLearner(HeatKernel(bandwidth=1.0, cutoff=float(np.exp(-0.5))))
    learner.teach([0.0], "ana")
    assert learner.kernel.similarity([1.0], [[0.0]]).tolist() == [learner.kernel.cutoff]
    assert learner.observe([1.0]).label == "ana"
    assert learner.observe([2.0]).label == "ana", "by way of the vertex at 1.0"
