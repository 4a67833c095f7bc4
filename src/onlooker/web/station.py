"""The running thing: a home in its thread, cameras in theirs, and news for whoever listens."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self, TypeVar

import cv2

from onlooker.errors import NotFound
from onlooker.faces.draw import annotated
from onlooker.faces.home import Home
from onlooker.faces.keeping import Health
from onlooker.faces.records import Frame, Pixels, Sighting
from onlooker.faces.visitors import Visitors
from onlooker.web.cameras import Cameras, CameraState, CameraTaken
from onlooker.web.hub import Hub
from onlooker.web.people import People
from onlooker.web.permitted import as_camera_name
from onlooker.web.sight import Sight
from onlooker.web.worker import WAITING, Worker

PATIENCE = 5.0
"""Seconds a camera waits for its turn before it gives a frame up."""
RESULTS, EVENTS = "results", "events"

_Result = TypeVar("_Result")


def live(camera: str) -> str:
    """The topic of a camera's pictures."""
    return f"live {camera}"


class Station:
    """Everything that runs; close it, or leave the block, and the home has its snapshot.

    open_home and open_visitors are called in the thread that owns both from then on.
    """

    def __init__(
        self,
        open_home: Callable[[], Home],
        open_visitors: Callable[[Home], Visitors],
        sight: Sight,
        *,
        folders: Sequence[Path] = (),
        waiting: int = WAITING,
    ) -> None:
        self.sight, self.people, self.hub = sight, People(), Hub()
        sight.noticed = self.people.noticed
        self.counts: Counter[tuple[str, str]] = Counter()
        """By camera and by what became of frames and faces."""
        self.seconds: defaultdict[str, float] = defaultdict(float)
        """By camera, the time that looking at frames took."""
        self._latest: dict[str, bytes] = {}
        self._guests: set[str] = set()
        self._lock = Lock()
        self.worker = Worker(
            lambda: self._opened(open_home, open_visitors),
            told=lambda sequence: self.hub.publish(EVENTS, sequence),
            tidy=self._tidy,
            waiting=waiting,
        )
        self.cameras = Cameras(self.show, folders)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Send listeners home, let go of the cameras, and close the home."""
        self.hub.close()
        self.cameras.close()
        self.worker.close()

    @contextmanager
    def _opened(
        self, open_home: Callable[[], Home], open_visitors: Callable[[Home], Visitors]
    ) -> Iterator[Home]:
        with open_home() as home, open_visitors(home) as visitors:
            self.sight.strangers = self.people.visitors = visitors
            yield home

    def _tidy(self, home: Home) -> None:
        home.tidy()
        if self.people.visitors is not None:
            self.people.visitors.tidy()

    @property
    def health(self) -> Health:
        """How the home is."""
        health, visitors = self.worker.health, self.people.visitors
        more = tuple(visitors.problems) if visitors is not None else ()
        return replace(health, problems=(*health.problems, *more))

    def ask(self, act: Callable[[Home], _Result]) -> "Future[_Result]":
        """Work on the home in its thread; Busy if too much waits already."""
        return self.worker.ask(act)

    # ---- frames

    def show(self, frame: Frame) -> list[Sighting]:
        """Look at a frame, and tell everybody what was seen; waits for it."""
        sight = self.sight
        begun = time.perf_counter()
        seen = self.worker.ask(lambda home: sight.see(home, frame), patience=PATIENCE).result()
        self._count(frame.camera, seen, time.perf_counter() - begun)
        jpeg = as_jpeg(annotated(frame, seen))
        with self._lock:
            self._latest[frame.camera] = jpeg
        self.hub.publish(live(frame.camera), jpeg)
        self.hub.publish(RESULTS, (frame.camera, frame.index, frame.time, seen))
        return seen

    def latest(self, camera: str) -> bytes | None:
        """The newest annotated picture of a camera, as JPEG; None before the first."""
        with self._lock:
            jpeg = self._latest.get(camera)
        if jpeg is None and camera not in self.names:
            raise NotFound(f"there is no camera called {camera!r}")
        return jpeg

    @property
    def names(self) -> list[str]:
        """All cameras, those in browsers too."""
        with self._lock:
            guests = sorted(self._guests)
        return [state.name for state in self.cameras.states] + guests

    @property
    def camera_states(self) -> list[CameraState]:
        """How each camera is; one in a browser is watched as long as it sends."""
        counts = self.counts
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
            self.left(name)

    def remove_camera(self, name: str) -> None:
        """Stop watching a camera."""
        self.cameras.remove(name)
        self.left(name)

    def left(self, camera: str) -> None:
        """A camera is gone, and so are its picture and its numbers."""
        with self._lock:
            self._latest.pop(camera, None)
            self.seconds.pop(camera, None)
            for counted in [key for key in self.counts if key[0] == camera]:
                del self.counts[counted]
        self.hub.end(live(camera))

    def _count(self, camera: str, seen: Sequence[Sighting], seconds: float) -> None:
        with self._lock:
            self.counts[camera, "frames"] += 1
            self.seconds[camera] += seconds
            for sighting in seen:
                named = "named" if sighting.name is not None else "unknown"
                self.counts[camera, "refused" if sighting.refusal else named] += 1


def as_jpeg(pixels: Pixels) -> bytes:
    """A picture for a page."""
    return cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, 80])[1].tobytes()
