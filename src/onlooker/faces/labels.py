"""Words on a picture: in letters that OpenCV has, on a filled label, where they hide nobody."""

import unicodedata
from collections.abc import Sequence

import cv2

from onlooker.faces.records import Pixels

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
