"""Face detectors: YuNet, a small network, and a Haar cascade, the detector of the paper.

A detector is a callable, from pixels to boxes. It holds working memory of OpenCV, so it belongs
to one thread, like a learner. It never fails on a picture that could be decoded: a single pixel,
a strip, a black or a grey picture simply holds no face.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import cv2
import cv2.data
import numpy as np
from numpy.typing import NDArray

from onlooker.core.checks import as_number
from onlooker.vision.models import YUNET, ModelError
from onlooker.vision.tracking import overlap
from onlooker.vision.types import FaceBox, Pixels, picture

LARGEST = 4096
"""Longer side, in pixels, that is searched at full size: YuNet takes about 70 bytes per pixel."""
SMALLEST = 64
"""Side in pixels. At 32 or less OpenCV 4.14 finds infinite faces of score 1, even in the dark."""


PHOTO_SIZE = 1280
"""Longer side at which small faces are looked for in a photo: a fortieth of it is enough."""
SMALL_PHOTO = 640
"""Longer side up to which a photo has no small faces."""
SAME_FACE = 0.3
"""Overlap from which two boxes are one face, as YuNet has it."""


class Detector(Protocol):
    """Finds the faces in a picture (blue, green, red): largest first, in pixels of that picture."""

    def __call__(self, pixels: NDArray[Any], /) -> tuple[FaceBox, ...]:
        """No face is an empty tuple."""
        ...


class YuNet:
    """The default: fast, finds turned and badly lit faces, gives five landmarks.

    `size` is what the longer side of the picture is scaled to (None: left as it is). At 320 it
    finds nearly every face wider than a tenth of the picture and none below a thirtieth. What
    scores below 0.6 is mostly backs of heads and arms.

    >>> YuNet(size=320)(np.zeros((480, 640, 3), np.uint8))
    ()
    """

    def __init__(
        self, size: int | None = 320, *, min_score: float = 0.6, max_overlap: float = 0.3
    ) -> None:
        self.size = _checked(size)
        self._network = cv2.FaceDetectorYN.create(
            "onnx",
            np.frombuffer(YUNET.read(), np.uint8),
            np.empty(0, np.uint8),  # the configuration, which ONNX does not have
            (SMALLEST, SMALLEST),
            as_number("min_score", min_score, least=0, below=1),
            as_number("max_overlap", max_overlap, least=0, below=1),
        )

    def __call__(self, pixels: NDArray[Any], /) -> tuple[FaceBox, ...]:
        """Boxes with a score from `min_score` to 1 and landmarks, which may lie off the picture."""
        if pixels.size == 0:
            return ()
        small, scale = _scaled(picture(pixels), self.size)
        height, width = small.shape[:2]
        below, beside = max(SMALLEST - height, 0), max(SMALLEST - width, 0)
        small = np.pad(small, ((0, below), (0, beside), (0, 0))) if below or beside else small
        self._network.setInputSize((small.shape[1], small.shape[0]))
        found: NDArray[Any] | None = self._network.detect(small)[1]
        if found is None:
            return ()
        points = found[:, :14].reshape(-1, 7, 2) * scale
        return _boxes(points, found[:, 14], pixels.shape)


class PhotoDetector:
    """YuNet for photos, in which a face may fill the picture, or be one of many.

    It looks at two sizes; where it finds nothing, again with a border around the picture: one that
    was cut to the face by another program has no place around it, and YuNet needs some.

    >>> PhotoDetector()(np.zeros((480, 640, 3), np.uint8))
    ()
    """

    def __init__(self, size: int | None = 320) -> None:
        self._coarse, self._fine = YuNet(size), YuNet(PHOTO_SIZE)

    def __call__(self, pixels: NDArray[Any], /) -> tuple[FaceBox, ...]:
        """What either size finds, each face once."""
        found = [*self._coarse(pixels)]
        if max(pixels.shape[:2], default=0) > SMALL_PHOTO:
            found += [
                box
                for box in self._fine(pixels)
                if all(overlap(box, other) < SAME_FACE for other in found)
            ]
        boxes = found or self._with_border(picture(pixels))
        return tuple(sorted(boxes, key=lambda box: (-box.area, box.left, box.top)))

    def _with_border(self, pixels: Pixels) -> list[FaceBox]:
        width = max(pixels.shape[:2]) // 2
        border = ((width, width), (width, width), (0, 0))
        return [
            replace(
                box,
                left=box.left - width,
                top=box.top - width,
                landmarks=tuple((x - width, y - width) for x, y in box.landmarks),
            )
            for box in self._coarse(np.pad(pixels, border, constant_values=128))
        ]


class Haar:
    """OpenCV's frontal cascade: frontal, evenly lit faces, no landmarks, every score is 1.

    >>> Haar()(np.zeros((480, 640), np.uint8))
    ()
    """

    def __init__(
        self,
        size: int | None = None,
        *,
        step: float = 1.1,
        min_neighbors: int = 3,
        cascade: str = "haarcascade_frontalface_alt2.xml",
    ) -> None:
        self.size = _checked(size)
        self.step = as_number("step", step, least=1.001)
        self.min_neighbors = int(as_number("min_neighbors", min_neighbors, least=0, whole=True))
        path = Path(cv2.data.haarcascades, cascade)
        if not path.is_file():
            raise ModelError(f"{cascade} is not among OpenCV's cascades in {path.parent}")
        self._cascade = cv2.CascadeClassifier(path)

    def __call__(self, pixels: NDArray[Any], /) -> tuple[FaceBox, ...]:
        """Square boxes."""
        if pixels.size == 0:
            return ()
        small, scale = _scaled(picture(pixels), self.size)
        grey = cv2.cvtColor(small, cv2.COLOR_BGR2GRAY)
        found = self._cascade.detectMultiScale(grey, self.step, self.min_neighbors)
        points = np.array(found, float).reshape(-1, 2, 2) * scale
        return _boxes(points, np.ones(len(points)), pixels.shape)


def _checked(size: int | None) -> int | None:
    return size if size is None else int(as_number("size", size, least=SMALLEST, whole=True))


def _scaled(pixels: Pixels, size: int | None) -> tuple[Pixels, NDArray[Any]]:
    """The picture with `size` as its longer side, and the factors back, across and down."""
    height, width = pixels.shape[:2]
    longer = max(height, width)
    factor = (size or min(longer, LARGEST)) / longer
    if factor == 1:
        return pixels, np.ones(2)
    to = max(round(width * factor), 1), max(round(height * factor), 1)
    how = cv2.INTER_AREA if factor < 1 else cv2.INTER_LINEAR
    small: NDArray[Any] = cv2.resize(pixels, to, interpolation=how)
    return small, np.array([width, height]) / to


def _boxes(
    points: NDArray[Any], scores: NDArray[Any], shape: tuple[int, ...]
) -> tuple[FaceBox, ...]:
    """Rows of corner, extent and landmarks, cut at the border of the picture, largest first."""
    edge = np.array([shape[1], shape[0]])
    start = np.clip(points[:, 0], 0, edge)
    extent = np.clip(points[:, 0] + points[:, 1], 0, edge) - start
    rows = zip(
        start.tolist(), extent.tolist(), scores.tolist(), points[:, 2:].tolist(), strict=True
    )
    boxes = [
        FaceBox(left, top, width, height, score, tuple((x, y) for x, y in landmarks))
        for (left, top), (width, height), score, landmarks in rows
        if width > 0 and height > 0
    ]
    return tuple(sorted(boxes, key=lambda box: (-box.area, box.left, box.top)))
