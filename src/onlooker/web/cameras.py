"""The cameras of the service: one thread each, the list of them, and the stored ones.

The address of a camera may contain a password, in clear text, because the camera needs it: it is in
the home's database, and no message repeats it. What the REST interface may add is restricted
(`permitted`): whoever can use the page must not be able to read arbitrary files.
"""

import logging
import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Self

from onlooker.core.errors import BadValue, NotFound, OnlookerError
from onlooker.home.database import HomeError
from onlooker.home.home import Home
from onlooker.video.addresses import Address, Kind, addresses_of
from onlooker.video.decoding import CameraState, ConditionTracker
from onlooker.video.sources import CameraCondition, FrameCounts, FrameStream, frames_from
from onlooker.vision.types import Frame

MAX_CAMERAS = 32
MAX_FAILURES = 100
"""Consecutive frames that may fail before a camera is given up."""
JOIN_TIMEOUT = 15.0
"""Seconds to wait for the current frame of a camera that is removed; the home may be busy."""

_NAME = re.compile(r"\w[\w. -]{0,63}")
_PROTOCOLS = ("rtsp://", "rtsps://", "http://", "https://")

log = logging.getLogger(__name__)


class CameraTaken(OnlookerError):
    """There is a camera of this name already, or there are too many."""


class CameraNotSaved(OnlookerError):
    """The stored cameras could not be changed."""


class Stopped(OnlookerError):
    """The service is closing, or has closed: it takes no more frames."""


@dataclass(frozen=True, slots=True)
class CameraStatus:
    """The state of a camera and its counts of frames."""

    name: str
    address: str
    """Without passwords."""
    state: CameraState
    """connecting: no frame yet; live: frames arrive; ended: a recording is over; failing."""
    since: float
    """When it came into this state, in seconds since 1970."""
    problem: str | None
    """Of one that is failing, the last error."""
    last_frame: float | None
    """When the newest frame arrived; null: none ever did."""
    fps: float
    """Frames recognized per second."""
    frames: int
    """Frames that were recognized."""
    dropped: int
    """Frames that were skipped to keep up, or failed."""
    reconnects: int

    @classmethod
    def of(
        cls, name: str, address: str, now: CameraCondition, counts: FrameCounts, failed: int = 0
    ) -> Self:
        """A camera in this condition; failed: how many of its frames could not be recognized."""
        return cls(
            name,
            address,
            now.state,
            now.since,
            now.problem or None,
            now.last_frame,
            now.fps,
            counts.frames - failed,
            counts.dropped + failed,
            counts.reconnects,
        )


class CameraThread:
    """One camera and the thread that reads it; recognize is called there with every frame."""

    def __init__(self, address: Address, recognize: Callable[[Frame], object]) -> None:
        self.name, self.target = address.camera, address.target
        self._address, self._recognize = address, recognize
        self._stack, self._lock = ExitStack(), Lock()
        self._stream: FrameStream | None = None
        self._own = ConditionTracker()
        """Before the stream is open, and after the thread has ended."""
        self._over = False
        self._closed = False
        self._failed = 0
        self._thread = Thread(target=self._run, name=f"onlooker camera {self.name}", daemon=True)
        self._thread.start()

    @property
    def status(self) -> CameraStatus:
        """Its state and counts now."""
        stream, now = self._stream, self._own.now()
        counts = stream.counts[self.name] if stream else FrameCounts()
        if stream is not None:
            read = stream.conditions[self.name]
            now = replace(now, last_frame=read.last_frame) if self._over else read
        return CameraStatus.of(self.name, self._address.shown, now, counts, self._failed)

    def close(self) -> None:
        """Close the camera and wait for its current frame: no other comes after it."""
        self._release()
        self._thread.join(JOIN_TIMEOUT)

    def _release(self) -> None:
        with self._lock:
            self._closed = True
            self._stack.close()

    def _run(self) -> None:
        try:
            self._watch()
            self._own.ended()
        except OnlookerError as error:
            self._own.failed(str(error))
        except Exception as error:
            # The message of a foreign error may contain the address, and that a password.
            self._own.failed(f"given up after {type(error).__name__}")
        finally:
            self._over = True
            self._release()

    def _watch(self) -> None:
        live = self._address.kind in (Kind.CAMERA, Kind.STREAM)
        source = f"{self.name}={self._address.target}"
        with self._lock:
            if self._closed:
                return
            opening = frames_from(source, live=True, retry_first=live, queue_size=2)
            self._stream = self._stack.enter_context(opening)
        failures = 0
        for frame in self._stream:
            try:
                self._recognize(frame)
                failures = 0
            except Stopped:
                return
            except Exception as error:  # one bad frame must not end what runs for months
                failures += 1
                self._failed += 1
                log.warning(
                    "frame %s failed and is skipped: %r",
                    frame.index,
                    error,
                    extra={"camera": self.name},
                )
                if failures >= MAX_FAILURES:
                    raise


class StoredCameras:
    """The cameras in the home's database; every change is on the disk when it returns.

    call_home runs a function in the thread that owns the home, and returns its result.
    """

    def __init__(self, call_home: Callable[[Callable[[Home], Any]], Any]) -> None:
        self._call_home = call_home
        self.sources: dict[str, str] = call_home(lambda home: home.cameras.sources())
        """By name."""
        damaged = call_home(lambda home: home.cameras.damaged())
        problem = f"{damaged} stored cameras are damaged and not watched: add them again"
        self.problem = problem if damaged else None

    def add(self, name: str, source: str) -> None:
        """Store a camera."""
        self._change(lambda home: home.cameras.add(name, source))
        self.sources = {**self.sources, name: source}

    def remove(self, name: str) -> None:
        """Delete a camera, if it is stored."""
        if name in self.sources:
            self._change(lambda home: home.cameras.remove(name))
            self.sources = {one: at for one, at in self.sources.items() if one != name}

    def _change(self, act: Callable[[Home], object]) -> None:
        try:
            self._call_home(act)
        except HomeError as error:
            raise CameraNotSaved(f"cannot write to the home: {error}") from error


class Cameras:
    """The list of cameras by name; those added over the REST interface are stored."""

    def __init__(
        self,
        recognize: Callable[[Frame], object],
        folders: Sequence[Path] = (),
        stored: StoredCameras | None = None,
    ) -> None:
        self._recognize, self._folders, self._stored = recognize, folders, stored
        self._threads: dict[str, CameraThread] = {}
        self._threads_lock, self._store_lock = Lock(), Lock()
        self._not_resumed: dict[str, CameraCondition] = {}

    @property
    def problems(self) -> list[str]:
        """Why cameras that were added earlier are not known any more."""
        return [self._stored.problem] if self._stored and self._stored.problem else []

    @property
    def statuses(self) -> list[CameraStatus]:
        """The status of each camera, also of a stored one that cannot be watched."""
        with self._threads_lock:
            threads = list(self._threads.values())
        left_out = [
            CameraStatus.of(name, "not watched", now, FrameCounts())
            for name, now in list(self._not_resumed.items())
        ]
        return [thread.status for thread in threads] + left_out

    def add(self, source: str, name: str | None = None) -> CameraStatus:
        """Watch a source that was sent over the REST interface, if it is permitted.

        It is watched again after a restart, until it is removed; one that cannot be saved is not
        watched.
        """
        source = permitted(source, self._folders)
        with self._store_lock:
            status = self.watch(source if name is None else f"{as_camera_name(name)}={source}")
            try:
                if self._stored is not None:
                    self._stored.add(status.name, source)
            except BaseException:
                self._close(status.name)
                raise
            self._not_resumed.pop(status.name, None)
        return status

    def watch(self, source: str) -> CameraStatus:
        """Watch a source that was given on the command line: any is permitted, none is saved."""
        (address,) = addresses_of([source])
        as_camera_name(address.camera)
        with self._threads_lock:
            if address.camera in self._threads:
                raise CameraTaken(f"there is a camera called {address.camera!r} already")
            if len(self._threads) >= MAX_CAMERAS:
                raise CameraTaken(f"there are {MAX_CAMERAS} cameras already; remove one first")
            thread = self._threads[address.camera] = CameraThread(address, self._recognize)
        return thread.status

    def resume(self) -> list[str]:
        """Watch the saved cameras again; returns a message for each that is left out.

        Cameras of the command line take precedence. A source that is not permitted or missing now
        is failing and stays stored: by the next start its folder may be
        permitted, or its disk plugged in.
        """
        messages = []
        with self._threads_lock:
            running = {_source_key(thread.target): name for name, thread in self._threads.items()}
        for name, source in (self._stored.sources if self._stored else {}).items():
            if name in running.values() or source in running:
                if running.get(source) != name:
                    messages.append(
                        f"the camera {name!r} that was added before gives way to "
                        f"{running.get(source, name)!r} of the command line"
                    )
                continue
            try:
                self.watch(f"{as_camera_name(name)}={permitted(source, self._folders)}")
            except OnlookerError as error:
                tracker = ConditionTracker()
                tracker.failed(f"it was added before and is not watched now: {error}")
                self._not_resumed[name] = tracker.now()
        return messages

    def remove(self, name: str) -> None:
        """Stop watching a camera, now and after a restart."""
        with self._store_lock:
            saved = self._stored is not None and name in self._stored.sources
            if not self._close(name) and not saved:
                raise NotFound(f"there is no camera called {name!r}")
            try:
                if self._stored is not None:
                    self._stored.remove(name)
            except CameraNotSaved as error:
                raise CameraNotSaved(
                    f"{name!r} will be back after the next start: {error}"
                ) from error
            self._not_resumed.pop(name, None)

    def close(self) -> None:
        """Stop watching all cameras."""
        with self._threads_lock:
            threads, self._threads = list(self._threads.values()), {}
        for thread in threads:
            thread.close()

    def _close(self, name: str) -> bool:
        with self._threads_lock:
            thread = self._threads.pop(name, None)
        if thread is not None:
            thread.close()
        return thread is not None


def as_camera_name(name: str) -> str:
    """The name, if it can be part of a URL; BadValue otherwise.

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
    """The source, if it is a camera or lies in one of the folders; BadValue otherwise.

    >>> permitted("rtsp://10.0.0.5/1", [])
    'rtsp://10.0.0.5/1'
    """
    if re.fullmatch(r"[0-9]{1,3}|simulated:(V1|V2|VO|VN)", source) or source.lower().startswith(
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
            "simulated:V1 (or V2, VO, VN), or lies in a folder that `onlooker serve "
            "--folder` names"
        )
    return str(path)


def _source_key(target: str) -> str:
    """The absolute path of a recording, as it is saved; an address unchanged."""
    return os.path.realpath(target) if os.path.exists(target) else target
