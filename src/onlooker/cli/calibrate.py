"""`onlooker calibrate`: bandwidth and cutoff from faces of strangers."""

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
    ProviderOption,
    VerticesOption,
)
from onlooker.cli.output import one_line, print_row
from onlooker.cli.recognizers import existing_folder, finder_from
from onlooker.cli.settings import load_settings
from onlooker.core.checks import Floats, Rows
from onlooker.core.errors import BadValue
from onlooker.core.similarity import squared_distances_of_all
from onlooker.experiments.datasets.facebank import BankedFace, find_faces
from onlooker.experiments.datasets.manifest import Picture
from onlooker.recognition.enrolment import people_in
from onlooker.video.image_files import SUFFIXES
from onlooker.vision.calibration import CLIFF, Calibration, calibrate
from onlooker.vision.finder import FaceFinder

MAX_PICTURES = 5000
"""Pictures of strangers that are used, because all pairs of them are compared."""
AROUND = (20, 5, 2, 1, 1 / 2, 1 / 5)
"""Cutoffs at which the chains are reported, as multiples of the cliff."""

StrangersArgument = Annotated[
    Path,
    typer.Argument(
        metavar="STRANGERS",
        help="A folder of pictures, each of a different person.",
        show_default=False,
    ),
]
RateOption = Annotated[
    float,
    typer.Option(
        "--rate", help="Share of strangers that may be close to a stored face.", min=1e-9, max=0.5
    ),
]
PlotOption = Annotated[
    Path, typer.Option("--plot", metavar="FILE", help="Where the plot is written.")
]


def calibrate_command(
    strangers: StrangersArgument,
    rate: RateOption = 0.001,
    people: PeopleOption = None,
    features: FeaturesOption = None,
    model: ModelOption = None,
    provider: ProviderOption = None,
    vertices: VerticesOption = None,
    detector: DetectorOption = None,
    plot: PlotOption = Path("calibration.svg"),
) -> None:
    """Choose bandwidth and cutoff so that strangers stay strangers, and plot the trade-off.

    The rate is the share of strangers that come close enough to be named by a learner that stores
    as many faces as it may. A stranger who is named is stored too, and the next one may be close to
    that: beyond some cutoff, the cliff, such chains reach nearly everybody. The chosen cutoff is at
    least 50 times that of the cliff. Both hold for as many strangers as you give. With --people, a
    folder of pictures by name, the plot also shows how many pairs of the same person the cutoff
    links.

    Example: onlooker calibrate strangers/ --rate 0.001 --features embedding --model sface
    """
    from onlooker.experiments.report.plots import FORMATS, save_trade_off  # imports matplotlib

    if plot.suffix not in FORMATS:
        raise typer.BadParameter(f"{plot} must end in {' or '.join(FORMATS)}")
    if plot.is_dir():
        raise typer.BadParameter(f"cannot write {plot}: {plot} is a folder")
    if not plot.absolute().parent.is_dir():
        raise typer.BadParameter(f"cannot write {plot}: make {plot.parent} first")
    chosen = load_settings(
        features=features, model=model, provider=provider, vertices=vertices, detector=detector
    )
    finder = finder_from(chosen)
    files = _pictures_in(existing_folder(strangers, "pictures of strangers"))
    found = find_faces(_as_pictures(files), finder)
    usable = [(file, vector) for file, vector in zip(files, map(_largest, found), strict=True)]
    good = [(file, vector) for file, vector in usable if vector is not None]
    if not good:
        raise BadValue(f"none of the {len(files)} pictures in {strangers} shows a usable face")
    same_person = None if people is None else _same_person_distances(people, finder)
    with Console(stderr=True).status("comparing all pairs"):
        result = calibrate(
            np.array([vector for _, vector in good]),
            finder.features.distance,
            rate=rate,
            vertices=chosen["vertices"],
        )
    save_trade_off(plot, result, same_person)
    _print_result(result, [file for file, _ in good], len(files), rate, plot)


def _pictures_in(folder: Path) -> list[Path]:
    files = sorted(
        file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file()
    )
    if not files:
        raise BadValue(f"there is no picture in {folder}")
    if len(files) > MAX_PICTURES:  # evenly spaced, so the same ones every time
        files = [files[int(at)] for at in np.linspace(0, len(files) - 1, MAX_PICTURES)]
    return files


def _as_pictures(files: Sequence[Path]) -> list[Picture]:
    return [Picture("strangers", "", None, at, file) for at, file in enumerate(files)]


def _largest(faces: Sequence[BankedFace]) -> Rows | None:
    return faces[0].vector if faces else None


def _same_person_distances(folder: Path, finder: FaceFinder) -> Floats:
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


def _print_result(
    found: Calibration, files: Sequence[Path], pictures: int, rate: float, plot: Path
) -> None:
    """The result as JSON on stdout, and as text on stderr."""
    print_row(
        bandwidth=found.bandwidth,
        cutoff=found.cutoff,
        rate=found.rate,
        asked_rate=rate,
        cliff=found.cliff,
        margin=found.margin,
        chains=_chains(found),
        strangers=found.strangers,
        plot=str(plot),
    )
    text = [
        f"{found.strangers} strangers in {pictures} pictures "
        f"({len(found.doubles)} left out as duplicates)",
        f"put into the settings file:\n  bandwidth = {found.bandwidth:g}\n"
        f"  cutoff = {found.cutoff:g}",
        f"expected: {found.rate:.2g} of strangers are close to a stored face (wanted: {rate:g})",
    ]
    if rate < found.least_rate:
        text.append(
            f"warning: so few strangers say nothing about a rate below {found.least_rate:.2g}"
        )
    text += _about_chains(found)
    text.append(
        "the closest pairs; if a pair shows one person, remove one picture and calibrate again:"
    )
    text += [
        f"  {gap:.3f}  {one_line(files[one])}  {one_line(files[other])}"
        for gap, one, other in found.closest
    ]
    text.append(f"plot: {plot}")
    print("\n".join(text), file=sys.stderr)


def _chains(found: Calibration) -> list[dict[str, float]]:
    """The shares named at some cutoffs around the cliff; none where there is no cliff."""
    if found.cliff is None:
        return []
    rows = []
    for cutoff in (found.cliff * factor for factor in AROUND if found.cliff * factor < 1):
        named, direct = found.chains.shares_at(found.reach_at(cutoff))
        rows.append({"cutoff": cutoff, "named": named, "direct": direct})
    return rows


def _about_chains(found: Calibration) -> list[str]:
    """The cliff in words."""
    if found.cliff is None or found.margin is None:
        return [f"chains of these {found.strangers} strangers reach nobody, with any cutoff"]
    return [
        f"the cliff is at cutoff {found.cliff:.2g}: beyond it, more than {CLIFF:.0%} of strangers "
        f"are named, most of them through chains of others; the cutoff above is {found.margin:.0f} "
        "times that",
        f"shares named when {found.strangers} strangers come by (more would chain earlier):",
        *(
            f"  cutoff {row['cutoff']:.2g}: {row['named']:.2g}, without chains {row['direct']:.2g}"
            for row in _chains(found)
        ),
    ]
