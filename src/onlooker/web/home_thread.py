"""The one thread that owns the home; all other threads hand it jobs through a short queue.

A home is not thread-safe, and with one owner it need not be. The queue is bounded: when it is
full, new work is refused at once instead of making everybody wait longer and longer.
"""

import asyncio
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

QUEUE_SIZE = 256
"""Jobs that may wait; further ones are refused with Busy."""
CHECK_EVERY = 0.5
"""Seconds between two updates of the health."""

_Result = TypeVar("_Result")
_QueuedJob: TypeAlias = "tuple[Callable[[Home], Any], Future[Any]] | None"

log = logging.getLogger(__name__)


class Busy(OnlookerError):
    """The queue of jobs is full."""


class Stopped(OnlookerError):
    """The service is closing, or has closed."""


class HomeThread:
    """Opens a home, runs jobs on it, and closes it, all in one thread.

    An error of open_home is raised by the constructor. These are called in the thread: on_event
    with the number of the newest event whenever it has changed, on_check with the home about twice
    a second, expire with the home at the start and every expire_every seconds.
    """

    def __init__(
        self,
        open_home: Callable[[], AbstractContextManager[Home]],
        *,
        on_event: Callable[[int], object] = lambda sequence: None,
        on_check: Callable[[Home], object] = lambda home: None,
        expire: Callable[[Home], object] = Home.expire,
        expire_every: float = 600.0,
        queue_size: int = QUEUE_SIZE,
    ) -> None:
        self._jobs: Queue[_QueuedJob] = Queue(queue_size)
        self._on_event, self._on_check = on_event, on_check
        self._expire, self._expire_every = expire, expire_every
        self._closing, self._lock = False, Lock()
        self.health = Health(None, (), 0, 0)
        """At most about a second old; reading it never waits for the home."""
        opened: Future[None] = Future()
        self._thread = Thread(
            target=self._run, args=(open_home, opened), name="onlooker home", daemon=True
        )
        self._thread.start()
        opened.result()

    @property
    def waiting(self) -> int:
        """The number of jobs in the queue."""
        return self._jobs.qsize()

    @property
    def alive(self) -> bool:
        """Whether jobs are being run."""
        return self._thread.is_alive()

    def submit(self, job: Callable[[Home], _Result], *, timeout: float = 0.0) -> "Future[_Result]":
        """Queue a job; Busy if the queue is still full after timeout seconds."""
        future: Future[_Result] = Future()
        with self._lock:
            if self._closing or not self.alive:
                raise Stopped("the service is closing; start it again to continue")
            if not timeout:
                return self._put(job, future, None)
        return self._put(job, future, timeout)

    async def call(self, job: Callable[[Home], _Result]) -> _Result:
        """Run a job and wait for its result, without blocking the event loop."""
        return await asyncio.wrap_future(self.submit(job))

    def close(self) -> None:
        """Finish the queued jobs, close the home with a snapshot, and end the thread."""
        with self._lock:
            first, self._closing = not self._closing, True
        if first and self.alive:
            self._jobs.put(None)
        self._thread.join()
        self._refuse_queued_jobs()

    def _put(
        self, job: Callable[[Home], _Result], future: "Future[_Result]", timeout: float | None
    ) -> "Future[_Result]":
        try:
            self._jobs.put((job, future), block=timeout is not None, timeout=timeout)
        except Full:
            raise Busy("too many jobs are waiting; try again in a second") from None
        if not self.alive:  # the thread ended in between
            self._refuse_queued_jobs()
        return future

    def _refuse_queued_jobs(self) -> None:
        while True:
            try:
                queued = self._jobs.get_nowait()
            except Empty:
                return
            if queued is not None and queued[1].set_running_or_notify_cancel():
                queued[1].set_exception(Stopped("the service has closed"))

    # ---- in the thread

    def _run(
        self, open_home: Callable[[], AbstractContextManager[Home]], opened: "Future[None]"
    ) -> None:
        with ExitStack() as stack:
            try:
                home = stack.enter_context(open_home())
                self.health = home.health()
                self._on_check(home)
            except BaseException as error:
                opened.set_exception(error)
                return
            self._check(home, expire=True)  # what has expired while the service was not running
            opened.set_result(None)
            self._run_jobs(home)

    def _run_jobs(self, home: Home) -> None:
        last_check = last_expire = time.monotonic()
        while True:
            try:
                queued = self._jobs.get(timeout=CHECK_EVERY)
                if queued is None:
                    return
                before = home.sequence
                _run_job(home, *queued)
                if home.sequence != before:
                    self._on_event(home.sequence)
            except Empty:
                pass
            now = time.monotonic()
            if now - last_check >= CHECK_EVERY:
                last_check, due = now, now - last_expire >= self._expire_every
                self._check(home, expire=due)
                last_expire = now if due else last_expire

    def _check(self, home: Home, *, expire: bool) -> None:
        """Update the health and delete expired data; an error must not end the thread."""
        try:
            self.health = home.health()
            self._on_check(home)
            if expire:
                self._expire(home)
        except Exception as error:
            log.warning("the periodic check of the home failed: %s", error)


def _run_job(home: Home, job: Callable[[Home], Any], future: "Future[Any]") -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(job(home))
    except Exception as error:  # the caller decides what it means
        future.set_exception(error)
