"""The rivals by name: every one is handed a stream and says what it called each face."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onlooker import ClosestPair, Doubling, HeatKernel, OnlineHarmonicLearner
from onlooker.baselines.boosting import (
    OnlineSemiBoost,
    centres_covering,
    centres_of_quarters,
)
from onlooker.baselines.graph_cuts import MaxMarginGraphCuts
from onlooker.baselines.manifold_svm import OnlineManifoldSVM
from onlooker.baselines.nearest import NearestNeighbour
from onlooker.core.records import Prediction
from onlooker.evaluation import Provenance
from onlooker.experiments.paper.protocol import Step
from onlooker.experiments.paper.rivals import label_spreading, offline_exact
from onlooker.experiments.paper.stream import LabeledStream, Stopwatch

FaceNames = tuple[str | None, ...]
"""What the faces of a step were called; empty where there was none, or where it was labeled."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a method said of each step, how clean it stayed, and the time of a step."""

    said: list[FaceNames]
    contamination: float | None
    ms_per_frame: float


class Rival(Protocol):
    """The learner's verbs."""

    def teach(self, x: Any, name: str, /) -> None:
        """A labeled example."""

    def observe(self, x: Any, /) -> Prediction:
        """Name an example, then learn from it."""


Method = Callable[[Sequence[Step], HeatKernel, int], Outcome]
Solve = Callable[[LabeledStream, HeatKernel, float], Sequence[str | None]]


def follow(
    rival: Rival, steps: Sequence[Step], note: Callable[[Prediction, str | None], object]
) -> tuple[list[FaceNames], float]:
    """Teach the labeled faces and show the others, in order; what was said, seconds a frame.

    `note` is called after every face that was shown, and not timed.
    """
    said: list[FaceNames] = []
    seconds = 0.0
    for step in steps:
        names: list[str | None] = []
        if step.labeled and step.person is not None:
            rival.teach(step.faces[0], step.person)
            said.append(())
            continue
        for vector in step.faces:
            if vector is None:
                names.append(None)
                continue
            watch = Stopwatch()
            answer = rival.observe(vector)
            seconds += watch.seconds()
            names.append(answer.label)
            note(answer, step.person)
        said.append(tuple(names))
    return said, seconds / max(1, sum(not step.labeled for step in steps))


def online(quantizer: ClosestPair | Doubling) -> Method:
    """Our learner, and how much of what it accepted is in the wrong hands."""

    def run(steps: Sequence[Step], kernel: HeatKernel, n_g: int) -> Outcome:
        learner = OnlineHarmonicLearner(kernel, max_vertices=n_g, quantizer=quantizer)
        origin = Provenance(learner)
        said, seconds = follow(learner, steps, origin.note)
        return Outcome(said, origin.contamination(), 1000 * seconds)

    return run


def nearest(steps: Sequence[Step], kernel: HeatKernel, n_g: int) -> Outcome:
    """The labeled faces alone; it accepts nothing, so nothing can be contaminated."""
    said, seconds = follow(NearestNeighbour(kernel), steps, nothing)
    return Outcome(said, None, 1000 * seconds)


def nothing(answer: Prediction, truth: str | None) -> None:
    """For methods of which nothing needs to be noted."""


def boosting(choose: Callable[[int, int], NDArray[np.intp]]) -> Method:
    """Weak learners around examples given in advance: it sees faces that are yet to come."""

    def run(steps: Sequence[Step], kernel: HeatKernel, n_g: int) -> Outcome:
        faces = shown(steps)
        rival = OnlineSemiBoost(kernel, faces[choose(len(faces), n_g)])
        said, seconds = follow(rival, steps, nothing)
        return Outcome(said, None, 1000 * seconds)

    return run


def manifold_svm(steps: Sequence[Step], kernel: HeatKernel, n_g: int) -> Outcome:
    """The same budget for its buffer; similarities in units of their median, being tiny."""
    rival = OnlineManifoldSVM(kernel, buffer=n_g, normalise=True)
    said, seconds = follow(rival, steps, nothing)
    return Outcome(said, None, 1000 * seconds)


def graph_cuts(steps: Sequence[Step], kernel: HeatKernel, n_g: int) -> Outcome:
    """The same graph; the classifier on top of it is another."""
    said, seconds = follow(MaxMarginGraphCuts(kernel, max_vertices=n_g), steps, nothing)
    return Outcome(said, None, 1000 * seconds)


def offline(solve: Solve) -> Method:
    """One solve over the whole stream, read back frame by frame; n_g does not matter."""

    def run(steps: Sequence[Step], kernel: HeatKernel, n_g: int) -> Outcome:
        everything = whole(steps)
        watch = Stopwatch()
        names = iter(solve(everything, kernel, 10 * kernel.cutoff))
        seconds = watch.seconds() / max(1, sum(not step.labeled for step in steps))
        said = [
            () if step.labeled else tuple(None if x is None else next(names) for x in step.faces)
            for step in steps
        ]
        return Outcome(said, _share_wrong(steps, said), 1000 * seconds)

    return run


def whole(steps: Sequence[Step]) -> LabeledStream:
    """Labeled and other faces of a stream."""
    taught = [(step.faces[0], step.person) for step in steps if step.labeled]
    truth = [
        step.person or "" for step in steps if not step.labeled for x in step.faces if x is not None
    ]
    labeled = np.array([vector for vector, _ in taught])
    return LabeledStream(labeled, [str(name) for _, name in taught], shown(steps), truth)


def shown(steps: Sequence[Step]) -> NDArray[np.float32]:
    """All vectors that are not labeled, in order: what a method given everything in advance has."""
    return np.array([x for step in steps if not step.labeled for x in step.faces if x is not None])


def _share_wrong(steps: Sequence[Step], said: Sequence[FaceNames]) -> float | None:
    """Every face is a vertex of its own here: contamination is the share of wrong names."""
    pairs = [
        (name, step.person)
        for step, names in zip(steps, said, strict=True)
        for name in names
        if name is not None
    ]
    return float(np.mean([name != truth for name, truth in pairs])) if pairs else None


METHODS: dict[str, Method] = {
    "online": online(ClosestPair()),
    "online-doubling": online(Doubling()),
    "nearest": nearest,
    "boosting": boosting(centres_covering),
    "boosting-quarters": boosting(centres_of_quarters),
    "manifold-svm": manifold_svm,
    "graph-cuts": graph_cuts,
    "offline": offline(offline_exact),
    "label-spreading": offline(label_spreading),
}
LEARNERS = ("online", "online-doubling")
"""Those that are ours."""
