"""References for the online learner: methods that know less or more than it, and the plain figure.

`NearestLabeled` learns from the labeled examples only. `offline_exact` and `label_spreading` know
all examples in advance, which no stream allows. `literal_figure` is one step of the paper's
algorithm figure without any of our shortcuts, to time it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from onlooker import HeatKernel, OnlineHarmonicLearner, Prediction
from onlooker.core.checks import Floats, Rows
from onlooker.core.harmonic import Weights, harmonic_solution
from onlooker.core.similarity import squared_distances_of_all

Vectors = NDArray[np.floating[Any]]
AllPairs = Callable[[Floats], Floats]

SPARSE = 0.05
"""Similarities of which a smaller share is above the cutoff are stored as a sparse matrix."""
SPREADING = {"alpha": 0.2, "max_iter": 1000}
"""scikit-learn's own alpha, with enough iterations to converge. Not its best: on digits
alpha = 0.8, found by looking at the truth, reaches about 0.95."""


@dataclass(frozen=True, slots=True, eq=False)
class LabeledStream:
    """A few labeled examples, then unlabeled ones; their true names are used for scoring only."""

    labeled: Vectors
    names: Sequence[str]
    unlabeled: Vectors
    truth: Sequence[str]


class NearestLabeled:
    """1-NN on the labeled examples: learns nothing from the stream.

    >>> nearest = NearestLabeled()
    >>> nearest.teach(np.array([0.0]), "ana")
    >>> nearest.teach(np.array([1.0]), "ben")
    >>> nearest.observe(np.array([0.6])).label
    'ben'
    """

    def __init__(self) -> None:
        self._vectors: list[Vectors] = []
        self._names: list[str] = []

    def __len__(self) -> int:
        return len(self._names)

    def teach(self, x: Vectors, name: str) -> None:
        """Store a labeled example."""
        self._vectors.append(x)
        self._names.append(name)

    def observe(self, x: Vectors) -> Prediction:
        """The name of the nearest labeled example."""
        gaps = np.linalg.norm(np.array(self._vectors) - x, axis=1)
        name = self._names[int(gaps.argmin())]
        return Prediction(name, {name: 1.0}, sink=0.0, vertex=None)


def offline_exact(stream: LabeledStream, kernel: HeatKernel, sink: float) -> list[str | None]:
    """The names that the harmonic solution on all examples gives to the unlabeled ones."""
    names, weights, labels = _all_at_once(stream, kernel)
    given = labels[:, None] == np.arange(len(names))
    scores = harmonic_solution(weights, given, labels >= 0, sink=sink)
    return _best(names, scores[len(stream.labeled) :])


def label_spreading(
    stream: LabeledStream, kernel: HeatKernel, sink: float = 0.0
) -> list[str | None]:
    """scikit-learn's LabelSpreading on all examples at once, with the same similarities.

    It has no sink. Where no walk leads to a label it gives no distribution: nobody.
    """
    names, weights, labels = _all_at_once(stream, kernel)
    places = np.arange(len(labels))[:, None]
    from sklearn.semi_supervised import LabelSpreading  # the demo works without scikit-learn

    model = LabelSpreading(kernel=lambda these, those: weights, **SPREADING)
    found = model.fit(places, labels).label_distributions_
    return _best(names, found[len(stream.labeled) :])


def literal_figure(
    learner: OnlineHarmonicLearner, x: Rows, squared: AllPairs | None = None
) -> Callable[[], Floats]:
    """One step of the figure for x on a learner's vertices: all distances, the whole system.

    Calling the result computes the step. `squared` gives d^2 of all pairs of rows; the kernel's
    own distance unless given.

    >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=1.0, cutoff=1e-3))
    >>> learner.teach([0.0], "ana")
    >>> step = literal_figure(learner, np.array([1.0]))
    >>> bool(abs(step()[-1, 0] - learner.predict([1.0]).scores["ana"]) < 1e-12)
    True
    """
    known, kernel = learner.vertices(), learner.kernel
    points = np.vstack([known.vectors, x]).astype(np.float64)
    v = np.append(known.multiplicities, 1).astype(np.float64)
    labeled = np.array([name is not None for name in known.names] + [False])
    names = np.array([name or "" for name in known.names] + [""])
    labels = (names[:, None] == np.array(learner.names)).astype(np.float64)
    all_pairs = squared or (lambda rows: squared_distances_of_all(kernel.distance, rows))

    def step() -> Floats:
        merged = kernel.weights(all_pairs(points)) * v * v[:, None]
        system = np.diag(merged.sum(axis=1)) - merged + learner.sink * np.diag(v)
        free = ~labeled
        return np.linalg.solve(
            system[np.ix_(free, free)], merged[np.ix_(free, labeled)] @ labels[labeled]
        )

    return step


def _best(names: NDArray[np.str_], scores: NDArray[np.float64]) -> list[str | None]:
    return [str(names[row.argmax()]) if row.any() else None for row in scores]


def _all_at_once(
    stream: LabeledStream, kernel: HeatKernel
) -> tuple[NDArray[np.str_], Weights, NDArray[Any]]:
    """The names, all similarities (labeled examples first), and the number of each label or -1."""
    names, labels = np.unique(np.array(stream.names), return_inverse=True)
    vectors = np.vstack([stream.labeled, stream.unlabeled])
    weights = kernel.weights(squared_distances_of_all(kernel.distance, vectors))
    few = np.count_nonzero(weights) < SPARSE * weights.size
    return (
        names,
        scipy.sparse.csr_array(weights) if few else weights,
        np.append(labels, np.full(len(stream.unlabeled), -1)),
    )
