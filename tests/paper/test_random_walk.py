"""Section 2.1: the score is the probability that a random walk ends at a label; l = p^1 - p^-1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.core.harmonic import harmonic_solution

WEIGHTS = np.array(
    [
        [0.0, 0.0, 0.5, 0.0, 0.2],
        [0.0, 0.0, 0.0, 0.9, 0.1],
        [0.5, 0.0, 0.0, 0.7, 0.0],
        [0.0, 0.9, 0.7, 0.0, 0.3],
        [0.2, 0.1, 0.0, 0.3, 0.0],
    ]
)
LABELED = np.array([True, True, False, False, False])
SIGNED = np.array([1.0, -1.0, 0.0, 0.0, 0.0])
SINK = 5


def simulate(start, *, sink, walks, seed):
    """Let many walkers go at once; the share of them that ends at each vertex, the sink last."""
    rng = np.random.default_rng(seed)
    rates = np.column_stack([WEIGHTS, np.full(5, sink)])
    steps = (rates / rates.sum(axis=1, keepdims=True)).cumsum(axis=1)
    at = np.full(walks, start)
    moving = np.flatnonzero(at < SINK)
    while moving.size:
        chance = rng.random((moving.size, 1))
        at[moving] = (chance > steps[at[moving]]).sum(axis=1).clip(max=SINK)
        moving = moving[(at[moving] < SINK) & ~np.append(LABELED, True)[at[moving]]]
    return np.bincount(at, minlength=6) / walks


@pytest.mark.parametrize("sink", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("start", [2, 3, 4])
def test_scores_are_the_shares_of_simulated_walks(start, sink):
    walks = 100_000
    shares = simulate(start, sink=sink, walks=walks, seed=start)
    scores = harmonic_solution(WEIGHTS, np.eye(5)[:, :2], LABELED, sink=sink)[start]
    expected = np.array([*scores, 1 - scores.sum()])
    five_deviations = 5 * np.sqrt(0.25 / walks)
    np.testing.assert_allclose(shares[[0, 1, SINK]], expected, atol=five_deviations)


@pytest.mark.parametrize("sink", [0.0, 0.1, 1.0])
def test_the_solution_is_the_series_of_all_walks(sink):
    """(I - P_uu)^-1 P_ul: the walks of one step, of two, of three, and so on, added up."""
    P = WEIGHTS / (WEIGHTS.sum(axis=1, keepdims=True) + sink)
    P_uu, P_ul = P[2:, 2:], P[2:, :2]
    scores, longer = np.zeros((3, 2)), P_ul
    for _ in range(2000):
        scores, longer = scores + longer, P_uu @ longer
    solution = harmonic_solution(WEIGHTS, np.eye(5)[:, :2], LABELED, sink=sink)
    np.testing.assert_allclose(solution[2:], scores, atol=1e-12)


@st.composite
def graphs(draw):
    """Any weights, zeros among them, and any choice of labels."""
    n = draw(st.integers(2, 8))
    upper = draw(st.lists(st.sampled_from([0, 1e-6, 0.1, 1]), min_size=n * n, max_size=n * n))
    W = np.triu(np.reshape(upper, (n, n)), 1)
    return W + W.T, np.array(draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n)))


@given(graph=graphs(), sink=st.sampled_from([0, 1e-5, 0.1]))
def test_the_signed_solution_is_the_difference_of_two_probabilities(graph, sink):
    W, signs = graph
    labeled = signs != 0
    signed = harmonic_solution(W, signs, labeled, sink=sink)
    one_column_each = np.column_stack([signs == 1, signs == -1])
    p = harmonic_solution(W, one_column_each, labeled, sink=sink)
    np.testing.assert_allclose(signed, p[:, 0] - p[:, 1], atol=1e-12)
    assert (p >= 0).all()
    assert (p.sum(axis=1) <= 1 + 1e-12).all()


@given(graph=graphs())
def test_without_a_sink_every_walk_that_can_end_at_a_label_does(graph):
    W, signs = graph
    labeled = signs != 0
    ends = harmonic_solution(W, np.ones(len(W)), labeled, sink=0)
    reaches = labeled.copy()
    for _ in W:
        reaches |= ((W > 0) & reaches).any(axis=1)
    np.testing.assert_allclose(ends, reaches, atol=1e-9)
