"""A cache on disk of the faces in many pictures: each picture is searched once.

Pictures are searched in chunks, each of one set. A chunk's file is named after the SHA-256 of its
pictures and of the settings of the face finder, so nothing is detected twice, and nothing stale is
ever used.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
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
from onlooker.vision.finder import FaceFinder
from onlooker.vision.models import cache_folder
from onlooker.vision.types import FaceBox, Pixels

CHUNK = 64
VERSION = 1
"""Part of every file's name: raise it when the same pictures would give other faces."""
CROP = 160
"""Pictures of strangers with a smaller longer side are crops of a face, not photographs."""


@dataclass(frozen=True, slots=True, eq=False)
class BankedFace:
    """One face in one picture; `vector` is None where the quality gate refused it."""

    box: FaceBox
    refusal: str
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class PictureChunk:
    """Pictures to search together. Those at no camera may be crops, which get a border added."""

    paths: tuple[Path, ...]
    cropped: tuple[bool, ...]
    finder: FaceFinder
    folder: Path = field(compare=False)

    def file(self) -> Path:
        """Where its faces are stored."""
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
) -> list[list[BankedFace]]:
    """The faces of each picture, largest first; one error lists all unreadable pictures."""
    folder = folder or faces_cache()
    folder.mkdir(parents=True, exist_ok=True)
    chunks = [
        PictureChunk(
            tuple(each.path for each in some),
            tuple(not each.camera for each in some),
            finder,
            folder,
        )
        for some in _in_chunks(pictures)
    ]
    files = [chunk.file() for chunk in chunks]
    stored = [_stored(file) for file in files]
    missing = [chunk for chunk, faces in zip(chunks, stored, strict=True) if faces is None]
    if missing:
        problems = spread(
            find_in_chunk, missing, what="finding faces", cost=lambda chunk: len(chunk.paths)
        )
        refuse("unreadable pictures", [each for some in problems for each in some])
    return [
        faces
        for file, some in zip(files, stored, strict=True)
        for faces in (_read(file) if some is None else some)
    ]


def _in_chunks(pictures: Sequence[Picture]) -> Iterator[Sequence[Picture]]:
    """Chunks begin anew with each set, so a set by itself has the chunks it has among others."""
    for _, group in groupby(pictures, key=lambda each: each.set):
        own = list(group)
        yield from (own[at : at + CHUNK] for at in range(0, len(own), CHUNK))


def _contents(path: Path) -> bytes:
    """Empty where it cannot be read: `find_in_chunk` then reports all such pictures at once."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def find_in_chunk(chunk: PictureChunk) -> list[str]:
    """Detect, judge, measure and store the faces of a chunk; returns what was unreadable."""
    cv2.setNumThreads(1)  # there is a process for every core already
    found, problems = [], []
    for path, cropped in zip(chunk.paths, chunk.cropped, strict=True):
        try:
            pixels = read_picture(path)
            tight = cropped and max(pixels.shape[:2]) < CROP
            found.append(_faces(_with_surroundings(pixels) if tight else pixels, chunk.finder))
        except OnlookerError as error:
            problems.append(str(error))
    if not problems:
        _write(chunk.file(), found)
    return problems


def _with_surroundings(crop: Pixels) -> Pixels:
    """A tight crop with its edge pixels repeated outwards: detectors need room around a face."""
    border = max(crop.shape[:2]) // 2
    return np.asarray(
        cv2.copyMakeBorder(crop, border, border, border, border, cv2.BORDER_REPLICATE), np.uint8
    )


def _faces(pixels: Pixels, finder: FaceFinder) -> list[BankedFace]:
    return [
        BankedFace(face.box, str(face.refusal or ""), face.vector) for face in finder.faces(pixels)
    ]


def _write(file: Path, found: Sequence[Sequence[BankedFace]]) -> None:
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


def _stored(file: Path) -> list[list[BankedFace]] | None:
    """None where the file is missing or damaged: it is then written again."""
    try:
        return _read(file)
    except (OSError, EOFError, KeyError, ValueError, BadZipFile):
        return None


def _read(file: Path) -> list[list[BankedFace]]:
    with file.open("rb") as content, np.load(content, allow_pickle=False) as arrays:
        columns = {name: arrays[name] for name in arrays.files}
    vectors = iter(columns["vectors"])
    faces = [
        BankedFace(_box(row, points), str(refusal), next(vectors) if measured else None)
        for row, points, refusal, measured in zip(
            columns["boxes"],
            columns["landmarks"],
            columns["refusals"],
            columns["measured"],
            strict=True,
        )
    ]
    counts = columns["counts"]
    ends = np.cumsum(counts).tolist()
    return [faces[end - count : end] for end, count in zip(ends, counts, strict=True)]


def _box(row: NDArray[Any], points: NDArray[Any]) -> FaceBox:
    left, top, width, height, score = row.tolist()
    known = not np.isnan(points).any()
    landmarks = tuple((x, y) for x, y in points.tolist()) if known else ()
    return FaceBox(left, top, width, height, score, landmarks)
