"""Sightings drawn into their frame: who, and how sure, on any background and without colour too.

Words on a picture: in letters that OpenCV has, on a filled label, where they hide nobody.
"""

import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np

from onlooker.vision.types import FaceBox, Frame, Pixels, Sighting

Colour = tuple[int, int, int]
"""Blue, green, red."""
Area = tuple[int, int, int, int]
"""Left, top, right, bottom."""

DARK, LIGHT = (24, 24, 24), (255, 255, 255)
LONGEST = 80
"""Letters of a name that are tried; what is wider than the frame loses its end."""

_FONT = cv2.FONT_HERSHEY_DUPLEX
_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D"}
    | {"æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "þ": "th", "Þ": "Th", "ð": "d", "Ð": "D"}
    | {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"}
)
"""What has no accent to take off."""


def plain(name: str) -> str:
    """A name in the letters OpenCV can draw: accents come off, the rest becomes a question mark.

    >>> plain("Zoë Łukasz"), plain("Ana 😀😀"), plain("a\\nb")
    ('Zoe Lukasz', 'Ana ?', 'a?b')
    """
    letters = unicodedata.normalize("NFKD", name[:LONGEST].translate(_LETTERS))
    result = ""
    for letter in letters:
        if " " <= letter <= "~":
            result += letter
        elif not unicodedata.combining(letter) and not result.endswith("?"):
            result += "?"
    return result


def line_width(pixels: Pixels) -> int:
    """It grows with the frame."""
    return max(1, round(int(pixels.shape[0]) / 240))


def draw_label(
    pixels: Pixels,
    area: Area,
    colour: Colour,
    words: str,
    labels: Sequence[Area],
    others: Sequence[Area],
) -> Area:
    """Words on a filled label, and where it came to be."""
    scale = max(0.35, pixels.shape[0] / 900)
    weight = max(1, round(1.7 * scale))
    words, (wide, high) = _fitted(words, scale, weight, pixels.shape[1])
    pad = max(2, high // 2)
    label = _place(area, (wide + 2 * pad, high + 2 * pad), pixels, labels, others)
    left, top, right, bottom = label
    cv2.rectangle(pixels, (left, top), (right - 1, bottom - 1), colour, cv2.FILLED)
    cv2.rectangle(pixels, (left, top), (right - 1, bottom - 1), DARK, 1)
    at = (left + pad, bottom - pad)
    cv2.putText(pixels, words, at, _FONT, scale, _ink(colour), weight, cv2.LINE_AA)
    return label


def _ink(colour: Colour) -> Colour:
    blue, green, red = colour
    return DARK if 0.114 * blue + 0.587 * green + 0.299 * red > 110 else LIGHT


def _fitted(words: str, scale: float, weight: int, room: int) -> tuple[str, tuple[int, int]]:
    """The words, shortened until the frame is wide enough, and their size."""
    kept = len(words)
    while True:
        shown = words if kept == len(words) else words[:kept] + "..."
        (wide, high), _ = cv2.getTextSize(shown, _FONT, scale, weight)
        if wide + 2 * high <= room or kept <= 1:
            return shown, (wide, high)
        kept -= 1


def _place(
    area: Area,
    size: tuple[int, int],
    pixels: Pixels,
    labels: Sequence[Area],
    others: Sequence[Area],
) -> Area:
    """Above, below or inside its face: the first place in the frame that hides nobody else."""
    (wide, high), (height, width) = size, pixels.shape[:2]
    left = max(0, min(area[0], width - wide))
    gap = line_width(pixels)
    tops = [area[1] - high - gap, area[3] + gap, area[1] + gap, area[3] - high - gap]
    places = [(left, top, left + wide, top + high) for top in tops if 0 <= top <= height - high]
    return min(
        places or [(left, 0, left + wide, high)],
        key=lambda place: (_meets(place, labels), _meets(place, others)),
    )


def _meets(area: Area, others: Sequence[Area]) -> bool:
    return any(
        area[0] < other[2] and other[0] < area[2] and area[1] < other[3] and other[1] < area[3]
        for other in others
    )


SURE = 0.5
"""The least confidence for a solid box."""
Stretches = list[tuple[float, float]]
"""The drawn parts of an edge, as shares of its length."""
Corner = tuple[int, int]


def annotated(frame: Frame, sightings: Iterable[Sighting]) -> Pixels:
    """A copy of the frame with a box and a label for each face.

    Solid: named. Dashed, with a question mark: named, but below SURE, or by the track only.
    Corners: nobody we know. Grey dots: too poor to be named, and why. Lines and letters grow
    with the frame.

    >>> frame = Frame("door", 0, 0.0, np.zeros((480, 640, 3), np.uint8))
    >>> face = Sighting("door", 0, 0.0, 1, FaceBox(100, 100, 80, 80), None, None)
    >>> bool(annotated(frame, [face]).any()), bool(frame.pixels.any())
    (True, False)
    """
    pixels = np.array(frame.pixels, order="C")
    faces = [
        (*_look(sighting), _area(sighting.box, pixels))
        for sighting in sightings
        if _finite(sighting.box)
    ]
    faces.sort(key=lambda face: face[0].rank)
    for look, _, area in reversed(faces):  # the best known are drawn last, and labeled first
        _draw_box(pixels, area, look)
    labels: list[Area] = []
    for at, (look, words, area) in enumerate(faces):
        others = [other for place, (_, _, other) in enumerate(faces) if place != at]
        labels.append(draw_label(pixels, area, look.colour, words, labels, others))
    return pixels


# ---- what a sighting looks like


def _solid(length: float) -> Stretches:
    return [(0.0, 1.0)]


def _dashed(length: float) -> Stretches:
    """An odd number of pieces, so that every corner is drawn."""
    pieces = 2 * max(1, round(length / 14)) + 1
    return [(at / pieces, (at + 1) / pieces) for at in range(0, pieces, 2)]


def _corners(length: float) -> Stretches:
    return [(0.0, 0.22), (0.78, 1.0)]


def _dotted(length: float) -> Stretches:
    pieces = max(2, round(length / 3.5))
    return [(at / pieces, at / pieces) for at in range(pieces)]


@dataclass(frozen=True, slots=True)
class _Look:
    rank: int
    colour: Colour
    stretches: Callable[[float], Stretches]
    """From the length of an edge, in line widths."""


# Okabe and Ito's colours, which the colour-blind tell apart too.
NAMED = _Look(0, (115, 158, 0), _solid)
UNSURE = _Look(1, (0, 159, 230), _dashed)
NOBODY = _Look(2, (233, 180, 86), _corners)
REFUSED = _Look(3, (190, 190, 190), _dotted)


def _look(sighting: Sighting) -> tuple[_Look, str]:
    """How the box is drawn, and what is written on the label."""
    answer = sighting.answer
    if sighting.refusal is not None:
        return REFUSED, plain(sighting.refusal.reason)
    if sighting.name is None:
        return NOBODY, "unknown"
    name = plain(sighting.name)
    if answer is None or answer.label != sighting.name:
        return UNSURE, f"{name}?"
    if answer.confidence < SURE:
        return UNSURE, f"{name}? {answer.confidence:.0%}"
    return NAMED, f"{name} {answer.confidence:.0%}"


# ---- lines


def _finite(box: FaceBox) -> bool:
    return all(math.isfinite(side) for side in (box.left, box.top, box.width, box.height))


def _area(box: FaceBox, pixels: Pixels) -> Area:
    """The box in whole pixels, as much of it as is inside the frame."""
    height, width = pixels.shape[:2]
    left, right = (min(max(x, 0.0), width - 1) for x in (box.left, box.left + box.width))
    top, bottom = (min(max(y, 0.0), height - 1) for y in (box.top, box.top + box.height))
    return round(left), round(top), round(right), round(bottom)


def _draw_box(pixels: Pixels, area: Area, look: _Look) -> None:
    width = line_width(pixels)
    lines = list(_lines(area, look, width))
    for colour, thickness in ((DARK, width + 2 * max(1, width // 2)), (look.colour, width)):
        for start, end in lines:
            cv2.line(pixels, start, end, colour, thickness, cv2.LINE_AA)


def _lines(area: Area, look: _Look, width: int) -> Iterator[tuple[Corner, Corner]]:
    left, top, right, bottom = area
    corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    for a, b in pairwise(corners):
        for first, last in look.stretches(math.dist(a, b) / width):
            yield _between(a, b, first), _between(a, b, last)


def _between(a: Corner, b: Corner, share: float) -> Corner:
    return round(a[0] + share * (b[0] - a[0])), round(a[1] + share * (b[1] - a[1]))
