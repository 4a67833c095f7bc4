"""Keeps what a learner has learned in its file: now and then, and at the end."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from onlooker.cli.options import one_line
from onlooker.core.errors import SnapshotError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.recognition.pipeline import undisturbed


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
