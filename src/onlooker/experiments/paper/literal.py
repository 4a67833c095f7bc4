"""The paper's algorithm figure word for word, to time it: all distances, the whole system."""

from collections.abc import Callable

import numpy as np

from onlooker import OnlineHarmonicLearner
from onlooker.core.checks import Floats, Rows
from onlooker.core.similarity import squared_distances_of_all

AllPairs = Callable[[Floats], Floats]


def literal_figure(
    learner: OnlineHarmonicLearner, x: Rows, squared: AllPairs | None = None
) -> Callable[[], Floats]:
    """One step of the figure for x on the vertices that a learner has; calling it computes it.

    `squared` gives d^2 of all pairs of rows; the kernel's own distance unless given.

    >>> from onlooker import HeatKernel
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
