"""The cameras of a station by name, and which of them are there again after a restart."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

from onlooker.core.errors import NotFound, OnlookerError
from onlooker.video.addresses import addresses_of
from onlooker.vision.types import Frame
from onlooker.web.camera_file import CameraFile, NotKept
from onlooker.web.permitted import as_camera_name, permitted
from onlooker.web.watching import Camera, CameraState

MOST = 32
"""Cameras at one time."""


class CameraTaken(OnlookerError):
    """There is a camera of this name already, or there are too many."""


class Cameras:
    """All of them by name. Those that were added from outside are in the file, if there is one."""

    def __init__(
        self,
        show: Callable[[Frame], object],
        folders: Sequence[Path] = (),
        file: CameraFile | None = None,
    ) -> None:
        self._show, self._folders, self._file = show, folders, file
        self._cameras: dict[str, Camera] = {}
        self._lock, self._filing = Lock(), Lock()
        self._missing: dict[str, str] = {}

    @property
    def problems(self) -> list[str]:
        """Why cameras of before are not watched."""
        damaged = [self._file.problem] if self._file and self._file.problem else []
        return [*damaged, *self._missing.values()]

    @property
    def states(self) -> list[CameraState]:
        """How each of them is."""
        with self._lock:
            cameras = list(self._cameras.values())
        return [camera.state for camera in cameras]

    def add(self, source: str, name: str | None = None) -> CameraState:
        """A source that somebody asks for from outside: only what is permitted.

        It is watched after the next start, too, until it is removed; what cannot be written down
        is not watched.
        """
        source = permitted(source, self._folders)
        with self._filing:
            state = self.watch(source if name is None else f"{as_camera_name(name)}={source}")
            try:
                if self._file is not None:
                    self._file.add(state.name, source)
            except NotKept:
                self._close(state.name)
                raise
            self._missing.pop(state.name, None)
        return state

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

    def resume(self) -> list[str]:
        """Watch the cameras that were added before: what is said of those that give way.

        The owner's own come first. What is not permitted or not there any more is a problem, and
        stays in the file: a folder may be named, a disk plugged in, by the next start.
        """
        given_way = []
        with self._lock:
            own = {_place(camera.target): name for name, camera in self._cameras.items()}
        for name, source in (self._file.sources if self._file else {}).items():
            if name in own.values() or source in own:
                if own.get(source) != name:
                    given_way.append(
                        f"the camera {name!r} that was added before gives way to "
                        f"{own.get(source, name)!r} of the command line"
                    )
                continue
            try:
                self.watch(f"{as_camera_name(name)}={permitted(source, self._folders)}")
            except OnlookerError as error:
                self._missing[name] = f"the camera {name!r} of before is not watched: {error}"
        return given_way

    def remove(self, name: str) -> None:
        """Stop watching, now and after the next start."""
        with self._filing:
            kept = self._file is not None and name in self._file.sources
            if not self._close(name) and not kept:
                raise NotFound(f"there is no camera called {name!r}")
            try:
                if self._file is not None:
                    self._file.remove(name)
            except NotKept as error:
                raise NotKept(f"{name!r} will be back after the next start: {error}") from error
            self._missing.pop(name, None)

    def close(self) -> None:
        """Stop watching all of them."""
        with self._lock:
            cameras, self._cameras = list(self._cameras.values()), {}
        for camera in cameras:
            camera.close()

    def _close(self, name: str) -> bool:
        with self._lock:
            camera = self._cameras.pop(name, None)
        if camera is not None:
            camera.close()
        return camera is not None


def _place(target: str) -> str:
    """A recording by its whole path, as those that are added are kept; an address as it is."""
    return os.path.realpath(target) if os.path.exists(target) else target
