"""`onlooker events` and `onlooker undo`: the history of a home, and returning to a point of it."""

from typing import Annotated

import typer

from onlooker.cli.homes import HomeOption, open_existing
from onlooker.cli.output import print_row

AfterOption = Annotated[
    int | None, typer.Option("--after", min=0, metavar="N", help="Only events after this number.")
]
LimitOption = Annotated[
    int, typer.Option("--limit", min=1, metavar="N", help="At most this many events.")
]
ToOption = Annotated[
    int, typer.Option("--to", min=0, metavar="N", help="The last event that still counts.")
]


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


def undo(to: ToOption, home: HomeOption = None) -> None:
    """Return to what was known after an event. That is an event too, and can be undone.

    Example: onlooker undo --to 1187 --home home/
    """
    with open_existing(home) as found:
        before = found.sequence
        found.undo(to=to)
        print_row(undone_to=to, was=before, event=found.sequence, people=list(found.learner.names))
