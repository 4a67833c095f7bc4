"""`onlooker strangers`: the people who were seen and have no name, one card each."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
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
LimitOption = Annotated[
    int, typer.Option("--limit", min=1, metavar="N", help="At most this many questions.")
]
LearnedOption = Annotated[
    list[int] | None,
    typer.Option(
        "--learned",
        metavar="FACE",
        help="A face that `ask` listed as learned and that is right: it becomes a labeled one. May "
        "be given several times.",
    ),
]
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
            _print_card(card, pictures)


@strangers.command("ask")
def ask_about_strangers(
    home: HomeOption = None, limit: LimitOption = 1, pictures: PicturesOption = None
) -> None:
    """Print the best question: is this stranger the candidate, or, without one, who is it?

    To answer: `strangers name CARD NAME`, `strangers not CARD NAME`, or `strangers skip CARD`. Of
    a candidate `learned` lists faces that have the name without a label: look at their pictures,
    and give those that are right to `strangers name` as --learned.

    Example: onlooker strangers ask --pictures faces/ --home home/
    """
    with open_with_strangers(home) as book:
        for card, learned in book.questions(limit):
            about = "who is this?" if card.candidate is None else f"is this {card.candidate}?"
            shown = learned if pictures is not None else ()
            faces = {f"learned-{each}": book.home.album.picture(each) for each in shown}
            _print_card(card, pictures, faces, question=about, learned=learned)


@strangers.command("name")
def name_stranger(
    card: CardArgument, name: NameArgument, learned: LearnedOption = None, home: HomeOption = None
) -> None:
    """Name a stranger: the best faces are taught, and the card is deleted.

    Example: onlooker strangers name 3 ana --learned 12 --learned 15 --home home/
    """
    with open_with_strangers(home) as book:
        print_row(card=card, name=name, taught=book.name(card, name, learned=learned or ()))


@strangers.command("not")
def exclude_name(card: CardArgument, name: NameArgument, home: HomeOption = None) -> None:
    """Say who a stranger is not: the best faces are taught so, and it is not asked again.

    Example: onlooker strangers not 3 ana --home home/
    """
    with open_with_strangers(home) as book:
        print_row(card=card, not_name=name, taught=book.exclude(card, name))


@strangers.command("skip")
def skip_stranger(card: CardArgument, home: HomeOption = None) -> None:
    """Do not ask about a stranger any more; the card stays.

    Example: onlooker strangers skip 3 --home home/
    """
    with open_with_strangers(home) as book:
        book.set_ask(card, False)
        print_row(card=card, ask=False)


@strangers.command("ignore")
def ignore_stranger(card: CardArgument, home: HomeOption = None) -> None:
    """Hide a stranger, now and whenever they are seen again: the best faces are nobody.

    Example: onlooker strangers ignore 3 --home home/
    """
    with open_with_strangers(home) as book:
        print_row(card=card, hidden=True, taught=book.ignore(card))


@strangers.command("show")
def show_stranger(card: CardArgument, home: HomeOption = None) -> None:
    """Show an ignored stranger again, and ask again about one that was skipped.

    Example: onlooker strangers show 3 --home home/
    """
    with open_with_strangers(home) as book:
        book.show(card)
        book.set_ask(card, True)
        print_row(card=card, hidden=False, ask=True)


def _print_card(
    card: Card,
    pictures: Path | None,
    others: Mapping[str, bytes | None] = MappingProxyType({}),
    **more: object,
) -> None:
    own = {
        f"stranger-{card.number}-{number}": face.picture
        for number, face in enumerate(card.faces, start=1)
    }
    files = [] if pictures is None else _write_pictures({**own, **others}, pictures)
    print_row(
        **more,
        card=card.number,
        count=card.count,
        first=asdict(card.first),
        last=asdict(card.last),
        faces=len(card.faces),
        hidden=card.hidden,
        candidate=card.candidate,
        candidates=card.candidates,
        not_names=sorted(card.not_names),
        ask=card.ask,
        files=[str(file) for file in files],
    )


def _write_pictures(named: Mapping[str, bytes | None], folder: Path) -> list[Path]:
    """Write pictures, those there are, as files that only the owner can read."""
    files = []
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, picture in named.items():
            if picture is not None:
                file = folder / f"{name}.png"
                file.write_bytes(picture)
                files.append(file)
    except OSError as error:
        raise BadValue(f"cannot write into {folder}: {error.strerror or error}") from error
    return files
