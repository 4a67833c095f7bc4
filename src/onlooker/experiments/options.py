"""Types of command-line arguments: a wrong one is refused before the experiment runs.

A run may take minutes, and must not end with "no such folder".
"""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from onlooker.experiments.report.plots import FORMATS


def at_least(least: int) -> Callable[[str], int]:
    """A type for whole numbers of at least `least`.

    >>> at_least(1)("300")
    300
    """

    def whole_number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a whole number of at least {least}"
            ) from None
        return value

    return whole_number


def output_file(text: str) -> Path:
    """A file that can be written.

    >>> output_file("no/such/folder/digits.json")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: cannot write no/such/folder/digits.json: make no/such/folder first
    """
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write {path}: make {path.parent} first")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"cannot write {path}: choose another place")
    return path


def figure_file(text: str) -> Path:
    """A file that can be written, with the suffix of a format that we draw.

    >>> figure_file("digits.svg").suffix
    '.svg'
    """
    path = output_file(text)
    if path.suffix not in FORMATS:
        raise argparse.ArgumentTypeError(
            f"cannot draw {path}: the name must end in {' or '.join(FORMATS)}"
        )
    return path
