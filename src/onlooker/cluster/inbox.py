"""What reaches a site from its senders: taken once, in order, and answered as often as it comes.

A sender numbers its examples. The next number is taken, an old one is answered again without
being counted twice, a gap is refused. With each batch a sender says up to which number it was
acknowledged: what was acknowledged is in the journal, or left no trace because it was nobody
known, so a site that was killed goes on from there. Examples are on the disk before the answer.

A home that takes batches: many examples, one transaction, and who sent what up to where.

The number of a sender's last example is committed together with that example, so that one which
was applied but not acknowledged is recognised when it comes again, also after a restart.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import Any

from numpy.typing import NDArray

from onlooker.cluster.messages import (
    BatchAnswer,
    ExampleAnswer,
    NumberedExample,
    SenderReplaced,
    SenderSession,
)
from onlooker.core.errors import BadValue, OnlookerError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Prediction
from onlooker.core.union import REFUSED
from onlooker.home.database import HomeError
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
        retention: RetentionPolicy,
        clock: Callable[[], float],
    ) -> None:
        # A snapshot in the middle of a batch would hold what is not committed yet: see `batch`.
        self._every, self._snapshot_at = retention.snapshot_every, 0
        rare = replace(retention, snapshot_every=NEVER)
        super().__init__(folder, new_learner=new_learner, retention=rare, clock=clock)
        self._snapshot_at = self._chronicle.snapshots.sequences()[-1]

    @contextmanager
    def batch(self) -> Iterator[None]:
        """One transaction around all verbs in the block: on the disk when it ends, or undone."""
        with self._durable.in_step(), self._chronicle.store.transaction():
            yield
        if self.sequence - self._snapshot_at >= self._every:
            self._durable.snapshot()
            self._snapshot_at = self.sequence

    def take(self, sender: str, example: NumberedExample) -> Prediction | None:
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


REMEMBERED = 64
"""Answers per sender that can be given again word by word; older ones are asked anew."""


class Inbox:
    """The numbers of all senders of a site, and what they were told.

    >>> import tempfile, time
    >>> import numpy as np
    >>> from onlooker import HeatKernel
    >>> from onlooker.cluster.messages import LearnerConfig
    >>> from onlooker.home.retention import RetentionPolicy
    >>> config = LearnerConfig(HeatKernel(bandwidth=0.3, cutoff=1e-5), features="points")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy = RetentionPolicy()
    ...     home = SiteHome(folder, new_learner=config.learner, retention=policy, clock=time.time)
    ...     inbox = Inbox(home, "north")
    ...     session = inbox.open_session("door").session
    ...     ana = NumberedExample(1, np.zeros(2), "ana")
    ...     inbox.check("door", session)
    ...     deliveries = [inbox.take("door", [ana], 0) for _ in range(2)]
    ...     home.close()
    >>> [delivery.answers[0].again for delivery in deliveries], inbox.again, inbox.last
    ([False, True], 1, {'door': 1})
    """

    def __init__(self, home: SiteHome, site: str) -> None:
        self._home, self._site = home, site
        self._last = home.numbers("last")
        self._sessions = home.numbers("session")
        self._answers: dict[str, deque[ExampleAnswer]] = {}
        self._refused: deque[NDArray[Any]] = deque(maxlen=REFUSED)
        self.again = self.gaps = 0

    @property
    def last(self) -> dict[str, int]:
        """The newest example of each sender."""
        return dict(self._last)

    @property
    def refused(self) -> tuple[NDArray[Any], ...]:
        """The newest examples that were nobody known."""
        return tuple(self._refused)

    def open_session(self, sender: str) -> SenderSession:
        """A new sender for a camera; an earlier one is not listened to any more."""
        if not sender or not sender.isprintable():
            raise BadValue(f"a sender needs a printable name, got {sender!r}")
        session = self._sessions.get(sender, 0) + 1
        self._home.note(f"session {sender}", session)
        self._sessions[sender] = session
        return SenderSession(session, self._last.get(sender, 0), self._home.sequence)

    def check(self, sender: str, session: int) -> None:
        """Refuse a sender which has a successor."""
        if session != self._sessions.get(sender):
            raise SenderReplaced(
                f"{sender!r} has another sender at site {self._site}; only the newest one counts"
            )

    def take(
        self, sender: str, examples: Sequence[NumberedExample], acknowledged: int
    ) -> BatchAnswer:
        """All that follows on what is here, in one transaction."""
        last = max(self._last.get(sender, 0), acknowledged)
        answers: list[ExampleAnswer] = []
        expected, before = None, self._home.sequence
        with self._home.batch():
            for example in examples:
                if example.number > last + 1:
                    expected, self.gaps = last + 1, self.gaps + 1
                    break
                fresh = example.number == last + 1
                act = self._taken if fresh else self._repeated
                answers.append(act(sender, example))
                last = max(last, example.number)
            if self._home.sequence > before:  # outliers alone write nothing
                self._home.mark(f"last {sender}", last)
        # Only now: had the transaction failed, none of it would have happened.
        self._last[sender] = last
        remembered = self._answers.setdefault(sender, deque(maxlen=REMEMBERED))
        remembered.extend(answer for answer in answers if not answer.again)
        self._refused.extend(_nobody(examples, answers))
        self.again += sum(answer.again for answer in answers)
        return BatchAnswer(tuple(answers), self._home.sequence, expected)

    def forget(self) -> None:
        """Before a name is forgotten: keep nothing that may hold it. The numbers stay."""
        for answers in self._answers.values():
            answers.clear()  # they hold the name
        self._refused.clear()  # who is among them, nobody can tell

    def _taken(self, sender: str, example: NumberedExample) -> ExampleAnswer:
        try:
            return ExampleAnswer(example.number, self._home.take(sender, example))
        except HomeError:
            raise  # not the example's fault: it will come again
        except OnlookerError as error:
            return ExampleAnswer(example.number, None, refused=str(error))

    def _repeated(self, sender: str, example: NumberedExample) -> ExampleAnswer:
        for known in self._answers.get(sender, ()):
            if known.number == example.number:
                return ExampleAnswer(known.number, known.prediction, True, known.refused)
        if example.name is not None:
            return ExampleAnswer(example.number, None, again=True)
        try:
            return ExampleAnswer(example.number, self._home.predict(example.vector), again=True)
        except OnlookerError as error:
            return ExampleAnswer(example.number, None, again=True, refused=str(error))


def _nobody(
    examples: Sequence[NumberedExample], answers: Sequence[ExampleAnswer]
) -> Iterator[NDArray[Any]]:
    """The vectors that were nobody known, of those that were taken."""
    for example, answer in zip(examples, answers, strict=False):  # a gap ends the answers
        if answer.prediction is not None and answer.prediction.label is None and not answer.again:
            yield example.vector
