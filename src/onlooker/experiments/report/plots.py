"""The style of all figures, and the three figures that are no part of the reproduction.

`save_figure` draws the accuracy of the digits experiment along the stream and against the budget.
`save_trade_off` draws a calibration: the strangers that a cutoff accepts, those that it names
through chains, and the pairs of faces of one person that it links. `save_separation` draws how far
the faces of known people are from each other.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from onlooker.core.checks import Floats
from onlooker.experiments.accuracy import AccuracyRun, AccuracySummary, summarise
from onlooker.home.separation import Separation
from onlooker.vision.calibration import Calibration

FORMATS = (".svg", ".pdf", ".png")
WINDOW = 200
"""The number of answers that a point of a curve is the mean of."""

# Okabe and Ito's colours differ with any kind of colour vision; their lightness differs too.
COLOURS = {"closest pair": "#0072B2", "doubling": "#D55E00", "self-training": "black"}
MARKERS = {"closest pair": "o", "doubling": "s", "self-training": "^"}
LINES = {
    "1-NN": (0, (1, 1.5)),
    "self-training, all": (0, (3, 1.5)),
    "offline exact": (0, (5, 2)),
    "LabelSpreading": (0, (5, 2, 1, 2)),
}
GREY = "#4D4D4D"
STRANGERS, FRIENDS, CHAINED = "#D55E00", "#0072B2", "#7B3294"
Label = tuple[float, str, str]
"""Height, text and colour."""

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": "black",
    "ytick.labelcolor": "black",
    "svg.hashsalt": "onlooker",  # the same runs give the same file
}


def save_figure(runs: Sequence[AccuracyRun], path: Path) -> None:
    """Draw the runs of all seeds; the suffix of the file chooses the format."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 2.9), layout="constrained")
        over_time, by_budget = figure.subplots(1, 2, sharey=True, width_ratios=(1.7, 1))
        _draw_over_time(over_time, runs)
        _draw_by_budget(by_budget, summarise([run.row for run in runs]))
        date = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, dpi=200, metadata=date)


def windowed(
    runs: Sequence[AccuracyRun], window: int = WINDOW
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Steps, and at each the share of right answers in the window before it, over all runs."""
    length = min(len(run.correct) for run in runs)
    window = min(window, max(1, length // 4))
    right = np.mean([run.correct[:length] for run in runs], axis=0)
    share = np.convolve(right, np.full(window, 1 / window), mode="valid")
    return np.arange(window, length + 1), share


def _draw_over_time(axes: Axes, runs: Sequence[AccuracyRun]) -> None:
    """Left: curves of the two largest budgets; other methods are horizontal lines."""
    budgets = sorted({run.row.n_g for run in runs if run.row.n_g is not None})[-2:]
    labels: list[Label] = []
    for method, colour in COLOURS.items():
        for n_g, width in zip(reversed(budgets), (1.7, 0.8), strict=False):
            steps, share = windowed(
                [run for run in runs if (run.row.method, run.row.n_g) == (method, n_g)]
            )
            axes.plot(steps, share, color=colour, lw=width, solid_joinstyle="round", zorder=3)
            labels.append((float(share[-1]), f"{method}, $n_g$ = {n_g}", colour))
    for method in ("1-NN", "offline exact"):
        level = float(np.mean([run.row.accuracy for run in runs if run.row.method == method]))
        labels.append(_draw_level(axes, level, method))
    axes.set_xlim(0, int(steps[-1]))
    axes.set_title("a   Accuracy along the stream")
    axes.set_xlabel("unlabeled digits seen")
    axes.set_ylabel(f"accuracy over the last {steps[0]}")
    _label_ends(axes, labels)


def _draw_by_budget(axes: Axes, summaries: Sequence[AccuracySummary]) -> None:
    """Right: mean and standard deviation for each budget; the others are horizontal lines."""
    budgets = sorted({each.n_g for each in summaries if each.n_g is not None})
    labels = [
        _draw_level(axes, each.accuracy, each.method) for each in summaries if each.n_g is None
    ]
    for shift, (method, colour) in zip((-0.06, 0.0, 0.06), COLOURS.items(), strict=True):
        points = sorted(
            (budgets.index(each.n_g) + shift, each.accuracy, each.deviation or 0.0)
            for each in summaries
            if each.method == method and each.n_g is not None
        )
        places, accuracies, deviations = zip(*points, strict=True)
        axes.errorbar(
            places,
            accuracies,
            yerr=deviations,
            color=colour,
            marker=MARKERS[method],
            markersize=4.5,
            lw=1.2,
            elinewidth=0.9,
            capsize=2,
            zorder=3,
        )
        labels.append((accuracies[-1], method, colour))
    axes.set_xticks(range(len(budgets)), [str(n_g) for n_g in budgets])
    axes.set_xlim(-0.35, len(budgets) - 0.65)
    axes.set_title("b   Accuracy and budget")
    axes.set_xlabel("unlabeled vertices kept, $n_g$")
    axes.set_ylabel("accuracy, mean ± sd")
    axes.tick_params(labelleft=True)
    _label_ends(axes, labels)


def _draw_level(axes: Axes, level: float, method: str) -> Label:
    axes.axhline(level, color=GREY, lw=0.9, ls=LINES[method], zorder=2)
    return level, method, GREY


def _label_ends(axes: Axes, labels: Sequence[Label]) -> None:
    """Write each name where its line ends, moved apart as far as needed to be readable."""
    low, high = axes.get_ylim()
    wanted = sorted(labels)
    heights = np.array([height for height, _, _ in wanted])
    steps = 0.068 * (high - low) * np.arange(len(heights))
    # The mean of "never lower than the one below" and "never higher than the one above".
    lifted = np.maximum.accumulate(heights - steps)
    lowered = np.minimum.accumulate((heights - steps)[::-1])[::-1]
    for (height, text, colour), place in zip(wanted, (lifted + lowered) / 2 + steps, strict=True):
        axes.annotate(
            text,
            xy=(1, height),
            xytext=(1.04, place),
            xycoords=axes.get_yaxis_transform(),
            textcoords=axes.get_yaxis_transform(),
            color=colour,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.5, "shrinkA": 0, "shrinkB": 0},
        )


def save_trade_off(path: Path, chosen: Calibration, friends: Floats | None = None) -> None:
    """Draw a calibration; `friends` are distances between faces of the same person, if known."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.0, 3.6), layout="constrained")
        axes = figure.add_subplot()
        cutoffs = np.array([chosen.cutoff_at(float(reach)) for reach in chosen.reaches])
        # Above 0.99 the curve is flat; a cutoff of 0 has underflowed.
        shown = (chosen.rates > 0) & (chosen.rates < 0.99) & (cutoffs > 0)
        axes.loglog(
            cutoffs[shown], chosen.rates[shown], color=STRANGERS, lw=1.6, label="near a stored face"
        )
        _draw_chains(axes, chosen)
        axes.axvline(chosen.cutoff, color=GREY, lw=0.8, ls=(0, (4, 2)))
        rate = f"{chosen.rate:.2g} of strangers" if chosen.rate else "no stranger"
        _write_beside(axes, chosen.cutoff, 0.03, f"cutoff {chosen.cutoff:g}:\n{rate}", GREY)
        if friends is not None and len(friends):
            _draw_friends(axes.twinx(), chosen, cutoffs[shown], friends)
        axes.set_xlim(float(cutoffs[shown].max()) * 2, float(cutoffs[shown].min()))
        axes.set_xlabel(f"cutoff (bandwidth {chosen.bandwidth:g}); looser to the right")
        axes.set_ylabel("share of strangers")
        axes.legend(loc="lower right", frameon=False)
        axes.set_title(f"{chosen.strangers} strangers")
        date = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, dpi=200, metadata=date)


def _draw_chains(axes: Axes, chosen: Calibration) -> None:
    """The share named through chains, the cliff, and the margin that the choice keeps."""
    cutoffs = np.array([chosen.cutoff_at(float(reach)) for reach in chosen.chains.reaches])
    shown = (chosen.chains.named > 0) & (cutoffs > 0)
    axes.plot(
        cutoffs[shown], chosen.chains.named[shown], color=CHAINED, lw=1.6, ls=(0, (6, 1, 1, 1)),
        label="named, with chains",
    )  # fmt: skip
    if chosen.cliff is None or chosen.margin is None:
        return
    axes.axvspan(chosen.cutoff, chosen.cliff, color=CHAINED, alpha=0.08, lw=0)
    axes.axvline(chosen.cliff, color=CHAINED, lw=0.8)
    text = f"cliff {chosen.cliff:.2g};\nmargin {chosen.margin:.0f} times"
    _write_beside(axes, chosen.cliff, 0.22, text, CHAINED)


def _write_beside(axes: Axes, cutoff: float, height: float, text: str, colour: str) -> None:
    """Text to the right of a vertical line."""
    axes.annotate(
        text, xy=(cutoff, height), xycoords=("data", "axes fraction"), xytext=(5, 0),
        textcoords="offset points", color=colour,
    )  # fmt: skip


def _draw_friends(
    axes: matplotlib.axes.Axes, chosen: Calibration, cutoffs: Floats, friends: Floats
) -> None:
    reaches = chosen.bandwidth * np.sqrt(-2 * np.log(cutoffs))
    linked = np.searchsorted(np.sort(friends), reaches) / len(friends)
    axes.plot(cutoffs, linked, color=FRIENDS, lw=1.6, ls=(0, (5, 1.5)))
    axes.set_ylim(0, 1.02)
    axes.spines["right"].set_visible(True)
    axes.set_ylabel("share of a person's pairs linked directly", color=FRIENDS)


MOST_PEOPLE = 24
"""Of whom a separation is drawn: those who are nearest to somebody else."""
NAME_LENGTH = 24
"""Characters of a name beside its row."""


def save_separation(path: Path, found: Separation) -> None:
    """Draw a row for each person: own learned faces, and the nearest face of everybody else.

    All distances are those to the nearest labeled face of that person.
    """
    order = list(dict.fromkeys(name for pair in found.pairs for name in (pair.first, pair.second)))
    shown = (order or [person.name for person in found.people])[:MOST_PEOPLE]
    places = {name: place for place, name in enumerate(shown)}
    with matplotlib.rc_context(STYLE):
        height = 1.7 + 0.22 * len(shown)
        figure = Figure(figsize=(6.4, height), layout="constrained")
        axes = figure.add_subplot()
        for person in found.people:
            if person.name in places:
                heights = np.full(len(person.learned), places[person.name] - 0.12)
                axes.plot(person.learned, heights, "|", color=FRIENDS, markersize=7, mew=0.8)
        for pair in found.pairs:
            for name in (pair.first, pair.second):
                if name in places:
                    place = places[name] + 0.14
                    axes.plot(pair.near_label.distance, place, "D", color=STRANGERS, markersize=3.5)
        axes.set_yticks(range(len(shown)), [_short(name) for name in shown], parse_math=False)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlim(left=0)
        radius, proposed = found.trust_radius, found.proposed
        lines: list[tuple[float | None, str, str, Any]] = [
            (found.reach, "linked below", GREY, (0, (4, 2))),
            (radius, "trust radius", "black", "-"),
            (None if proposed == radius else proposed, "proposed", CHAINED, (0, (6, 1, 1, 1))),
        ]
        for distance, text, colour, dash in lines:
            if distance is not None:
                label = f"{text} {distance:.3g}"
                axes.axvline(distance, color=colour, lw=0.9, ls=dash, label=label, zorder=0)
        axes.plot([], [], "|", color=FRIENDS, markersize=7, label="learned faces of the person")
        axes.plot([], [], "D", color=STRANGERS, markersize=3.5, label="nearest face of each other")
        axes.set_xlabel("distance to the nearest labeled face")
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
        axes.set_title("How well it separates the people it knows")
        date = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, dpi=200, metadata=date)


def _short(name: str) -> str:
    """A name that fits beside its row.

    >>> _short("ana"), len(_short(99 * "a"))
    ('ana', 24)
    """
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"
