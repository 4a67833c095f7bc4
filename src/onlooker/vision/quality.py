"""The gate: which faces are too poor to be learned or named, and by how much."""

from dataclasses import dataclass, fields
from math import ceil, floor
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from onlooker.core.checks import as_number
from onlooker.vision.types import FaceBox, Pixels, Refusal, picture

SIDE = 24
"""Side, in pixels, at which sharpness is measured: the smallest face, so none is enlarged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Accepts a face (None) or says why not; 0 switches a test off.

    The thresholds refuse what hardly shows a face any more. Raise them for fewer, better faces: an
    evenly lit face at a webcam has a brightness around 100, a contrast around 40 and a sharpness
    around 1.5.

    >>> dark = np.zeros((480, 640, 3), np.uint8)
    >>> str(Gate()(dark, FaceBox(100, 100, 80, 100)))
    'too dark: 0, needs 1'
    >>> str(Gate()(dark, FaceBox(100, 100, 16, 20)))
    'too small: 16, needs 24'
    """

    min_size: float = 24
    """Pixels of the shorter side, as far as it lies in the picture."""
    min_brightness: float = 1
    """Mean of the grey box, of 255."""
    min_contrast: float = 5
    """Standard deviation of the grey box, of 255."""
    min_sharpness: float = 0.12
    """See `sharpness`."""

    def __post_init__(self) -> None:
        for field in fields(self):
            as_number(field.name, getattr(self, field.name), least=0)

    def __call__(self, pixels: NDArray[Any], box: FaceBox, /) -> Refusal | None:
        """The first test that the face fails: size, brightness, contrast, sharpness."""
        height, width = pixels.shape[:2]
        left, right = max(box.left, 0.0), min(box.left + box.width, float(width))
        top, bottom = max(box.top, 0.0), min(box.top + box.height, float(height))
        side = max(min(right - left, bottom - top), 0.0)
        if side < self.min_size or side == 0:  # there is nothing to measure in an empty box
            return Refusal("too small", side, float(self.min_size or 1))
        crop = picture(pixels[floor(top) : ceil(bottom), floor(left) : ceil(right)])
        grey: Pixels = np.asarray(cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY), np.uint8)
        mean, deviation = cv2.meanStdDev(grey)
        tests = (
            ("too dark", mean.item(), self.min_brightness),
            ("too little contrast", deviation.item(), self.min_contrast),
            ("too blurred", sharpness(grey), self.min_sharpness),
        )
        for reason, value, threshold in tests:
            if value < threshold:
                return Refusal(reason, value, float(threshold))
        return None


def sharpness(grey: Pixels) -> float:
    """Variance of the Laplacian of the face at 24 x 24 pixels, in units of the face's variance.

    The fixed size makes it independent of the camera's resolution, the division of its light:
    what remains is how fine the details are, measured against the face.

    >>> edge = np.repeat(np.array([[40, 200]], np.uint8), 48, axis=0).repeat(48, axis=1)
    >>> sharpness(edge) > 10 * sharpness(cv2.blur(edge, (25, 25)))
    True
    >>> sharpness(np.full((96, 96), 50, np.uint8))
    0.0
    """
    how = cv2.INTER_AREA if min(grey.shape) >= SIDE else cv2.INTER_LINEAR
    small = cv2.resize(grey.astype(np.float32), (SIDE, SIDE), interpolation=how)
    variance = max(float(small.var()), 1.0)  # below one grey level there is only rounding
    return float(cv2.Laplacian(small, cv2.CV_32F).var()) / variance
