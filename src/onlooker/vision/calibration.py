"""Bandwidth and cutoff from faces of strangers: how near may two faces of different people be?

The bandwidth follows the paper, which chose sigma = 0.025 because the similarity of different
people is then at most 1e-6 (Section 2.2): we take the sigma at which all but one pair of strangers
in 6,000 stay below that. It is the paper's value again for its pixels.

The cutoff follows from a given rate: the chance that a stranger lies within reach of at least one
of the vertices of a full learner. If a share p of all strangers lies within reach of somebody, one
of n vertices is near with probability 1 - (1 - p)^n, and the rate is the mean of that over all
strangers. It is a cautious number: all vertices count as different people.
"""

from dataclasses import dataclass
from math import exp, floor, log, log10, sqrt

import numpy as np
from numpy.typing import ArrayLike

from onlooker.core.checks import Floats, Slots, as_number, as_rows
from onlooker.core.errors import BadValue
from onlooker.core.similarity import Distance, squared_distances_of_all

ALIKE = 1e-6
"""The similarity that two strangers hardly ever have."""
PAIRS_ALIKE = 1 / 6000
"""The share of pairs that may have more: the paper's sigma = 0.025, on GENKI."""
SAME = 0.02
"""Two faces nearer than this share of the median distance are one picture twice."""
FEWEST = 20
"""Different strangers that are needed at least."""
CURVE = 600
"""Reaches at which the rate is computed, most of them where pairs are rare."""
CLOSEST = 5
"""Nearest pairs that are reported."""
LEAST_CUTOFF = 1e-300
"""The smallest that the settings accept."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Bandwidth and cutoff, and the figures they were chosen from."""

    bandwidth: float
    cutoff: float
    rate: float
    """Expected with this choice: the share of strangers near to one of the vertices."""
    least_rate: float
    """Rates below it cannot be distinguished with so few strangers."""
    strangers: int
    doubles: tuple[int, ...]
    """Faces that were left out because the same picture is given twice."""
    closest: tuple[tuple[float, int, int], ...]
    """The nearest pairs, distance and places: look whether they are really different people."""
    reaches: Floats
    rates: Floats
    """The trade-off: a rate for each reach."""

    def cutoff_at(self, reach: float) -> float:
        """The similarity at a distance."""
        return exp(-0.5 * (reach / self.bandwidth) ** 2)


def calibrate(
    strangers: ArrayLike, distance: Distance, *, rate: float = 0.001, vertices: int = 500
) -> Calibration:
    """Choose bandwidth and cutoff for a rate of strangers accepted.

    strangers: a vector each, of different people; the more the better, hundreds at least.
    vertices: how many the learner has when its budget is full.

    >>> from onlooker.core.similarity import Euclidean
    >>> crowd = np.random.default_rng(0).normal(size=(300, 16))
    >>> chosen = calibrate(crowd, Euclidean(), rate=0.05)
    >>> round(chosen.bandwidth, 2), chosen.rate <= 0.05
    (0.45, True)
    """
    as_number("rate", rate, least=1e-12, below=1)
    as_number("vertices", vertices, least=1, whole=True)
    squared = squared_distances_of_all(distance, as_rows(strangers))
    doubles = _doubles(squared)
    used = np.setdiff1d(np.arange(len(squared)), doubles)
    if len(used) < FEWEST:
        raise BadValue(f"{len(used)} different strangers are too few to learn from; give hundreds")
    gaps = np.sqrt(squared[np.ix_(used, used)])
    rows, columns = np.triu_indices(len(used), 1)
    order = np.argsort(gaps[rows, columns])
    pairs = gaps[rows, columns][order]
    alike = float(pairs[int(PAIRS_ALIKE * len(pairs))])
    bandwidth = rounded(alike / sqrt(-2 * log(ALIKE)), down=True)
    near = np.sort(gaps, axis=1)[:, 1:]
    places = np.unique(np.geomspace(1, len(pairs), CURVE).astype(int)) - 1
    reaches = pairs[places] * (1 - 1e-9)  # from just below the nearest pair on
    rates = _rates(near, reaches, vertices)
    reach = float(reaches[np.flatnonzero(rates <= rate)[-1]])
    cutoff = rounded(max(exp(-0.5 * (reach / bandwidth) ** 2), LEAST_CUTOFF), down=False)
    if cutoff >= 1:
        raise BadValue("some strangers are all but equal; are they different people?")
    reached = np.array([bandwidth * sqrt(-2 * log(cutoff))])
    return Calibration(
        bandwidth,
        cutoff,
        float(_rates(near, reached, vertices)[0]),
        float(rates[rates > 0].min(initial=1.0)),
        len(used),
        tuple(doubles.tolist()),
        tuple(
            (float(gap), int(used[rows[at]]), int(used[columns[at]]))
            for gap, at in zip(pairs[:CLOSEST], order[:CLOSEST], strict=True)
        ),
        reaches,
        rates,
    )


def _doubles(squared: Floats) -> Slots:
    """Every face but the first of those that are the same."""
    middle = np.median(squared[np.triu_indices(len(squared), 1)]) if len(squared) > 1 else 1.0
    same = np.tril(squared <= SAME**2 * middle, -1)
    return np.flatnonzero(same.any(axis=1))


def _rates(near: Floats, reaches: Floats, vertices: int) -> Floats:
    """The rate at each reach; `near` has sorted distances to the others, a row each."""
    counts = np.array([np.searchsorted(row, reaches) for row in near])
    rates: Floats = (1 - (1 - counts / near.shape[1]) ** vertices).mean(axis=0)
    return rates


def rounded(value: float, *, down: bool) -> float:
    """Two digits, to the careful side.

    >>> rounded(0.0251, down=True), rounded(3.141e-5, down=False)
    (0.025, 3.2e-05)
    """
    unit = 10.0 ** (floor(log10(value)) - 1)
    digits = floor(value / unit + 1e-9) if down else -floor(-value / unit + 1e-9)
    return float(f"{digits * unit:.2g}")
