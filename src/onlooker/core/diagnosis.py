"""Do the parameters suit the data? What the stream says about the bandwidth, and what would help.

A bandwidth that is much too small makes everybody nobody, one that is much too large makes all
names alike, and either way the learner is right by its own rules. So it counts what it answers, and
warns once, after 100 examples, where the answers say more about the bandwidth than about the data.
A stream of strangers is no reason to warn: of them all are nobody with the best bandwidth.
"""

from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from onlooker.core.checks import Floats, slots_where
from onlooker.core.errors import BadValue
from onlooker.core.graph import FREE, Graph
from onlooker.core.similarity import squared_distances_of_all
from onlooker.core.suggestion import rounded, suggest

FIRST_CHECK = 100
"""Examples after which the answers are first looked at; then whenever they have doubled."""
NEARLY_ALL = 0.95
ALIKE = 0.5
"""A similarity from which on the kernel tells two examples hardly apart."""
FAR = 3.0
"""Examples that are nobody may be strangers. Where the bandwidth is right, these lie up to so many
reaches from the nearest label (faces: 1.6 to 2.1); beyond it nothing could have been linked."""
MEASURED = 100
"""How many examples that are nobody are measured; then every sixteenth."""
EVERY = 16
MOST_LABELS = 300
"""Labeled vertices whose distances are compared."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the answers and the graph say about the parameters.

    >>> from onlooker import HeatKernel, OnlineHarmonicLearner
    >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=1e-4, cutoff=1e-5))
    >>> learner.teach([0.0], "ana")
    >>> for x in range(1, 40):
    ...     _ = learner.observe([x / 10])
    >>> found = learner.diagnose()
    >>> found.observed, found.nobody, round(found.label_distance, 2), found.isolated
    (39, 39, 2.0, 1)
    >>> print(found.problem)
    100 % of 39 examples were nobody: the nearest label was 2 away in the median, and links reach \
0.00048 with bandwidth 0.0001; try bandwidth 0.41
    """

    observed: int
    """Unlabeled examples since this object was made or read, while there were labels."""
    nobody: int
    """How many of them were nobody."""
    label_distance: float | None
    """How far the nearest label was from those, in the median; None if there were none."""
    reach: float
    """How far a link reaches."""
    components: int
    """Parts of the graph that no chain joins; walks pass labeled vertices here too."""
    largest: float
    """The share of all vertices in the largest part."""
    isolated: int
    """Vertices without a link."""
    alike: float | None
    """How similar two labels with different names are, in the median; None with one name."""
    better_bandwidth: float | None
    """A bandwidth to try instead, if there is a problem."""
    problem: str
    """What is wrong, with the value and a better one; empty if nothing is."""

    def __str__(self) -> str:
        return self.problem or (
            f"{self.nobody} of {self.observed} examples were nobody; {self.components} components, "
            f"the largest has {self.largest:.0%} of the vertices, {self.isolated} are isolated"
        )


class StreamCounts:
    """What was answered, in numbers: of an example that is nobody nothing else stays.

    They belong to this object: a copy, a file or a pickle starts again from zero.

    >>> counts = StreamCounts()
    >>> counts.observed, counts.nobody
    (0, 0)
    """

    def __init__(self) -> None:
        self.observed = 0
        self.nobody = 0
        self.distances: list[float] = []
        self.due = FIRST_CHECK
        """At how many examples the answers are looked at next; 0 after a warning."""

    def __reduce__(self) -> tuple[Any, ...]:
        return StreamCounts, ()

    @property
    def measures_next(self) -> bool:
        """Whether the next example that is nobody should be measured."""
        return self.nobody < MEASURED or self.nobody % EVERY == 0

    def count(self, label: str | None, label_distance: float | None) -> bool:
        """Count an answer; whether it is time to look at all of them."""
        self.observed += 1
        if label is None:
            self.nobody += 1
            if label_distance is not None:
                self.distances = [*self.distances[1 - MEASURED :], label_distance]
        if self.observed != self.due:
            return False
        self.due *= 2
        return True


def diagnose(graph: Graph, counts: StreamCounts) -> Diagnosis:
    """Read the graph and the counts; nothing changes."""
    kernel = graph.kernel
    parts, isolated = _parts(graph)
    distance = float(np.median(counts.distances)) if counts.distances else None
    within, between = _label_gaps(graph)
    alike = float(kernel.heat(np.array(np.median(between)))) if len(between) else None
    better, problem = None, ""
    nearly_all = counts.nobody >= NEARLY_ALL * counts.observed
    too_far = distance is not None and distance > FAR * kernel.reach
    if distance is not None and nearly_all and too_far and not (within <= kernel.reach**2).any():
        better = _rounded(distance / sqrt(-2 * log(kernel.cutoff)))
        share = 100 * counts.nobody / counts.observed
        problem = (
            f"{share:.0f} % of {counts.observed} examples were nobody: the nearest label was "
            f"{distance:.2g} away in the median, and links reach {kernel.reach:.2g} with "
            f"bandwidth {kernel.bandwidth:.2g}; try bandwidth {better:.2g}"
        )
    elif alike is not None and alike > ALIKE:
        better = _suggested(graph)
        problem = (
            f"everything is one component: with bandwidth {kernel.bandwidth:.2g} two labels with "
            f"different names are {alike:.2g} similar in the median, where 1 is the same place"
            + ("" if better is None else f"; try bandwidth {better:.2g}")
        )
    return Diagnosis(
        observed=counts.observed,
        nobody=counts.nobody,
        label_distance=distance,
        reach=kernel.reach,
        components=len(parts),
        largest=float(parts.max() / parts.sum()) if len(parts) else 0.0,
        isolated=isolated,
        alike=alike,
        better_bandwidth=better,
        problem=problem,
    )


def _parts(graph: Graph) -> tuple[Floats, int]:
    """The sizes of the components, and how many vertices have no link."""
    inner = slots_where(graph.label[: graph.rows] != FREE)
    outer = graph.columns
    links = np.zeros((len(inner) + len(outer),) * 2, dtype=bool)
    links[: len(inner), : len(inner)] = graph.weights[np.ix_(inner, inner)] > 0
    links[: len(inner), len(inner) :] = graph.to_labels[np.ix_(inner, outer)] > 0
    np.fill_diagonal(links, False)
    if not len(links):
        return np.zeros(0), 0
    _, part = connected_components(csr_array(links.astype(np.int8)), directed=False)
    linked = links.any(axis=0) | links.any(axis=1)
    return np.bincount(part).astype(np.float64), int(len(links) - linked.sum())


def _label_gaps(graph: Graph) -> tuple[Floats, Floats]:
    """Squared distances of labels with the same name, and with different names."""
    places = graph.rows + graph.columns[:MOST_LABELS]
    labels = graph.label[places]
    places, labels = places[labels >= 0], labels[labels >= 0]
    if not len(places):
        return np.zeros(0), np.zeros(0)
    squared = squared_distances_of_all(graph.kernel.distance, graph.vectors.rows[places])
    pair = np.triu_indices(len(places), 1)
    same = labels[pair[0]] == labels[pair[1]]
    return squared[pair][same], squared[pair][~same]


def _suggested(graph: Graph) -> float | None:
    """A bandwidth from the stored vertices, at the cutoff of the kernel."""
    slots = graph.occupied
    labels = [int(label) if label >= 0 else None for label in graph.label[slots]]
    try:
        found = suggest(graph.vectors.rows[slots], labels, distance=graph.kernel.distance)
    except BadValue:  # all at one place
        return None
    return _rounded(found.bandwidth_at(graph.kernel.cutoff))


def _rounded(value: float) -> float:
    return rounded(value, down=True) if value > 0 else value
