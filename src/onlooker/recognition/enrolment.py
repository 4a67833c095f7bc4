"""What a name is learned from: the face in a picture, or a few faces of a video that differ."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from onlooker.core.checks import Floats, Slots, as_number, slots_where
from onlooker.core.errors import BadValue
from onlooker.core.similarity import HeatKernel, squared_distances_of_all
from onlooker.video.image_files import SUFFIXES, read_picture
from onlooker.video.sources import frames_from
from onlooker.vision.pixels import lossless, thumbnail
from onlooker.vision.types import FaceBox, Pixels, Refusal

Detect = Callable[[Pixels], Sequence[FaceBox]]
Judge = Callable[[Pixels, FaceBox], Refusal | None]
Vector = NDArray[np.float32]

VIDEOS = frozenset(
    {".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts"}
    | {".ogv", ".ts", ".webm", ".wmv"}
)
"""Endings, in lower case, of the files that count as videos of a person."""

FACES_PER_VIDEO = 4
"""How many faces of a video are taught unless told otherwise: as many as the paper labels."""

CANDIDATES = 200
"""Faces of a video that are kept to choose from, however long it is."""


class Features(Protocol):
    """From a face to a vector; the tag tells features apart."""

    @property
    def tag(self) -> str:
        """What the learner remembers of the features it was built with."""

    def __call__(self, pixels: Pixels, box: FaceBox) -> Vector:
        """The vector of the face in a box."""


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """A face to learn a name from, and how it looks."""

    vector: Vector
    picture: Pixels
    area: float

    def png(self) -> bytes:
        """A small lossless picture of it."""
        return lossless(self.picture)


@dataclass(frozen=True)
class Enrolment:
    """Finds the faces to teach in a file, with the parts of a recognizer."""

    detect: Detect
    features: Features
    judge: Judge
    kernel: HeatKernel
    faces_per_video: int = FACES_PER_VIDEO

    def __post_init__(self) -> None:
        as_number("faces_per_video", self.faces_per_video, least=1, whole=True)

    def everybody(self, people: Mapping[str, Sequence[Path]]) -> dict[str, list[Example]]:
        """The faces of all, from their files; each must have one."""
        found: dict[str, list[Example]] = {}
        for name, files in people.items():
            found[name] = [example for file in files for example in self.examples(file)]
            if not found[name]:
                raise BadValue(f"there is no picture to learn {name!r} from; four are a good start")
        return found

    def examples(self, path: Path) -> list[Example]:
        """One of a picture, up to `faces_per_video` of a video."""
        return self._of_video(path) if path.suffix.lower() in VIDEOS else [self._of_picture(path)]

    def _of_picture(self, path: Path) -> Example:
        pixels = read_picture(path)
        boxes = self.detect(pixels)
        if len(boxes) != 1:
            found = "no face" if not boxes else f"{len(boxes)} faces"
            raise BadValue(
                f"{path} shows {found}; a picture to learn a name from needs exactly one"
            )
        refusal = self.judge(pixels, boxes[0])
        if refusal is not None:
            raise BadValue(f"the face in {path} is {refusal}; take a better picture")
        return self._example(pixels, boxes[0])

    def _example(self, pixels: Pixels, box: FaceBox) -> Example:
        return Example(self.features(pixels, box), thumbnail(pixels, box), box.area)

    def _of_video(self, path: Path) -> list[Example]:
        """The largest face, then again and again the one least like all that were chosen.

        A large face shows most; the others are there to differ from it. A video in which nothing
        moves gives one face: the same one twice would teach nothing. Faces that most of the video
        is not linked to are left out: a passer-by, or something that is no face, differs most.
        """
        candidates = self._candidates(path)
        vectors = np.stack([example.vector for example in candidates])
        squared = squared_distances_of_all(self.kernel.distance, vectors)
        group = largest_group(self.kernel.weights(squared))
        areas = np.array([example.area for example in candidates])
        first = int(np.argmax(areas[group]))
        chosen = spread_out(squared[np.ix_(group, group)], first=first, count=self.faces_per_video)
        return [candidates[group[row]] for row in chosen]

    def _candidates(self, path: Path) -> list[Example]:
        """Single good faces, from all over the video.

        Whenever there are too many, every other one goes, and from then on only every other
        frame is looked at: an hour takes little more memory and detection than a minute.
        """
        found: list[Example] = []
        step, tally = 1, _Tally()
        # The whole path: a relative one might be read as name=source.
        with frames_from(path.absolute(), live=False) as frames:
            for frame in frames:
                if frame.index % step:
                    continue
                boxes = self.detect(frame.pixels)
                refusals = [self.judge(frame.pixels, box) for box in boxes]
                tally.count(refusals)
                if refusals != [None]:
                    continue
                found.append(self._example(frame.pixels, boxes[0]))
                if len(found) > CANDIDATES:
                    found, step = found[::2], 2 * step
        if not found:
            raise BadValue(f"no frame of {path} shows exactly one good face: {tally}")
        return found


@dataclass(slots=True)
class _Tally:
    """Why frames could not be used."""

    frames: int = 0
    none: int = 0
    several: int = 0
    poor: Counter[str] = field(default_factory=Counter)

    def count(self, refusals: Sequence[Refusal | None]) -> None:
        self.frames += 1
        self.none += not refusals
        self.several += len(refusals) > 1
        if len(refusals) == 1 and refusals[0] is not None:
            self.poor[refusals[0].reason] += 1

    def __str__(self) -> str:
        if not self.frames:
            return "nothing in it can be decoded; it may have been cut short"
        reasons = "".join(f" ({reason})" for reason, _ in self.poor.most_common(1))
        return (
            f"of {self.frames}, {self.none} show none, {self.several} several, "
            f"{self.poor.total()} a poor one{reasons}"
        )


def largest_group(weights: Floats) -> Slots:
    """The rows of the largest connected part of a graph; of the first of them on a tie.

    >>> largest_group(np.array([[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]]))
    array([1, 2])
    """
    _, parts = connected_components(weights > 0, directed=False)
    return slots_where(parts == np.argmax(np.bincount(parts)))


def spread_out(squared: Floats, *, first: int, count: int) -> list[int]:
    """Up to `count` rows at different places, farthest first, from d^2 of all pairs.

    >>> line = np.array([0, 1, 5, 9, 0])
    >>> spread_out((line[:, None] - line) ** 2, first=0, count=3)
    [0, 3, 2]
    """
    chosen, gaps = [first], np.full(len(squared), np.inf)
    while True:
        gaps = np.minimum(gaps, squared[chosen[-1]])
        gaps[chosen] = 0.0
        if len(chosen) == count or not gaps.any():
            return chosen
        chosen.append(int(np.argmax(gaps)))


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
