"""`onlooker strangers`: a card for everybody who has no name."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from onlooker.cli.homes import HomeOption, NameArgument, opened_with_strangers, print_row
from onlooker.core.errors import BadValue
from onlooker.strangers.cards import Card

strangers = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

CardArgument = Annotated[
    int, typer.Argument(metavar="CARD", help="The number that list shows.", show_default=False)
]
HiddenOption = Annotated[bool, typer.Option("--hidden", help="Those that are ignored too.")]
PicturesOption = Annotated[
    Path | None,
    typer.Option("--pictures", metavar="DIR", help="Write their best faces there, to be seen."),
]


@strangers.callback()
def about() -> None:
    """Strangers: who was seen and has no name, one card each.

    Example: onlooker strangers list --home home/
    """


@strangers.command("list")
def list_strangers(
    home: HomeOption = None, hidden: HiddenOption = False, pictures: PicturesOption = None
) -> None:
    """All cards, the most often seen first. Cards expire after some hours.

    Example: onlooker strangers list --pictures faces/ --home home/
    """
    with opened_with_strangers(home) as visitors:
        for card in visitors.cards(hidden=hidden):
            files = [] if pictures is None else _written(card, pictures)
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
    """Say who a stranger is: the best faces are taught, and the card is gone.

    Example: onlooker strangers name 3 ana --home home/
    """
    with opened_with_strangers(home) as visitors:
        print_row(card=card, name=name, taught=visitors.name(card, name))


@strangers.command("ignore")
def ignore_stranger(card: CardArgument, home: HomeOption = None) -> None:
    """Hide a stranger, now and whenever they are seen again.

    Example: onlooker strangers ignore 3 --home home/
    """
    with opened_with_strangers(home) as visitors:
        visitors.ignore(card)
        print_row(card=card, hidden=True)


def _written(card: Card, folder: Path) -> list[Path]:
    """The faces of a card as files for the owner's eyes."""
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
