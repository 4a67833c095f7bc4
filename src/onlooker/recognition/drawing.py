"""Sightings drawn into their frame: who, and how sure, on any background and without colour too.

Named, unsure, unknown and refused faces differ in the strokes of their box, not in colour alone.
Labels are filled, in letters that OpenCV has, and placed where they cover no other face.
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
Stretches = list[tuple[float, float]]
"""The drawn parts of an edge, as shares of its length."""
Corner = tuple[int, int]

SURE = 0.5
"""The least confidence for a solid box."""
DARK, LIGHT = (24, 24, 24), (255, 255, 255)
LONGEST = 80
"""Letters of a name that are drawn at most; what is wider than the frame loses its end."""

_FONT = cv2.FONT_HERSHEY_DUPLEX
_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D"}
    | {"æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "þ": "th", "Þ": "Th", "ð": "d", "Ð": "D"}
    | {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"}
)
"""Letters that have no accent to be removed, and what is drawn instead."""


def annotated(frame: Frame, sightings: Iterable[Sighting]) -> Pixels:
    """A copy of the frame with a box and a label for each face.

    Solid: named. Dashed, with a question mark: named, but below SURE, or by the track only.
    Corners: unknown, and whom it may be. Grey dots: too poor to be named, and why. Lines and
    letters grow with the frame.

    >>> frame = Frame("door", 0, 0.0, np.zeros((480, 640, 3), np.uint8))
    >>> face = Sighting("door", 0, 0.0, 1, FaceBox(100, 100, 80, 80), None, None)
    >>> bool(annotated(frame, [face]).any()), bool(frame.pixels.any())
    (True, False)
    """
    pixels = np.array(frame.pixels, order="C")
    faces = [
        (*_style(sighting), _area(sighting.box, pixels))
        for sighting in sightings
        if _finite(sighting.box)
    ]
    faces.sort(key=lambda face: face[0].rank)
    for style, _, area in reversed(faces):  # the best known are drawn last, and labeled first
        _draw_box(pixels, area, style)
    labels: list[Area] = []
    for at, (style, text, area) in enumerate(faces):
        others = [other for place, (_, _, other) in enumerate(faces) if place != at]
        labels.append(draw_label(pixels, area, style.colour, text, labels, others))
    return pixels


# ---- the style of a box


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
class _BoxStyle:
    rank: int
    colour: Colour
    stretches: Callable[[float], Stretches]
    """From the length of an edge, in line widths."""


# Okabe and Ito's colours, which the colour-blind tell apart too.
NAMED = _BoxStyle(0, (115, 158, 0), _solid)
UNSURE = _BoxStyle(1, (0, 159, 230), _dashed)
NOBODY = _BoxStyle(2, (233, 180, 86), _corners)
REFUSED = _BoxStyle(3, (190, 190, 190), _dotted)


def _style(sighting: Sighting) -> tuple[_BoxStyle, str]:
    """How the box is drawn, and what is written on the label."""
    answer = sighting.answer
    if sighting.refusal is not None:
        return REFUSED, plain(sighting.refusal.reason)
    if sighting.name is None:
        candidate = answer.candidate if answer is not None else None
        return NOBODY, "unknown" if candidate is None else f"unknown, maybe {plain(candidate)}"
    name = plain(sighting.name)
    if answer is None or answer.label != sighting.name:
        return UNSURE, f"{name}?"
    if answer.confidence < SURE:
        return UNSURE, f"{name}? {answer.confidence:.0%}"
    return NAMED, f"{name} {answer.confidence:.0%}"


# ---- boxes


def _finite(box: FaceBox) -> bool:
    return all(math.isfinite(side) for side in (box.left, box.top, box.width, box.height))


def _area(box: FaceBox, pixels: Pixels) -> Area:
    """The box in whole pixels, as much of it as is inside the frame."""
    height, width = pixels.shape[:2]
    left, right = (min(max(x, 0.0), width - 1) for x in (box.left, box.left + box.width))
    top, bottom = (min(max(y, 0.0), height - 1) for y in (box.top, box.top + box.height))
    return round(left), round(top), round(right), round(bottom)


def _draw_box(pixels: Pixels, area: Area, style: _BoxStyle) -> None:
    width = line_width(pixels)
    lines = list(_lines(area, style, width))
    for colour, thickness in ((DARK, width + 2 * max(1, width // 2)), (style.colour, width)):
        for start, end in lines:
            cv2.line(pixels, start, end, colour, thickness, cv2.LINE_AA)


def _lines(area: Area, style: _BoxStyle, width: int) -> Iterator[tuple[Corner, Corner]]:
    left, top, right, bottom = area
    corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    for a, b in pairwise(corners):
        for first, last in style.stretches(math.dist(a, b) / width):
            yield _between(a, b, first), _between(a, b, last)


def _between(a: Corner, b: Corner, share: float) -> Corner:
    return round(a[0] + share * (b[0] - a[0])), round(a[1] + share * (b[1] - a[1]))


def line_width(pixels: Pixels) -> int:
    """Of a box, in pixels; it grows with the frame."""
    return max(1, round(int(pixels.shape[0]) / 240))


# ---- labels


def draw_label(
    pixels: Pixels,
    area: Area,
    colour: Colour,
    text: str,
    labels: Sequence[Area],
    others: Sequence[Area],
) -> Area:
    """Draw text on a filled label; where it was placed."""
    scale = max(0.35, pixels.shape[0] / 900)
    weight = max(1, round(1.7 * scale))
    text, (wide, high) = _fitted(text, scale, weight, pixels.shape[1])
    pad = max(2, high // 2)
    label = _place(area, (wide + 2 * pad, high + 2 * pad), pixels, labels, others)
    left, top, right, bottom = label
    cv2.rectangle(pixels, (left, top), (right - 1, bottom - 1), colour, cv2.FILLED)
    cv2.rectangle(pixels, (left, top), (right - 1, bottom - 1), DARK, 1)
    at = (left + pad, bottom - pad)
    cv2.putText(pixels, text, at, _FONT, scale, _ink(colour), weight, cv2.LINE_AA)
    return label


def _ink(colour: Colour) -> Colour:
    blue, green, red = colour
    return DARK if 0.114 * blue + 0.587 * green + 0.299 * red > 110 else LIGHT


def _fitted(text: str, scale: float, weight: int, room: int) -> tuple[str, tuple[int, int]]:
    """The text, shortened until the frame is wide enough, and its size."""
    length = len(text)
    while True:
        shown = text if length == len(text) else text[:length] + "..."
        (wide, high), _ = cv2.getTextSize(shown, _FONT, scale, weight)
        if wide + 2 * high <= room or length <= 1:
            return shown, (wide, high)
        length -= 1


def _place(
    area: Area,
    size: tuple[int, int],
    pixels: Pixels,
    labels: Sequence[Area],
    others: Sequence[Area],
) -> Area:
    """Above, below or inside its face: the first place in the frame that covers no other one."""
    (wide, high), (height, width) = size, pixels.shape[:2]
    left = max(0, min(area[0], width - wide))
    gap = line_width(pixels)
    tops = [area[1] - high - gap, area[3] + gap, area[1] + gap, area[3] - high - gap]
    places = [(left, top, left + wide, top + high) for top in tops if 0 <= top <= height - high]
    return min(
        places or [(left, 0, left + wide, high)],
        key=lambda place: (_overlaps(place, labels), _overlaps(place, others)),
    )


def _overlaps(area: Area, others: Sequence[Area]) -> bool:
    return any(
        area[0] < other[2] and other[0] < area[2] and area[1] < other[3] and other[1] < area[3]
        for other in others
    )


def plain(name: str) -> str:
    """A name in the letters OpenCV can draw: accents are removed, the rest is a question mark.

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
