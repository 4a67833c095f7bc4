"""A stream to learn from, and how well a learner follows it.

The loop asks for nothing but `teach` and `observe`, so it serves every rival alike.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.floating[Any]]


class HasLabel(Protocol):
    """Whatever observe returns, as long as it has a label."""

    @property
    def label(self) -> str | None:
        """The name, or None for nobody."""


class StreamLearner(Protocol):
    """Anything that is taught a few examples and then watches."""

    def teach(self, x: Any, name: str, /) -> None:
        """A labeled example."""

    def observe(self, x: Any, /) -> HasLabel:
        """Name an example, then learn from it without its label."""


@dataclass(frozen=True, slots=True, eq=False)
class LabeledStream:
    """A few labeled examples, and the unlabeled ones that follow with the truth kept aside."""

    labeled: Vectors
    names: Sequence[str]
    unlabeled: Vectors
    truth: Sequence[str]


@dataclass(frozen=True, slots=True)
class AccuracyRow:
    """One run of one method on one shuffle: a line of the raw results."""

    method: str
    n_g: int | None
    """The budget of unlabeled vertices; None for methods without one."""
    seed: int
    accuracy: float
    """Over the unlabeled examples; nobody counts as wrong."""
    abstained: float
    """The share of nobody among them."""
    vertices: int
    """Examples kept at the end, labeled ones included."""
    ms_per_step: float


@dataclass(frozen=True, slots=True, eq=False)
class AccuracyRun:
    """A row, and which of the answers were right, in order."""

    row: AccuracyRow
    correct: NDArray[np.bool_]


def follow(learner: StreamLearner, stream: LabeledStream) -> list[str | None]:
    """Teach the labeled examples, then watch the stream; what the learner said of each.

    >>> class Parrot:
    ...     label = None
    ...     def teach(self, x, name):
    ...         self.label = name
    ...     def observe(self, x):
    ...         return self
    >>> follow(Parrot(), LabeledStream(np.zeros((1, 2)), ["ana"], np.ones((2, 2)), ["ana", "ben"]))
    ['ana', 'ana']
    """
    for x, name in zip(stream.labeled, stream.names, strict=True):
        learner.teach(x, name)
    return [learner.observe(x).label for x in stream.unlabeled]


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def seconds(self) -> float:
        """Read it; it keeps running."""
        return time.perf_counter() - self._start


def judge(
    answers: Sequence[str | None],
    truth: Sequence[str],
    *,
    method: str,
    n_g: int | None,
    seed: int,
    vertices: int,
    seconds: float,
) -> AccuracyRun:
    """Compare answers with the truth.

    >>> run = judge(["ana", None, "ana"], ["ana", "ben", "ben"], method="parrot", n_g=None,
    ...             seed=0, vertices=1, seconds=0.003)
    >>> round(run.row.accuracy, 3), round(run.row.abstained, 3), round(run.row.ms_per_step, 3)
    (0.333, 0.333, 1.0)
    """
    correct = np.array([said == true for said, true in zip(answers, truth, strict=True)])
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
