"""The faces that a name is learned from: the one in a picture, or a few of a video that differ."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse.csgraph import connected_components

from onlooker.core.checks import Floats, Slots, as_name, as_number, slots_where
from onlooker.core.errors import BadValue
from onlooker.core.similarity import HeatKernel, squared_distances_of_all
from onlooker.video.image_files import SUFFIXES, read_picture
from onlooker.video.sources import frames_from
from onlooker.vision.finder import FaceFinder
from onlooker.vision.types import MeasuredFace, Pixels, Vector, encode_png

VIDEOS = frozenset(
    {".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts"}
    | {".ogv", ".ts", ".webm", ".wmv"}
)
"""Suffixes, in lower case, of the files that count as videos of a person."""

FACES_PER_VIDEO = 4
"""Faces of a video that are taught by default: as many as the paper labels."""

SECOND_PERSON = 0.25
"""From this share of a video's faces on, those that are like each other and unlike the rest are a
second person, not a passer-by."""

CANDIDATES = 200
"""Faces of a video to choose from at most, however long it is."""


@dataclass(frozen=True, slots=True, eq=False)
class EnrolmentFace:
    """A face to learn a name from, and its small picture."""

    vector: Vector
    picture: Pixels
    area: float
    """Of its box, in square pixels."""

    def png(self) -> bytes:
        """The picture as a file, without loss."""
        return encode_png(self.picture)


@dataclass(frozen=True)
class Enrolment:
    """Finds the faces to teach in pictures and videos of people."""

    finder: FaceFinder
    kernel: HeatKernel
    faces_per_video: int = FACES_PER_VIDEO

    def __post_init__(self) -> None:
        as_number("faces_per_video", self.faces_per_video, least=1, whole=True)

    @cached_property
    def _photo_finder(self) -> FaceFinder:
        """For pictures in which the face is small, or fills all of it."""
        return self.finder.for_photos()

    def everybody(self, people: Mapping[str, Sequence[Path]]) -> dict[str, list[EnrolmentFace]]:
        """The faces of all, from their files; everybody must have one."""
        found: dict[str, list[EnrolmentFace]] = {}
        for name, files in people.items():
            found[name] = [face for file in files for face in self.faces(file)]
            if not found[name]:
                raise BadValue(f"there is no picture to learn {name!r} from; four are a good start")
        return found

    def faces(self, path: Path) -> list[EnrolmentFace]:
        """The one of a picture, up to `faces_per_video` of a video."""
        if path.suffix.lower() in VIDEOS:
            return self._spread_out(self._candidates(path), path)
        return [self._in_picture(path)]

    def _in_picture(self, path: Path) -> EnrolmentFace:
        pixels = read_picture(path)
        boxes = self.finder.detect(pixels) or self._photo_finder.detect(pixels)
        if len(boxes) != 1:
            found = "no face" if not boxes else f"{len(boxes)} faces"
            raise BadValue(
                f"{path} shows {found}; a picture to learn a name from needs exactly one"
            )
        face = self.finder.measure(pixels, boxes[0])
        if face.vector is None:
            raise BadValue(f"the face in {path} is {face.refusal}; take a better picture")
        return EnrolmentFace(face.vector, face.thumbnail(), face.box.area)

    def different(self, faces: Sequence[EnrolmentFace], count: int) -> list[EnrolmentFace]:
        """Up to so many faces of one person: the largest, and those that differ most."""
        vectors = np.stack([face.vector for face in faces])
        squared = squared_distances_of_all(self.kernel.distance, vectors)
        first = int(np.argmax([face.area for face in faces]))
        return [faces[row] for row in spread_out(squared, first=first, count=count)]

    def _spread_out(self, candidates: Sequence[EnrolmentFace], path: Path) -> list[EnrolmentFace]:
        """The largest face, then again and again the one least like all that were chosen.

        A large face shows most; the others are there to differ from it. A video in which nothing
        moves gives one face: the same one twice would teach nothing. Faces that most of the video
        is not linked to are left out: a passer-by, or something that is no face, differs most.
        Where they are many, the name is not learned: nobody can say which of the two has it.
        """
        vectors = np.stack([face.vector for face in candidates])
        squared = squared_distances_of_all(self.kernel.distance, vectors)
        group, others = two_largest_groups(self.kernel.weights(squared))
        if len(others) > SECOND_PERSON * len(candidates):
            raise BadValue(
                f"{path} seems to show two people: {len(group)} of {len(candidates)} faces are "
                f"like each other, and {len(others)} others are; cut it, or use pictures"
            )
        areas = np.array([face.area for face in candidates])
        first = int(np.argmax(areas[group]))
        chosen = spread_out(squared[np.ix_(group, group)], first=first, count=self.faces_per_video)
        return [candidates[group[row]] for row in chosen]

    def _candidates(self, path: Path) -> list[EnrolmentFace]:
        """Single good faces, from all over the video.

        Whenever there are too many, every other one goes, and from then on only every other
        frame is used: an hour takes little more memory and detection than a minute.
        """
        found: list[EnrolmentFace] = []
        step, skipped = 1, _SkippedFrames()
        # The whole path: a relative one might be read as name=source.
        with frames_from(path.absolute(), live=False) as frames:
            for frame in frames:
                if frame.index % step:
                    continue
                boxes = self.finder.detect(frame.pixels)
                face = self.finder.measure(frame.pixels, boxes[0]) if len(boxes) == 1 else None
                if face is None or face.vector is None:
                    skipped.count(len(boxes), face)
                    continue
                found.append(EnrolmentFace(face.vector, face.thumbnail(), face.box.area))
                if len(found) > CANDIDATES:
                    found, step = found[::2], 2 * step
        if not found:
            raise BadValue(f"no frame of {path} shows exactly one good face: {skipped}")
        return found


@dataclass(slots=True)
class _SkippedFrames:
    """Why frames of a video could not be used."""

    frames: int = 0
    none: int = 0
    several: int = 0
    poor: Counter[str] = field(default_factory=Counter)

    def count(self, faces: int, face: MeasuredFace | None) -> None:
        self.frames += 1
        self.none += faces == 0
        self.several += faces > 1
        if face is not None and face.refusal is not None:
            self.poor[face.refusal.reason] += 1

    def __str__(self) -> str:
        if not self.frames:
            return "nothing in it can be decoded; it may have been cut short"
        reasons = "".join(f" ({reason})" for reason, _ in self.poor.most_common(1))
        return (
            f"of {self.frames}, {self.none} show none, {self.several} several, "
            f"{self.poor.total()} a poor one{reasons}"
        )


def two_largest_groups(weights: Floats) -> tuple[Slots, Slots]:
    """The rows of the two largest connected parts of a graph; on a tie the first comes first.

    >>> two_largest_groups(np.array([[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]]))
    (array([1, 2]), array([0]))
    """
    _, parts = connected_components(weights > 0, directed=False)
    first, second = np.argsort(-np.bincount(parts, minlength=2), kind="stable")[:2]
    return slots_where(parts == first), slots_where(parts == second)


def spread_out(squared: Floats, *, first: int, count: int) -> list[int]:
    """Up to `count` rows at different places, farthest first, from d^2 of all pairs.

    >>> places = np.array([0, 1, 5, 9, 0])
    >>> spread_out((places[:, None] - places) ** 2, first=0, count=3)
    [0, 3, 2]
    """
    chosen, gaps = [first], np.full(len(squared), np.inf)
    while True:
        gaps = np.minimum(gaps, squared[chosen[-1]])
        gaps[chosen] = 0.0
        if len(chosen) == count or not gaps.any():
            return chosen
        chosen.append(int(np.argmax(gaps)))


def people_in_library(folder: str | Path, leave_out: Collection[str]) -> dict[str, list[Path]]:
    """The pictures of everybody in `folder/NAME/**`, as other programs store or export them."""
    people = {
        as_name(path.name): sorted(
            file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES
        )
        for path in sorted(Path(folder).iterdir())
        if path.is_dir() and not path.name.startswith(".") and path.name not in leave_out
    }
    if not any(people.values()):
        raise BadValue(f"nobody is in {folder}; it needs a folder with photos for each, NAME/*.jpg")
    return {name: files for name, files in people.items() if files}


def people_in(folder: str | Path) -> dict[str, list[Path]]:
    """The files of everybody in `folder/NAME/*.jpg` and `folder/NAME.jpg`, videos likewise."""
    known = SUFFIXES | VIDEOS
    people: dict[str, list[Path]] = {}
    for path in sorted(Path(folder).glob("*")):
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.suffix.lower() in known)
            people.setdefault(path.name, []).extend(inside)
        elif path.suffix.lower() in known:
            people.setdefault(path.stem, []).append(path)
    if not people:
        raise BadValue(f"nobody is in {folder}; it needs NAME/*.jpg, NAME.jpg or NAME.mp4")
    return people
