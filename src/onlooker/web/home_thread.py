"""One thread that owns the home; everybody else hands it work through a short queue."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack
from queue import Empty, Full, Queue
from threading import Lock, Thread
from typing import Any, TypeAlias, TypeVar

from onlooker.core.errors import OnlookerError
from onlooker.home.home import Home
from onlooker.home.retention import Health

WAITING = 256
"""Pieces of work that may wait; whoever comes then is told to come back."""
IDLE = 0.5
"""Seconds between two looks at the clock when there is nothing to do."""

_Result = TypeVar("_Result")
_Job: TypeAlias = "tuple[Callable[[Home], Any], Future[Any]] | None"

log = logging.getLogger(__name__)


class Busy(OnlookerError):
    """So much is waiting already that nothing more is taken."""


class Stopped(OnlookerError):
    """The service is closing, or has closed."""


class HomeThread:
    """Opens a home, works on it, and closes it, all in one thread.

    What cannot be opened is raised by the constructor. told is called in the thread with the
    number of the newest event whenever that has changed, looked with the home about twice a second.
    """

    def __init__(
        self,
        open_home: Callable[[], AbstractContextManager[Home]],
        *,
        told: Callable[[int], object] = lambda sequence: None,
        tidy: Callable[[Home], object] = Home.expire,
        looked: Callable[[Home], object] = lambda home: None,
        waiting: int = WAITING,
        tidy_every: float = 600.0,
    ) -> None:
        self._jobs: Queue[_Job] = Queue(waiting)
        self._told, self._tidy, self._tidy_every = told, tidy, tidy_every
        self._looked = looked
        self._closing, self._gate = False, Lock()
        self.health = Health(None, (), 0, 0)
        """As of at most a second ago: nobody has to wait for it."""
        opened: Future[None] = Future()
        self._thread = Thread(
            target=self._run, args=(open_home, opened), name="onlooker home", daemon=True
        )
        self._thread.start()
        opened.result()

    @property
    def waiting(self) -> int:
        """How much work waits."""
        return self._jobs.qsize()

    @property
    def alive(self) -> bool:
        """Whether anybody is working."""
        return self._thread.is_alive()

    def submit(self, act: Callable[[Home], _Result], *, patience: float = 0.0) -> "Future[_Result]":
        """Work on the home; Busy if there is no room within so many seconds."""
        future: Future[_Result] = Future()
        with self._gate:
            if self._closing or not self.alive:
                raise Stopped("the service is closing; start it again to go on")
            if not patience:
                return self._put(act, future, None)
        return self._put(act, future, patience)

    def _put(
        self, act: Callable[[Home], _Result], future: "Future[_Result]", patience: float | None
    ) -> "Future[_Result]":
        try:
            self._jobs.put((act, future), block=patience is not None, timeout=patience)
        except Full:
            raise Busy("too much is waiting to be done; try again in a second") from None
        if not self.alive:  # it ended in between
            self._refuse_the_rest()
        return future

    def close(self) -> None:
        """Finish what waits, close the home with a snapshot, and end the thread."""
        with self._gate:
            first, self._closing = not self._closing, True
        if first and self.alive:
            self._jobs.put(None)
        self._thread.join()
        self._refuse_the_rest()

    # ---- in the thread

    def _run(
        self, open_home: Callable[[], AbstractContextManager[Home]], opened: "Future[None]"
    ) -> None:
        with ExitStack() as stack:
            try:
                home = stack.enter_context(open_home())
                self.health = home.health()
                self._looked(home)
            except BaseException as error:
                opened.set_exception(error)
                return
            self._look_after(home, tidy=True)  # what has expired while nobody was here
            opened.set_result(None)
            self._work(home)

    def _work(self, home: Home) -> None:
        looked = tidied = time.monotonic()
        while True:
            try:
                job = self._jobs.get(timeout=IDLE)
            except Empty:
                job = (lambda home: None, Future())
            if job is None:
                return
            before = home.sequence
            _do(home, *job)
            if home.sequence != before:
                self._told(home.sequence)
            now = time.monotonic()
            if now - looked >= IDLE:
                looked = now
                self._look_after(home, tidy=now - tidied >= self._tidy_every)
                tidied = now if now - tidied >= self._tidy_every else tidied

    def _look_after(self, home: Home, *, tidy: bool) -> None:
        """How it is, and what has expired; whatever goes wrong, the work goes on."""
        try:
            self.health = home.health()
            self._looked(home)
            if tidy:
                self._tidy(home)
        except Exception as error:
            log.warning("the home could not be looked after: %s", error)

    def _refuse_the_rest(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return
            if job is not None and job[1].set_running_or_notify_cancel():
                job[1].set_exception(Stopped("the service has closed"))


def _do(home: Home, act: Callable[[Home], Any], future: "Future[Any]") -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(act(home))
    except Exception as error:  # whoever asked decides what it means
        future.set_exception(error)
