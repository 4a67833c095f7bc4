"""Random walks on the graph: the part of it that one walk can visit, chains, best labels.

`walk_from` builds what the solver needs; the rest explains an answer and answers for all vertices.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from onlooker.core.checks import Floats, Slots, slots_where
from onlooker.core.graph import FREE, NOBODY, UNLABELED, Graph, Neighbours
from onlooker.core.harmonic import absorbed, eliminate, green_function
from onlooker.core.records import Bridge, Link, Step
from onlooker.core.solver import Walk, compressed

NO_SLOTS: Slots = np.zeros(0, dtype=np.intp)

LARGE, LARGE_SHARE = 300, 0.6
"""A component of more vertices, and a larger share of the slots, is solved without copying it."""
COLUMNS = 512
"""Labeled vertices whose chains are searched for together: all at once would be a table of them."""


class LocalWalk(NamedTuple):
    """A walk, and the slots of its unlabeled vertices; its labels are the graph's columns."""

    walk: Walk
    members: Slots


def walk_from(graph: Graph, near: Neighbours, sink: float) -> LocalWalk:
    """The walk from an example with these neighbours, or from the vertex that absorbs it."""
    start, to_labels, neighbours, m = _start(graph, near)
    # Without a sink, vertices that reach no label would make the system singular.
    members = graph.components.reached(neighbours, graph.weights, exact=sink == 0.0)
    if near.absorber is not None:
        members = members[members != near.absorber]
    labels = graph.multiplicity[graph.rows + graph.columns].astype(np.float64)
    # With 10,000 labels this table is 40 MB: it is copied once, and changed in place.
    if len(members) > max(LARGE, LARGE_SHARE * graph.rows):
        v = np.zeros(graph.rows)
        v[members] = graph.multiplicity[members]
        members, weights = np.arange(graph.rows), graph.weights
        exits = graph.to_labels.take(graph.columns, axis=1)
        # Labels that only others are linked to: no walk from x ends there.
        exits[v == 0] = 0.0
    else:
        # In order of age: sums are added up in the same order before a restart and after it.
        members = members[graph.ids[members].argsort()]
        v = graph.multiplicity[members].astype(np.float64)
        weights = graph.weights.take(members, axis=0).take(members, axis=1)
        exits = graph.to_labels[np.ix_(members, graph.columns)]
        start = start[members]
    exits *= labels
    walk = Walk(
        weights=weights,
        multiplicity=v,
        to_labels=exits,
        start=start,
        start_to_labels=to_labels[graph.columns] * labels,
        start_multiplicity=m,
        sink=sink,
    )
    return LocalWalk(walk, members)


def _start(graph: Graph, near: Neighbours) -> tuple[Floats, Floats, Slots, float]:
    """Similarities of x to all unlabeled and labeled vertices, its neighbours, and its m."""
    if (slot := near.absorber) is not None:
        m = float(graph.multiplicity[slot] + 1)
        return graph.weights[slot], graph.to_labels[slot], np.array([slot]), m
    inner = near.unlabeled
    start, to_labels = np.zeros(graph.rows), np.zeros(graph.to_labels.shape[1])
    start[near.slots[:inner]] = near.weights[:inner]
    to_labels[near.slots[inner:] - graph.rows] = near.weights[inner:]
    return start, to_labels, near.slots[:inner], 1.0


class LabelSums(NamedTuple):
    """What links the vertices of a walk, and x, to all labeled vertices of each label together."""

    to_labels: Floats
    start_to_labels: Floats

    @classmethod
    def of(cls, walk: Walk, labels: Slots) -> Self:
        """labels: of each column, an index into the sums."""
        into = csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)))
        return cls(np.asarray(walk.to_labels @ into), np.asarray(walk.start_to_labels @ into))


def for_label(walk: Walk, own: Slots, sums: LabelSums, label: int) -> Walk:
    """The same walk with the columns of one label, `own`, and one for all others together.

    What it takes to solve it again is as much as for the examples of one person, not of all.
    """
    others, start = np.delete(sums.to_labels, label, axis=1), np.delete(sums.start_to_labels, label)
    return walk._replace(
        to_labels=np.column_stack([walk.to_labels.take(own, axis=1), others.sum(axis=1)]),
        start_to_labels=np.append(walk.start_to_labels[own], start.sum()),
    )


def ended_at(walk: Walk, rows: Slots) -> Walk:
    """The same walk, ended at some of its unlabeled vertices: a column for each after the labels.

    What the walk cannot reach without passing one of them is left out, since without a sink the
    system of a part that reaches nothing is singular.
    """
    links = walk.weights > 0
    frontier = (walk.start > 0) & (walk.multiplicity > 0)
    frontier[rows] = False
    reached = frontier
    while frontier.any():
        frontier = links[frontier].any(axis=0) & (walk.multiplicity > 0) & ~reached
        frontier[rows] = False
        reached = reached | frontier
    ended = walk.multiplicity[rows]
    return compressed(
        walk._replace(
            multiplicity=np.where(reached, walk.multiplicity, 0.0),
            to_labels=np.column_stack([walk.to_labels, walk.weights[:, rows] * ended]),
            start_to_labels=np.append(walk.start_to_labels, walk.start[rows] * ended),
        )
    )


class Chain(NamedTuple):
    """The most probable chain from x to one labeled vertex."""

    steps: tuple[Step, ...] = ()
    length: float = np.inf
    """-log of its probability."""
    weakest: Link | None = None


def chains(graph: Graph, local: LocalWalk) -> list[Chain]:
    """For each labeled vertex the most probable chain from x to it; empty where there is none.

    The probability of a chain is the product of its steps', so it is a shortest path with lengths
    -log p. Labeled vertices end a walk and have no way on: the path to one is the shortest to an
    unlabeled vertex, or to x, and one step.
    """
    walk = local.walk
    v, count = walk.multiplicity, len(walk.start_to_labels)
    inside = np.vstack([walk.start * v, walk.weights * v])
    back = np.append(0.0, walk.start * walk.start_multiplicity)
    leaving = np.append(walk.start_to_labels.sum(), walk.to_labels.sum(axis=1))
    totals = inside.sum(axis=1) + leaving + back + walk.sink
    # Older versions of scipy find paths along 32-bit indices only.
    source, target = (ends.astype(np.int32) for ends in np.nonzero(inside))
    lengths = _lengths(inside[source, target], totals[source])
    network = csr_array((lengths, (source, target + 1)), shape=(1 + len(v), 1 + len(v)))
    found, before = dijkstra(network, indices=[0], return_predecessors=True)
    begun = _begun(graph, local, inside, before[0])
    chains = list[Chain]()
    for start in range(0, count, COLUMNS):
        part = slice(start, start + COLUMNS)
        exits = np.vstack([walk.start_to_labels[part], walk.to_labels[:, part]])
        paths = found[0][:, None] + _lengths(exits, totals[:, None])
        last = paths.argmin(axis=0)
        columns = np.arange(len(last))
        slots = graph.rows + graph.columns[part]
        counts = graph.multiplicity[slots]
        similar = exits[last, columns] / counts
        ends = zip(
            graph.ids[slots].tolist(), counts.tolist(), last.tolist(),
            paths[last, columns].tolist(), similar.tolist(), strict=True,
        )  # fmt: skip
        chains += [
            Chain() if length == np.inf else _extended(begun[at], Step(*end), length, weight)
            for *end, at, length, weight in ends
        ]
    return chains


def _lengths(rates: Floats, totals: Floats) -> Floats:
    """-log of the probabilities of steps; infinite where there is none.

    A certain step has length 0, which a sparse graph would read as "no edge".
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            rates > 0, np.maximum(-np.log(rates / totals), np.finfo(float).tiny), np.inf
        )


def _extended(chain: Chain, step: Step, length: float, similarity: float) -> Chain:
    """One step more; of links that are equally weak, the first is the weakest."""
    link = Link(chain.steps[-1].vertex if chain.steps else None, step.vertex, similarity)
    weakest = chain.weakest
    if weakest is None or similarity < weakest.similarity:
        weakest = link
    return Chain((*chain.steps, step), length, weakest)


def _begun(
    graph: Graph, local: LocalWalk, inside: Floats, before: NDArray[np.int32]
) -> dict[int, Chain]:
    """The chain to each unlabeled vertex that is reached, by its row; x has number 0."""
    found = {0: Chain()}
    v = local.walk.multiplicity
    for end in range(1, len(before)):
        way = [end]
        while way[-1] not in found and before[way[-1]] >= 0:
            way.append(int(before[way[-1]]))
        if way[-1] not in found:
            continue
        for last, row in zip(reversed(way), reversed(way[:-1]), strict=False):
            similarity = float(inside[last, row - 1] / v[row - 1])
            there = step(graph, int(local.members[row - 1]))
            found[row] = _extended(found[last], there, 0.0, similarity)
    return found


def bridge(graph: Graph, local: LocalWalk, label: int) -> Bridge | None:
    """The vertex that most of the walks pass which end at a label, the oldest on a tie."""
    walk = compressed(local.walk)
    members = local.members[local.walk.multiplicity > 0]
    if not len(members):
        return None
    v, m = np.append(walk.multiplicity, walk.start_multiplicity), walk.start
    inside = np.block([[walk.weights, m[:, None]], [m[None], np.zeros((1, 1))]]) * v * v[:, None]
    columns = slots_where(graph.column_labels == label)
    leaks = np.append(walk.to_labels.sum(axis=1), walk.start_to_labels.sum()) + walk.sink
    own = walk.to_labels.take(columns, axis=1).sum(axis=1)
    own = np.append(own, walk.start_to_labels[columns].sum())
    leaks, own = leaks * v, own * v
    scores = eliminate(inside, leaks, own[:, None])[:, 0]
    if not scores[-1] > 0:
        return None
    green = green_function(inside, leaks)
    passes = green[-1, :-1] / np.diagonal(green)[:-1]
    shares = np.clip(passes * scores[:-1] / scores[-1], 0.0, 1.0)
    best = int(np.lexsort([graph.ids[members], -np.round(shares, 12)])[0])
    return Bridge(int(graph.ids[members[best]]), float(shares[best]))


def step(graph: Graph, slot: int) -> Step:
    """A vertex as a step of a chain."""
    return Step(int(graph.ids[slot]), int(graph.multiplicity[slot]))


class ClassLinks(NamedTuple):
    """The unlabeled vertices, and what links them to each other and to each label."""

    slots: Slots
    multiplicity: Floats
    weights: Floats
    """V W V among them, without a diagonal."""
    ends: Floats
    """Into each label, and in the last column into nobody: the labeled vertices of one together."""


def class_links(graph: Graph, labels: int) -> ClassLinks:
    """Sum up the links by label: 10,000 labeled vertices cost no more than one pass over them."""
    slots = slots_where(graph.label[: graph.rows] != FREE)
    v = graph.multiplicity[slots].astype(np.float64)
    weights = v[:, None] * graph.weights[np.ix_(slots, slots)] * v
    np.fill_diagonal(weights, 0.0)
    kind = np.where(graph.column_labels == NOBODY, labels, graph.column_labels)
    counts = graph.multiplicity[graph.rows + graph.columns].astype(np.float64)
    shape = graph.to_labels.shape[1], labels + 1
    into = csr_array((counts, (graph.columns, kind)), shape=shape)
    ends = np.asarray(graph.to_labels @ into)[slots]
    return ClassLinks(slots, v, weights, v[:, None] * ends)


def all_scores(links: ClassLinks, sink: float, *, ended: Slots = NO_SLOTS) -> Floats:
    """The scores of every unlabeled vertex, a column for each label and one for nobody.

    Walks end at the vertices in the slots `ended` too, and reach no label there.
    """
    passes = ~np.isin(links.slots, ended)
    ends = links.ends[passes]
    leaks = ends.sum(axis=1) + links.weights[np.ix_(passes, ~passes)].sum(axis=1)
    inside, gamma = links.weights[np.ix_(passes, passes)], sink * links.multiplicity[passes]
    scores = np.zeros(links.ends.shape)
    scores[passes] = absorbed(inside, ends, leaks, gamma)
    return scores


def best_labels(graph: Graph, labels: int, sink: float) -> Slots:
    """The best label of every vertex, in slot order, whatever a person said it is not.

    UNLABELED where none is reached.
    """
    links = class_links(graph, labels)
    scores = all_scores(links, sink)[:, :labels]
    best = np.where(scores.any(axis=1), scores.argmax(axis=1), UNLABELED)
    return np.concatenate([best, given_labels(graph)])


def given_labels(graph: Graph) -> Slots:
    """The labels of the labeled vertices, in slot order; nobody is UNLABELED."""
    given = graph.label[graph.rows :]
    given = given[given != FREE]
    return np.where(given == NOBODY, UNLABELED, given)


def unreachable(graph: Graph) -> Slots:
    """Unlabeled vertices from which no walk reaches a label."""
    inner = slots_where(graph.label[: graph.rows] != FREE)
    links = csr_array(graph.weights[np.ix_(inner, inner)])
    count, part = connected_components(links, directed=False)
    named = graph.columns[graph.column_labels != NOBODY]
    reached = np.zeros(count, dtype=bool)
    reached[part[graph.to_labels[np.ix_(inner, named)].any(axis=1)]] = True
    return inner[~reached[part]]
