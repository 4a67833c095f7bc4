"""The stream of frames, and live cameras: each is read in its own thread and reopened when lost."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Condition, Event, Thread
from typing import Literal

from onlooker.video.addresses import Address, Kind, SourceError
from onlooker.video.decoding import (
    AccessRefused,
    CameraCondition,
    FrameBuilder,
    FrameCounts,
    OpenedSource,
    open_source,
)
from onlooker.vision.types import Frame

_JOIN_TIMEOUT = 2.0
"""Seconds to wait for the threads at the end: longer than a frame takes."""
_REFUSED_PAUSE = 60.0
"""Seconds before a password is tried again: cameras lock out who fails to log in too often."""

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

    @property
    def conditions(self) -> dict[str, CameraCondition]:
        """Whether frames arrive, by camera; also after the block has ended."""
        return {builder.camera: builder.condition.now() for builder in self._builders}

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
    closed: bool = False

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
                        reader.builder.condition.handed_out()
                        return reader.waiting.popleft()
                    if reader.failure is not None:
                        raise reader.failure
                    if reader.ended and not self.closed:
                        reader.builder.condition.ended()
                if not wait or self.closed or all(reader.ended for reader in self.readers):
                    return None
                self.changed.wait(0.5)  # in slices, for systems where Ctrl-C cannot end a wait

    def close(self) -> None:
        """Stop all threads and wait for them.

        A thread that hangs in the network is left running after two seconds: it closes its camera
        and ends as soon as the stall is noticed, and does not keep the program from ending.
        """
        for reader in self.readers:
            reader.stop.set()
        with self.changed:  # nobody waits for a camera that sends a byte now and then
            self.closed = True
            self.changed.notify_all()
        deadline = time.monotonic() + _JOIN_TIMEOUT
        for reader in self.readers:
            reader.join(max(0.0, deadline - time.monotonic()))
            reader.waiting.clear()
            if reader.is_alive():
                camera = {"camera": reader.address.camera}
                log.warning("it does not answer; its reader ends later", extra=camera)


@dataclass(frozen=True, slots=True)
class CameraChange:
    """That a camera began to fail, or that its failing is over."""

    camera: str
    state: Literal["failing", "live", "ended", "removed"]
    since: float
    """When the failing began, in seconds since 1970."""
    problem: str
    """Why it failed."""


class FailureWatch:
    """Says of each camera once when it begins to fail, and once when that is over.

    It is over when frames have arrived for a few seconds: a camera that comes and goes is one
    failure, not hundreds.

    >>> watch = FailureWatch(steady=0.0)
    >>> refused = CameraCondition("failing", 60.0, "Connection refused")
    >>> [change.state for change in watch.changes({"door": refused})]
    ['failing']
    >>> watch.changes({"door": refused})
    []
    >>> [change.state for change in watch.changes({"door": CameraCondition("live", 61.0)})]
    ['live']
    """

    def __init__(self, steady: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._steady, self._clock = steady, clock
        self._failing: dict[str, CameraCondition] = {}
        self._live_since: dict[str, float] = {}

    def changes(self, conditions: Mapping[str, CameraCondition]) -> list[CameraChange]:
        """What has changed since the last call."""
        found = []
        for camera, now in conditions.items():
            if now.state == "failing":
                self._live_since.pop(camera, None)
                if camera not in self._failing:
                    self._failing[camera] = now
                    found.append(CameraChange(camera, "failing", now.since, now.problem))
        for camera, began in list(self._failing.items()):
            state = self._over(camera, conditions.get(camera))
            if state is not None:
                del self._failing[camera]
                self._live_since.pop(camera, None)
                found.append(CameraChange(camera, state, began.since, began.problem))
        return found

    def _over(
        self, camera: str, now: CameraCondition | None
    ) -> Literal["live", "ended", "removed"] | None:
        if now is None:
            return "removed"
        if now.state == "ended":
            return "ended"
        if now.state != "live":
            return None
        since = self._live_since.setdefault(camera, self._clock())
        return "live" if self._clock() - since >= self._steady else None


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
        failures, condition = 0, self.builder.condition
        while not self.stop.is_set():
            try:
                self._read_once()
                return
            except SourceError as error:
                if not self.tried.is_set() and not self.options.retry_first:
                    raise
                # A frame ends the failing, so one that does not fail had come back.
                failures = failures + 1 if condition.failing else 1
                pause = self.options.pause(failures)
                if isinstance(error, AccessRefused):
                    pause = max(pause, _REFUSED_PAUSE)
                reported = condition.failing and condition.now().problem == str(error)
                condition.failed(str(error))
            level = logging.DEBUG if reported else logging.WARNING  # once, not for every attempt
            problem, camera = condition.now().problem, {"camera": self.address.camera}
            log.log(level, "%s; trying again in %g s", problem, pause, extra=camera)
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
            failing = self.builder.condition.failing
            frame = None if raw is None else self.builder.frame(raw, self.options.now())
            if frame is None:
                if self.options.now() - latest > self.options.stall_after:
                    raise SourceError(
                        f"lost {self.address.shown}: no frame for {self.options.stall_after:g} s"
                    )
                continue
            latest = frame.time
            self.counts.reconnects += failing and frame.index > 0
            self.queue.put(self, frame)
