"""Precision and recall per frame (Section 4.1), and the contamination of what was learned.

The numbers of the paper count frames, not faces: a frame in which a recognizer gives two different
names is wrong, whatever they are. Naming a stranger costs precision; a face that was not named, for
whatever reason, costs recall.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

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
