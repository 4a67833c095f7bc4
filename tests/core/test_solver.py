"""The walk from one vertex against three oracles, ordinary and extreme, small and large."""

import copy
import functools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.streams import eliminated
from onlooker import ClosestPair, HeatKernel, OnlineHarmonicLearner
from onlooker.core import preconditioner, solver, walks
from onlooker.core.preconditioner import Preconditioner
from onlooker.core.solver import Walk, ends
from oracle import area, walk_dense, walk_gth, walk_mpmath

CUTOFFS = [1e-2, 1e-6, 1e-12]
SINKS = ["none", "tiny", "usual", "large"]
VERTICES = 450
"""More than the solver factorises at every step."""


def sink_of(kind, cutoff):
    return {"none": 0.0, "tiny": 1e-3 * cutoff, "usual": 10 * cutoff, "large": 1e3}[kind]


def walk_from(W, v, labeled, sink, *, also=()):
    """The solver's view of a walk from vertex 0; `also` are vertices it will never get to."""
    W, v, labeled = np.array(W, dtype=float), np.array(v, dtype=float), np.array(labeled)
    np.fill_diagonal(W, 0.0)
    inside = [i for i in area(W, labeled, 0) if not labeled[i] and i != 0]
    members = np.array(sorted({*inside, *also}), dtype=int)
    k = np.flatnonzero(labeled)
    return Walk(
        weights=W[np.ix_(members, members)],
        multiplicity=v[members],
        to_labels=W[np.ix_(members, k)] * v[k],
        start=W[0, members],
        start_to_labels=W[0, k] * v[k],
        start_multiplicity=float(v[0]),
        sink=sink,
    )


def draw_graph(seed, n, cutoff, heaviest, *, shape):
    """Similarities in [cutoff, 1], multiplicities in [1, heaviest], both of every magnitude."""
    rng = np.random.default_rng(seed)
    if shape == "cloud":
        X = rng.normal(size=(n, 2))
        reach = rng.uniform(1.0, 4.0)
        W = np.exp(((X[:, None] - X) ** 2).sum(axis=2) * (np.log(cutoff) / reach**2))
        W[cutoff > W] = 0.0
    else:
        W = np.triu(cutoff ** rng.random((n, n)), 1)
        near = np.subtract.outer(np.arange(n), np.arange(n)) >= -2
        W *= near if shape == "chain" else rng.random((n, n)) < rng.uniform(0.2, 1)
        W = W + W.T
    v = np.floor(heaviest ** rng.random(n))
    labeled = rng.random(n) < 0.25
    labeled[0], labeled[-1] = False, True
    order = np.append(0, 1 + rng.permutation(n - 1))
    return W[np.ix_(order, order)], v, labeled[order]


def assert_ends(found, expected, labeled, *, tolerance=1e-8):
    at, sink = expected
    np.testing.assert_allclose(found.labels, np.array(at)[labeled], rtol=0, atol=tolerance)
    assert abs(found.sink - sink) <= tolerance


def reaches_a_label(W, labeled):
    return any(labeled[i] for i in area(W, labeled, 0))


shapes = st.sampled_from(["cloud", "chain", "any"])
seeds = st.integers(0, 10**6)
cutoffs = st.sampled_from(CUTOFFS)
sinks = st.sampled_from(SINKS)


@given(seed=seeds, n=st.integers(2, 24), cutoff=cutoffs, sink=sinks, shape=shapes)
@settings(max_examples=300)
def test_walks_end_where_elimination_without_subtraction_says(seed, n, cutoff, sink, shape):
    W, v, labeled = draw_graph(seed, n, cutoff, 1e9, shape=shape)
    if reaches_a_label(W, labeled):
        gamma = sink_of(sink, cutoff)
        found = ends(walk_from(W, v, labeled, gamma))
        assert_ends(found, walk_gth(W, v, labeled, gamma, 0), labeled)
        assert abs(found.labels.sum() + found.sink - 1) <= 1e-9


@given(seed=seeds, n=st.integers(2, 10), cutoff=cutoffs, sink=sinks, shape=shapes)
@settings(max_examples=150)
def test_walks_end_where_fifty_digits_say(seed, n, cutoff, sink, shape):
    W, v, labeled = draw_graph(seed, n, cutoff, 1e9, shape=shape)
    if reaches_a_label(W, labeled):
        gamma = sink_of(sink, cutoff)
        expected = walk_mpmath(W, v, labeled, gamma, 0)
        assert_ends(ends(walk_from(W, v, labeled, gamma)), expected, labeled)


@given(seed=seeds, n=st.integers(2, 60), sink=st.sampled_from(["usual", "large"]), shape=shapes)
def test_walks_end_where_the_dense_inverse_says_while_it_is_valid(seed, n, sink, shape):
    W, v, labeled = draw_graph(seed, n, 1e-2, 20, shape=shape)
    gamma = sink_of(sink, 1e-2)
    if reaches_a_label(W, labeled):
        expected = walk_dense(W, v, labeled, gamma, 0)
        assert_ends(ends(walk_from(W, v, labeled, gamma)), expected, labeled)


@given(seed=seeds, n=st.integers(2, 40), cutoff=cutoffs, sink=sinks)
def test_elimination_in_rows_is_the_oracle(seed, n, cutoff, sink):
    """The reference for the large graphs below."""
    W, v, labeled = draw_graph(seed, n, cutoff, 1e9, shape="cloud")
    if reaches_a_label(W, labeled):
        at, lost = walk_gth(W, v, labeled, sink_of(sink, cutoff), 0)
        found, found_lost = eliminated(W, v, labeled, sink_of(sink, cutoff), 0)
        np.testing.assert_allclose(found, at, atol=1e-12)
        assert abs(found_lost - lost) <= 1e-12


@given(seed=seeds, cutoff=cutoffs, sink=st.sampled_from(["tiny", "usual", "large"]))
def test_vertices_that_the_walk_never_visits_change_nothing(seed, cutoff, sink):
    """A component that fell apart is recorded late; the solver may be handed too much of it."""
    W, v, labeled = draw_graph(seed, 8, cutoff, 1e9, shape="cloud")
    if not reaches_a_label(W, labeled):
        return
    apart = np.zeros((12, 12))
    apart[:8, :8] = W
    apart[8:, 8:] = 0.5
    v, labeled = np.append(v, [1, 1e3, 1e9, 1]), np.append(labeled, [False] * 4)
    gamma = sink_of(sink, cutoff)
    found = ends(walk_from(apart, v, labeled, gamma, also=[8, 9, 10, 11]))
    assert_ends(found, walk_gth(apart, v, labeled, gamma, 0), labeled)


def test_a_walk_that_sees_only_a_label_ends_there_or_in_the_sink():
    found = ends(walk_from([[0, 0.5], [0.5, 0]], [7, 3], [False, True], 0.5))
    np.testing.assert_allclose(found.labels, [1.5 / 2.0], atol=1e-15)
    assert found.sink == pytest.approx(0.5 / 2.0)


def test_a_walk_with_one_vertex_on_the_way_multiplies_its_steps():
    """x - i - label without a sink: through i or back, in the end the label."""
    chain = [[0, 0.5, 0], [0.5, 0, 0.25], [0, 0.25, 0]]
    found = ends(walk_from(chain, [1, 1, 1], [False, False, True], 0.0))
    np.testing.assert_allclose(found.labels, [1.0], atol=1e-15)
    assert found.sink == 0.0


def test_the_sink_is_not_lost_beside_multiplicities_of_a_billion():
    """design.md, section 4, number 13: three vertices on which a dense solve says 0.129."""
    W = [[0, 1, 0], [1, 0, 1e-12], [0, 1e-12, 0]]
    v = [10**9, 10**9, 1]
    labeled = [False, False, True]
    found = ends(walk_from(W, v, labeled, 1e-15))
    assert_ends(found, walk_mpmath(W, v, labeled, 1e-15, 0), labeled, tolerance=1e-12)


def heavy_pair(multiplicities, similarity, to_pair, to_label, sink):
    """A walk from x to one of two heavy vertices that are similar, or to a label."""
    W = np.zeros((4, 4))  # x, two unlabeled vertices, the label
    W[0, 1] = W[1, 0] = to_pair
    W[1, 2] = W[2, 1] = similarity
    W[0, 3] = W[3, 0] = to_label
    v, labeled = np.array([1, *multiplicities, 1]), np.array([False, False, False, True])
    return walk_from(W, v, labeled, sink), walk_mpmath(W, v, labeled, sink, 0), labeled


def with_a_free_slot(walk):
    """The same walk as part of larger tables: what the solver is given of a large component."""
    return walk._replace(
        weights=np.pad(walk.weights, ((0, 1), (0, 1))),
        multiplicity=np.append(walk.multiplicity, 0.0),
        to_labels=np.pad(walk.to_labels, ((0, 1), (0, 0))),
        start=np.append(walk.start, 0.0),
    )


HEAVY_PAIRS = [
    # of the vertex next to x, of x to that vertex, of x to the label, sink
    (1e6, 1e-12, 1e-9, 1e-15),
    (1e5, 1e-12, 1e-9, 1e-15),
    (1e4, 1e-12, 1e-10, 1e-15),
    (1e6, 1e-11, 1e-8, 1e-15),
    (1e6, 1e-12, 1e-8, 1e-14),
    (1e2, 1e-10, 1e-7, 1e-13),
]


@pytest.mark.parametrize("similarity", [0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize(("multiplicity", "to_pair", "to_label", "sink"), HEAVY_PAIRS)
def test_a_sink_behind_two_heavy_vertices_is_not_taken_for_the_label(
    similarity, multiplicity, to_pair, to_label, sink
):
    """A walk through them takes 10^15 steps before the sink ends it.

    Rounding acts as if it were never ended: Cholesky succeeds, and alone gives the label up to
    0.99 where 0.002 is right.
    """
    pair = (multiplicity, 1e9)
    walk, expected, labeled = heavy_pair(pair, similarity, to_pair, to_label, sink)
    assert_ends(ends(walk), expected, labeled)


@pytest.mark.parametrize("similarity", [0.3, 0.7])
@pytest.mark.parametrize("to_pair", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("sink", [1e-8, 1e-10])
def test_a_long_walk_is_refined_and_need_not_be_eliminated(similarity, to_pair, sink, monkeypatch):
    """Elimination takes n^3 slow operations; one refinement brings this residual down by 1000."""
    walk, expected, labeled = heavy_pair((100, 100), similarity, to_pair, 1e-6, sink)
    monkeypatch.setattr(solver, "by_elimination", None)
    assert_ends(ends(walk), expected, labeled)


@pytest.mark.parametrize("multiplicity", [1, 100])
@pytest.mark.parametrize("other", [100, 10_000, 1_000_000])
@pytest.mark.parametrize("sink", [1e-8, 1e-10])
def test_iterations_that_lost_the_sink_to_rounding_are_not_trusted(multiplicity, other, sink):
    """Their own residual is small, but wrong by more than is tolerated."""
    pair = (multiplicity, other)
    for similarity in (0.3, 0.7):
        for to_pair in (1e-8, 1e-10):
            for to_label in (1e-5, 1e-7, 1e-9):
                walk, expected, labeled = heavy_pair(pair, similarity, to_pair, to_label, sink)
                found = ends(with_a_free_slot(walk), Preconditioner())
                assert_ends(found, expected, labeled)


def test_a_label_that_is_hardly_reached_is_still_reached_in_a_large_component():
    """Its probability is below the tolerance of the iteration, which would give it 0: nobody."""
    chain = [[0, 1e-7, 0], [1e-7, 0, 1.0], [0, 1.0, 0]]
    walk = walk_from(chain, [1, 1, 1], [False, False, True], 1e3)
    found = ends(with_a_free_slot(walk), Preconditioner())
    np.testing.assert_allclose(found.labels, [1e-10 / 1001], rtol=1e-6)


# Components beyond what is factorised at every step ----------------------------------------


def expected_of(learner, x):
    """Scores by name and the sink of an example that becomes a vertex of its own."""
    vertices = learner.vertices()
    X = np.vstack([x, vertices.vectors]).astype(float)
    W = np.exp(((X[:, None] - X) ** 2).sum(axis=2) / (-2 * learner.kernel.bandwidth**2))
    W[learner.kernel.cutoff > W] = 0.0
    v = np.append(1, vertices.multiplicities).astype(float)
    labeled = np.append(False, [name is not None for name in vertices.names])
    at, sink = eliminated(W, v, labeled, learner.sink, 0)
    scores = dict.fromkeys(learner.names, 0.0)
    for name, share in zip(vertices.names, at[1:], strict=True):
        if name is not None:
            scores[name] += share
    return scores, sink


def assert_predicts_exactly(learner, x):
    scores, sink = expected_of(learner, x)
    found = learner.predict(x)
    assert found.vertex not in learner.vertices().ids  # nothing has absorbed it
    assert set(found.scores) == set(scores)
    for name, score in scores.items():
        assert abs(found.scores[name] - score) <= 1e-8, name
    assert abs(found.sink - sink) <= 1e-8


def blob_learner(*, seed, cutoff):
    """One cloud of more than 400 vertices at its budget, all of one component."""
    return copy.deepcopy(_built(seed, cutoff))


@functools.cache
def _built(seed, cutoff):
    learner = OnlineHarmonicLearner(
        HeatKernel(0.4, cutoff), max_vertices=VERTICES, quantizer=ClosestPair()
    )
    learner.teach(np.full(3, -1.0), "a")
    learner.teach(np.full(3, 1.0), "b")
    learner.observe_many(np.random.default_rng(seed).normal(size=(VERTICES + 30, 3)))
    assert len(learner) > VERTICES - 10
    return learner


@pytest.mark.parametrize("cutoff", [1e-3, 1e-12])
def test_large_components_are_answered_exactly_while_they_change(cutoff):
    rng = np.random.default_rng(7)
    learner = blob_learner(seed=1, cutoff=cutoff)
    points = rng.normal(size=(40, 3))
    for step, x in enumerate(points):
        if step % 8 == 0:
            assert_predicts_exactly(learner, x)
        learner.observe(x)
    learner.unteach(np.full(3, 1.0))
    assert_predicts_exactly(learner, points[0] + 0.01)
    learner.teach(points[1] + 0.2, "c")
    assert_predicts_exactly(learner, points[0] + 0.01)
    for vertex in learner.vertices().ids[5:60:8]:
        learner.drop(int(vertex))
        learner.observe(rng.normal(size=3))
    assert_predicts_exactly(learner, points[0] + 0.01)
    learner.merge(learner)
    assert_predicts_exactly(learner, points[0] + 0.01)


@pytest.mark.parametrize("cutoff", [1e-3, 1e-12])
def test_large_components_are_answered_exactly_at_multiplicities_of_a_billion(cutoff):
    rng = np.random.default_rng(8)
    learner = blob_learner(seed=1, cutoff=cutoff)
    heavy = OnlineHarmonicLearner(learner.kernel, max_vertices=VERTICES)
    heavy.teach(np.full(3, -1.0), "a")
    for x in learner.vertices().vectors[::40]:
        heavy.observe(x)
    for _ in range(30):
        heavy.merge(heavy)
    learner.merge(heavy)
    assert learner.vertices().multiplicities.max() > 2**30
    for x in rng.normal(size=(4, 3)):
        assert_predicts_exactly(learner, x)
        learner.observe(x)


def test_a_large_component_may_grow_beyond_its_slots_and_shrink_in_one_step():
    """The new vertex takes the first slot of a larger graph, and is merged away at once."""
    rng = np.random.default_rng(11)
    learner = blob_learner(seed=1, cutoff=1e-3)
    for step in range(4):
        learner.observe(rng.normal(size=3))  # so that there is an inverse to keep up to date
        learner.teach(rng.normal(size=3), "c")
        x = learner.vertices().vectors[100 + step] + 1e-6
        assert_predicts_exactly(learner, x)
        learner.observe(x)
    assert_predicts_exactly(learner, rng.normal(size=3))


@pytest.mark.parametrize("cutoff", [1e-3, 1e-12])
def test_a_large_component_is_not_factorised_again_while_it_changes(cutoff, monkeypatch):
    """Wrong updates of the preconditioner change no answer, but they cost the time it saves."""
    calls = Counter()
    for name in ("_inverted", "_product"):
        original = getattr(preconditioner, name)
        monkeypatch.setattr(preconditioner, name, counting(calls, name, original))
    learner, steps = blob_learner(seed=1, cutoff=cutoff), 60
    calls.clear()
    predictions = learner.observe_many(np.random.default_rng(5).normal(size=(steps, 3)))
    assert all(prediction.label is not None for prediction in predictions)
    assert calls["_inverted"] <= 1
    assert calls["_product"] <= 30 * steps  # two per iteration


def counting(calls, name, original):
    def wrapper(*arguments):
        calls[name] += 1
        return original(*arguments)

    return wrapper


def test_a_large_component_in_a_batch_answers_as_one_by_one():
    one, many = (blob_learner(seed=1, cutoff=1e-3) for _ in range(2))
    points = np.random.default_rng(9).normal(size=(20, 3))
    assert [one.observe(x) for x in points] == many.observe_many(points)


def test_a_large_component_that_reaches_no_label_ends_nowhere_without_a_sink(monkeypatch):
    """It ended nowhere with probability 0, and at no label either: labels of others counted."""
    monkeypatch.setattr(walks, "LARGE", 1)
    monkeypatch.setattr(walks, "LARGE_SHARE", 0.0)
    learner = OnlineHarmonicLearner(HeatKernel(1.0, 0.1), sink=0.0)
    for place in (0.0, 50.0):
        learner.teach([place], "ana")
        for step in range(1, 5):
            learner.observe([place + 1.5 * step])
    learner.drop(int(learner.vertices().ids[0]))
    assert learner.predict([7.0]).sink == 1.0
    assert learner.predict([57.0]).label == "ana"
