"""The passes that the pipeline benchmark times: the same frames, decoded, searched, recognized."""

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from rich.console import Console
from rich.progress import track

from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.core.similarity import Distance
from onlooker.evaluation import Score
from onlooker.recognition.pipeline import run
from onlooker.recognition.recognizer import FaceRecognizer
from onlooker.recognition.sinks import Sink
from onlooker.video.sources import frames_from
from onlooker.vision.detector import Detector
from onlooker.vision.finder import FaceFinder, FinderParts
from onlooker.vision.scales import DEFAULT_SCALES, FACE_QUANTIZER
from onlooker.vision.tracking import Tracker
from onlooker.vision.types import Frame, Sighting

LABELS = 4
"""Faces of each person that are labeled, where the truth is known."""


def seconds(call: Callable[[], object]) -> tuple[float, float]:
    """How long one call takes: of the processor, and by the clock on the wall."""
    cpu, wall = process_time(), perf_counter()
    call()
    return process_time() - cpu, perf_counter() - wall


@dataclass(frozen=True)
class Bench:
    """A video of which the first frames fill a learner and the next ones are timed."""

    video: Path
    fill: int
    frames: int
    finder: FaceFinder = field(default_factory=FaceFinder)

    def learner(self, vertices: int) -> OnlineHarmonicLearner:
        """One that knows nobody."""
        features = self.finder.features
        kernel = HeatKernel(*DEFAULT_SCALES[self.finder.kind], features.distance)
        return OnlineHarmonicLearner(
            kernel,
            max_vertices=vertices,
            quantizer=FACE_QUANTIZER,
            features=features.tag,
        )

    def recognizer(
        self, learner: OnlineHarmonicLearner, *, every_face: bool = False
    ) -> FaceRecognizer:
        """Around a learner, not timed."""
        return FaceRecognizer(learner, self.finder, every_face=every_face)

    def watch_the_beginning(
        self, learner: OnlineHarmonicLearner, people: Sequence[str | None]
    ) -> None:
        """Fill the learner; where the truth is known, it labels the first faces of each person."""
        recognizer = self.recognizer(learner)
        with frames_from(self.video) as frames:
            first = islice(frames, self.fill)
            shown = track(first, "filling", self.fill, console=Console(stderr=True))
            for _ in self._watch(shown, [recognizer], people):
                pass

    def compare_names(
        self, learner: OnlineHarmonicLearner, people: Sequence[str | None]
    ) -> dict[str, Any]:
        """The names of tracks, with every face measured and without, over the whole video."""
        both = [
            self.recognizer(copy.deepcopy(learner), every_face=every_face)
            for every_face in (True, False)
        ]
        scores, equal, measured = (Score(), Score()), [], []
        with frames_from(self.video) as frames:
            count = self.fill + self.frames
            shown = track(islice(frames, count), "naming", count, console=Console(stderr=True))
            for person, (every, new) in self._watch(shown, both, people):
                equal.append([seen.name for seen in every] == [seen.name for seen in new])
                measured += [seen.measured for seen in new]
                if people and new:  # the largest face is the person's
                    scores[0].count([every[0].name], person)
                    scores[1].count([new[0].name], person)
        result: dict[str, Any] = {
            "frames": len(equal),
            "faces": len(measured),
            "measured_share": sum(measured) / max(1, len(measured)),
            "equal_share": sum(equal) / max(1, len(equal)),
        }
        if people:
            for name, score in zip(("every_face", "new_faces"), scores, strict=True):
                result[name] = {"precision": score.precision, "recall": score.recall}
        return result

    def _watch(
        self,
        frames: Iterable[Frame],
        recognizers: Sequence[FaceRecognizer],
        people: Sequence[str | None],
    ) -> Iterator[tuple[str | None, list[list[Sighting]]]]:
        """Who is in each frame that is not labeled, and what each recognizer says."""
        taught: Counter[str] = Counter()
        for index, frame in enumerate(frames):
            person = people[index] if people else None
            if person and taught[person] < LABELS and (boxes := self.finder.detect(frame.pixels)):
                for recognizer in recognizers:
                    recognizer.teach(frame.pixels, boxes[0], person)
                taught[person] += 1
            else:
                yield person, [recognizer.see(frame) for recognizer in recognizers]

    @contextmanager
    def after_the_beginning(self) -> Iterator[Iterator[Frame]]:
        """The frames to be timed."""
        with frames_from(self.video) as frames:
            for _ in islice(frames, self.fill):
                pass
            yield islice(frames, self.frames)

    def learned(self, filled: OnlineHarmonicLearner) -> list[bool]:
        """Of each timed frame, whether a learner learns from it."""
        recognizer = self.recognizer(copy.deepcopy(filled))
        with self.after_the_beginning() as frames:
            sightings = [recognizer.see(frame) for frame in frames]
        return [
            any(seen.measured and seen.answer and seen.answer.label for seen in several)
            for several in sightings
        ]


class Decoding:
    """Frames are made, and nothing else."""

    def __call__(self, frames: Iterable[Frame]) -> None:
        for _ in frames:
            pass


@dataclass(frozen=True)
class Detection:
    """Frames are made, and faces found."""

    detect: Detector

    def __call__(self, frames: Iterable[Frame]) -> None:
        for frame in frames:
            self.detect(frame.pixels)


class Everything:
    """From frames to sightings, with a copy of the learner; `spent` has the processor's seconds."""

    def __init__(
        self,
        bench: Bench,
        filled: OnlineHarmonicLearner,
        sinks: Sequence[Sink] = (),
        *,
        every_face: bool = False,
    ) -> None:
        self.spent: Counter[str] = Counter()
        learner, tracker = copy.deepcopy(filled), Tracker()
        learner.observe = self._timed("learner", learner.observe)
        tracker.follow = self._timed("tracks", tracker.follow)
        finder = bench.finder
        features = self._timed("features", finder.features)
        parts = FinderParts(
            detect=self._timed("detect", finder.detect),
            features=_TimedFeatures(finder.features.tag, finder.features.distance, features),
            judge=self._timed("gate", finder.judge),
        )
        self._recognizer = FaceRecognizer(
            learner,
            FaceFinder(kind=finder.kind, parts=parts),
            tracker=tracker,
            every_face=every_face,
        )
        self._sinks = sinks

    def __call__(self, frames: Iterable[Frame]) -> None:
        before = process_time()
        summary = run(frames, self._recognizer, self._sinks, clock=process_time)
        if summary.ended == "interrupted":
            raise KeyboardInterrupt
        self.spent["decode"] += summary.seconds["read"]
        self.spent["all"] += process_time() - before

    def _timed(self, stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            before = process_time()
            result = call(*arguments)
            self.spent[stage] += process_time() - before
            return result

        return timed


@dataclass(frozen=True)
class _TimedFeatures:
    """Features are a callable with a tag and a distance."""

    tag: str
    distance: Distance
    call: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        return self.call(*arguments)
