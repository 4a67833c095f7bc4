"""The simulated cameras as a dataset on disk, made once for each seed and then cached.

The set "V1+V2" has the first camera and then the second, because what was learned at the first is
used at the second; "VO" has three places, a camera each; "VN" has a door under the conditions of
`onlooker.simulation.conditions`; "strangers" are all people who are not
among the eight of V1, a picture each.
"""

import hashlib
import inspect
import sys
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2
import numpy as np
from rich.console import Console
from rich.progress import Progress, TaskID

from onlooker.core.checks import as_number
from onlooker.core.errors import BadValue
from onlooker.core.files import move_into_place
from onlooker.experiments.datasets.manifest import MANIFEST
from onlooker.experiments.parallel import spread
from onlooker.simulation import conditions, filming, morphing, orl, scenarios, scenery
from onlooker.simulation.filming import Truth
from onlooker.simulation.scenarios import FRAMES, scenario, strangers, write_dataset
from onlooker.vision.models import cache_folder
from onlooker.vision.types import Frame

Scene = tuple[Frame, Truth]

HOME_SET = "VN"
"""The set that the paper does not have."""
MAKERS = (orl, morphing, scenery, conditions, filming, scenarios)
"""The modules that the content of the pictures depends on."""


def simulated_datasets(seeds: int, *, frames: int | None = None) -> tuple[Path, ...]:
    """The datasets of the seeds 0, 1, and so on; those that are missing are made on all cores."""
    missing = [seed for seed in range(seeds) if not (_cache() / _key(seed, frames)).exists()]
    if missing:
        make = partial(simulated_dataset, frames=frames, quiet=len(missing) > 1)
        spread(make, missing, what="simulating cameras", cost=lambda seed: 0)
    return tuple(simulated_dataset(seed, frames=frames) for seed in range(seeds))


def simulated_dataset(
    seed: int, *, frames: int | None = None, folder: Path | None = None, quiet: bool = False
) -> Path:
    """The folder of the dataset of a seed, made first unless it is there already.

    frames: of each of the four films; 960 unless given.
    folder: where such datasets are stored, in the user's cache unless given.
    quiet: no progress bar.

    The folder's name depends on the code that makes the pictures: nothing stale is used. A dataset
    is moved to its name when it is complete, so an interrupted run leaves none that is incomplete.
    """
    place = (folder or _cache()) / _key(seed, frames)
    if not place.exists():
        _make(place, seed, frames, quiet=quiet)
    return place


def write_simulated(folder: Path, *, seed: int = 0, frames: int | None = None) -> Path:
    """The same in a given folder, which must be new or empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadValue(f"{folder} is not an empty folder; name one that is not there yet")
    _make(folder, seed, frames)
    return folder


def _make(place: Path, seed: int, frames: int | None, *, quiet: bool = False) -> None:
    """Write it beside its place, then move it; if another process was faster, use its result."""
    as_number("seed", seed, least=0, whole=True)
    sets = {
        "V1+V2": chain(*(scenario(name, seed=seed, frames=frames) for name in ("V1", "V2"))),
        "VO": scenario("VO", seed=seed, frames=frames),
        HOME_SET: scenario("VN", seed=seed, frames=frames),
        "strangers": strangers(seed),
    }
    total = sum(FRAMES.values()) if frames is None else len(FRAMES) * frames
    console = Console(stderr=True)
    bar = Progress(console=console, transient=True, disable=quiet or not console.is_terminal)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".partial-", dir=place.parent) as unfinished, bar:
            task = bar.add_task(f"simulating cameras, seed {seed}", total=total)
            made = Path(unfinished, "dataset")
            write_dataset(
                made, {name: _counted(scenes, bar, task) for name, scenes in sets.items()}
            )
            if place.is_dir():
                place.rmdir()  # it must be empty
            move_into_place(made, place)
    except OSError as error:
        if not (place / MANIFEST).is_file():
            raise BadValue(f"cannot write {place}: {error.strerror or error}") from error


def _counted(scenes: Iterator[Scene], bar: Progress, task: TaskID) -> Iterator[Scene]:
    for scene in scenes:
        yield scene
        bar.advance(task)


def _cache() -> Path:
    return cache_folder().parent / "simulated"


def _key(seed: int, frames: int | None) -> str:
    digest = hashlib.sha256(f"{np.__version__} {cv2.__version__}\n".encode())
    for module in (*MAKERS, sys.modules[__name__]):
        digest.update(inspect.getsource(module).encode())
    length = "all" if frames is None else frames
    return f"seed{seed}-{length}-{digest.hexdigest()[:16]}"
