"""The methods that are compared, by name: each gets the steps of a stream and names every face."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
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
from onlooker.baselines.self_training import Eviction, SelfTraining
from onlooker.core.quantizer import Quantizer
from onlooker.core.records import Prediction
from onlooker.evaluation import Provenance
from onlooker.experiments.paper.protocol import Step
from onlooker.experiments.paper.references import LabeledStream, label_spreading, offline_exact
from onlooker.vision.scales import FACE_QUANTIZER

FaceNames = tuple[str | None, ...]
"""The names given to the faces of a step; empty without a face, and for a labeled step."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The names a method gave at each step, its contamination, and its time per frame."""

    names: list[FaceNames]
    contamination: float | None
    ms_per_frame: float


class Baseline(Protocol):
    """A method with the learner's verbs."""

    def teach(self, x: Any, name: str, /) -> None:
        """A labeled example."""

    def observe(self, x: Any, /) -> Prediction:
        """Name an example, then learn from it."""


Method = Callable[[Sequence[Step], HeatKernel, int], Outcome]
"""From the steps of a stream, the kernel and n_g to the outcome."""
Solve = Callable[[LabeledStream, HeatKernel, float], Sequence[str | None]]
"""From a whole stream, the kernel and the sink to the names of its unlabeled examples."""


def follow_steps(
    method: Baseline,
    steps: Sequence[Step],
    note: Callable[[Prediction, str | None], object] | None = None,
) -> tuple[list[FaceNames], float]:
    """Teach the labeled faces and show the others, in order: the names, and seconds per frame.

    `note` is called with each prediction and the true name, outside the measured time.
    """
    given: list[FaceNames] = []
    seconds = 0.0
    for step in steps:
        names: list[str | None] = []
        if step.labeled and step.person is not None:
            method.teach(step.faces[0], step.person)
            given.append(())
            continue
        for vector in step.faces:
            if vector is None:
                names.append(None)
                continue
            began = perf_counter()
            prediction = method.observe(vector)
            seconds += perf_counter() - began
            names.append(prediction.label)
            if note is not None:
                note(prediction, step.person)
        given.append(tuple(names))
    return given, seconds / max(1, sum(not step.labeled for step in steps))


def online(quantizer: Quantizer) -> Method:
    """Our learner, and the share of what it accepted that carries a wrong name."""

    def run(steps: Sequence[Step], kernel: HeatKernel, n_g: int) -> Outcome:
        learner = OnlineHarmonicLearner(kernel, max_vertices=n_g, quantizer=quantizer)
        origin = Provenance(learner)
        names, seconds = follow_steps(learner, steps, origin.note)
        return Outcome(names, origin.contamination(), 1000 * seconds)

    return run


def nearest(steps: Sequence[Step], kernel: HeatKernel, n_g: int) -> Outcome:
    """The labeled faces alone; it accepts nothing, so nothing can be contaminated."""
    return _outcome(NearestNeighbour(kernel), steps)


def self_training(evict: Eviction = "closest", *, strict: bool = False) -> Method:
    """Enrols what it names, within the same budget; its contamination are its wrong guesses.

    `strict` enrols only within 0.7 of the distance within which it names: the root of the cutoff.
    """

    def run(steps: Sequence[Step], kernel: HeatKernel, n_g: int) -> Outcome:
        enrol_cutoff = kernel.cutoff**0.5 if strict else None
        model = SelfTraining(kernel, max_examples=n_g, evict=evict, enrol_cutoff=enrol_cutoff)
        wrong = counted = 0

        def note(prediction: Prediction, truth: str | None) -> None:
            nonlocal wrong, counted
            if model.enrolled > counted:
                wrong += prediction.label != truth
            counted = model.enrolled

        names, seconds = follow_steps(model, steps, note)
        return Outcome(names, wrong / counted if counted else None, 1000 * seconds)

    return run


def boosting(choose: Callable[[int, int], NDArray[np.intp]]) -> Method:
    """Weak learners around examples given in advance: some of them are shown only later."""

    def run(steps: Sequence[Step], kernel: HeatKernel, n_g: int) -> Outcome:
        faces = unlabeled_faces(steps)
        return _outcome(OnlineSemiBoost(kernel, faces[choose(len(faces), n_g)]), steps)

    return run


def manifold_svm(steps: Sequence[Step], kernel: HeatKernel, n_g: int) -> Outcome:
    """The same budget for its buffer; w is divided by its median, because it is tiny."""
    return _outcome(OnlineManifoldSVM(kernel, buffer=n_g, normalise=True), steps)


def graph_cuts(steps: Sequence[Step], kernel: HeatKernel, n_g: int) -> Outcome:
    """The same graph with another classifier on top of it."""
    return _outcome(MaxMarginGraphCuts(kernel, max_vertices=n_g), steps)


def offline(solve: Solve) -> Method:
    """One solve over the whole stream, read back frame by frame; n_g is not used."""

    def run(steps: Sequence[Step], kernel: HeatKernel, n_g: int) -> Outcome:
        stream = whole_stream(steps)
        began = perf_counter()
        answers = iter(solve(stream, kernel, 10 * kernel.cutoff))
        seconds = (perf_counter() - began) / max(1, sum(not step.labeled for step in steps))
        names = [
            () if step.labeled else tuple(None if x is None else next(answers) for x in step.faces)
            for step in steps
        ]
        return Outcome(names, _share_wrong(steps, names), 1000 * seconds)

    return run


def whole_stream(steps: Sequence[Step]) -> LabeledStream:
    """The labeled and the other faces of all steps."""
    taught = [(step.faces[0], step.person) for step in steps if step.labeled]
    truth = [
        step.person or "" for step in steps if not step.labeled for x in step.faces if x is not None
    ]
    labeled = np.array([vector for vector, _ in taught])
    return LabeledStream(labeled, [str(name) for _, name in taught], unlabeled_faces(steps), truth)


def unlabeled_faces(steps: Sequence[Step]) -> NDArray[np.float32]:
    """The vectors of all faces that are not labeled, in order."""
    return np.array([x for step in steps if not step.labeled for x in step.faces if x is not None])


def _outcome(method: Baseline, steps: Sequence[Step]) -> Outcome:
    """Of a method whose contamination is not measured."""
    names, seconds = follow_steps(method, steps)
    return Outcome(names, None, 1000 * seconds)


def _share_wrong(steps: Sequence[Step], given: Sequence[FaceNames]) -> float | None:
    """Every face is a vertex of its own here: contamination is the share of wrong names."""
    pairs = [
        (name, step.person)
        for step, names in zip(steps, given, strict=True)
        for name in names
        if name is not None
    ]
    return float(np.mean([name != truth for name, truth in pairs])) if pairs else None


METHODS: dict[str, Method] = {
    "online": online(FACE_QUANTIZER),
    "online-closest": online(ClosestPair()),
    "online-doubling": online(Doubling()),
    "self-training": self_training(),
    "self-training-strict": self_training(strict=True),
    "self-training-oldest": self_training("oldest"),
    "self-training-random": self_training("random"),
    "nearest": nearest,
    "boosting": boosting(centres_covering),
    "boosting-quarters": boosting(centres_of_quarters),
    "manifold-svm": manifold_svm,
    "graph-cuts": graph_cuts,
    "offline": offline(offline_exact),
    "label-spreading": offline(label_spreading),
}
LEARNERS = ("online", "online-closest", "online-doubling")
"""The methods that are ours."""
COMPARED = tuple(
    name
    for name in METHODS
    if name not in ("online-closest", "self-training-oldest", "self-training-random")
)
"""The methods that run unless others are asked for; those left out differ from others by little."""
