"""A dataset without faces: people are told apart by the shade of grey of their pictures.

Everything that experiments do with pictures runs on it in a moment, with known answers.
"""

from dataclasses import dataclass

import cv2
import numpy as np

from onlooker.core.similarity import Euclidean
from onlooker.vision.alignment import TEMPLATE
from onlooker.vision.finder import FaceFinder, FinderParts
from onlooker.vision.types import FaceBox

APART = 80
"""Grey levels between two people; from frame to frame a person becomes lighter by one."""


def whole_picture(pixels):
    """A detector that takes every picture for a face, with landmarks where a face has them."""
    height, width = pixels.shape[:2]
    landmarks = tuple((x * width / 112, y * height / 112) for x, y in TEMPLATE.tolist())
    return (FaceBox(0, 0, width, height, 1.0, landmarks),)


class Shade:
    """Features: the mean grey level, in tens."""

    tag = "shade"
    distance = Euclidean()

    def __call__(self, pixels, box):
        """The vector of a picture."""
        return np.array([pixels.mean() / 10], np.float32)


@dataclass(frozen=True)
class NothingRefused:
    """A gate; its text is part of the cache's names, so it is the same in every process."""

    def __call__(self, pixels, box):
        """No reason to refuse."""
        return None


def shade_finder():
    """A finder for such pictures."""
    return FaceFinder(parts=FinderParts(whole_picture, Shade(), NothingRefused()))


def write_shades(folder, people, frames, period=100):
    """Pictures of people at one camera, numbered for each person, and their manifest.

    After a period they are as dark as at first.
    """
    rows = ["set,camera,person,frame,path"]
    for at, person in enumerate(people):
        for frame in range(frames):
            path = f"{person}{frame}.png"
            shade = np.full((8, 8, 3), 10 + APART * at + frame % period, np.uint8)
            cv2.imwrite(str(folder / path), shade)
            rows.append(f"door,camera1,{person},{frame},{path}")
    (folder / "manifest.csv").write_text("\n".join(rows))
    return folder


def one_by_one(work, jobs, done):
    """An engine of experiments: here, without the start of a process for each core."""
    results = []
    for job in jobs:
        results.append(work(job))
        done()
    return results
