"""Independent jobs on all cores, with a progress bar on a terminal."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Job = TypeVar("Job")
Result = TypeVar("Result")
Engine = Callable[[Callable[[Any], Any], Sequence[Any], Callable[[], object]], list[Any]]
"""Runs a function on jobs in order, and calls back after each; returns the results in order."""
_engine: ContextVar[Engine | None] = ContextVar("engine", default=None)

ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
"""For the workers: with a process per core, more threads of linear algebra only compete."""


def spread(
    work: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    what: str,
    cost: Callable[[Job], float],
) -> list[Result]:
    """The result of each job, in the order of the jobs; the most expensive are started first.

    Worker processes are spawned, not forked: a linear algebra library reads the number of threads
    it may use once, when it is loaded. Progress goes to stderr, and only when that is a terminal.
    """
    if len(jobs) == 1:  # another process would only cost its start
        return [work(jobs[0])]
    by_cost = sorted(range(len(jobs)), key=lambda place: -cost(jobs[place]))
    engine = _engine.get()
    if engine is not None:
        with _progress_bar() as progress:
            bar = progress.add_task(what, total=len(jobs))
            found = engine(work, [jobs[at] for at in by_cost], lambda: progress.advance(bar))
        results = dict(zip(by_cost, found, strict=True))
        return [results[place] for place in range(len(jobs))]
    workers = min(os.cpu_count() or 1, len(jobs))
    with (
        _environment(ONE_THREAD),
        ProcessPoolExecutor(
            workers, multiprocessing.get_context("spawn"), initializer=_ignore_python_interrupts
        ) as pool,
        _progress_bar() as progress,
    ):
        task = progress.add_task(what, total=len(jobs))
        futures = {place: pool.submit(work, jobs[place]) for place in by_cost}
        try:
            for future in as_completed(futures.values()):
                future.result()  # the first failure ends all jobs
                progress.advance(task)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [futures[place].result() for place in range(len(jobs))]


@contextmanager
def running_on(engine: Engine) -> Iterator[None]:
    """Within the block, jobs go to this engine instead of to processes of this machine."""
    token = _engine.set(engine)
    try:
        yield
    finally:
        _engine.reset(token)


def _progress_bar() -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _ignore_python_interrupts() -> None:
    """Ctrl-C reaches the workers too: they end without printing a traceback each."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set environment variables for the processes started inside the block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
