"""The figure of the regret experiment: the three terms against n, a panel for each schedule."""

from collections.abc import Sequence
from statistics import mean

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onlooker.experiments.report.plots import COLOURS, GREY, STYLE
from onlooker.experiments.theory.regret import APART, GROWING, LEARNER, RegretRow, over_n
from onlooker.experiments.theory.slopes import trend

LEAST = 1e-10
"""The lower end of the axis of errors; smaller terms are drawn there."""

GREEN, PURPLE = "#009E73", "#CC79A7"  # two more of Okabe and Ito's colours that print well
LINES = (
    # column, method, name, colour, marker, dash
    ("offline", APART, "$T_1$ offline", PURPLE, "D", "-"),
    ("online", APART, "$T_2$ online", COLOURS["closest pair"], "o", "-"),
    ("quantization", APART, "$T_3$ quantization, labels apart", COLOURS["doubling"], "s", "-"),
    ("quantization", LEARNER, "$T_3$ quantization, learner", COLOURS["doubling"], "s", "--"),
    ("strength", APART, "mean $(\\ell^*)^2$: size of the scores", GREEN, "^", ":"),
)
COLUMNS = 3
RATE = -0.5
"""The exponent of the paper."""


def draw(rows: Sequence[RegretRow]) -> Figure:
    """The rows of the first stream, all seeds, as a figure for svg, pdf or png."""
    rows = [row for row in rows if row.stream == rows[0].stream]
    schedules = [each for each in GROWING if over_n(rows, each, APART)]
    with matplotlib.rc_context(STYLE):
        lines = len(schedules) // COLUMNS + 1  # one cell is for the legend
        figure = Figure(figsize=(7.2, 0.3 + 2.7 * lines), layout="constrained")
        cells = figure.subplots(lines, COLUMNS, sharey=True, squeeze=False).ravel().tolist()
        for axes, schedule in zip(cells, schedules, strict=False):
            _draw_schedule(axes, rows, schedule)
        for axes in cells[len(schedules) :]:
            axes.set_axis_off()
        for axes in figure.axes[::COLUMNS]:
            axes.set_ylabel("mean square")
        cells[0].set_ylim(LEAST, 4)
        handles, names = cells[0].get_legend_handles_labels()
        cells[len(schedules)].legend(
            handles, names, loc="center left", frameon=False, title=f"stream: {rows[0].stream}"
        )
        figure.draw_without_rendering()  # creates the ticks now, in our style
    return figure


def _draw_schedule(axes: Axes, rows: Sequence[RegretRow], schedule: str) -> None:
    exponents = []
    for column, method, name, colour, marker, dash in LINES:
        chosen = over_n(rows, schedule, method)
        lengths = sorted({row.n for row in chosen})
        means = [mean(getattr(row, column) for row in chosen if row.n == n) for n in lengths]
        axes.plot(
            lengths,
            np.maximum(means, LEAST),
            color=colour,
            marker=marker,
            markersize=4,
            markerfacecolor="white" if dash == "--" else colour,
            lw=1.2,
            ls=dash,
            label=name,
            zorder=3,
        )
        found = trend(chosen, column)
        if found and column != "strength":
            exponents.append(f"{name.split()[0]} {found}{' learner' if dash == '--' else ''}")
    _draw_references(axes, lengths)
    _write_exponents(axes, exponents)
    axes.set(xscale="log", yscale="log", xlabel="examples, $n$")
    axes.set_title(f"$\\gamma_g$ = {_typeset(schedule)}")
    axes.set_xticks(lengths, [str(n) for n in lengths])
    axes.minorticks_off()


def _draw_references(axes: Axes, lengths: Sequence[int]) -> None:
    """The error of always answering 0, and the slope that the paper states."""
    axes.axhline(1.0, color=GREY, lw=0.9, ls=(0, (1, 1.5)), zorder=2, label="always answering 0")
    n = np.array([lengths[0], lengths[-1]], dtype=float)
    falling = 3e-7 * (n / n[0]) ** RATE
    axes.plot(
        n, falling, color="black", lw=0.9, zorder=2, label="direction of the paper's $n^{-1/2}$"
    )


def _write_exponents(axes: Axes, exponents: Sequence[str]) -> None:
    axes.annotate(
        "\n".join(["growth: exponents of $n$, 95 %", *exponents]),
        xy=(0.03, 0.02),
        xycoords="axes fraction",
        fontsize=6,
        linespacing=1.25,
    )


def _typeset(schedule: str) -> str:
    """A schedule with mathematical symbols."""
    return schedule.replace("n^1/4", "$n^{1/4}$").replace("ε", "$\\varepsilon$")
