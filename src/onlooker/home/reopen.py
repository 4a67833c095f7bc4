"""Open a home that exists without being told its settings: its snapshots hold them.

A snapshot names its distance and does not hold it, so whoever opens the home hands in the distances
that it may use: those of the core unless told otherwise. Distances of pictures are in `vision`,
which a home does not know.
"""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from onlooker.core import snapshot
from onlooker.core.errors import BadValue, SnapshotError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.quantizer import QUANTIZERS
from onlooker.core.similarity import Cosine, Distance, Euclidean, HeatKernel
from onlooker.home.folder import SNAPSHOT_FILE
from onlooker.home.home import Home

DISTANCES: tuple[Distance, ...] = (Euclidean(), Cosine())
"""Those of the core."""


def reopen(
    folder: str | PathLike[str], distances: Iterable[Distance] = DISTANCES, **options: Any
) -> Home:
    """Open a home with the settings that it was made with; refuse a folder that is no home.

    >>> reopen("no such folder")
    Traceback (most recent call last):
    ...
    onlooker.core.errors.BadValue: no such folder is not a home; `onlooker serve --home` makes one
    """
    return Home(folder, new_learner=lambda: learner_like(folder, distances), **options)


def is_home(folder: str | PathLike[str]) -> bool:
    """Whether a folder holds a home."""
    return bool(_snapshots(Path(folder)))


def learner_like(
    folder: str | PathLike[str], distances: Iterable[Distance] = DISTANCES
) -> OnlineHarmonicLearner:
    """An empty learner with the settings of a home, from its newest snapshot that can be read."""
    there = _snapshots(Path(folder))
    if not there:
        raise BadValue(f"{folder} is not a home; `onlooker serve --home` makes one")
    for path in reversed(there):
        try:
            return empty_learner(path, distances)
        except SnapshotError as error:
            problem = error
    raise problem


def empty_learner(
    path: snapshot.Source, distances: Iterable[Distance] = DISTANCES
) -> OnlineHarmonicLearner:
    """An empty learner with the settings of a saved one."""
    header: dict[str, Any] = snapshot.read(path).header
    try:
        distance = _named(header["distance"], *distances)
        quantizer = _named(header["quantizer"], *QUANTIZERS)
        kernel = HeatKernel(header["bandwidth"], header["cutoff"], distance)
        names = ("sink", "max_vertices", "min_score", "features")
        settings = {name: header[name] for name in names}
        settings["trust_radius"] = header.get("trust_radius")  # an earlier version had none
        return OnlineHarmonicLearner(kernel, quantizer=quantizer, **settings)
    except (LookupError, TypeError, BadValue) as error:
        raise SnapshotError(f"{snapshot.name_of(path)} is not a sound learner: {error}") from error


def _named(text: object, *known: Any) -> Any:
    for one in known:
        if repr(one) == text:
            return one
    raise BadValue(f"it uses {text}, which is not among the distances handed in")


def _snapshots(folder: Path) -> list[Path]:
    found = folder.glob("snapshots/*.snapshot")
    return sorted(path for path in found if SNAPSHOT_FILE.search(path.name))
