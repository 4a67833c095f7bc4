"""`onlooker calibrate`: bandwidth and cutoff from strangers, a trust radius from known people."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from onlooker.cli.homes import open_existing
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
from onlooker.home.separation import (
    DoubtfulFace,
    PeoplePair,
    Separation,
    separation,
)
from onlooker.recognition.enrolment import people_in
from onlooker.video.image_files import SUFFIXES
from onlooker.vision.calibration import CLIFF, Calibration, calibrate
from onlooker.vision.finder import FaceFinder, kind_of
from onlooker.vision.scales import Scale, auto_radius

MAX_PICTURES = 5000
"""Pictures of strangers that are used, because all pairs of them are compared."""
AROUND = (20, 5, 2, 1, 1 / 2, 1 / 5)
"""Cutoffs at which the chains are reported, as multiples of the cliff."""

StrangersArgument = Annotated[
    Path | None,
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
KnownOption = Annotated[
    Path | None,
    typer.Option(
        "--home", metavar="DIR", help="Compare the people of this home, instead of strangers."
    ),
]


def calibrate_command(
    strangers: StrangersArgument = None,
    rate: RateOption = 0.001,
    people: PeopleOption = None,
    features: FeaturesOption = None,
    model: ModelOption = None,
    provider: ProviderOption = None,
    vertices: VerticesOption = None,
    detector: DetectorOption = None,
    plot: PlotOption = Path("calibration.svg"),
    home: KnownOption = None,
) -> None:
    """Choose bandwidth and cutoff so that strangers stay strangers, and plot the trade-off.

    The rate is the share of strangers that come close enough to be named by a learner that stores
    as many faces as it may. A stranger who is named is stored too, and the next one may be close to
    that: beyond some cutoff, the cliff, such chains reach nearly everybody. The chosen cutoff is at
    least 50 times that of the cliff. Both hold for as many strangers as you give. With --people, a
    folder of pictures by name, the plot also shows how many pairs of the same person the cutoff
    links.

    With --home, and without strangers: how far are the people of a home from each other? Names who
    is too alike, proposes a trust radius, and says of which faces it helps to say who they are not.
    Nothing is changed.

    Example: onlooker calibrate strangers/ --rate 0.001 --features embedding --model sface

    Example: onlooker calibrate --home home/ --plot people.svg
    """
    if (home is None) == (strangers is None):
        raise typer.BadParameter(
            "give a folder of STRANGERS, or --home DIR to compare the people of a home; not both"
        )
    from onlooker.experiments.report.plots import (  # imports matplotlib
        FORMATS,
        save_separation,
        save_trade_off,
    )

    if plot.suffix not in FORMATS:
        raise typer.BadParameter(f"{plot} must end in {' or '.join(FORMATS)}")
    if plot.is_dir():
        raise typer.BadParameter(f"cannot write {plot}: {plot} is a folder")
    if not plot.absolute().parent.is_dir():
        raise typer.BadParameter(f"cannot write {plot}: make {plot.parent} first")
    if strangers is None:
        known = _separation(home)
        save_separation(plot, known)
        _print_separation(known, plot)
        return
    chosen = load_settings(
        features=features, model=model, provider=provider, vertices=vertices, detector=detector
    )
    finder = finder_from(chosen)
    files = _pictures_in(existing_folder(strangers, "pictures of strangers"))
    known_files = [] if people is None else _pictures_by_name(people)
    found = find_faces(_as_pictures(files), finder)
    usable = [(file, vector) for file, vector in zip(files, map(_largest, found), strict=True)]
    good = [(file, vector) for file, vector in usable if vector is not None]
    if not good:
        raise BadValue(f"none of the {len(files)} pictures in {strangers} shows a usable face")
    same_person = _same_person_distances(known_files, finder) if known_files else None
    if same_person is not None and not len(same_person):
        raise BadValue(f"nobody in {people} has two pictures with a usable face")
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


def _pictures_by_name(folder: Path) -> list[tuple[str, Path]]:
    return [
        (name, file)
        for name, some in people_in(existing_folder(folder)).items()
        for file in some
        if file.suffix.lower() in SUFFIXES
    ]


def _same_person_distances(files: Sequence[tuple[str, Path]], finder: FaceFinder) -> Floats:
    """Distances between pictures of the same person, of everybody."""
    faces: dict[str, list[Rows]] = {}
    found = find_faces(_as_pictures([file for _, file in files]), finder)
    for (name, _), vector in zip(files, map(_largest, found), strict=True):
        if vector is not None:
            faces.setdefault(name, []).append(vector)
    gaps: list[Floats] = []
    for good in faces.values():
        squared = squared_distances_of_all(finder.features.distance, np.array(good))
        gaps.append(np.sqrt(squared[np.triu_indices(len(good), 1)]))
    return np.concatenate([np.zeros(0), *gaps])


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


# ---- the people of a home


def _separation(home: Path | None) -> Separation:
    with open_existing(home) as opened:
        learner = opened.learner
    if not learner.names:
        raise BadValue(f"nobody has a name in {home}; name somebody first, with `onlooker enroll`")
    with Console(stderr=True).status("comparing everybody"):
        return separation(
            learner, most=auto_radius(kind_of(learner.features), Scale.of(learner.kernel))
        )


def _print_separation(found: Separation, plot: Path) -> None:
    """A row a pair and a row of all as JSON on stdout, and words on stderr."""
    for pair in found.pairs:
        print_row(**asdict(pair))
    print_row(
        people=[asdict(person) for person in found.people],
        reach=found.reach,
        trust_radius=found.trust_radius,
        proposed=found.proposed,
        plot=str(plot),
    )
    text = [one_line(each) for each in separation_in_words(found)]
    print("\n".join([*text, f"plot: {plot}"]), file=sys.stderr)


def separation_in_words(found: Separation) -> list[str]:
    """What a person should know and do.

    >>> from onlooker.home.separation import PersonSpread
    >>> separation_in_words(Separation((PersonSpread("ana", 4, 0.3, ()),), (), 0.91, None, None))
    ['only ana has a name here: there is nobody to tell apart']
    """
    if len(found.people) == 1:
        text = [f"only {found.people[0].name} has a name here: there is nobody to tell apart"]
    else:
        nearest = found.pairs[0]
        text = [
            f"{len(found.people)} people; the nearest two are {nearest.first} and "
            f"{nearest.second}, {nearest.nearest.distance:.3f} apart (faces nearer than "
            f"{found.reach:.3f} are linked)"
        ]
        text += [said for pair in found.too_alike for said in _about_pair(pair)]
        if not found.too_alike:
            text.append("no two people are too alike")
        text += [_about_doubt(pair.doubt) for pair in found.pairs if pair.doubt and not pair.alike]
    return text + _about_radius(found)


ALIKE = {
    "labels": "too alike: even labeled faces are linked, and no trust radius tells them apart. If "
    "they are one person, `onlooker people merge` joins the names; if not, label more of both",
    "faces": "too alike: learned faces of the two are linked, and walks go from the one to the "
    "other",
    "radius": "too alike for the trust radius: a face of the one is within it of a label of the "
    "other",
}


def _about_pair(pair: PeoplePair) -> list[str]:
    """Why two people are too alike, and what can be said."""
    if pair.alike is None:
        return []
    faces = pair.near_label if pair.alike == "radius" else pair.nearest
    where = f"faces {faces.first} and {faces.second}, {faces.distance:.3f} apart"
    lines = [f"{pair.first} and {pair.second} ({where}) are {ALIKE[pair.alike]}"]
    return lines if pair.doubt is None else [*lines, f"  {_about_doubt(pair.doubt)}"]


def _about_doubt(face: DoubtfulFace) -> str:
    return (
        f"say 'not {face.not_name}' of face {face.vertex} of {face.name}: {face.share:.0%} of its "
        f"walks end at {face.not_name}"
    )


def _about_radius(found: Separation) -> list[str]:
    """The radius that is proposed, what it costs, and how to use it."""
    radius, text = found.trust_radius, list[str]()
    for person in found.people:
        if radius is not None and person.widest is not None and person.widest > radius:
            text.append(
                f"two labeled faces of {person.name} are {person.widest:.3f} apart, which is more "
                f"than the trust radius of {radius:g}: each has a circle of its own, and what lies "
                "between them is a question, not a name"
            )
    if found.proposed is None:
        return text
    now = "off" if radius is None else f"{radius:g}"
    if found.proposed == radius:
        return [*text, f"the trust radius of {now} is right: nobody else's face is within it"]
    if found.proposed == 0:
        return [*text, "no trust radius can be proposed: faces of different people are the same"]
    learned = sum(len(person.learned) for person in found.people)
    beyond = sum(person.beyond(found.proposed) for person in found.people)
    return [
        *text,
        f"proposed trust radius: {found.proposed:g} (now {now}): no labeled face has a face of "
        f"somebody else within it, linked people aside; {beyond} of {learned} learned faces are "
        "beyond it and would be questions",
        "a home keeps the radius it was made with; another: onlooker export FILE --home HOME; "
        f"onlooker import FILE --home NEW --trust-radius {found.proposed:g}",
    ]
