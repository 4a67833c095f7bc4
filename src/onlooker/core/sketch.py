"""Short sketches of vectors, from which distances can be bounded from below.

Let Q have orthonormal rows, z = Q (x - o) for a fixed origin o, and r the length of the part of
x - o that is orthogonal to Q. By Cauchy-Schwarz <x - o, y - o> <= <z_x, z_y> + r_x r_y, so the
squared gap of the sketches (z, r) is never larger than the squared gap |x - y|^2. A vertex whose
sketch is too far away need not be read, and no answer changes. Q may be empty (only lengths are
compared) or everything (the sketch is the vector in single precision).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from onlooker.core.checks import Floats, Rows
from onlooker.core.similarity import squared_norms

WIDTH = 96
"""Most coordinates of a learned sketch: with fewer, more long vectors are measured in vain."""

UNSEEN = 1e-3
"""The share of the variance that a learned sketch may leave out in order to be shorter."""


class Sketch(Protocol):
    """A way to shorten vectors. A distance may have its own (that of `onlooker.vision.pixels`)."""

    @property
    def width(self) -> int:
        """How many numbers a sketch has."""

    @property
    def slack(self) -> float:
        """What rounding may subtract from a gap, relative to |x - o|^2 + |y - o|^2."""

    def project(self, rows: Rows) -> tuple[NDArray[np.float32], Floats]:
        """Sketches of the rows, and |row - o|^2."""


@dataclass(frozen=True, eq=False)
class Along:
    """The projection onto some directions (None: every coordinate), relative to an origin."""

    origin: Rows
    basis: NDArray[np.float32] | None

    @property
    def width(self) -> int:
        """One per direction, and one for the orthogonal part."""
        return self.origin.size if self.basis is None else len(self.basis) + 1

    @cached_property
    def slack(self) -> float:
        """What single precision may subtract from a gap, relative to |x - o|^2 + |y - o|^2.

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
    """r, the length of the orthogonal part of vectors with these squared lengths.

    If rounding made it too short, distances would be overestimated, so it is made longer.
    """
    unseen: Floats = np.maximum(norms - squared_norms(seen), 0.0) + slack * norms
    return np.sqrt(unseen)


def whole(origin: Rows) -> Along:
    """The sketch that is the vector itself, relative to origin."""
    return Along(origin, None)


def lengths_only(origin: Rows) -> Along:
    """The sketch that holds only the distance of a vector from origin."""
    return Along(origin, np.empty((0, len(origin)), dtype=np.float32))


def learn(rows: Rows) -> Along:
    """A sketch along the leading singular vectors of (a sample of) the rows.

    It remains a lower bound when the rows go out of date; it only excludes fewer vectors.
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
