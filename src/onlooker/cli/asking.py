"""Asking a person at a terminal who somebody is: a picture, a question, an answer."""

from pathlib import Path

import cv2
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.text import Text

from onlooker.core.errors import BadValue
from onlooker.experiments.recording import Stopped
from onlooker.vision.types import Pixels

ACROSS = 36
"""Characters; a character is two pixels high and one wide."""
SIDE = 160
"""Longest side of the picture that is kept of a face."""
STOP = "q"


class Asking:
    """Shows a face, in the terminal and as a file of its own, and asks for its name."""

    def __init__(self, folder: Path, console: Console) -> None:
        self._folder, self._console = folder, console

    def __call__(self, face: Pixels) -> str:
        """The answer; q and the end of the input stop the recording."""
        path = self._write(face)
        if self._console.is_terminal and self._console.color_system is not None:
            self._console.print(blocks(face), end="")
        self._console.print(str(path), markup=False, soft_wrap=True)
        try:
            answer = self._console.input("who is this? (name, empty for a stranger, q to stop) ")
        except EOFError:
            raise Stopped from None
        if answer.strip() == STOP:
            raise Stopped
        return answer

    def _write(self, face: Pixels) -> Path:
        """The face as a numbered file; numbers go on where an earlier run stopped."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            taken = [int(file.stem) for file in self._folder.glob("*.jpg") if file.stem.isdecimal()]
            path = self._folder / f"{max(taken, default=0) + 1:04d}.jpg"
            scale = min(1.0, SIDE / max(face.shape[:2]))
            small = cv2.resize(face, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
            path.write_bytes(cv2.imencode(".jpg", small)[1].tobytes())
        except OSError as error:
            raise BadValue(f"cannot write to {self._folder}: {error.strerror or error}") from error
        return path


def blocks(picture: Pixels, across: int = ACROSS) -> Text:
    """A picture in half-block characters: the upper pixel in front, the lower one behind.

    >>> import numpy as np
    >>> print(blocks(np.zeros((2, 4, 3), np.uint8), across=4).plain.rstrip())
    ▀▀▀▀
    """
    height, width = picture.shape[:2]
    rows = max(1, round(across * height / width / 2))
    small = cv2.resize(picture, (across, 2 * rows), interpolation=cv2.INTER_AREA).tolist()
    text = Text()
    for upper, lower in zip(small[::2], small[1::2], strict=True):
        for above, below in zip(upper, lower, strict=True):
            text.append("▀", Style(color=_colour(above), bgcolor=_colour(below)))
        text.append("\n")
    return text


def _colour(pixel: list[int]) -> Color:
    blue, green, red = pixel
    return Color.from_rgb(red, green, blue)
