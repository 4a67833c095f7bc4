"""Who needs whom to reach a label, after every change of a graph, against removing each in turn."""

import numpy as np
import pytest

from onlooker import HeatKernel
from onlooker.core.graph import NOBODY, UNLABELED, Graph


def reaching(W, labeled):
    """Who reaches a label: those linked to one, those linked to these, and so on."""
    found = {i for i, known in enumerate(labeled) if known}
    more = found
    while more:
        more = {int(j) for i in more for j in np.flatnonzero(W[i])} - found
        found |= more
    return found


def needed(graph):
    """Slots of unlabeled vertices without which another one reaches no label, one by one."""
    slots = [int(slot) for slot in graph.occupied]
    places = graph.vectors.rows[slots]
    gaps = np.sum((places[:, None] - places[None]) ** 2, axis=2)
    W = np.where(gaps < 1, 1.0, 0.0)
    nobody = graph.label[slots] == NOBODY  # where every walk ends, without a name
    W[nobody] = W[:, nobody] = 0
    labeled = [graph.label[slot] >= 0 for slot in slots]
    before = reaching(W, labeled)
    found = set()
    for row, slot in enumerate(slots):
        without = W.copy()
        without[row] = without[:, row] = 0
        rest = [known and other != row for other, known in enumerate(labeled)]
        if slot < graph.rows and before - {row} - reaching(without, rest):
            found.add(slot)
    reached = {slots[row] for row in before}
    return found, all(slot in reached for slot in unlabeled(graph))


def unlabeled(graph):
    return [int(slot) for slot in graph.occupied if slot < graph.rows]


@pytest.mark.parametrize("seed", range(30))
def test_needed_is_who_cuts_others_off_after_every_change(seed):
    rng = np.random.default_rng(seed)
    # Linked where closer than 1: in a square of this side chains, rings and dense parts occur.
    side = rng.uniform(1.5, 4.5)
    graph = Graph(HeatKernel(1 / np.sqrt(2), np.exp(-1)), 2, np.float64, 14)
    forest = graph.forest
    for step in range(60):
        occupied, promised = graph.occupied, set()
        if len(occupied) and rng.random() < (0.1 if len(occupied) < 10 else 0.6):
            graph.drop(int(rng.choice(occupied)))
        else:
            query = graph.query(rng.uniform(0, side, 2))
            near = graph.neighbours(query)
            label = 0 if step == 0 else int(rng.choice([0, NOBODY, UNLABELED], p=[0.1, 0.05, 0.85]))
            if step and label == UNLABELED and rng.random() < 0.5:
                promised = needed_beside(graph, near)
            slot = graph.add(query, near, label=label)
            if label == UNLABELED and rng.random() < 0.1:
                graph.exclude(slot, frozenset([0]))
        expected, all_reach = needed(graph)
        assert promised <= expected
        if rng.random() < 0.8:  # it is asked in the next step, or the one after
            graph._prepare_forest()
            some = [slot for slot in unlabeled(graph) if rng.random() < 0.8]
            found = {slot for slot in some if forest.needed(slot, graph.weights)}
            assert found == expected & set(some)
            assert forest.reached(np.array(unlabeled(graph), dtype=int)) == all_reach


def needed_beside(graph, near):
    """Who would be needed beside a new vertex with these neighbours, as far as that is sure."""
    forest = graph.forest
    graph._prepare_forest()
    inner = near.slots[: near.unlabeled]
    to_label = (graph.label[near.slots[near.unlabeled :]] >= 0).any()
    return {
        slot
        for slot in unlabeled(graph)
        if forest.needed(slot, graph.weights)
        and not forest.spares(np.array([slot]), inner, to_label=to_label)
    }


@pytest.fixture
def chain():
    """A label, then a vertex that the next one needs: it is known that it is."""
    graph = Graph(HeatKernel(1 / np.sqrt(2), np.exp(-1)), 2, np.float64, 14)
    add_at(graph, 0.0, label=0)
    holder, _ = add_at(graph, 0.8), add_at(graph, 1.6)
    graph._prepare_forest()
    assert graph.forest.needed(holder, graph.weights)
    return graph, holder


def add_at(graph, x, y=0.0, *, label=UNLABELED):
    graph.reserve(graph.unlabeled_count + 1, 1)
    query = graph.query(np.array([x, y]))
    return graph.add(query, graph.neighbours(query), label=label)


def test_who_is_needed_stays_known_while_vertices_come_elsewhere(chain):
    """What is forgotten must be searched again: it changes no answer, but takes time."""
    graph, holder = chain
    beside = add_at(graph, 0.0, 0.7)
    add_at(graph, 0.0, 1.3)
    assert graph.forest.needed(beside, graph.weights)
    assert graph.forest.known_needed[holder]


def test_who_is_needed_by_a_second_one_too_stays_known_when_the_first_goes(chain):
    graph, holder = chain
    add_at(graph, 1.6, 0.1)
    graph.drop(graph.slot_of(2))
    assert graph.forest.built
    assert graph.forest.known_needed[holder]
