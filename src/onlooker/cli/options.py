"""Options that several commands share. None means not given: the settings decide."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class FeaturesName(StrEnum):
    """Which vectors of faces are compared."""

    SFACE = "sface"
    HOG = "hog"
    PIXELS = "pixels"
    EMBEDDING = "embedding"


class DetectorName(StrEnum):
    """Which detector finds the faces."""

    YUNET = "yunet"
    HAAR = "haar"


NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The person's name.", show_default=False)
]
PeopleOption = Annotated[
    Path | None,
    typer.Option(
        "--people", metavar="DIR", help="Labeled pictures: DIR/NAME/*.jpg or DIR/NAME.jpg."
    ),
]
FeaturesOption = Annotated[
    FeaturesName | None,
    typer.Option("--features", help="Which features are compared. [sface, or those of the home]"),
]
NoHomeFeaturesOption = Annotated[
    FeaturesName | None, typer.Option("--features", help="Which features are compared. [sface]")
]
"""Of a command that has nothing to do with a home."""
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="PATH|NAME", help="The embedding model; see onlooker models list."
    ),
]
ProviderOption = Annotated[
    str | None,
    typer.Option(
        "--provider", metavar="NAME", help="What computes the model: cpu, cuda, ... [cpu]"
    ),
]
DetectorOption = Annotated[
    DetectorName | None, typer.Option("--detector", help="Which detector finds faces. [yunet]")
]
BandwidthOption = Annotated[
    float | None,
    typer.Option("--bandwidth", help="Scale of the distance. [that of the features]"),
]
CutoffOption = Annotated[
    float | None,
    typer.Option("--cutoff", help="Smaller similarities count as none. [that of the features]"),
]
VerticesOption = Annotated[
    int | None, typer.Option("--vertices", help="Unlabeled faces stored at most. [500]")
]
TrustRadiusOption = Annotated[
    str | None,
    typer.Option(
        "--trust-radius",
        metavar="auto|off|NUMBER",
        help="How far from a labeled face a new home carries a name; farther faces are questions. "
        "[auto with sface, off with others]",
    ),
]
OneEachOption = Annotated[
    bool | None,
    typer.Option(
        "--one-each/--not-one-each",
        help="Two faces in a frame are two people: only the surer one has a name. [one-each]",
    ),
]
