"""`onlooker dataset`: pictures with the truth beside them, simulated or from one's own cameras."""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from onlooker.cli.asking import Asking
from onlooker.cli.building import eyes_of
from onlooker.cli.options import DetectorOption, one_line
from onlooker.cli.settings import settings
from onlooker.cli.watch import INTERRUPTED, SourcesArgument
from onlooker.core.errors import BadValue
from onlooker.experiments.appending import ASIDE
from onlooker.experiments.manifest import Dataset, read_dataset
from onlooker.experiments.recording import Recorder, Stopped
from onlooker.experiments.simulated import write_simulated
from onlooker.video.sources import frames_from

dataset = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

CONSENT = (
    "Record only people who agreed to it. Everything stays on this machine, in {folder}; "
    "delete the folder and it is gone."
)

FolderArgument = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Of the dataset.", show_default=False)
]
SeedOption = Annotated[int, typer.Option(min=0, help="Another cast, other light.")]
FramesOption = Annotated[
    int | None, typer.Option(min=1, help="Frames of each of the three films. [960]")
]
SetOption = Annotated[str, typer.Option("--set", metavar="NAME", help="What to call the set.")]
EveryOption = Annotated[int, typer.Option(min=1, metavar="N", help="Keep each Nth frame.")]
WhoOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Everybody there is this person: no questions. '' is a stranger."
    ),
]


@dataset.callback()
def about() -> None:
    """Datasets: pictures, and a table that says who is in them. Experiments run on these.

    Example: onlooker dataset simulate simulated/
    """


@dataset.command()
def simulate(folder: FolderArgument, seed: SeedOption = 0, frames: FramesOption = None) -> None:
    """Write what simulated cameras see: real faces, and people nobody names.

    The set V1+V2 shows eight people at two cameras, VO one person and many strangers in three
    places; strangers are everybody else, a picture each. About 200 megabytes a seed.

    Example: onlooker dataset simulate simulated/ --seed 1 --frames 480
    """
    _print_rows(read_dataset(write_simulated(folder, seed=seed, frames=frames)))


@dataset.command()
def check(folder: FolderArgument) -> None:
    """Read a dataset and say what is in it: a table on a terminal, JSON Lines otherwise.

    Example: onlooker dataset check recorded/
    """
    _print_rows(read_dataset(folder))


@dataset.command()
def record(
    folder: FolderArgument,
    sources: SourcesArgument,
    every: EveryOption = 1,
    who: WhoOption = None,
    set_name: SetOption = "recorded",
    detector: DetectorOption = None,
) -> None:
    """Make a dataset of your own cameras or recordings: whoever appears is asked about once.

    Frames that show one person are kept. An existing dataset is continued; nothing is
    overwritten. Ctrl-C at any moment leaves a dataset that can be used.

    Example: onlooker dataset record recorded/ door=0 --every 5

    Example: onlooker dataset record recorded/ ana.mp4 --who ana
    """
    if who is None and not sys.stdin.isatty():
        raise typer.BadParameter(
            "nobody can be asked who is in the pictures: this is no terminal. Give --who NAME"
        )
    console = Console(stderr=True, highlight=False)
    eyes = eyes_of(settings(detector=detector))
    recorder = Recorder(
        folder,
        detect=eyes.detect,
        judge=eyes.judge,
        ask=Asking(folder / ASIDE, console) if who is None else lambda _: who,
        recording=set_name,
        every=every,
    )
    print(CONSENT.format(folder=folder), file=sys.stderr)
    ended = _record(recorder, sources, console, quiet=who is not None)
    _tell(recorder, folder, ended)
    if ended == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if not recorder.counts.kept:
        raise BadValue("no frame was kept: none shows exactly one face that is good enough")


def _record(recorder: Recorder, sources: Sequence[str], console: Console, *, quiet: bool) -> str:
    """See everything; how it ended."""
    try:
        with (
            console.status("recording") if quiet else nullcontext(),
            frames_from(*sources) as frames,
        ):
            for frame in frames:
                recorder.see(frame)
    except KeyboardInterrupt:
        return "interrupted"
    except Stopped:
        return "stopped"
    return "finished"


def _tell(recorder: Recorder, folder: Path, ended: str) -> None:
    """What came of it: for people on stderr, as JSON on stdout."""
    counts = recorder.counts
    people = [(who or "strangers", kept) for who, kept in counts.people.items()]
    print(
        f"{ended}: {counts.kept} of {counts.frames} frames kept in {folder}; left out: "
        f"{counts.empty} without a face, {counts.several} with several people, "
        f"{counts.poor} with a poor one; "
        + (", ".join(f"{one_line(who)} {kept}" for who, kept in people) or "nobody"),
        file=sys.stderr,
    )
    result = {"folder": str(folder), "frames": counts.frames, "kept": counts.kept}
    result |= {"empty": counts.empty, "several": counts.several, "poor": counts.poor}
    print(json.dumps(result))


def _rows(found: Dataset) -> Iterator[dict[str, Any]]:
    for name, camera in dict.fromkeys((each.set, each.camera) for each in found.pictures):
        people = Counter(
            each.person for each in found.pictures if (each.set, each.camera) == (name, camera)
        )
        strangers = people.pop(None, 0)
        yield {
            "set": name,
            "camera": camera or None,
            "frames": people.total() + strangers,
            "strangers": strangers,
            "people": dict(people),
        }


def _print_rows(found: Dataset) -> None:
    if not sys.stdout.isatty():
        for row in _rows(found):
            print(json.dumps(row))
        return
    table = Table("set", "camera", "frames", "of strangers", "people")
    for row in _rows(found):
        people = ", ".join(f"{one_line(name)} {count}" for name, count in row["people"].items())
        names = (one_line(row["set"]), one_line(row["camera"] or "-"))
        table.add_row(*names, str(row["frames"]), str(row["strangers"]), people or "-")
    Console().print(table)
