"""Accuracy on a labeled stream: one row for each run, means over the seeds, paired differences.

Only `teach` and `observe` are called, so every method that has them is measured in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any, Protocol

import numpy as np
import scipy.stats
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from onlooker import ClassPrior, OnlineHarmonicLearner, Prediction
from onlooker.experiments.paper.references import LabeledStream


class HasLabel(Protocol):
    """What observe returns, as far as it is used here."""

    @property
    def label(self) -> str | None:
        """The name, or None for nobody."""


class StreamLearner(Protocol):
    """A method that is taught a few examples and then learns from unlabeled ones."""

    def teach(self, x: Any, name: str, /) -> None:
        """A labeled example."""

    def observe(self, x: Any, /) -> HasLabel:
        """Name an example, then learn from it without its label."""


class LearnerWithPrior:
    """A learner whose answers are weighed by how frequent its names are: all alike."""

    def __init__(self, learner: OnlineHarmonicLearner) -> None:
        self.learner, self.prior = learner, ClassPrior()

    def __len__(self) -> int:
        return len(self.learner)

    def teach(self, x: Any, name: str, /) -> None:
        """A labeled example."""
        self.learner.teach(x, name)

    def observe(self, x: Any, /) -> Prediction:
        """Name an example, then learn from it without its label."""
        return self.prior.answer(self.learner, self.learner.observe(x))


@dataclass(frozen=True, slots=True)
class AccuracyRow:
    """One run of one method on one shuffle: a row of the raw results."""

    method: str
    n_g: int | None
    """The budget of unlabeled vertices; None for methods without one."""
    seed: int
    accuracy: float
    """Over the unlabeled examples; nobody counts as wrong."""
    abstained: float
    """The share of nobody among them."""
    vertices: int
    """Examples stored at the end, labeled ones included."""
    ms_per_step: float


@dataclass(frozen=True, slots=True, eq=False)
class AccuracyRun:
    """A row, and for each answer in order whether it was right."""

    row: AccuracyRow
    correct: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class AccuracySummary:
    """One method with one budget over all seeds: means, and the spread of the accuracy."""

    method: str
    n_g: int | None
    accuracy: float
    deviation: float | None
    """Standard deviation over the seeds (n - 1); None for a single seed."""
    abstained: float
    vertices: float
    ms_per_step: float


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """How much more accurate one method is than another on the same shuffles."""

    method: str
    other: str
    mean: float
    low: float
    """Ends of the 95 % interval of the mean (Student's t over the shuffles)."""
    high: float
    better: int
    """Shuffles on which the first is more accurate."""
    shuffles: int

    def __str__(self) -> str:
        interval = f"95 % interval {self.low:+.4f} to {self.high:+.4f}"
        better = f"better in {self.better} of {self.shuffles} shuffles"
        return f"{self.method} against {self.other}: {self.mean:+.4f} ({interval}), {better}"


def paired_difference(
    rows: Sequence[AccuracyRow], method: tuple[str, int | None], other: tuple[str, int | None]
) -> PairedDifference:
    """Compare two methods, each given with its budget, shuffle by shuffle; at least two of them.

    >>> rows = [AccuracyRow("a", 9, seed, 0.8 + seed / 50, 0.0, 9, 0.1) for seed in range(3)]
    >>> rows += [AccuracyRow("b", None, seed, 0.8, 0.0, 9, 0.1) for seed in range(3)]
    >>> print(paired_difference(rows, ("a", 9), ("b", None)))
    a, n_g = 9 against b: +0.0200 (95 % interval -0.0297 to +0.0697), better in 2 of 3 shuffles
    """
    first, second = (
        {row.seed: row.accuracy for row in rows if (row.method, row.n_g) == which}
        for which in (method, other)
    )
    gains = np.array([first[seed] - second[seed] for seed in first])
    centre = float(gains.mean())
    reach = float(scipy.stats.t.ppf(0.975, len(gains) - 1) * scipy.stats.sem(gains))
    return PairedDifference(
        _with_budget(*method),
        _with_budget(*other),
        centre,
        centre - reach,
        centre + reach,
        better=int(np.count_nonzero(gains > 0)),
        shuffles=len(gains),
    )


def _with_budget(method: str, n_g: int | None) -> str:
    return method if n_g is None else f"{method}, n_g = {n_g}"


def answers_of(learner: StreamLearner, stream: LabeledStream) -> list[str | None]:
    """Teach the labeled examples, then show the unlabeled ones: the name given to each of these.

    >>> class Parrot:
    ...     label = None
    ...     def teach(self, x, name):
    ...         self.label = name
    ...     def observe(self, x):
    ...         return self
    >>> stream = LabeledStream(np.zeros((1, 2)), ["ana"], np.ones((2, 2)), ["ana", "ben"])
    >>> answers_of(Parrot(), stream)
    ['ana', 'ana']
    """
    for x, name in zip(stream.labeled, stream.names, strict=True):
        learner.teach(x, name)
    return [learner.observe(x).label for x in stream.unlabeled]


def measure_accuracy(
    answers: Sequence[str | None],
    truth: Sequence[str],
    *,
    method: str,
    n_g: int | None,
    seed: int,
    vertices: int,
    seconds: float,
) -> AccuracyRun:
    """Compare the answers of a run with the truth; `seconds` is what the whole run took.

    >>> run = measure_accuracy(
    ...     ["ana", None, "ana"], ["ana", "ben", "ben"], method="parrot", n_g=None, seed=0,
    ...     vertices=1, seconds=0.003)
    >>> round(run.row.accuracy, 3), round(run.row.abstained, 3), round(run.row.ms_per_step, 3)
    (0.333, 0.333, 1.0)
    """
    correct = np.array([given == true for given, true in zip(answers, truth, strict=True)])
    row = AccuracyRow(
        method=method,
        n_g=n_g,
        seed=seed,
        accuracy=float(correct.mean()),
        abstained=answers.count(None) / len(answers),
        vertices=vertices,
        ms_per_step=1000 * seconds / len(answers),
    )
    return AccuracyRun(row, correct)


def summarise(rows: Sequence[AccuracyRow]) -> list[AccuracySummary]:
    """One summary per method and budget, in the order in which they first appear.

    >>> rows = [AccuracyRow("1-NN", None, seed, 0.8 + seed / 10, 0.0, 40, 0.1) for seed in (0, 1)]
    >>> [(round(each.accuracy, 2), round(each.deviation, 3)) for each in summarise(rows)]
    [(0.85, 0.071)]
    """
    groups: dict[tuple[str, int | None], list[AccuracyRow]] = {}
    for row in rows:
        groups.setdefault((row.method, row.n_g), []).append(row)
    return [
        AccuracySummary(
            method,
            n_g,
            accuracy=mean(row.accuracy for row in group),
            deviation=stdev(row.accuracy for row in group) if len(group) > 1 else None,
            abstained=mean(row.abstained for row in group),
            vertices=mean(row.vertices for row in group),
            ms_per_step=mean(row.ms_per_step for row in group),
        )
        for (method, n_g), group in groups.items()
    ]


def print_table(rows: Sequence[AccuracyRow]) -> None:
    """Print the summaries as a table."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method")
    for heading in ("n_g", "accuracy", "± sd", "nobody", "vertices", "ms/step"):
        table.add_column(heading, justify="right")
    previous = None
    for each in summarise(rows):
        if previous is not None and each.n_g is None and previous.n_g is not None:
            table.add_section()
        table.add_row(
            "" if previous is not None and each.method == previous.method else each.method,
            "–" if each.n_g is None else str(each.n_g),
            f"{each.accuracy:.3f}",
            "–" if each.deviation is None else f"{each.deviation:.3f}",
            f"{each.abstained:.1%}",
            f"{each.vertices:.0f}",
            f"{each.ms_per_step:.2f}",
        )
        previous = each
    Console().print(table)
