"""What the size of the graph buys and costs (the paper's last figure): recall, and time."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from onlooker.core.errors import BadValue
from onlooker.experiments.paper.curves import by_scene, summarise
from onlooker.experiments.paper.curves_plot import GREEN, ORANGE, PURPLE, SKY, title
from onlooker.experiments.paper.trial import TrialRow
from onlooker.experiments.report.plots import COLOURS, GREY, STYLE

MOST_BY = 200
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
        largest = max(1.5 * MOST_BY, *(row.n_g for row in chosen), *literal)
        for axes in (recall, time):
            axes.set_xlim(0, 1.04 * largest)
            axes.set_xlabel("representative vertices kept, $n_g$")
            axes.axvline(MOST_BY, color=GREY, lw=0.7, zorder=1)
        figure.legend(
            *recall.get_legend_handles_labels(), loc="outside lower left", ncols=2, **LEGEND
        )
        figure.legend(*time.get_legend_handles_labels(), loc="outside lower right", **LEGEND)
        figure.draw_without_rendering()  # ticks are made now, in our style
    return figure


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
        _draw_line(axes, values, SCENE_STYLES[at % len(SCENE_STYLES)], name)
        lows += [low for _, _, low, _ in values]
    begin = np.floor(10 * min(lows)) / 10
    axes.set_ylim(begin - 0.01, 1 + 0.02 * (1 - begin))
    axes.set_ylabel("recall")
    axes.set_title("a   What it buys")
    axes.annotate(
        f"paper: most of\nthe gain by {MOST_BY}",
        xy=(MOST_BY, 0.03),
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
    _draw_line(axes, ours, ("black", "o", "-"), "ours: mean and range of all runs")
    dense = [(n_g, ms, ms, ms) for n_g, ms in sorted(literal.items())]
    _draw_line(axes, dense, (GREY, "s", (0, (4, 1.5))), "the algorithm taken literally: dense")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("milliseconds per frame")
    axes.set_title("b   What it costs")


def _draw_line(axes: Axes, values: Sequence[tuple[Any, ...]], style: Any, name: str) -> None:
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
