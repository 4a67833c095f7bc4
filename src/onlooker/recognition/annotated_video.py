"""Annotated video files: every frame with a box and a name on each face."""

import math
import re
from collections.abc import Sequence
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Self, cast

import av
import cv2
import numpy as np
from av.codec.codec import UnknownCodecError
from av.container import OutputContainer
from av.video.stream import VideoStream

from onlooker.core.errors import BadValue
from onlooker.recognition.drawing import annotated
from onlooker.vision.types import Frame, Pixels, Sighting

ENCODERS = {
    "libx264": {"preset": "veryfast", "crf": "21"},
    "libopenh264": {},
    "mpeg4": {"qmin": "2", "qmax": "6"},
}
"""In order of preference, with the settings of each."""
TICK = Fraction(1, 1000)
"""Seconds between two ticks of the clock in the file; MPEG-4 allows none that is much finer."""
SMALLEST = 16
"""Pixels a side; encoders refuse less."""


class AnnotatedVideo:
    """A sink that writes a video; replaces the file, and closes it whatever happens.

    Frames are shown at their own times, so that a camera of any rate plays at its real speed;
    where times do not advance, a frame lasts 1 / rate seconds. The first frame decides the size,
    others are fitted into it. Each camera gets a file: the first one `path` itself, the others
    the camera's name after it (`seen.mp4`, `seen-garden.mp4`).
    """

    def __init__(self, path: str | Path, *, rate: float = 25) -> None:
        if not (math.isfinite(rate) and 0 < rate <= 1000):
            raise BadValue(f"rate is frames per second, above 0 and at most 1000; got {rate!r}")
        self.path, self.rate = Path(path), rate
        self._stack: ExitStack | None = None
        self._spare: _Recording | None = None
        self._recordings: dict[str, _Recording] = {}

    @property
    def paths(self) -> dict[str, Path]:
        """The file of each camera seen so far."""
        return {camera: recording.path for camera, recording in self._recordings.items()}

    def __enter__(self) -> Self:
        self._stack, self._recordings = ExitStack(), {}
        self._spare = self._open(self.path)  # what cannot be written fails before the first frame
        return self

    def __exit__(self, *error: object) -> None:
        stack, self._stack = self._stack, None
        if stack is not None:
            stack.close()

    def __call__(self, frame: Frame, sightings: Sequence[Sighting]) -> None:
        """Append one frame to its camera's file."""
        if self._stack is None or frame.camera not in self._recordings:
            recording, self._spare = self._spare or self._open(self._path(frame.camera)), None
            self._recordings[frame.camera] = recording
        self._recordings[frame.camera].append(annotated(frame, sightings), frame.time)

    def _open(self, path: Path) -> "_Recording":
        if self._stack is None:
            raise BadValue(f"{self.path} is not open; write to it inside a with block")
        recording = _Recording(path, self.rate)
        self._stack.callback(recording.close)
        return recording

    def _path(self, camera: str) -> Path:
        """Beside the first; a camera's name may hold anything, a file's may not."""
        word = re.sub(r"[^\w.-]+", "_", camera)[:80] or "camera"
        path, number = self.path.with_stem(f"{self.path.stem}-{word}"), 2
        while path in self.paths.values():
            path = self.path.with_stem(f"{self.path.stem}-{word}-{number}")
            number += 1
        return path


class _Recording:
    """One file with one picture stream."""

    def __init__(self, path: Path, rate: float) -> None:
        self.path = path
        self._frame_ticks = max(1, round(1000 / rate))
        self._rate = Fraction(rate).limit_denominator(1001)
        self._stream: VideoStream | None = None
        self._size = (0, 0)
        self._start = 0.0
        self._tick = -1
        try:
            self._container: OutputContainer = av.open(str(path), "w")
        except ValueError as error:
            raise BadValue(f"cannot write {path}: no video format; try seen.mp4") from error
        try:
            self._encoder = _encoder(self._container, path)
            path.open("ab").close()  # PyAV itself waits for the first frame
        except OSError as error:
            self._container.close()
            raise BadValue(f"cannot write {path}: {error.strerror}") from error
        except BaseException:
            self._container.close()
            raise

    def append(self, pixels: Pixels, time: float) -> None:
        """Encode one picture."""
        if self._stream is None:
            self._size, self._start = pixels.shape[1::-1], time
            self._stream = self._begin()
        picture = av.VideoFrame.from_ndarray(_padded(_fitted(pixels, self._size)), format="bgr24")
        picture.pts, picture.time_base = self._next_tick(time), TICK
        self._container.mux(self._stream.encode(picture))

    def close(self) -> None:
        """Finish the file. Without a frame there is none; an older one stays as it was."""
        try:
            if self._stream is not None:
                self._container.mux(self._stream.encode(None))
        finally:
            self._container.close()
            if self._stream is None and not self.path.stat().st_size:
                self.path.unlink()

    def _begin(self) -> VideoStream:
        options = ENCODERS[self._encoder]
        stream = self._container.add_stream(self._encoder, rate=self._rate, options=options)
        stream = cast(VideoStream, stream)
        stream.width, stream.height = (_even(side) for side in self._size)
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = TICK
        return stream

    def _next_tick(self, time: float) -> int:
        passed = time - self._start
        tick = round(passed * 1000) if math.isfinite(passed) else self._tick
        self._tick = tick if tick > self._tick else self._tick + self._frame_ticks
        return self._tick


def _encoder(container: OutputContainer, path: Path) -> str:
    """The first encoder that is built in and that the container takes."""
    for name in ENCODERS:
        try:
            codec = av.Codec(name, "w")
        except UnknownCodecError:
            continue
        if codec.canonical_name in container.supported_codecs:
            return name
    raise BadValue(f"{path} can hold neither H.264 nor MPEG-4 video; try seen.mp4")


def _fitted(pixels: Pixels, size: tuple[int, ...]) -> Pixels:
    """The whole picture in another size, black where the shapes differ."""
    width, height = size
    if pixels.shape[:2] == (height, width):
        return pixels
    share = min(width / pixels.shape[1], height / pixels.shape[0])
    wide, high = (max(1, round(share * side)) for side in pixels.shape[1::-1])
    left, top = (width - wide) // 2, (height - high) // 2
    fitted = np.zeros((height, width, 3), np.uint8)
    fitted[top : top + high, left : left + wide] = cv2.resize(
        pixels, (wide, high), interpolation=cv2.INTER_AREA if share < 1 else cv2.INTER_LINEAR
    )
    return fitted


def _padded(pixels: Pixels) -> Pixels:
    """The last row and column are repeated where an encoder wants more."""
    height, width = pixels.shape[:2]
    if (_even(height), _even(width)) == (height, width):
        return pixels
    more = ((0, _even(height) - height), (0, _even(width) - width), (0, 0))
    return np.pad(pixels, more, mode="edge")


def _even(side: int) -> int:
    """Colour is stored for two by two pixels."""
    return max(SMALLEST, side + side % 2)
