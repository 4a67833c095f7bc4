"""The running service: a home in its thread, cameras in theirs, and what subscribers receive.

One thread owns the home; all other threads hand it jobs through a short queue. A home is not
thread-safe, and with one owner it need not be. The queue is bounded: when it is full, new work is
refused at once instead of making everybody wait longer and longer.

A frame goes one way: camera thread, home thread (recognize and learn), statistics, latest view,
broadcast.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from queue import Empty, Full, PriorityQueue
from threading import Lock, Thread
from typing import Any, Self, TypeAlias, TypeVar

from onlooker.core.errors import NotFound, OnlookerError
from onlooker.home.home import Home
from onlooker.home.retention import Health, RetentionPolicy
from onlooker.strangers.book import StrangerBook
from onlooker.video.decoding import ConditionTracker
from onlooker.video.live import CameraChange, FailureWatch
from onlooker.video.sources import CameraCondition, FrameCounts
from onlooker.vision.types import Frame
from onlooker.web.broadcast import Broadcast
from onlooker.web.cameras import (
    CameraNotSaved,
    Cameras,
    CameraStatus,
    CameraTaken,
    Stopped,
    StoredCameras,
    as_camera_name,
)
from onlooker.web.frames import FrameResult, FrameStats, FrameView, LatestViews, LiveRecognizer
from onlooker.web.people import People
from onlooker.web.photos import PhotoFaces

QUEUE_SIZE = 256
"""Jobs that may wait; further ones are refused with Busy."""
CHECK_EVERY = 0.5
"""Seconds between two updates of the health."""
FRAME_TIMEOUT = 5.0
"""Seconds a frame may wait for a place in the queue of the home thread before it is dropped."""
MAX_BROWSER_CAMERAS = 16
BROWSER_SILENT = 20.0
"""Seconds without a frame after which the camera of a browser is not live."""
RESULTS, EVENTS = "results", "events"
"""Topics: the result of every frame; the number of the newest event."""

_Result = TypeVar("_Result")
_QueuedJob: TypeAlias = "tuple[Callable[[Home], Any], Future[Any]] | None"
_Place: TypeAlias = "tuple[float, int, _QueuedJob]"
"""A job behind its place in the queue; the number settles who of two came first."""

log = logging.getLogger(__name__)


class Busy(OnlookerError):
    """The queue of jobs is full."""


def live(camera: str) -> str:
    """The topic of a camera's views."""
    return f"live {camera}"


class HomeThread:
    """Opens a home, runs jobs on it, and closes it, all in one thread.

    An error of open_home is raised by the constructor. These are called in the thread: on_event
    with the number of the newest event whenever it has changed, on_check with the home about twice
    a second, expire with the home at the start and every expire_every seconds.

    Frames come first: one waits for a single other job at most, however many there are, and each
    other job for one frame of each camera at most. So many readers do not slow the cameras down,
    and many cameras do not keep readers out.
    """

    def __init__(
        self,
        open_home: Callable[[], AbstractContextManager[Home]],
        *,
        on_event: Callable[[int], object] = lambda sequence: None,
        on_check: Callable[[Home], object] = lambda home: None,
        expire: Callable[[Home], object] = Home.expire,
        expire_every: float = 600.0,
        queue_size: int = QUEUE_SIZE,
    ) -> None:
        self._jobs: PriorityQueue[_Place] = PriorityQueue(queue_size)
        self._numbers, self._others, self._others_done = count(), count(1), 0
        self._on_event, self._on_check = on_event, on_check
        self._expire, self._expire_every = expire, expire_every
        self._closing, self._lock = False, Lock()
        self.health = Health(None, (), 0, 0)
        """At most about a second old; reading it never waits for the home."""
        opened: Future[None] = Future()
        self._thread = Thread(
            target=self._run, args=(open_home, opened), name="onlooker home", daemon=True
        )
        self._thread.start()
        opened.result()

    @property
    def waiting(self) -> int:
        """The number of jobs in the queue."""
        return self._jobs.qsize()

    @property
    def alive(self) -> bool:
        """Whether jobs are being run."""
        return self._thread.is_alive()

    def submit(
        self, job: Callable[[Home], _Result], *, timeout: float = 0.0, frame: bool = False
    ) -> "Future[_Result]":
        """Queue a job; Busy if the queue is still full after timeout seconds."""
        future: Future[_Result] = Future()
        with self._lock:
            if self._closing or not self.alive:
                raise Stopped("the service is closing; start it again to continue")
            if not timeout:
                return self._put(job, future, None, frame)
        return self._put(job, future, timeout, frame)

    async def call(self, job: Callable[[Home], _Result]) -> _Result:
        """Run a job and wait for its result, without blocking the event loop."""
        return await asyncio.wrap_future(self.submit(job))

    def close(self) -> None:
        """Finish the queued jobs, close the home with a snapshot, and end the thread."""
        with self._lock:
            first, self._closing = not self._closing, True
        if first and self.alive:
            self._jobs.put((math.inf, next(self._numbers), None))
        self._thread.join()
        self._refuse_queued_jobs()

    def _put(
        self,
        job: Callable[[Home], _Result],
        future: "Future[_Result]",
        timeout: float | None,
        frame: bool,
    ) -> "Future[_Result]":
        place = self._others_done + 1.5 if frame else next(self._others)
        queued = place, next(self._numbers), (job, future)
        try:
            self._jobs.put(queued, block=timeout is not None, timeout=timeout)
        except Full:
            raise Busy("too many jobs are waiting; try again in a second") from None
        if not self.alive:  # the thread ended in between
            self._refuse_queued_jobs()
        return future

    def _refuse_queued_jobs(self) -> None:
        while True:
            try:
                _, _, queued = self._jobs.get_nowait()
            except Empty:
                return
            if queued is not None and queued[1].set_running_or_notify_cancel():
                queued[1].set_exception(Stopped("the service has closed"))

    # ---- in the thread

    def _run(
        self, open_home: Callable[[], AbstractContextManager[Home]], opened: "Future[None]"
    ) -> None:
        with ExitStack() as stack:
            try:
                home = stack.enter_context(open_home())
                self.health = home.health()
                self._on_check(home)
            except BaseException as error:
                opened.set_exception(error)
                return
            self._check(home, expire=True)  # what has expired while the service was not running
            opened.set_result(None)
            self._run_jobs(home)

    def _run_jobs(self, home: Home) -> None:
        last_check = last_expire = time.monotonic()
        while True:
            try:
                place, _, queued = self._jobs.get(timeout=CHECK_EVERY)
                if queued is None:
                    return
                if place == int(place):  # no frame
                    self._others_done = int(place)
                before = home.sequence
                _run_job(home, *queued)
                if home.sequence != before:
                    self._on_event(home.sequence)
            except Empty:
                home.checkpoint()
            now = time.monotonic()
            if now - last_check >= CHECK_EVERY:
                last_check, due = now, now - last_expire >= self._expire_every
                self._check(home, expire=due)
                last_expire = now if due else last_expire

    def _check(self, home: Home, *, expire: bool) -> None:
        """Update the health and delete expired data; an error must not end the thread."""
        before = home.sequence
        try:
            self.health = home.health()
            self._on_check(home)
            if home.sequence != before:
                self._on_event(home.sequence)
            if expire:
                self._expire(home)
        except Exception as error:
            log.warning("the periodic check of the home failed: %s", error)


def _run_job(home: Home, job: Callable[[Home], Any], future: "Future[Any]") -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(job(home))
    except Exception as error:  # the caller decides what it means
        future.set_exception(error)


@dataclass(slots=True)
class HomeInfo:
    """What is known of the home without waiting for its thread.

    All of it is constant while the home is open, except the number of vertices, which is updated
    about twice a second.
    """

    identity: str
    folder: Path
    retention: RetentionPolicy
    max_vertices: int
    vertices: int
    trust_radius: float | None

    @classmethod
    def of(cls, home: Home) -> "HomeInfo":
        """The values of an open home."""
        learner = home.learner
        sizes = learner.max_vertices, len(learner)
        return cls(home.identity, home.folder, home.retention, *sizes, learner.trust_radius)


class Service:
    """Everything that runs; closing it closes the cameras and the home, with a snapshot.

    open_home and open_book are called in the home thread, which owns both from then on. The
    cameras that are added while the service runs are stored in the home; `cameras.resume` watches
    them again. alert_problems lists what is wrong with the alerts. on_camera is called when a
    camera begins to fail, and when that is over; both are events of the home, too.
    """

    def __init__(
        self,
        open_home: Callable[[], Home],
        open_book: Callable[[Home], StrangerBook],
        recognizer: LiveRecognizer,
        *,
        folders: Sequence[Path] = (),
        queue_size: int = QUEUE_SIZE,
        alert_problems: Callable[[], Sequence[str]] = tuple,
        on_camera: Callable[[CameraChange], object] = lambda change: None,
    ) -> None:
        self._alert_problems, self._on_camera = alert_problems, on_camera
        self._failures = FailureWatch()
        self.recognizer, self.finder = recognizer, recognizer.finder
        self.recent_faces = recognizer.recent
        self.frame_stats, self.views = FrameStats(), LatestViews()
        self.photos = PhotoFaces(recognizer.finder.for_photos())
        self.people = People(recognizer, self.views, self.photos)
        self.broadcast = Broadcast()
        self.started = time.monotonic()
        self._browser_cameras: dict[str, ConditionTracker] = {}
        self._lock = Lock()
        self._cameras: Cameras | None = None
        self.home_thread = HomeThread(
            lambda: self._opened(open_home, open_book),
            on_event=partial(self.broadcast.publish, EVENTS),
            on_check=self._update_info,
            expire=self._expire,
            queue_size=queue_size,
        )
        stored = StoredCameras(
            lambda act: self.home_thread.submit(act, timeout=FRAME_TIMEOUT).result()
        )
        self.cameras = self._cameras = Cameras(self.recognize, folders, stored)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every subscription, then the cameras, then the home."""
        self.broadcast.close()
        self.cameras.close()
        self.home_thread.close()

    @property
    def health(self) -> Health:
        """The health of the home, with the problems of strangers, alerts and cameras."""
        health = self.home_thread.health
        more = (*self.people.problems, *self._alert_problems(), *self.cameras.problems)
        return replace(health, problems=(*health.problems, *more))

    # ---- frames

    def recognize(self, frame: Frame) -> FrameResult:
        """Recognize the faces of a frame, learn from them, and publish the result."""
        recognizer, start = self.recognizer, time.perf_counter()
        browser = self._browser_cameras.get(frame.camera)
        if browser is not None:
            browser.arrived()
        result = self.home_thread.submit(
            lambda home: recognizer.see(frame), timeout=FRAME_TIMEOUT, frame=True
        ).result()
        self.frame_stats.add(result, time.perf_counter() - start)
        if browser is not None:
            browser.handed_out()
        view = FrameView(frame, result)
        self.views.put(view)
        self.broadcast.publish(live(frame.camera), view)
        self.broadcast.publish(RESULTS, result)
        return result

    def latest(self, camera: str) -> FrameView | None:
        """The newest frame of a camera with its result; None before the first."""
        view = self.views.newest(camera)
        if view is None and camera not in self.camera_names:
            raise NotFound(f"there is no camera called {camera[:64]!r}")
        return view

    # ---- cameras

    @property
    def camera_names(self) -> list[str]:
        """All cameras, including those of browsers."""
        return [status.name for status in self.camera_statuses]

    @property
    def camera_statuses(self) -> list[CameraStatus]:
        """The status of each camera; one of a browser is there as long as it sends frames."""
        counts = self.frame_stats.counts
        with self._lock:
            browsers = sorted(self._browser_cameras.items())
        return self.cameras.statuses + [
            CameraStatus.of(
                name,
                "a browser",
                _browser_condition(tracker.now()),
                FrameCounts(counts[name, "frames"]),
            )
            for name, tracker in browsers
        ]

    @contextmanager
    def browser_camera(self, name: str) -> Iterator[None]:
        """A camera whose frames come from a browser, for the duration of the block."""
        as_camera_name(name)
        taken = name in self.camera_names
        with self._lock:
            full = len(self._browser_cameras) >= MAX_BROWSER_CAMERAS
            if taken or full or name in self._browser_cameras:
                raise CameraTaken(f"there is a camera called {name!r} already, or too many")
            self._browser_cameras[name] = ConditionTracker()
        try:
            yield
        finally:
            with self._lock:
                self._browser_cameras.pop(name, None)
            self._camera_removed(name)

    def remove_camera(self, name: str) -> None:
        """Stop watching a camera."""
        try:
            self.cameras.remove(name)
        except CameraNotSaved:
            self._camera_removed(name)
            raise
        self._camera_removed(name)

    def _camera_removed(self, camera: str) -> None:
        """Drop the tracks, the view, the statistics and the subscriptions of a camera."""
        recognizer = self.recognizer
        with suppress(Busy, Stopped):
            self.home_thread.submit(
                lambda home: recognizer.camera_removed(camera), timeout=FRAME_TIMEOUT
            )
        self.views.camera_removed(camera)
        self.frame_stats.camera_removed(camera)
        self.broadcast.end(live(camera))

    # ---- in the home thread

    @contextmanager
    def _opened(
        self, open_home: Callable[[], Home], open_book: Callable[[Home], StrangerBook]
    ) -> Iterator[Home]:
        with open_home() as home, open_book(home) as book:
            self.people.book = book
            self.recognizer.start(home, book)
            self.home_info = HomeInfo.of(home)
            yield home

    def _update_info(self, home: Home) -> None:
        self.home_info.vertices = len(home.learner)
        if self._cameras is not None:  # not while the home is being opened
            conditions = {
                status.name: CameraCondition(status.state, status.since, status.problem or "")
                for status in self._cameras.statuses
            }
            for change in self._failures.changes(conditions):
                home.record_camera(change.camera, change.state, change.problem)
                self._on_camera(change)

    def _expire(self, home: Home) -> None:
        home.expire()
        self.people.expire(home.trusted_clock())


def _browser_condition(now: CameraCondition) -> CameraCondition:
    """A film in a browser that has ended, or a tab that sleeps, sends nothing and is not live."""
    if now.last_frame is None or time.time() - now.last_frame < BROWSER_SILENT:
        return now
    return replace(now, state="ended", since=now.last_frame)
