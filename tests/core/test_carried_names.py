"""The name that every vertex carries, with many labels: summed up by name, not label by label."""

import tracemalloc

import numpy as np
import pytest

from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.core import walks
from onlooker.core.graph import NOBODY
from onlooker.core.harmonic import harmonic_solution


def one_by_one(graph, labels, sink, ended):
    """The scores of all vertices from one square table of all of them, labeled ones too."""
    slots = graph.occupied
    inner = slots[slots < graph.rows]
    exits = graph.to_labels[np.ix_(inner, slots[len(inner) :] - graph.rows)]
    among = np.zeros((exits.shape[1], exits.shape[1]))
    given = np.where(graph.label[slots] == NOBODY, labels, graph.label[slots])
    scores = harmonic_solution(
        np.block([[graph.weights[np.ix_(inner, inner)], exits], [exits.T, among]]),
        given[:, None] == np.arange(labels + 1),
        (slots >= graph.rows) | np.isin(slots, ended),
        sink=sink,
        multiplicity=graph.multiplicity[slots],
    )
    return scores[: len(inner)]


@pytest.mark.parametrize("seed", range(10))
def test_labels_of_one_name_together_give_the_scores_that_they_give_one_by_one(seed):
    rng = np.random.default_rng(seed)
    learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5), max_vertices=12)
    for number, x in enumerate(rng.uniform(0, 4, (60, 2))):
        match number % 5:
            case 0:
                learner.teach(x, f"name {number % 3}")
            case 1 if number % 15 == 1:
                learner.teach(x, nobody=True)
            case _:
                learner.observe(x)
    graph, count = learner.graph(), len(learner.names)
    links = walks.class_links(graph, count)
    for ended in (links.slots[:0], links.slots[::4]):
        expected = one_by_one(graph, count, learner.sink, ended)
        np.testing.assert_allclose(
            walks.all_scores(links, learner.sink, ended=ended), expected, rtol=1e-9, atol=1e-12
        )


def test_thousands_of_labels_take_no_table_of_all_their_pairs():
    learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5), max_vertices=20)
    for number in range(2000):
        learner.teach([number / 1000, 0.0], "ana" if number < 1000 else "ben")
    for y in np.linspace(0.1, 3.0, 20):
        learner.observe([0.5, y])
    tracemalloc.start()
    try:
        owners = learner.owners()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(owners) == len(learner)
    assert set(owners.values()) == {"ana", "ben"}
    assert peak < 8 * 2000 * 2000 / 4  # bytes; the table alone would take four times as many
