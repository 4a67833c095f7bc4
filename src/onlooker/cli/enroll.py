"""`onlooker enroll`: teach names from pictures and videos."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from onlooker.cli.homes import NewHomeOption, StateOption, open_or_create, teach_new
from onlooker.cli.options import (
    BandwidthOption,
    CutoffOption,
    DetectorOption,
    FeaturesOption,
    ModelOption,
    PeopleOption,
    ProviderOption,
    TrustRadiusOption,
    VerticesOption,
)
from onlooker.cli.output import print_problems, print_row
from onlooker.cli.recognizers import faces_in_files, faces_in_folder, finder_from
from onlooker.cli.settings import load_settings
from onlooker.recognition.pipeline import deferred_signals

EnrolledName = Annotated[
    str | None, typer.Argument(metavar="NAME", help="Who is in the files.", show_default=False)
]
FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="Pictures with one face each, videos of one person.",
        show_default=False,
    ),
]


def enroll(
    name: EnrolledName = None,
    files: FilesArgument = None,
    people: PeopleOption = None,
    home: NewHomeOption = None,
    state: StateOption = None,
    features: FeaturesOption = None,
    model: ModelOption = None,
    provider: ProviderOption = None,
    bandwidth: BandwidthOption = None,
    cutoff: CutoffOption = None,
    vertices: VerticesOption = None,
    trust_radius: TrustRadiusOption = None,
    detector: DetectorOption = None,
) -> None:
    """Teach names from pictures and videos: one person's, or everybody's in a folder.

    Of a video, up to four faces are taught that differ. A face that has the name already is not
    taught again. Nothing is taught if one file cannot be used.

    Example: onlooker enroll ana ana1.jpg ana2.jpg --home home/

    Example: onlooker enroll ana ana.mp4 --home home/

    Example: onlooker enroll --people people/ --home home/
    """
    if name is not None and people is not None:
        raise typer.BadParameter("give a NAME with its FILEs or --people DIR, not both")
    if name is not None and not files:
        raise typer.BadParameter(f"which files show {name}? Give them after the name")
    chosen = load_settings(
        people=people,
        home=home,
        state=state,
        features=features,
        model=model,
        provider=provider,
        bandwidth=bandwidth,
        cutoff=cutoff,
        vertices=vertices,
        trust_radius=trust_radius,
        detector=detector,
    )
    if chosen["home"] is None:
        raise typer.BadParameter(
            "where to store the names? Give --home DIR; `onlooker export` writes a file of it"
        )
    if name is None and chosen["people"] is None:
        raise typer.BadParameter("whom to enroll? Give a NAME and FILEs, or --people DIR")
    finder = finder_from(chosen)
    with Console(stderr=True).status("looking for faces"):  # silent unless it is a terminal
        if name is None:
            faces = faces_in_folder(chosen, finder)
        else:
            faces = faces_in_files(chosen, finder, {name: files or []})
    with deferred_signals(), open_or_create(chosen, finder) as found:
        taught = teach_new(found, faces)
        labeled = found.vertices().names
        print_problems(found.problems)
    for person, count in taught.items():
        print_row(name=person, taught=count, labeled=labeled.count(person))
