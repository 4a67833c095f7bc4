"""Rows averaged over seeds: the points of the curves, and the operating points (Section 4.2).

A curve is one method at one camera over its cutoffs. Methods are compared twice: all at the cutoff
that a user has without choosing, and at equal precision, each at the cutoff that suits it best.
The second needs the truth to choose by, so it comes second.
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
FIXED_HEADER = (
    "set", "camera", "features", "method", "strangers", "cutoff", "precision", "worst to best",
    "recall", "worst to best", "contamination", "strangers named", "ms per frame", "detection rate",
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


def fixed_points(
    rows: Iterable[TrialRow], cutoff: float
) -> tuple[tuple[str, ...], list[list[str]]]:
    """A table of every method on every camera at one cutoff, with the worst and the best seed."""
    points = [point for point in with_one_n_g(summarise(rows)) if point.cutoff == cutoff]
    return FIXED_HEADER, [_fixed_row(each) for some in by_scene(points).values() for each in some]


def _fixed_row(point: CurvePoint) -> list[str]:
    return [
        point.set, point.camera, point.features, point.method, str(point.strangers),
        f"{point.cutoff:g}",
        share(point.precision), _range(point.precision_low, point.precision_high),
        share(point.recall), _range(point.recall_low, point.recall_high),
        share(point.contamination), str(point.strangers_named), f"{point.ms_per_frame:.2f}",
        share(point.detection_rate),
    ]  # fmt: skip


COMPARED_IN_WORDS = {
    "online": "the learner",
    "self-training": "self-training",
    "nearest": "nearest neighbour",
}
AS_GOOD = 0.005
"""A rival whose precision and recall are at most this much lower is called as good."""


def at_fixed_cutoff(rows: Iterable[TrialRow], cutoff: float) -> str:
    """Precision and recall of the learner and of its rivals at each camera, as sentences."""
    said = []
    points = [each for each in with_one_n_g(summarise(rows)) if each.cutoff == cutoff]
    for scene, some in by_scene(points).items():
        shown = {each.method: each for each in some if each.method in COMPARED_IN_WORDS}
        text = [
            f"{words} {share(shown[name].precision)} / {share(shown[name].recall)}"
            f" ({shown[name].strangers_named} strangers named)"
            for name, words in COMPARED_IN_WORDS.items()
            if name in shown
        ]
        as_good = [
            words
            for name, words in COMPARED_IN_WORDS.items()
            if name != "online" and name in shown and _is_as_good(shown[name], shown.get("online"))
        ]
        remark = f"; {' and '.join(as_good)} as good" if as_good else ""
        said.append(f"{scene.set} {scene.camera}: {', '.join(text)}{remark}")
    return f"Precision / recall at the fixed cutoff {cutoff:g}: " + "; ".join(said) + "."


def _is_as_good(rival: CurvePoint, ours: CurvePoint | None) -> bool:
    if ours is None or ours.strangers_named < rival.strangers_named:
        return False
    pairs = ((rival.precision, ours.precision), (rival.recall, ours.recall))
    return all((theirs or 0.0) >= (own or 0.0) - AS_GOOD for theirs, own in pairs)


def _range(low: float | None, high: float | None) -> str:
    """Both ends, or a dash where there is no number.

    >>> _range(0.5, 1.0), _range(None, None)
    ('0.500 to 1.000', '–')
    """
    return "–" if low is None or high is None else f"{low:.3f} to {high:.3f}"


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
