"""A site: one learner, its journal, and the cameras that send to it. No Ray here.

How examples are numbered and answered is in `inbox.py`, how a site comes and goes in `life.py`;
here are its verbs, and what has to be forgotten before them.

A life of a site: how its home is opened, the signs that it serves, and an end in order.

What a site has to forget before it serves again, as files in its folder.

They are written by whoever forgets while the site does not answer, and need no lock: each is a
file of its own under a name of its own, there as a whole or not at all.
"""

import json
import os
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path

from numpy.typing import ArrayLike

from onlooker.cluster.inbox import Inbox, SiteHome
from onlooker.cluster.messages import (
    BatchAnswer,
    ClusterError,
    Label,
    LearnerConfig,
    NumberedExample,
    SenderSession,
    SiteKnowledge,
    SiteReceipt,
    SiteReport,
    TaughtNames,
)
from onlooker.core.errors import Incompatible, NotFound, OnlookerError
from onlooker.core.files import replace_file, sync_folder
from onlooker.core.records import Explanation, Prediction
from onlooker.home.database import HomeError
from onlooker.home.disk import HomeInUse
from onlooker.home.retention import RetentionPolicy

SIGN_OF_LIFE = 5.0
"""Seconds between two notes that the site serves: how exactly a gap can be told."""


def opened_home(
    folder: Path,
    learner_config: LearnerConfig,
    retention: RetentionPolicy,
    clock: Callable[[], float],
    patience: float,
) -> SiteHome:
    """The home; while its last owner is still dying, wait for the lock."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return SiteHome(
                folder, new_learner=learner_config.learner, retention=retention, clock=clock
            )
        except HomeInUse:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.1)


def refuse_other_settings(home: SiteHome, learner_config: LearnerConfig, site: str) -> None:
    """A home that other choices made cannot be united with those of the other sites."""
    wanted = learner_config.learner()
    for what in ("features", "kernel", "sink", "max_vertices", "quantizer"):
        here, asked = getattr(home.learner, what), getattr(wanted, what)
        if here != asked:
            raise Incompatible(
                f"the home of site {site} was made with {what} {here!r}, the configuration says "
                f"{asked!r}; all sites must agree: change the configuration, or give the site "
                "another folder"
            )


class Heartbeat:
    """From the opening of a home until its end, by the site's clock.

    >>> import tempfile
    >>> from onlooker import HeatKernel
    >>> config = LearnerConfig(HeatKernel(bandwidth=0.3, cutoff=1e-5), features="points")
    >>> now = [1000.0]
    >>> clock = lambda: now[0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     home = opened_home(Path(folder), config, RetentionPolicy(), clock, patience=0.0)
    ...     Heartbeat(home, clock).show()
    ...     now[0] = 1040.0
    ...     print(Heartbeat(home, clock).gap)  # nobody noted the end of the first
    ...     Heartbeat(home, clock).end()
    ...     print(Heartbeat(home, clock).gap)
    ...     home.close()
    40.0
    None
    """

    def __init__(self, home: SiteHome, clock: Callable[[], float]) -> None:
        self._home, self._clock, self._sign = home, clock, 0.0
        self.opened = clock()
        self.gap = self._silence()
        """Seconds since the last sign of the life before, if that did not end in order."""

    def show(self) -> None:
        """Now and then, leave a sign of life on the disk."""
        now = self._clock()
        if abs(now - self._sign) >= SIGN_OF_LIFE:
            self._sign = now
            with suppress(HomeError):  # the report says that nothing can be written
                self._home.note("alive", int(now))

    def end(self) -> None:
        """Note that the end was in order."""
        with suppress(HomeError):  # then the next start speaks of a gap
            self._home.note("alive", None)

    def _silence(self) -> float | None:
        alive = self._home.number("alive")
        if alive is None:
            return None
        return max(0.0, self._clock() - max(alive, self._home.last_event_time() or 0.0))


class PendingForgets:
    """The names that are still to be forgotten at a site."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "forget"

    def add(self, name: str) -> None:
        """Have a name forgotten; on the disk on return."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._folder / f"{uuid.uuid4().hex}.json"
            replace_file(path, json.dumps({"forget": name}).encode())
            sync_folder(self._folder)  # a second time: here a failure must be an error
            sync_folder(self._folder.parent)
        except OSError as error:
            raise ClusterError(
                f"cannot note in {self._folder} that a name is to be forgotten: {error.strerror}"
            ) from error

    def names(self) -> list[tuple[Path, str]]:
        """What is to be forgotten, and the file that says so."""
        if not self._folder.is_dir():
            return []
        found = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                found.append((path, str(json.loads(path.read_text("utf-8"))["forget"])))
            except (ValueError, KeyError, TypeError, OSError) as error:
                raise ClusterError(
                    f"{path} says what to forget, but cannot be read ({error}); the site does "
                    "not serve before a person has looked at it"
                ) from error
        return found

    def done(self, path: Path) -> None:
        """It is forgotten: so is that it was to be."""
        path.unlink(missing_ok=True)
        sync_folder(self._folder)


class Site:
    """One learner with its home.

    >>> import tempfile
    >>> import numpy as np
    >>> from onlooker import HeatKernel
    >>> learner_config = LearnerConfig(HeatKernel(bandwidth=0.3, cutoff=1e-5), features="points")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     site = Site("north", folder, learner_config)
    ...     session = site.open_session("door").session
    ...     first = NumberedExample(1, np.zeros(2), "ana")
    ...     second = NumberedExample(2, np.full(2, 0.1))
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
        learner_config: LearnerConfig,
        *,
        retention: RetentionPolicy | None = None,
        clock: Callable[[], float] = time.time,
        patience: float = 0.0,
    ) -> None:
        self.name, self.learner_config, self._clock = name, learner_config, clock
        self._pending = PendingForgets(Path(folder))
        self.home = opened_home(
            Path(folder), learner_config, retention or RetentionPolicy(), clock, patience
        )
        try:
            refuse_other_settings(self.home, learner_config, name)
            self._life = Heartbeat(self.home, clock)
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

    def open_session(self, sender: str) -> SenderSession:
        """A new sender for a camera; an earlier one is not listened to any more."""
        return self._inbox.open_session(sender)

    def receive(
        self, sender: str, session: int, examples: Sequence[NumberedExample], acknowledged: int
    ) -> BatchAnswer:
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

    def snapshot(self) -> SiteKnowledge:
        """All that was learned."""
        self.carry_out_pending()
        state = self.home.learner.state()
        return SiteKnowledge((self.name,), self.learner_config, state, self._inbox.refused)

    def report(self) -> SiteReport:
        """How it is; now and then this leaves a sign of life on the disk."""
        self.carry_out_pending()
        self._life.show()
        health = self.home.health()
        return SiteReport(
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

    def learn_labels(self, labels: Sequence[Label], origin: str) -> TaughtNames:
        """Labels that other sites have; those that are known here are passed over."""
        here = set(self.label_keys())
        new, refused = 0, []
        for label in labels:
            if label.key not in here:
                try:
                    self.home.teach(label.vector, label.name, camera=origin)
                    here.add(label.key)
                    new += 1
                except HomeError:
                    raise
                except OnlookerError as error:
                    refused.append(str(error))
        return TaughtNames(self.name, new, tuple(refused))

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
