"""The compact solution of Section 3.1: Proposition 1 in numbers, and its use on a stream.

A graph with identical vertices has the same harmonic solution as the graph W of distinct ones with
multiplicities v: V W V for the weights, gamma_g V for the sinks. Random graphs are solved both
ways; the difference is rounding error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from onlooker import Doubling, HeatKernel
from onlooker.core.graph import Graph
from onlooker.core.harmonic import harmonic_solution
from onlooker.experiments.parallel import spread

Floats = NDArray[np.float64]

SEEDS = 10
SIZES = (10, 30, 100)
COPIES = (1, 2, 5, 20)
KERNEL = HeatKernel(bandwidth=0.5, cutoff=1e-5)
SINKS = (1e-4, 0.1, 10.0)


@dataclass(frozen=True, slots=True)
class CompactJob:
    """Random points, some of them repeated."""

    vertices: int
    copies: int
    """The most examples of a vertex; on average there are half as many."""
    sink: float
    seed: int


@dataclass(frozen=True, slots=True)
class CompactRow:
    """One graph, solved in full and compactly."""

    vertices: int
    copies: int
    sink: float
    seed: int
    examples: int
    """Vertices of the full graph."""
    difference: float
    """The largest between the two solutions."""


def weights(vectors: Floats, kernel: HeatKernel = KERNEL) -> Floats:
    """W, without self-similarity."""
    similar = kernel.weights(cdist(vectors, vectors, "sqeuclidean"))
    np.fill_diagonal(similar, 0.0)
    return similar


def measure(job: CompactJob) -> CompactRow:
    """Solve one random graph both ways.

    >>> measure(CompactJob(vertices=10, copies=5, sink=0.1, seed=0)).difference < 1e-10
    True
    """
    rng = np.random.default_rng(job.seed)
    points = rng.normal(size=(job.vertices, 2))
    v = rng.integers(1, job.copies + 1, size=job.vertices)
    labeled = np.arange(job.vertices) < max(2, job.vertices // 10)
    labels = np.where(np.arange(job.vertices) % 2, 1.0, -1.0)
    compact = harmonic_solution(weights(points), labels, labeled, sink=job.sink, multiplicity=v)
    which = np.repeat(np.arange(job.vertices), v)
    full = harmonic_solution(weights(points[which]), labels[which], labeled[which], sink=job.sink)
    return CompactRow(
        job.vertices,
        job.copies,
        job.sink,
        job.seed,
        len(which),
        float(abs(full - compact[which]).max()),
    )


def run(
    seeds: int = SEEDS, *, sizes: Sequence[int] = SIZES, copies: Sequence[int] = COPIES
) -> list[CompactRow]:
    """Every size with every number of copies and every sink."""
    jobs = [
        CompactJob(size, most, sink, seed)
        for size in sizes
        for most in copies
        for sink in SINKS
        for seed in range(seeds)
    ]
    return spread(measure, jobs, what="compact", cost=lambda job: job.vertices * job.copies)


def table(rows: Sequence[CompactRow]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A header, and a row for each size and number of copies: the worst of all seeds and sinks."""
    groups: dict[tuple[int, int], list[CompactRow]] = {}
    for row in rows:
        groups.setdefault((row.vertices, row.copies), []).append(row)
    lines: list[tuple[str, ...]] = [
        (
            str(vertices),
            str(copies),
            f"{sum(row.examples for row in group) / len(group):.0f}",
            f"{max(row.difference for row in group):.1e}",
        )
        for (vertices, copies), group in groups.items()
    ]
    return ("distinct vertices", "copies at most", "examples", "largest difference"), lines


def finding(rows: Sequence[CompactRow]) -> str:
    """The rows as a sentence.

    >>> row = CompactRow(vertices=10, copies=5, sink=0.1, seed=0, examples=31, difference=2e-16)
    >>> finding([row])
    'In 1 random graphs of up to 31 examples at 10 places, the compact solution of ... by 2.0e-16.'
    """
    largest = max(rows, key=lambda row: row.examples)
    worst = max(row.difference for row in rows)
    return (
        f"In {len(rows)} random graphs of up to {largest.examples} examples at {largest.vertices} "
        "places, the compact solution of Proposition 1 and the full one differ at most "
        f"by {worst:.1e}."
    )


def online_compact(
    vectors: Floats,
    signs: Floats,
    steps: Sequence[int],
    *,
    kernel: HeatKernel,
    sink: float,
    n_g: int,
    radius: float = 0.0,
) -> tuple[Floats, Floats]:
    """lh_t[t] at some steps of a stream whose first examples have signs, the rest none.

    The figure with the paper's doubling, starting with R, but only unlabeled examples are
    quantized: labels keep a weight of 1 and absorb nothing, and outliers stay. Returns also the
    vector that represents each example in the end.
    """
    n_l, represented = len(signs), vectors.copy()
    graph = Graph(kernel, vectors.shape[1], np.float64, n_g)
    scores, places, measured = [], [], set(steps)
    for t in range(n_l, len(vectors)):
        query = graph.query(vectors[t])
        near = graph.neighbours(query, radius)
        slot = near.absorber
        if slot is None:
            slot = graph.add(query, near)
        else:
            graph.absorb(slot)
        if t in measured:
            scores.append(_score(graph, slot, vectors[:n_l], signs, sink))
        places.append(int(graph.ids[slot]))
        radius = max([radius, *Doubling().shrink(graph, n_g, radius)])
    merged = {event.vertex: event.into_vertex for event in graph.log if event.kind == "merged"}
    where = {int(graph.ids[slot]): graph.vectors.rows[slot] for slot in graph.occupied}
    represented[n_l:] = [where[merged_into(merged, place)] for place in places]
    return np.array(scores), represented


def merged_into(merged: dict[int, int], vertex: int) -> int:
    """The vertex that a vertex has become part of, after any number of merges."""
    while vertex in merged:
        vertex = merged[vertex]
    return vertex


def _score(graph: Graph, slot: int, labeled: Floats, signs: Floats, sink: float) -> float:
    """The compact solution on labels and representatives, at one of the latter."""
    slots, n_l = graph.occupied, len(signs)
    similar = weights(np.vstack([labeled, graph.vectors.rows[slots]]), graph.kernel)
    given = np.concatenate([signs, np.zeros(len(slots))])
    v = np.concatenate([np.ones(n_l), graph.multiplicity[slots]])
    known = np.arange(len(given)) < n_l
    solved = harmonic_solution(similar, given, known, sink=sink, multiplicity=v)
    return float(solved[n_l + int(np.searchsorted(slots, slot))])
