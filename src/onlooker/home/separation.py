"""How well a learner tells apart the people whom it knows: the distances of their faces.

Strangers alone are the wrong bound: a father and his daughter are nearer to each other than any
stranger is to either. So the faces of every two people are compared, labeled and learned ones. Two
faces nearer than the kernel's reach are linked: walks go from the one person to the other. A face
within the trust radius of somebody's label may carry that name.

The radius that is proposed is the largest that ends before the nearest face of somebody else, and
no larger than `most`, which comes from strangers. People who are linked do not bound it: no radius
separates them, but "not ana", said of the face of ben from which most walks end at ana, does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import floor, log10
from typing import Literal

import numpy as np

from onlooker.core import walks
from onlooker.core.checks import Floats
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Vertices
from onlooker.core.similarity import distances

LEAST_DOUBT = 0.01
"""The share of walks from a learned face to another name from which a "not" is worth saying."""

Alikeness = Literal["labels", "faces", "radius"]
"""Two labeled faces are linked; any two faces are; a face is within the trust radius of a label."""


@dataclass(frozen=True, slots=True)
class FacePair:
    """A face of the first person of a pair and one of the second, by vertex.

    >>> FacePair(1.07, 3, 12).distance
    1.07
    """

    distance: float
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class DoubtfulFace:
    """A learned face from which some walks end at somebody else's labels.

    >>> DoubtfulFace(12, "ben", "ana", 0.2).not_name
    'ana'
    """

    vertex: int
    name: str
    not_name: str
    """Say that it is not this person."""
    share: float
    """Of the walks."""


@dataclass(frozen=True, slots=True)
class PersonSpread:
    """How far the faces of one person are from those that were labeled.

    >>> PersonSpread("ana", 2, 0.8, (0.4, 1.1)).beyond(1.05)
    1
    """

    name: str
    labeled: int
    widest: float | None
    """Between two labeled faces; None: there is one."""
    learned: tuple[float, ...]
    """The distance of each learned face to the nearest labeled one, the nearest first."""

    def beyond(self, radius: float) -> int:
        """How many learned faces would be questions with a trust radius."""
        return sum(distance > radius for distance in self.learned)


@dataclass(frozen=True, slots=True)
class PeoplePair:
    """The nearest faces of two people."""

    first: str
    second: str
    nearest: FacePair
    """Any two faces."""
    near_label: FacePair
    """At least one of them labeled."""
    alike: Alikeness | None
    """Why the two are too alike; None: they are not."""
    doubt: DoubtfulFace | None
    """Where saying who it is not helps most; None: no walk goes from the one to the other."""


@dataclass(frozen=True, slots=True)
class Separation:
    """All people and all pairs of them, the nearest pair first."""

    people: tuple[PersonSpread, ...]
    pairs: tuple[PeoplePair, ...]
    reach: float
    """Faces nearer than this are linked."""
    trust_radius: float | None
    """That of the learner."""
    proposed: float | None
    """A trust radius within which nobody's label has a face of somebody else; None: nothing bounds
    it."""

    @property
    def too_alike(self) -> tuple[PeoplePair, ...]:
        """The pairs that need a person's attention."""
        return tuple(pair for pair in self.pairs if pair.alike)


def separation(learner: OnlineHarmonicLearner, *, most: float | None = None) -> Separation:
    """Compare everybody with everybody. most: the largest radius that strangers allow.

    >>> from onlooker import HeatKernel
    >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> for x, name in ((0.0, "ana"), (4.0, "ben"), (4.5, "cem")):
    ...     learner.teach([x], name)
    >>> found = separation(learner)
    >>> [(pair.first, pair.second, pair.alike) for pair in found.pairs]
    [('ben', 'cem', 'labels'), ('ana', 'ben', None), ('ana', 'cem', None)]
    >>> found.proposed
    3.99
    """
    known, carried = learner.vertices(), learner.owners()
    rows: dict[str, list[int]] = {name: [] for name in learner.names}
    for row, vertex in enumerate(known.ids.tolist()):
        name = carried[vertex]
        if name is not None:
            rows[name].append(row)
    gaps = {name: _gaps(learner, known, own) for name, own in rows.items()}
    people = tuple(_spread(known, gaps[name], rows[name], name) for name in rows)
    doubts = _doubts(learner, known, rows)
    pairs = [
        _pair(learner, known, gaps[first], rows, (first, second), doubts)
        for first, second in combinations(rows, 2)
    ]
    pairs.sort(key=lambda pair: pair.nearest.distance)
    reach = learner.kernel.reach
    bounds = [pair.near_label.distance for pair in pairs if pair.nearest.distance >= reach]
    largest = [_rounded_down(min(bounds) * (1 - 1e-9))] if bounds else []
    largest += [] if most is None else [most]
    proposed = min(largest, default=None)
    return Separation(people, tuple(pairs), reach, learner.trust_radius, proposed)


def _gaps(learner: OnlineHarmonicLearner, known: Vertices, own: Sequence[int]) -> Floats:
    """The distances of some vertices to all, a row each."""
    everything = known.vectors.astype(np.float64)
    return np.array(
        [distances(learner.kernel.distance, everything[row], everything) for row in own]
    )


def _spread(known: Vertices, gaps: Floats, own: Sequence[int], name: str) -> PersonSpread:
    is_label = np.array([known.names[row] == name for row in own])
    labels = np.array(own)[is_label]
    learned = gaps[~is_label][:, labels].min(axis=1)
    widest = float(gaps[is_label][:, labels].max()) if len(labels) > 1 else None
    return PersonSpread(name, len(labels), widest, tuple(sorted(learned.tolist())))


def _pair(
    learner: OnlineHarmonicLearner,
    known: Vertices,
    gaps: Floats,
    rows: dict[str, list[int]],
    names: tuple[str, str],
    doubts: dict[frozenset[str], DoubtfulFace],
) -> PeoplePair:
    own, theirs = (rows[name] for name in names)
    between = gaps[:, theirs]
    mine, others = (
        np.array([known.names[row] is not None for row in some]) for some in (own, theirs)
    )
    nearest = _nearest(known, between, own, theirs)
    one_labeled = np.where(mine[:, None] | others, between, np.inf)
    near_label = _nearest(known, one_labeled, own, theirs)
    alike: Alikeness | None = None
    if between[np.ix_(mine, others)].min() < learner.kernel.reach:
        alike = "labels"
    elif nearest.distance < learner.kernel.reach:
        alike = "faces"
    elif learner.trust_radius is not None and near_label.distance <= learner.trust_radius:
        alike = "radius"
    return PeoplePair(*names, nearest, near_label, alike, doubts.get(frozenset(names)))


def _nearest(
    known: Vertices, between: Floats, own: Sequence[int], theirs: Sequence[int]
) -> FacePair:
    row, column = divmod(int(between.argmin()), len(theirs))
    ids = int(known.ids[own[row]]), int(known.ids[theirs[column]])
    return FacePair(float(between[row, column]), *ids)


def _doubts(
    learner: OnlineHarmonicLearner, known: Vertices, rows: dict[str, list[int]]
) -> dict[frozenset[str], DoubtfulFace]:
    """For each two people, the learned face of the one that is most the other."""
    names = list(rows)
    if len(names) < 2:
        return {}
    graph = learner.graph()
    links = walks.class_links(graph, len(names))
    scores = walks.all_scores(links, learner.sink)[:, : len(names)]
    by_vertex = dict(zip(graph.ids[links.slots].tolist(), scores, strict=True))
    found = [
        DoubtfulFace(vertex, name, other, float(by_vertex[vertex][at]))
        for name, own in rows.items()
        for vertex in (int(known.ids[row]) for row in own if known.names[row] is None)
        for at, other in enumerate(names)
        if other != name and by_vertex[vertex][at] >= LEAST_DOUBT
    ]
    places = {vertex: row for row, vertex in enumerate(known.ids.tolist())}
    best: dict[frozenset[str], DoubtfulFace] = {}
    for face in sorted(found, key=lambda face: -face.share):
        pair = frozenset((face.name, face.not_name))
        if pair in best:
            continue
        # The solution of all vertices does not know what was said before; a prediction does.
        said = learner.predict(known.vectors[places[face.vertex]]).scores[face.not_name]
        if said >= LEAST_DOUBT:
            best[pair] = replace(face, share=said)
    return best


def _rounded_down(value: float) -> float:
    """Three digits, downwards.

    >>> _rounded_down(1.0873), _rounded_down(0.13456), _rounded_down(0.0)
    (1.08, 0.134, 0.0)
    """
    if value <= 0:
        return 0.0
    unit = 10.0 ** (floor(log10(value)) - 2)
    return float(f"{floor(value / unit) * unit:.3g}")
