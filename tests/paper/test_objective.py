"""Section 2.1: the closed form minimises l' (L + gamma I) l among all l that keep the labels."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from onlooker.core.harmonic import harmonic_solution, laplacian

LABELS = np.array([1.0, -1.0, 0.0, 0.0, 0.0, 0.0])
LABELED = LABELS != 0


def random_graph(seed):
    rng = np.random.default_rng(seed)
    W = rng.random((6, 6)) * (rng.random((6, 6)) < 0.7) + 0.05
    return W + W.T, rng.integers(1, 20, 6)


def objective(W, v, sink):
    """l' (L^ + gamma V) l, and with v = 1 the paper's l' (L + gamma I) l."""
    V = np.diag(v)
    Q = laplacian(V @ W @ V) + sink * V
    return lambda scores: float(scores @ Q @ scores)


@given(
    seed=st.integers(0, 10**6),
    sink=st.sampled_from([0.0, 1e-3, 1.0, 30.0]),
    merged=st.booleans(),
    elsewhere=st.lists(st.floats(-2, 2), min_size=4, max_size=4),
)
def test_no_other_choice_of_scores_is_cheaper(seed, sink, merged, elsewhere):
    W, counts = random_graph(seed)
    v = counts if merged else np.ones(6)
    cost = objective(W, v, sink)
    solution = harmonic_solution(W, LABELS, LABELED, sink=sink, multiplicity=v)
    other = np.concatenate([LABELS[:2], elsewhere])
    assert cost(solution) <= cost(other) * (1 + 1e-9)


@given(seed=st.integers(0, 10**6), sink=st.sampled_from([0.0, 1e-3, 1.0, 30.0]))
def test_the_slope_is_zero_at_the_solution_and_rises_in_every_direction(seed, sink):
    W, v = random_graph(seed)
    cost = objective(W, v, sink)
    solution = harmonic_solution(W, LABELS, LABELED, sink=sink, multiplicity=v)
    for i in np.flatnonzero(~LABELED):
        step = 1e-3 * np.eye(6)[i]
        up, down = cost(solution + step), cost(solution - step)
        assert min(up, down) > cost(solution)
        assert up == pytest.approx(down, rel=1e-8)  # a parabola with its bottom here


@pytest.mark.parametrize("sink", [0.0, 0.1, 5.0])
def test_a_general_minimiser_finds_the_same_scores(sink):
    W, v = random_graph(seed=7)
    cost = objective(W, v, sink)
    found = scipy.optimize.minimize(
        lambda free: cost(np.concatenate([LABELS[:2], free])), np.zeros(4), tol=1e-12
    )
    solution = harmonic_solution(W, LABELS, LABELED, sink=sink, multiplicity=v)
    np.testing.assert_allclose(solution[2:], found.x, atol=1e-4)
