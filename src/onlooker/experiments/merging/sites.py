"""Eight simulated sites and one learner that saw everything: who sees which face, and merging.

The first three quarters of a camera's stream are learned, the rest is held out. The learning part
is divided among the sites: `segments` are eighths of the time, `turns` are runs given to the sites
in turn; in both, a site gets one label for each person, at the first face it sees. `shared` are
segments whose sites all have the labels of the protocol. The one learner sees the same faces with
the same labels, each once, in order of time. Every site stores the newest faces it refused.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from onlooker import OnlineHarmonicLearner
from onlooker.core.records import Prediction
from onlooker.core.union import REFUSED, UnionSummary, union
from onlooker.evaluation import Score
from onlooker.experiments.paper.methods import follow_steps
from onlooker.experiments.paper.protocol import RUN, Step

SITES = 8
DEALS = ("segments", "turns", "shared")
EVERYWHERE = -1
"""The site of a step that all sites see."""

Dealt = tuple[int, Step]
Make = Callable[[], OnlineHarmonicLearner]
Named = tuple[tuple[tuple[str | None, float], ...], str | None]
"""The name and score given to each face of a frame, and its true person."""


def dealt(steps: Sequence[Step], deal: str, sites: int = SITES) -> list[Dealt]:
    """Every step with its site, in order of time, and labeled as the deal says."""
    if deal == "shared":
        labeled = [(EVERYWHERE, step) for step in steps if step.labeled]
        return labeled + _segments([step for step in steps if not step.labeled], sites)
    if deal == "segments":
        return _labeled_once(_segments(steps, sites))
    return _labeled_once([(at // RUN % sites, step) for at, step in enumerate(steps)])


def _segments(steps: Sequence[Step], sites: int) -> list[Dealt]:
    return [(at * sites // len(steps), step) for at, step in enumerate(steps)]


def _labeled_once(some: Iterable[Dealt]) -> list[Dealt]:
    """At each site the first usable face of each known person is labeled, no other."""
    labeled: set[tuple[int, str]] = set()
    marked = []
    for site, step in some:
        first = False
        if step.person is not None and step.faces and step.faces[0] is not None:
            first = (site, step.person) not in labeled
            labeled.add((site, step.person))
        marked.append((site, replace(step, labeled=first)))
    return marked


class SimulatedSite:
    """A learner that stores the newest examples it refused."""

    def __init__(self, learner: OnlineHarmonicLearner) -> None:
        self.learner = learner
        self.refused: deque[NDArray[np.float32]] = deque(maxlen=REFUSED)

    def teach(self, x: NDArray[np.float32], name: str) -> None:
        """A labeled face."""
        self.learner.teach(x, name)

    def observe(self, x: NDArray[np.float32]) -> Prediction:
        """Name a face, and learn from it or store it as refused."""
        answer = self.learner.observe(x)
        if answer.label is None:
            self.refused.append(x)
        return answer


def learned(make: Make, some: Sequence[Dealt], sites: int = SITES) -> list[UnionSummary]:
    """The learner that saw everything, followed by those of the sites."""
    parts = [[step for site, step in some if site in (which, EVERYWHERE)] for which in range(sites)]
    summaries = []
    for part in ([step for _, step in some], *parts):
        site = SimulatedSite(make())
        follow_steps(site, part)
        summaries.append(UnionSummary(site.learner, tuple(site.refused)))
    return summaries


# ---- merging


def chain(parts: Sequence[UnionSummary]) -> UnionSummary:
    """One after the other."""
    whole = parts[0]
    for part in parts[1:]:
        whole = union((whole, part))
    return whole


def tree(parts: Sequence[UnionSummary]) -> UnionSummary:
    """Halves first, each as a tree, and then the two."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return union((tree(parts[:half]), tree(parts[half:])))


UNIONS: dict[str, Callable[[Sequence[UnionSummary]], UnionSummary]] = {
    "in order": chain,
    "reversed": lambda parts: chain(parts[::-1]),
    "tree": tree,
}


def merged_chain(make: Make, parts: Sequence[UnionSummary]) -> OnlineHarmonicLearner:
    """Plain merging, one after the other into a new learner; refused examples are not used."""
    view = make()
    for part in parts:
        view.merge(part.learner)
    return view


def merged_tree(make: Make, parts: Sequence[UnionSummary]) -> OnlineHarmonicLearner:
    """Plain merging, halves first."""
    if len(parts) == 1:
        return merged_chain(make, parts)
    half = len(parts) // 2
    view = merged_tree(make, parts[:half])
    view.merge(merged_tree(make, parts[half:]))
    return view


MERGES: dict[str, Callable[[Make, Sequence[UnionSummary]], OnlineHarmonicLearner]] = {
    "plain, in order": merged_chain,
    "plain, reversed": lambda make, parts: merged_chain(make, parts[::-1]),
    "plain, tree": merged_tree,
}


# ---- naming what was held out


def answers(learner: OnlineHarmonicLearner, steps: Sequence[Step]) -> list[Named]:
    """Its names for the faces of every frame that has one; it learns nothing."""
    return [
        (tuple(_name(learner, x) for x in step.faces), step.person) for step in steps if step.faces
    ]


def _name(
    learner: OnlineHarmonicLearner, x: NDArray[np.float32] | None
) -> tuple[str | None, float]:
    if x is None:  # the gate refused it
        return None, 0.0
    answer = learner.predict(x)
    return answer.label, 0.0 if answer.label is None else answer.scores[answer.label]


def judged(said: Sequence[Named], min_score: float = 0.0) -> Score:
    """The score of answers of which only those above min_score count."""
    score = Score()
    for names, truth in said:
        score.count([name if share > min_score else None for name, share in names], truth)
    return score


def recall_at(said: Sequence[Named], precision: float) -> float:
    """The most recall with at least that precision, over all min_score; 0 where none has it.

    >>> said = [((("ana", 0.9),), "ana"), ((("ana", 0.2),), "ben"), ((("ben", 0.1),), "ben")]
    >>> recall_at(said, 0.6), recall_at(said, 1.0)
    (0.6666666666666666, 0.3333333333333333)
    """
    wrong = {share for names, truth in said for name, share in names if name != truth}
    found = 0.0
    for least in {0.0, *wrong}:  # only removing a wrong name raises the precision
        score = judged(said, least)
        if score.precision is not None and score.precision >= precision:
            found = max(found, score.recall or 0.0)
    return found
