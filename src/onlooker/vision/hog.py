"""Faces as pixels and gradients: what is used where there is no embedding model.

The paper's pixels, and beside them a histogram of oriented gradients (HOG) of the same picture.
Pixels tell people apart and are upset by light and small turns; gradients bear these better and
tell people apart less well. The squared distance is the mean of the two squared distances, each in
units of the sigma at which strangers are dissimilar, so the bandwidth is 1. Both parts are scaled
before they are joined, so that the plain distance of the vectors is this one.
"""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from onlooker.core.similarity import Euclidean
from onlooker.vision.pixels import PixelFeatures
from onlooker.vision.types import FaceBox, Pixels, square_crop

SIGMA_PIXELS = 0.025
SIGMA_GRADIENTS = 0.4
CELL = 8
"""Side of a cell, in pixels of 96."""


@dataclass(frozen=True)
class HogFeatures:
    """Pixels and oriented gradients, 9216 + 4356 numbers.

    >>> picture = np.arange(100 * 100 * 3, dtype=np.uint8).reshape(100, 100, 3)
    >>> HogFeatures()(picture, FaceBox(10, 10, 60, 80)).shape
    (13572,)
    """

    pixels: PixelFeatures = PixelFeatures()

    @property
    def tag(self) -> str:
        """What the learner remembers of the features it was built with."""
        return f"hog/{CELL}/{SIGMA_GRADIENTS:g}+{self.pixels.tag}"

    @property
    def distance(self) -> Euclidean:
        """The distance these vectors are made for."""
        return Euclidean()

    def __call__(self, pixels: Pixels, box: FaceBox) -> NDArray[np.float32]:
        """The vector of the face in a box."""
        grey = cv2.cvtColor(square_crop(pixels, box), cv2.COLOR_BGR2GRAY)
        side = self.pixels.side
        small = cv2.resize(grey, (side, side), interpolation=cv2.INTER_AREA)
        gradients = np.asarray(self._hog.compute(small), np.float32).ravel()
        return np.concatenate(
            [
                self.pixels(pixels, box) / (SIGMA_PIXELS * 2**0.5),
                gradients / (SIGMA_GRADIENTS * 2**0.5),
            ],
            dtype=np.float32,
        )

    @cached_property
    def _hog(self) -> cv2.HOGDescriptor:
        side = self.pixels.side
        return cv2.HOGDescriptor(
            (side, side), (2 * CELL, 2 * CELL), (CELL, CELL), (CELL, CELL), 9
        )
