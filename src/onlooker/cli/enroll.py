"""`onlooker enroll`: names from pictures and videos."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from onlooker.cli.options import (
    BandwidthOption,
    CutoffOption,
    DetectorOption,
    FeaturesOption,
    ModelOption,
    PeopleOption,
    StateOption,
    VerticesOption,
)
from onlooker.cli.recognizers import Workshop, everybody_in, somebody
from onlooker.cli.settings import load_settings
from onlooker.recognition.pipeline import deferred_signals

NameArgument = Annotated[
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
    name: NameArgument = None,
    files: FilesArgument = None,
    people: PeopleOption = None,
    state: StateOption = None,
    features: FeaturesOption = None,
    model: ModelOption = None,
    bandwidth: BandwidthOption = None,
    cutoff: CutoffOption = None,
    vertices: VerticesOption = None,
    detector: DetectorOption = None,
) -> None:
    """Teach names from pictures and videos: one person's, or everybody's in a folder.

    Of a video, four faces are taught that differ. A face that was taught before is not taught
    again. Nothing is taught if one file cannot be used.

    Example: onlooker enroll ana ana1.jpg ana2.jpg --state door.state

    Example: onlooker enroll ana ana.mp4 --state door.state

    Example: onlooker enroll --people people/ --state door.state
    """
    if name is not None and people is not None:
        raise typer.BadParameter("give a NAME with its FILEs or --people DIR, not both")
    if name is not None and not files:
        raise typer.BadParameter(f"which files show {name}? Give them after the name")
    chosen = load_settings(
        people=people,
        state=state,
        features=features,
        model=model,
        bandwidth=bandwidth,
        cutoff=cutoff,
        vertices=vertices,
        detector=detector,
    )
    if chosen["state"] is None:
        raise typer.BadParameter("which file keeps the names? Give --state FILE")
    if name is None and chosen["people"] is None:
        raise typer.BadParameter("whom to enroll? Give a NAME and FILEs, or --people DIR")
    path = Path(chosen["state"])
    workshop = Workshop(chosen)
    learner = workshop.learner(path)
    enrol = somebody(name, files or ()) if name else everybody_in(Path(chosen["people"]))
    with Console(stderr=True).status("looking for faces"):  # silent unless it is a terminal
        taught = workshop.teach(learner, enrol)
    with deferred_signals():
        learner.save(path)
    labeled = learner.vertices().names
    for who, count in taught.items():
        print(json.dumps({"name": who, "taught": count, "labeled": labeled.count(who)}))
