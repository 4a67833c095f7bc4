"""The faces in many pictures, found once: kept on disk by the contents of the pictures.

Pictures are taken in chunks. A chunk's file is named after the SHA-256 of its pictures and of the
finder that looked at them, so nothing is detected twice, and nothing stale is ever used.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import cv2
import numpy as np
from numpy.typing import NDArray

from onlooker.core.errors import OnlookerError
from onlooker.core.files import replace_file
from onlooker.experiments.datasets.manifest import Picture, refuse
from onlooker.experiments.parallel import spread
from onlooker.video.image_files import read_picture
from onlooker.vision.embedding import CannotAlign
from onlooker.vision.finder import FaceFinder
from onlooker.vision.models import cache_folder
from onlooker.vision.types import FaceBox, Pixels

CHUNK = 64
VERSION = 1
"""Part of every file's name: raise it when the same pictures would give something else."""
CROP = 160
"""Pictures of strangers with a smaller longer side are crops of a face, not photographs."""


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """One face in one picture, largest first; `vector` is None where the gate refused it."""

    box: FaceBox
    refusal: str
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class Look:
    """A chunk of pictures to look at. Those at no camera may be crops, and get surroundings."""

    paths: tuple[Path, ...]
    cropped: tuple[bool, ...]
    finder: FaceFinder
    folder: Path = field(compare=False)

    def file(self) -> Path:
        """Where the faces are kept."""
        digest = hashlib.sha256(f"{VERSION}\n{self.finder.tag}\n".encode())
        for path, cropped in zip(self.paths, self.cropped, strict=True):
            digest.update(b"cropped" if cropped else b"whole")
            digest.update(hashlib.sha256(_contents(path)).digest())
        return self.folder / f"{digest.hexdigest()}.npz"


def faces_cache() -> Path:
    """The user's cache folder, beside the models."""
    return cache_folder().parent / "faces"


def find_faces(
    pictures: Sequence[Picture], finder: FaceFinder, *, folder: Path | None = None
) -> list[list[Face]]:
    """The faces of each picture, largest first. What cannot be read is one error that lists all."""
    folder = folder or faces_cache()
    folder.mkdir(parents=True, exist_ok=True)
    chunks = [pictures[at : at + CHUNK] for at in range(0, len(pictures), CHUNK)]
    looks = [
        Look(
            tuple(each.path for each in chunk),
            tuple(not each.camera for each in chunk),
            finder,
            folder,
        )
        for chunk in chunks
    ]
    files = [look.file() for look in looks]
    kept = [_kept(file) for file in files]
    todo = [look for look, faces in zip(looks, kept, strict=True) if faces is None]
    if todo:
        problems = spread(look_at, todo, what="finding faces", cost=lambda look: len(look.paths))
        refuse("unreadable pictures", [each for some in problems for each in some])
    return [
        faces
        for file, some in zip(files, kept, strict=True)
        for faces in (_read(file) if some is None else some)
    ]


def _contents(path: Path) -> bytes:
    """Nothing where it cannot be read: whoever looks at the picture will say so, of all at once."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def look_at(look: Look) -> list[str]:
    """Detect, judge and measure a chunk, and write it down; what could not be read."""
    cv2.setNumThreads(1)  # there is a process for every core already
    found, problems = [], []
    for path, cropped in zip(look.paths, look.cropped, strict=True):
        try:
            pixels = read_picture(path)
            tight = cropped and max(pixels.shape[:2]) < CROP
            found.append(_faces(_with_surroundings(pixels) if tight else pixels, look.finder))
        except OnlookerError as error:
            problems.append(str(error))
    if not problems:
        _write(look.file(), found)
    return problems


def _with_surroundings(crop: Pixels) -> Pixels:
    """A tight crop with its border repeated outwards: a detector wants to see around a face."""
    border = max(crop.shape[:2]) // 2
    return np.asarray(
        cv2.copyMakeBorder(crop, border, border, border, border, cv2.BORDER_REPLICATE), np.uint8
    )


def _faces(pixels: Pixels, finder: FaceFinder) -> list[Face]:
    faces = []
    for box in finder.detect(pixels):
        refusal = finder.judge(pixels, box)
        words, vector = str(refusal or ""), None
        if refusal is None:
            try:
                vector = finder.features(pixels, box)
            except CannotAlign as error:
                words = str(error)
        faces.append(Face(box, words, vector))
    return faces


def _write(file: Path, found: Sequence[Sequence[Face]]) -> None:
    faces = [face for some in found for face in some]
    vectors = [face.vector for face in faces if face.vector is not None]
    landmarks = np.full((len(faces), 5, 2), np.nan)
    for row, face in enumerate(faces):
        if len(face.box.landmarks) == 5:
            landmarks[row] = face.box.landmarks
    boxes = [
        (face.box.left, face.box.top, face.box.width, face.box.height, face.box.score)
        for face in faces
    ]
    arrays: dict[str, Any] = {
        "counts": np.array([len(some) for some in found]),
        "boxes": np.array(boxes).reshape(-1, 5),
        "landmarks": landmarks,
        "refusals": np.array([face.refusal for face in faces], dtype=str),
        "measured": np.array([face.vector is not None for face in faces], dtype=bool),
        "vectors": np.array(vectors, np.float32) if vectors else np.empty((0, 0), np.float32),
    }
    replace_file(file, lambda out: np.savez(out, **arrays))


def _kept(file: Path) -> list[list[Face]] | None:
    """None where there is nothing, or something damaged: then it is written anew."""
    try:
        return _read(file)
    except (OSError, EOFError, KeyError, ValueError, BadZipFile):
        return None


def _read(file: Path) -> list[list[Face]]:
    with file.open("rb") as content, np.load(content, allow_pickle=False) as arrays:
        kept = {name: arrays[name] for name in arrays.files}
    vectors = iter(kept["vectors"])
    faces = [
        Face(_box(row, points), str(refusal), next(vectors) if measured else None)
        for row, points, refusal, measured in zip(
            kept["boxes"], kept["landmarks"], kept["refusals"], kept["measured"], strict=True
        )
    ]
    ends = np.cumsum(kept["counts"]).tolist()
    return [faces[end - count : end] for end, count in zip(ends, kept["counts"], strict=True)]


def _box(row: NDArray[Any], points: NDArray[Any]) -> FaceBox:
    left, top, width, height, score = row.tolist()
    known = not np.isnan(points).any()
    landmarks = tuple((x, y) for x, y in points.tolist()) if known else ()
    return FaceBox(left, top, width, height, score, landmarks)
