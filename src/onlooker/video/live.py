"""The stream of frames, and live cameras: each is read in its own thread and reopened when lost."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Condition, Event, Thread

from onlooker.video.addresses import Address, Kind, SourceError
from onlooker.video.decoding import FrameBuilder, FrameCounts, OpenedSource, open_source
from onlooker.vision.types import Frame

_JOIN_TIMEOUT = 2.0
"""Seconds to wait for the threads at the end: longer than a frame takes."""

log = logging.getLogger(__name__)


class FrameStream(Iterator[Frame]):
    """Frames of one or several cameras: replayed ones by their time, live ones as they come."""

    def __init__(
        self, builders: list[FrameBuilder], replay: Iterator[Frame], live: "FrameQueue"
    ) -> None:
        self._builders = builders
        self._replay: Iterator[Frame] | None = replay
        self._live = live
        self._closed = False

    @property
    def cameras(self) -> tuple[str, ...]:
        """Their names, in the order the sources were given."""
        return tuple(builder.camera for builder in self._builders)

    @property
    def counts(self) -> dict[str, FrameCounts]:
        """The counts so far, by camera; also after the block has ended."""
        return {builder.camera: replace(builder.counts) for builder in self._builders}

    def __next__(self) -> Frame:
        while not self._closed:
            frame = self._live.take(wait=self._replay is None)
            if frame is not None:
                return frame
            if self._replay is None:
                break
            frame = next(self._replay, None)
            if frame is not None:
                return frame
            self._replay = None
        raise StopIteration

    def close(self) -> None:
        """End the iteration; leaving the block does this."""
        self._closed = True


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """How long to wait for a camera, and when to open it again."""

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
        """Seconds before the next attempt; the last pause repeats."""
        return self.reconnect_after[min(failures, len(self.reconnect_after)) - 1]


@dataclass(eq=False)
class FrameQueue:
    """A bounded queue of frames for each camera; when it is full, the oldest frame is dropped."""

    size: int
    readers: list["CameraReader"] = field(default_factory=list)
    changed: Condition = field(default_factory=Condition)

    def put(self, reader: "CameraReader", frame: Frame) -> None:
        """Add a frame; if there is no room, drop the oldest of this camera and count it."""
        with self.changed:
            if len(reader.waiting) == self.size:
                reader.waiting.popleft()
                reader.counts.dropped += 1
            reader.waiting.append(frame)
            self.changed.notify()

    def take(self, *, wait: bool) -> Frame | None:
        """The next frame, cameras in turn; None if there is none yet, or all cameras have ended."""
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

        A thread that hangs in the network is left running after two seconds: it closes its camera
        and ends as soon as the stall is noticed, and does not keep the program from ending.
        """
        for reader in self.readers:
            reader.stop.set()
        deadline = time.monotonic() + _JOIN_TIMEOUT
        for reader in self.readers:
            reader.join(max(0.0, deadline - time.monotonic()))
            reader.waiting.clear()
            if reader.is_alive():
                log.warning("%s does not answer; its reader ends later", reader.address.camera)


class CameraReader(Thread):
    """Reads one camera until `stop` is set, and opens it again whenever it is lost."""

    def __init__(
        self, address: Address, options: LiveOptions, queue: FrameQueue, builder: FrameBuilder
    ) -> None:
        super().__init__(name=f"onlooker {address.camera}", daemon=True)
        self.address = address
        self.options = options
        self.queue = queue
        self.builder = builder
        self.waiting: deque[Frame] = deque()
        self.stop = Event()
        self.tried = Event()
        self.ended = False
        self.failure: BaseException | None = None

    @property
    def counts(self) -> FrameCounts:
        """The counts of this camera."""
        return self.builder.counts

    def run(self) -> None:
        """Read; when the camera is lost, wait and open it again."""
        try:
            self._read_with_retries()
        except BaseException as error:  # raised by `FrameQueue.take`
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

    def _read_with_retries(self) -> None:
        failures = 0
        while not self.stop.is_set():
            try:
                self._read_once()
                return
            except SourceError as error:
                if not self.tried.is_set() and not self.options.retry_first:
                    raise
                # A frame clears the problem, so no problem means that the camera had come back.
                failures = failures + 1 if self.counts.problem else 1
                self.counts.problem = str(error)
            pause = self.options.pause(failures)
            log.warning("%s; trying again in %g s", self.counts.problem, pause)
            self.stop.wait(pause)

    def _read_once(self) -> None:
        """Read until a recording ends, `stop` is set, or the camera is lost, which raises."""
        with open_source(
            self.address, timeout=self.options.stall_after, max_pixels=self.options.max_pixels
        ) as source:
            self.tried.set()
            self._read_frames(source)
            if not source.recorded and not self.stop.is_set():
                raise SourceError(f"lost {self.address.shown}: the stream ended")

    def _read_frames(self, source: OpenedSource) -> None:
        """Queue frame after frame; a recording that stands in for a camera keeps its own speed."""
        start = latest = self.options.now()
        for raw in source.raw_frames:
            if raw is not None and self.address.kind in (Kind.VIDEO, Kind.PICTURES):
                self.stop.wait(max(0.0, start + self.builder.due(raw) - self.options.now()))
            if self.stop.is_set():
                return
            frame = None if raw is None else self.builder.frame(raw, self.options.now())
            if frame is None:
                if self.options.now() - latest > self.options.stall_after:
                    raise SourceError(
                        f"lost {self.address.shown}: no frame for {self.options.stall_after:g} s"
                    )
                continue
            latest = frame.time
            if self.counts.problem:
                self.counts.problem = ""
                self.counts.reconnects += frame.index > 0
            self.queue.put(self, frame)
