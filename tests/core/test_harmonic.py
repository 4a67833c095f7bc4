"""harmonic.py against its oracles: dense, sparse and eliminated, ordinary and extreme."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onlooker.core import harmonic, multilevel
from onlooker.core.errors import BadValue
from onlooker.core.harmonic import eliminate, harmonic_solution, laplacian
from oracle import SOLVERS, walk_gth, walk_mpmath


def blobs(seed, n, *, cutoff, heaviest=1.0):
    """Points in the plane, weights cut off, and multiplicities of any size up to the heaviest."""
    rng = np.random.default_rng(seed)
    X = rng.normal(scale=1.2, size=(n, 2))
    W = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * 0.35**2))
    W[cutoff > W] = 0.0
    v = np.floor(heaviest ** rng.random(n))
    return W, v


def names(n):
    """The first three vertices are labeled, with two names."""
    labels = np.zeros((n, 2))
    labels[[0, 1, 2], [0, 1, 1]] = 1
    return labels, np.arange(n) < 3


def oracle_scores(W, v, labels, labeled, sink, solver):
    """One row per vertex, found by one walk each."""
    ends = [solver(W, v, labeled, sink, start)[0] for start in range(len(W))]
    return np.array(ends) @ np.where(labeled[:, None], labels, 0.0)


# Dense, sparse, oracle ---------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_the_oracles_agree_on_ordinary_graphs(solver, seed):
    W, v = blobs(seed, 7, cutoff=1e-3, heaviest=50)
    labels, labeled = names(7)
    expected = oracle_scores(W, v, labels, labeled, 1e-2, SOLVERS[solver])
    found = harmonic_solution(W, labels, labeled, sink=1e-2, multiplicity=v)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(3, 60),
    sink=st.sampled_from([0.0, 1e-11, 1e-4, 1.0]),
    kind=st.sampled_from(["csr_array", "csc_matrix", "coo_array", "lil_matrix", "dok_array"]),
)
def test_sparse_weights_give_the_dense_answer(seed, n, sink, kind):
    W, v = blobs(seed, n, cutoff=1e-6, heaviest=1e3)
    labels, labeled = names(n)
    options = {"sink": sink, "multiplicity": v}
    sparse = getattr(scipy.sparse, kind)(W)
    np.testing.assert_allclose(
        harmonic_solution(sparse, labels, labeled, **options),
        harmonic_solution(W, labels, labeled, **options),
        atol=1e-9,
    )
    assert scipy.sparse.issparse(laplacian(sparse))
    np.testing.assert_allclose(laplacian(sparse).toarray(), laplacian(W), atol=1e-12)


def test_a_stored_zero_is_not_an_edge():
    rows, cols = [0, 1, 1, 2], [1, 0, 2, 1]
    W = scipy.sparse.csr_array(([1.0, 1.0, 0.0, 0.0], (rows, cols)), shape=(3, 3))
    scores = harmonic_solution(W, [1, 0, 0], np.array([True, False, False]), sink=0)
    np.testing.assert_array_equal(scores, [1, 1, 0])


def test_a_long_sparse_chain_needs_no_dense_matrix():
    n = 100_000
    W = scipy.sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1])
    labeled = np.isin(np.arange(n), [0, n - 1])
    scores = harmonic_solution(W, labeled * np.linspace(1, 0, n), labeled, sink=0)
    np.testing.assert_allclose(scores, np.linspace(1, 0, n), atol=1e-8)


# The extremes ------------------------------------------------------------------------------


@pytest.mark.parametrize("as_type", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("heaviest", [1.0, 1e3, 1e9])
@pytest.mark.parametrize("cutoff", [1e-6, 1e-12])
def test_tiny_sinks_and_huge_multiplicities_match_fifty_digits(cutoff, heaviest, as_type):
    for seed in range(3):
        W, v = blobs(seed, 12, cutoff=cutoff, heaviest=heaviest)
        labels, labeled = names(12)
        expected = oracle_scores(W, v, labels, labeled, 10 * cutoff, walk_mpmath)
        found = harmonic_solution(as_type(W), labels, labeled, sink=10 * cutoff, multiplicity=v)
        np.testing.assert_allclose(found, expected, atol=1e-8)


@st.composite
def wild_graphs(draw):
    """Weights over twelve orders of magnitude, multiplicities over nine."""
    n = draw(st.integers(3, 7))
    powers = draw(st.lists(st.floats(-12, 0), min_size=n * n, max_size=n * n))
    W = np.triu(10.0 ** np.reshape(powers, (n, n)), 1)
    v = draw(st.lists(st.integers(1, 10**9), min_size=n, max_size=n))
    return W + W.T, np.array(v), draw(st.sampled_from([1e-15, 1e-12, 1e-9, 1e-3]))


@settings(max_examples=40)
@given(graph=wild_graphs())
def test_wild_graphs_match_elimination(graph):
    W, v, sink = graph
    labels = np.zeros((len(W), 3))
    labels[[0, 1], [0, 1]] = 1
    labeled = np.arange(len(W)) < 2
    expected = oracle_scores(W, v, labels, labeled, sink, walk_gth)
    for weights in W, scipy.sparse.csr_array(W):
        found = harmonic_solution(weights, labels, labeled, sink=sink, multiplicity=v)
        np.testing.assert_allclose(found, expected, atol=1e-8)


def drowned():
    """A heavy pair that hangs by a thread from its label: its leaks are lost in its degrees."""
    W = np.array([[0.0, 1e-12, 0.0], [1e-12, 0.0, 1.0], [0.0, 1.0, 0.0]])
    return W, np.array([1.0, 1e9, 1e9]), np.array([True, False, False]), 1e-21


@pytest.mark.parametrize("as_type", [np.asarray, scipy.sparse.csr_array])
def test_a_sink_lost_in_the_diagonal_is_still_there(as_type):
    W, v, labeled, sink = drowned()
    expected, _ = walk_mpmath(W, v, labeled, sink, 2)
    found = harmonic_solution(as_type(W), [1, 0, 0], labeled, sink=sink, multiplicity=v)
    assert found[2] == pytest.approx(expected[0], abs=1e-12)

    V = np.diag(v)
    plain = (laplacian(V @ W @ V) + sink * V)[1:, 1:]
    assert np.linalg.det(plain) == 0, "chosen because the closed form as written fails on it"


@pytest.mark.parametrize("as_type", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("thread", [1e-12, 1e-13])
def test_two_pairs_on_threads_lose_different_shares(thread, as_type):
    """label - pair - pair - label: the factorisation succeeds, each pair loses its own part of the
    mass, and dividing by the mass alone leaves an error of 3e-5 to 3e-4."""
    W = np.zeros((6, 6))
    edges = [(0, 2, thread), (2, 3, 0.3), (3, 4, thread), (4, 5, 0.6), (5, 1, thread)]
    for i, j, weight in edges:
        W[i, j] = W[j, i] = weight
    labels, labeled = np.eye(6)[:, :2], np.arange(6) < 2
    expected = oracle_scores(W, np.ones(6), labels, labeled, 1e-20, walk_mpmath)
    found = harmonic_solution(as_type(W), labels, labeled, sink=1e-20)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    np.testing.assert_allclose(found[2:, 0], [2 / 3, 2 / 3, 1 / 3, 1 / 3], atol=1e-7)


def test_what_the_factorisation_cannot_resolve_is_eliminated(monkeypatch):
    called = []
    monkeypatch.setattr(
        harmonic, "eliminate", lambda *walk: called.append(len(walk[0])) or eliminate(*walk)
    )
    W, v, labeled, sink = drowned()
    harmonic_solution(W, [1, 0, 0], labeled, sink=sink, multiplicity=v)
    assert called == [2]
    harmonic_solution(W, [1, 0, 0], labeled, sink=1.0)
    assert called == [2], "an ordinary graph needs no elimination"


# eliminate ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 200])
def test_elimination_solves_the_system(n):
    """Sizes around the block, on graphs where an ordinary solve is right."""
    rng = np.random.default_rng(n)
    W = rng.random((n, n))
    W = W + W.T
    ends = rng.random((n, 3))
    leaks = ends.sum(axis=1) + rng.random(n)
    before = W.copy(), leaks.copy(), ends.copy()
    expected = np.linalg.solve(laplacian(W) + np.diag(leaks), ends)
    np.testing.assert_allclose(eliminate(W, leaks, ends), expected, rtol=1e-12)
    for argument, copy in zip((W, leaks, ends), before, strict=True):
        np.testing.assert_array_equal(argument, copy)


@settings(max_examples=40)
@given(graph=wild_graphs())
def test_elimination_has_full_relative_accuracy(graph):
    """Also for the smallest score: relative to the answer, not to one."""
    W, v, sink = graph
    free = np.arange(len(W)) >= 2
    labeled = ~free
    W_hat = v[:, None] * W * v
    ends = W_hat[free][:, labeled]
    leaks = ends.sum(axis=1) + sink * v[free]
    found = eliminate(W_hat[np.ix_(free, free)], leaks, ends)
    for row, start in enumerate(np.flatnonzero(free)):
        expected, _ = walk_mpmath(W, v, labeled, sink, start)
        np.testing.assert_allclose(found[row], expected[:2], rtol=1e-13)


@settings(max_examples=40)
@given(graph=wild_graphs())
def test_one_adjoint_elimination_tells_where_a_walk_ends(graph):
    W, v, sink = graph
    W_hat = v[:, None] * W * v
    leaks = W_hat[2:, :2].sum(axis=1) + sink * v[2:]
    visits = eliminate(W_hat[2:, 2:], leaks, np.eye(len(W) - 2)[0])
    assert visits.shape == (len(W) - 2,)
    expected, lost = walk_mpmath(W, v, np.arange(len(W)) < 2, sink, 2)
    np.testing.assert_allclose(visits @ W_hat[2:, :2], expected[:2], rtol=1e-12)
    assert sink * (visits @ v[2:]) == pytest.approx(lost, rel=1e-12)


def test_elimination_of_walks_that_never_end():
    assert not eliminate([[0, 1], [1, 0]], [0, 0], [[0], [0]]).any()


# Reaching no label -------------------------------------------------------------------------


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), sink=st.sampled_from([0.0, 1e-12, 0.1]))
@example(seed=0, sink=0.0)
def test_an_island_scores_zero_and_changes_nothing_else(seed, sink):
    W, v = blobs(seed, 8, cutoff=1e-9, heaviest=100)
    labels, labeled = names(8)
    alone = harmonic_solution(W, labels, labeled, sink=sink, multiplicity=v)
    island, weight = np.ones((3, 3)), np.array([4, 1, 9])
    found = harmonic_solution(
        scipy.linalg.block_diag(W, island),
        np.vstack([labels, np.ones((3, 2))]),
        np.append(labeled, [False] * 3),
        sink=sink,
        multiplicity=np.append(v, weight),
    )
    np.testing.assert_array_equal(found[8:], 0.0)
    np.testing.assert_allclose(found[:8], alone, atol=1e-12)


def test_labels_absorb_so_nothing_is_known_of_another_label_behind_them():
    W = np.diag([1.0, 1.0], 1)
    W = W + W.T
    scores = harmonic_solution(W, [[0, 0], [1, 0], [0, 1]], np.array([False, True, True]), sink=0)
    np.testing.assert_array_equal(scores[0], [1, 0])


@pytest.mark.parametrize("sink", [0.0, 0.5])
@pytest.mark.parametrize("as_type", [np.asarray, scipy.sparse.csr_array])
def test_all_or_nothing_labeled(as_type, sink):
    W = as_type(np.ones((3, 3)))
    nothing = harmonic_solution(W, np.full((3, 2), np.nan), np.zeros(3, bool), sink=sink)
    np.testing.assert_array_equal(nothing, np.zeros((3, 2)))
    everything = harmonic_solution(W, [1, -1, 2], np.ones(3, bool), sink=sink)
    np.testing.assert_array_equal(everything, [1, -1, 2])


def test_no_vertices_no_scores():
    scores = harmonic_solution(np.zeros((0, 0)), np.zeros(0), np.zeros(0, bool), sink=0.1)
    assert scores.shape == (0,)


# Small laws --------------------------------------------------------------------------------


@pytest.mark.parametrize("as_type", [np.asarray, scipy.sparse.csr_array])
def test_self_similarity_is_ignored_and_nothing_is_changed(as_type):
    W, v = blobs(3, 9, cutoff=1e-9, heaviest=20)
    labels, labeled = names(9)
    bare = W - np.diag(np.diag(W))
    given_weights, given_labels = as_type(W.copy()), labels.copy()
    with_diagonal = harmonic_solution(
        given_weights, given_labels, labeled, sink=0.1, multiplicity=v
    )
    without = harmonic_solution(as_type(bare), labels, labeled, sink=0.1, multiplicity=v)
    np.testing.assert_array_equal(with_diagonal, without)
    assert abs(given_weights - as_type(W)).max() == 0
    np.testing.assert_array_equal(given_labels, labels)


@pytest.mark.parametrize("shape", [(4,), (4, 1), (4, 3)])
@pytest.mark.parametrize("dtype", [int, bool, np.float32])
def test_the_answer_has_the_shape_of_the_labels_in_float64(shape, dtype):
    labels = np.zeros(shape, dtype=dtype)
    labels[0] = 1
    scores = harmonic_solution(np.ones((4, 4)), labels, np.arange(4) < 1, sink=0.1)
    assert scores.shape == shape
    assert scores.dtype == np.float64


def test_rounding_is_no_asymmetry():
    W = np.array([[0.0, 0.1 + 0.2], [0.3, 0.0]])
    assert harmonic_solution(W, [1, 0], np.array([True, False]), sink=0)[1] == pytest.approx(1)


# Bad input ---------------------------------------------------------------------------------

GOOD = {
    "weights": np.ones((3, 3)),
    "labels": [1.0, -1.0, 0.0],
    "is_labeled": [True, True, False],
    "sink": 0.1,
    "multiplicity": [1, 2, 3],
}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"weights": np.ones((3, 2))}, r"square, got shape \(3, 2\)"),
        ({"weights": np.ones(3)}, r"square, got shape \(3,\)"),
        ({"weights": [["a", "b"], ["b", "a"]]}, "weights must be numbers"),
        ({"weights": -np.ones((3, 3))}, "not negative, got -1.0"),
        ({"weights": np.full((3, 3), np.nan)}, "finite and not negative, got nan"),
        ({"weights": np.full((3, 3), np.inf)}, "finite and not negative, got inf"),
        ({"weights": np.triu(np.ones((3, 3)))}, "from 0 to 1 it is 1.0 and back 0.0"),
        ({"weights": scipy.sparse.csr_array(-np.ones((3, 3)))}, "not negative, got -1.0"),
        ({"weights": scipy.sparse.csr_array(np.eye(3, k=1))}, "must be symmetric"),
        ({"weights": scipy.sparse.csr_array(np.ones((3, 2)))}, "square"),
        ({"labels": [1.0, -1.0]}, r"labels have shape \(2,\), but there are 3 vertices"),
        ({"labels": np.zeros((3, 1, 1))}, r"labels have shape \(3, 1, 1\)"),
        ({"labels": ["ana", "ben", ""]}, "labels must be numbers"),
        ({"labels": [1.0, np.nan, 0.0]}, "label must be finite, got nan"),
        ({"is_labeled": [1, 1, 0]}, "True or False for each vertex, got int64"),
        ({"is_labeled": [True, False]}, r"is_labeled has shape \(2,\)"),
        ({"sink": -1e-9}, "the sink must be finite and not negative, got -1e-09"),
        ({"sink": np.inf}, "the sink must be finite and not negative, got inf"),
        ({"sink": None}, "the sink"),
        ({"sink": [0.1, 0.2, 0.3]}, "the sink must be one number"),
        ({"multiplicity": [1, 2]}, r"multiplicity has shape \(2,\)"),
        ({"multiplicity": [1, 0, 2]}, "multiplicity must be above zero, got 0"),
        ({"multiplicity": [1, -1, 2]}, "multiplicity must be finite and not negative, got -1.0"),
        ({"multiplicity": [1, np.nan, 2]}, "multiplicity must be finite"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(bad, message):
    with pytest.raises(BadValue, match=message):
        harmonic_solution(**(GOOD | bad))


def test_the_good_input_is_good():
    assert harmonic_solution(**GOOD)[2] == pytest.approx((1 - 2) / (1 + 2 + 0.1))


# ---- large sparse graphs


@given(st.integers(0, 10**6), st.integers(20, 60), st.sampled_from([0.0, 1e-6, 1e-2]))
@settings(max_examples=30, deadline=None)
def test_conjugate_gradients_give_what_a_factorisation_gives(seed, n, sink):
    """Three names, one of which is not in every part; whole parts without a label."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 3 / n), 1)
    W = scipy.sparse.csr_array(W + W.T)
    labeled = rng.random(n) < 0.2
    labels = rng.integers(3, size=n)[:, None] == np.arange(3)
    expected = harmonic_solution(W, labels, labeled, sink=sink)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(harmonic, "LARGE", 3)
        patch.setattr(harmonic, "MANY_LINKS", 0)
        found = harmonic_solution(W, labels, labeled, sink=sink)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("weight", [lambda rng, n: np.ones(n), lambda rng, n: rng.random(n) ** 9])
def test_aggregates_spare_steps(monkeypatch, weight):
    """A grid with one label: equal weights, and weights of all sizes."""
    side, rng = 60, np.random.default_rng(0)
    n = side**2
    number = np.arange(n).reshape(side, side)
    ends = np.hstack([[number[:, :-1].ravel(), number[:, 1:].ravel()],
                      [number[:-1].ravel(), number[1:].ravel()]])  # fmt: skip
    W = scipy.sparse.coo_array((weight(rng, ends.shape[1]), ends), shape=(n, n)).tocsr()
    W = W + W.T
    leaks, start = np.full(n, 1e-7), np.zeros((n, 1))
    leaks[0] = start[0] = 1.0
    monkeypatch.setattr(multilevel, "MOST_STEPS", 150)
    assert abs(multilevel.solve(W, leaks, leaks[:, None]) - 1).max() < 1e-7
    monkeypatch.setattr(multilevel, "_levels", lambda W, leaks: ([], np.arange(n)))
    with pytest.raises(BadValue, match="150 steps"):
        multilevel.solve(W, leaks, start)


def test_walks_that_hardly_ever_end_are_refused_where_they_cannot_be_solved(monkeypatch):
    n = 200
    chain = scipy.sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[1, -1]).tocsr()
    first = np.arange(n) == 0
    monkeypatch.setattr(harmonic, "LARGE", 3)
    monkeypatch.setattr(harmonic, "MANY_LINKS", 0)
    np.testing.assert_allclose(harmonic_solution(chain, 1.0 * first, first, sink=0.0), 1.0)
    monkeypatch.setattr(multilevel, "MOST_STEPS", 5)
    with pytest.raises(BadValue, match="larger sink"):
        harmonic_solution(chain, 1.0 * first, first, sink=0.0)
