"""Live cameras: each is read in a thread of its own, watched, and opened again when it is lost."""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Condition, Event, Thread

from onlooker.video.addresses import Address, Kind, SourceError
from onlooker.video.decoding import FrameBuilder, FrameCounts, OpenedSource, open_source
from onlooker.vision.types import Frame

_PATIENCE = 2.0
"""Seconds to wait for the threads at the end: longer than any frame, shorter than any person."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """How long to wait for a camera, and when to try it again."""

    stall_after: float
    reconnect_after: Sequence[float]
    retry_first: bool
    max_pixels: int
    clock: Callable[[], float]
    started: float

    def now(self) -> float:
        """Seconds since the sources were opened."""
        return self.clock() - self.started

    def pause(self, failures: int) -> float:
        """Before the next attempt: the last pause repeats."""
        return self.reconnect_after[min(failures, len(self.reconnect_after)) - 1]


@dataclass(eq=False)
class FrameQueue:
    """Frames of several cameras that wait to be taken; the oldest give way to the newest."""

    size: int
    readers: list["CameraReader"] = field(default_factory=list)
    changed: Condition = field(default_factory=Condition)

    def put(self, reader: "CameraReader", frame: Frame) -> None:
        """Add one, and drop and count the oldest of this camera if there is no room."""
        with self.changed:
            if len(reader.waiting) == self.size:
                reader.waiting.popleft()
                reader.counts.dropped += 1
            reader.waiting.append(frame)
            self.changed.notify()

    def take(self, *, wait: bool) -> Frame | None:
        """The next frame, cameras in turn; None if there is none now, or will be none ever."""
        with self.changed:
            while True:
                for reader in self.readers:
                    if reader.waiting:
                        self.readers.remove(reader)
                        self.readers.append(reader)
                        reader.counts.frames += 1
                        return reader.waiting.popleft()
                    if reader.failure is not None:
                        raise reader.failure
                if not wait or all(reader.ended for reader in self.readers):
                    return None
                self.changed.wait(0.5)  # in slices, for systems where Ctrl-C cannot end a wait

    def close(self) -> None:
        """Stop all threads and wait for them.

        One that hangs in the network is left alone after two seconds: it closes its camera and
        ends as soon as the stall is noticed, and does not keep the program from ending.
        """
        for reader in self.readers:
            reader.stop.set()
        deadline = time.monotonic() + _PATIENCE
        for reader in self.readers:
            reader.join(max(0.0, deadline - time.monotonic()))
            reader.waiting.clear()
            if reader.is_alive():
                log.warning("%s does not answer; its reader ends later", reader.address.camera)


class CameraReader(Thread):
    """Reads one camera until told to stop, whatever happens to it."""

    def __init__(
        self, address: Address, watch: LiveOptions, queue: FrameQueue, builder: FrameBuilder
    ) -> None:
        super().__init__(name=f"onlooker {address.camera}", daemon=True)
        self.address = address
        self.watch = watch
        self.queue = queue
        self.builder = builder
        self.waiting: deque[Frame] = deque()
        self.stop = Event()
        self.tried = Event()
        self.ended = False
        self.failure: BaseException | None = None

    @property
    def counts(self) -> FrameCounts:
        """What became of the frames."""
        return self.builder.counts

    def run(self) -> None:
        """Read, and on a loss wait and read again."""
        try:
            self._read_for_ever()
        except BaseException as error:  # handed to whoever takes the frames
            self.failure = error
        finally:
            with self.queue.changed:
                self.ended = True
                self.tried.set()
                self.queue.changed.notify()

    def first_attempt(self) -> None:
        """Wait until the camera has been opened, or raise why it could not be."""
        while not self.tried.wait(0.5):
            pass
        if self.failure is not None:
            raise self.failure

    def _read_for_ever(self) -> None:
        failures = 0
        while not self.stop.is_set():
            try:
                self._read_once()
                return
            except SourceError as error:
                if not self.tried.is_set() and not self.watch.retry_first:
                    raise
                # A frame clears the problem, so no problem means that it had come back.
                failures = failures + 1 if self.counts.problem else 1
                self.counts.problem = str(error)
            pause = self.watch.pause(failures)
            log.warning("%s; trying again in %g s", self.counts.problem, pause)
            self.stop.wait(pause)

    def _read_once(self) -> None:
        """To the end of a recording, to the word to stop, or to the loss of the camera."""
        with open_source(
            self.address, timeout=self.watch.stall_after, max_pixels=self.watch.max_pixels
        ) as source:
            self.tried.set()
            self._read_shots(source)
            if not source.recorded and not self.stop.is_set():
                raise SourceError(f"lost {self.address.shown}: the stream ended")

    def _read_shots(self, source: OpenedSource) -> None:
        """A recording that is to pass for a camera keeps the pace at which it was taken."""
        start = latest = self.watch.now()
        for shot in source.shots:
            if shot is not None and self.address.kind in (Kind.VIDEO, Kind.PICTURES):
                self.stop.wait(max(0.0, start + self.builder.due(shot) - self.watch.now()))
            if self.stop.is_set():
                return
            frame = None if shot is None else self.builder.frame(shot, self.watch.now())
            if frame is None:
                if self.watch.now() - latest > self.watch.stall_after:
                    raise SourceError(
                        f"lost {self.address.shown}: no frame for {self.watch.stall_after:g} s"
                    )
                continue
            latest = frame.time
            if self.counts.problem:
                self.counts.problem = ""
                self.counts.reconnects += frame.index > 0
            self.queue.put(self, frame)
