"""Random walks on the graph: the part of it that one walk can visit, chains, best labels.

`walk_from` builds what the solver needs; the rest explains an answer and answers for all vertices.
"""

from typing import NamedTuple

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
    if len(members) > max(LARGE, LARGE_SHARE * graph.rows):
        v = np.zeros(graph.rows)
        v[members] = graph.multiplicity[members]
        members, weights = np.arange(graph.rows), graph.weights
        # Labels that only others are linked to: no walk from x ends there.
        exits = graph.to_labels * (v > 0)[:, None]
    else:
        # In order of age: sums are added up in the same order before a restart and after it.
        members = members[graph.ids[members].argsort()]
        v = graph.multiplicity[members].astype(np.float64)
        weights = graph.weights.take(members, axis=0).take(members, axis=1)
        exits = graph.to_labels.take(members, axis=0)
        start = start[members]
    walk = Walk(
        weights=weights,
        multiplicity=v,
        to_labels=exits.take(graph.columns, axis=1) * labels,
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
    -log p. Labeled vertices end a walk and have no way on.
    """
    walk = local.walk
    v, exits, begin = walk.multiplicity, walk.to_labels, walk.start_to_labels
    inside = np.vstack([walk.start * v, walk.weights * v])
    moves = np.column_stack([inside, np.vstack([begin, exits])])
    back = np.append(0.0, walk.start * walk.start_multiplicity)
    totals = moves.sum(axis=1) + back + walk.sink
    # Older versions of scipy find paths along 32-bit indices only.
    source, target = (ends.astype(np.int32) for ends in np.nonzero(moves))
    # A certain step has length 0, which a sparse graph would read as "no edge".
    lengths = np.maximum(-np.log(moves[source, target] / totals[source]), np.finfo(float).tiny)
    size = 1 + moves.shape[1]
    network = csr_array((lengths, (source, target + 1)), shape=(size, size))
    found, before = dijkstra(network, indices=[0], return_predecessors=True)
    slots = np.concatenate([local.members, graph.rows + graph.columns])
    into = np.append(v, graph.multiplicity[graph.rows + graph.columns])
    similar = np.divide(moves, into, out=np.zeros_like(moves), where=into > 0)
    ends = range(1 + len(v), size)
    return [_trace(graph, slots, before[0], end, similar, float(found[0][end])) for end in ends]


def bridge(graph: Graph, local: LocalWalk, label: int) -> Bridge | None:
    """The vertex that most of the walks pass which end at a label, the oldest on a tie."""
    walk = compressed(local.walk)
    members = local.members[local.walk.multiplicity > 0]
    if not len(members):
        return None
    v, m = np.append(walk.multiplicity, walk.start_multiplicity), walk.start
    inside = np.block([[walk.weights, m[:, None]], [m[None], np.zeros((1, 1))]]) * v * v[:, None]
    exits = np.vstack([walk.to_labels, walk.start_to_labels]) * v[:, None]
    leaks = exits.sum(axis=1) + walk.sink * v
    own = exits[:, graph.column_labels == label].sum(axis=1)
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


def _trace(
    graph: Graph,
    slots: Slots,
    before: NDArray[np.int32],
    end: int,
    similar: Floats,
    length: float,
) -> Chain:
    """The chain that ends there; x has number 0, the vertex of slots[i] the number i + 1."""
    steps: list[Step] = []
    links: list[Link] = []
    if before[end] < 0:
        return Chain()
    while end != 0:
        start = int(before[end])
        steps.append(step(graph, int(slots[end - 1])))
        origin = int(graph.ids[slots[start - 1]]) if start else None
        links.append(Link(origin, steps[-1].vertex, float(similar[start, end - 1])))
        end = start
    weakest = min(reversed(links), key=lambda link: link.similarity)
    return Chain(tuple(reversed(steps)), length, weakest)


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
