"""One camera and the thread that reads it; one that fails says why."""

import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Literal

from onlooker.core.errors import OnlookerError
from onlooker.video.addresses import Address, Kind
from onlooker.video.sources import Counts, Stream, frames_from
from onlooker.vision.types import Frame
from onlooker.web.worker import Stopped

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
