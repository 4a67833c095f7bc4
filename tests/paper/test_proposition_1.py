"""Proposition 1: identical vertices can be merged; W becomes V W V, and the sinks add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.core.harmonic import harmonic_solution


def similarities(points):
    X = np.asarray(points, dtype=float)
    return np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * 2.0**2))


@st.composite
def merged_graphs(draw):
    """Distinct places, how many examples lie at each, and a name for some of the places.

    Either all copies of a place are labeled or none: the proposition does not speak of mixed ones.
    """
    place = st.tuples(st.integers(0, 8), st.integers(0, 8))
    points = draw(st.lists(place, min_size=2, max_size=7, unique=True))
    n = len(points)
    counts = draw(st.lists(st.integers(1, 6), min_size=n, max_size=n))
    names = draw(st.lists(st.sampled_from([None, 0, 1, 2]), min_size=n, max_size=n))
    return points, np.array(counts), names


@given(graph=merged_graphs(), sink=st.sampled_from([0.0, 1e-6, 1e-2, 1.0, 50.0]))
def test_merged_vertices_give_the_same_answer(graph, sink):
    points, counts, names = graph
    labeled = np.array([name is not None for name in names])
    labels = np.array([[float(name == k) for k in range(3)] for name in names])
    copies = np.repeat(np.arange(len(points)), counts)

    merged = harmonic_solution(
        similarities(points), labels, labeled, sink=sink, multiplicity=counts
    )
    repeated = harmonic_solution(
        similarities(points)[np.ix_(copies, copies)], labels[copies], labeled[copies], sink=sink
    )
    np.testing.assert_allclose(merged[copies], repeated, atol=1e-9)


def test_the_sinks_of_merged_vertices_add_up():
    """gamma V, not gamma I: ten walkers on one vertex have ten sinks to fall into."""
    W = np.array([[0.0, 0.5], [0.5, 0.0]])
    labeled = np.array([True, False])
    score = harmonic_solution(W, [1, 0], labeled, sink=0.1, multiplicity=[1, 10])[1]
    assert score == pytest.approx(0.5 / (0.5 + 0.1))


def test_a_label_taught_twice_pulls_twice():
    W = np.array([[0.0, 0.0, 0.5], [0.0, 0.0, 0.5], [0.5, 0.5, 0.0]])
    labeled = np.array([True, True, False])
    score = harmonic_solution(W, [1, -1, 0], labeled, sink=0, multiplicity=[2, 1, 7])[2]
    assert score == pytest.approx(2 / 3 - 1 / 3)
