"""From a source through the recognizer to the sinks, and what came of it."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, Protocol

from onlooker.faces.records import Frame, Sighting
from onlooker.faces.sinks import Sink, SinkClosed
from onlooker.faces.summary import Summary, Tally


class Recognizer(Protocol):
    """Names the faces in a frame; its learner has a size."""

    @property
    def learner(self) -> Sized:
        """What grows."""

    def see(self, frame: Frame, /) -> Sequence[Sighting]:
        """Every face in a frame."""


def run(
    frames: Iterable[Frame],
    recognizer: Recognizer,
    sinks: Sequence[Sink] = (),
    *,
    progress: Callable[[Summary], object] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Summary:
    """Show every frame to the recognizer and tell the sinks, in their order.

    The sinks are opened before the first frame is asked for and closed whatever happens. Ctrl-C
    ends the run as the end of the frames does, between two steps of the learner, never within
    one; so does a sink that nobody reads any more. For SIGTERM to do the same, call
    `signal.signal(signal.SIGTERM, signal.default_int_handler)` first. A second Ctrl-C does not
    wait.
    """
    tally = Tally(recognizer.learner, clock)
    try:
        with _opened(sinks, tally):
            _watch(frames, recognizer, sinks, tally, progress)
    except KeyboardInterrupt:
        tally.ended = "interrupted"
    except SinkClosed:
        tally.ended = "nobody reads"
    return tally.summary()


def _watch(
    frames: Iterable[Frame],
    recognizer: Recognizer,
    sinks: Sequence[Sink],
    tally: Tally,
    progress: Callable[[Summary], object] | None,
) -> None:
    source = iter(frames)
    while True:
        with tally.timed("read"):
            frame = next(source, None)
        if frame is None:
            return
        with tally.timed("recognize"), undisturbed():
            sightings = recognizer.see(frame)
            tally.add(sightings)
        with tally.timed("write"):
            for sink in sinks:
                sink(frame, sightings)
        if progress is not None:
            progress(tally.summary())


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait for the end of the block, unless they come twice.

    Only where somebody handles them, and only in the main thread: no other one is interrupted.

    >>> try:
    ...     with undisturbed():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("done")
    ... except KeyboardInterrupt:
    ...     print("and now out")
    done
    and now out
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
def _opened(sinks: Sequence[Sink], tally: Tally) -> Iterator[None]:
    with ExitStack() as opening:
        for sink in sinks:
            opening.enter_context(sink)
        stack = opening.pop_all()
    try:
        yield
    finally:
        with tally.timed("write"), undisturbed():
            stack.__exit__(*sys.exc_info())
