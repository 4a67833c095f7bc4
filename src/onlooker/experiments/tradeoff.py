"""The picture of a calibration: what a cutoff costs in strangers, and what it gives in friends."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from onlooker.core.checks import Floats
from onlooker.experiments.plots import GREY, STYLE
from onlooker.vision.calibration import Calibration

STRANGERS, FRIENDS = "#D55E00", "#0072B2"


def save_trade_off(path: Path, chosen: Calibration, friends: Floats | None = None) -> None:
    """Draw it; `friends` are distances between faces of the same person, where there are some."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 3.2), layout="constrained")
        axes = figure.add_subplot()
        cutoffs = np.array([chosen.cutoff_at(float(reach)) for reach in chosen.reaches])
        # Beyond 0.99, everybody is near somebody; a cutoff of 0 is one that no number can tell.
        shown = (chosen.rates > 0) & (chosen.rates < 0.99) & (cutoffs > 0)
        axes.loglog(
            cutoffs[shown], chosen.rates[shown], color=STRANGERS, lw=1.6, label="strangers accepted"
        )
        axes.axvline(chosen.cutoff, color=GREY, lw=0.8, ls=(0, (4, 2)))
        rate = f"{chosen.rate:.2g} of strangers" if chosen.rate else "no stranger"
        axes.annotate(
            f"cutoff {chosen.cutoff:g}:\n{rate}", xy=(chosen.cutoff, 0.03),
            xycoords=("data", "axes fraction"), xytext=(5, 0), textcoords="offset points",
        )  # fmt: skip
        if friends is not None and len(friends):
            _draw_friends(axes.twinx(), chosen, cutoffs[shown], friends)
        axes.set_xlim(float(cutoffs[shown].max()) * 2, float(cutoffs[shown].min()))
        axes.set_xlabel(f"cutoff (bandwidth {chosen.bandwidth:g}); looser to the right")
        axes.set_ylabel("share of strangers near a kept face", color=STRANGERS)
        axes.set_title(f"{chosen.strangers} strangers")
        date = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, dpi=200, metadata=date)


def _draw_friends(
    axes: matplotlib.axes.Axes, chosen: Calibration, cutoffs: Floats, friends: Floats
) -> None:
    reaches = chosen.bandwidth * np.sqrt(-2 * np.log(cutoffs))
    linked = np.searchsorted(np.sort(friends), reaches) / len(friends)
    axes.plot(cutoffs, linked, color=FRIENDS, lw=1.6, ls=(0, (5, 1.5)))
    axes.set_ylim(0, 1.02)
    axes.spines["right"].set_visible(True)
    axes.set_ylabel("share of a person's pairs linked directly", color=FRIENDS)
