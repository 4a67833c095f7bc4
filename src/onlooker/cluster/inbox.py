"""A home that takes batches; `Home.batch` replaces this module."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike

from numpy.typing import ArrayLike

from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Prediction
from onlooker.home.durable_learner import Picture
from onlooker.home.home import Home
from onlooker.home.retention import RetentionPolicy

NEVER = 2**62


class SiteHome(Home):
    """A home that is written by sites only."""

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        new_learner: Callable[[], OnlineHarmonicLearner],
        retention: RetentionPolicy | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        # A snapshot in the middle of a batch would hold what is not committed yet: see `batch`.
        policy = retention or RetentionPolicy()
        self._every, self._snapshot_at = policy.snapshot_every, 0
        rare = replace(policy, snapshot_every=NEVER)
        super().__init__(folder, new_learner=new_learner, retention=rare, clock=clock)
        self._snapshot_at = self._chronicle.snapshots.sequences()[-1]

    @contextmanager
    def batch(self) -> Iterator[None]:
        """One transaction around all changes in the block: on the disk when it ends, or undone."""
        with self._durable.in_step(), self._chronicle.store.transaction():
            yield
        if self.sequence - self._snapshot_at >= self._every:
            self._durable.snapshot()
            self._snapshot_at = self.sequence

    def observe(
        self, x: ArrayLike, *, camera: str, frame: int, picture: Picture = None
    ) -> Prediction:
        """Name an example and learn from it; a write that is refused raises."""
        return self._durable.do(
            "observe",
            lambda learner: learner.observe(x),
            picture=picture,
            camera=camera,
            frame=frame,
        )

    def numbers(self, prefix: str) -> dict[str, int]:
        """All numbers that were stored under `prefix NAME`, by name."""
        sql = "SELECT key, value FROM meta WHERE substr(key, 1, ?) = ?"
        rows = self._chronicle.store.run(sql, (len(prefix) + 1, f"{prefix} "))
        return {key[len(prefix) + 1 :]: int(value) for key, value in rows}

    def number(self, key: str) -> int | None:
        """A number that was stored."""
        return self._chronicle.store.noted(key)

    def set_number(self, key: str, value: int | None) -> None:
        """Store a number or delete it; within a batch, together with it."""
        self._chronicle.store.note(key, value)
