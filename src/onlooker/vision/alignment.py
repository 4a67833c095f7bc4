"""Turning a face upright: its landmarks onto the template that embeddings were trained with."""

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from onlooker.core.errors import BadValue
from onlooker.vision.types import FaceBox, Pixels, Refusal

TEMPLATE = np.array(
    [
        (38.2946, 51.6963),
        (73.5318, 51.5014),
        (56.0252, 71.7366),
        (41.5493, 92.3655),
        (70.7299, 92.2041),
    ]
)
"""Where ArcFace has the five landmarks in 112 x 112. The first is the eye on the left of the
picture, which is the person's right eye: the order of FaceBox."""

LEAST_SPREAD = 1e-6
"""Squared distance of five landmarks from their middle, in pixels; nearer ones are one point."""


class CannotAlign(BadValue):
    """A face without five usable landmarks; `refusal` says the same as a gate would."""

    def __init__(self, message: str, refusal: Refusal) -> None:
        super().__init__(message)
        self.refusal = refusal


def aligned(pixels: Pixels, box: FaceBox) -> Pixels:
    """The face turned, scaled and moved so that its landmarks lie on the template.

    >>> box = FaceBox(0, 0, 224, 224, landmarks=tuple((2 * x, 2 * y) for x, y in TEMPLATE))
    >>> aligned(np.zeros((224, 224, 3), np.uint8), box).shape
    (112, 112, 3)
    """
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
        raise BadValue(
            f"a picture is rows x columns x 3 bytes, got {pixels.dtype} of shape {pixels.shape}"
        )
    if len(box.landmarks) != len(TEMPLATE):
        raise CannotAlign(
            f"an embedding needs the five landmarks of a face, this box has {len(box.landmarks)}; "
            "use a detector that finds them (YuNet does, Haar does not)",
            Refusal("too few landmarks", len(box.landmarks), len(TEMPLATE)),
        )
    face = cv2.warpAffine(pixels, similarity(box.landmarks), (112, 112), flags=cv2.INTER_LINEAR)
    return np.asarray(face, dtype=np.uint8)


def similarity(landmarks: ArrayLike) -> NDArray[np.float64]:
    """The rotation, scale and shift (2 x 3) that brings landmarks nearest to the template.

    Least squares of a z + b over complex numbers: such a map never mirrors.

    >>> similarity(TEMPLATE / 2 + 7).round(3)
    array([[  2.,  -0., -14.],
           [  0.,   2., -14.]])
    """
    here, there = np.asarray(landmarks, dtype=np.float64) @ (1, 1j), TEMPLATE @ (1, 1j)
    from_center = here - here.mean()
    spread = np.vdot(from_center, from_center).real
    if not LEAST_SPREAD < spread < np.inf:
        raise CannotAlign(
            f"five landmarks that make no face: {landmarks!r}",
            Refusal("landmarks make no face", float(spread), LEAST_SPREAD),
        )
    a = np.vdot(from_center, there) / spread
    b = there.mean() - a * here.mean()
    return np.array([[a.real, -a.imag, b.real], [a.imag, a.real, b.imag]])
