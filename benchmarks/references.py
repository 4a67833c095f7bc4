"""What the step is compared with: the cost of merely looking, of one factorisation, and rivals."""

import warnings
from collections.abc import Callable
from time import perf_counter

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.semi_supervised import LabelPropagation

from onlooker import OnlineHarmonicLearner

PATIENCE = 20.0
"""Seconds that one call of a reference may be expected to take; longer ones are left out."""

BUDGET = 2.0
"""Seconds spent on repeating a reference; it runs once at least."""


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    before = perf_counter()
    call()
    return perf_counter() - before


def repeated(call: Callable[[], object]) -> float:
    """Median of up to twenty calls within the budget."""
    times = [seconds(call)]
    while len(times) < 20 and sum(times) < BUDGET:
        times.append(seconds(call))
    return float(np.median(times))


def spd_matrix(size: int) -> NDArray[np.float64]:
    """Something for cho_factor of the size of the graph."""
    rng = np.random.default_rng(0)
    square = rng.random((size, size))
    return np.asarray(square @ square.T + size * np.eye(size))


def all_pairs(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared Euclidean distances one by one, as the figure has them."""
    return np.asarray(cdist(rows, rows, "sqeuclidean"))


def label_propagation(learner: OnlineHarmonicLearner) -> Callable[[], object]:
    """scikit-learn's LabelPropagation, fitted again to the stored vertices."""
    known = learner.vertices()
    number = {name: index for index, name in enumerate(learner.names)}
    targets = np.array([number[name] if name else -1 for name in known.names])
    model = LabelPropagation(gamma=1 / (2 * learner.kernel.bandwidth**2))

    def refit() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(known.vectors, targets)

    return refit


def river_neighbours(
    learner: OnlineHarmonicLearner, x: NDArray[np.float32]
) -> Callable[[], object]:
    """river's KNNClassifier with a window of as many examples: predict and learn one."""
    from river.neighbors import KNNClassifier, LazySearch

    known = learner.vertices()
    model = KNNClassifier(engine=LazySearch(window_size=len(known.ids)))
    for vector, name in zip(known.vectors, known.names, strict=True):
        model.learn_one(dict(enumerate(vector.tolist())), name or learner.names[0])
    example = dict(enumerate(x.tolist()))

    def step() -> object:
        name = model.predict_one(example)
        model.learn_one(example, name)
        return name

    return step


def factorise(matrix: NDArray[np.float64]) -> object:
    """One Cholesky factorisation as scipy offers it."""
    return scipy.linalg.cho_factor(matrix)
