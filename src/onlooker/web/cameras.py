"""The cameras of a station: each read in its own thread; one that fails says why."""

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import Literal

from onlooker.errors import NotFound, OnlookerError
from onlooker.faces.addresses import Address, Kind, addresses_of
from onlooker.faces.records import Frame
from onlooker.faces.sources import Counts, Stream, frames_from
from onlooker.web.permitted import as_camera_name, permitted
from onlooker.web.worker import Stopped

MOST = 32
"""Cameras at one time."""
PATIENCE = 100
"""Frames in a row that may fail before a camera is given up."""
State = Literal["starting", "watching", "lost", "ended", "failed"]

log = logging.getLogger(__name__)


class CameraTaken(OnlookerError):
    """There is a camera of this name already, or there are too many."""


@dataclass(frozen=True, slots=True)
class CameraState:
    """How a camera is."""

    name: str
    address: str
    """Without what may be a secret."""
    state: State
    problem: str | None
    """Why nothing arrives."""
    frames: int
    """Looked at."""
    dropped: int
    """Not looked at, to keep up."""
    reconnects: int


class Camera:
    """One camera and the thread that reads it; show is called there with every frame."""

    def __init__(self, address: Address, show: Callable[[Frame], object]) -> None:
        self.name, self._address, self._show = address.camera, address, show
        self._stack, self._lock = ExitStack(), Lock()
        self._stream: Stream | None = None
        self._state: State = "starting"
        self._problem: str | None = None
        self._closed = False
        self._skipped = 0
        self._thread = Thread(target=self._run, name=f"onlooker watches {self.name}", daemon=True)
        self._thread.start()

    @property
    def state(self) -> CameraState:
        """How it is."""
        stream = self._stream
        counts = stream.counts[self.name] if stream else Counts()
        state, problem = self._state, self._problem or counts.problem or None
        if counts.problem and state == "watching":
            state = "lost"
        seen = self.name, self._address.shown, state, problem
        dropped = counts.dropped + self._skipped
        return CameraState(*seen, counts.frames - self._skipped, dropped, counts.reconnects)

    def close(self) -> None:
        """Let go of the camera: its thread ends within seconds."""
        self._release()
        self._thread.join(3.0)

    def _release(self) -> None:
        with self._lock:
            self._closed = True
            self._stack.close()

    def _run(self) -> None:
        try:
            self._watch()
            self._state = "ended"
        except OnlookerError as error:
            self._state, self._problem = "failed", str(error)
        except Exception as error:
            # In what others say of an error the address may stand, and in it a password.
            self._state, self._problem = "failed", f"given up after {type(error).__name__}"
        finally:
            self._release()

    def _watch(self) -> None:
        live = self._address.kind in (Kind.CAMERA, Kind.STREAM)
        source = f"{self.name}={self._address.target}"
        with self._lock:
            if self._closed:
                return
            opening = frames_from(source, live=True, retry_first=live, queue_size=2)
            self._stream = self._stack.enter_context(opening)
        self._state = "watching"
        failures = 0
        for frame in self._stream:
            try:
                self._show(frame)
                failures = 0
            except Stopped:
                return
            except Exception as error:  # one odd frame must not end what runs for months
                failures += 1
                self._skipped += 1
                log.warning("%s: frame %s is left out: %r", self.name, frame.index, error)
                if failures >= PATIENCE:
                    raise


class Cameras:
    """All of them by name."""

    def __init__(self, show: Callable[[Frame], object], folders: Sequence[Path] = ()) -> None:
        self._show, self._folders = show, folders
        self._cameras: dict[str, Camera] = {}
        self._lock = Lock()

    @property
    def states(self) -> list[CameraState]:
        """How each of them is."""
        with self._lock:
            cameras = list(self._cameras.values())
        return [camera.state for camera in cameras]

    def add(self, source: str, name: str | None = None) -> CameraState:
        """A source that somebody asks for from outside: only what is permitted."""
        source = permitted(source, self._folders)
        if name is None:
            return self.watch(source)
        return self.watch(f"{as_camera_name(name)}={source}")

    def watch(self, source: str) -> CameraState:
        """A source that the owner of this computer names."""
        (address,) = addresses_of([source])
        as_camera_name(address.camera)
        with self._lock:
            if address.camera in self._cameras:
                raise CameraTaken(f"there is a camera called {address.camera!r} already")
            if len(self._cameras) >= MOST:
                raise CameraTaken(f"there are {MOST} cameras already; remove one first")
            camera = self._cameras[address.camera] = Camera(address, self._show)
        return camera.state

    def remove(self, name: str) -> None:
        """Stop watching."""
        with self._lock:
            camera = self._cameras.pop(name, None)
        if camera is None:
            raise NotFound(f"there is no camera called {name!r}")
        camera.close()

    def close(self) -> None:
        """Stop watching all of them."""
        with self._lock:
            cameras, self._cameras = list(self._cameras.values()), {}
        for camera in cameras:
            camera.close()
