"""From the graph to a walk on it: what the solver needs, and what a person wants to know of it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from onlooker.arrays import Slots
from onlooker.graph import UNLABELED, Graph, Near
from onlooker.harmonic import harmonic_solution
from onlooker.records import Step
from onlooker.solver import Walk

LARGE, LARGE_SHARE = 300, 0.6
"""A component of more vertices, and a larger share of the slots, is walked where it stands."""


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """A walk, and which slots its unlabeled and labeled vertices are."""

    walk: Walk
    members: Slots
    labeled: Slots


def surroundings(graph: Graph, near: Near, absorber: int | None, sink: float) -> Surroundings:
    """The walk of an example with these neighbours, or of the vertex that absorbs it."""
    # Without a sink, vertices that reach no label would make the system singular.
    exact = sink == 0.0
    if absorber is None:
        members = graph.members(near.slots, exact=exact)
        start = np.zeros(len(graph.ids))
        start[near.slots] = near.weights
        multiplicity = 1.0
    else:
        members = graph.members(np.array([absorber]), exact=exact)
        members = members[members != absorber]
        start = graph.weights[absorber]
        multiplicity = float(graph.multiplicity[absorber] + 1)
    labeled = graph.labeled
    weight_of_labels = graph.multiplicity[labeled].astype(np.float64)
    if len(members) > max(LARGE, LARGE_SHARE * len(graph.ids)):
        v = np.zeros(len(graph.ids))
        v[members] = graph.multiplicity[members]
        members, weights = np.arange(len(graph.ids)), graph.weights
        to_labels = graph.weights.take(labeled, axis=0).T
    else:
        v = graph.multiplicity[members].astype(np.float64)
        rows = graph.weights.take(members, axis=0)
        weights, to_labels = rows.take(members, axis=1), rows.take(labeled, axis=1)
    walk = Walk(
        weights=weights,
        multiplicity=v,
        to_labels=to_labels * weight_of_labels,
        start=start[members],
        start_to_labels=start[labeled] * weight_of_labels,
        start_multiplicity=multiplicity,
        sink=sink,
    )
    return Surroundings(walk, members, labeled)


def chains(graph: Graph, around: Surroundings) -> list[tuple[Step, ...]]:
    """For each labeled vertex the most probable chain from x to it; empty where there is none.

    The probability of a chain is the product of its steps', so it is a shortest path with lengths
    -log p. Labeled vertices end a walk and have no way on.
    """
    walk = around.walk
    v, exits, begin = walk.multiplicity, walk.to_labels, walk.start_to_labels
    inside = np.vstack([walk.start * v, walk.weights * v])
    moves = np.column_stack([inside, np.vstack([begin, exits])])
    back = np.append(0.0, walk.start * walk.start_multiplicity)
    totals = moves.sum(axis=1) + back + walk.sink
    source, target = np.nonzero(moves)
    # A certain step has length 0, which a sparse graph would read as "no edge".
    lengths = np.maximum(-np.log(moves[source, target] / totals[source]), np.finfo(float).tiny)
    size = 1 + moves.shape[1]
    network = csr_array((lengths, (source, target + 1)), shape=(size, size))
    _, before = dijkstra(network, indices=[0], return_predecessors=True)
    slots = np.concatenate([around.members, around.labeled])
    return [_trace(graph, slots, before[0], 1 + len(v) + k) for k in range(len(begin))]


def step(graph: Graph, slot: int) -> Step:
    """A vertex as a step of a chain."""
    return Step(int(graph.ids[slot]), int(graph.multiplicity[slot]))


def _trace(graph: Graph, slots: Slots, before: NDArray[np.int32], end: int) -> tuple[Step, ...]:
    steps: list[Step] = []
    if before[end] < 0:
        return ()
    while end != 0:
        steps.append(step(graph, int(slots[end - 1])))
        end = int(before[end])
    return tuple(reversed(steps))


def best_labels(graph: Graph, labels: int, sink: float) -> Slots:
    """The best label of every vertex, in slot order; UNLABELED where none is reached."""
    slots = graph.occupied
    given = graph.label[slots]
    scores = harmonic_solution(
        graph.weights[np.ix_(slots, slots)],
        given[:, None] == np.arange(labels),
        given >= 0,
        sink=sink,
        multiplicity=graph.multiplicity[slots],
    )
    return np.where(scores.any(axis=1), scores.argmax(axis=1), UNLABELED)


def unreachable(graph: Graph) -> Slots:
    """Unlabeled vertices from which no walk reaches a label."""
    free = np.flatnonzero(graph.label == UNLABELED)
    links = csr_array(graph.weights[np.ix_(free, free)])
    count, part = connected_components(links, directed=False)
    touches = np.asarray(graph.weights[np.ix_(free, graph.labeled)].any(axis=1))
    reached = np.zeros(count, dtype=bool)
    reached[part[touches]] = True
    return free[~reached[part]]
