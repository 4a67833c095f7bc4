"""`onlooker audit`: what a home taught itself, and how far it may be wrong."""

from dataclasses import asdict

import typer
from rich.console import Console
from rich.progress import Progress

from onlooker.cli.homes import HomeOption, open_with_strangers
from onlooker.cli.output import print_row
from onlooker.home.audit import TWICE, PersonAudit, audit


def audit_home(home: HomeOption = None) -> None:
    """Print what was learned of each person, and an estimate of how much of it is wrong.

    A row a person: how many faces are labeled and learned; the learned ones farthest from every
    label, with the number of steps to one and the weakest; which names labeled faces get when their
    own label is hidden, and all faces when the person is; who is most alike. Then a row for each
    two faces of one frame that had the same name. The last row estimates which share of the named
    faces are somebody else's: those that hang on a step longer than longest_link, as between two
    people. Nothing is changed.

    Example: onlooker audit --home home/
    """
    with open_with_strangers(home) as book:
        refused = sum(card.count for card in book.cards(hidden=True))
        console = Console(stderr=True)
        bar = Progress(console=console, transient=True, disable=not console.is_terminal)
        with bar as progress:
            task = progress.add_task("auditing", total=len(book.home.learner.names))
            found = audit(
                book.home.learner,
                refused=refused,
                events=book.home.events(limit=TWICE, kind="twice", newest=True),
                done=lambda: progress.advance(task),
            )
    for person in found.people:
        print_row(**_row(person))
    for pair in found.twice:
        print_row(twice=asdict(pair))
    if not found.people:
        raise typer.Exit
    print_row(
        named_unknown=round(found.named_unknown, 4),
        refused=refused,
        contamination=None if found.contamination is None else round(found.contamination, 4),
        longest_link=None if found.longest_link is None else round(found.longest_link, 4),
    )


def _row(person: PersonAudit) -> dict[str, object]:
    """A person for JSON, where keys are text: nobody is the empty name."""
    row = asdict(person)
    for key in ("hidden_labels", "hidden_person"):
        row[key] = {name or "": count for name, count in row[key].items()}
    return row
