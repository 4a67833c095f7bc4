"""Section 2.1: the solution has the harmonic property, l_i = (1 / d_i) sum_j w_ij l_j."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from onlooker.core.harmonic import harmonic_solution

POINTS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=3, max_size=9, unique=True
)
"""Places on a grid; all of them see each other, so every vertex reaches a label."""


def similarities(points):
    X = np.array(points, dtype=float)
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    W = np.exp(-squared / (2 * 6.0**2))
    np.fill_diagonal(W, 0.0)
    return W


@given(points=POINTS, signs=st.tuples(st.sampled_from([-1, 1]), st.sampled_from([-1, 1])))
def test_every_unlabeled_vertex_is_the_weighted_mean_of_its_neighbours(points, signs):
    W = similarities(points)
    labeled = np.arange(len(W)) < 2
    scores = harmonic_solution(W, np.resize(signs, len(W)), labeled, sink=0)
    means = W @ scores / W.sum(axis=1)
    np.testing.assert_allclose(scores[~labeled], means[~labeled], atol=1e-12)
    np.testing.assert_array_equal(scores[labeled], signs)


@given(points=POINTS, labels=st.tuples(st.floats(-5, 5), st.floats(-5, 5)))
def test_no_score_lies_outside_the_labels(points, labels):
    """A weighted mean cannot: the maximum principle."""
    W = similarities(points)
    scores = harmonic_solution(W, np.resize(labels, len(W)), np.arange(len(W)) < 2, sink=0)
    assert scores.min() >= min(labels) - 1e-12
    assert scores.max() <= max(labels) + 1e-12


@given(points=POINTS, sink=st.floats(1e-6, 10))
def test_with_a_sink_the_mean_includes_its_zero(points, sink):
    W = similarities(points)
    labeled = np.arange(len(W)) < 2
    scores = harmonic_solution(W, np.resize([1, -1], len(W)), labeled, sink=sink)
    means = (W @ scores + sink * 0.0) / (W.sum(axis=1) + sink)
    np.testing.assert_allclose(scores[~labeled], means[~labeled], atol=1e-12)
