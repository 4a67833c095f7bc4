"""What several commands share: options (None: not given, the settings decide), and manners."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Features(StrEnum):
    """What is compared."""

    PIXELS = "pixels"
    EMBEDDING = "embedding"


class Detector(StrEnum):
    """What finds the faces."""

    YUNET = "yunet"
    HAAR = "haar"


PeopleOption = Annotated[
    Path | None,
    typer.Option(
        "--people", metavar="DIR", help="Labeled pictures: DIR/NAME/*.jpg or DIR/NAME.jpg."
    ),
]
StateOption = Annotated[
    Path | None,
    typer.Option("--state", metavar="FILE", help="Keeps what was learned; made if not there."),
]
FeaturesOption = Annotated[
    Features | None, typer.Option("--features", help="What is compared. [pixels]")
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="PATH|NAME", help="Of the embedding; see onlooker models."),
]
DetectorOption = Annotated[
    Detector | None, typer.Option("--detector", help="What finds the faces. [yunet]")
]
BandwidthOption = Annotated[
    float | None,
    typer.Option("--bandwidth", help="Scale of the distance. [pixels 0.025, embedding 0.2]"),
]
CutoffOption = Annotated[
    float | None,
    typer.Option("--cutoff", help="Least similarity that counts. [pixels 1e-8, embedding 1e-4]"),
]
VerticesOption = Annotated[
    int | None, typer.Option("--vertices", help="Faces kept besides the labeled ones. [500]")
]
OneEachOption = Annotated[
    bool | None,
    typer.Option("--one-each/--not-one-each", help="Two faces in a frame are two people."),
]


def one_line(what: object) -> str:
    """As text without line breaks or anything else that steers a terminal: it may quote a name.

    >>> one_line("no picture in\\na\\x1b[2J folder")
    'no picture in a\\\\x1b[2J folder'
    """
    text = " ".join(str(what).split())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
