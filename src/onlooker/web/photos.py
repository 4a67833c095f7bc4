"""Faces of uploaded photos, in memory only, until somebody says whose they are or leaves.

A photo is looked at with parts of its own, so that no camera waits for it, and one at a time: ten
large photos at once would take gigabytes.
"""

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from scipy.sparse.csgraph import connected_components

from onlooker.core.errors import BadValue, NotFound
from onlooker.core.similarity import HeatKernel, squared_distances_of_all
from onlooker.video.image_files import decode_picture
from onlooker.vision.finder import FaceFinder, from_the_left
from onlooker.vision.types import FaceBox, Pixels, Refusal, Vector

MOST_FACES = 16
"""Faces of a photo to choose from; with more nobody finds the right one."""
STORED_FACES = 300
STORED_SECONDS = 1800.0


@dataclass(frozen=True, slots=True, eq=False)
class UploadedFace:
    """A face of a photo, which itself is not stored."""

    key: str
    box: FaceBox
    vector: Vector | None
    refusal: Refusal | None
    png: bytes
    time: float


@dataclass(frozen=True, slots=True, eq=False)
class UploadedPhoto:
    """What was found in a photo."""

    width: int
    height: int
    faces: tuple[UploadedFace, ...]


class PhotoFaces:
    """The faces that were found and not taught yet; may be used in any thread.

    >>> faces = PhotoFaces(FaceFinder(kind="pixels"))
    >>> faces.find(b"P5 2 1 255 " + bytes([0, 255]))
    Traceback (most recent call last):
    ...
    onlooker.core.errors.BadValue: no face was found in this photo; ...
    """

    def __init__(self, finder: FaceFinder, clock: Callable[[], float] = time.monotonic) -> None:
        self._finder, self._clock = finder, clock
        self._faces: dict[str, UploadedFace] = {}
        self._looking, self._lock = Lock(), Lock()

    def find(self, data: bytes) -> UploadedPhoto:
        """The faces in the file of a photo, the largest first; they can be chosen for a while."""
        with self._looking:
            pixels = decode_picture(data)
            boxes = self._finder.detect(pixels)
            if not boxes:
                raise BadValue(
                    "no face was found in this photo; choose one that shows a face from the front"
                )
            if len(boxes) > MOST_FACES:
                raise BadValue(
                    f"{len(boxes)} faces are in this photo, more than the {MOST_FACES} to choose "
                    "from; crop it to the people you want to name"
                )
            now = self._clock()
            faces = tuple(
                UploadedFace(
                    secrets.token_hex(8), face.box, face.vector, face.refusal, face.png(), now
                )
                for face in (self._finder.measure(pixels, box) for box in boxes)
            )
        with self._lock:
            together = {**self._faces, **{face.key: face for face in faces}}
            new = [face for face in together.values() if now - face.time < STORED_SECONDS]
            self._faces = {face.key: face for face in new[-STORED_FACES:]}
        return UploadedPhoto(pixels.shape[1], pixels.shape[0], faces)

    def query(self, pixels: Pixels, which: int | None) -> tuple[list[FaceBox], Vector | None]:
        """The faces from the left, and the one that a question is about; None if it may be any."""
        with self._looking:
            boxes = from_the_left(self._finder.detect(pixels))
            if which is None and len(boxes) > 1:
                return boxes, None
            return boxes, self._finder.query_vector(pixels, which, boxes=boxes)

    def face(self, key: str) -> UploadedFace:
        """A face that was found."""
        face = self._faces.get(key)
        if face is None:
            raise NotFound("this face of a photo is not stored any more; choose the photo again")
        return face

    def vector(self, key: str) -> Vector:
        """Of a face that is good enough to learn from."""
        face = self.face(key)
        if face.vector is None:
            raise BadValue(f"a chosen face cannot be used, {face.refusal}; leave it out")
        return face.vector

    def groups(self, keys: Sequence[str], kernel: HeatKernel) -> list[list[str]]:
        """The good ones of these faces by person: whatever is linked is one, the largest first."""
        good = [key for key in dict.fromkeys(keys) if self.face(key).vector is not None]
        if not good:
            return []
        vectors = np.stack([self.vector(key) for key in good]).astype(np.float64)
        weights = kernel.weights(squared_distances_of_all(kernel.distance, vectors))
        count, parts = connected_components(weights > 0, directed=False)
        groups: list[list[str]] = [[] for _ in range(count)]
        for key, part in zip(good, parts.tolist(), strict=True):
            groups[part].append(key)
        return sorted(groups, key=len, reverse=True)

    def clear(self) -> None:
        """Drop all of them."""
        with self._lock:
            self._faces = {}
