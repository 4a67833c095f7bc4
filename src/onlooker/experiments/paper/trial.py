"""One method at one cutoff on one set: the raw rows from which tables and figures are made."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from onlooker import HeatKernel
from onlooker.evaluation import Score
from onlooker.experiments.datasets.facebank import find_faces
from onlooker.experiments.datasets.manifest import read_dataset
from onlooker.experiments.paper.methods import METHODS, FaceNames
from onlooker.experiments.paper.protocol import Found, Protocol, Step, plan
from onlooker.vision.finder import FaceFinder
from onlooker.vision.scales import DEFAULT_SCALES, new_scale

"""The paper's heat parameter, and the one at which strangers' embeddings are as dissimilar."""


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A row of the raw results: one set, camera, method, cutoff and seed."""

    dataset: str
    set: str
    camera: str
    method: str
    features: str
    cutoff: float
    bandwidth: float
    sink: float
    n_g: int
    seed: int
    detector: str
    strangers: int
    precision: float | None
    """None if no face was named."""
    recall: float | None
    """Over the frames with a detected face of a known person."""
    detection_rate: float
    contamination: float | None
    """Of all examples accepted up to the end of the set; None for methods that accept nothing."""
    frames: int
    """With a detected face, labeled ones not counted."""
    ms_per_frame: float
    strangers_named: int
    known: int = 0
    """Frames of labeled people among them; the others show strangers."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What to run: everything that the rows depend on."""

    folder: Path
    set: str
    method: str
    cutoff: float
    finder: FaceFinder = field(default_factory=FaceFinder)
    protocol: Protocol = field(default_factory=Protocol)
    bandwidth: float | None = None
    n_g: int = 500
    every_face: bool = True
    """False uses the largest face of a frame only."""

    @property
    def kernel(self) -> HeatKernel:
        """The kernel with the distance of the features."""
        bandwidth = self.bandwidth or DEFAULT_SCALES[self.finder.kind].bandwidth
        return HeatKernel(bandwidth, self.cutoff, self.finder.features.distance)

    def with_radius(self, radius: float | None) -> "Trial":
        """At the cutoff of a new home with that trust radius, unless another one was chosen."""
        kind = self.finder.kind
        chosen = self.bandwidth is not None or self.cutoff != DEFAULT_SCALES[kind].cutoff
        return self if chosen else replace(self, cutoff=new_scale(kind, radius).cutoff)


def run(trial: Trial) -> list[TrialRow]:
    """Run a trial: one row for each camera."""
    name, recording, crowd = material(
        trial.folder, trial.set, trial.finder, trial.protocol.strangers
    )
    steps = plan(recording, crowd, trial.protocol)
    if not trial.every_face:
        steps = [replace(step, faces=step.faces[:1]) for step in steps]
    kernel = trial.kernel
    outcome = METHODS[trial.method](steps, kernel, trial.n_g)
    scores = scores_by_camera(steps, outcome.names)
    return [
        TrialRow(
            dataset=name,
            set=trial.set,
            camera=camera,
            method=trial.method,
            features=trial.finder.kind,
            cutoff=trial.cutoff,
            bandwidth=kernel.bandwidth,
            sink=10 * trial.cutoff,
            n_g=trial.n_g,
            seed=trial.protocol.seed,
            detector=trial.finder.detector,
            strangers=trial.protocol.strangers,
            precision=score.precision,
            recall=score.recall,
            detection_rate=detection_rate(steps, camera),
            contamination=outcome.contamination,
            frames=score.frames,
            ms_per_frame=outcome.ms_per_frame,
            strangers_named=score.strangers_named,
            known=score.known,
        )
        for camera, score in scores.items()
    ]


@lru_cache(maxsize=3)
def material(
    folder: Path, name: str, finder: FaceFinder, strangers: int
) -> tuple[str, list[Found], list[Found]]:
    """The dataset's name, and the faces of a set and of the crowd (none without strangers)."""
    dataset = read_dataset(folder)
    pictures = dataset.recording(name)
    crowd = dataset.crowd if strangers else ()
    return (
        dataset.name,
        list(zip(pictures, find_faces(pictures, finder), strict=True)),
        list(zip(crowd, find_faces(crowd, finder), strict=True)),
    )


def first_camera(trial: Trial) -> tuple[str, list[Step]]:
    """The dataset's name, and the steps of the camera at which labels are given."""
    dataset, recording, crowd = material(
        trial.folder, trial.set, trial.finder, trial.protocol.strangers
    )
    here = [found for found in recording if found[0].camera == recording[0][0].camera]
    steps = plan(here, crowd, trial.protocol)
    if not trial.every_face:
        steps = [replace(step, faces=step.faces[:1]) for step in steps]
    return dataset, steps


def scores_by_camera(steps: Sequence[Step], given: Sequence[FaceNames]) -> dict[str, Score]:
    """A score for each camera, over the unlabeled frames with a face."""
    scores: dict[str, Score] = {}
    for step, names in zip(steps, given, strict=True):
        score = scores.setdefault(step.camera, Score())
        if names and not step.labeled:
            score.count(names, step.person)
    return scores


def detection_rate(steps: Sequence[Step], camera: str) -> float:
    """The share of a camera's frames in which a face was detected."""
    found = [bool(step.faces) for step in steps if step.camera == camera and step.staged]
    return float(np.mean(found))
