"""Was this face here before? How often the right person comes first, and how long that takes.

    python -m onlooker.experiments.face_history --data DIR

Of each set, the first part of every person's frames at every camera comes first: watched by a home
that was taught the first four faces of everybody at the first camera, or nobody's; every tenth good
face is a sighting. The rest are photos to ask about, which the home has never seen. Strangers of
the dataset, each many times with a little noise, fill the sightings up to a hundred thousand. An
answer is right if the first person's most similar sighting really shows who is on the photo.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.similarity import HeatKernel
from onlooker.experiments.datasets.facebank import find_faces
from onlooker.experiments.datasets.manifest import Picture, read_dataset
from onlooker.experiments.options import at_least
from onlooker.home.home import Home
from onlooker.strangers.book import StrangerBook
from onlooker.vision.finder import FaceFinder
from onlooker.vision.scales import DEFAULT_SCALES, FACE_QUANTIZER
from onlooker.vision.types import Vector

LABELS = 4
EARLIER_SHARE = 0.6
"""Of the frames of a person at a camera."""
EVERY = 10
"""Good faces for one sighting."""
PHOTO_EVERY = 5
"""Good faces of the rest for one photo to ask about."""
NOISE = 0.02
"""Of each number of a stranger's vector, so that no two sightings are equal."""


@dataclass(frozen=True, slots=True)
class FoundRow:
    """What came of asking about all photos of a set.

    >>> FoundRow("webcams", 4, 100000, photos=50, right=48, wrong=0, nobody=2, seconds=0.3).share
    0.96
    """

    set: str
    labels: int
    sightings: int
    photos: int
    right: int
    wrong: int
    nobody: int
    """Nobody was found."""
    seconds: float
    """For one photo: the median, the vector of the photo not counted."""

    @property
    def share(self) -> float:
        """Of the photos, those whose person came first."""
        return self.right / max(1, self.photos)


@dataclass(frozen=True, slots=True, eq=False)
class ShownFace:
    """A good face of a frame, and whose it is."""

    picture: Picture
    vector: Vector


def good_faces(pictures: Sequence[Picture], finder: FaceFinder) -> list[ShownFace]:
    """The largest face of each picture, where it is good enough."""
    found = zip(pictures, find_faces(pictures, finder), strict=True)
    return [
        ShownFace(picture, faces[0].vector)
        for picture, faces in found
        if faces and faces[0].vector is not None
    ]


def earlier_and_photos(faces: Iterable[ShownFace]) -> tuple[list[ShownFace], list[ShownFace]]:
    """The first part of every person's frames at every camera, and some of the rest."""
    earlier, photos = list[ShownFace](), list[ShownFace]()
    for _, group in groupby(faces, key=lambda face: (face.picture.camera, face.picture.person)):
        own = list(group)
        border = round(EARLIER_SHARE * len(own))
        earlier += own[:border]
        photos += own[border::PHOTO_EVERY]
    return earlier, photos


def watch(home: Home, book: StrangerBook, earlier: Sequence[ShownFace], labels: int) -> list[Any]:
    """Learn from earlier faces and record sightings: who is really on each, by number less one."""
    taught, shown, truth = Counter[str](), 0, list[Any]()
    first = earlier[0].picture.camera
    with home.batch():
        for face in earlier:
            where = face.picture
            person, camera, frame = str(where.person), where.camera, where.frame
            if camera == first and taught[person] < labels:
                taught[person] += 1
                home.teach(face.vector, person)
                continue
            seen = home.observe(face.vector, camera=camera, frame=frame)
            card = None
            if seen.label is None:
                card = book.observe(face.vector, camera=camera, frame=frame)
            shown += 1
            if shown % EVERY == 0:
                home.record_sighting(
                    camera=camera, frame=frame, name=seen.label, card=card, vector=face.vector
                )
                truth.append(person)
    return truth


def fill(home: Home, crowd: NDArray[Any], count: int) -> None:
    """Sightings of strangers, each on a card of its own, up to a number of sightings."""
    rng, album = np.random.default_rng(0), home.album
    first = 10**6
    with home.database.transaction():
        for number in range(album.last_sighting(), count):
            row = number % len(crowd)
            noisy = (crowd[row] + rng.normal(size=crowd.shape[1]) * NOISE).astype(np.float32)
            vector = noisy / np.linalg.norm(noisy)
            album.record_sighting(0.0, "crowd", number, None, None, card=first + row, vector=vector)


def ask(name: str, home: Home, photos: Sequence[ShownFace], truth: Sequence[str]) -> FoundRow:
    """Ask about every photo; labels and sightings are of the home."""
    counts, seconds = Counter[str](), list[float]()
    for photo in photos:
        began = time.perf_counter()
        found = home.find_face(photo.vector)
        seconds.append(time.perf_counter() - began)
        number = found[0].best.number if found else 0
        person = truth[number - 1] if 0 < number <= len(truth) else None
        right = person == photo.picture.person
        counts["nobody" if not found else "right" if right else "wrong"] += 1
    labels = sum(known is not None for known in home.vertices().names)
    sums = counts["right"], counts["wrong"], counts["nobody"]
    middle = round(float(np.median(seconds)), 3)
    return FoundRow(name, labels, home.album.last_sighting(), len(photos), *sums, middle)


def face_history(
    data: Path, finder: FaceFinder, sightings: int, sets: Sequence[str] = ()
) -> Iterator[FoundRow]:
    """Every set with labels and without any; all of a dataset unless some are named."""
    dataset, scale = read_dataset(data), DEFAULT_SCALES[finder.kind]
    crowd = np.array([face.vector for face in good_faces(dataset.crowd, finder)])
    kernel = HeatKernel(scale.bandwidth, scale.cutoff, finder.features.distance)
    learner = OnlineHarmonicLearner(kernel, quantizer=FACE_QUANTIZER, features=finder.features.tag)
    for name in sets or dataset.recordings:
        earlier, photos = earlier_and_photos(good_faces(dataset.recording(name), finder))
        for labels in (LABELS, 0):
            with TemporaryDirectory() as folder:
                home = Home(folder, new_learner=learner.empty_copy)
                with home, StrangerBook(home) as book:
                    truth = watch(home, book, earlier, labels)
                    if len(crowd):
                        fill(home, crowd, sightings)
                    yield ask(name, home, photos, truth)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder with a manifest.csv")
    parser.add_argument("--sightings", type=at_least(1), default=100_000, help="how many")
    parser.add_argument("--sets", nargs="*", default=(), help="only these sets")
    given = parser.parse_args(arguments)
    for row in face_history(given.data, FaceFinder(), given.sightings, given.sets):
        sys.stdout.write(json.dumps({**asdict(row), "share": round(row.share, 4)}) + "\n")


if __name__ == "__main__":
    main()
