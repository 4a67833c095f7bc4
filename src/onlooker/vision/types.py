"""The records that travel from a camera to an answer, and how a face is cut out of its frame."""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from onlooker.core.errors import BadVector
from onlooker.core.records import Prediction

Pixels = NDArray[np.uint8]
"""A picture as OpenCV has it: rows, columns, blue, green, red."""
Vector = NDArray[np.float32]
"""A face as the learner takes it."""

THUMBNAIL = 96
"""Largest side, in pixels, of the picture that is stored of a face."""
JPEG_QUALITY = 80
"""Of 100."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One picture of one camera.

    >>> Frame("door", 7, 0.28, np.zeros((480, 640, 3), np.uint8)).pixels.shape
    (480, 640, 3)
    """

    camera: str
    index: int
    """Counts from zero, and counts what was dropped or corrupt too."""
    time: float
    """Seconds since the source was opened (replay: the time written in the file)."""
    pixels: Pixels


@dataclass(frozen=True, slots=True)
class FaceBox:
    """A rectangle in pixels of the frame, origin at the top left, with score and landmarks.

    >>> FaceBox(10, 20, 30, 40).center
    (25.0, 40.0)
    """

    left: float
    top: float
    width: float
    height: float
    score: float = 1.0
    landmarks: tuple[tuple[float, float], ...] = ()
    """Right eye, left eye, nose, right and left corner of the mouth (as the person has them)."""

    @property
    def center(self) -> tuple[float, float]:
        """The middle of the rectangle."""
        return self.left + self.width / 2, self.top + self.height / 2

    @property
    def area(self) -> float:
        """In square pixels."""
        return self.width * self.height


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a face is too poor to be learned or named: the reason, its value, the threshold.

    >>> str(Refusal("too dark", 17.0, 40.0))
    'too dark: 17, needs 40'
    """

    reason: str
    value: float
    threshold: float

    def __str__(self) -> str:
        return f"{self.reason}: {self.value:.3g}, needs {self.threshold:.3g}"


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredFace:
    """One face of a picture: its vector, or why it is too poor to have one.

    In a video it may have neither: it looked as before, and was not measured again.

    >>> pixels = np.zeros((480, 640, 3), np.uint8)
    >>> face = MeasuredFace(pixels, FaceBox(10, 10, 200, 200), Refusal("too dark", 0.0, 1.0), None)
    >>> face.thumbnail().shape, face.png()[:4]
    ((96, 96, 3), b'\x89PNG')
    """

    pixels: Pixels
    """The whole picture."""
    box: FaceBox
    refusal: Refusal | None
    vector: Vector | None

    @property
    def measured(self) -> bool:
        """Whether anybody looked at it: it has a vector, or was refused."""
        return self.vector is not None or self.refusal is not None

    def thumbnail(self) -> Pixels:
        """The face in a small picture of its own, which does not hold on to the whole one."""
        crop = square_crop(self.pixels, self.box)
        if crop.shape[0] <= THUMBNAIL:
            return crop.copy()
        shrunk = cv2.resize(crop, (THUMBNAIL, THUMBNAIL), interpolation=cv2.INTER_AREA)
        return np.asarray(shrunk, dtype=np.uint8)

    def png(self) -> bytes:
        """The thumbnail as a file, without loss."""
        return encode_png(self.thumbnail())

    def jpeg(self) -> bytes:
        """The thumbnail as a file of a fifth of that size: for what is stored in large numbers."""
        return encode_jpeg(self.thumbnail())


@dataclass(frozen=True, slots=True)
class Sighting:
    """One face in one frame: what the learner says of it, and the name of its track.

    >>> from onlooker import Prediction
    >>> answer = Prediction("ana", {"ana": 0.9}, sink=0.1, vertex=1)
    >>> box = FaceBox(0, 0, 40, 40)
    >>> Sighting("door", 7, 0.28, track=3, box=box, name="ana", answer=answer).name
    'ana'
    """

    camera: str
    frame: int
    time: float
    track: int
    box: FaceBox
    name: str | None
    """Of the track: the vote over its sightings so far."""
    answer: Prediction | None
    """What the learner says of this face alone; None where it was refused."""
    refusal: Refusal | None = None
    """Why it was not shown to the learner."""
    measured: bool = True
    """False: it looked as before, and the answer is the one to the face measured last."""


def picture(pixels: NDArray[Any]) -> Pixels:
    """Any decoded picture (grey, alpha, 16 bit) as three bytes a pixel.

    >>> picture(np.full((2, 2), 65535, np.uint16))[0, 0].tolist()
    [255, 255, 255]
    """
    if pixels.dtype == np.uint16:
        pixels = (pixels >> 8).astype(np.uint8)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if pixels.shape[2] == 2 or pixels.shape[2] == 4:  # the last channel is alpha
        pixels = pixels[:, :, :-1]
    if pixels.shape[2] == 1:
        pixels = np.repeat(pixels, 3, axis=2)
    return np.ascontiguousarray(pixels, dtype=np.uint8)


def square_crop(pixels: Pixels, box: FaceBox) -> Pixels:
    """The square of side max(width, height) around the box; its border repeats at the edges.

    >>> square_crop(np.zeros((50, 50, 3), np.uint8), FaceBox(-10, -10, 30, 40)).shape
    (40, 40, 3)
    """
    side = max(1, round(max(box.width, box.height)))
    x, y = box.center
    left, top = round(x - side / 2), round(y - side / 2)
    height, width = pixels.shape[:2]
    if top >= height or left >= width or top + side <= 0 or left + side <= 0:
        raise BadVector(f"the box {box} lies outside the picture of {width} x {height} pixels")
    inside = pixels[max(top, 0) : top + side, max(left, 0) : left + side]
    above, before = max(-top, 0), max(-left, 0)
    below, behind = max(top + side - height, 0), max(left + side - width, 0)
    if above or below or before or behind:  # padding is slow, and rarely needed
        return np.pad(inside, ((above, below), (before, behind), (0, 0)), mode="edge")
    return np.ascontiguousarray(inside)


def encode_png(pixels: Pixels) -> bytes:
    """A picture as the bytes of a PNG file."""
    return cv2.imencode(".png", pixels)[1].tobytes()


def encode_jpeg(pixels: Pixels) -> bytes:
    """A picture as the bytes of a JPEG file."""
    return cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1].tobytes()
