"""Three yardsticks to hold the online learner against: one that sees less, two that see more."""

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.semi_supervised import LabelSpreading

from onlooker import HeatKernel, Prediction
from onlooker.core.harmonic import Weights, harmonic_solution
from onlooker.core.similarity import squared_distances_of_all
from onlooker.experiments.paper.stream import LabeledStream, Vectors

SPARSE = 0.05
"""Similarities of which a smaller share is above the cutoff are kept as a sparse matrix."""
SPREADING = {"alpha": 0.2, "max_iter": 1000}
"""scikit-learn's own alpha, with enough iterations to converge. Not its best: on digits
alpha = 0.8, found by looking at the truth, reaches about 0.95."""


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
        """Remember it."""
        self._vectors.append(x)
        self._names.append(name)

    def observe(self, x: Vectors) -> Prediction:
        """The name of the nearest labeled example."""
        gaps = np.linalg.norm(np.array(self._vectors) - x, axis=1)
        name = self._names[int(gaps.argmin())]
        return Prediction(name, {name: 1.0}, sink=0.0, vertex=None)


def offline_exact(stream: LabeledStream, kernel: HeatKernel, sink: float) -> list[str | None]:
    """The harmonic solution on all examples at once, read off at the unlabeled ones."""
    names, weights, labels = _all_at_once(stream, kernel)
    given = labels[:, None] == np.arange(len(names))
    scores = harmonic_solution(weights, given, labels >= 0, sink=sink)
    return _best(names, scores[len(stream.labeled) :])


def label_spreading(
    stream: LabeledStream, kernel: HeatKernel, sink: float = 0.0
) -> list[str | None]:
    """scikit-learn's LabelSpreading on all examples at once, with the same similarities.

    It has no sink. Where no walk leads to a label it has no opinion: nobody.
    """
    names, weights, labels = _all_at_once(stream, kernel)
    places = np.arange(len(labels))[:, None]
    model = LabelSpreading(kernel=lambda these, those: weights, **SPREADING)
    found = model.fit(places, labels).label_distributions_
    return _best(names, found[len(stream.labeled) :])


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
