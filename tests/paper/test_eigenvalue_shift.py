"""Section 2.1: the sink raises all eigenvalues of the Laplacian by gamma."""

import numpy as np
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from onlooker.core.harmonic import harmonic_solution, laplacian


def symmetric(seed, n):
    W = np.random.default_rng(seed).random((n, n))
    return W + W.T


@given(seed=st.integers(0, 10**6), n=st.integers(1, 10), sink=st.floats(0, 100))
def test_every_eigenvalue_grows_by_the_sink(seed, n, sink):
    L = laplacian(symmetric(seed, n))
    before = np.linalg.eigvalsh(L)
    after = np.linalg.eigvalsh(L + sink * np.eye(n))
    np.testing.assert_allclose(after, before + sink, atol=1e-10)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 10))
def test_the_laplacian_itself_has_no_negative_eigenvalue_and_a_zero(seed, n):
    """Its rows add up to nothing, so a constant is its zero; without a sink nothing else helps."""
    L = laplacian(symmetric(seed, n))
    np.testing.assert_allclose(L @ np.ones(n), 0, atol=1e-12)
    assert np.linalg.eigvalsh(L)[0] >= -1e-12


@given(seed=st.integers(0, 10**6), n=st.integers(3, 10), sink=st.floats(0.01, 100))
def test_the_scores_are_bounded_by_the_smallest_eigenvalue(seed, n, sink):
    """What the shift is for (Section 3.2): |l_u| <= |W_ul l_l| / (lambda_min(L_uu) + gamma)."""
    W = symmetric(seed, n)
    labels = np.arange(n) < 2
    scores = harmonic_solution(W, labels, labels, sink=sink)
    smallest = np.linalg.eigvalsh(laplacian(W)[2:, 2:])[0]
    pull = np.linalg.norm(W[2:, :2].sum(axis=1))
    assert np.linalg.norm(scores[2:]) <= pull / (smallest + sink) * (1 + 1e-9)


def test_a_sparse_graph_has_the_same_laplacian():
    W = symmetric(0, 6)
    np.testing.assert_allclose(laplacian(scipy.sparse.csr_array(W)).toarray(), laplacian(W))
