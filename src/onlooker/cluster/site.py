"""A site: one learner, its journal, and the cameras that send to it. No Ray here.

How examples are numbered and answered is in `inbox.py`, how a site comes and goes in `life.py`;
here are its verbs, and what has to be forgotten before them.
"""

import os
import time
from collections.abc import Callable, Collection, Sequence
from os import PathLike
from pathlib import Path

from numpy.typing import ArrayLike

from onlooker.cluster.inbox import Inbox
from onlooker.cluster.life import Life, opened_home, refuse_another_recipe
from onlooker.cluster.pending import Pending
from onlooker.cluster.wire import (
    Delivery,
    Example,
    Hello,
    Knowledge,
    Label,
    Recipe,
    Report,
    SiteReceipt,
    Taught,
)
from onlooker.core.errors import NotFound, OnlookerError
from onlooker.core.records import Explanation, Prediction
from onlooker.home.database import StoreError
from onlooker.home.retention import Keeping


class Site:
    """One learner with its home.

    >>> import tempfile
    >>> import numpy as np
    >>> from onlooker import HeatKernel
    >>> recipe = Recipe(HeatKernel(bandwidth=0.3, cutoff=1e-5), features="points")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     site = Site("north", folder, recipe)
    ...     session = site.hello("door").session
    ...     first, second = Example(1, np.zeros(2), "ana"), Example(2, np.full(2, 0.1))
    ...     print(site.receive("door", session, [second], 0).expected)
    ...     print(site.receive("door", session, [first, second], 0).answers[1].prediction.label)
    ...     site.close()
    1
    ana
    """

    def __init__(
        self,
        name: str,
        folder: str | PathLike[str],
        recipe: Recipe,
        *,
        keeping: Keeping | None = None,
        clock: Callable[[], float] = time.time,
        patience: float = 0.0,
    ) -> None:
        self.name, self.recipe, self._clock = name, recipe, clock
        self._pending = Pending(Path(folder))
        self.home = opened_home(Path(folder), recipe, keeping or Keeping(), clock, patience)
        try:
            refuse_another_recipe(self.home, recipe, name)
            self._life = Life(self.home, clock)
            self._inbox = Inbox(self.home, name)
            self.carry_out_pending()
            self._life.show()
        except BaseException:
            self.home.close()
            raise

    def close(self) -> None:
        """Write a snapshot, and note that the end was in order."""
        self._life.end()
        self.home.close()

    # ---- from cameras

    def hello(self, sender: str) -> Hello:
        """A new sender for a camera; an earlier one is not listened to any more."""
        return self._inbox.hello(sender)

    def receive(
        self, sender: str, session: int, examples: Sequence[Example], acknowledged: int
    ) -> Delivery:
        """Take a batch: all that follows on what is here, in one transaction."""
        self._inbox.check(sender, session)
        self.carry_out_pending()
        return self._inbox.take(sender, examples, acknowledged)

    # ---- asking

    def predict(self, x: ArrayLike) -> Prediction:
        """Who this is, leaving no trace."""
        self.carry_out_pending()
        return self.home.predict(x)

    def explain(self, x: ArrayLike) -> Explanation:
        """Which labeled examples the walk from x ends at."""
        self.carry_out_pending()
        return self.home.explain(x)

    def snapshot(self) -> Knowledge:
        """All that was learned."""
        self.carry_out_pending()
        state = self.home.learner.state()
        return Knowledge((self.name,), self.recipe, state, self._inbox.refused)

    def report(self) -> Report:
        """How it is; now and then this leaves a sign of life on the disk."""
        self.carry_out_pending()
        self._life.show()
        health = self.home.health()
        return Report(
            self.name,
            health.sequence,
            self.home.learner.names,
            len(self.home.learner),
            int(self.home.vertices().multiplicities.sum()),
            self._clock(),
            os.getpid(),
            "",
            self._life.opened,
            self._life.gap,
            self._inbox.last,
            self._inbox.again,
            self._inbox.gaps,
            health.read_only,
            health.problems,
        )

    # ---- names

    def labels(self, keys: Collection[bytes] | None = None) -> list[Label]:
        """Every labeled example, or those with these keys."""
        self.carry_out_pending()
        known = self.home.vertices()
        rows = zip(known.names, known.vectors, strict=True)
        labels = [Label(name, vector) for name, vector in rows if name is not None]
        return [label for label in labels if keys is None or label.key in keys]

    def label_keys(self) -> list[bytes]:
        """The keys of every labeled example: short enough to be asked for every few seconds."""
        return [label.key for label in self.labels()]

    def learn_labels(self, labels: Sequence[Label], origin: str) -> Taught:
        """Labels that other sites have; those that are known here are passed over."""
        here = set(self.label_keys())
        new, refused = 0, []
        for label in labels:
            if label.key not in here:
                try:
                    self.home.teach(label.vector, label.name, camera=origin)
                    here.add(label.key)
                    new += 1
                except StoreError:
                    raise
                except OnlookerError as error:
                    refused.append(str(error))
        return Taught(self.name, new, tuple(refused))

    def forget(self, name: str) -> SiteReceipt:
        """Delete a name and all of history with it, and say what went."""
        self.carry_out_pending()
        return self._forget(name)

    def _forget(self, name: str) -> SiteReceipt:
        self._inbox.forget()
        try:
            return SiteReceipt(self.name, name, "done", self.home.forget(name))
        except NotFound as error:
            return SiteReceipt(self.name, name, "unknown", why=str(error))

    def carry_out_pending(self) -> list[SiteReceipt]:
        """Forget what was to be forgotten while nobody served here: before anything else."""
        receipts = []
        for path, name in self._pending.names():
            receipts.append(self._forget(name))
            self._pending.done(path)
        return receipts
