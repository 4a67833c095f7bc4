"""A run: every frame of a source through the recognizer to the sinks, then a summary.

While it runs, counts can be shown on the terminal; it can be interrupted at any time without
leaving a step of the learner half done.
"""

import signal
import sys
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any, Literal, Protocol, Self

from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TimeElapsedColumn
from rich.text import Text

from onlooker.recognition.sinks import Sink, SinkClosed
from onlooker.vision.types import Frame, Sighting

OPEN_TRACKS = 1000
"""Tracks that are remembered; one that was not seen for so many others does not come back."""

Ended = Literal["finished", "interrupted", "output closed"]
Stage = Literal["read", "recognize", "write"]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Counts and seconds of a run, so far or at its end.

    >>> RunSummary(frames=50, seconds={"read": 1.5, "recognize": 0.5, "write": 0.0}).rate
    25.0
    """

    frames: int = 0
    faces: int = 0
    """Sightings, the refused ones too."""
    refused: int = 0
    named: Mapping[str, int] = field(default_factory=dict)
    """For each person, how many faces were announced by that name."""
    strangers: int = 0
    """Tracks without a name although their face was good enough."""
    vertices: int = 0
    seconds: Mapping[Stage, float] = field(default_factory=dict)
    """Waiting for frames, recognizing, and writing to the sinks."""
    ended: Ended = "finished"

    @property
    def rate(self) -> float:
        """Frames per second."""
        seconds = sum(self.seconds.values())
        return self.frames / seconds if seconds else 0.0


class RunCounter:
    """Counts frames, faces and seconds, in bounded memory."""

    def __init__(self, learner: Sized, clock: Callable[[], float]) -> None:
        self._learner, self._clock = learner, clock
        self._frames = self._faces = self._refused = self._strangers = 0
        self._named: Counter[str] = Counter()
        self._nameless: OrderedDict[int, bool] = OrderedDict()
        """Of each recent track, least recent first: is it without a name, although good enough?"""
        self._seconds: dict[Stage, float] = {"read": 0.0, "recognize": 0.0, "write": 0.0}
        self.ended: Ended = "finished"

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:
        """Add the time a block takes to a stage."""
        start = self._clock()
        try:
            yield
        finally:
            self._seconds[stage] += self._clock() - start

    def add(self, sightings: Sequence[Sighting]) -> None:
        """Count the sightings of one frame."""
        self._frames += 1
        self._faces += len(sightings)
        for sighting in sightings:
            if sighting.refusal is not None:
                self._refused += 1
            elif sighting.name is not None:
                self._named[sighting.name] += 1
            self._follow(sighting)

    def _follow(self, sighting: Sighting) -> None:
        """A track has the name of its last sighting; a refused face says nothing new."""
        before = self._nameless.pop(sighting.track, False)
        nameless = sighting.name is None if sighting.refusal is None else before
        self._strangers += nameless - before
        self._nameless[sighting.track] = nameless
        if len(self._nameless) > OPEN_TRACKS:
            self._nameless.popitem(last=False)

    def summary(self) -> RunSummary:
        """The counts so far."""
        counts = self._frames, self._faces, self._refused, dict(self._named), self._strangers
        return RunSummary(*counts, len(self._learner), dict(self._seconds), self.ended)


class Recognizer(Protocol):
    """Names the faces in a frame; its learner has a size."""

    @property
    def learner(self) -> Sized:
        """What it has learned; its size is the number of vertices."""

    def see(self, frame: Frame, /) -> Sequence[Sighting]:
        """Every face in a frame."""


def run(
    frames: Iterable[Frame],
    recognizer: Recognizer,
    sinks: Sequence[Sink] = (),
    *,
    progress: Callable[[RunSummary], object] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> RunSummary:
    """Show every frame to the recognizer, and its sightings to the sinks, in their order.

    The sinks are opened before the first frame is asked for and closed whatever happens. Ctrl-C
    ends the run as the end of the frames does, between two steps of the learner, never within
    one; so does a sink whose reader has gone. For SIGTERM to do the same, call
    `signal.signal(signal.SIGTERM, signal.default_int_handler)` first. A second Ctrl-C does not
    wait.
    """
    counter = RunCounter(recognizer.learner, clock)
    try:
        with _opened(sinks, counter):
            _watch(frames, recognizer, sinks, counter, progress)
    except KeyboardInterrupt:
        counter.ended = "interrupted"
    except SinkClosed:
        counter.ended = "output closed"
    return counter.summary()


def _watch(
    frames: Iterable[Frame],
    recognizer: Recognizer,
    sinks: Sequence[Sink],
    counter: RunCounter,
    progress: Callable[[RunSummary], object] | None,
) -> None:
    source = iter(frames)
    while True:
        with counter.timed("read"):
            frame = next(source, None)
        if frame is None:
            return
        with counter.timed("recognize"), deferred_signals():
            sightings = recognizer.see(frame)
            counter.add(sightings)
        with counter.timed("write"):
            for sink in sinks:
                sink(frame, sightings)
        if progress is not None:
            progress(counter.summary())


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait for the end of the block, unless they come twice.

    Only signals that have a handler, and only in the main thread: no other one is interrupted.

    >>> try:
    ...     with deferred_signals():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("done")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    done
    interrupted
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
    arrived: list[int] = []

    def wait(number: int, place: FrameType | None) -> None:
        arrived.append(number)
        if len(arrived) > 1:
            handlers[number](number, place)

    for known in (signal.SIGINT, signal.SIGTERM):
        handler = signal.getsignal(known)
        if callable(handler):
            handlers[known] = handler
    try:
        for number in handlers:
            signal.signal(number, wait)
        yield
    finally:
        for number, before in handlers.items():
            signal.signal(number, before)
    for number in arrived[:1]:
        handlers[number](number, None)


@contextmanager
def _opened(sinks: Sequence[Sink], counter: RunCounter) -> Iterator[None]:
    with ExitStack() as opening:
        for sink in sinks:
            opening.enter_context(sink)
        stack = opening.pop_all()
    try:
        yield
    finally:
        with counter.timed("write"), deferred_signals():
            stack.__exit__(*sys.exc_info())


class Display:
    """The progress of a run on stderr; shows nothing unless that is a terminal.

    Hand it to `run` as progress, unless sightings are written to the same terminal: they would
    run through it.

    >>> with Display() as display:
    ...     display(RunSummary(frames=3, faces=2))
    """

    def __init__(self, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._progress = Progress(
            SpinnerColumn(),
            _Counts(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,  # it may be a pipe with sightings
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("", total=None, summary=RunSummary())

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def __call__(self, summary: RunSummary) -> None:
        """Show the newest counts."""
        self._progress.update(self._task, completed=summary.frames, summary=summary)


class _Counts(ProgressColumn):
    """The counts, and the frames per second of the last half minute."""

    def render(self, task: Task) -> Text:
        summary: RunSummary = task.fields["summary"]
        rate = task.finished_speed or task.speed or summary.rate
        return Text(
            f"{_count(summary.frames, 'frame')} ({rate:.1f}/s)  {_count(summary.faces, 'face')}  "
            f"{_count(len(summary.named), 'person', 'people')}  "
            f"{_count(summary.strangers, 'track')} without a name  "
            f"{_count(summary.vertices, 'stored face')}"
        )


def _count(number: int, one: str, more: str = "") -> str:
    return f"{number:,} {one if number == 1 else more or one + 's'}"
