"""`onlooker reproduce`: the paper's results, next to the paper's numbers.

The experiments need the extra `experiments` and are imported when the command runs, so that the
other commands work without it and start quickly.
"""

import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import scipy
import typer
from rich.console import Console

import onlooker
from onlooker.cli.options import DetectorOption, ModelOption, NoHomeFeaturesOption, ProviderOption
from onlooker.cli.output import requires
from onlooker.cli.ray import experiments_on
from onlooker.cli.recognizers import finder_from
from onlooker.cli.settings import load_settings

if TYPE_CHECKING:
    from onlooker.experiments.paper.setup import Setup
    from onlooker.experiments.report.section import Section

REQUIRED = dict.fromkeys(("matplotlib", "sklearn"), "experiments")
"""The packages that the experiments need, and the extra that installs them."""

MOST_STRANGERS = 400
"""Strangers in a stream unless a number is given."""

INTRODUCTION = """\
Every result of Section 4 of Kveton, Philipose, Valko and Huang, Online Semi-Supervised Perception:
Real-Time Learning without Explicit Feedback (2010), and the decomposition of its Section 3.2,
computed again. The recordings V1, V2 and VO were never published: these are other recordings or
simulated cameras, so the curves can be compared with the paper's, the numbers cannot.
"""


class ExperimentName(StrEnum):
    """The results that can be reproduced."""

    RESULTS = "results"
    SUDDEN_CHANGES = "sudden-changes"
    GRAPH_SIZE = "graph-size"
    COMPACT = "compact"
    REGRET = "regret"
    STRANGERS = "strangers"
    QUANTIZERS = "quantizers"
    MANIFOLD = "manifold"
    CORRECTION = "correction"
    SINGLE_FACE = "single-face"
    TAKEOVER = "takeover"
    TRUST_PRICE = "trust-price"
    LONG_RUN = "long-run"
    ALARMS = "alarms"
    MERGING = "merging"
    VN = "vn"
    ALL = "all"


class LabeledFaces(StrEnum):
    """Which faces of each person are labeled."""

    FIRST = "first"
    FRONTAL = "frontal"


class UsedFaces(StrEnum):
    """Which faces of a frame are used."""

    ALL = "all"
    LARGEST = "largest"


ExperimentArgument = Annotated[
    ExperimentName, typer.Argument(metavar="NAME", help=", ".join(ExperimentName))
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="A dataset of frames. [simulated cameras]"),
]
JsonOption = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Where the raw rows are written, as a JSON array."),
]
FolderOption = Annotated[Path, typer.Option("--folder", help="Where the report is written.")]
MethodsOption = Annotated[
    str | None, typer.Option("--methods", metavar="A,B", help="Only these methods. [all]")
]
CutoffsOption = Annotated[
    str | None, typer.Option("--cutoffs", metavar="X,Y", help="Only these cutoffs. [1e-1 to 1e-14]")
]
SetsOption = Annotated[
    str | None, typer.Option("--sets", metavar="A,B", help="Only these sets of the dataset. [all]")
]
WhoOption = Annotated[
    str | None, typer.Option("--people", metavar="A,B", help="Label only these people. [all]")
]
SeedsOption = Annotated[int, typer.Option("--seeds", min=1, help="How many random seeds.")]
StrangersOption = Annotated[
    int | None,
    typer.Option(
        "--strangers", min=0, help="Pictures of strangers added to each set. [all, at most 400]"
    ),
]
LabelOption = Annotated[
    LabeledFaces, typer.Option("--label", help="Which faces of each person are labeled.")
]
FacesOption = Annotated[UsedFaces, typer.Option("--faces", help="Which faces of a frame are used.")]
VerticesOption = Annotated[
    int, typer.Option("--vertices", min=1, help="The paper's n_g: unlabeled faces stored at most.")
]
BandwidthOption = Annotated[
    float | None, typer.Option("--bandwidth", min=1e-9, help="Scale of the distance.")
]
FramesOption = Annotated[
    int | None,
    typer.Option("--frames", min=60, help="Frames of a simulated video. [480; long-run: 20000]"),
]
ClusterOption = Annotated[
    str | None,
    typer.Option("--cluster", metavar="ADDRESS", help="Run on this Ray; local starts one."),
]


def reproduce(
    name: ExperimentArgument,
    data: DataOption = None,
    features: NoHomeFeaturesOption = None,
    model: ModelOption = None,
    provider: ProviderOption = None,
    detector: DetectorOption = None,
    json_file: JsonOption = None,
    folder: FolderOption = Path("reproduction"),
    methods: MethodsOption = None,
    seeds: SeedsOption = 3,
    cutoffs: CutoffsOption = None,
    strangers: StrangersOption = None,
    sets: SetsOption = None,
    people: WhoOption = None,
    label: LabelOption = LabeledFaces.FIRST,
    faces: FacesOption = UsedFaces.ALL,
    vertices: VerticesOption = 500,
    bandwidth: BandwidthOption = None,
    frames: FramesOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Compute a result of the paper again; an interrupted run continues where it stopped.

    Example: onlooker reproduce results --data frames/ --seeds 5 --json rows.json

    Example: onlooker reproduce all

    On a cluster, all machines must see the data and one cache of Onlooker; rows are the same.

    Example: onlooker reproduce results --cluster 10.0.0.1:6379
    """
    with requires("reproduce", REQUIRED):
        import_module("sklearn")  # some experiments import it later
        from onlooker.experiments.paper.setup import Setup
    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise typer.BadParameter(f"cannot write {json_file}: make {json_file.parent} first")
    chosen = load_settings(features=features, model=model, provider=provider, detector=detector)
    given: dict[str, Any] = {}
    if methods:
        given["methods"] = tuple(methods.split(","))
    if cutoffs:
        given["cutoffs"] = _numbers(cutoffs)
    setup = Setup(
        data=data,
        finder=finder_from(chosen, for_home=False),
        seeds=seeds,
        strangers=strangers or 0,
        sets=tuple(sets.split(",")) if sets else (),
        people=tuple(people.split(",")) if people else (),
        labeling=label.value,
        every_face=faces is UsedFaces.ALL,
        bandwidth=bandwidth,
        n_g=vertices,
        frames=frames,
        **given,
    )
    single = [each.value for each in ExperimentName if each is not ExperimentName.ALL]
    names = single if name is ExperimentName.ALL else [name.value]
    with experiments_on(cluster):
        if strangers is None:
            setup = with_strangers(setup, names)
        sections, rows = work(names, setup)
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / f"{name}.html"
    page.write_text(report(sections, setup), encoding="utf-8")
    for section in sections:
        for file, content in section.files():
            (folder / file).write_text(content, encoding="utf-8")
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


def with_strangers(setup: "Setup", names: Sequence[str]) -> "Setup":
    """Strangers are part of every comparison of faces, unless somebody asks for none."""
    from onlooker.experiments.reproduce import EXPERIMENTS, OWN_VECTORS

    unused = OWN_VECTORS if setup.data is None else ()
    if not any(name in EXPERIMENTS and name not in unused for name in names):
        return setup
    return replace(setup, strangers=min(MOST_STRANGERS, len(setup.dataset.crowd)))


def work(names: Sequence[str], setup: "Setup") -> tuple[list["Section"], list[dict[str, Any]]]:
    """Run the experiments, printing each section as it is finished; sections and JSON rows."""
    from onlooker.experiments.reproduce import EXPERIMENTS, OWN_SETS, THEORY

    console, sections, rows = Console(), [], []
    if any(name in EXPERIMENTS and name not in OWN_SETS for name in names):
        setup.prepare()
    for name in names:
        if name in EXPERIMENTS:
            section, found = EXPERIMENTS[name](setup)
        else:
            section, found = THEORY[name](max(setup.seeds, 10))
        section.show(console)
        sections.append(section)
        # When all experiments run, only the rows of faces are written, each once: experiments
        # share trials.
        if name in EXPERIMENTS or len(names) == 1:
            rows += [row for row in map(asdict, found) if row not in rows]
    return sections, rows


def report(sections: list["Section"], setup: "Setup") -> str:
    """The report in HTML: the sections, and the parameters to reproduce it."""
    from onlooker.experiments.report.html import document, paragraphs, table

    facts = {
        "command": " ".join(["onlooker", *sys.argv[1:]]),
        "data": "simulated cameras" if setup.data is None else setup.dataset.name,
        "features": setup.finder.features.tag,
        "detector": f"{setup.finder.detector}, {setup.finder.size}",
        "seeds": f"0 to {setup.seeds - 1}",
        "strangers": f"{setup.strangers} added to each set",
        "versions": f"onlooker {onlooker.__version__}, numpy {np.__version__}, scipy "
        f"{scipy.__version__}, Python {platform.python_version()}",
    }
    parts = [paragraphs(INTRODUCTION), *(section.html() for section in sections)]
    made = table(("made with", ""), list(facts.items()), words=2)
    return document("Onlooker: the paper again", [*parts, "<h2>Parameters</h2>", made])
