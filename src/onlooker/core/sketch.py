"""Short stand-ins for vectors, from which a distance can be bounded but never overestimated.

Let Q have orthonormal rows, z = Q (x - o) for a fixed origin o, and r the length of what Q does
not see of x - o. By Cauchy-Schwarz <x - o, y - o> <= <z_x, z_y> + r_x r_y, so the squared gap of
the sketches (z, r) is never larger than the squared gap |x - y|^2. A vertex whose sketch is too
far away need not be read, and no answer changes. Q may be empty (only lengths are compared) or
everything (the sketch is the vector in single precision).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from onlooker.core.checks import Floats, Rows
from onlooker.core.similarity import squared_norms

WIDTH = 96
"""Coordinates of a learned sketch at the most: fewer let more long rows be read in vain."""

UNSEEN = 1e-3
"""The share of the spread that a learned sketch may leave unseen if it can be shorter for it."""


class Sketch(Protocol):
    """A way to shorten vectors. A distance may bring its own (`onlooker.vision.pixels` does)."""

    @property
    def width(self) -> int:
        """How many numbers a sketch has."""

    @property
    def slack(self) -> float:
        """What rounding may take from a gap, relative to |x - o|^2 + |y - o|^2."""

    def project(self, rows: Rows) -> tuple[NDArray[np.float32], Floats]:
        """Sketches of the rows, and |row - o|^2."""


@dataclass(frozen=True, eq=False)
class Along:
    """Where to look from, and along which directions (None: along every coordinate)."""

    origin: Rows
    basis: NDArray[np.float32] | None

    @property
    def width(self) -> int:
        """The directions, and one for what they do not see."""
        return self.origin.size if self.basis is None else len(self.basis) + 1

    @cached_property
    def slack(self) -> float:
        """What single precision may take from a gap, relative to |x - o|^2 + |y - o|^2.

        Projecting sums as many products as the vector has numbers, comparing sums WIDTH more;
        each loses at most half a unit in the last place.
        """
        return float((2 * len(self.origin) + 64) * np.finfo(np.float32).eps)

    def project(self, rows: Rows) -> tuple[NDArray[np.float32], Floats]:
        """Sketches of the rows, and |row - o|^2."""
        seen = rows - self.origin
        norms = squared_norms(seen)
        narrow = seen.astype(np.float32, copy=False)
        if self.basis is None:
            return narrow, norms
        sketches = np.empty((len(rows), len(self.basis) + 1), dtype=np.float32)
        np.matmul(narrow, self.basis.T, out=sketches[:, :-1])
        sketches[:, -1] = remainder(norms, sketches[:, :-1], self.slack)
        return sketches, norms


def remainder(norms: Floats, seen: NDArray[np.float32], slack: float) -> Floats:
    """r, the length of what was not seen of vectors of these squared lengths.

    One that rounding made too short would overestimate distances, so it is lengthened.
    """
    unseen: Floats = np.maximum(norms - squared_norms(seen), 0.0) + slack * norms
    return np.sqrt(unseen)


def whole(origin: Rows) -> Along:
    """The sketch that is the vector itself, seen from origin."""
    return Along(origin, None)


def lengths_only(origin: Rows) -> Along:
    """The sketch that knows nothing but how far a vector is from origin."""
    return Along(origin, np.empty((0, len(origin)), dtype=np.float32))


def learn(rows: Rows) -> Along:
    """A sketch along the leading singular vectors of (a sample of) the rows.

    It remains a lower bound when the rows go out of date; it only spares fewer readings.
    """
    sample = rows[:: max(1, len(rows) // (4 * WIDTH))].astype(np.float64)
    origin = sample.mean(axis=0).astype(rows.dtype)
    sample -= origin
    spread, directions = np.linalg.eigh(sample @ sample.T)
    enough = np.count_nonzero(spread.cumsum() > UNSEEN * spread.sum())
    leading = sample.T @ directions[:, ::-1][:, : min(WIDTH, max(1, enough))]
    # The bound needs an orthonormal basis; singular vectors of tiny values are not, so repeat.
    basis, _ = np.linalg.qr(leading)
    return Along(origin, np.ascontiguousarray(basis.T, dtype=np.float32))
