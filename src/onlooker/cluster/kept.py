"""A home that takes batches: many examples, one transaction, and who sent what up to where.

The number of a sender's last example is committed together with that example, so that one which
was applied but not acknowledged is recognised when it comes again, also after a restart.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike

from onlooker.cluster.wire import Example
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Prediction
from onlooker.home.home import Home
from onlooker.home.retention import Keeping

NEVER = 2**62


class Kept(Home):
    """A home that is written by sites only."""

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        new_learner: Callable[[], OnlineHarmonicLearner],
        keeping: Keeping,
        clock: Callable[[], float],
    ) -> None:
        # A snapshot in the middle of a batch would hold what is not committed yet: see `batch`.
        self._every, self._snapshot_at = keeping.snapshot_every, 0
        rare = replace(keeping, snapshot_every=NEVER)
        super().__init__(folder, new_learner=new_learner, keeping=rare, clock=clock)
        self._snapshot_at = self._chronicle.snapshots.sequences()[-1]

    @contextmanager
    def batch(self) -> Iterator[None]:
        """One transaction around all verbs in the block: on the disk when it ends, or undone."""
        with self._durable.in_step(), self._chronicle.store.transaction():
            yield
        if self.sequence - self._snapshot_at >= self._every:
            self._durable.snapshot()
            self._snapshot_at = self.sequence

    def take(self, sender: str, example: Example) -> Prediction | None:
        """Learn from one example; an outlier writes nothing."""
        x, name = example.vector, example.name

        def act(learner: OnlineHarmonicLearner) -> Prediction | None:
            if name is None:
                return learner.observe(x)
            learner.teach(x, name)
            return None

        return self._durable.do(
            "observe" if name is None else "teach",
            act,
            picture=example.picture,
            camera=sender,
            frame=example.frame,
        )

    def mark(self, key: str, value: int) -> None:
        """Note a number within a batch: with all of it or not at all."""
        self._chronicle.store.mark(key, value)

    def numbers(self, what: str) -> dict[str, int]:
        """All numbers that were noted under `what NAME`, by name."""
        sql = "SELECT key, value FROM meta WHERE substr(key, 1, ?) = ?"
        rows = self._chronicle.store.run(sql, (len(what) + 1, f"{what} "))
        return {key[len(what) + 1 :]: int(value) for key, value in rows}

    def number(self, key: str) -> int | None:
        """A number that was noted."""
        return self._chronicle.store.noted(key)

    def note(self, key: str, value: int | None) -> None:
        """Note a number, durably."""
        self._chronicle.store.note(key, value)

    def last_event_time(self) -> float | None:
        """When the newest event was written, by this site's clock."""
        newest = self.events(self.sequence - 1, 1)
        return newest[0].time if newest else None
