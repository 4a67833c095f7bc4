"""The frozen records that the learner returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Support = Literal["labeled", "direct", "inferred"]
"""How a name is supported: x is a labeled example, is linked to one, or only by way of others."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The learner's answer for one example.

    The scores are the probabilities p of Section 2.1: where a random walk from x ends. What is
    missing to 1 is the probability that it ends in the sink.

    >>> seen = Prediction("ana", {"ana": 0.7, "ben": 0.2}, sink=0.1, vertex=17)
    >>> round(seen.confidence, 3)
    0.5
    """

    label: str | None
    """The name, or None: nobody known."""
    scores: Mapping[str, float]
    """For every known name, the probability that the walk from x ends there."""
    sink: float
    """The probability that the walk ends nowhere: 1 - sum(scores)."""
    vertex: int | None
    """The id of the vertex that represents x; None for nobody."""
    candidate: str | None = None
    """The name that the walk gives, where x is too far from every label of it to carry it."""
    support: Support | None = None
    """Of the name, or of the candidate."""

    @property
    def confidence(self) -> float:
        """Best score minus second best: |l| of the paper for two names."""
        best, second = sorted((0.0, 0.0, *self.scores.values()))[:-3:-1]
        return best - second


@dataclass(frozen=True, slots=True)
class Step:
    """One vertex on a walk, and how many examples it represents.

    >>> Step(vertex=4, multiplicity=12).multiplicity
    12
    """

    vertex: int
    multiplicity: int


@dataclass(frozen=True, slots=True)
class Ending:
    """A labeled example the walk may end at: how often, and along which chain most probably.

    >>> Ending("ana", 0.9, (Step(4, 12), Step(0, 3))).vertex
    0
    """

    name: str
    share: float
    chain: tuple[Step, ...]
    """From the first vertex after x to the labeled one."""

    @property
    def vertex(self) -> int:
        """The id of the labeled vertex."""
        return self.chain[-1].vertex


@dataclass(frozen=True, slots=True)
class Link:
    """One step of a chain: from x (None) or a vertex to a vertex, and how similar they are.

    >>> Link(None, 4, 0.02).similarity
    0.02
    """

    start: int | None
    end: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Bridge:
    """The vertex that most of the walks pass which end at the name, and which share of them.

    >>> Bridge(vertex=4, share=0.97).share
    0.97
    """

    vertex: int
    share: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why: the prediction, and the labeled examples it came from, largest share first.

    >>> Explanation(Prediction(None, {}, 1.0, None), ()).endings
    ()
    """

    prediction: Prediction
    endings: tuple[Ending, ...]
    hops: int | None = None
    """Steps of the most probable chain from x to an example with the name, or the candidate."""
    weakest_link: Link | None = None
    """The least similar step of that chain."""
    bridge: Bridge | None = None
    """None where no vertex lies between x and the labels."""


@dataclass(frozen=True, slots=True)
class Question:
    """The example whose label would settle most of the stream.

    >>> Question(vertex=7, row=None, candidate="ana", gain=31.5).candidate
    'ana'
    """

    vertex: int | None
    """The id of an unlabeled vertex; None where examples were given."""
    row: int | None
    """Which of the examples that were given; None where there were none."""
    candidate: str | None
    """The name that the walk from it gives; None where it reaches no label."""
    gain: float
    """How many examples would be settled."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What one call did to the graph, in ids of vertices.

    >>> Changes(new=(7,), merged={3: 1}).merged
    {3: 1}
    """

    new: tuple[int, ...] = ()
    absorbed: tuple[int, ...] = ()
    """Vertices that absorbed an example."""
    merged: Mapping[int, int] = field(default_factory=dict)
    """Which vertex was merged into which."""
    dropped: tuple[int, ...] = ()
    labeled: tuple[int, ...] = ()
    unlabeled: tuple[int, ...] = ()
    negatives: tuple[int, ...] = ()
    """Vertices of which was said who they are not."""
    doubled: tuple[float, ...] = ()
    """The radius after each doubling."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One change to the graph, with all that it takes to repeat it without solving.

    The kinds are the fields of `Changes`. The last call's entries in order, applied to the vertices
    before it, give the vertices after it.

    >>> Entry("merged", vertex=7, into=3).into
    3
    """

    kind: str
    vertex: int
    count: int = 1
    """How many examples a new vertex represents, or how many were absorbed."""
    into: int | None = None
    """The vertex that it was merged into."""
    name: str | None = None
    """Of a labeled vertex that is new or was labeled."""
    not_names: tuple[str | None, ...] = ()
    """All names that the vertex is not, from now on; None: it is nobody."""
    vector: NDArray[np.floating[Any]] | None = None
    """Of a new vertex that is still there at the end of the call."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """How much was forgotten, and which vertices were left without a path to any label.

    Without the name: a receipt may be stored.

    >>> Receipt(labeled=4, unlabeled=31, multiplicity=812, unreachable=()).unlabeled
    31
    """

    labeled: int
    unlabeled: int
    multiplicity: int
    unreachable: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Vertices:
    """The graph's vertices in order of age; arrays are copies and read-only.

    >>> Vertices(np.array([0]), np.ones((1, 2)), np.array([3]), ("ana",)).names
    ('ana',)
    """

    ids: NDArray[np.int64]
    vectors: NDArray[np.floating[Any]]
    multiplicities: NDArray[np.int64]
    names: tuple[str | None, ...]
    negatives: Mapping[int, frozenset[str | None]] = field(default_factory=dict)
    """By id: the names that a person said a vertex is not; None: it is nobody."""


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What a learner has learned, as arrays: one row a vertex, in the order it adds them up.

    >>> columns = np.array([4]), np.ones((1, 2)), np.array([3]), np.array([0])
    >>> State(*columns, names=["ana"], radius=0.0, next_id=5).names
    ['ana']
    """

    ids: NDArray[np.int64]
    vectors: NDArray[np.floating[Any]]
    multiplicities: NDArray[np.int64]
    labels: NDArray[np.int64]
    """Indices into names; -1 where unlabeled."""
    names: list[str]
    """In the order they were first taught."""
    radius: float
    next_id: int
    """The id that the next vertex gets; none is used twice."""
    negatives: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """Rows of the id of a vertex and the index of a name that it is not; -1: it is nobody."""
