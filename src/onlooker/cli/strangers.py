"""`onlooker strangers`: the people who were seen and have no name, one card each."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from onlooker.cli.homes import HomeOption, open_with_strangers
from onlooker.cli.options import NameArgument
from onlooker.cli.output import print_row
from onlooker.core.errors import BadValue
from onlooker.strangers.cards import Card

strangers = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

CardArgument = Annotated[
    int, typer.Argument(metavar="CARD", help="The number that `list` shows.", show_default=False)
]
HiddenOption = Annotated[bool, typer.Option("--hidden", help="Also list ignored strangers.")]
PicturesOption = Annotated[
    Path | None,
    typer.Option("--pictures", metavar="DIR", help="Write their best faces into DIR."),
]


@strangers.callback()
def about() -> None:
    """Strangers: people who were seen and have no name, one card each.

    Example: onlooker strangers list --home home/
    """


@strangers.command("list")
def list_strangers(
    home: HomeOption = None, hidden: HiddenOption = False, pictures: PicturesOption = None
) -> None:
    """List all cards, the most often seen first. Cards expire after some hours.

    Example: onlooker strangers list --pictures faces/ --home home/
    """
    with open_with_strangers(home) as book:
        for card in book.cards(hidden=hidden):
            files = [] if pictures is None else _write_faces(card, pictures)
            print_row(
                card=card.number,
                count=card.count,
                first=asdict(card.first),
                last=asdict(card.last),
                faces=len(card.faces),
                hidden=card.hidden,
                files=[str(file) for file in files],
            )


@strangers.command("name")
def name_stranger(card: CardArgument, name: NameArgument, home: HomeOption = None) -> None:
    """Name a stranger: the best faces are taught, and the card is deleted.

    Example: onlooker strangers name 3 ana --home home/
    """
    with open_with_strangers(home) as book:
        print_row(card=card, name=name, taught=book.name(card, name))


@strangers.command("ignore")
def ignore_stranger(card: CardArgument, home: HomeOption = None) -> None:
    """Hide a stranger, now and whenever they are seen again.

    Example: onlooker strangers ignore 3 --home home/
    """
    with open_with_strangers(home) as book:
        book.ignore(card)
        print_row(card=card, hidden=True)


def _write_faces(card: Card, folder: Path) -> list[Path]:
    """Write the faces of a card as files that only the owner can read."""
    files = []
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number, face in enumerate(card.faces, start=1):
            if face.picture is not None:
                file = folder / f"stranger-{card.number}-{number}.png"
                file.write_bytes(face.picture)
                files.append(file)
    except OSError as error:
        raise BadValue(f"cannot write into {folder}: {error.strerror or error}") from error
    return files
