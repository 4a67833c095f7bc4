"""`onlooker calibrate`: bandwidth and cutoff from faces of strangers."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from onlooker.cli.options import (
    DetectorOption,
    FeaturesOption,
    ModelOption,
    PeopleOption,
    VerticesOption,
    one_line,
)
from onlooker.cli.recognizers import existing_folder, finder_from
from onlooker.cli.settings import settings
from onlooker.core.checks import Floats, Rows
from onlooker.core.errors import BadValue
from onlooker.core.similarity import squared_distances_of_all
from onlooker.experiments.datasets.facebank import Face, find_faces
from onlooker.experiments.datasets.manifest import Picture
from onlooker.experiments.report.plots import FORMATS, save_trade_off
from onlooker.recognition.enrolment import people_in
from onlooker.video.image_files import SUFFIXES
from onlooker.vision.calibration import Calibration, calibrate
from onlooker.vision.finder import FaceFinder

MOST = 5000
"""Strangers that are looked at: all pairs of them are compared."""

StrangersArgument = Annotated[
    Path,
    typer.Argument(
        metavar="STRANGERS",
        help="A folder of pictures, everybody in it a different person.",
        show_default=False,
    ),
]
RateOption = Annotated[
    float,
    typer.Option("--rate", help="Of strangers that may come near a kept face.", min=1e-9, max=0.5),
]
PlotOption = Annotated[
    Path, typer.Option("--plot", metavar="FILE", help="Where the trade-off is drawn.")
]


def calibrate_command(
    strangers: StrangersArgument,
    rate: RateOption = 0.001,
    people: PeopleOption = None,
    features: FeaturesOption = None,
    model: ModelOption = None,
    vertices: VerticesOption = None,
    detector: DetectorOption = None,
    plot: PlotOption = Path("calibration.svg"),
) -> None:
    """Choose bandwidth and cutoff so that strangers stay strangers, and draw the trade-off.

    The rate is the share of strangers that come near enough to be named by a learner whose budget
    of faces is full. With --people, a folder of pictures by name, the plot also shows how many
    pairs of the same person the cutoff links.

    Example: onlooker calibrate strangers/ --rate 0.001 --features embedding --model sface
    """
    if plot.suffix not in FORMATS:
        raise typer.BadParameter(f"{plot} must end in {' or '.join(FORMATS)}")
    if plot.is_dir():
        raise typer.BadParameter(f"cannot draw {plot}: {plot} is a folder")
    if not plot.absolute().parent.is_dir():
        raise typer.BadParameter(f"cannot draw {plot}: make {plot.parent} first")
    chosen = settings(features=features, model=model, vertices=vertices, detector=detector)
    finder = finder_from(chosen)
    files = _pictures_in(existing_folder(strangers, "pictures of strangers"))
    found = find_faces(_as_pictures(files), finder)
    usable = [(file, vector) for file, vector in zip(files, map(_largest, found), strict=True)]
    good = [(file, vector) for file, vector in usable if vector is not None]
    if not good:
        raise BadValue(f"none of the {len(files)} pictures in {strangers} shows a usable face")
    friends = None if people is None else _friends(people, finder)
    with Console(stderr=True).status("comparing all pairs"):
        result = calibrate(
            np.array([vector for _, vector in good]),
            finder.features.distance,
            rate=rate,
            vertices=chosen["vertices"],
        )
    save_trade_off(plot, result, friends)
    _tell(result, [file for file, _ in good], len(files), rate, plot)


def _pictures_in(folder: Path) -> list[Path]:
    files = sorted(
        file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file()
    )
    if not files:
        raise BadValue(f"there is no picture in {folder}")
    if len(files) > MOST:  # evenly from all over the folder, always the same ones
        files = [files[int(at)] for at in np.linspace(0, len(files) - 1, MOST)]
    return files


def _as_pictures(files: Sequence[Path]) -> list[Picture]:
    return [Picture("strangers", "", None, at, file) for at, file in enumerate(files)]


def _largest(faces: Sequence[Face]) -> Rows | None:
    return faces[0].vector if faces else None


def _friends(folder: Path, finder: FaceFinder) -> Floats:
    """Distances between pictures of the same person, of everybody in the folder."""
    files = [
        (name, file)
        for name, some in people_in(existing_folder(folder)).items()
        for file in some
        if file.suffix.lower() in SUFFIXES
    ]
    faces: dict[str, list[Rows]] = {}
    found = find_faces(_as_pictures([file for _, file in files]), finder)
    for (name, _), vector in zip(files, map(_largest, found), strict=True):
        if vector is not None:
            faces.setdefault(name, []).append(vector)
    gaps: list[Floats] = []
    for good in faces.values():
        squared = squared_distances_of_all(finder.features.distance, np.array(good))
        gaps.append(np.sqrt(squared[np.triu_indices(len(good), 1)]))
    if not any(map(len, gaps)):
        raise BadValue(f"nobody in {folder} has two pictures with a usable face")
    return np.concatenate(gaps)


def _tell(
    found: Calibration, files: Sequence[Path], pictures: int, rate: float, plot: Path
) -> None:
    """The choice as JSON on stdout; for people, on stderr."""
    print(
        json.dumps(
            {
                "bandwidth": found.bandwidth,
                "cutoff": found.cutoff,
                "rate": found.rate,
                "asked_rate": rate,
                "strangers": found.strangers,
                "plot": str(plot),
            }
        )
    )
    words = [
        f"{found.strangers} strangers in {pictures} pictures "
        f"({len(found.doubles)} left out: they are in there twice)",
        f"put into the settings file:\n  bandwidth = {found.bandwidth:g}\n"
        f"  cutoff = {found.cutoff:g}",
        f"expected: {found.rate:.2g} of all strangers come near a kept face (asked: {rate:g})",
    ]
    if rate < found.least_rate:
        words.append(
            f"careful: so few strangers cannot vouch for a rate below {found.least_rate:.2g}"
        )
    words.append("the nearest pairs; if they show one person, remove one and calibrate again:")
    words += [
        f"  {gap:.3f}  {one_line(files[one])}  {one_line(files[other])}"
        for gap, one, other in found.closest
    ]
    words.append(f"the trade-off: {plot}")
    print("\n".join(words), file=sys.stderr)
