"""Three yardsticks to hold the online learner against: one that sees less, two that see more."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.semi_supervised import LabelSpreading

from onlooker import HeatKernel, Prediction
from onlooker.experiments.stream import Stream, Vectors
from onlooker.harmonic import harmonic_solution

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


def offline_exact(stream: Stream, kernel: HeatKernel, sink: float) -> list[str | None]:
    """The harmonic solution on all examples at once, read off at the unlabeled ones."""
    names, vectors, labels = _all_at_once(stream)
    weights = np.array([kernel.similarity(x, vectors) for x in vectors])
    scores = harmonic_solution(
        weights, labels[:, None] == np.arange(len(names)), labels >= 0, sink=sink
    )
    best = [
        str(names[row.argmax()]) if row.any() else None for row in scores[len(stream.labeled) :]
    ]
    return best


def label_spreading(stream: Stream, kernel: HeatKernel) -> list[str | None]:
    """scikit-learn's LabelSpreading on all examples at once, with the same heat kernel."""
    names, vectors, labels = _all_at_once(stream)
    model = LabelSpreading(kernel="rbf", gamma=0.5 / kernel.bandwidth**2, **SPREADING)
    found = model.fit(vectors, labels).transduction_[len(stream.labeled) :]
    return [str(name) for name in names[found]]


def _all_at_once(stream: Stream) -> tuple[NDArray[np.str_], Vectors, NDArray[Any]]:
    """The names, all vectors (labeled ones first), and the number of each label or -1."""
    names, labels = np.unique(np.array(stream.names), return_inverse=True)
    vectors = np.vstack([stream.labeled, stream.unlabeled])
    return names, vectors, np.append(labels, np.full(len(stream.unlabeled), -1))
