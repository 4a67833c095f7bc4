"""The history of a home: what was known after an event, what is damaged, what comes next."""

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path

from onlooker.core.errors import SnapshotError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Entry
from onlooker.faces.journal import Change, Event, data_of, written
from onlooker.faces.keeping import Erased, Keeping
from onlooker.faces.past import NotMended, Remembered, remember
from onlooker.faces.shelf import FORGETTING, Shelf
from onlooker.faces.store import NotSaved


class Chronicle(Shelf):
    """The folder of one home, open, and the number of its newest event."""

    def __init__(
        self,
        folder: Path,
        fresh: OnlineHarmonicLearner,
        adopt: str | PathLike[str] | None,
        keeping: Keeping,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(folder, fresh, adopt, keeping)
        self._clock = clock
        self.sequence = self._last()
        """The number of the newest event."""

    def _last(self) -> int:
        return max(self.ledger.last()[0], *self.snapshots.sequences(), 0, 0)

    # ---- going back

    def at(self, sequence: int) -> Remembered:
        """What was known after an event."""
        return remember(self.ledger, self.snapshots, sequence)

    def recover(self, *, suspicious: bool = False) -> OnlineHarmonicLearner:
        """What is on the disk; what is damaged is told, mended and left behind."""
        self.sequence = self._last()
        found = self.at(self.sequence)
        learner = found.learner()
        damaged = [f"passed over: {reason}" for reason in self.snapshots.damaged.values()]
        for words in (*damaged, *found.problems):
            self.problem(words)
        try:
            if found.problems or (suspicious and not self.store.sound()):
                self._mend(learner, found)
            if self.ledger.last()[0] < self.sequence:
                self._begin_a_new_journal(learner)
        except (NotSaved, SnapshotError) as error:
            raise NotMended(learner, error) from error
        try:
            if damaged:
                self.snapshot(learner)
            if self.store.noted(FORGETTING) is not None:
                self.erase(learner)
        except (NotSaved, SnapshotError) as error:
            self.problem(f"could not be done yet: {error}")
        return learner

    def _mend(self, learner: OnlineHarmonicLearner, found: Remembered) -> None:
        """Make the way around the damage part of history, so that it is not met again."""
        if self.store.sound():
            alive = found.state.ids.tolist()
            self.record(
                "undo",
                [["undo", found.sequence]],
                next_id=found.state.next_id,
                also=lambda: self.album.keep_only(alive),
            )
            self.snapshot(learner)
            return
        self.sequence += 1
        self.snapshots.save(learner, self.sequence)
        self.begin_another_database("parts of it cannot be read")

    def _begin_a_new_journal(self, learner: OnlineHarmonicLearner) -> None:
        self.problem(
            f"the database does not know of event {self.sequence}, of which there is a snapshot; "
            "lost: pictures, sightings, and whatever was learned after that event"
        )
        self.record("undo", [["undo", self.sequence]], next_id=learner.next_id)

    # ---- going on

    def record(
        self,
        kind: str,
        changes: Iterable[Change],
        *,
        next_id: int,
        entries: Iterable[Entry] = (),
        camera: str | None = None,
        frame: int | None = None,
        also: Callable[[], object] | None = None,
    ) -> None:
        """One event in one transaction, with what also belongs into it; durable on return."""
        number, now = self.sequence + 1, float(self._clock())
        kept, data = data_of(entries)
        event = Event(number, now, camera, frame, kind, written(changes), next_id, kept)
        if also is None:
            self.ledger.append(event, data)  # a single statement is a transaction
        else:
            with self.store.transaction():
                self.ledger.append(event, data)
                also()
        self.sequence = number

    def snapshot(self, learner: OnlineHarmonicLearner) -> None:
        """Write what is known now. Only `thin` may delete what came before."""
        if self.sequence not in self._good_snapshots():
            self.snapshots.save(learner, self.sequence)

    def erase(self, learner: OnlineHarmonicLearner) -> Erased:
        """Leave no byte of the past: only what is known now, in a new snapshot and a new file.

        A vector that was merged away does not say whose it was, so all of history goes.
        """
        self.snapshot(learner)
        return self.keep_only([self.sequence])
