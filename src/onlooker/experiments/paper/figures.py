"""The paper's two figures: the comparison of recognizers (4.2), and the size of the graph (4.4).

`precision_recall` and `over_cutoffs`: one panel for each camera, one line for each method, one
point for each cutoff. `by_size`: recall and time against n_g. Bands reach from the worst seed to
the best. A method has the same style in every figure, and styles differ without colours, in print.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from textwrap import fill
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    StrMethodFormatter,
)

from onlooker.core.errors import BadValue
from onlooker.experiments.paper.curves import (
    CurvePoint,
    Scene,
    by_method,
    by_scene,
    summarise,
    with_one_n_g,
)
from onlooker.experiments.paper.methods import LEARNERS
from onlooker.experiments.paper.trial import TrialRow
from onlooker.experiments.report.plots import COLOURS, GREY, STYLE

WIDTH = 7.2
COLUMNS = 3
LEAST_PRECISION = 0.5
"""Precision below this is not shown, unless it is the best of some method."""
MARGIN = 0.025
"""How far an axis extends beyond its ends, as a share of its length: markers there are not cut."""


class MethodStyle(NamedTuple):
    """The name, colour, marker and dash of a method."""

    name: str
    colour: str
    marker: str
    dash: Any = "-"
    filled: bool = True


# Okabe and Ito's colours without the yellow; the two kinds of a method share one.
GREEN, PURPLE, ORANGE, SKY = "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
METHOD_STYLES = {
    "online": MethodStyle("online (ours)", COLOURS["closest pair"], "D"),
    "online-closest": MethodStyle(
        "online, closest (ours)", COLOURS["closest pair"], "d", (0, (2, 1)), filled=False
    ),
    "online-doubling": MethodStyle(
        "online, doubling (ours)", COLOURS["doubling"], "s", (0, (4, 1))
    ),
    "self-training": MethodStyle("self-training", "black", "o"),
    "self-training-strict": MethodStyle("self-tr., strict", "black", "*", (0, (3, 1))),
    "self-training-oldest": MethodStyle("self-tr., oldest", "black", "p", (0, (5, 1, 1, 1))),
    "self-training-random": MethodStyle("self-tr., random", "black", "h", (0, (7, 1))),
    "nearest": MethodStyle("nearest neighbour", "black", "o", (0, (1, 1.3)), filled=False),
    "boosting": MethodStyle("boosting, covering", GREEN, "^"),
    "boosting-quarters": MethodStyle("boosting, quarters", GREEN, "^", (0, (3, 1.5)), filled=False),
    "manifold-svm": MethodStyle("manifold SVM", PURPLE, "v", (0, (6, 1.5, 1, 1.5))),
    "graph-cuts": MethodStyle("graph cuts", ORANGE, "P", (0, (5, 2))),
    "offline": MethodStyle("offline exact", GREY, "X", (0, (7, 2))),
    "label-spreading": MethodStyle("label spreading", SKY, "d", (0, (4, 1.5, 1, 1.5, 1, 1.5))),
}

PAPER_SIZE = 200
"""Representative vertices that bring most of the recall, according to the paper."""

BLUE, VERMILLION = COLOURS["closest pair"], COLOURS["doubling"]
SCENE_STYLES = (
    # colour, marker, line: of the scenes, one after the other
    (BLUE, "o", "-"),
    (VERMILLION, "s", (0, (4, 1.2))),
    (GREEN, "^", (0, (6, 1.5, 1, 1.5))),
    (PURPLE, "v", (0, (2, 1))),
    (ORANGE, "D", (0, (7, 2))),
    (SKY, "P", (0, (1, 1))),
)
LEGEND: dict[str, Any] = {
    "fontsize": 7,
    "handlelength": 3.2,
    "columnspacing": 1.2,
    "frameon": False,
}


def style_of(method: str) -> MethodStyle:
    """The style of a method; an unknown one is grey, with its own name."""
    return METHOD_STYLES.get(method) or MethodStyle(method.replace("$", r"\$"), "#999999", ".")


def precision_recall(rows: Iterable[TrialRow]) -> Figure:
    """Precision against recall, from tight cutoffs to loose ones; the rows are of one n_g.

    Points are means over the seeds; a band is the range of the precision at the mean recall.
    """
    points = with_one_n_g(summarise(rows))
    with matplotlib.rc_context(STYLE):
        scenes = by_scene(points)
        figure, cells = _sheet(len(scenes), 2.3)
        for axes, (scene, group) in zip(cells[0], scenes.items(), strict=False):
            for method, curve in by_method(group).items():
                drawn = [each for each in curve if None not in (each.recall, each.precision)]
                _draw_method(axes, method, drawn, "recall", "precision")
            axes.set(xlabel="recall", xlim=_ends(points, "recall", 0.0))
            axes.set(ylabel="precision", ylim=_ends(points, "precision", LEAST_PRECISION))
            axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
            axes.set_title(title(scene, scenes), parse_math=False)
            _mark_if_empty(axes, "points")
        _finish(figure, cells[0][len(scenes) :], points)
    return figure


def over_cutoffs(rows: Iterable[TrialRow]) -> Figure:
    """Recall and below it precision, against the cutoff; the rows are of one n_g."""
    points = with_one_n_g(summarise(rows))
    with matplotlib.rc_context(STYLE):
        scenes = by_scene(points)
        figure, cells = _sheet(len(scenes), 1.6, stacked=2)
        for above, below, (scene, group) in zip(*cells, scenes.items(), strict=False):
            for axes, what, least in (
                (above, "recall", 0.0),
                (below, "precision", LEAST_PRECISION),
            ):
                for method, curve in by_method(group).items():
                    drawn = [each for each in curve if getattr(each, what) is not None]
                    _draw_method(axes, method, drawn, "cutoff", what)
                axes.set(ylabel=what, ylim=_ends(points, what, least))
                _mark_if_empty(axes, what)
                _cutoff_axis(axes, [each.cutoff for each in points])
            above.tick_params(labelbottom=False)
            above.set_title(title(scene, scenes), parse_math=False)
            below.set_xlabel("cutoff $\\varepsilon$, looser to the right")
        _finish(figure, cells[0][len(scenes) :], points)
    return figure


def by_size(
    rows: Iterable[TrialRow], literal: Mapping[int, float], *, method: str = "online"
) -> Figure:
    """Recall and milliseconds per frame of a method at one cutoff, against n_g.

    `literal` are the milliseconds of the paper's figure taken literally: one dense solution a step.
    """
    chosen = [row for row in rows if row.method == method]
    cutoffs = sorted({row.cutoff for row in chosen})
    if len(cutoffs) != 1:
        found = ", ".join(f"{each:g}" for each in cutoffs) or f"no rows of {method}"
        raise BadValue(f"sizes are compared at one cutoff, got {found}; select its rows")
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.3), layout="constrained")
        recall, time = figure.subplots(1, 2)
        _draw_recall(recall, chosen)
        _draw_time(time, chosen, literal)
        largest = max(1.5 * PAPER_SIZE, *(row.n_g for row in chosen), *literal)
        for axes in (recall, time):
            axes.set_xlim(0, 1.04 * largest)
            axes.set_xlabel("representative vertices kept, $n_g$")
            axes.axvline(PAPER_SIZE, color=GREY, lw=0.7, zorder=1)
        figure.legend(
            *recall.get_legend_handles_labels(), loc="outside lower left", ncols=2, **LEGEND
        )
        figure.legend(*time.get_legend_handles_labels(), loc="outside lower right", **LEGEND)
        figure.draw_without_rendering()  # creates the ticks now, in our style
    return figure


def title(scene: Scene, among: Iterable[Scene]) -> str:
    """Set and camera, and whatever else distinguishes the scene from the others.

    >>> here = Scene("VO", "couch", "pixels", 0)
    >>> title(here, [here, Scene("VO", "couch", "pixels", 90)])
    'VO, couch, no strangers'
    """
    parts = [scene.set, scene.camera]
    if len({each.features for each in among}) > 1:
        parts.append(scene.features)
    if len({each.strangers for each in among}) > 1:
        parts.append(f"{scene.strangers or 'no'} strangers")
    return fill(", ".join(parts), 25)


def _columns(panels: int) -> int:
    return min(panels, 2 if panels == 4 else COLUMNS)


def _sheet(panels: int, height: float, *, stacked: int = 1) -> tuple[Figure, list[list[Axes]]]:
    """A figure with stacked axes for each panel: a list for each level, longer if cells stay."""
    columns = _columns(panels)
    lines = -(-panels // columns)
    margin = 0.7 if panels % COLUMNS == 0 else 0.3  # the legend is above
    figure = Figure(figsize=(WIDTH, margin + height * lines * stacked), layout="constrained")
    grid = figure.subplots(lines * stacked, columns, squeeze=False)
    for axes in grid[-stacked:, panels - columns * (lines - 1) :].flat:
        axes.set_axis_off()
    for axes in grid.flat:
        axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    return figure, [list(grid[at::stacked].flat) for at in range(stacked)]


def _draw_method(
    axes: Axes, method: str, curve: Sequence[CurvePoint], across: str, up: str
) -> None:
    """One method through its cutoffs, with a band over the seeds."""
    if not curve:
        return
    own, ours = style_of(method), method in LEARNERS
    x, y, low, high = (
        np.array([getattr(each, name) for each in curve])
        for name in (across, up, f"{up}_low", f"{up}_high")
    )
    if (high > low).any():
        axes.fill_between(x, low, high, color=own.colour, alpha=0.13, lw=0, zorder=2)
    axes.add_line(_sample(own, ours, x, y))


def _sample(own: MethodStyle, ours: bool, x: Any = (), y: Any = ()) -> Line2D:
    return Line2D(
        x, y, color=own.colour, ls=own.dash, lw=1.9 if ours else 1.0, zorder=4 if ours else 3,
        marker=own.marker, markersize=4.2 if ours else 3.6, markeredgewidth=0.7,
        markerfacecolor=own.colour if own.filled else "white",
    )  # fmt: skip


def _ends(points: Sequence[CurvePoint], what: str, least: float) -> tuple[float, float]:
    """Where an axis of shares begins and ends: the same for all panels, which are compared."""
    best: dict[str, float] = {}
    lows = [1.0]
    for point in points:
        if (value := getattr(point, what)) is not None:
            best[point.method] = max(value, best.get(point.method, 0.0))
            lows.append(getattr(point, f"{what}_low"))
    begin = max(min(lows), min(least, *best.values(), 1.0))
    begin = min(np.floor(20 * begin) / 20, 0.9)
    return float(begin - MARGIN * (1 - begin)), float(1 + MARGIN * (1 - begin))


def _cutoff_axis(axes: Axes, cutoffs: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.set_xlim(2 * max(cutoffs), min(cutoffs) / 2)
    axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_minor_locator(NullLocator())


def _mark_if_empty(axes: Axes, what: str) -> None:
    """Without a named face there is no precision, without a known person no recall."""
    if not axes.lines:
        axes.text(0.5, 0.5, f"no {what}", transform=axes.transAxes, color=GREY, ha="center")


def _finish(figure: Figure, spare: Sequence[Axes], points: Sequence[CurvePoint]) -> None:
    """The legend of all panels, where there is room; then the ticks are created, in our style."""
    found = {point.method for point in points}
    methods = [
        *(each for each in METHOD_STYLES if each in found),
        *sorted(found - set(METHOD_STYLES)),
    ]
    samples = [_sample(style_of(method), method in LEARNERS) for method in methods]
    names = [style_of(method).name for method in methods]
    if spare:
        legend = spare[0].legend(
            samples, names, loc="upper right", handlelength=3, labelspacing=0.25, fontsize=7,
            frameon=False,
        )  # fmt: skip
        legend.set_in_layout(False)
    else:
        wide = _columns(len(by_scene(points))) == COLUMNS
        figure.legend(
            samples, names, loc="outside upper center" if wide else "outside right center",
            ncols=4 if wide else 1, handlelength=3.4, frameon=False,
        )  # fmt: skip
    figure.draw_without_rendering()


def _draw_recall(axes: Axes, rows: Sequence[TrialRow]) -> None:
    """A line a scene; the band reaches from the worst seed to the best."""
    scenes = by_scene(summarise(rows))
    lows = [0.9]
    for at, (scene, points) in enumerate(scenes.items()):
        values = sorted(
            (each.n_g, each.recall, each.recall_low, each.recall_high)
            for each in points
            if each.recall is not None and each.recall_low is not None
        )
        name = title(scene, scenes).replace("$", r"\$")
        _draw_size_curve(axes, values, SCENE_STYLES[at % len(SCENE_STYLES)], name)
        lows += [low for _, _, low, _ in values]
    begin = np.floor(10 * min(lows)) / 10
    axes.set_ylim(begin - 0.01, 1 + 0.02 * (1 - begin))
    axes.set_ylabel("recall")
    axes.set_title("a   What it buys")
    axes.annotate(
        f"paper: most of\nthe gain by {PAPER_SIZE}",
        xy=(PAPER_SIZE, 0.03),
        xycoords=("data", "axes fraction"),
        xytext=(4, 0),
        textcoords="offset points",
        color=GREY,
        fontsize=7,
    )


def _draw_time(axes: Axes, rows: Sequence[TrialRow], literal: Mapping[int, float]) -> None:
    """Cameras of a stream share its time, so that there is one line for all."""
    times: dict[int, list[float]] = {}
    for row in rows:
        times.setdefault(row.n_g, []).append(row.ms_per_frame)
    ours = [(n_g, mean(ms), min(ms), max(ms)) for n_g, ms in sorted(times.items())]
    _draw_size_curve(axes, ours, ("black", "o", "-"), "ours: mean and range of all runs")
    dense = [(n_g, ms, ms, ms) for n_g, ms in sorted(literal.items())]
    _draw_size_curve(
        axes, dense, (GREY, "s", (0, (4, 1.5))), "the algorithm taken literally: dense"
    )
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("milliseconds per frame")
    axes.set_title("b   What it costs")


def _draw_size_curve(axes: Axes, values: Sequence[tuple[Any, ...]], style: Any, name: str) -> None:
    if not values:
        return
    colour, marker, dash = style
    sizes, means, lows, highs = zip(*values, strict=True)
    if lows != highs:
        axes.fill_between(sizes, lows, highs, color=colour, alpha=0.15, lw=0, zorder=2)
    axes.plot(
        sizes,
        means,
        color=colour,
        marker=marker,
        markersize=4,
        ls=dash,
        lw=1.4,
        label=name,
        zorder=3,
    )
