"""What the commands on a home share: which folder, opening it, telling what is wrong with it.

Keeps what a learner has learned in its file: now and then, and at the end.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Self

import typer

from onlooker.cli.options import one_line
from onlooker.cli.settings import settings
from onlooker.core.errors import SnapshotError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.home.home import Home
from onlooker.home.reopen import learner_like, reopen
from onlooker.recognition.pipeline import undisturbed
from onlooker.strangers.book import StrangerBook
from onlooker.vision.finder import face_distances

HomeOption = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="The home; no service may be running on it."),
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Who.", show_default=False)]


def folder_of(home: Path | None) -> Path:
    """The folder of the home that is meant."""
    chosen = settings(home=home)["home"]
    if chosen is None:
        raise typer.BadParameter("which home? Give --home DIR")
    return Path(chosen)


@contextmanager
def opened(home: Path | None) -> Iterator[Home]:
    """The home for the time of the block, in which Ctrl-C waits; problems are told on stderr."""
    folder = folder_of(home)
    learner_like(folder, face_distances())  # before a folder or a lock is made where no home is
    with undisturbed(), reopen(folder, face_distances()) as found:
        yield found
        tell(found.problems)


@contextmanager
def opened_with_strangers(home: Path | None) -> Iterator[StrangerBook]:
    """The same, with its strangers; those that have expired are gone."""
    with opened(home) as found, StrangerBook(found, folder_of(home)) as visitors:
        visitors.expire()
        yield visitors
        tell(visitors.problems)


def tell(problems: Iterable[str]) -> None:
    """One line each on stderr."""
    for words in problems:
        print(f"onlooker: {one_line(words)}", file=sys.stderr)


def tell_left_out(names: Iterable[str]) -> None:
    """Who is in a folder of people and was forgotten since they were taught from it."""
    tell(
        f"{name} is not taught again: that name was known once, and it was forgotten, renamed or "
        "undone since; label a face to bring it back"
        for name in names
    )


def print_row(**row: Any) -> None:
    """One line of JSON."""
    print(json.dumps(row))


class Keeper:
    """Saves a learner when the block ends, and within it whenever the time has come.

    An error before anything was learned from the stream leaves the file alone; after that, and
    after Ctrl-C, what was learned is saved. Without a path it does nothing.
    """

    def __init__(
        self,
        learner: OnlineHarmonicLearner,
        path: Path | None,
        seconds: float,
        clock: Callable[[], float],
    ) -> None:
        if path is not None and not os.access(path.absolute().parent, os.W_OK):
            raise SnapshotError(
                f"cannot write {path}: its folder is not there, or not yours; make it first"
            )
        self._learner, self._path, self._seconds, self._clock = learner, path, seconds, clock
        self._last = clock()
        self._looked = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception) and not self._looked:
            return
        if self._path is not None and self._learner.names:
            with undisturbed():
                self._learner.save(self._path)

    def look_at_the_clock(self) -> None:
        """Save if it is time; a full disk is told, and may be better the next time."""
        self._looked = True
        if self._path is None or self._clock() - self._last < self._seconds:
            return
        try:
            with undisturbed():
                self._learner.save(self._path)
        except SnapshotError as error:
            print(f"onlooker: {one_line(error)}; going on, trying again later", file=sys.stderr)
        self._last = self._clock()
