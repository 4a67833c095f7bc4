"""Pictures and videos of real faces, as files for commands."""

from itertools import pairwise

import cv2
import numpy as np

from onlooker.simulation.filming import Truth
from onlooker.simulation.orl import pictures_of
from onlooker.simulation.scenarios import write_video
from onlooker.vision.types import FaceBox, Frame

WALL = np.full((480, 640), 90, np.uint8)
"""A picture without a face."""


def face_before_wall(person, number, shift=0):
    """A picture of one of the forty people, enlarged, in front of a wall."""
    face = cv2.resize(pictures_of(person)[number], (184, 224), interpolation=cv2.INTER_CUBIC)
    picture = WALL.copy()
    picture[120:344, 220 + shift : 404 + shift] = face
    return picture


def write_picture(path, picture):
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), picture)


def write_people_and_frames(root):
    """people/ has four pictures of ana and of ben, frames/ shows them and a stranger."""
    for name, person in (("ana", 1), ("ben", 2)):
        for number in range(4):
            picture = face_before_wall(person, number)
            write_picture(root / "people" / name / f"{number}.png", picture)
    for index in range(12):
        person, number = ((1, index), (2, index - 4), (5, index - 8))[index // 4]
        picture = face_before_wall(person, number, shift=index % 3)
        write_picture(root / "frames" / f"{index:03d}.png", picture)


def write_film(path, pictures):
    """A video that shows each picture for a moment."""
    truth = Truth(None, "hall", FaceBox(0, 0, 1, 1))
    shown = [np.repeat(picture[:, :, None], 3, axis=2) for picture in pictures]
    write_video(path, [(Frame("door", at, at / 25, now), truth) for at, now in enumerate(shown)])


def moving(pictures, steps=10):
    """One picture turns into the next."""
    shares = np.linspace(0, 1, steps, endpoint=False)
    return [
        (before + share * (after.astype(float) - before)).astype(np.uint8)
        for before, after in pairwise(pictures)
        for share in shares
    ]
