"""Faces between two people: their aligned pictures blended in pixels, then measured as any face.

Both faces are laid on one square by their landmarks and cross-dissolved, from the one person to the
other, each level with other frames of both. Detection is not repeated: the box is what lies between
the two boxes. A pair is measured once and then read from the cache.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import cv2
import numpy as np

from onlooker.core.files import replace_file
from onlooker.experiments.datasets.facebank import faces_cache
from onlooker.video.image_files import read_picture
from onlooker.vision.alignment import TEMPLATE, similarity
from onlooker.vision.finder import FaceFinder
from onlooker.vision.types import FaceBox, Pixels, Vector

LEVELS = 100
"""Blends of a pair, from almost the one person to almost the other."""
BORDER = 56
"""Pixels around the template: boxes of detectors are larger than it."""
SIDE = 112 + 2 * BORDER
LANDMARKS = tuple((x + BORDER, y + BORDER) for x, y in TEMPLATE.tolist())


@dataclass(frozen=True, slots=True)
class SourceFace:
    """Where a face is: its picture and its box there, with landmarks."""

    path: Path
    box: FaceBox


@dataclass(frozen=True, slots=True)
class BlendJob:
    """The faces of two people that are blended."""

    first: tuple[SourceFace, ...]
    second: tuple[SourceFace, ...]
    finder: FaceFinder
    levels: int = LEVELS

    def file(self) -> Path:
        """Where the vectors are stored: named after all that they depend on."""
        digest = hashlib.sha256(f"blends 1\n{self.finder.tag}\n{self.levels}\n".encode())
        for each in (*self.first, *self.second):
            digest.update(hashlib.sha256(each.path.read_bytes()).digest())
            digest.update(repr(each.box).encode())
        digest.update(str(len(self.first)).encode())
        return faces_cache() / f"{digest.hexdigest()}.npz"


def shares(levels: int) -> list[float]:
    """How much of the second person is in each blend.

    >>> shares(1), shares(4)
    ([0.5], [0.125, 0.375, 0.625, 0.875])
    """
    return [(level + 0.5) / levels for level in range(levels)]


def blended_vectors(job: BlendJob) -> list[Vector | None]:
    """The vector of every level; None where the gate refuses the blend."""
    file = job.file()
    try:
        with file.open("rb") as content, np.load(content, allow_pickle=False) as arrays:
            vectors, measured = arrays["vectors"], arrays["measured"]
    except (OSError, EOFError, KeyError, ValueError, BadZipFile):
        found = _measured(job)
        known = [vector for vector in found if vector is not None]
        vectors = np.array(known, np.float32) if known else np.empty((0, 0), np.float32)
        measured = np.array([vector is not None for vector in found])
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, lambda out: np.savez(out, vectors=vectors, measured=measured))
    rows = iter(vectors)
    return [next(rows) if known else None for known in measured]


def _measured(job: BlendJob) -> list[Vector | None]:
    cv2.setNumThreads(1)  # there is a process for every core already
    laid = [[_laid(each) for each in faces] for faces in (job.first, job.second)]
    found = []
    for level, share in enumerate(shares(job.levels)):
        (first, box), (second, other) = (faces[level % len(faces)] for faces in laid)
        mixed = np.asarray(cv2.addWeighted(first, 1 - share, second, share, 0), np.uint8)
        found.append(job.finder.measure(mixed, between(box, other, share)).vector)
    return found


def _laid(face: SourceFace) -> tuple[Pixels, FaceBox]:
    """The face on the square, its landmarks on the template, and its box there."""
    move = similarity(face.box.landmarks)
    move[:, 2] += BORDER
    pixels = cv2.warpAffine(
        read_picture(face.path), move, (SIDE, SIDE), borderMode=cv2.BORDER_REPLICATE
    )
    scale = float(np.hypot(*move[:, 0]))
    x, y = (move @ (*face.box.center, 1.0)).tolist()
    width, height = scale * face.box.width, scale * face.box.height
    box = FaceBox(x - width / 2, y - height / 2, width, height, face.box.score, LANDMARKS)
    return np.asarray(pixels, np.uint8), box


def between(box: FaceBox, other: FaceBox, share: float) -> FaceBox:
    """The box at this share of the way from one to another, with the landmarks of both.

    >>> between(FaceBox(0, 0, 10, 10), FaceBox(4, 8, 20, 10), 0.5)
    FaceBox(left=2.0, top=4.0, width=15.0, height=10.0, score=1.0, landmarks=())
    """

    def mean(a: float, b: float) -> float:
        return (1 - share) * a + share * b

    return FaceBox(
        mean(box.left, other.left), mean(box.top, other.top), mean(box.width, other.width),
        mean(box.height, other.height), mean(box.score, other.score), box.landmarks,
    )  # fmt: skip
