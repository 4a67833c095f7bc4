"""The cameras of a service by name, and which of them are there again after a restart.

One camera and the thread that reads it; one that fails says why.

What somebody from outside may call a camera, and may have watched.

The cameras that were added while the service ran, for its next start.

    cameras.json                   {"version": 1, "sha256": "...", "cameras": [...]}
    cameras.json.damaged-N         one that could not be read, for a person to look at

An address may hold a password, which the camera wants as it is: the file is for its owner only,
and nothing that is said about it repeats what is in it. It belongs to whoever has the home open.
"""

import hashlib
import json
import logging
import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Literal

from onlooker.core.errors import BadValue, NotFound, OnlookerError
from onlooker.core.files import OWNER_ONLY, replace_file
from onlooker.video.addresses import Address, Kind, addresses_of
from onlooker.video.sources import FrameCounts, FrameStream, frames_from
from onlooker.vision.types import Frame
from onlooker.web.home_thread import Stopped

FILE = "cameras.json"
VERSION = 1
LARGEST = 1 << 20
"""Bytes of a file that is read at all."""


class NotKept(OnlookerError):
    """A camera that could not be written down, or not be crossed out."""


class CameraFile:
    """Sources by the name of their camera; every change is on the disk when it returns.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     CameraFile(Path(folder)).add("door", "rtsp://10.0.0.5/1")
    ...     CameraFile(Path(folder)).sources
    {'door': 'rtsp://10.0.0.5/1'}
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self.problem: str | None = None
        """Why the cameras of before are not known any more."""
        self.sources: dict[str, str] = {}
        try:
            if self._path.exists():
                self.sources = _read(self._path)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            self._put_aside()

    def add(self, name: str, source: str) -> None:
        """Remember a camera."""
        self._change({**self.sources, name: source})

    def remove(self, name: str) -> None:
        """Forget one; one that is not there is forgotten already."""
        if name in self.sources:
            self._change({one: source for one, source in self.sources.items() if one != name})

    def _change(self, sources: dict[str, str]) -> None:
        try:
            _write(self._path, sources)
        except OSError as error:
            raise NotKept(f"cannot write {self._path.name}: {error.strerror}") from error
        self.sources = sources

    def _put_aside(self) -> None:
        """A person may still read in it what the cameras were."""
        number = 1 + len(list(self._path.parent.glob(f"{FILE}.damaged-*")))
        aside = self._path.with_name(f"{FILE}.damaged-{number}")
        with suppress(OSError):  # then the next change replaces it
            self._path.replace(aside)
        self.problem = (
            f"{FILE} could not be read, and the cameras in it are not watched: add them again; "
            f"what is left of it is in {aside.name}"
        )


def _read(path: Path) -> dict[str, str]:
    """What is not exactly what we write is a ValueError, KeyError or TypeError."""
    if path.stat().st_size > LARGEST:
        raise ValueError("too large")
    kept = json.loads(path.read_text(encoding="ascii"))
    cameras = kept["cameras"]
    if kept["version"] != VERSION or kept["sha256"] != _digest(cameras):
        raise ValueError("of another version, or not what was written")
    return {str(one["name"]): str(one["source"]) for one in cameras}


def _write(path: Path, sources: dict[str, str]) -> None:
    cameras = [{"name": name, "source": source} for name, source in sources.items()]
    kept = {"version": VERSION, "sha256": _digest(cameras), "cameras": cameras}
    replace_file(path, json.dumps(kept, indent=1).encode("ascii"), mode=OWNER_ONLY)


def _digest(cameras: Any) -> str:
    plain = json.dumps(cameras, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode("ascii")).hexdigest()


_NAME = re.compile(r"\w[\w. -]{0,63}")
_PROTOCOLS = ("rtsp://", "rtsps://", "http://", "https://")


def as_camera_name(name: str) -> str:
    """A name that can stand in an address.

    >>> as_camera_name("../door")
    Traceback (most recent call last):
    ...
    onlooker.core.errors.BadValue: a camera's name has letters, digits, spaces and . _ - (64...
    """
    if not _NAME.fullmatch(name):
        raise BadValue(
            "a camera's name has letters, digits, spaces and . _ - (64 at most) and begins with "
            f"a letter or digit, got {name[:80]!r}"
        )
    return name


def permitted(source: str, folders: Sequence[Path]) -> str:
    """The source, if it is a camera or lies in one of the folders.

    >>> permitted("rtsp://10.0.0.5/1", [])
    'rtsp://10.0.0.5/1'
    """
    if re.fullmatch(r"[0-9]{1,3}|simulated:(V1|V2|VO)", source) or source.lower().startswith(
        _PROTOCOLS
    ):
        return source
    try:
        path = Path(source).resolve()
        inside = any(path.is_relative_to(folder.resolve()) for folder in folders)
    except (OSError, ValueError, RuntimeError):
        inside = False
    if not inside or any(sign in source for sign in "*?[") or "://" in source:
        raise BadValue(
            "a source is the number of a camera, an rtsp, rtsps, http or https address, "
            "simulated:V1, simulated:V2 or simulated:VO, or lies in a folder that `onlooker serve "
            "--folder` names"
        )
    return str(path)


PATIENCE = 100
"""Frames in a row that may fail before a camera is given up."""
LAST_FRAME = 15.0
"""Seconds a camera that is removed may take for the frame it is at; a busy home makes it wait."""
State = Literal["starting", "watching", "lost", "ended", "failed"]

log = logging.getLogger(__name__)


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
        self.name, self.target = address.camera, address.target
        self._address, self._show = address, show
        self._stack, self._lock = ExitStack(), Lock()
        self._stream: FrameStream | None = None
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
        counts = stream.counts[self.name] if stream else FrameCounts()
        state, problem = self._state, self._problem or counts.problem or None
        if counts.problem and state == "watching":
            state = "lost"
        seen = self.name, self._address.shown, state, problem
        dropped = counts.dropped + self._skipped
        return CameraState(*seen, counts.frames - self._skipped, dropped, counts.reconnects)

    def close(self) -> None:
        """Let go of the camera, and wait for the frame it is at: no other comes after it."""
        self._release()
        self._thread.join(LAST_FRAME)

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
