"""The history of a home: what was known after an event, what is damaged, what comes next.

The files of a home, open: what is where, and what is deleted from them.

onlooker.db (-wal, -shm)       events, vectors, pictures, sightings
snapshots/NNN.snapshot         what was known after event NNN
lock                           the process that has the home open
ballast                        room to delete with when the disk is full
onlooker.db.damaged-N          a database that could not be read, for a person to look at
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from os import PathLike
from pathlib import Path

from onlooker.core.errors import SnapshotError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Entry
from onlooker.home.album import Album
from onlooker.home.database import Database, HomeDamaged, HomeError, NotSaved
from onlooker.home.disk import Ballast, Lock
from onlooker.home.events import Change, Event, EventLog, data_of, written
from onlooker.home.replay import NotRepaired, Remembered, remember
from onlooker.home.retention import DAY, GIGABYTE, MEGABYTE, Erased, RetentionPolicy
from onlooker.home.snapshots import Snapshots, adopted, to_keep

FORGETTING = "forgetting"
"""Noted while copies of somebody who was forgotten may still be on the disk."""


class Shelf:
    """The folder of one home; nobody else has it open."""

    def __init__(
        self,
        folder: Path,
        fresh: OnlineHarmonicLearner,
        adopt: str | PathLike[str] | None,
        retention: RetentionPolicy,
    ) -> None:
        self.problems: list[str] = []
        """What is not as it was left, in words."""
        self._folder, self.retention = folder, retention
        self.ballast = Ballast(folder / "ballast", int(retention.ballast_megabytes * MEGABYTE))
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = Lock(folder / "lock")
        except OSError as error:
            raise HomeError(
                f"cannot open a home in {folder}: {error.strerror}; check the path, its "
                "permissions and the free space"
            ) from error
        try:
            self._open(fresh, adopt)
        except BaseException:
            self._lock.release()
            raise

    def _open(self, fresh: OnlineHarmonicLearner, adopt: str | PathLike[str] | None) -> None:
        try:
            self._open_database()
        except HomeDamaged as error:
            self._set_aside(str(error))
            self._open_database()
        self.snapshots = Snapshots(self._folder / "snapshots", fresh)
        if not self.snapshots.sequences() and not self.ledger.last()[0]:
            self.snapshots.save(adopted(fresh, adopt), 0)

    def _open_database(self) -> None:
        self.store = Database(self._database)
        self.ledger, self.album = EventLog(self.store), Album(self.store)

    def begin_another_database(self, reason: str) -> None:
        """Put the database aside, for an empty one."""
        self.store.abandon()
        self._set_aside(reason)
        self._open_database()

    @property
    def _database(self) -> Path:
        return self._folder / "onlooker.db"

    def _set_aside(self, reason: str) -> None:
        number = 1 + len(list(self._folder.glob("onlooker.db.damaged-*")))
        aside = self._folder / f"onlooker.db.damaged-{number}"
        self._database.rename(aside)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                Path(f"{self._database}{suffix}").rename(f"{aside}{suffix}")
        self.problem(f"the database is damaged ({reason}) and was set aside as {aside.name}")

    def problem(self, words: str) -> None:
        """Something a person should know, told once."""
        if words not in self.problems:
            self.problems.append(words)

    def close(self) -> None:
        """Let go of everything."""
        try:
            self.store.close()
        finally:
            self._lock.release()

    @property
    def oldest(self) -> int:
        """The oldest event whose state can still be told."""
        return min(self._good_snapshots())

    def _good_snapshots(self) -> set[int]:
        return set(self.snapshots.sequences()) - set(self.snapshots.damaged)

    # ---- deleting

    def thin(self, now: float) -> Erased:
        """Delete the snapshots and events that no undo within the limits needs."""
        there, retention = self.snapshots.sequences(), self.retention
        kept = sorted(to_keep(self._times(), now, retention.undo_days * DAY))
        gone = self.snapshots.remove(set(there) - set(kept))
        events = self.ledger.prune(kept[0])
        while len(kept) > 2 and self.store.size > retention.undo_gigabytes * GIGABYTE:
            gone += self.snapshots.remove([kept.pop(0)])
            events += self.ledger.prune(kept[0])
        return Erased(events, gone)

    def _times(self) -> dict[int, float]:
        """When the good snapshots were made; at an unknown time: long ago."""
        good = self._good_snapshots()
        return dict.fromkeys(good, float("-inf")) | self.ledger.times(good)

    def keep_only(self, sequences: Iterable[int]) -> Erased:
        """Leave no byte of the past: only these snapshots, and what is in the database now."""
        kept = set(sequences)
        snapshots = self.snapshots.remove(set(self.snapshots.sequences()) - kept)
        self.snapshots.remove_unfinished()
        for path in self._folder.glob("onlooker.db.damaged-*"):
            path.unlink()
        events = self.ledger.prune(min(kept))
        self.store.compact()
        self.store.note(FORGETTING, None)
        return Erased(events, snapshots)


class HomeFolder(Shelf):
    """The folder of one home, open, and the number of its newest event."""

    def __init__(
        self,
        folder: Path,
        fresh: OnlineHarmonicLearner,
        adopt: str | PathLike[str] | None,
        retention: RetentionPolicy,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(folder, fresh, adopt, retention)
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
            raise NotRepaired(learner, error) from error
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
