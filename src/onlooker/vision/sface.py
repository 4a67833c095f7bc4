"""Faces as the vectors of SFace, the default: the model comes with a package and runs in OpenCV.

The file stores its weights in blocks of eight bits. Its vectors agree with those of the model in
full precision to a cosine of 0.9987 or better. OpenCV returns wrong rows for a batch of this
file, so faces are measured one at a time.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from onlooker.core.similarity import Euclidean
from onlooker.vision.alignment import aligned
from onlooker.vision.models import SFACE_INT8, ModelError
from onlooker.vision.types import FaceBox, Pixels


class SFaceFeatures:
    """Faces as 128 numbers of length one. Holds working memory of OpenCV: one thread at a time.

    >>> pixels = np.random.default_rng(0).integers(256, size=(112, 112, 3)).astype(np.uint8)
    >>> from onlooker.vision.alignment import TEMPLATE
    >>> box = FaceBox(20, 20, 72, 80, landmarks=tuple(map(tuple, TEMPLATE.tolist())))
    >>> SFaceFeatures()(pixels, box).shape
    (128,)
    """

    tag = f"sface/{SFACE_INT8.sha256[:12]}"
    """What the learner remembers of the features it was built with."""
    distance = Euclidean()
    """The distance these vectors are made for."""

    def __init__(self) -> None:
        content = SFACE_INT8.read()
        try:
            self._network = cv2.FaceRecognizerSF.create(
                "onnx",
                np.frombuffer(content, np.uint8),
                np.empty(0, np.uint8),  # the configuration, which ONNX does not have
            )
        except cv2.error as error:  # an OpenCV without its networks
            raise ModelError(f"OpenCV cannot load {SFACE_INT8.title}: {error}") from error

    def __call__(self, pixels: Pixels, box: FaceBox) -> NDArray[np.float32]:
        """The vector of the face in a box."""
        output = np.asarray(self._network.feature(self.face(pixels, box)), np.float64).ravel()
        vector: NDArray[np.float32] = (output / np.linalg.norm(output)).astype(np.float32)
        return vector

    def face(self, pixels: Pixels, box: FaceBox) -> Pixels:
        """The aligned picture of the face: what the model is given."""
        return aligned(pixels, box)
