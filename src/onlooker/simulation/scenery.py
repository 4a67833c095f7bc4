"""What surrounds a simulated face: a body, a room in the background, and a camera sensor.

Everything is grey, as the ORL pictures are: these are monochrome cameras.
"""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from onlooker.simulation.morphing import Field, Grey
from onlooker.simulation.orl import TALL, WIDE
from onlooker.vision.types import Pixels

HEIGHT, WIDTH = 480, 640
MARGIN = 80
"""Pixels by which a room exceeds the frame on each side, for other views of the same place."""

CENTER = (46.0, 57.0)
"""Middle of the head in an ORL picture: column, row."""
ANCHOR = (120.0, 72.0)
"""Where that point lies on a figure, the cut-out of head and shoulders."""
FIGURE = (270, 240)

ROOMS: dict[str, list[tuple[float, float, float, float, int]]] = {
    # left, top, right, bottom as shares of the room; grey level. The first one is the wall.
    "corridor": [
        (0, 0, 1, 1, 150), (0, 0.82, 1, 1, 95), (0.08, 0.16, 0.27, 0.82, 112),
        (0.10, 0.20, 0.25, 0.45, 135), (0.44, 0.10, 0.62, 0.30, 176), (0.74, 0.18, 0.92, 0.82, 104),
        (0.76, 0.22, 0.90, 0.46, 126), (0, 0.80, 1, 0.83, 70),
    ],
    "hall": [
        (0, 0, 1, 1, 118), (0.05, 0.06, 0.33, 0.55, 198), (0.185, 0.06, 0.195, 0.55, 90),
        (0.05, 0.30, 0.33, 0.31, 90), (0.62, 0.20, 0.96, 0.74, 84), (0.64, 0.24, 0.94, 0.38, 62),
        (0.64, 0.42, 0.94, 0.56, 70), (0.64, 0.60, 0.94, 0.72, 58), (0, 0.86, 1, 1, 78),
    ],
    "porch": [
        (0, 0, 1, 1, 132), (0, 0, 1, 0.30, 178), (0, 0.28, 0.30, 0.72, 84),
        (0.74, 0.26, 1, 0.74, 78), (0.30, 0.30, 0.74, 0.70, 150), (0.40, 0.34, 0.55, 0.68, 108),
        (0.60, 0.38, 0.70, 0.52, 90),
        (0, 0.72, 1, 1, 104), (0.36, 0.70, 0.66, 1, 138),
    ],
    "cubicle": [
        (0, 0, 1, 1, 128), (0, 0.34, 1, 1, 104), (0, 0.32, 1, 0.35, 150), (0.30, 0.34, 0.31, 1, 82),
        (0.72, 0.34, 0.73, 1, 82), (0.06, 0.46, 0.20, 0.62, 182), (0.80, 0.42, 0.94, 0.66, 48),
        (0.815, 0.44, 0.925, 0.64, 120), (0, 0.84, 1, 0.88, 140),
    ],
    "couch": [
        (0, 0, 1, 1, 162), (0, 0.58, 1, 1, 90), (0.02, 0.50, 0.98, 0.80, 72),
        (0.04, 0.62, 0.36, 0.82, 86), (0.37, 0.62, 0.66, 0.82, 84),
        (0.67, 0.62, 0.96, 0.82, 88), (0.56, 0.10, 0.84, 0.34, 120),
        (0.58, 0.12, 0.82, 0.32, 190), (0.12, 0.08, 0.16, 0.50, 110), (0.07, 0.02, 0.21, 0.14, 205),
    ],
    "conference": [
        (0, 0, 1, 1, 140), (0.10, 0.10, 0.60, 0.48, 206), (0.10, 0.47, 0.60, 0.49, 110),
        (0.70, 0.08, 0.97, 0.64, 122), (0.70, 0.20, 0.97, 0.21, 100), (0.70, 0.34, 0.97, 0.35, 100),
        (0.70, 0.48, 0.97, 0.49, 100), (0, 0.72, 1, 1, 92), (0.05, 0.70, 0.22, 0.95, 60),
        (0.78, 0.70, 0.95, 0.95, 62),
    ],
}  # fmt: skip


def room(place: str, rng: np.random.Generator) -> Grey:
    """An empty room, a little out of focus, larger than a frame.

    >>> room("corridor", np.random.default_rng(0)).shape
    (640, 800)
    """
    tall, wide = HEIGHT + 2 * MARGIN, WIDTH + 2 * MARGIN
    canvas = np.zeros((tall, wide), np.float32)
    for left, top, right, bottom, tone in ROOMS[place]:
        canvas[int(top * tall) : int(bottom * tall), int(left * wide) : int(right * wide)] = tone
    canvas = cv2.GaussianBlur(canvas, (0, 0), 4).astype(np.float32)
    stains = cv2.resize(
        rng.normal(0, 6, (9, 11)).astype(np.float32), (wide, tall), interpolation=cv2.INTER_CUBIC
    )
    grain = cv2.GaussianBlur(rng.normal(0, 9, (tall, wide)).astype(np.float32), (0, 0), 1.5)
    rows, columns = np.mgrid[-1 : 1 : tall * 1j, -1 : 1 : wide * 1j]
    lamp = 1.08 - 0.22 * ((columns - rng.uniform(-0.5, 0.5)) ** 2 + (rows + 0.7) ** 2) / 2
    lit: NDArray[np.float64] = (canvas + stains + grain) * lamp
    return np.clip(lit, 0, 255).astype(np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """Neck and shoulders of one person; `wear` puts a face on them."""

    clothes: Grey
    outline: Field

    @classmethod
    def of(cls, face: Grey, rng: np.random.Generator) -> "Body":
        """A body in a plain jumper; the neck has the tone of the face."""
        rows, columns = np.mgrid[: FIGURE[0], : FIGURE[1]].astype(np.float32)
        right, down = columns - ANCHOR[0], rows - ANCHOR[1]
        slope = 60 + 0.16 * np.abs(right) + 26 * np.abs(right / 84) ** 6
        torso = soft_step(down - slope, 0.9) * soft_step(86 + 0.05 * down - np.abs(right), 0.9)
        throat = 23 + 0.012 * np.maximum(down - 40, 0) ** 2
        neck = (
            soft_step(throat - np.abs(right), 0.9)
            * soft_step(down - 20, 2.0)
            * soft_step(84 - down, 2.0)
        )
        dressed = soft_step(down - (76 - 0.022 * right**2), 0.9)
        chin = 0.9 - 0.22 * np.exp(-(((down - 50) / 9) ** 2)) - 0.12 * (right / 24) ** 2
        skin = float(np.median(face[70:100, 34:58])) * np.clip(chin, 0.4, 1)
        arms = (
            0.25
            * np.exp(-(((np.abs(right) - 62 - 0.04 * down) / 2.5) ** 2))
            * soft_step(down - 105, 6.0)
        )
        cloth = rng.uniform(45, 135) * (1.06 - 0.3 * (right / 90) ** 2 - arms)
        folds = cv2.GaussianBlur(rng.normal(0, 70, FIGURE).astype(np.float32), (0, 0), 8, sigmaY=14)
        weave = cv2.GaussianBlur(rng.normal(0, 6, FIGURE).astype(np.float32), (0, 0), 0.8)
        tone = dressed * (cloth + folds + weave) + (1 - dressed) * skin
        outline = np.maximum(torso, neck)
        return cls(np.clip(tone, 0, 255).astype(np.uint8), outline.astype(np.float32))

    def wear(self, face: Grey, shown: Field | None = None) -> tuple[Grey, Field]:
        """The whole figure, and its opacity at each point.

        shown: how much of each point of the picture belongs to the head; all of it unless given.
        """
        head = cv2.remap(face, _HEAD_COLUMNS, _HEAD_ROWS, cv2.INTER_LINEAR)
        oval = _HEAD
        if shown is not None:
            oval = _HEAD * cv2.remap(shown, _HEAD_COLUMNS, _HEAD_ROWS, cv2.INTER_LINEAR)
        figure = cv2.blendLinear(head, self.clothes, oval, 1 - oval)
        return figure.astype(np.uint8), np.maximum(self.outline, oval)


class Sensor:
    """Exposure and noise; the result has three channels."""

    def __init__(self, rng: np.random.Generator, noise: float) -> None:
        self._rng = rng
        self._noise = (
            rng.normal(0, noise, (HEIGHT + MARGIN, WIDTH + MARGIN)).round().astype(np.int8)
        )

    def __call__(self, scene: Grey, gain: float) -> Pixels:
        """A frame in OpenCV's format."""
        top, left = self._rng.integers(MARGIN, size=2).tolist()
        noise = self._noise[top : top + HEIGHT, left : left + WIDTH]
        lit = cv2.convertScaleAbs(scene, alpha=gain)
        grey = cv2.add(lit, noise, dtype=cv2.CV_8U)
        return cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR).astype(np.uint8, copy=False)


def soft_step(inside: NDArray[np.floating[Any]], width: float) -> NDArray[np.float32]:
    """A smooth step from 0 outside to 1 inside, over a few pixels."""
    return np.asarray(1 / (1 + np.exp(-np.clip(inside / width, -30, 30))), np.float32)


def _head() -> tuple[Field, Field, Field]:
    """A soft oval, and from where in the picture each of its points comes.

    Outside the solid part the oval repeats the tone at its edge, so that hair which the picture
    cuts off goes on for a little and then fades.
    """
    rows, columns = np.mgrid[: FIGURE[0], : FIGURE[1]].astype(np.float32)
    right, down = (columns - ANCHOR[0]) / 41, (rows - ANCHOR[1]) / 53
    radius = np.hypot(right, down)
    inward = 1 / np.maximum(radius, 1)
    source_columns = np.clip(CENTER[0] + 41 * right * inward, 0, WIDE - 1)
    source_rows = np.clip(CENTER[1] + 53 * down * inward, 0, TALL - 1)
    fade = np.clip((1.12 - radius) / 0.17, 0, 1)
    oval = fade * fade * (3 - 2 * fade)
    return (
        oval.astype(np.float32),
        source_columns.astype(np.float32),
        source_rows.astype(np.float32),
    )


_HEAD, _HEAD_COLUMNS, _HEAD_ROWS = _head()
