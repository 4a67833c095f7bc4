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
from onlooker.recognition.pipeline import run
from onlooker.recognition.recognizer import FaceRecognizer
from onlooker.recognition.sinks import Sink
from onlooker.simulation.filming import Truth
from onlooker.video.sources import frames_from
from onlooker.vision.detector import YuNet
from onlooker.vision.finder import FaceFinder, FinderParts
from onlooker.vision.pixels import PixelFeatures
from onlooker.vision.quality import Gate
from onlooker.vision.tracking import Tracker
from onlooker.vision.types import Frame

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
    detect: YuNet = field(default_factory=lambda: YuNet(320))
    features: PixelFeatures = field(default_factory=PixelFeatures)

    def learner(self, vertices: int) -> OnlineHarmonicLearner:
        """One that knows nobody."""
        kernel = HeatKernel(0.025, 1e-8, self.features.distance)
        return OnlineHarmonicLearner(kernel, max_vertices=vertices, features=self.features.tag)

    def recognizer(self, learner: OnlineHarmonicLearner) -> FaceRecognizer:
        """Around a learner, not timed."""
        return FaceRecognizer(
            learner, FaceFinder(parts=FinderParts(self.detect, self.features, Gate()))
        )

    def watch_the_beginning(self, learner: OnlineHarmonicLearner, truths: Sequence[Truth]) -> None:
        """Fill the learner; where the truth is known, it labels the first faces of each person."""
        recognizer = self.recognizer(learner)
        taught: Counter[str] = Counter()
        with frames_from(self.video) as frames:
            first = islice(frames, self.fill)
            shown = track(first, "filling", self.fill, console=Console(stderr=True))
            for index, frame in enumerate(shown):
                person = truths[index].person if truths else None
                if person and taught[person] < LABELS and (boxes := self.detect(frame.pixels)):
                    recognizer.teach(frame.pixels, boxes[0], person)
                    taught[person] += 1
                else:
                    recognizer.see(frame)

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
            answers = [[seen.answer for seen in recognizer.see(frame)] for frame in frames]
        return [any(answer and answer.label for answer in several) for several in answers]


class Decoding:
    """Frames are made, and nothing else."""

    def __call__(self, frames: Iterable[Frame]) -> None:
        for _ in frames:
            pass


@dataclass(frozen=True)
class Detection:
    """Frames are made, and faces found."""

    detect: YuNet

    def __call__(self, frames: Iterable[Frame]) -> None:
        for frame in frames:
            self.detect(frame.pixels)


class Everything:
    """From frames to sightings, with a copy of the learner; `spent` has the processor's seconds."""

    def __init__(
        self, bench: Bench, filled: OnlineHarmonicLearner, sinks: Sequence[Sink] = ()
    ) -> None:
        self.spent: Counter[str] = Counter()
        learner, tracker = copy.deepcopy(filled), Tracker()
        learner.observe = self._timed("learner", learner.observe)
        tracker.follow = self._timed("tracks", tracker.follow)
        features = self._timed("features", bench.features)
        parts = FinderParts(
            detect=self._timed("detect", bench.detect),
            features=_TimedFeatures(bench.features.tag, bench.features.distance, features),
            judge=self._timed("gate", Gate()),
        )
        self._recognizer = FaceRecognizer(learner, FaceFinder(parts=parts), tracker=tracker)
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
