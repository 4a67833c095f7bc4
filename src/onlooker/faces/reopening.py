"""A home that is there already: it says itself with which features it was made."""

import re
from os import PathLike
from pathlib import Path
from typing import Any

from onlooker.core import snapshot
from onlooker.core.errors import BadValue, SnapshotError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.quantizer import ClosestPair, Doubling
from onlooker.core.similarity import Cosine, Euclidean, HeatKernel
from onlooker.faces.features import PixelFeatures
from onlooker.faces.home import Home


def reopened(folder: str | PathLike[str], **options: Any) -> Home:
    """Open a home without being told its settings; a folder that is none is refused.

    >>> reopened("no such folder")
    Traceback (most recent call last):
    ...
    onlooker.core.errors.BadValue: no such folder is not a home; `onlooker serve --home` makes one
    """
    return Home(folder, new_learner=lambda: learner_like(folder), **options)


def is_home(folder: str | PathLike[str]) -> bool:
    """Whether a folder holds a home."""
    return bool(_snapshots(Path(folder)))


def learner_like(folder: str | PathLike[str]) -> OnlineHarmonicLearner:
    """An empty learner with the settings of a home, from its newest snapshot that can be read."""
    there = _snapshots(Path(folder))
    if not there:
        raise BadValue(f"{folder} is not a home; `onlooker serve --home` makes one")
    for path in reversed(there):
        try:
            return empty_learner(path)
        except SnapshotError as error:
            problem = error
    raise problem


def empty_learner(path: Path) -> OnlineHarmonicLearner:
    """An empty learner with the settings of a saved one."""
    header: dict[str, Any] = snapshot.read(path).header
    try:
        distance = _named(header["distance"], Euclidean(), Cosine(), PixelFeatures().distance)
        quantizer = _named(header["quantizer"], ClosestPair(), Doubling())
        kernel = HeatKernel(header["bandwidth"], header["cutoff"], distance)
        names = ("sink", "max_vertices", "min_score", "features")
        settings = {name: header[name] for name in names}
        return OnlineHarmonicLearner(kernel, quantizer=quantizer, **settings)
    except (LookupError, TypeError, BadValue) as error:
        raise SnapshotError(f"{path} is not a sound learner: {error}") from error


def _named(text: object, *known: Any) -> Any:
    for one in known:
        if repr(one) == text:
            return one
    raise BadValue(f"it uses {text}, which this command does not know")


def _snapshots(folder: Path) -> list[Path]:
    found = folder.glob("snapshots/*.snapshot")
    return sorted(path for path in found if re.fullmatch(r"\d+\.snapshot", path.name))
