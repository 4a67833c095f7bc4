"""Choosing parameters from examples: how far may a link reach?

A link is right if it joins examples of one class. The reach of the kernel decides which pairs are
linked, and chains of links make of every false one a way for walks to end at the wrong name. So the
reach is chosen by a share of pairs: `false_links` is the share of the pairs with different labels
that may be linked directly. Few labels have too few such pairs to count, so every example counts
as one of its nearest label; on five datasets that moved the reach by 17 % at most
(docs/parameters.md). Without labels the nearest pairs of all are linked, of which we expect one in
ten to be false, and at least ten neighbours of half of the rows. Where classes lie far apart, no
link needs to reach that far: twice what chains need is enough: who is none of them stays nobody.

`left_out` asks of the labels themselves whether walks are right: it takes each label away and lets
the walk from there end at the others, for all labels by one factorisation.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log, log10, sqrt

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from onlooker.core.checks import Floats, Rows, Slots, as_number, as_rows
from onlooker.core.errors import BadValue
from onlooker.core.similarity import Distance, Euclidean, HeatKernel, squared_distances_of_all

FALSE_LINKS = 1e-3
"""The share of pairs with different labels that may be linked."""
CUTOFF = 1e-3
"""The similarity at the reach: with it a link at the reach counts a thousandth of a duplicate."""
FALSE_OF_NEAREST = 0.1
"""Without labels: the share of the nearest pairs that we expect to be false links."""
NEIGHBOURS = 10
"""Without labels: the neighbours that are linked at least."""
ENOUGH = 0.99
"""The share of rows that chains should connect, if false links leave it to us."""
MARGIN = 2.0
"""The reach in units of the least that connects so many."""
MOST_ROWS = 1000
"""Rows whose distances are measured, evenly spread over all."""
MOST_NUMBERS = 20_000_000
"""Numbers in those rows; longer rows are fewer."""
LEAST_BUDGET, MOST_BUDGET = 100, 1000
CURVE = 24
"""Reaches at which links and chains are counted, for the chart."""
SPAN = 3.0
"""The chart goes from the reach divided by this to the reach times this."""
NOT_CLUSTERS = 0.05
"""Walks that are wrong more often than the nearest label by this share: classes are no clusters."""


@dataclass(frozen=True, slots=True, eq=False)
class Suggestion:
    """Parameters for a learner, and the figures they were chosen from.

    >>> crowd = np.random.default_rng(0).normal(size=(200, 2))
    >>> crowd[100:] += 9
    >>> found = suggest(crowd, ["ana"] + [None] * 198 + ["ben"])
    >>> found.kernel, found.sink, found.max_vertices
    (HeatKernel(bandwidth=..., cutoff=0.001, distance=Euclidean()), 0.01, 100)
    >>> found.reached == 1.0 and found.mixed == 0.0
    True
    """

    kernel: HeatKernel
    sink: float
    max_vertices: int
    false_links: float
    """Expected: the share of pairs with different labels that are linked directly."""
    linked: float
    """The share of the rows that are linked to another row at all."""
    reached: float | None
    """The share of the rows from which a chain leads to a label; None without labels."""
    mixed: float | None
    """The share of the pairs of labels with different names that a chain joins."""
    walks_right: float | None
    """Of labels taken away: the share that comes back by walks, or by the nearest for nobody."""
    nearest_right: float | None
    """The same of the nearest other label; None where no name has two labels."""
    reasons: tuple[str, ...]
    reaches: Floats
    curve: Floats
    """For each of these reaches: `false_links`, and the share of rows in the largest component."""

    @property
    def bandwidth(self) -> float:
        """sigma of the kernel."""
        return self.kernel.bandwidth

    def bandwidth_at(self, cutoff: float) -> float:
        """The bandwidth with which another cutoff has the same reach.

        >>> rows = np.arange(30.0)[:, None]
        >>> found = suggest(rows)
        >>> bool(abs(HeatKernel(found.bandwidth_at(1e-5), 1e-5).reach - found.kernel.reach) < 1e-9)
        True
        """
        return self.kernel.reach / sqrt(-2 * log(cutoff))

    def chart(self) -> str:
        """A picture in text: links and chains at each reach, the chosen one marked.

        >>> print(suggest(np.arange(30.0)[:, None]).chart().splitlines()[0])
           reach  false links  largest component
        """
        chosen = int(abs(np.log(self.reaches / self.kernel.reach)).argmin())
        lines = ["   reach  false links  largest component"]
        for at, (reach, (links, largest)) in enumerate(zip(self.reaches, self.curve, strict=True)):
            bar = "#" * round(30 * float(largest))
            mark = " <- chosen" if at == chosen else ""
            lines.append(f"{reach:8.3g}  {links:11.1e}  {bar:<30}{mark}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.kernel!r}, sink={self.sink:g}, max_vertices={self.max_vertices}"]
            + [f"- {reason}" for reason in self.reasons]
        )


def suggest(
    X: ArrayLike,
    y: Iterable[object] | None = None,
    *,
    false_links: float = FALSE_LINKS,
    distance: Distance | None = None,
) -> Suggestion:
    """Choose kernel, sink and budget from examples, of which any number may have labels.

    y has a label for each row; None, -1, NaN or pandas' NA where there is none. At most 1,000 rows
    are measured, evenly spread over all, with labels first. Bring features to one scale before.

    >>> rows = np.concatenate([np.arange(40.0), np.arange(60.0, 100.0)])[:, None]
    >>> found = suggest(rows, ["ana"] + [None] * 78 + ["ben"])
    >>> 1 < found.kernel.reach < 21            # links neighbours, and not the two groups
    True
    >>> print(found.reasons[0])
    links reach 1.97: 0 of the pairs with different labels are that near (at most 0.001)
    """
    as_number("false_links", false_links, least=1e-12, below=1)
    rows = as_rows(X)
    labels = _label_numbers(rows, y)
    chosen = _spread(labels, rows.shape[1])
    measure = Euclidean() if distance is None else distance
    gaps = np.sqrt(squared_distances_of_all(measure, rows[chosen]))
    places = np.setdiff1d(np.arange(len(chosen)), doubles(gaps, 0.0))
    if len(places) < 2:
        raise BadValue(
            f"parameters are chosen from distances, and {len(rows)} rows at {len(places)} "
            "place have none; give different rows, or a bandwidth"
        )
    return _suggestion(gaps[np.ix_(places, places)], labels[chosen][places], false_links, measure)


def _suggestion(gaps: Floats, labels: Slots, false_links: float, distance: Distance) -> Suggestion:
    given = np.flatnonzero(labels >= 0)
    names = len(np.unique(labels[given]))
    pair = np.triu_indices(len(gaps), 1)
    if names > 1:
        nearest = labels[given][gaps[:, given].argmin(axis=1)]
        between = np.sort(gaps[pair][nearest[pair[0]] != nearest[pair[1]]])
        wanted, share = "pairs with different labels", false_links
    else:
        between = np.sort(gaps[pair])
        wanted, share = "pairs", min(false_links / FALSE_OF_NEAREST, 1.0)
    allowed = reach_of_share(between, share)
    if names < 2:
        allowed = max(allowed, float(np.median(np.sort(gaps)[:, min(NEIGHBOURS, len(gaps) - 1)])))
    needed = MARGIN * _needed(gaps, given)
    reach = min(allowed, needed)
    bandwidth = rounded(reach / sqrt(-2 * log(CUTOFF)), down=True)
    kernel = HeatKernel(bandwidth, CUTOFF, distance)
    count = int(np.searchsorted(between, kernel.reach, side="right"))
    budget, covered = _budget(gaps, bandwidth)
    reasons = [
        f"links reach {kernel.reach:.3g}: {count / len(between):.2g} of the {wanted} are that near "
        + (f"(at most {share:g})" if names > 1 else "(no two names are labeled)")
    ]
    if needed < allowed:
        reasons.append(f"that is {MARGIN:g} times what chains need; {allowed:.3g} were allowed")
    linked = float((gaps + np.diag([np.inf] * len(gaps)) <= kernel.reach).any(axis=1).mean())
    parts = _components(gaps, kernel.reach)
    reached = mixed = None
    if len(given):
        reached = float(np.isin(parts, parts[given]).mean())
        reasons.append(
            f"{reached:.0%} of the rows reach a label by chains of links, the others are nobody"
        )
    if names > 1:
        one, other = np.triu_indices(len(given), 1)
        differ = labels[given][one] != labels[given][other]
        mixed = float((parts[given][one] == parts[given][other])[differ].mean())
        reasons.append(f"chains join {mixed:.1%} of the labels with different names")
    walks_right = nearest_right = None
    if names > 1 and np.bincount(labels[given]).max() > 1:
        walks_right, nearest_right = _left_out_right(gaps, labels, kernel)
        reasons.append(
            f"of {len(given)} labels taken away, walks name {walks_right:.0%} right, the nearest "
            f"label {nearest_right:.0%}"
        )
        if walks_right < nearest_right - NOT_CLUSTERS:
            reasons[-1] += ": the classes are no clusters here, so chains do not help"
    reasons.append(
        f"{covered} vertices within {bandwidth:.2g} of every row, so a budget of {budget}"
    )
    reaches = np.geomspace(reach / SPAN, reach * SPAN, CURVE)
    largest = [np.bincount(_components(gaps, each)).max() / len(gaps) for each in reaches]
    shares = np.searchsorted(between, reaches, side="right") / len(between)
    return Suggestion(
        kernel=kernel,
        sink=10 * CUTOFF,
        max_vertices=budget,
        false_links=count / len(between),
        linked=linked,
        reached=reached,
        mixed=mixed,
        walks_right=walks_right,
        nearest_right=nearest_right,
        reasons=tuple(reasons),
        reaches=reaches,
        curve=np.column_stack([shares, largest]),
    )


# ---- labels taken away


def left_out(weights: Floats, labels: Slots, *, sink: float) -> Floats:
    """Where the walk from each labeled vertex ends if its own label is taken away.

    labels: a number for each vertex, -1 where it has none. A row for each labeled vertex, a column
    for each number. Taking all unlabeled vertices out of the graph (`eliminate`) leaves a graph of
    labeled ones in which every walk has the same end. Without its own label a vertex of that graph
    is the only one that does not end the walk, so its row of weights, over their sum and its leak,
    is the answer: one factorisation instead of one for each label.

    >>> chain = np.diag([1.0, 1.0], 1) + np.diag([1.0, 1.0], -1)
    >>> left_out(chain, np.array([0, -1, 1]), sink=0.5).round(3)
    array([[0.   , 0.364],
           [0.364, 0.   ]])
    """
    inner, given = np.flatnonzero(labels < 0), np.flatnonzero(labels >= 0)
    among = weights[np.ix_(given, given)].copy()
    leaks = np.full(len(given), sink)
    if len(inner):
        exits = weights[np.ix_(inner, given)]
        within = weights[np.ix_(inner, inner)].copy()
        np.fill_diagonal(within, 0.0)
        scale = (within.sum(axis=1) + exits.sum(axis=1) + sink) ** -0.5
        system = np.eye(len(inner)) - scale[:, None] * within * scale
        factor = scipy.linalg.cho_factor(system, overwrite_a=True)
        ends = np.column_stack([exits, np.full(len(inner), sink)])
        solved = scale[:, None] * scipy.linalg.cho_solve(factor, scale[:, None] * ends)
        among += exits.T @ solved[:, :-1]
        leaks += exits.T @ solved[:, -1]
    np.fill_diagonal(among, 0.0)
    columns = labels[given][:, None] == np.arange(labels.max(initial=-1) + 1)
    leaving: Floats = among.sum(axis=1) + leaks
    return np.asarray(among @ columns / np.where(leaving, leaving, 1.0)[:, None])


def _left_out_right(gaps: Floats, labels: Slots, kernel: HeatKernel) -> tuple[float, float]:
    """The share of labels that come back after they were taken away: by walks, and by nearest."""
    weights = kernel.weights(gaps**2)
    given = np.flatnonzero(labels >= 0)
    scores = left_out(weights, labels, sink=10 * kernel.cutoff)
    others = gaps[np.ix_(given, given)] + np.diag([np.inf] * len(given))
    nearest = labels[given][others.argmin(axis=1)]
    walked = np.where(scores.any(axis=1), scores.argmax(axis=1), nearest)
    own = labels[given]
    return float((walked == own).mean()), float((nearest == own).mean())


# ---- shared with the calibration of faces


def reach_of_share(between: Floats, share: float) -> float:
    """The largest reach within which at most that share of sorted distances lies.

    >>> reach_of_share(np.array([1.0, 2.0, 4.0, 8.0]), 0.5)
    4.0
    """
    return float(between[min(int(share * len(between)), len(between) - 1)])


def doubles(gaps: Floats, same: float) -> Slots:
    """Every row but the first of those at the same place: no further than `same` from each other.

    >>> doubles(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]), 0.0)
    array([1])
    """
    return np.flatnonzero(np.tril(gaps <= same, -1).any(axis=1))


def rounded(value: float, *, down: bool) -> float:
    """Two digits, to the careful side.

    >>> rounded(0.0251, down=True), rounded(3.141e-5, down=False)
    (0.025, 3.2e-05)
    """
    unit = 10.0 ** (floor(log10(value)) - 1)
    digits = floor(value / unit + 1e-9) if down else -floor(-value / unit + 1e-9)
    return float(f"{digits * unit:.2g}")


# ---- helpers


def has_label(value: object) -> bool:
    """Whether a value is a label: None, -1, NaN and pandas' NA are none.

    >>> [has_label(value) for value in ("ana", 0, None, -1, float("nan"))]
    [True, True, False, False, False]
    """
    if value is None:
        return False
    try:
        return not (value == -1 or value != value)
    except TypeError:  # NA answers neither yes nor no
        return False


def _label_numbers(rows: Rows, y: Iterable[object] | None) -> Slots:
    """A number for each label in order of arrival, -1 for none."""
    if y is None:
        return np.full(len(rows), -1)
    values: Sequence[object] = y.tolist() if isinstance(y, np.ndarray) else list(y)
    if len(values) != len(rows):
        raise BadValue(f"y has {len(values)} labels for {len(rows)} rows; give None where unknown")
    numbers: dict[object, int] = {}
    return np.array(
        [numbers.setdefault(value, len(numbers)) if has_label(value) else -1 for value in values],
        dtype=np.intp,
    )


def _spread(labels: Slots, length: int) -> NDArray[np.intp]:
    """Which rows to measure: labeled ones, at most half, and the others, each evenly spread."""
    most = int(min(MOST_ROWS, max(MOST_NUMBERS // length, LEAST_BUDGET)))
    given, others = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
    if len(labels) <= most:
        return np.arange(len(labels))
    given = _evenly(given, max(most // 2, most - len(others)))
    return np.sort(np.concatenate([given, _evenly(others, most - len(given))]))


def _evenly(slots: Slots, most: int) -> Slots:
    if len(slots) <= most:
        return slots
    return slots[np.linspace(0, len(slots) - 1, most).astype(np.intp)]


def _needed(gaps: Floats, given: Slots) -> float:
    """The least reach with which enough rows have a link, and chains connect enough to labels."""
    least = float(np.quantile(np.sort(gaps, axis=1)[:, 1], ENOUGH, method="higher"))
    if not len(given):
        return least
    edges = np.unique(minimum_spanning_tree(csr_array(gaps)).data)

    def connects(edge: float) -> bool:
        parts = _components(gaps, edge)
        return bool(np.isin(parts, parts[given]).mean() >= ENOUGH)

    return max(least, float(edges[min(bisect_left(edges, True, key=connects), len(edges) - 1)]))


def _components(gaps: Floats, reach: float) -> Slots:
    """The number of the component of each row when all gaps up to the reach are links."""
    links = csr_array((gaps <= reach).astype(np.int8))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)


def _budget(gaps: Floats, radius: float) -> tuple[int, int]:
    """Vertices for the learner, and how many it takes so that every row has one within a radius."""
    free = np.ones(len(gaps), dtype=bool)
    covered = 0
    while free.any():
        free &= gaps[int(free.argmax())] > radius
        covered += 1
    return min(max(covered, LEAST_BUDGET), MOST_BUDGET), covered
