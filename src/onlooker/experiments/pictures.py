"""The pictures of the guide: how the learner works and what its parameters do, by running it.

    python -m onlooker.experiments.pictures --folder docs/pictures

Points in the plane are streamed past learners of this library; nothing is drawn by hand.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from onlooker import HeatKernel, OnlineHarmonicLearner, ParameterWarning
from onlooker.baselines.self_training import SelfTraining
from onlooker.core.checks import Floats
from onlooker.experiments.report.plots import FORMATS, GREY, STYLE

KERNEL = HeatKernel(bandwidth=0.1, cutoff=1e-3)
BUDGET = 300
FIRST, SECOND, NOBODY = "#0072B2", "#D55E00", "#BBBBBB"
COLOURS_OF = {"ana": FIRST, "ben": SECOND, None: NOBODY}
LABELS = {"ana": (-0.95, 0.30), "ben": (1.95, 0.20)}
Drawing = Callable[[], Figure]


def arcs(points: int = 70, seed: int = 0) -> Floats:
    """Two interlocked arcs, in the order of a stream: from their labeled ends onwards, in turns.

    >>> arcs(4).shape
    (8, 2)
    """
    rng = np.random.default_rng(seed)
    angle = np.linspace(0.1, np.pi, points)
    above = np.stack([-np.cos(angle), np.sin(angle)], axis=1)
    below = np.stack([1 + np.cos(angle), 0.5 - np.sin(angle)], axis=1)
    turns = np.stack([above, below], axis=1).reshape(-1, 2)
    return turns + rng.normal(0.0, 0.05, turns.shape)


def taught(kernel: HeatKernel = KERNEL, **options: Any) -> OnlineHarmonicLearner:
    """A learner with one label for each arc."""
    learner = OnlineHarmonicLearner(kernel, **({"max_vertices": BUDGET} | options))
    for name, place in LABELS.items():
        learner.teach(place, name)
    return learner


# ---- parts of drawings


def _panels(titles: Sequence[str], *, height: float = 2.3) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(2.4 * len(titles), height), layout="constrained")
    panels = list(figure.subplots(1, len(titles), squeeze=False)[0])
    for panel, title in zip(panels, titles, strict=True):
        panel.set_title(title)
    return figure, panels


def _plane(panel: Axes) -> None:
    panel.set(xlim=(-1.35, 2.35), ylim=(-0.85, 1.35), xticks=[], yticks=[], aspect="equal")


def _labels(panel: Axes) -> None:
    for name, place in LABELS.items():
        panel.plot(*place, "*", color=COLOURS_OF[name], markersize=12, markeredgecolor="black")


def _points(panel: Axes, places: Floats, names: Sequence[str | None], size: float = 10) -> None:
    colours = [COLOURS_OF[name] for name in names]
    panel.scatter(places[:, 0], places[:, 1], s=size, c=colours, linewidths=0)
    _plane(panel)
    _labels(panel)


def _links(panel: Axes, places: Floats, kernel: HeatKernel) -> None:
    pairs, strengths = [], []
    for first, place in enumerate(places):
        weights = kernel.similarity(place, places[:first]) if first else np.empty(0)
        for second in np.flatnonzero(weights):
            pairs.append((place, places[second]))
            strengths.append(0.15 + 0.85 * float(weights[second]))
    panel.add_collection(LineCollection(pairs, colors=GREY, linewidths=0.6, alpha=strengths))


def _answered(panel: Axes, learner: OnlineHarmonicLearner, stream: Floats) -> None:
    names = [learner.observe(x).label for x in stream]
    _points(panel, stream, names)
    nobody = names.count(None)
    panel.set_xlabel(f"nobody: {nobody} of {len(names)}")


# ---- how it works


def draw_stream() -> Figure:
    """What arrives: points without a name, and a label for each of two."""
    figure, (early, late) = _panels(["the first 20 examples", "all of them"])
    stream = arcs()
    _points(early, stream[:20], [None] * 20)
    _points(late, stream, [None] * len(stream))
    return figure


def draw_similarity() -> Figure:
    """Similarity against distance, and where the cutoff ends it."""
    figure, (panel,) = _panels(["similarity of two examples"])
    distance = np.linspace(0.0, 0.5, 200)
    weights = KERNEL.weights(distance**2)
    panel.plot(distance, weights, color=FIRST)
    reach = KERNEL.bandwidth * float(np.sqrt(-2 * np.log(KERNEL.cutoff)))
    panel.axvline(reach, color=SECOND, linestyle=":")
    panel.annotate("cutoff", (reach, 0.6), (4, 0), textcoords="offset points", color=SECOND)
    panel.annotate("bandwidth", (KERNEL.bandwidth, 0.61), (6, 2), textcoords="offset points")
    panel.plot(KERNEL.bandwidth, np.exp(-0.5), "o", color=FIRST)
    panel.set(xlabel="distance", ylabel="weight of the link")
    return figure


def draw_graph() -> Figure:
    """Links between similar examples."""
    figure, (panel,) = _panels(["the similarity graph"])
    stream = arcs()
    _links(panel, stream, KERNEL)
    _points(panel, stream, [None] * len(stream), size=6)
    return figure


def draw_walks() -> Figure:
    """Random walks from one example end at labels."""
    figure, (walks, scores) = _panels(["three walks", "where walks from each end"])
    learner = taught()
    stream = arcs()
    names = [learner.observe(x).label for x in stream]
    known = learner.vertices().vectors
    rng = np.random.default_rng(4)
    for colour in (FIRST, "#7B3294", "#009E73"):
        path = [int(np.argmin(np.abs(known - stream[30]).sum(axis=1)))]
        while path[-1] > 1 and len(path) < 400:
            weights = KERNEL.similarity(known[path[-1]], known)
            weights[path[-1]] = 0.0
            path.append(int(rng.choice(len(known), p=weights / weights.sum())))
        walks.plot(*known[path].T, color=colour, linewidth=0.6, alpha=0.8)
    _points(walks, stream, [None] * len(stream), size=5)
    _points(scores, stream, names)
    return figure


def draw_sink() -> Figure:
    """Each step may end in the sink: far from labels is nobody."""
    figure, (map_of, along) = _panels(["who, and how surely", "share that ends in the sink"])
    learner = taught()
    for x in arcs():
        learner.observe(x)
    across, down = np.meshgrid(np.linspace(-1.35, 2.35, 75), np.linspace(-0.85, 1.35, 45))
    answers = [learner.predict(x) for x in np.stack([across.ravel(), down.ravel()], axis=1)]
    shown = np.ones((*across.shape, 4))
    for place, answer in zip(np.ndindex(across.shape), answers, strict=True):
        colour = matplotlib.colors.to_rgb(COLOURS_OF[answer.label])
        shown[place] = (*colour, 0.15 + 0.75 * answer.confidence if answer.label else 0.0)
    map_of.imshow(shown, origin="lower", extent=(-1.35, 2.35, -0.85, 1.35))
    _plane(map_of)
    _labels(map_of)
    away = np.linspace(0.0, 0.6, 60)
    along.plot(away, [learner.predict([-1.0 - each, 0.3]).sink for each in away], color=FIRST)
    along.set(xlabel="distance from the labeled end", ylabel="sink")
    return figure


def draw_quantization() -> Figure:
    """A budget: close vertices become one that represents both."""
    budgets = (300, 40, 12)
    figure, panels = _panels([f"{budget} vertices" for budget in budgets])
    stream = arcs()
    for panel, budget in zip(panels, budgets, strict=True):
        learner = taught(max_vertices=budget)
        for x in stream:
            learner.observe(x)
        known = learner.vertices()
        names = [learner.predict(x).label for x in known.vectors]
        colours = [COLOURS_OF[name] for name in names]
        across, down = known.vectors.T
        panel.scatter(across, down, s=6.0 * known.multiplicities, c=colours, alpha=0.7)
        _plane(panel)
        _labels(panel)
    return figure


def draw_steps() -> Figure:
    """The stream after 10, 40 and all steps: names travel along the arcs."""
    steps = (10, 50, 140)
    figure, panels = _panels([f"after {count} steps" for count in steps])
    for panel, count in zip(panels, steps, strict=True):
        _answered(panel, taught(), arcs()[:count])
    return figure


def draw_nearest() -> Figure:
    """Nearest neighbour on the labels, self-training after a wrong label, and the learner."""
    figure, panels = _panels(["nearest label", "the learner"])
    stream = arcs()
    places = np.array(list(LABELS.values()))
    names = list(LABELS)
    nearest = [names[int(np.linalg.norm(places - x, axis=1).argmin())] for x in stream]
    _points(panels[0], stream, nearest)
    _answered(panels[1], taught(), stream)
    panels[1].set_xlabel("")
    return figure


def draw_correction() -> Figure:
    """A wrong label, corrected: the learner forgets its consequences, self-training does not."""
    figure, panels = _panels(["a wrong label", "corrected: learner", "corrected: self-training"])
    stream = arcs()
    learner: Any
    for panel, learner in (
        (panels[0], OnlineHarmonicLearner(KERNEL, max_vertices=BUDGET)),
        (panels[1], OnlineHarmonicLearner(KERNEL, max_vertices=BUDGET)),
        (panels[2], SelfTraining(KERNEL)),
    ):
        learner.teach(LABELS["ana"], "ben")
        learner.teach(LABELS["ben"], "ben")
        for x in stream:
            learner.observe(x)
        if panel is not panels[0]:
            learner.unteach(LABELS["ana"])
            learner.teach(LABELS["ana"], "ana")
        _points(panel, stream, [learner.predict(x).label for x in stream])
    return figure


def draw_trust() -> Figure:
    """A trust radius: names are carried only so far from a label."""
    figure, panels = _panels(["no trust radius", "trust radius 1.2"])
    _answered(panels[0], taught(), arcs())
    _answered(panels[1], taught(trust_radius=1.2), arcs())
    for place in LABELS.values():
        panels[1].add_patch(Circle(place, 1.2, fill=False, linestyle=":", edgecolor=GREY))
    return figure


# ---- what the parameters do


def _compared(titles: Sequence[str], learners: Sequence[OnlineHarmonicLearner]) -> Figure:
    figure, panels = _panels(titles)
    with warnings.catch_warnings():  # some are bad on purpose, and the learner notices it
        warnings.simplefilter("ignore", ParameterWarning)
        for panel, learner in zip(panels, learners, strict=True):
            _answered(panel, learner, arcs())
    return figure


def draw_bandwidths() -> Figure:
    """Three bandwidths."""
    bandwidths = (0.01, 0.1, 1.0)
    return _compared(
        [f"bandwidth {each}" for each in bandwidths],
        [taught(HeatKernel(each, KERNEL.cutoff)) for each in bandwidths],
    )


def draw_cutoffs() -> Figure:
    """Three cutoffs."""
    cutoffs = (0.6, 1e-3, 1e-12)
    return _compared(
        [f"cutoff {each:g}" for each in cutoffs],
        [taught(HeatKernel(KERNEL.bandwidth, each), sink=1e-2) for each in cutoffs],
    )


def draw_sinks() -> Figure:
    """How the sink lowers confidence with the length of the chain."""
    figure, (panel,) = _panels(["confidence along an arc"])
    for sink, style in ((1e-4, "-"), (1e-2, "--"), (1e-1, ":")):
        learner = taught(sink=sink)
        steps = [learner.observe(x) for x in arcs()][::2]
        panel.plot([step.confidence for step in steps], style, color=FIRST, label=f"sink {sink:g}")
    panel.set(xlabel="example of the first arc", ylabel="confidence", ylim=(0, 1.05))
    panel.legend(frameon=False)
    return figure


def draw_budgets() -> Figure:
    """The share of right answers against the budget."""
    figure, (panel,) = _panels(["right answers"])
    budgets = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64)
    truth = ["ana", "ben"] * 70
    shares = []
    for budget in budgets:
        learner = taught(max_vertices=budget)
        names = [learner.observe(x).label for x in arcs()]
        shares.append(np.mean([name == true for name, true in zip(names, truth, strict=True)]))
    panel.plot(budgets, shares, "o-", color=FIRST, markersize=3)
    panel.set(xlabel="max_vertices", ylabel="share of all", ylim=(0, 1.05))
    return figure


PICTURES: dict[str, Drawing] = {
    "stream": draw_stream,
    "similarity": draw_similarity,
    "graph": draw_graph,
    "walks": draw_walks,
    "sink": draw_sink,
    "steps": draw_steps,
    "nearest": draw_nearest,
    "quantization": draw_quantization,
    "correction": draw_correction,
    "trust": draw_trust,
    "bandwidths": draw_bandwidths,
    "cutoffs": draw_cutoffs,
    "sinks": draw_sinks,
    "budgets": draw_budgets,
}
"""The first ten are how it works, in their order there; the others are of the parameter guide."""


def save_picture(name: str, path: Path) -> None:
    """Draw one of the pictures; the suffix of the file chooses the format."""
    with matplotlib.rc_context({**STYLE, "svg.fonttype": "none"}):
        date = {"Date": None} if path.suffix == ".svg" else {}
        PICTURES[name]().savefig(path, dpi=200, metadata=date)


def main(argv: Sequence[str] | None = None) -> int:
    """Draw them: exit code 0, 2 for a wrong argument."""
    command = argparse.ArgumentParser(
        prog="python -m onlooker.experiments.pictures",
        description="Draw the pictures of the guide.",
        epilog="example: python -m onlooker.experiments.pictures --folder figures --format .pdf",
    )
    option = command.add_argument
    option("--folder", type=Path, default=Path("docs/pictures"), help="where they are written")
    option("--format", choices=FORMATS, default=".svg", help="the kind of file")
    option("names", nargs="*", metavar="NAME", help=f"only these of {', '.join(PICTURES)}")
    arguments = command.parse_args(argv)
    unknown = [name for name in arguments.names if name not in PICTURES]
    if unknown:
        command.error(f"no picture is called {unknown[0]}; there are {', '.join(PICTURES)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or PICTURES:
        save_picture(name, arguments.folder / f"{name}{arguments.format}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
