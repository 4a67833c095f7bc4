"""Precision and recall per frame (Section 4.1), contamination, and accuracy on a stream of rows.

The numbers of the paper count frames, not faces: a frame in which a recognizer gives two different
names is wrong, whatever they are. Naming a stranger costs precision; a face that was not named, for
whatever reason, costs recall.
"""

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from onlooker.core.checks import as_number
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Prediction


@dataclass
class Score:
    """Precision and recall of one method on one video, over the frames with a detected face.

    >>> score = Score()
    >>> score.count(["ana"], "ana")
    >>> score.count(["ana", "ben"], "ana")      # two names on one frame
    >>> score.count([None], "ana")              # missed
    >>> score.count(["ana"], None)              # a stranger
    >>> score.precision, score.recall, score.strangers_named
    (0.3333333333333333, 0.3333333333333333, 1)
    """

    frames: int = 0
    named: int = 0
    right: int = 0
    strangers_named: int = 0
    hits: list[bool] = field(default_factory=list)
    """For every frame of a known person: was it named right?"""

    def count(self, given: Iterable[str | None], truth: str | None) -> None:
        """Count a frame: the names given to its faces, and who is in it (None for a stranger)."""
        names = set(given) - {None}
        right = names == {truth}
        self.frames += 1
        self.named += bool(names)
        self.right += right
        self.strangers_named += bool(names) and truth is None
        if truth is not None:
            self.hits.append(right)

    @property
    def known(self) -> int:
        """Frames of known people."""
        return len(self.hits)

    @property
    def missed(self) -> int:
        """Frames of known people that were not named right."""
        return self.known - self.right

    @property
    def precision(self) -> float | None:
        """The share of the named frames that were named right; None if none was named."""
        return self.right / self.named if self.named else None

    @property
    def recall(self) -> float | None:
        """The share of the frames of known people that were named right; None if there are none."""
        return self.right / self.known if self.known else None


class Provenance:
    """The people whose faces each vertex of a learner represents, recorded while it learns.

    >>> from onlooker import HeatKernel
    >>> learner = OnlineHarmonicLearner(HeatKernel(0.3, 1e-3))
    >>> origin = Provenance(learner)
    >>> learner.teach([0.0], "ana")
    >>> for x, who in ((0.2, "ana"), (0.4, "ben"), (9.0, "ben")):
    ...     origin.note(learner.observe([x]), who)
    >>> origin.contamination()                  # ben at 0.4 was learned as ana; at 9.0 as nobody
    0.5
    """

    def __init__(self, learner: OnlineHarmonicLearner) -> None:
        self._learner = learner
        self._members: dict[int, Counter[str | None]] = {}

    def note(self, prediction: Prediction, truth: str | None) -> None:
        """To be called after every observe, with its prediction and the true name."""
        if prediction.vertex is None:
            return
        self._members.setdefault(prediction.vertex, Counter())[truth] += 1
        for gone, into in self._learner.changes().merged.items():
            if gone in self._members:
                moved = self._members.pop(gone)
                self._members.setdefault(into, Counter()).update(moved)

    def contamination(self) -> float | None:
        """The share of the accepted examples whose vertex now carries another person's name.

        A vertex from which no walk leads to a label carries no name. None if nothing was accepted.
        """
        accepted = sum(counter.total() for counter in self._members.values())
        if not accepted:
            return None
        vertices = self._learner.vertices()
        where = {int(vertex): row for row, vertex in enumerate(vertices.ids)}
        wrong = 0
        for vertex, members in self._members.items():
            row = where.get(vertex)
            name = None if row is None else self._learner.predict(vertices.vectors[row]).label
            wrong += 0 if name is None else members.total() - members[name]
        return wrong / accepted


class StreamClassifier(Protocol):
    """A classifier with river's verbs."""

    def predict_one(self, x: Any, /) -> Any:
        """The label, or None."""

    def learn_one(self, x: Any, y: Any, /) -> Any:
        """Learn from an example; None for y means that it has no label."""


@dataclass
class StreamScore:
    """Answers on a stream of rows, each given before its label was known.

    >>> score = StreamScore(rows=10, labeled=2, right=8, covered=5, right_and_covered=5)
    >>> score.accuracy, score.coverage, score.selective_accuracy
    (0.8, 0.5, 1.0)
    """

    rows: int = 0
    labeled: int = 0
    """How many labels were given."""
    right: int = 0
    covered: int = 0
    """Rows answered by what was learned, not by what stands in for nobody."""
    right_and_covered: int = 0

    @property
    def accuracy(self) -> float:
        """Over all rows; a row without an answer is wrong."""
        return self.right / self.rows if self.rows else 0.0

    @property
    def coverage(self) -> float:
        """The share of rows that were answered."""
        return self.covered / self.rows if self.rows else 0.0

    @property
    def selective_accuracy(self) -> float | None:
        """Over the covered rows only; None if there are none."""
        return self.right_and_covered / self.covered if self.covered else None


def prequential(
    stream: Iterable[tuple[Any, Hashable]],
    model: StreamClassifier,
    *,
    labeled: float = 0.01,
    per_class: int = 0,
    delay: int = 0,
    unlabeled: bool = True,
    seed: int = 0,
) -> StreamScore:
    """Predict each row, then learn it: a few with their labels, the others without.

    labeled: the share of rows that get a label, drawn by the seed.
    per_class: the first rows of each class that get one in any case.
    delay: a label arrives after so many further rows; until then the row has none.
    unlabeled: whether to hand over rows without a label; a supervised model wants only the others.

    Every row is scored. Where the model has `predict_proba_one`, a row is covered if a probability
    is above 0, so a label that stands in for nobody is not.

    >>> from onlooker.compat.river import HarmonicClassifier
    >>> walk = [({"x": 0.3 * step % 9 + 20 * (step % 2)}, step % 2) for step in range(400)]
    >>> score = prequential(walk, HarmonicClassifier(bandwidth=0.3), labeled=0.02, per_class=1)
    >>> score.rows, score.labeled, score.accuracy > 0.9
    (400, 11, True)
    """
    as_number("labeled", labeled, least=0, below=1.0000001)
    as_number("delay", delay, least=0, whole=True)
    rng, score = np.random.default_rng(seed), StreamScore()
    seen: Counter[Hashable] = Counter()
    waiting: deque[tuple[int, Any, Hashable]] = deque()
    probabilities = getattr(model, "predict_proba_one", None)

    def teach(x: Any, y: Hashable) -> None:
        score.labeled += 1
        model.learn_one(x, y)

    for step, (x, y) in enumerate(stream):
        while waiting and waiting[0][0] <= step:
            teach(*waiting.popleft()[1:])
        answer = model.predict_one(x)
        given = None if probabilities is None else probabilities(x)
        reached = any(given.values()) if isinstance(given, Mapping) else answer is not None
        score.rows += 1
        score.right += answer == y
        score.covered += reached
        score.right_and_covered += reached and answer == y
        seen[y] += 1
        has_label = rng.random() < labeled or seen[y] <= per_class
        if has_label and not delay:
            teach(x, y)
            continue
        if has_label:
            waiting.append((step + delay, x, y))
        if unlabeled:
            model.learn_one(x, None)
    for _, x, y in waiting:
        teach(x, y)
    return score
