"""`onlooker people`: who is known, and what can be done about a name."""

from dataclasses import asdict
from typing import Annotated

import typer

from onlooker.cli.homes import (
    HomeOption,
    NameArgument,
    opened,
    opened_with_strangers,
    print_row,
)
from onlooker.home.people import everybody, merge, rename

people = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

NewNameArgument = Annotated[
    str, typer.Argument(metavar="NEW", help="The name from now on.", show_default=False)
]
IntoArgument = Annotated[
    str, typer.Argument(metavar="INTO", help="The name that stays.", show_default=False)
]


@people.callback()
def about() -> None:
    """The people that a home knows.

    Example: onlooker people list --home home/
    """


@people.command("list")
def list_people(home: HomeOption = None) -> None:
    """Everybody: faces that were labeled, faces learned by watching, and examples behind them.

    Example: onlooker people list --home home/
    """
    with opened(home) as found:
        for known in everybody(found.learner):
            print_row(**asdict(known))


@people.command("rename")
def rename_person(name: NameArgument, new: NewNameArgument, home: HomeOption = None) -> None:
    """Give somebody another name, in what is known and in the diary of sightings.

    Example: onlooker people rename ana anna --home home/
    """
    with opened(home) as found:
        print_row(name=new, was=name, labeled=rename(found, name, new))


@people.command("merge")
def merge_people(name: NameArgument, into: IntoArgument, home: HomeOption = None) -> None:
    """Two names, one person: all that NAME was is INTO from now on.

    Example: onlooker people merge ana2 ana --home home/
    """
    with opened(home) as found:
        print_row(name=into, was=name, labeled=merge(found, name, into))


@people.command("forget")
def forget_person(name: NameArgument, home: HomeOption = None) -> None:
    """Delete somebody so that no byte remains in the home, and print a receipt.

    All of history goes with them, since it does not say whose it was; backups and exports are
    yours to delete.

    Example: onlooker people forget ana --home home/
    """
    with opened_with_strangers(home) as visitors:
        print_row(**asdict(visitors.forget(name)))
