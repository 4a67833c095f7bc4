"""The newest frame of each camera with what was seen in it, and its pictures when asked for."""

from threading import Lock

import cv2

from onlooker.recognition.drawing import annotated
from onlooker.vision.types import Frame, Pixels
from onlooker.web.frames import FrameResult


class FrameView:
    """One frame and what was seen in it. A picture nobody looks at is never made."""

    def __init__(self, frame: Frame, result: FrameResult) -> None:
        self.result, self._frame = result, frame
        self._plain: bytes | None = None
        self._drawn: bytes | None = None
        self._lock = Lock()

    def plain(self) -> bytes:
        """Exactly this frame, as JPEG."""
        with self._lock:
            if self._plain is None:
                self._plain = as_jpeg(self._frame.pixels)
            return self._plain

    def drawn(self) -> bytes:
        """The same with boxes and names."""
        with self._lock:
            if self._drawn is None:
                self._drawn = as_jpeg(annotated(self._frame, list(self.result.sightings)))
            return self._drawn


class LatestViews:
    """The newest of each camera; may be asked from any thread."""

    def __init__(self) -> None:
        self._newest: dict[str, FrameView] = {}
        self._lock = Lock()

    def put(self, view: FrameView) -> None:
        """The one before is gone."""
        with self._lock:
            self._newest[view.result.camera] = view

    def newest(self, camera: str) -> FrameView | None:
        """None before the first."""
        with self._lock:
            return self._newest.get(camera)

    def camera_removed(self, camera: str) -> None:
        """The camera is gone."""
        with self._lock:
            self._newest.pop(camera, None)

    def clear(self) -> None:
        """Show nothing until the next frames: somebody was forgotten."""
        with self._lock:
            self._newest.clear()


def as_jpeg(pixels: Pixels) -> bytes:
    """A picture for a page."""
    return cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, 80])[1].tobytes()
