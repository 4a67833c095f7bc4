"""The running thing: a home in its thread, cameras in theirs, and news for whoever listens.

What anybody may know of a home without waiting for the thread that owns it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Self, TypeVar

from onlooker.core.errors import NotFound
from onlooker.home.home import Home
from onlooker.home.retention import Health, RetentionPolicy
from onlooker.strangers.book import StrangerBook
from onlooker.vision.types import Frame, Sighting
from onlooker.web.broadcast import Broadcast
from onlooker.web.cameras import (
    CameraFile,
    Cameras,
    CameraState,
    CameraTaken,
    NotKept,
    as_camera_name,
)
from onlooker.web.frames import FrameResult, FrameStats, FrameView, LatestViews, LiveRecognizer
from onlooker.web.home_thread import WAITING, Busy, HomeThread, Stopped
from onlooker.web.people import Deeds, People


@dataclass(slots=True)
class Facts:
    """Settled when the home is opened, but for the vertices, which are counted now and then."""

    identity: str
    folder: Path
    retention: RetentionPolicy
    max_vertices: int
    vertices: int

    @classmethod
    def of(cls, home: Home) -> "Facts":
        """As they are now."""
        learner = home.learner
        return cls(home.identity, home.folder, home.retention, learner.max_vertices, len(learner))


PATIENCE = 5.0
"""Seconds a camera waits for its turn before it gives a frame up."""
RESULTS, EVENTS = "results", "events"

_Result = TypeVar("_Result")


def live(camera: str) -> str:
    """The topic of a camera's pictures."""
    return f"live {camera}"


class Service:
    """Everything that runs; close it, or leave the block, and the home has its snapshot.

    open_home and open_visitors are called in the thread that owns both from then on. In
    camera_folder, which is the home's, stays which cameras were added; `cameras.resume` watches
    them again.
    """

    def __init__(
        self,
        open_home: Callable[[], Home],
        open_visitors: Callable[[Home], StrangerBook],
        recognizer: LiveRecognizer,
        *,
        folders: Sequence[Path] = (),
        waiting: int = WAITING,
        troubles: Callable[[], Sequence[str]] = tuple,
        camera_folder: Path | None = None,
    ) -> None:
        self._troubles = troubles  # of whoever is told of strangers
        self.recognizer, self.people, self.broadcast = recognizer, People(), Broadcast()
        self.deeds = Deeds(self.people, self._changed)
        self.frame_stats, self.views = FrameStats(), LatestViews()
        self.started = time.monotonic()
        self._guests: set[str] = set()
        self._lock = Lock()
        self.home_thread = HomeThread(
            lambda: self._opened(open_home, open_visitors),
            told=lambda sequence: self.broadcast.publish(EVENTS, sequence),
            tidy=self._tidy,
            looked=self._looked,
            waiting=waiting,
        )
        # By now the home is open, and nobody else writes in its folder.
        file = CameraFile(camera_folder) if camera_folder is not None else None
        self.cameras = Cameras(self.show, folders, file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Send listeners home, let go of the cameras, and close the home."""
        self.broadcast.close()
        self.cameras.close()
        self.home_thread.close()

    @contextmanager
    def _opened(
        self, open_home: Callable[[], Home], open_visitors: Callable[[Home], StrangerBook]
    ) -> Iterator[Home]:
        with open_home() as home, open_visitors(home) as visitors:
            self.people.visitors = visitors
            self.recognizer.start(home, visitors)
            self.facts = Facts.of(home)
            yield home

    def _looked(self, home: Home) -> None:
        self.facts.vertices = len(home.learner)

    def _changed(self, forgotten: str | None) -> None:
        """Of the faces on the screens, ask again; of somebody forgotten, show no name either."""
        self.recognizer.corrected(forgotten)
        if forgotten is not None:
            self.views.clear()

    def _tidy(self, home: Home) -> None:
        home.expire()
        if self.people.visitors is not None:
            self.people.visitors.expire(home.trusted_clock())

    @property
    def health(self) -> Health:
        """How the home is."""
        health, visitors = self.home_thread.health, self.people.visitors
        more = tuple(visitors.problems) if visitors is not None else ()
        more += (*self._troubles(), *self.cameras.problems)
        return replace(health, problems=(*health.problems, *more))

    def submit(self, act: Callable[[Home], _Result]) -> "Future[_Result]":
        """Work on the home in its thread; Busy if too much waits already."""
        return self.home_thread.submit(act)

    # ---- frames

    def show(self, frame: Frame) -> list[Sighting]:
        """Look at a frame, and tell everybody what was seen; waits for it."""
        return list(self.look(frame).sightings)

    def look(self, frame: Frame) -> FrameResult:
        """The same, with all that is known of each face."""
        recognizer, begun = self.recognizer, time.perf_counter()
        result = self.home_thread.submit(
            lambda home: recognizer.see(frame), patience=PATIENCE
        ).result()
        self.frame_stats.add(result, time.perf_counter() - begun)
        view = FrameView(frame, result)
        self.views.put(view)
        self.broadcast.publish(live(frame.camera), view)
        self.broadcast.publish(RESULTS, result)
        return result

    def latest(self, camera: str) -> FrameView | None:
        """The newest frame of a camera with what was seen in it; None before the first."""
        view = self.views.newest(camera)
        if view is None and camera not in self.names:
            raise NotFound(f"there is no camera called {camera[:64]!r}")
        return view

    @property
    def names(self) -> list[str]:
        """All cameras, those in browsers too."""
        with self._lock:
            guests = sorted(self._guests)
        return [state.name for state in self.cameras.states] + guests

    @property
    def camera_states(self) -> list[CameraState]:
        """How each camera is; one in a browser is watched as long as it sends."""
        counts = self.frame_stats.counts
        with self._lock:
            guests = sorted(self._guests)
        return self.cameras.states + [
            CameraState(name, "a browser", "watching", None, counts[name, "frames"], 0, 0)
            for name in guests
        ]

    @contextmanager
    def guest(self, name: str) -> Iterator[None]:
        """A camera in somebody's browser, for the time of the block."""
        as_camera_name(name)
        taken = name in self.names
        with self._lock:
            if taken or name in self._guests or len(self._guests) >= 16:
                raise CameraTaken(f"there is a camera called {name!r} already, or too many")
            self._guests.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._guests.discard(name)
            self.camera_removed(name)

    def remove_camera(self, name: str) -> None:
        """Stop watching a camera."""
        try:
            self.cameras.remove(name)
        except NotKept:
            self.camera_removed(name)
            raise
        self.camera_removed(name)

    def camera_removed(self, camera: str) -> None:
        """A camera is gone, and so are its picture, its numbers and its tracks."""
        recognizer = self.recognizer
        with suppress(Busy, Stopped):
            self.home_thread.submit(
                lambda home: recognizer.camera_removed(camera), patience=PATIENCE
            )
        self.views.camera_removed(camera)
        self.frame_stats.camera_removed(camera)
        self.broadcast.end(live(camera))
