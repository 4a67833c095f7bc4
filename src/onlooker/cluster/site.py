"""A site: one learner, its journal, and the cameras that send to it. No Ray here.

A sender numbers its examples. The next number is taken, an old one is answered again without
being counted twice, a gap is refused. With each batch a sender says up to which number it was
acknowledged: what was acknowledged is in the journal, or left no trace because it was nobody
known, so a site that was killed goes on from there. Examples are on the disk before the answer.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike, NDArray

from onlooker.cluster.kept import Kept
from onlooker.cluster.pending import Pending
from onlooker.cluster.wire import (
    Answer,
    Delivery,
    Example,
    Hello,
    Knowledge,
    Label,
    Recipe,
    Replaced,
    Report,
    SiteReceipt,
    Taught,
)
from onlooker.errors import BadValue, Incompatible, NotFound, OnlookerError
from onlooker.faces.keeping import Keeping
from onlooker.faces.lock import HomeInUse
from onlooker.faces.store import StoreError
from onlooker.records import Explanation, Prediction
from onlooker.union import REFUSED

REMEMBERED = 64
"""Answers per sender that can be given again word by word; older ones are asked anew."""
SIGN_OF_LIFE = 5.0
"""Seconds between two notes that the site serves: how exactly a gap can be told."""


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
        self.home = _opened(Path(folder), recipe, keeping or Keeping(), clock, patience)
        try:
            _refuse_another_recipe(self.home, recipe, name)
            self._opened = clock()
            self._gap = self._silence()
            self._last = self.home.numbers("last")
            self._sessions = self.home.numbers("session")
            self._answers: dict[str, deque[Answer]] = {}
            self._refused: deque[NDArray[Any]] = deque(maxlen=REFUSED)
            self._again = self._gaps = 0
            self._sign = 0.0
            self.carry_out_pending()
            self._show_life()
        except BaseException:
            self.home.close()
            raise

    def close(self) -> None:
        """Write a snapshot, and note that the end was in order."""
        with suppress(StoreError):  # then the next start speaks of a gap
            self.home.note("alive", None)
        self.home.close()

    # ---- from cameras

    def hello(self, sender: str) -> Hello:
        """A new sender for a camera; an earlier one is not listened to any more."""
        if not sender or not sender.isprintable():
            raise BadValue(f"a sender needs a printable name, got {sender!r}")
        session = self._sessions.get(sender, 0) + 1
        self.home.note(f"session {sender}", session)
        self._sessions[sender] = session
        return Hello(session, self._last.get(sender, 0), self.home.sequence)

    def receive(
        self, sender: str, session: int, examples: Sequence[Example], acknowledged: int
    ) -> Delivery:
        """Take a batch: all that follows on what is here, in one transaction."""
        if session != self._sessions.get(sender):
            raise Replaced(
                f"{sender!r} has another sender at site {self.name}; only the newest one counts"
            )
        self.carry_out_pending()
        last = max(self._last.get(sender, 0), acknowledged)
        answers: list[Answer] = []
        expected, before = None, self.home.sequence
        with self.home.batch():
            for example in examples:
                if example.number > last + 1:
                    expected, self._gaps = last + 1, self._gaps + 1
                    break
                fresh = example.number == last + 1
                act = self._taken if fresh else self._repeated
                answers.append(act(sender, example))
                last = max(last, example.number)
            if self.home.sequence > before:  # outliers alone write nothing
                self.home.mark(f"last {sender}", last)
        # Only now: had the transaction failed, none of it would have happened.
        self._last[sender] = last
        remembered = self._answers.setdefault(sender, deque(maxlen=REMEMBERED))
        remembered.extend(answer for answer in answers if not answer.again)
        self._refused.extend(_nobody(examples, answers))
        self._again += sum(answer.again for answer in answers)
        return Delivery(tuple(answers), self.home.sequence, expected)

    def _taken(self, sender: str, example: Example) -> Answer:
        try:
            return Answer(example.number, self.home.take(sender, example))
        except StoreError:
            raise  # not the example's fault: it will come again
        except OnlookerError as error:
            return Answer(example.number, None, refused=str(error))

    def _repeated(self, sender: str, example: Example) -> Answer:
        for known in self._answers.get(sender, ()):
            if known.number == example.number:
                return Answer(known.number, known.prediction, True, known.refused)
        if example.name is not None:
            return Answer(example.number, None, again=True)
        try:
            return Answer(example.number, self.home.predict(example.vector), again=True)
        except OnlookerError as error:
            return Answer(example.number, None, again=True, refused=str(error))

    # ---- asking

    def predict(self, x: ArrayLike) -> Prediction:
        """Who this is, leaving no trace."""
        return self.home.predict(x)

    def explain(self, x: ArrayLike) -> Explanation:
        """Which labeled examples the walk from x ends at."""
        return self.home.explain(x)

    def snapshot(self) -> Knowledge:
        """All that was learned."""
        self.carry_out_pending()
        state = self.home.learner.state()
        return Knowledge((self.name,), self.recipe, state, tuple(self._refused))

    def report(self) -> Report:
        """How it is; now and then this leaves a sign of life on the disk."""
        self.carry_out_pending()
        self._show_life()
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
            self._opened,
            self._gap,
            dict(self._last),
            self._again,
            self._gaps,
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
        for answers in self._answers.values():
            answers.clear()  # they hold the name
        self._refused.clear()  # who is among them, nobody can tell
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

    # ---- life

    def _silence(self) -> float | None:
        """Seconds since the last sign of the life before, if that did not end in order."""
        alive = self.home.number("alive")
        if alive is None:
            return None
        return max(0.0, self._clock() - max(alive, self.home.last_event_time() or 0.0))

    def _show_life(self) -> None:
        now = self._clock()
        if abs(now - self._sign) >= SIGN_OF_LIFE:
            self._sign = now
            with suppress(StoreError):  # the report says that nothing can be written
                self.home.note("alive", int(now))


def _nobody(examples: Sequence[Example], answers: Sequence[Answer]) -> Iterator[NDArray[Any]]:
    """The vectors that were nobody known, of those that were taken."""
    for example, answer in zip(examples, answers, strict=False):  # a gap ends the answers
        if answer.prediction is not None and answer.prediction.label is None and not answer.again:
            yield example.vector


def _opened(
    folder: Path, recipe: Recipe, keeping: Keeping, clock: Callable[[], float], patience: float
) -> Kept:
    """The home; while its last owner is still dying, wait for the lock."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return Kept(folder, new_learner=recipe.learner, keeping=keeping, clock=clock)
        except HomeInUse:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.1)


def _refuse_another_recipe(home: Kept, recipe: Recipe, site: str) -> None:
    wanted = recipe.learner()
    for what in ("features", "kernel", "sink", "max_vertices", "quantizer"):
        here, asked = getattr(home.learner, what), getattr(wanted, what)
        if here != asked:
            raise Incompatible(
                f"the home of site {site} was made with {what} {here!r}, the configuration says "
                f"{asked!r}; all sites must agree: change the configuration, or give the site "
                "another folder"
            )
