"""How fast an error falls: slopes on logarithmic axes, and their confidence intervals.

The errors of one series are correlated, and resampling it gives intervals that are too narrow.
Streams of different seeds are independent, so the interval is Student's over one slope per stream;
with ten of them it covers the truth about as often as stated, whatever the correlation in each.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

FIRST = 128
"""The first step in a bin: earlier steps are few, and far from the rate."""

EDGES = 6
"""The number of geometric edges between the first and the last step; there is one bin fewer."""

ROUNDING = 1e-12
"""An error below this is due to rounding, and its logarithm is noise."""


class Interval(NamedTuple):
    """The mean over independent streams, and where the truth lies in 95 of 100 experiments."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        if np.isinf(self.low):
            return f"{self.middle:+.2f}"
        return f"{self.middle:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


def slope(steps: ArrayLike, errors: ArrayLike, weights: ArrayLike | None = None) -> float | None:
    """The exponent a of errors that grow as steps ** a, by weighted least squares of logarithms.

    Errors below ROUNDING are left out; None if fewer than two steps are left.

    >>> round(slope([100, 200, 400], [0.8, 0.4, 0.2]), 6)
    -1.0
    """
    t, e = np.asarray(steps, dtype=float), np.asarray(errors, dtype=float)
    w = np.ones(len(t)) if weights is None else np.asarray(weights, dtype=float)
    nonzero = e >= ROUNDING
    if len(np.unique(t[nonzero])) < 2:
        return None
    x, y, w = np.log(t[nonzero]), np.log(e[nonzero]), w[nonzero]
    x = x - np.average(x, weights=w)
    return float((w * x * y).sum() / (w * x * x).sum())


def binned_slope(
    steps: ArrayLike, errors: ArrayLike, *, first: int = FIRST, edges: int = EDGES
) -> float | None:
    """The slope of a series of single errors e_t, from the means of bins with geometric edges.

    If e_t falls as t ** a with -1 < a < 0, the running mean falls with the same exponent, so this
    is the number to hold against the paper's -1/2.

    >>> t = np.arange(1, 4097)
    >>> round(binned_slope(t, t ** -0.5, first=16), 3)
    -0.5
    """
    t, e = np.asarray(steps, dtype=float), np.asarray(errors, dtype=float)
    if not len(t) or t[-1] < 2 * first:
        return None
    borders = np.round(np.geomspace(first, t[-1], edges))
    bins = np.searchsorted(borders, t, side="right") - 1
    bins[t == t[-1]] = edges - 2  # the last edge belongs to the last bin
    inside = [np.flatnonzero(bins == place) for place in range(edges - 1)]
    inside = [chosen for chosen in inside if len(chosen)]
    return slope(
        [np.exp(np.log(t[chosen]).mean()) for chosen in inside],
        [e[chosen].mean() for chosen in inside],
        [len(chosen) for chosen in inside],
    )


def student_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """Student's interval for the mean of independent values; unbounded for a single value.

    >>> print(student_interval([-0.4, -0.5, -0.6]))
    -0.50 [-0.75, -0.25]
    >>> print(student_interval([-0.4]))
    -0.40
    """
    middle = float(np.mean(values))
    if len(values) < 2:
        return Interval(middle, -np.inf, np.inf)
    quantile = special.stdtrit(len(values) - 1, (1 + level) / 2)
    half = float(quantile * np.std(values, ddof=1) / np.sqrt(len(values)))
    return Interval(middle, middle - half, middle + half)


class Seeded(Protocol):
    """A row of an experiment, as far as `trend` uses it."""

    @property
    def seed(self) -> int:
        """Which of the independent streams."""


def trend(rows: Sequence[Seeded], term: str, by: str = "n") -> Interval | None:
    """The exponent with which one column grows with another: Student's interval of one per seed.

    >>> from types import SimpleNamespace as Row
    >>> print(trend([Row(n=n, seed=s, T2=2 / n) for n in (10, 20, 40) for s in (0, 1)], "T2"))
    -1.00 [-1.00, -1.00]
    """
    exponents = []
    for seed in sorted({row.seed for row in rows}):
        same = [row for row in rows if row.seed == seed]
        found = slope([getattr(row, by) for row in same], [getattr(row, term) for row in same])
        if found is not None:
            exponents.append(found)
    return student_interval(exponents) if exponents else None
