"""Poisson learning: the equation, its mean, copies of examples, and the walks that lead to it."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker.core import harmonic
from onlooker.core.errors import BadValue
from onlooker.core.harmonic import poisson_solution


def connected(seed, n):
    """A connected graph of n vertices with weights over four orders of magnitude, and labels."""
    rng = np.random.default_rng(seed)
    W = np.triu(10 ** rng.uniform(-3, 1, (n, n)) * (rng.random((n, n)) < 0.4), 1)
    W[np.arange(n - 1), np.arange(1, n)] += 0.1  # a path through all of them
    labeled = np.arange(n) < rng.integers(2, n + 1)
    labels = np.eye(3)[(np.arange(n) + rng.integers(3)) % 3]
    return W + W.T, labels, labeled


def equation(W, labels, labeled):
    """L and the right-hand side, entry by entry."""
    n = len(W)
    mean = labels[labeled].mean(axis=0)
    L, right = np.zeros((n, n)), np.zeros(labels.shape)
    for i in range(n):
        for j in range(n):
            if i != j:
                L[i, i] += W[i, j]
                L[i, j] -= W[i, j]
        if labeled[i]:
            right[i] = labels[i] - mean
    return L, right


graphs = given(seed=st.integers(0, 10**6), n=st.integers(3, 12))


@graphs
def test_it_solves_the_equation_with_a_weighted_mean_of_zero(seed, n):
    W, labels, labeled = connected(seed, n)
    L, right = equation(W, labels, labeled)
    found = poisson_solution(W, labels, labeled)
    np.testing.assert_allclose(L @ found, right, atol=1e-8)
    np.testing.assert_allclose(W.sum(axis=1) @ found, 0, atol=1e-8)


@graphs
def test_it_is_the_pseudo_inverse_shifted_to_that_mean(seed, n):
    W, labels, labeled = connected(seed, n)
    L, right = equation(W, labels, labeled)
    expected = np.linalg.pinv(L, hermitian=True) @ right
    expected -= W.sum(axis=1) @ expected / W.sum()
    for weights in (W, scipy.sparse.csr_array(W), scipy.sparse.coo_matrix(W)):
        found = poisson_solution(weights, labels, labeled)
        np.testing.assert_allclose(found, expected, atol=1e-8, rtol=1e-8)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), n=st.integers(3, 7))
def test_it_is_where_walks_from_the_labels_spend_their_time(seed, n):
    """Theorem 2.1 of Calder et al.: u_T(i) = E sum_t sum_j (y_j - ybar) 1{X_t from j is i} / d_i.

    Walks that stay put every other step on average take twice the time, and none of them is
    periodic; the distribution after every step is computed exactly.
    """
    W, labels, labeled = connected(seed, n)
    W = W.clip(0.0, 1.0)
    _, right = equation(W, labels, labeled)
    degrees = W.sum(axis=1)
    step = (np.eye(n) + W / degrees[:, None]) / 2
    after, passed = right.copy(), np.zeros_like(right)
    while abs(after).max() > 1e-13:  # the sources add up to 0, so what is left of them vanishes
        passed += after / 2
        after = step.T @ after
    found = poisson_solution(W, labels, labeled)
    np.testing.assert_allclose(found, passed / degrees[:, None], atol=1e-7)


@given(
    seed=st.integers(0, 10**6),
    counts=st.lists(st.integers(1, 4), min_size=3, max_size=6),
)
def test_merged_vertices_give_the_same_answer(seed, counts):
    """Proposition 1 holds for it too; either all copies of a place are labeled or none."""
    n = len(counts)
    W, labels, labeled = connected(seed, n)
    W += np.eye(n)  # copies are linked with each other
    copies = np.repeat(np.arange(n), counts)
    merged = poisson_solution(W, labels, labeled, multiplicity=counts)
    repeated = poisson_solution(W[np.ix_(copies, copies)], labels[copies], labeled[copies])
    np.testing.assert_allclose(merged[copies], repeated, atol=1e-8)


@graphs
def test_components_do_not_know_each_other(seed, n):
    one, two = connected(seed, n), connected(seed + 1, n + 1)
    both = np.zeros((2 * n + 1, 2 * n + 1))
    both[:n, :n], both[n:, n:] = one[0], two[0]
    found = poisson_solution(both, np.vstack([one[1], two[1]]), np.append(one[2], two[2]))
    expected = np.vstack([poisson_solution(*one), poisson_solution(*two)])
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_one_name_is_the_name_of_its_component_and_no_name_is_none():
    chain = np.diag([1.0, 1.0, 0.0, 1.0], 1)
    labels = np.array([[0, 1], [0, 0], [0, 1], [0, 0], [0, 0]], dtype=float)
    found = poisson_solution(chain + chain.T, labels, labels.any(axis=1))
    np.testing.assert_array_equal(found, [[0, 1]] * 3 + [[0, 0]] * 2)


def test_signed_labels_are_the_difference_of_two_columns():
    W, _, _ = connected(3, 8)
    labeled = np.arange(8) < 3
    columns = np.array([[1, 0], [0, 1], [1, 0], *[[0, 0]] * 5], dtype=float)
    found = poisson_solution(W, columns, labeled)
    signed = poisson_solution(W, columns[:, 0] - columns[:, 1], labeled)
    np.testing.assert_allclose(signed, found[:, 0] - found[:, 1], atol=1e-10)


def test_a_large_sparse_graph_is_solved_by_conjugate_gradients(monkeypatch):
    W, labels, labeled = connected(0, 60)
    expected = poisson_solution(W, labels, labeled)
    monkeypatch.setattr(harmonic, "LARGE", 10)
    found = poisson_solution(scipy.sparse.csr_array(W), labels, labeled)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_few_labels_are_not_drowned():
    """The case it is made for: one label in each of two clusters, and links between these.

    Harmonic scores are nearly the same for all and lean to the label with more links, so that
    most of the other cluster has the wrong name.
    """
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 60)
    W = np.where(truth[:, None] == truth, 1.0, 0.1) * rng.random((120, 120))
    W = np.triu(W, 1)
    W[0, 1:] *= 10  # the first label has strong links to everything
    W += W.T
    labels, labeled = np.eye(2)[truth], np.isin(np.arange(120), [0, 119])
    by_walks = harmonic.harmonic_solution(W, labels, labeled, sink=0).argmax(axis=1)
    by_flow = poisson_solution(W, labels, labeled).argmax(axis=1)
    assert (by_flow == truth).all()
    assert (by_walks == truth).mean() < 0.6


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"multiplicity": [1, 0]}, "above zero"),
        ({"multiplicity": [1]}, "one for each of the 2"),
        ({"is_labeled": [0, 1]}, "True or False"),
        ({"labels": [1, 2, 3]}, "there are 2 vertices"),
        ({"weights": [[0, 1], [2, 0]]}, "symmetric"),
    ],
)
def test_what_cannot_be_solved_is_refused(change, problem):
    arguments = {"weights": np.ones((2, 2)), "labels": [1, -1], "is_labeled": np.ones(2, bool)}
    arguments |= {name: np.array(value) for name, value in change.items()}
    with pytest.raises(BadValue, match=problem):
        poisson_solution(**arguments)
