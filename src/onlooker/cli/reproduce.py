"""`onlooker reproduce`: the paper's results, next to the paper's numbers.

What `onlooker reproduce` does, apart from the command: it needs the extra `experiments`.
"""

import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy
import typer
from rich.console import Console

import onlooker
from onlooker.cli.options import DetectorOption, FeaturesOption, ModelOption
from onlooker.cli.ray import engine
from onlooker.cli.settings import settings
from onlooker.core.errors import BadValue
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.report.html import document, paragraphs, table
from onlooker.experiments.report.section import Section
from onlooker.experiments.reproduce import EXPERIMENTS
from onlooker.experiments.theory.sections import EXPERIMENTS as THEORY
from onlooker.vision.finder import FaceFinder

NEEDED = ("matplotlib", "sklearn")
"""What the extra `experiments` brings; only this command needs it."""


class Name(StrEnum):
    """What can be reproduced."""

    RESULTS = "results"
    SUDDEN_CHANGES = "sudden-changes"
    GRAPH_SIZE = "graph-size"
    COMPACT = "compact"
    REGRET = "regret"
    STRANGERS = "strangers"
    QUANTIZERS = "quantizers"
    MANIFOLD = "manifold"
    MERGING = "merging"
    ALL = "all"


class Labels(StrEnum):
    """Which faces are labeled."""

    FIRST = "first"
    FRONTAL = "frontal"


class Faces(StrEnum):
    """Which faces of a frame are looked at."""

    ALL = "all"
    LARGEST = "largest"


NameArgument = Annotated[Name, typer.Argument(metavar="NAME", help=", ".join(Name))]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="A dataset of frames. [simulated cameras]"),
]
JsonOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="The raw rows, one JSON array.")
]
FolderOption = Annotated[Path, typer.Option("--folder", help="Where the report goes.")]
MethodsOption = Annotated[
    str | None, typer.Option("--methods", metavar="A,B", help="Instead of all of them.")
]
CutoffsOption = Annotated[
    str | None, typer.Option("--cutoffs", metavar="X,Y", help="Instead of 1e-1 to 1e-14.")
]
SetsOption = Annotated[str | None, typer.Option("--sets", metavar="A,B", help="Of the dataset.")]
WhoOption = Annotated[
    str | None, typer.Option("--people", metavar="A,B", help="Only these are labeled.")
]
SeedsOption = Annotated[int, typer.Option("--seeds", min=1, help="0 to N-1.")]
StrangersOption = Annotated[
    int, typer.Option("--strangers", min=0, help="Stranger pictures that join each set.")
]
ClusterOption = Annotated[
    str | None,
    typer.Option("--cluster", metavar="ADDRESS", help="Of a Ray to run on; local: one of its own."),
]


def reproduce(
    name: NameArgument,
    data: DataOption = None,
    features: FeaturesOption = None,
    model: ModelOption = None,
    detector: DetectorOption = None,
    json_file: JsonOption = None,
    folder: FolderOption = Path("reproduction"),
    methods: MethodsOption = None,
    seeds: SeedsOption = 3,
    cutoffs: CutoffsOption = None,
    strangers: StrangersOption = 0,
    sets: SetsOption = None,
    people: WhoOption = None,
    label: Annotated[Labels, typer.Option("--label", help="Of each person.")] = Labels.FIRST,
    faces: Annotated[Faces, typer.Option("--faces", help="Of a frame.")] = Faces.ALL,
    vertices: Annotated[int, typer.Option("--vertices", min=1, help="The budget n_g.")] = 500,
    bandwidth: Annotated[float | None, typer.Option("--bandwidth", min=1e-9)] = None,
    frames: Annotated[int, typer.Option("--frames", min=60, help="Of a simulated video.")] = 480,
    cluster: ClusterOption = None,
) -> None:
    """Work out a result of the paper again; what was interrupted goes on where it stopped.

    Example: onlooker reproduce results --data frames/ --seeds 5 --json rows.json

    Example: onlooker reproduce all

    On a cluster, all machines must see the data and one cache of Onlooker; rows are the same.

    Example: onlooker reproduce results --cluster 10.0.0.1:6379
    """
    try:
        # MOVED
        from onlooker.experiments.paper.setup import Setup
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in NEEDED:
            raise
        raise BadValue(f"{error.name} is missing: pip install 'onlooker[experiments]'") from error
    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise typer.BadParameter(f"cannot write {json_file}: make {json_file.parent} first")
    chosen = settings(features=features, model=model, detector=detector)
    size = chosen["size"] if chosen["detector"] == "yunet" else None
    given: dict[str, Any] = {}
    if methods:
        given["methods"] = tuple(methods.split(","))
    if cutoffs:
        given["cutoffs"] = _numbers(cutoffs)
    setup = Setup(
        data=data,
        finder=FaceFinder(chosen["detector"], size, chosen["features"], chosen["model"]),
        seeds=seeds,
        strangers=strangers,
        sets=tuple(sets.split(",")) if sets else (),
        people=tuple(people.split(",")) if people else (),
        labeling=label.value,
        every_face=faces is Faces.ALL,
        bandwidth=bandwidth,
        n_g=vertices,
        frames=frames,
        **given,
    )
    wanted = [each.value for each in Name if name in (each, Name.ALL) and each is not Name.ALL]
    with engine(cluster):
        sections, rows = work(wanted, setup)
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / f"{name}.html"
    page.write_text(report(sections, setup), encoding="utf-8")
    if json_file is not None:
        json_file.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        print(f"rows: {json_file}")
    print(f"report: {page}")


def _numbers(text: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"cutoffs are numbers such as 1e-5,1e-8, got {text!r}") from None
    if not all(0 < value < 1 for value in values):
        raise typer.BadParameter(f"cutoffs lie between 0 and 1, got {text!r}")
    return values


INTRODUCTION = """\
Every result of Section 4 of Kveton, Philipose, Valko and Huang, Online Semi-Supervised Perception:
Real-Time Learning without Explicit Feedback (2010), and the decomposition of its Section 3.2,
worked out again. V1, V2 and VO themselves were never published: these are other recordings or
simulated cameras, so the curves can be compared with the paper's, the numbers cannot.
"""


def work(wanted: Sequence[str], setup: Setup) -> tuple[list[Section], list[dict[str, Any]]]:
    """Every result that is wanted, shown as it comes; all rows as JSON has them."""
    console, sections, rows = Console(), [], []
    if any(each in EXPERIMENTS for each in wanted):
        setup.prepare()
    for each in wanted:
        if each in EXPERIMENTS:
            section, found = EXPERIMENTS[each](setup)
        else:
            section, found = THEORY[each](max(setup.seeds, 10))
        section.show(console)
        sections.append(section)
        # Of everything at once, the rows are those of faces, each once: results share trials.
        if each in EXPERIMENTS or len(wanted) == 1:
            rows += [row for row in map(asdict, found) if row not in rows]
    return sections, rows


def report(sections: list[Section], setup: Setup) -> str:
    """The report: sections, and what one needs to get the same again."""
    facts = {
        "command": " ".join(["onlooker", *sys.argv[1:]]),
        "data": "simulated cameras" if setup.data is None else setup.dataset.name,
        "features": setup.finder.features.tag,
        "detector": f"{setup.finder.detector}, {setup.finder.size}",
        "seeds": f"0 to {setup.seeds - 1}",
        "versions": f"onlooker {onlooker.__version__}, numpy {np.__version__}, scipy "
        f"{scipy.__version__}, Python {platform.python_version()}",
    }
    parts = [paragraphs(INTRODUCTION), *(section.html() for section in sections)]
    made = table(("made with", ""), list(facts.items()), words=2)
    return document("Onlooker: the paper again", [*parts, "<h2>Parameters</h2>", made])
