"""Recall of merged sites and of one learner that saw everything, over the cutoff."""

from collections.abc import Sequence
from statistics import mean
from typing import NamedTuple

import matplotlib
from matplotlib.figure import Figure

from onlooker.experiments.report.plots import GREY, STYLE

COLUMNS = 3
# Okabe and Ito's colours; orders share one, since their curves should coincide.
LEARNER_STYLES = {
    "one learner": ("black", "o", "-"),
    "in order": ("#0072B2", "v", "--"),
    "reversed": ("#0072B2", "^", ":"),
    "tree": ("#0072B2", "s", "-."),
    "in one budget": ("#009E73", "D", "--"),
    "plain, in order": ("#D55E00", "v", "--"),
    "plain, reversed": ("#D55E00", "^", ":"),
    "plain, tree": ("#D55E00", "s", "-."),
}


class RecallPoint(NamedTuple):
    """The recall of one learner at one cutoff with one seed."""

    scene: str
    """The title of its panel."""
    learner: str
    cutoff: float
    recall: float


def recall_over_cutoffs(points: Sequence[RecallPoint]) -> Figure:
    """One panel for each scene, one line for each learner, means over the seeds."""
    scenes = list(dict.fromkeys(point.scene for point in points))
    lines = -(-len(scenes) // COLUMNS)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 0.6 + 2.1 * lines), layout="constrained")
        grid = figure.subplots(lines, COLUMNS, squeeze=False, sharey=True)
        for axes in grid.flat[len(scenes) :]:
            axes.set_axis_off()
        for axes, scene in zip(grid.flat, scenes, strict=False):
            for learner, (colour, marker, dash) in LEARNER_STYLES.items():
                recalls: dict[float, list[float]] = {}
                for point in points:
                    if (point.scene, point.learner) == (scene, learner):
                        recalls.setdefault(point.cutoff, []).append(point.recall)
                cutoffs = sorted(recalls, reverse=True)
                axes.plot(
                    cutoffs, [mean(recalls[cutoff]) for cutoff in cutoffs], color=colour, lw=1.2,
                    ls=dash, marker=marker, markersize=3.6, markerfacecolor="none", label=learner,
                )  # fmt: skip
            axes.set_xscale("log")
            axes.invert_xaxis()
            axes.set_title(scene, parse_math=False)
            axes.tick_params(colors=GREY)
            axes.set(ylim=(-0.02, 1.02), xlabel="cutoff $\\varepsilon$, looser to the right")
        grid[0, 0].set_ylabel("recall at equal precision")
        drawn, names = grid[0, 0].get_legend_handles_labels()
        figure.legend(drawn, names, loc="outside upper center", ncols=4, frameon=False)
    return figure
