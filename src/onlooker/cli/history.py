"""The history of a home: `events`, `history` (who was where) and `undo` (back to a point of it)."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from onlooker.cli.homes import HomeOption, home_folder, open_existing, open_with_strangers
from onlooker.cli.options import ModelOption
from onlooker.cli.output import print_row
from onlooker.cli.recognizers import finder_from
from onlooker.cli.settings import load_settings
from onlooker.core.errors import BadValue
from onlooker.core.files import OWNER_ONLY, replace_file
from onlooker.home.album import Album, StoredSighting
from onlooker.home.transfer import SIGHTING_COLUMNS, csv_text, sighting_cells
from onlooker.video.image_files import read_picture

AfterOption = Annotated[
    int | None, typer.Option("--after", min=0, metavar="N", help="Only events after this number.")
]
LimitOption = Annotated[
    int, typer.Option("--limit", min=1, metavar="N", help="At most this many events.")
]
ToOption = Annotated[
    int, typer.Option("--to", min=0, metavar="N", help="The last event that still counts.")
]
PreviewOption = Annotated[bool, typer.Option("--preview", help="Only say what it would do.")]
PhotoArgument = Annotated[
    Path, typer.Argument(metavar="PHOTO", help="A picture with the face.", show_default=False)
]
FaceOption = Annotated[
    int | None,
    typer.Option("--face", min=1, metavar="N", help="Which face of several, from 1 on the left."),
]
CsvOption = Annotated[
    Path | None,
    typer.Option("--csv", metavar="FILE", help="Write a table; - is the standard output."),
]
NameOption = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Only this person.")]
CameraOption = Annotated[
    str | None, typer.Option("--camera", metavar="CAMERA", help="Only at this camera.")
]
StrangersOption = Annotated[
    bool | None, typer.Option("--strangers/--people", help="Only strangers, or only people.")
]
SightingsOption = Annotated[
    int | None, typer.Option("--limit", min=1, metavar="N", help="At most this many. [all]")
]
AT_ONCE = 500
"""Sightings that are read at a time."""

history = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@history.callback()
def about() -> None:
    """Who was where: sightings of people and strangers, and a face found again.

    Example: onlooker history find visitor.jpg --home home/
    """


@history.command("find")
def find_face(
    photo: PhotoArgument,
    home: HomeOption = None,
    face: FaceOption = None,
    model: ModelOption = None,
) -> None:
    """Was this face here before? One row for everybody it is linked to, the most likely first.

    The exit code is 1 if nobody was. Nothing is learned from the picture.

    Example: onlooker history find visitor.jpg --home home/
    """
    finder = finder_from(load_settings(home=home_folder(home), model=model)).for_photos()
    vector = finder.query_vector(read_picture(photo), face)
    with open_existing(home) as found:
        seen = found.find_face(vector)
    for who in seen:
        print_row(**asdict(who))
    if not seen:
        print("onlooker: nobody like that was here, as far as is stored", file=sys.stderr)
        raise typer.Exit(1)


@history.command("sightings")
def list_sightings(
    home: HomeOption = None,
    name: NameOption = None,
    camera: CameraOption = None,
    strangers: StrangersOption = None,
    limit: SightingsOption = None,
    table: CsvOption = None,
) -> None:
    """List who was seen where and when, the newest first; as rows of JSON, or as a CSV file.

    Example: onlooker history sightings --name ana --csv ana.csv --home home/
    """
    wanted: dict[str, Any] = {"name": name, "camera": camera, "strangers": strangers}
    with open_existing(home) as found:
        rows = list(_newest(found.album, limit, wanted))
    if table is None:
        for seen in rows:
            print_row(**asdict(seen))
        return
    text = csv_text([SIGHTING_COLUMNS, *map(sighting_cells, rows)])
    if table == Path("-"):
        sys.stdout.write(text)
        return
    try:
        replace_file(table, text.encode(), mode=OWNER_ONLY)
    except OSError as error:
        raise BadValue(f"cannot write {table}: {error.strerror or error}") from error
    print_row(csv=str(table), sightings=len(rows))


def _newest(album: Album, limit: int | None, wanted: dict[str, Any]) -> Iterator[StoredSighting]:
    before, remaining = None, limit
    while remaining is None or remaining > 0:
        size = AT_ONCE if remaining is None else min(AT_ONCE, remaining)
        rows = album.newest_sightings(before=before, limit=size, **wanted)
        if not rows:
            return
        yield from rows
        before = rows[-1].number
        remaining = None if remaining is None else remaining - len(rows)


def events(home: HomeOption = None, after: AfterOption = None, limit: LimitOption = 100) -> None:
    """List what was learned, labeled, dropped and undone, oldest first; by default the newest 100.

    Example: onlooker events --after 1200 --home home/
    """
    with open_existing(home) as found:
        since = max(0, found.sequence - limit) if after is None else after
        for event in found.events(since, limit):
            print_row(
                event=event.sequence,
                time=event.time,
                kind=event.kind,
                camera=event.camera,
                frame=event.frame,
                changes=event.changes,
            )


def undo(to: ToOption, home: HomeOption = None, preview: PreviewOption = False) -> None:
    """Return to what was known after an event. That is an event too, and can be undone.

    Strangers who were named, answered or made since come back as they were, the latest few.
    --preview prints what would be taken back, and changes nothing.

    Example: onlooker undo --to 1187 --home home/
    """
    with open_with_strangers(home) as book:
        found = book.home
        if preview:
            print_row(**asdict(found.undo_preview(to)), strangers=asdict(book.undo_preview(to)))
            return
        before = found.sequence
        found.undo(to=to)
        book.undone(to)
        print_row(undone_to=to, was=before, event=found.sequence, people=list(found.learner.names))
