"""Bandwidth and cutoff from faces of strangers: how near may two faces of different people be?

The bandwidth follows the paper, which chose sigma = 0.025 because the similarity of different
people is then at most 1e-6 (Section 2.2): we take the sigma at which all but one pair of strangers
in 6,000 stay below that. It is the paper's value again for its pixels.

Two rules give a cutoff, and the stricter one decides. The first follows from a given rate: the
chance that a stranger lies within reach of at least one of the vertices of a full learner. If a
share p of all strangers lies within reach of somebody, one of n vertices is near with probability
1 - (1 - p)^n, and the rate is the mean of that over all strangers. It is a cautious number: all
vertices count as different people.

The second keeps a distance from the cliff. A stranger who is named becomes a vertex, and the next
one may be near to that: beyond some cutoff such chains reach nearly everybody. What the learner
does is played on the distances alone: some strangers play the known people, the others come by once
each in random order, and whoever is near to somebody accepted before is accepted too. The cliff is
the strictest cutoff at which more than one stranger in a hundred is accepted, and the chosen cutoff
is at least MARGIN times as large. The estimate is that of as many strangers as are given: more of
them are denser, and their chains are longer.
"""

from dataclasses import dataclass
from math import exp, inf, log, sqrt

import numpy as np
from numpy.typing import ArrayLike

from onlooker.core.checks import Floats, as_number, as_rows
from onlooker.core.errors import BadValue
from onlooker.core.similarity import Distance, squared_distances_of_all
from onlooker.core.suggestion import doubles, reach_of_share, rounded

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

PEOPLE = 5
"""Strangers who play the known people when chains are simulated."""
DRAWS = 40
"""Simulations, each with other players and another order; the seed is fixed."""
CLIFF = 0.01
"""Share of strangers accepted beyond which chains are out of control."""
CHAIN_CURVE = 120
"""Reaches at which chains are simulated, up to that of CLIFF of all pairs: there the players alone
accept about PEOPLE times as many strangers, so the cliff lies before."""
SAFE = 10
"""A cutoff below this many times the cliff's is not safe: the cliff is that of photographs, and two
videos meet sooner than two photographs, since each shows a person from many sides. Of 14 people in
recordings the nearest two come within reach of each other at eight times the cliff (SFace)."""
MARGIN = 5 * SAFE
"""The chosen cutoff, in cliffs: five times looser is still safe."""


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
    chains: "Chains"

    @property
    def cliff(self) -> float | None:
        """The strictest cutoff beyond which chains are out of control; None if no cutoff is."""
        found = self.cutoff_at(self.chains.cliff)
        return found if found >= LEAST_CUTOFF else None

    @property
    def margin(self) -> float | None:
        """How many times larger than the cliff the chosen cutoff is."""
        return None if self.cliff is None else self.cutoff / self.cliff

    def reach_at(self, cutoff: float) -> float:
        """The distance at a similarity."""
        return self.bandwidth * sqrt(-2 * log(cutoff))

    def cutoff_at(self, reach: float) -> float:
        """The similarity at a distance."""
        return exp(-0.5 * (reach / self.bandwidth) ** 2)


@dataclass(frozen=True, slots=True, eq=False)
class Chains:
    """What chains of strangers do at each reach, the mean over simulations."""

    reaches: Floats
    named: Floats
    """The share of strangers accepted."""
    direct: Floats
    """The part of them near to a player itself; the rest is near to other strangers only."""

    @property
    def cliff(self) -> float:
        """The smallest reach at which too many are accepted; infinite if there is none."""
        beyond = np.flatnonzero(self.named > CLIFF)
        return float(self.reaches[beyond[0]]) if len(beyond) else inf

    def shares_at(self, reach: float) -> tuple[float, float]:
        """`named` and `direct` at any reach: straight lines between those simulated."""
        return (
            float(np.interp(reach, self.reaches, self.named)),
            float(np.interp(reach, self.reaches, self.direct)),
        )


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
    all_gaps = np.sqrt(squared_distances_of_all(distance, as_rows(strangers)))
    twice = doubles(all_gaps, SAME * _median_gap(all_gaps))
    used = np.setdiff1d(np.arange(len(all_gaps)), twice)
    if len(used) < FEWEST:
        raise BadValue(f"{len(used)} different strangers are too few to learn from; give hundreds")
    gaps = all_gaps[np.ix_(used, used)]
    rows, columns = np.triu_indices(len(used), 1)
    order = np.argsort(gaps[rows, columns])
    pairs = gaps[rows, columns][order]
    alike = reach_of_share(pairs, PAIRS_ALIKE)
    bandwidth = rounded(alike / sqrt(-2 * log(ALIKE)), down=True)
    near = np.sort(gaps, axis=1)[:, 1:]
    places = np.unique(np.geomspace(1, len(pairs), CURVE).astype(int)) - 1
    reaches = pairs[places] * (1 - 1e-9)  # from just below the nearest pair on
    rates = _rates(near, reaches, vertices)
    reach = float(reaches[np.flatnonzero(rates <= rate)[-1]])
    rare = np.unique(np.geomspace(1, FEWEST + CLIFF * len(pairs), CHAIN_CURVE).astype(int)) - 1
    chains = simulated_chains(gaps, pairs[rare] * (1 - 1e-9), vertices)
    by_rate, by_cliff = (exp(-0.5 * (gap / bandwidth) ** 2) for gap in (reach, chains.cliff))
    cutoff = rounded(max(by_rate, MARGIN * by_cliff, LEAST_CUTOFF), down=False)
    if cutoff >= 1:
        raise BadValue("some strangers are all but equal; are they different people?")
    reached = np.array([bandwidth * sqrt(-2 * log(cutoff))])
    return Calibration(
        bandwidth,
        cutoff,
        float(_rates(near, reached, vertices)[0]),
        float(rates[rates > 0].min(initial=1.0)),
        len(used),
        tuple(twice.tolist()),
        tuple(
            (float(gap), int(used[rows[at]]), int(used[columns[at]]))
            for gap, at in zip(pairs[:CLOSEST], order[:CLOSEST], strict=True)
        ),
        reaches,
        rates,
        chains,
    )


def simulated_chains(gaps: Floats, reaches: Floats, vertices: int, draws: int = DRAWS) -> Chains:
    """Which share of strangers is accepted, from the distances of all pairs, at each reach.

    One pass gives all reaches: somebody is accepted as soon as the reach exceeds the widest gap of
    the best chain to a player through those who came before. Once the learner is full (`vertices`
    were accepted), whoever is accepted adds nothing to the chains.

    >>> line = np.arange(40.0)[:, None]     # one next to the other
    >>> found = simulated_chains(abs(line - line.T), np.array([0.5, 1.5, 40.0]), vertices=500)
    >>> found.direct.round(1), found.named.round(1)
    (array([0. , 0.2, 1. ]), array([0. , 0.4, 1. ]))
    """
    rng = np.random.default_rng(0)
    listed = np.argsort(gaps.sum(axis=1))  # so that their given order does not matter
    named, direct = np.zeros(len(reaches)), np.zeros(len(reaches))
    for _ in range(draws):
        order = rng.permutation(listed)
        players, passers = order[:PEOPLE], order[PEOPLE:]
        widest: Floats = gaps[players].min(axis=0)
        own = np.sort(widest[passers])
        needed = np.empty(len(passers))
        for at, one in enumerate(passers):
            needed[at] = widest[one]
            np.minimum(widest, np.maximum(gaps[one], widest[one]), out=widest)
        counts = np.searchsorted(np.sort(needed), reaches)
        for column in np.flatnonzero(counts > vertices):
            stored = np.flatnonzero(needed < reaches[column])[:vertices]
            closest: Floats = gaps[players].min(axis=0)
            for one in passers[stored]:
                np.minimum(closest, gaps[one], out=closest)
            later = closest[passers[stored[-1] + 1 :]] < reaches[column]
            counts[column] = vertices + later.sum()
        named += counts / len(passers)
        direct += np.searchsorted(own, reaches) / len(passers)
    return Chains(reaches, named / draws, direct / draws)


def _median_gap(gaps: Floats) -> float:
    return float(np.median(gaps[np.triu_indices(len(gaps), 1)])) if len(gaps) > 1 else 1.0


def _rates(near: Floats, reaches: Floats, vertices: int) -> Floats:
    """The rate at each reach; `near` has sorted distances to the others, a row each."""
    counts = np.array([np.searchsorted(row, reaches) for row in near])
    rates: Floats = (1 - (1 - counts / near.shape[1]) ** vertices).mean(axis=0)
    return rates
