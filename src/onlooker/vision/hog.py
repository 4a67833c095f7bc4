"""Faces as histograms of oriented gradients (HOG): what is used where there is no embedding model.

The gradients are those of the paper's picture: square, smoothed, histogram-equalised. Edges bear a
change of light, a small turn and a box that is a little off better than pixels do, and tell people
apart as well: at the cutoff at which no stranger is named they find half as many faces again.
Pixels beside the gradients (the mean of both squared distances, each in units of its sigma) were
measured too, and are worse than the gradients alone (docs/choices.md).
"""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from onlooker.core.similarity import Euclidean
from onlooker.vision.pixels import PixelFeatures
from onlooker.vision.types import FaceBox, Pixels


@dataclass(frozen=True)
class HogFeatures:
    """Nine directions in 8 x 8 cells, each cell normalised in up to four blocks of 2 x 2.

    >>> picture = np.arange(100 * 100 * 3, dtype=np.uint8).reshape(100, 100, 3)
    >>> HogFeatures()(picture, FaceBox(10, 10, 60, 80)).shape
    (1764,)
    """

    cell: int = 12
    """Side of a cell in pixels; the picture has 96."""

    @property
    def tag(self) -> str:
        """What the learner remembers of the features it was built with."""
        return f"hog/{self.cell}/{self._pixels.tag}"

    @property
    def distance(self) -> Euclidean:
        """The distance these vectors are made for."""
        return Euclidean()

    def __call__(self, pixels: Pixels, box: FaceBox) -> NDArray[np.float32]:
        """The vector of the face in a box."""
        gradients = self._descriptor.compute(self.face(pixels, box))
        return np.asarray(gradients, np.float32).ravel()

    def face(self, pixels: Pixels, box: FaceBox) -> Pixels:
        """The prepared picture of the face: what the gradients are computed from."""
        return self._pixels.face(pixels, box)

    @property
    def _pixels(self) -> PixelFeatures:
        return PixelFeatures()

    @cached_property
    def _descriptor(self) -> cv2.HOGDescriptor:
        side, block, cell = ((n, n) for n in (self._pixels.side, 2 * self.cell, self.cell))
        return cv2.HOGDescriptor(side, block, cell, cell, 9)
