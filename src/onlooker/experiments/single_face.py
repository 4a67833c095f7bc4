"""One labeled face: a single picture of one person is labeled, everybody else is a stranger.

The protocol of Kveton and Valko, Learning from a single labeled face and a stream of unlabeled data
(2013): each person of a set in turn gets one label at the first camera, and the whole stream is
watched. A frame of that person that is named is a true positive; a frame of anybody else, the crowd
of strangers included, that is named is a false positive. Frames are pooled over the people. Every
cutoff is a run of its own, as a user would have it: together they are the ROC curve.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlooker.experiments.datasets.manifest import read_dataset
from onlooker.experiments.paper.figures import style_of
from onlooker.experiments.paper.methods import COMPARED
from onlooker.experiments.paper.results_cache import rows_of
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.paper.trial import Trial, TrialRow
from onlooker.experiments.report.html import share
from onlooker.experiments.report.plots import GREY, STYLE
from onlooker.experiments.report.section import Section

METHODS_SHOWN = ("online", "self-training", "nearest")
RATES = (1e-2, 1e-3, 1e-4)
"""False positive rates at which true positives are reported."""


@dataclass(frozen=True, slots=True)
class SingleFaceRow:
    """One labeled person at one camera: a trial's row, and whose face was labeled."""

    person: str
    row: TrialRow


@dataclass(frozen=True, slots=True)
class RatePoint:
    """One method at one cutoff on one set: rates over all people, cameras and orders."""

    set: str
    method: str
    cutoff: float
    people: int
    true_rate: float
    true_low: float
    """The worst and the best order."""
    true_high: float
    false_rate: float
    false_positives: int
    negatives: int
    """Frames of anybody else; each counts once for every labeled person and order."""


def single_face(setup: Setup) -> tuple[Section, list[SingleFaceRow]]:
    """Each person of each set in turn."""
    methods = METHODS_SHOWN if setup.methods == COMPARED else setup.methods
    cutoffs = tuple(sorted({*setup.cutoffs, setup.fixed_cutoff}, reverse=True))
    pairs = [
        (person, replace(trial, protocol=replace(trial.protocol, people=(person,), labels=1)))
        for trial in setup.trials(methods=methods, cutoffs=cutoffs)
        for person in _people(trial)
    ]
    rows_of([trial for _, trial in pairs], what="single face")  # on all cores, then from the cache
    rows = [
        SingleFaceRow(person, row)
        for person, trial in pairs
        for row in rows_of([trial], what="single face")
    ]
    points = rate_points(rows)
    header, table = rates_table(points, setup.fixed_cutoff)
    paper = (
        "Not in this paper, but in the authors' later one (2013): from a single labeled face "
        "about 90 % true positives at a false positive rate of 1e-4 on VidTIMIT (43 people)."
    )
    section = Section(
        "single-face", "One labeled face", paper, finding(points, setup.fixed_cutoff), header,
        table, (roc_figure(points, setup.fixed_cutoff),), words=3,
    )  # fmt: skip
    return section, rows


def _people(trial: Trial) -> list[str]:
    """Who is named at the first camera, or those who were asked for."""
    pictures = read_dataset(trial.folder).recording(trial.set)
    met = (each.person for each in pictures if each.camera == pictures[0].camera)
    people = [person for person in dict.fromkeys(met) if person is not None]
    wanted = trial.protocol.people
    return [person for person in people if not wanted or person in wanted]


def rate_points(rows: Iterable[SingleFaceRow]) -> list[RatePoint]:
    """A point for each set, method and cutoff, from tight cutoffs to loose ones."""
    groups: dict[tuple[str, str, float], list[SingleFaceRow]] = {}
    for each in rows:
        groups.setdefault((each.row.set, each.row.method, each.row.cutoff), []).append(each)
    return [_point(group) for group in groups.values()]


def _point(group: Sequence[SingleFaceRow]) -> RatePoint:
    first = group[0].row
    by_order: dict[tuple[str, int], list[TrialRow]] = {}
    for each in group:
        by_order.setdefault((each.row.dataset, each.row.seed), []).append(each.row)
    rates = [_true_rate(rows) for rows in by_order.values()]
    rows = [each.row for each in group]
    false, negatives = _false_positives(rows), sum(row.frames - row.known for row in rows)
    return RatePoint(
        set=first.set, method=first.method, cutoff=first.cutoff,
        people=len({(each.row.dataset, each.person) for each in group}),
        true_rate=_true_rate(rows), true_low=min(rates), true_high=max(rates),
        false_rate=false / max(negatives, 1), false_positives=false, negatives=negatives,
    )  # fmt: skip


def _true_rate(rows: Sequence[TrialRow]) -> float:
    known = sum(row.known for row in rows)
    return sum((row.recall or 0.0) * row.known for row in rows) / max(known, 1)


def _false_positives(rows: Sequence[TrialRow]) -> int:
    return sum(row.strangers_named for row in rows)


def best_within(points: Iterable[RatePoint], rate: float) -> RatePoint | None:
    """Of one method: the most true positives among the cutoffs with at most that false rate."""
    allowed = [point for point in points if point.false_rate <= rate]
    return max(allowed, key=lambda point: (point.true_rate, point.cutoff), default=None)


def curves(points: Iterable[RatePoint]) -> dict[tuple[str, str], list[RatePoint]]:
    """The points of each set and method."""
    found: dict[tuple[str, str], list[RatePoint]] = {}
    for point in points:
        found.setdefault((point.set, point.method), []).append(point)
    return found


def rates_table(
    points: Sequence[RatePoint], fixed: float
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The fixed cutoff first, then the best cutoff for each false positive rate."""
    header = (
        "set", "setting", "method", "people", "cutoff", "true positives", "worst to best order",
        "false positive rate", "false positives", "of frames",
    )  # fmt: skip
    settings: list[tuple[str, float | None]] = [("fixed", None)]
    settings += [(f"rate of at most {rate:g}", rate) for rate in RATES]
    table = []
    for name in dict.fromkeys(point.set for point in points):
        for setting, rate in settings:
            for (place, method), curve in curves(points).items():
                if place != name:
                    continue
                found = (
                    next((each for each in curve if each.cutoff == fixed), None)
                    if rate is None
                    else best_within(curve, rate)
                )
                table.append((name, setting, method, *_cells(found)))
    return header, table


def _cells(point: RatePoint | None) -> tuple[str, ...]:
    if point is None:
        return ("–",) * 7
    return (
        str(point.people),
        f"{point.cutoff:g}",
        share(point.true_rate),
        f"{point.true_low:.3f} to {point.true_high:.3f}",
        f"{point.false_rate:.2g}",
        str(point.false_positives),
        str(point.negatives),
    )


def finding(points: Sequence[RatePoint], fixed: float) -> str:
    """The fixed cutoff and the smallest rate for each set, and how small a rate can be seen."""
    parts = []
    for (name, method), curve in curves(points).items():
        own = next((each for each in curve if each.cutoff == fixed), None)
        if method != "online" or own is None:
            continue
        best, smallest = best_within(curve, RATES[-1]), 1 / max(own.negatives, 1)
        reached = "no cutoff" if best is None else f"{best.true_rate:.3f} (cutoff {best.cutoff:g})"
        parts.append(
            f"{name}, {own.people} people: {own.true_rate:.3f} true positives at a false positive "
            f"rate of {own.false_rate:.2g} with the fixed cutoff {fixed:g}; {reached} at a rate of "
            f"at most {RATES[-1]:g}."
        )
        parts.append(
            f"Its {own.negatives} frames of others allow rates down to {smallest:.1g}"
            + (f", not {RATES[-1]:g}." if smallest > RATES[-1] else ".")
        )
    return " ".join(parts)


def roc_figure(points: Sequence[RatePoint], fixed: float) -> Figure:
    """A panel for each set, a line for each method; a ring marks the fixed cutoff.

    The axis of false positives is logarithmic; a rate of 0 is drawn at half of the smallest rate
    that the number of frames allows, left of the dotted line.
    """
    sets = list(dict.fromkeys(point.set for point in points))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.1), layout="constrained")
        panels = figure.subplots(1, len(sets), sharey=True, squeeze=False)[0]
        for axes, name in zip(panels, sets, strict=True):
            _draw_roc(axes, [point for point in points if point.set == name], fixed)
            axes.set_title(name, parse_math=False)
            axes.set_xlabel("false positive rate")
        panels[0].set_ylabel("true positive rate")
        lines, names = panels[0].get_legend_handles_labels()
        figure.legend(lines, names, loc="outside lower center", ncols=4, frameon=False)
        figure.draw_without_rendering()
    return figure


def _draw_roc(axes: Axes, points: Sequence[RatePoint], fixed: float) -> None:
    smallest = 1 / max(point.negatives for point in points)
    for (_, method), curve in curves(points).items():
        own = style_of(method)
        ordered = sorted(curve, key=lambda each: (each.false_rate, each.true_rate))
        across = [max(each.false_rate, smallest / 2) for each in ordered]
        axes.fill_between(
            across, [each.true_low for each in ordered], [each.true_high for each in ordered],
            color=own.colour, alpha=0.12, lw=0,
        )  # fmt: skip
        axes.plot(
            across, [each.true_rate for each in ordered], color=own.colour, ls=own.dash, lw=1.3,
            marker=own.marker, markersize=3.6, label=own.name,
            markerfacecolor=own.colour if own.filled else "white",
        )  # fmt: skip
        chosen = [
            (place, each.true_rate)
            for place, each in zip(across, ordered, strict=True)
            if each.cutoff == fixed
        ]
        axes.plot(*zip(*chosen, strict=True), "o", ms=9, mfc="none", mec=own.colour, mew=0.9)
    axes.set_xscale("log")
    axes.axvline(smallest, color=GREY, lw=0.7, ls=":")
    axes.axvline(RATES[-1], color=GREY, lw=0.7)
    axes.set_xlim(min(smallest / 3, RATES[-1] / 2), 1.2)
    axes.set_ylim(-0.02, 1.06)  # rings at 1 are not cut
