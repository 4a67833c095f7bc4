"""The running service: a home in its thread, cameras in theirs, and what subscribers receive.

A frame goes one way: camera thread, home thread (recognize and learn), statistics, latest view,
broadcast.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Self

from onlooker.core.errors import NotFound
from onlooker.home.home import Home
from onlooker.home.retention import Health, RetentionPolicy
from onlooker.strangers.book import StrangerBook
from onlooker.vision.types import Frame
from onlooker.web.broadcast import Broadcast
from onlooker.web.cameras import (
    CameraNotSaved,
    Cameras,
    CameraStatus,
    CameraTaken,
    StoredCameras,
    as_camera_name,
)
from onlooker.web.frames import FrameResult, FrameStats, FrameView, LatestViews, LiveRecognizer
from onlooker.web.home_thread import QUEUE_SIZE, Busy, HomeThread, Stopped
from onlooker.web.people import People

FRAME_TIMEOUT = 5.0
"""Seconds a frame may wait for a place in the queue of the home thread before it is dropped."""
MAX_BROWSER_CAMERAS = 16
RESULTS, EVENTS = "results", "events"
"""Topics: the result of every frame; the number of the newest event."""


def live(camera: str) -> str:
    """The topic of a camera's views."""
    return f"live {camera}"


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

    @classmethod
    def of(cls, home: Home) -> "HomeInfo":
        """The values of an open home."""
        learner = home.learner
        return cls(home.identity, home.folder, home.retention, learner.max_vertices, len(learner))


class Service:
    """Everything that runs; closing it closes the cameras and the home, with a snapshot.

    open_home and open_book are called in the home thread, which owns both from then on. The
    cameras that are added while the service runs are stored in the home; `cameras.resume` watches
    them again. alert_problems lists what is wrong with the alerts.
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
    ) -> None:
        self._alert_problems = alert_problems
        self.recognizer, self.finder = recognizer, recognizer.finder
        self.recent_faces = recognizer.recent
        self.frame_stats, self.views = FrameStats(), LatestViews()
        self.people, self.broadcast = People(recognizer, self.views), Broadcast()
        self.started = time.monotonic()
        self._browser_cameras: set[str] = set()
        self._lock = Lock()
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
        self.cameras = Cameras(self.recognize, folders, stored)

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
        result = self.home_thread.submit(
            lambda home: recognizer.see(frame), timeout=FRAME_TIMEOUT
        ).result()
        self.frame_stats.add(result, time.perf_counter() - start)
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
            names = sorted(self._browser_cameras)
        return self.cameras.statuses + [
            CameraStatus(name, "a browser", "watching", None, counts[name, "frames"], 0, 0)
            for name in names
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
            self._browser_cameras.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._browser_cameras.discard(name)
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

    def _expire(self, home: Home) -> None:
        home.expire()
        self.people.expire(home.trusted_clock())
