"""The graph as a map: who is linked to whom, and how strongly.

Distances are measured once for each vertex, outside the thread that owns the home: with 500 faces
of 9,216 numbers all pairs take a second, and a camera must not wait for a picture of the graph.
"""

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlooker.core.checks import Floats
from onlooker.core.records import Vertices
from onlooker.core.similarity import HeatKernel, squared_norms

LINKS = 6
"""A vertex brings its so many strongest links."""
AT_ONCE = 64
"""New vertices that are measured together."""

Link = tuple[int, int, float]


class Chart:
    """Strengths of all pairs of the vertices seen last: 1 at no distance, 0 at the cutoff."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._ids: NDArray[np.int64] = np.zeros(0, np.int64)
        self._norms: Floats = np.zeros(0)
        self._moments: Floats = np.zeros((0, 0))
        self._strengths: Floats = np.zeros((0, 0))

    def links(self, known: Vertices, kernel: HeatKernel) -> list[Link]:
        """Each link once, by places in the table; only vertices that are new are measured."""
        with self._lock:
            self._update(known.ids, known.vectors, kernel)
            return strongest(self._strengths)

    def _update(self, ids: NDArray[np.int64], vectors: NDArray[Any], kernel: HeatKernel) -> None:
        """Strengths in the order of these vertices; those that are gone are let go."""
        _, old, kept = np.intersect1d(self._ids, ids, assume_unique=True, return_indices=True)
        new = np.setdiff1d(np.arange(len(ids)), kept)
        wide = vectors.astype(np.float64, copy=False) if len(new) else np.zeros((len(ids), 0))
        fresh = kernel.distance.moments(wide[new]) if len(new) else self._moments[:0]
        norms, moments = np.zeros(len(ids)), np.zeros((len(ids), fresh.shape[1]))
        strengths = np.zeros((len(ids), len(ids)))
        if len(kept):
            norms[kept], moments[kept] = self._norms[old], self._moments[old]
            strengths[np.ix_(kept, kept)] = self._strengths[np.ix_(old, old)]
        norms[new], moments[new] = squared_norms(wide[new]), fresh
        for start in range(0, len(new), AT_ONCE):
            rows = new[start : start + AT_ONCE]
            gaps = np.maximum(norms[rows, None] + norms - 2.0 * (wide[rows] @ wide.T), 0.0)
            for row, gap in zip(rows.tolist(), gaps, strict=True):
                squared = kernel.distance.squared(gap, moments[row], moments)
                reached = np.clip(1.0 - np.sqrt(squared) / kernel.reach, 0.0, 1.0)
                strengths[row], strengths[:, row] = reached, reached
        np.fill_diagonal(strengths, 0.0)
        self._ids, self._norms, self._moments = ids.copy(), norms, moments
        self._strengths = strengths


def strongest(strengths: Floats) -> list[Link]:
    """For each row its strongest few above zero; a pair that two rows bring is one link.

    >>> strongest(np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.25], [0.0, 0.25, 0.0]]))
    [(0, 1, 0.5), (1, 2, 0.25)]
    """
    order = np.argsort(-strengths, axis=1, kind="stable")[:, :LINKS]
    rows = np.repeat(np.arange(len(strengths)), order.shape[1])
    pairs = {
        (min(i, j), max(i, j)) for i, j in zip(rows.tolist(), order.ravel().tolist(), strict=True)
    }
    return [(i, j, float(strengths[i, j])) for i, j in sorted(pairs) if strengths[i, j] > 0]
