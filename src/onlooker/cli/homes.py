"""Opening a home for a command: which folder, with or without its strangers."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

import typer

from onlooker.cli.output import print_problem, print_problems
from onlooker.cli.settings import load_settings
from onlooker.core.errors import SnapshotError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.home.home import Home
from onlooker.home.reopen import learner_like, reopen
from onlooker.recognition.pipeline import deferred_signals
from onlooker.strangers.book import StrangerBook
from onlooker.vision.finder import face_distances

HomeOption = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="The home; no service may use it now."),
]


def home_folder(home: Path | None) -> Path:
    """The folder of the home, from the option or the settings."""
    chosen = load_settings(home=home)["home"]
    if chosen is None:
        raise typer.BadParameter("which home? Give --home DIR")
    return Path(chosen)


@contextmanager
def open_existing(home: Path | None) -> Iterator[Home]:
    """A home for the duration of the block, which Ctrl-C does not interrupt; reports problems."""
    folder = home_folder(home)
    learner_like(folder, face_distances())  # fails before a lock is made where no home is
    with deferred_signals(), reopen(folder, face_distances()) as found:
        yield found
        print_problems(found.problems)


@contextmanager
def open_with_strangers(home: Path | None) -> Iterator[StrangerBook]:
    """The same with its strangers, without those that have expired."""
    with open_existing(home) as found, StrangerBook(found, home_folder(home)) as book:
        book.expire()
        yield book
        print_problems(book.problems)


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
            with deferred_signals():
                self._learner.save(self._path)

    def look_at_the_clock(self) -> None:
        """Save if it is time; a full disk is told, and may be better the next time."""
        self._looked = True
        if self._path is None or self._clock() - self._last < self._seconds:
            return
        try:
            with deferred_signals():
                self._learner.save(self._path)
        except SnapshotError as error:
            print_problem(f"{error}; going on, trying again later")
        self._last = self._clock()
