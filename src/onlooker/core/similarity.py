"""How alike two examples are: a distance, and the heat kernel on top of it (Section 2.2).

Every distance here is an increasing function of the squared gap |x - y|^2 and of a few numbers
stored per vector (its *moments*). That one property has three uses: the exact distance needs one
pass over a pair; any lower bound of the gap gives a lower bound of the distance, so that most
stored vectors need not be read; and the distance of a pair depends on the pair alone, so that a
batch, a restart and a merge compute the same bits.
"""

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from onlooker.core.checks import Floats, Rows, Slots, is_number, slots_where
from onlooker.core.errors import BadValue, BadVector

CLOSE = 1e-5
"""Gaps below this share of |x|^2 + |y|^2 are computed from the difference."""

AT_ONCE = 256
"""Rows whose distances to all others are computed together."""

LONG = 512
"""From this length on, reading a vector takes longer than computing bounds from its sketch."""


@runtime_checkable
class Distance(Protocol):
    """A distance computed from the squared gap. Its repr identifies it in saved files."""

    def moments(self, rows: Rows) -> Floats:
        """What to store of each row besides its numbers, shape (n, any)."""

    def squared(self, gap: Floats, own: Floats, others: Floats) -> Floats:
        """d^2 from |x - y|^2 and the moments of x and of each y; never decreases with the gap."""


@dataclass(frozen=True)
class Euclidean:
    """The plain distance |x - y|.

    >>> HeatKernel(bandwidth=1.0, cutoff=1e-3).similarity([0.0, 0.0], [[0.0, 1.0], [9.0, 9.0]])
    array([0.60653066, 0.        ])
    """

    def moments(self, rows: Rows) -> Floats:
        """Nothing: the gap is the distance."""
        return np.empty((len(rows), 0))

    def squared(self, gap: Floats, own: Floats, others: Floats) -> Floats:
        """The gap itself."""
        return gap


@dataclass(frozen=True)
class Cosine:
    """The chord between two directions, |x/|x| - y/|y||; its square is 2 (1 - cos).

    Chosen over 1 - cos because it is a metric, so that the quantizer's guarantee holds, and
    because it equals the Euclidean distance of unit vectors.

    >>> kernel = HeatKernel(bandwidth=1.0, cutoff=1e-3, distance=Cosine())
    >>> kernel.similarity([1.0, 0.0], [[5.0, 0.0], [0.0, 0.1]])
    array([1.        , 0.36787944])
    """

    def moments(self, rows: Rows) -> Floats:
        """The length of each row, which must not be zero."""
        lengths = np.sqrt(squared_norms(rows))
        if not lengths.all():
            raise BadVector("a vector of zeros has no direction; Cosine needs one that is not zero")
        return lengths[:, None]

    def squared(self, gap: Floats, own: Floats, others: Floats) -> Floats:
        """(|x - y|^2 - (|x| - |y|)^2) / (|x| |y|), which does not cancel for near vectors."""
        lengths = others[:, 0]
        chord: Floats = (gap - (own[0] - lengths) ** 2) / (own[0] * lengths)
        np.maximum(chord, 0.0, out=chord)
        return chord


@dataclass(frozen=True)
class HeatKernel:
    """w = exp(-d^2 / (2 sigma^2)), and 0 where that is below epsilon (Section 2.2).

    bandwidth is sigma, the heat parameter; cutoff is epsilon, the radius of a neighbourhood.

    >>> kernel = HeatKernel(bandwidth=0.3, cutoff=1e-5)
    >>> round(kernel.reach, 3)
    1.44
    """

    bandwidth: float
    cutoff: float
    distance: Distance = field(default_factory=Euclidean)

    def __post_init__(self) -> None:
        if not is_number(self.bandwidth) or not 1e-15 < self.bandwidth < 1e15:
            raise BadValue(
                f"bandwidth must be a number between 1e-15 and 1e15, got {self.bandwidth!r}; "
                "scale the features if you need another"
            )
        if not is_number(self.cutoff) or not 0 < self.cutoff < 1:
            raise BadValue(
                f"cutoff must lie strictly between 0 and 1, got {self.cutoff!r}; "
                "1e-5 is a cautious start"
            )
        if not isinstance(self.distance, Distance):
            raise BadValue(
                f"distance must have moments() and squared(), got {self.distance!r}; "
                "Euclidean() and Cosine() do"
            )

    @property
    def reach(self) -> float:
        """The distance at which the similarity has fallen to the cutoff."""
        return float(self.bandwidth * np.sqrt(-2.0 * np.log(self.cutoff)))

    def heat(self, squared: Floats) -> Floats:
        """exp(-d^2 / (2 sigma^2)) from squared distances, before the cutoff."""
        heat: Floats = np.exp(squared * (-0.5 / self.bandwidth**2))
        return heat

    def weights(self, squared: Floats) -> Floats:
        """Similarities from squared distances: 0 below the cutoff."""
        heat = self.heat(squared)
        return np.where(heat < self.cutoff, 0.0, heat)

    def similarity(self, x: ArrayLike, others: ArrayLike) -> Floats:
        """Similarity of one vector to each row of others."""
        rows = np.asarray(others, dtype=np.float64)
        return self.weights(squared_distances(self.distance, np.asarray(x, np.float64), rows))


def squared_norms(rows: Rows) -> Floats:
    """|row|^2 in float64, whatever the rows are stored in."""
    wide = rows.astype(np.float64, copy=False)
    norms: Floats = np.vecdot(wide, wide)
    return norms


def squared_gaps(x: Floats, norm: float, rows: Rows, norms: Floats, slots: Slots) -> Floats:
    """|x - row|^2 in float64 for some rows of a table, given |x|^2 and all |row|^2.

    From one inner product a pair; from the plain difference where the two are so close that the
    inner product would drown in rounding (in float32, 11 % off was seen, and negative). One dot
    product per row: the result for a pair does not depend on which other rows are measured.
    """
    if len(x) < LONG:
        inner = np.vecdot(rows.take(slots, axis=0).astype(np.float64, copy=False), x)
    else:  # one by one through one buffer, which stays in the processor's cache
        inner, wide = np.empty(len(slots)), np.empty(len(x))
        for place, slot in enumerate(slots.tolist()):
            wide[:] = rows[slot]
            inner[place] = x @ wide
    scale = norms[slots] + norm
    gaps: Floats = scale - 2.0 * inner
    close = gaps < CLOSE * scale
    if close.any():
        gaps[close] = squared_norms(rows[slots[close]].astype(np.float64) - x)
    return gaps


def squared_distances(distance: Distance, x: Floats, rows: Floats) -> Floats:
    """d^2 from one vector to each row, for callers that have stored neither norms nor moments."""
    own, all_rows = x[None], np.arange(len(rows))
    gaps = squared_gaps(x, float(squared_norms(own)[0]), rows, squared_norms(rows), all_rows)
    return distance.squared(gaps, distance.moments(own)[0], distance.moments(rows))


def distances(distance: Distance, x: Rows, rows: Rows) -> Floats:
    """d from one vector to each row, in a straight line.

    >>> distances(Euclidean(), np.array([0.0]), np.array([[1.0], [3.0]]))
    array([1., 3.])
    """
    wide, all_rows = (np.asarray(some, np.float64) for some in (x, rows))
    found: Floats = np.sqrt(squared_distances(distance, wide, all_rows))
    return found


def squared_distances_of_all(distance: Distance, rows: Rows) -> Floats:
    """d^2 of all pairs of rows, some rows at a time: for offline work, n^2 numbers for n rows.

    >>> squared_distances_of_all(Euclidean(), np.array([[0.0], [1.0], [3.0]]))
    array([[0., 1., 9.],
           [1., 0., 4.],
           [9., 4., 0.]])
    """
    wide = rows.astype(np.float64, copy=False)
    norms, moments = squared_norms(wide), distance.moments(wide)
    squared = np.empty((len(wide), len(wide)))
    for start in range(0, len(wide), AT_ONCE):
        block = slice(start, start + AT_ONCE)
        scale = norms[block, None] + norms
        gaps = scale - 2.0 * (wide[block] @ wide.T)
        for row, (gap, limit) in enumerate(zip(gaps, CLOSE * scale, strict=True), start):
            close = slots_where(gap < limit)
            gap[close] = squared_norms(wide[close] - wide[row])
            squared[row] = distance.squared(gap, moments[row], moments)
    return squared
