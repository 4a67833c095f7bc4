"""`onlooker dataset`: labeled pictures, from simulated cameras or from the user's own.

While recording, the user is shown each new face at the terminal and types its name.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import cv2
import typer
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from onlooker.cli.options import DetectorOption
from onlooker.cli.output import INTERRUPTED, one_line, print_row
from onlooker.cli.recognizers import finder_from
from onlooker.cli.settings import load_settings
from onlooker.cli.watch import SourcesArgument
from onlooker.core.errors import BadValue
from onlooker.experiments.datasets.importing import import_people
from onlooker.experiments.datasets.manifest import Dataset, read_dataset
from onlooker.experiments.datasets.recording import ASIDE, Recorder, RecordingStopped
from onlooker.experiments.datasets.simulated import write_simulated
from onlooker.video.sources import frames_from
from onlooker.vision.types import Pixels

PREVIEW_WIDTH = 36
"""Characters; a character shows two pixels, one above the other."""
PICTURE_SIDE = 160
"""Longest side in pixels of the picture that is stored of a face."""
STOP = "q"


class FirstFolder(StrEnum):
    """What the first folders of an imported folder are."""

    PERSON = "person"
    CAMERA = "camera"


class NamePrompt:
    """Shows a face, in the terminal and as a file, and asks the user for its name."""

    def __init__(self, folder: Path, console: Console) -> None:
        self._folder, self._console = folder, console

    def __call__(self, face: Pixels) -> str:
        """The name the user typed; q and the end of the input stop the recording."""
        path = self._write(face)
        if self._console.is_terminal and self._console.color_system is not None:
            self._console.print(blocks(face), end="")
        self._console.print(str(path), markup=False, soft_wrap=True)
        try:
            answer = self._console.input("who is this? (name, empty for a stranger, q to stop) ")
        except EOFError:
            raise RecordingStopped from None
        if answer.strip() == STOP:
            raise RecordingStopped
        return answer

    def _write(self, face: Pixels) -> Path:
        """Write the face as a numbered file; numbers continue those of earlier runs."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            taken = [int(file.stem) for file in self._folder.glob("*.jpg") if file.stem.isdecimal()]
            path = self._folder / f"{max(taken, default=0) + 1:04d}.jpg"
            scale = min(1.0, PICTURE_SIDE / max(face.shape[:2]))
            small = cv2.resize(face, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
            path.write_bytes(cv2.imencode(".jpg", small)[1].tobytes())
        except OSError as error:
            raise BadValue(f"cannot write to {self._folder}: {error.strerror or error}") from error
        return path


def blocks(picture: Pixels, across: int = PREVIEW_WIDTH) -> Text:
    """A picture in half-block characters: upper pixels are foreground, lower background.

    >>> import numpy as np
    >>> print(blocks(np.zeros((2, 4, 3), np.uint8), across=4).plain.rstrip())
    ▀▀▀▀
    """
    height, width = picture.shape[:2]
    rows = max(1, round(across * height / width / 2))
    small = cv2.resize(picture, (across, 2 * rows), interpolation=cv2.INTER_AREA).tolist()
    text = Text()
    for upper, lower in zip(small[::2], small[1::2], strict=True):
        for above, below in zip(upper, lower, strict=True):
            text.append("▀", Style(color=_colour(above), bgcolor=_colour(below)))
        text.append("\n")
    return text


def _colour(pixel: list[int]) -> Color:
    blue, green, red = pixel
    return Color.from_rgb(red, green, blue)


dataset = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

CONSENT = (
    "Record only people who agreed to it. Everything stays on this machine, in {folder}; "
    "delete the folder and it is gone."
)

FolderArgument = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The folder of the dataset.", show_default=False)
]
SeedOption = Annotated[int, typer.Option(min=0, help="Chooses the people and the light.")]
FramesOption = Annotated[
    int | None, typer.Option(min=1, help="Frames of each of the four videos. [960]")
]
SetOption = Annotated[str, typer.Option("--set", metavar="NAME", help="The name of the set.")]
EveryOption = Annotated[int, typer.Option(min=1, metavar="N", help="Store each Nth frame.")]
WhoOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Label every face with this name, do not ask. '' is a stranger."
    ),
]


PeopleArgument = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="A folder of people.", show_default=False)
]
IntoOption = Annotated[
    Path,
    typer.Option("--into", metavar="DATASET", help="The dataset, new or not.", show_default=False),
]
LayoutOption = Annotated[
    FirstFolder,
    typer.Option("--first", help="What the first folders are: people, or cameras with people."),
]


@dataset.callback()
def about() -> None:
    """Datasets for experiments: pictures, and a table that says who is in them.

    Example: onlooker dataset simulate simulated/
    """


@dataset.command()
def simulate(folder: FolderArgument, seed: SeedOption = 0, frames: FramesOption = None) -> None:
    """Write the frames of simulated cameras: real faces, some of them of unlabeled strangers.

    The set V1+V2 shows eight people at two cameras, VO one person and many strangers in three
    places, VN the eight and strangers at a door as home cameras see them (far, dark, blurred,
    covered); the set strangers has one picture of everybody else. About 300 megabytes for a seed.

    Example: onlooker dataset simulate simulated/ --seed 1 --frames 480
    """
    _print_rows(read_dataset(write_simulated(folder, seed=seed, frames=frames)))


@dataset.command()
def check(folder: FolderArgument) -> None:
    """Read a dataset and list what it contains: a table on a terminal, JSON Lines otherwise.

    Example: onlooker dataset check recorded/
    """
    _print_rows(read_dataset(folder))


@dataset.command("import")
def import_folder(
    folder: PeopleArgument,
    into: IntoOption,
    set_name: SetOption = "imported",
    first: LayoutOption = FirstFolder.PERSON,
) -> None:
    """Copy a folder of people with their pictures into a dataset, as a set of its own.

    PERSON/PICTURE and PERSON/SEQUENCE/PICTURE are understood, and PERSON/video/SEQUENCE/PICTURE as
    VidTIMIT has it: sequences follow each other at one camera. With --first camera it is
    CAMERA/PERSON/PICTURE, as the faces of ChokePoint. Pictures are sorted as people count, and
    copied: the folder is not needed afterwards. A folder that is laid out otherwise is refused.

    Example: onlooker dataset import VidTIMIT/ --into vidtimit/

    Example: onlooker dataset import P1E_S1/ --into chokepoint/ --first camera --set P1E
    """
    _print_rows(read_dataset(import_people(folder, into, recording=set_name, first=first.value)))


@dataset.command()
def record(
    folder: FolderArgument,
    sources: SourcesArgument,
    every: EveryOption = 1,
    who: WhoOption = None,
    set_name: SetOption = "recorded",
    detector: DetectorOption = None,
) -> None:
    """Make a dataset from your own cameras or recordings; it asks once for each new face.

    Frames that show one person are stored. An existing dataset is continued; nothing is
    overwritten. Ctrl-C at any moment leaves a valid dataset.

    Example: onlooker dataset record recorded/ door=0 --every 5

    Example: onlooker dataset record recorded/ ana.mp4 --who ana
    """
    if who is None and not sys.stdin.isatty():
        raise typer.BadParameter(
            "cannot ask who is in the pictures: stdin is not a terminal. Give --who NAME"
        )
    console = Console(stderr=True, highlight=False)
    finder = finder_from(load_settings(detector=detector))
    recorder = Recorder(
        folder,
        detect=finder.detect,
        judge=finder.judge,
        ask=NamePrompt(folder / ASIDE, console) if who is None else lambda _: who,
        recording=set_name,
        every=every,
    )
    print(CONSENT.format(folder=folder), file=sys.stderr)
    ended = _record(recorder, sources, console, quiet=who is not None)
    _print_result(recorder, folder, ended)
    if ended == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if not recorder.counts.saved:
        raise BadValue("no frame was stored: none shows exactly one face that is good enough")


def _record(recorder: Recorder, sources: Sequence[str], console: Console, *, quiet: bool) -> str:
    """Record all frames, and return how it ended."""
    try:
        with (
            console.status("recording") if quiet else nullcontext(),
            frames_from(*sources) as frames,
        ):
            for frame in frames:
                recorder.see(frame)
    except KeyboardInterrupt:
        return "interrupted"
    except RecordingStopped:
        return "stopped"
    return "finished"


def _print_result(recorder: Recorder, folder: Path, ended: str) -> None:
    """Counts of frames: as a sentence on stderr, as JSON on stdout."""
    counts = recorder.counts
    people = [f"{one_line(who or 'strangers')} {count}" for who, count in counts.people.items()]
    print(
        f"{ended}: {counts.saved} of {counts.frames} frames stored in {folder}; left out: "
        f"{counts.empty} without a face, {counts.several} with several people, "
        f"{counts.poor} with a poor one; " + (", ".join(people) or "nobody"),
        file=sys.stderr,
    )
    print_row(
        folder=str(folder),
        frames=counts.frames,
        kept=counts.saved,
        empty=counts.empty,
        several=counts.several,
        poor=counts.poor,
    )


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
            print_row(**row)
        return
    table = Table("set", "camera", "frames", "of strangers", "people")
    for row in _rows(found):
        people = ", ".join(f"{one_line(name)} {count}" for name, count in row["people"].items())
        names = (one_line(row["set"]), one_line(row["camera"] or "-"))
        table.add_row(*names, str(row["frames"]), str(row["strangers"]), people or "-")
    Console().print(table)
