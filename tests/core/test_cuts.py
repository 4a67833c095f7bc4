"""The group beyond the narrowest link, against a literal graph with every copy of a vertex."""

import numpy as np
import pytest

from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.core.cuts import LEAST_SINK, NEARLY, beyond_narrowest_link


def learner_of(seed, *, sink, labels=(0.0,)):
    """A line of vertices with gaps, some of them heavy, and labels."""
    rng = np.random.default_rng(seed)
    learner = OnlineHarmonicLearner(HeatKernel(0.5, 1e-4), sink=sink, max_vertices=40)
    for place in labels:
        for _ in range(int(rng.integers(1, 4))):
            learner.teach([place], "ana")
    at = labels[0]
    for _ in range(10):
        at += rng.choice([0.3, 0.5, 1.5])
        for _ in range(int(rng.integers(1, 4))):
            learner.observe([at])
    return learner


def literal(learner, vertex, sink):
    """The ids of the group: copies one by one, a dense inverse, the conductance of every prefix."""
    known = learner.vertices()
    ids, v = known.ids.tolist(), known.multiplicities.tolist()
    labeled = [name is not None for name in known.names]
    gaps = abs(known.vectors - known.vectors.T)
    weights = np.exp(-(gaps**2) / (2 * 0.5**2))
    weights[weights < 1e-4] = 0.0
    weights[np.ix_(labeled, labeled)] = 0.0  # labels end a walk
    copies = np.repeat(np.arange(len(ids)), v)
    W = weights[np.ix_(copies, copies)]
    W[copies[:, None] == copies] = 1.0
    np.fill_diagonal(W, 0.0)
    merged = np.outer(v, v) * weights
    np.fill_diagonal(merged, 0.0)
    free = ~np.array(labeled)
    system = np.diag(merged.sum(axis=1) + max(sink, LEAST_SINK) * np.array(v)) - merged
    own = ids.index(vertex)
    visits = np.zeros(len(ids))
    visits[free] = np.linalg.inv(system[np.ix_(free, free)])[:, np.flatnonzero(free) == own][:, 0]
    visits[own] = np.inf
    rows = [row for row in np.argsort(-visits, kind="stable") if free[row] and visits[row] > 0]
    volume, found = W.sum(axis=1), []
    for count in range(1, len(rows) + 1):
        inside = np.isin(copies, rows[:count])
        smaller = min(volume[inside].sum(), volume[~inside].sum())
        found.append(W[np.ix_(inside, ~inside)].sum() / smaller if smaller > 0 else np.inf)
    last = np.flatnonzero(np.array(found) <= NEARLY * min(found))[-1]
    return [ids[row] for row in rows[: last + 1]]


@pytest.mark.parametrize("sink", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("seed", range(8))
def test_the_group_is_that_of_the_literal_graph(seed, sink):
    learner = learner_of(seed, sink=sink)
    graph = learner._graph
    unlabeled = [
        int(vertex)
        for vertex, name in zip(learner.vertices().ids, learner.vertices().names, strict=True)
        if name is None
    ]
    for vertex in unlabeled:
        found = beyond_narrowest_link(graph, graph.slot_of(vertex), sink)
        assert graph.ids[found].tolist() == literal(learner, vertex, sink)


def test_a_part_without_a_label_is_one_group():
    """Nothing lies beyond it: the volume of the rest is 0."""
    learner = learner_of(0, sink=0.01)
    last = int(learner.vertices().ids[-1])
    learner.teach([500.0], "ben")
    for vertex, name in list(
        zip(learner.vertices().ids.tolist(), learner.vertices().names, strict=True)
    ):
        if name == "ana":
            learner.drop(vertex)
    graph = learner._graph
    found = graph.ids[beyond_narrowest_link(graph, graph.slot_of(last), 0.01)].tolist()
    assert found[0] == last
    assert found == literal(learner, last, 0.01)
