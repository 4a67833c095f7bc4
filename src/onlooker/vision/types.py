"""The small records that travel from a camera to an answer."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlooker.core.records import Prediction

Pixels = NDArray[np.uint8]
"""A picture as OpenCV has it: rows, columns, blue, green, red."""


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
    """A rectangle in frame pixels, origin at the top left, and what the detector says of it.

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
    """Why a face is too poor to learn from or to name: what, how much, how much it takes.

    >>> str(Refusal("too dark", 17.0, 40.0))
    'too dark: 17, needs 40'
    """

    reason: str
    value: float
    threshold: float

    def __str__(self) -> str:
        return f"{self.reason}: {self.value:.3g}, needs {self.threshold:.3g}"


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


@dataclass(frozen=True, slots=True)
class Sighting:
    """One face in one frame: what the learner says of it, and what its track has come to say.

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
    """Announced: the vote over the track so far."""
    answer: Prediction | None
    """The learner's own answer for this face; None where it was not asked."""
    refusal: Refusal | None = None
    """Why the learner was not asked."""
