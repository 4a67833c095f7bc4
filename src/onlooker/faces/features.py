"""From a face in a picture to the vector that the learner sees: the paper's pixels (2.2, 4.1)."""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from onlooker.core.errors import BadVector
from onlooker.faces.light import LightCorrected, psi
from onlooker.faces.records import FaceBox, Pixels

THUMBNAIL = 96
"""Largest side of the picture that is kept of a face."""


@dataclass(frozen=True)
class PixelFeatures:
    """Grey, square, smoothed, histogram-equalised pixels, weighted by the root of psi.

    The recipe is written out in docs/choices.md. The vectors belong with `distance`; with
    bandwidth 0.025 different strangers are less similar than 1e-6, as the paper says.

    >>> import numpy as np
    >>> picture = np.arange(100 * 100 * 3, dtype=np.uint8).reshape(100, 100, 3)
    >>> PixelFeatures()(picture, FaceBox(10, 10, 60, 80)).shape
    (9216,)
    """

    side: int = 96
    blur: float = 1.5
    spread: float = 0.35

    @property
    def tag(self) -> str:
        """What the learner remembers of the features it was built with."""
        return f"pixels/{self.side}/{self.blur:g}/{self.spread:g}"

    @property
    def distance(self) -> LightCorrected:
        """The distance these vectors are made for."""
        return LightCorrected(self.side, self.spread)

    def __call__(self, pixels: Pixels, box: FaceBox) -> NDArray[np.float32]:
        """The vector of the face in a box."""
        face = self.face(pixels, box).astype(np.float64) / 255.0
        vector: NDArray[np.float32] = (face.ravel() * self._roots).astype(np.float32)
        return vector

    def face(self, pixels: Pixels, box: FaceBox) -> NDArray[np.uint8]:
        """The prepared picture of the face itself, side x side, for people to look at."""
        crop = square_crop(pixels, box)
        grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY)
        small = cv2.resize(grey, (self.side, self.side), interpolation=cv2.INTER_AREA)
        smooth = cv2.GaussianBlur(small, (0, 0), self.blur)
        prepared: NDArray[np.uint8] = np.asarray(cv2.equalizeHist(smooth), dtype=np.uint8)
        return prepared

    @cached_property
    def _roots(self) -> NDArray[np.float64]:
        return np.sqrt(psi(self.side, self.spread))


def square_crop(pixels: Pixels, box: FaceBox) -> Pixels:
    """The square of side max(width, height) around the box; its border repeats at the edges.

    >>> import numpy as np
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


def thumbnail(pixels: Pixels, box: FaceBox) -> Pixels:
    """A face in a small picture of its own, which does not hold on to the whole one."""
    crop = square_crop(pixels, box)
    if crop.shape[0] <= THUMBNAIL:
        return crop.copy()
    shrunk = cv2.resize(crop, (THUMBNAIL, THUMBNAIL), interpolation=cv2.INTER_AREA)
    return np.asarray(shrunk, dtype=np.uint8)


def lossless(picture: Pixels) -> bytes:
    """A picture as PNG."""
    return cv2.imencode(".png", picture)[1].tobytes()
