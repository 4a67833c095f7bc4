"""The learner beside what others would use, on the same streams in one run: `onlooker bench peers`.

Four streams that come with scikit-learn and river, shuffled by a seed; the first five of each class
are labeled, everything else is not. Methods that see a stream answer each example and then learn
from it, if they can learn from one without a label. Methods that see everything are given all
examples at once, which no stream allows: to answer one more they would be fitted again, so their
time for a step is that of a fit. An answer of nobody counts as wrong; coverage is the share that
was answered, and beside it the share of right ones among those.

Ours takes what `suggest` gives for the labeled and the first 200 other examples; in a second row
the nearest label answers where it says nobody. The others with a graph, and ours in a third, share
one bandwidth, taken from the distances of 200 examples; everything else is the default of its
library. docs/peers.md says what was fixed before any result was seen. Memory is the most that was
allocated while a method ran, measured on the first 300 examples for those that see a stream; of a
method in a Java machine, what it holds there at the end. Those of packages that no extra installs
are rows where their package can be imported (`peer_packages`).
"""

import sys
import tracemalloc
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any, Self

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table
from river import datasets
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import kneighbors_graph
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier

from onlooker import ClosestPair, HeatKernel, LeastVariance, OnlineHarmonicLearner, suggest
from onlooker.baselines.self_training import SelfTraining
from onlooker.baselines.temporal_propagation import TemporalLabelPropagation
from onlooker.compat.sklearn import HarmonicClassifier, auto_bandwidth
from onlooker.core.checks import Floats
from onlooker.core.quantizer import Quantizer
from onlooker.experiments.accuracy import HasLabel, LearnerWithPrior, StreamLearner, answers_of
from onlooker.experiments.paper.references import LabeledStream, NearestLabeled
from onlooker.experiments.parallel import spread
from onlooker.experiments.peer_packages import (
    CAPYMOA,
    GRAPH_LEARNING,
    CapyMoa,
    GraphLearning,
    Package,
    RiverNearest,
    java_megabytes,
    what_is_missing,
)
from onlooker.experiments.report.plots import COLOURS, GREY, STYLE

EXAMPLES = 1000
LABELS_PER_CLASS = 5
SEEDS = 3
BUDGET = 300
CUTOFF = 1e-12
LOOKED_AT = 200
"""Examples that the bandwidth is taken from."""
MEASURED = 300
"""Examples of a stream while memory is measured, which slows everything down."""
OURS = "Onlooker, else the nearest label"
"""The row that is compared: every example gets an answer, as from most of the others."""
LEAST_VARIANCE = "Onlooker, least variance"
"""As OURS, but for the quantizer."""
WITH_PRIOR = "Onlooker, class prior"
"""As OURS, told that all classes are equally frequent; `EXACT_WITH_PRIOR` sees everything."""
EXACT_WITH_PRIOR = "Onlooker, exact, class prior"
NEIGHBOURS = 7
"""Those of scikit-learn's LabelPropagation with kernel="knn"."""

Answers = list[str | None]


@dataclass(frozen=True, slots=True)
class PeerJob:
    """One method on one shuffle of one stream."""

    stream: str
    method: str
    seed: int
    examples: int = EXAMPLES
    memory: bool = False
    """Measure memory instead of accuracy and time."""


@dataclass(frozen=True, slots=True)
class PeerRow:
    """What one method did on one stream, over all seeds: a row of the table."""

    stream: str
    method: str
    sees: str
    accuracy: float
    coverage: float
    ms_per_step: float
    megabytes: float

    @property
    def selective(self) -> float:
        """The share of right answers among those that were given."""
        return self.accuracy / self.coverage if self.coverage else 0.0


@dataclass(frozen=True, slots=True)
class _Measured:
    accuracy: float = 0.0
    coverage: float = 0.0
    ms_per_step: float = 0.0
    megabytes: float = 0.0


# ---- streams


def _table(stream: str) -> tuple[Floats, list[str]]:
    """All rows of a stream and their classes, features standardised but for the digits."""
    if stream == "digits":
        digits = load_digits()
        return digits.data / 16, [str(each) for each in digits.target]
    rows = list(getattr(datasets, stream)())
    features = sorted(rows[0][0])
    values = np.array([[float(x[name]) for name in features] for x, _ in rows])
    spread_of = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(spread_of > 0, spread_of, 1.0), [
        str(y) for _, y in rows
    ]


STREAMS = ("digits", "ImageSegments", "Phishing", "Bananas")


def peer_stream(stream: str, seed: int, examples: int = EXAMPLES) -> LabeledStream:
    """The first examples of a stream in an order given by the seed.

    >>> shown = peer_stream("Bananas", seed=0, examples=100)
    >>> len(shown.labeled), len(shown.unlabeled), shown.unlabeled.shape[1]
    (10, 90, 2)
    """
    vectors, classes = _table(stream)
    order = np.random.default_rng(seed).permutation(len(classes))[:examples]
    names = np.array(classes)[order]
    labeled = np.zeros(len(order), dtype=bool)
    for each in np.unique(names):
        labeled[np.flatnonzero(names == each)[:LABELS_PER_CLASS]] = True
    rows = vectors[order]
    return LabeledStream(
        rows[labeled], names[labeled].tolist(), rows[~labeled], names[~labeled].tolist()
    )


# ---- methods that see a stream


class NearestInstead:
    """The learner, and the nearest label where it answers nobody."""

    def __init__(self, learner: StreamLearner) -> None:
        self._learner, self._nearest = learner, NearestLabeled()

    def teach(self, x: Any, name: str) -> None:
        """A labeled example."""
        self._learner.teach(x, name)
        self._nearest.teach(x, name)

    def observe(self, x: Any) -> HasLabel:
        """An answer in any case; the learner learns from x without a label."""
        found = self._learner.observe(x)
        return self._nearest.observe(x) if found.label is None else found


def _suggested(stream: LabeledStream, quantizer: Quantizer | None = None) -> OnlineHarmonicLearner:
    """With what the library suggests for the labeled examples and the first others."""
    rows = np.vstack([stream.labeled, stream.unlabeled[:LOOKED_AT]])
    names = [*stream.names, *[None] * (len(rows) - len(stream.labeled))]
    found = suggest(rows, names)
    return OnlineHarmonicLearner(
        found.kernel, sink=found.sink, max_vertices=BUDGET, quantizer=quantizer or ClosestPair()
    )


STREAMING: dict[str, Callable[[HeatKernel, LabeledStream], StreamLearner]] = {
    "Onlooker": lambda kernel, stream: _suggested(stream),
    OURS: lambda kernel, stream: NearestInstead(_suggested(stream)),
    LEAST_VARIANCE: lambda kernel, stream: NearestInstead(_suggested(stream, LeastVariance())),
    WITH_PRIOR: lambda kernel, stream: NearestInstead(LearnerWithPrior(_suggested(stream))),
    "Onlooker, shared bandwidth": lambda kernel, stream: OnlineHarmonicLearner(
        kernel, max_vertices=BUDGET
    ),
    "self-training, nearest neighbour": lambda kernel, stream: SelfTraining(
        kernel, max_examples=BUDGET
    ),
    "temporal label propagation": lambda kernel, stream: TemporalLabelPropagation(
        kernel, window=BUDGET
    ),
    "river kNN, 1 neighbour": lambda kernel, stream: RiverNearest(1),
    "river kNN, 5 neighbours": lambda kernel, stream: RiverNearest(5),
    "CapyMOA kNN, 3 neighbours": lambda kernel, stream: CapyMoa(
        "capymoa.classifier", "KNN", stream
    ),
    "CapyMOA SLEADE": lambda kernel, stream: CapyMoa("capymoa.ssl", "SLEADE", stream),
}


# ---- methods that see everything


class PoissonOnNeighbours:
    """Poisson learning on the graph in which each row is linked to its nearest ones."""

    def fit(self, rows: Floats, codes: NDArray[np.intp]) -> Self:
        """Solve for every row; -1 marks those without a label."""
        nearest = kneighbors_graph(rows, NEIGHBOURS)
        model = HarmonicClassifier(graph="precomputed", solution="poisson")
        self._model = model.fit(nearest.maximum(nearest.T), codes)
        return self

    def predict(self, rows: Floats) -> NDArray[np.intp]:
        """The answers for the last of the rows that it was fitted with: as many as are given."""
        shares = self._model.probabilities_[-len(rows) :]
        classes: NDArray[np.intp] = self._model.classes_[shares.argmax(axis=1)]
        return np.where(shares.any(axis=1), classes, -1)


OFFLINE: dict[str, Callable[[HeatKernel], Any]] = {
    "Onlooker, exact": lambda kernel: HarmonicClassifier(
        bandwidth=kernel.bandwidth, cutoff=kernel.cutoff
    ),
    EXACT_WITH_PRIOR: lambda kernel: HarmonicClassifier(
        bandwidth=kernel.bandwidth, cutoff=kernel.cutoff, class_prior="uniform"
    ),
    "Poisson learning, same kernel": lambda kernel: HarmonicClassifier(
        bandwidth=kernel.bandwidth, cutoff=kernel.cutoff, solution="poisson"
    ),
    "Poisson learning, 7 neighbours": lambda kernel: PoissonOnNeighbours(),
    "LabelPropagation, same kernel": lambda kernel: LabelPropagation(
        gamma=_gamma(kernel), max_iter=1000
    ),
    "LabelPropagation, 7 neighbours": lambda kernel: LabelPropagation("knn", max_iter=1000),
    "LabelSpreading, same kernel": lambda kernel: LabelSpreading(
        gamma=_gamma(kernel), max_iter=1000
    ),
    "LabelSpreading, 7 neighbours": lambda kernel: LabelSpreading("knn", max_iter=1000),
    "SelfTraining, logistic regression": lambda kernel: SelfTrainingClassifier(
        LogisticRegression(max_iter=1000)
    ),
    "GraphLearning, Laplace learning": lambda kernel: GraphLearning("laplace"),
    "GraphLearning, Poisson learning": lambda kernel: GraphLearning("poisson"),
}
METHODS = (*STREAMING, *OFFLINE)
NEEDS: dict[str, Package] = {
    "CapyMOA kNN, 3 neighbours": CAPYMOA,
    "CapyMOA SLEADE": CAPYMOA,
    "GraphLearning, Laplace learning": GRAPH_LEARNING,
    "GraphLearning, Poisson learning": GRAPH_LEARNING,
}
"""Methods of packages that no extra installs."""


def methods_found() -> list[str]:
    """The methods whose packages are there, in the order of the table."""
    return [each for each in METHODS if each not in NEEDS or NEEDS[each].missing is None]


RELATIVES = (
    OURS,
    LEAST_VARIANCE,
    WITH_PRIOR,
    "Onlooker, shared bandwidth",
    "temporal label propagation",
    "Onlooker, exact",
    EXACT_WITH_PRIOR,
    "Poisson learning, same kernel",
    "Poisson learning, 7 neighbours",
)
"""Harmonic solutions and what came after them, which are compared in a table of their own."""


def _gamma(kernel: HeatKernel) -> float:
    return 1 / (2 * kernel.bandwidth**2)


def _fitted_answers(model: Any, stream: LabeledStream) -> Answers:
    classes = sorted(set(stream.names))
    codes = [classes.index(name) for name in stream.names] + [-1] * len(stream.unlabeled)
    rows = np.vstack([stream.labeled, stream.unlabeled])
    with warnings.catch_warnings():  # that it did not converge is seen in its accuracy
        warnings.simplefilter("ignore")
        found: NDArray[np.intp] = model.fit(rows, np.array(codes)).predict(stream.unlabeled)
    return [None if code < 0 else classes[code] for code in found]


# ---- one run


def run_peer(job: PeerJob) -> _Measured:
    """Run one job.

    >>> run_peer(PeerJob("Bananas", "river kNN, 1 neighbour", seed=0, examples=100)).coverage
    1.0
    """
    if NEEDS.get(job.method) is not CAPYMOA:
        return _run_here(job)
    # tracemalloc ends the process when a thread of a Java machine allocates: it gets its own one.
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        return alone.submit(_run_here, job).result()


def _run_here(job: PeerJob) -> _Measured:
    online = job.method in STREAMING
    stream = peer_stream(job.stream, job.seed, MEASURED if job.memory and online else job.examples)
    rows = np.vstack([stream.labeled, stream.unlabeled])[:LOOKED_AT]
    kernel = HeatKernel(auto_bandwidth(rows), CUTOFF)
    if job.method in NEEDS:  # starting another library, and its machine, is no part of a step
        NEEDS[job.method].load()
    in_java = NEEDS.get(job.method) is CAPYMOA
    traced = job.memory and not in_java
    if traced:
        tracemalloc.start()
    began = perf_counter()
    models: list[Any] = []
    if online:
        models.append(STREAMING[job.method](kernel, stream))
        answers = answers_of(models[0], stream)
    else:
        models.append(OFFLINE[job.method](kernel))
        answers = _fitted_answers(models[0], stream)
    seconds = perf_counter() - began
    if traced:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return _Measured(megabytes=peak / 1e6)
    if job.memory:
        return _Measured(megabytes=java_megabytes(models))
    pairs = zip(answers, stream.truth, strict=True)
    return _Measured(
        accuracy=mean(given == true for given, true in pairs),
        coverage=1 - answers.count(None) / len(answers),
        ms_per_step=1000 * seconds / (len(answers) if online else 1),
    )


def compare_peers(
    streams: Sequence[str] = STREAMS, *, seeds: int = SEEDS, examples: int = EXAMPLES
) -> list[PeerRow]:
    """Every method on every stream; one row each, in the order of the table."""
    pairs = [(stream, method) for stream in streams for method in methods_found()]
    jobs = [PeerJob(*pair, seed, examples) for pair in pairs for seed in range(seeds)]
    jobs += [PeerJob(*pair, 0, examples, memory=True) for pair in pairs]
    found = dict(zip(jobs, spread(run_peer, jobs, what="peers", cost=_cost), strict=True))
    rows = []
    for stream, method in pairs:
        runs = [found[PeerJob(stream, method, seed, examples)] for seed in range(seeds)]
        rows.append(
            PeerRow(
                stream,
                method,
                "stream" if method in STREAMING else "everything",
                accuracy=mean(run.accuracy for run in runs),
                coverage=mean(run.coverage for run in runs),
                ms_per_step=mean(run.ms_per_step for run in runs),
                megabytes=found[PeerJob(stream, method, 0, examples, memory=True)].megabytes,
            )
        )
    return rows


def _cost(job: PeerJob) -> float:
    return job.examples * (2.0 if job.method == OURS else 1.0)


# ---- what is shown


def winners(rows: Sequence[PeerRow]) -> Iterator[str]:
    """For each stream a sentence: who is most accurate of those that see a stream, and of all.

    >>> rows = [PeerRow("digits", OURS, "stream", 0.9, 1.0, 1.0, 1.0)]
    >>> rows += [PeerRow("digits", "LabelSpreading", "everything", 0.93, 1.0, 1.0, 1.0)]
    >>> print(*winners(rows))
    digits: Onlooker, else the nearest label wins among those that see a stream (0.900); ...
    """
    for stream in dict.fromkeys(row.stream for row in rows):
        of_stream = [row for row in rows if row.stream == stream]
        first = max((row for row in of_stream if row.sees == "stream"), key=_accuracy)
        best = max(of_stream, key=_accuracy)
        ours = next(row for row in of_stream if row.method == OURS)
        behind = "" if first is ours else f", {OURS} has {ours.accuracy:.3f}"
        yield (
            f"{stream}: {first.method} wins among those that see a stream "
            f"({first.accuracy:.3f}{behind}); {best.method} wins of all ({best.accuracy:.3f})"
        )


def markdown_row(row: PeerRow) -> str:
    """A row of the table in docs/peers.md.

    >>> markdown_row(PeerRow("digits", "Onlooker", "stream", 0.8, 0.9, 1.234, 3.0))
    '| digits | Onlooker | stream | 0.800 | 0.900 | 0.889 | 1.23 | 3.0 |'
    """
    return (
        f"| {row.stream} | {row.method} | {row.sees} | {row.accuracy:.3f} | {row.coverage:.3f} "
        f"| {row.selective:.3f} | {row.ms_per_step:.2f} | {row.megabytes:.1f} |"
    )


def relatives(rows: Sequence[PeerRow]) -> Iterator[str]:
    """The table of the harmonic solution and its relatives: accuracies, the best of each in bold.

    >>> rows = [PeerRow("digits", OURS, "stream", 0.9, 1.0, 1.0, 1.0)]
    >>> rows += [PeerRow("digits", "Onlooker, exact", "everything", 0.83, 1.0, 1.0, 1.0)]
    >>> for text in relatives(rows):
    ...     print(text)
    | method | sees | digits |
    |---|---|---|
    | Onlooker, else the nearest label | stream | **0.900** |
    | Onlooker, exact | everything | 0.830 |
    """
    streams = list(dict.fromkeys(row.stream for row in rows))
    yield f"| method | sees | {' | '.join(streams)} |"
    yield f"|---|---|{'---|' * len(streams)}"
    found = {(row.method, row.stream): row for row in rows if row.method in RELATIVES}
    best = {
        stream: max((r for r in found.values() if r.stream == stream), key=_accuracy)
        for stream in streams
    }
    for method in dict.fromkeys(row.method for row in found.values()):
        own = [found[method, stream] for stream in streams]
        cells = [
            f"**{r.accuracy:.3f}**" if best[r.stream] is r else f"{r.accuracy:.3f}" for r in own
        ]
        yield f"| {method} | {own[0].sees} | {' | '.join(cells)} |"


def _accuracy(row: PeerRow) -> float:
    return row.accuracy


def print_peers(rows: Sequence[PeerRow]) -> None:
    """Print the table, who wins where, and who is missing."""
    console = Console(width=None if sys.stdout.isatty() else 110)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("stream", "method", "sees"):
        table.add_column(heading)
    for heading in ("accuracy", "coverage", "of answered", "ms/step", "MB"):
        table.add_column(heading, justify="right")
    previous = ""
    for row in rows:
        if previous not in ("", row.stream):
            table.add_section()
        table.add_row(
            "" if previous == row.stream else row.stream,
            row.method,
            row.sees,
            f"{row.accuracy:.3f}",
            f"{row.coverage:.3f}",
            f"{row.selective:.3f}",
            f"{row.ms_per_step:.2f}",
            f"{row.megabytes:.1f}",
        )
        previous = row.stream
    console.print(table)
    for sentence in (*winners(rows), *what_is_missing()):
        console.print(sentence, highlight=False, soft_wrap=True)


SHOWN = {
    "accuracy": "accuracy",
    "coverage": "coverage",
    "ms_per_step": "ms a step",
    "megabytes": "MB",
}
"""What a figure shows of a row, and how it is called there."""


def save_peers(rows: Sequence[PeerRow], path: Path) -> None:
    """Draw what was measured of every method on every stream; the suffix chooses the format."""
    streams = list(dict.fromkeys(row.stream for row in rows))
    methods = list(dict.fromkeys(row.method for row in rows))[::-1]
    with matplotlib.rc_context(STYLE):
        size = (2.1 * len(streams) + 2.2, len(SHOWN) * (0.15 * len(methods) + 0.7))
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(len(SHOWN), len(streams), sharey=True, squeeze=False)
        for row_of_panels, (quantity, words) in zip(panels, SHOWN.items(), strict=True):
            for panel, stream in zip(row_of_panels, streams, strict=True):
                for row in (each for each in rows if each.stream == stream):
                    ours = row.method.startswith("Onlooker")
                    panel.plot(
                        getattr(row, quantity),
                        methods.index(row.method),
                        "o",
                        color=COLOURS["closest pair"] if ours else GREY,
                        fillstyle="full" if row.sees == "stream" else "none",
                    )
                if quantity in ("ms_per_step", "megabytes"):
                    panel.set_xscale("log")
                panel.set_xlabel(words)
                panel.grid(axis="y", linewidth=0.3)
            row_of_panels[0].set_yticks(range(len(methods)), methods)
        for panel, stream in zip(panels[0], streams, strict=True):
            panel.set_title(stream)
        figure.savefig(path, dpi=200, metadata={"Date": None} if path.suffix == ".svg" else {})
