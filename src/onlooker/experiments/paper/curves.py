"""Rows averaged over seeds: the points of the curves, and the operating points (Section 4.2).

A curve is one method at one camera over its cutoffs. Methods are compared at equal precision, each
at the cutoff that suits it best: recall at a given precision.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import NamedTuple

from onlooker.core.errors import BadValue
from onlooker.experiments.paper.trial import TrialRow
from onlooker.experiments.report.html import share

DEFAULT_PRECISION = 0.995
"""The precision at which methods are compared unless another is given."""

HEADER = (
    "set", "camera", "features", "method", "strangers", "cutoff", "precision", "recall", "missed",
    "missed / nearest's", "contamination", "strangers named", "ms per frame", "detection rate",
)  # fmt: skip
WORDS = 4
"""The number of columns of the header that are text; the others are numbers."""


class Scene(NamedTuple):
    """What rows must have in common for their methods to be compared."""

    set: str
    camera: str
    features: str
    strangers: int


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One method at one cutoff on one camera: means, minima and maxima over the seeds."""

    set: str
    camera: str
    method: str
    features: str
    cutoff: float
    n_g: int
    strangers: int
    seeds: int
    precision: float | None
    """Mean over the seeds that named somebody; None where none of them did."""
    precision_low: float | None
    precision_high: float | None
    recall: float | None
    """None where no known person was in front of the camera."""
    recall_low: float | None
    recall_high: float | None
    contamination: float | None
    """None for methods that accept nothing."""
    detection_rate: float
    ms_per_frame: float
    strangers_named: int
    """In all seeds together."""

    @property
    def scene(self) -> Scene:
        """Where it was measured."""
        return Scene(self.set, self.camera, self.features, self.strangers)

    @property
    def missed(self) -> float | None:
        """The share of the frames of known people that were not named right."""
        return None if self.recall is None else 1 - self.recall


def summarise(rows: Iterable[TrialRow]) -> list[CurvePoint]:
    """A point for each set, camera, method, features, cutoff, n_g and number of strangers.

    They come in the order in which they first appear. A seed that named nothing has no precision:
    it is left out of that mean, counting neither as 0 nor as 1; it does count in the recall.
    """
    groups: dict[tuple[object, ...], list[TrialRow]] = {}
    for row in rows:
        scene = (row.set, row.camera, row.features, row.strangers)
        groups.setdefault((*scene, row.method, row.cutoff, row.n_g), []).append(row)
    return [_point(group) for group in groups.values()]


def _point(group: Sequence[TrialRow]) -> CurvePoint:
    first = group[0]
    if len({(row.dataset, row.seed) for row in group}) < len(group):
        raise BadValue(
            f"{first.method} at cutoff {first.cutoff:g} on {first.set}, {first.camera} has several "
            "rows of one seed; sum up rows of one detector and one bandwidth, each once"
        )
    precision, precision_low, precision_high = _spread(row.precision for row in group)
    recall, recall_low, recall_high = _spread(row.recall for row in group)
    return CurvePoint(
        set=first.set, camera=first.camera, method=first.method, features=first.features,
        cutoff=first.cutoff, n_g=first.n_g, strangers=first.strangers, seeds=len(group),
        precision=precision, precision_low=precision_low, precision_high=precision_high,
        recall=recall, recall_low=recall_low, recall_high=recall_high,
        contamination=_spread(row.contamination for row in group)[0],
        detection_rate=mean(row.detection_rate for row in group),
        ms_per_frame=mean(row.ms_per_frame for row in group),
        strangers_named=sum(row.strangers_named for row in group),
    )  # fmt: skip


def _spread(values: Iterable[float | None]) -> tuple[float, float, float] | tuple[None, None, None]:
    """Mean, minimum and maximum of the values that exist.

    >>> _spread([0.5, None, 1.0])
    (0.75, 0.5, 1.0)
    """
    known = [value for value in values if value is not None]
    return (mean(known), min(known), max(known)) if known else (None, None, None)


def by_scene(points: Iterable[CurvePoint]) -> dict[Scene, list[CurvePoint]]:
    """The points of each scene, in order."""
    scenes: dict[Scene, list[CurvePoint]] = {}
    for point in points:
        scenes.setdefault(point.scene, []).append(point)
    return scenes


def by_method(points: Iterable[CurvePoint]) -> dict[str, list[CurvePoint]]:
    """The curve of each method, from tight to loose cutoffs, as in the paper's figure."""
    curves: dict[str, list[CurvePoint]] = {}
    for point in points:
        curves.setdefault(point.method, []).append(point)
    return {
        method: sorted(curve, key=lambda each: -each.cutoff) for method, curve in curves.items()
    }


def with_one_n_g(points: Sequence[CurvePoint]) -> Sequence[CurvePoint]:
    """The same points; an error where a curve would jump between sizes, or is empty."""
    sizes = sorted({point.n_g for point in points})
    if len(sizes) != 1:
        found = ", ".join(map(str, sizes)) or "no rows at all"
        raise BadValue(f"curves over cutoffs are drawn for one n_g, got {found}; select its rows")
    return points


def best_at(points: Iterable[CurvePoint], precision: float) -> CurvePoint | None:
    """Of one method and camera: the most recall among the cutoffs with at least that precision.

    Where several recall the same, the more precise of them, and then the tighter. None where no
    cutoff is precise enough, and that includes naming nothing at all.
    """
    ranked = [
        ((point.recall, point.precision, point.cutoff), point)
        for point in points
        if point.recall is not None and point.precision is not None and point.precision >= precision
    ]
    return max(ranked, key=lambda each: each[0])[1] if ranked else None


def operating_points(
    rows: Iterable[TrialRow], precision: float = DEFAULT_PRECISION
) -> tuple[tuple[str, ...], list[list[str]]]:
    """A table of every method on every camera, each at its own `best_at` that precision.

    Misses are also given as a multiple of the nearest neighbour's, at its own best cutoff. A dash
    stands where there is no number, and a row of dashes for a method that is never that precise.
    """
    table = []
    for points in by_scene(with_one_n_g(summarise(rows))).values():
        curves = by_method(points)
        nearest = best_at(curves.get("nearest", ()), precision)
        table += [
            _table_row(curve[0], best_at(curve, precision), nearest) for curve in curves.values()
        ]
    return HEADER, table


def _table_row(
    any_point: CurvePoint, best: CurvePoint | None, nearest: CurvePoint | None
) -> list[str]:
    scene = any_point.scene
    words = [scene.set, scene.camera, scene.features, any_point.method, str(scene.strangers)]
    if best is None:
        return [*words, *["–"] * 8, share(any_point.detection_rate)]
    return [
        *words,
        f"{best.cutoff:g}",
        share(best.precision),
        share(best.recall),
        share(best.missed),
        _times(best.missed, nearest.missed if nearest else None),
        share(best.contamination),
        str(best.strangers_named),
        f"{best.ms_per_frame:.2f}",
        share(best.detection_rate),
    ]


def _times(misses: float | None, others: float | None) -> str:
    """A ratio, or a dash where there is none.

    >>> _times(0.1, 0.4), _times(0.1, 0.0), _times(0.1, None)
    ('0.25', '–', '–')
    """
    return "–" if misses is None or not others else f"{misses / others:.2f}"
