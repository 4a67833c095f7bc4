"""What the baselines store: vectors in order of arrival, and matrices over all pairs of them.

Unlike the learner's vectors they are all read at every step, so they are held in float64, ready to
be multiplied. When one is removed the last one moves to its index, so that nothing else moves.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from onlooker.core.checks import Floats, as_vector, insert_rows, slots_where
from onlooker.core.errors import BadValue
from onlooker.core.similarity import CLOSE, HeatKernel, squared_norms

JITTER = 1e-8
"""Added to the diagonal of K before solving: two equal examples make it singular."""


@dataclass(frozen=True, slots=True, eq=False)
class ExampleQuery:
    """A checked vector, with what is needed to compute its distances."""

    vector: Floats
    norm: float
    """|x|^2."""
    moments: Floats


class ExampleStore:
    """Vectors of one length, and the distances of a query to all of them.

    >>> store = ExampleStore(HeatKernel(bandwidth=1.0, cutoff=0.1))
    >>> for place in ([0.0], [1.0], [5.0]):
    ...     store.add(store.query(place))
    >>> store.gaps(store.query([2.0]))
    array([4., 1., 9.])
    >>> store.weights(store.query([2.0])).round(4)
    array([0.1353, 0.6065, 0.    ])
    """

    def __init__(self, kernel: HeatKernel) -> None:
        if not isinstance(kernel, HeatKernel):
            raise BadValue(f"kernel must be a HeatKernel, got {kernel!r}")
        self.kernel = kernel
        self._size = 0
        self._rows: Floats = np.zeros((0, 0))
        self._norms: Floats = np.zeros(0)
        self._moments: Floats = np.zeros((0, 0))

    def __len__(self) -> int:
        return self._size

    def query(self, x: ArrayLike) -> ExampleQuery:
        """Check an example: its length must be that of the stored ones, once there are some."""
        like = self._rows if len(self._rows) else None
        vector = as_vector(x, like=like).astype(np.float64, copy=False)
        row = vector[None]
        return ExampleQuery(
            vector, float(squared_norms(row)[0]), self.kernel.distance.moments(row)[0]
        )

    def gaps(self, query: ExampleQuery) -> Floats:
        """|x - y|^2 to every stored y, in one pass over them."""
        if not self._size:
            return np.zeros(0)
        rows = self._rows[: self._size]
        scale = self._norms[: self._size] + query.norm
        gaps: Floats = scale - 2.0 * (rows @ query.vector)
        # For vectors this close the difference of inner products is mostly rounding error.
        close = slots_where(gaps < CLOSE * scale)
        gaps[close] = squared_norms(rows[close] - query.vector)
        return gaps

    def weights(self, query: ExampleQuery, gaps: Floats | None = None) -> Floats:
        """Similarities w to every stored vector, from the gaps if these are given."""
        if not self._size:
            return np.zeros(0)
        moments = self._moments[: self._size]
        gaps = self.gaps(query) if gaps is None else gaps
        return self.kernel.weights(self.kernel.distance.squared(gaps, query.moments, moments))

    def add(self, query: ExampleQuery) -> None:
        """Store a copy of it, after the others."""
        if not len(self._rows):
            self._rows = np.zeros((0, len(query.vector)))
            self._moments = np.zeros((0, len(query.moments)))
        if self._size == len(self._rows):
            extra = max(4, self._size // 2)
            self._rows = insert_rows(self._rows, extra, 0.0)
            self._norms = insert_rows(self._norms, extra, 0.0)
            self._moments = insert_rows(self._moments, extra, 1.0)
        self._rows[self._size] = query.vector
        self._norms[self._size] = query.norm
        self._moments[self._size] = query.moments
        self._size += 1

    def remove(self, place: int) -> None:
        """Remove one; the last one moves to its index."""
        self._size -= 1
        for column in (self._rows, self._norms, self._moments):
            column[place] = column[self._size]


class PairTable:
    """A symmetric matrix over the stored examples, such as the similarity w or a kernel K.

    >>> table = PairTable()
    >>> for row in ([0.0], [1.0, 0.0], [2.0, 3.0, 0.0]):
    ...     table.add(np.array(row))
    >>> table.remove(0)
    >>> table.values
    array([[0., 3.],
           [3., 0.]])
    """

    def __init__(self) -> None:
        self._size = 0
        self._all: Floats = np.zeros((0, 0))

    @property
    def values(self) -> Floats:
        """The matrix itself, not a copy."""
        return self._all[: self._size, : self._size]

    def add(self, row: Floats) -> None:
        """Append an example: its value with each of the others, then with itself."""
        if self._size == len(self._all):
            extra = max(4, self._size // 2)
            self._all = np.pad(self._all, (0, extra))
        self._size += 1
        self._all[self._size - 1, : self._size] = row
        self._all[: self._size, self._size - 1] = row

    def remove(self, place: int) -> None:
        """Remove one; the last one moves to its index."""
        last, self._size = self._size - 1, self._size - 1
        self._all[place, :last] = self._all[last, :last]
        self._all[:last, place] = self._all[:last, last]
        self._all[place, place] = self._all[last, last]


def solved(gram: Floats, right: Floats) -> Floats:
    """(K + 1e-8 I)^-1 right, for the matrix K of a kernel.

    >>> solved(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0])).round(4)
    array([1. , 0.5])
    """
    system = np.array(gram, order="F")
    np.fill_diagonal(system, system.diagonal() + JITTER)
    try:
        factor = scipy.linalg.cho_factor(system, check_finite=False)
    except np.linalg.LinAlgError:  # rounding made K indefinite
        return np.asarray(np.linalg.lstsq(system, right)[0])
    return np.asarray(scipy.linalg.cho_solve(factor, right, check_finite=False))
