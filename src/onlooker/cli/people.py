"""`onlooker people`: list, rename, merge and forget the people that a home knows."""

from dataclasses import asdict
from typing import Annotated

import typer

from onlooker.cli.homes import HomeOption, open_existing, open_with_strangers
from onlooker.cli.options import NameArgument
from onlooker.cli.output import print_row
from onlooker.home.people import count_people, merge, rename

people = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

NewNameArgument = Annotated[
    str, typer.Argument(metavar="NEW", help="The new name.", show_default=False)
]
IntoArgument = Annotated[
    str, typer.Argument(metavar="INTO", help="The name that remains.", show_default=False)
]


@people.callback()
def about() -> None:
    """The people that a home knows.

    Example: onlooker people list --home home/
    """


@people.command("list")
def list_people(home: HomeOption = None) -> None:
    """List everybody: labeled faces, learned faces, and how many they stand for.

    Example: onlooker people list --home home/
    """
    with open_existing(home) as found:
        for known in count_people(found.learner):
            print_row(**asdict(known))


@people.command("rename")
def rename_person(name: NameArgument, new: NewNameArgument, home: HomeOption = None) -> None:
    """Rename a person, in the learner and in the list of sightings.

    Example: onlooker people rename ana anna --home home/
    """
    with open_with_strangers(home) as book:
        print_row(name=new, was=name, labeled=book.change_name(rename, name, new))


@people.command("merge")
def merge_people(name: NameArgument, into: IntoArgument, home: HomeOption = None) -> None:
    """Two names for one person become one: NAME becomes INTO.

    Example: onlooker people merge ana2 ana --home home/
    """
    with open_with_strangers(home) as book:
        print_row(name=into, was=name, labeled=book.change_name(merge, name, into))


@people.command("forget")
def forget_person(name: NameArgument, home: HomeOption = None) -> None:
    """Delete a person so that no byte remains in the home, and print a receipt.

    Any name that occurs in it, also one that was undone. What belongs to others stays, but nothing
    before can be undone to. Backups and exports are yours to delete.

    Example: onlooker people forget ana --home home/
    """
    with open_with_strangers(home) as book:
        print_row(**asdict(book.forget(name)))
