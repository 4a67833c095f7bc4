"""Everything a home has on disk: lock, database, snapshots; written, read, thinned, erased.

onlooker.db (-wal, -shm)       events, vectors, pictures, sightings, strangers
snapshots/NNN.snapshot         what was known after event NNN
lock                           the process that has the home open
onlooker.db.damaged-N          a database that could not be read, for a person to look at
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from os import PathLike
from pathlib import Path

from onlooker.errors import SnapshotError
from onlooker.faces.album import Album
from onlooker.faces.journal import Change, Event, data_of, written
from onlooker.faces.keeping import DAY, GIGABYTE, Erased, Keeping
from onlooker.faces.lock import Lock
from onlooker.faces.past import NotMended, Remembered, remember
from onlooker.faces.snapshots import Snapshots, adopted, to_keep
from onlooker.faces.store import NotSaved, Store, StoreDamaged, StoreError
from onlooker.online import OnlineHarmonicLearner
from onlooker.records import Entry

FORGETTING = "forgetting"


class Chronicle:
    """The folder of one home, open."""

    def __init__(
        self,
        folder: Path,
        fresh: OnlineHarmonicLearner,
        adopt: str | PathLike[str] | None,
        clock: Callable[[], float],
    ) -> None:
        self.problems: list[str] = []
        """What is not as it was left, in words."""
        self._folder, self._clock = folder, clock
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = Lock(folder / "lock")
        except OSError as error:
            raise StoreError(
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
            self.store = Store(self._database)
        except StoreDamaged as error:
            self._set_aside(str(error))
            self.store = Store(self._database)
        self.album = Album(self.store)
        self.snapshots = Snapshots(self._folder / "snapshots", fresh)
        if not self.snapshots.sequences() and not self.store.last()[0]:
            self.snapshots.save(adopted(fresh, adopt), 0)
        self.sequence = self._last()
        """The number of the newest event."""

    @property
    def _database(self) -> Path:
        return self._folder / "onlooker.db"

    def _last(self) -> int:
        return max(self.store.last()[0], *self.snapshots.sequences(), 0, 0)

    def close(self) -> None:
        """Let go of everything."""
        try:
            self.store.close()
        finally:
            self._lock.release()

    # ---- going back

    @property
    def oldest(self) -> int:
        """The oldest event whose state can still be told."""
        return min(set(self.snapshots.sequences()) - set(self.snapshots.damaged))

    def at(self, sequence: int) -> Remembered:
        """What was known after an event."""
        return remember(self.store, self.snapshots, sequence)

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
            if self.store.last()[0] < self.sequence:
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

    def problem(self, words: str) -> None:
        """Something a person should know, told once."""
        if words not in self.problems:
            self.problems.append(words)

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
        self.store.abandon()
        self._set_aside("parts of it cannot be read")
        self.store = Store(self._database)
        self.album = Album(self.store)

    def _begin_a_new_journal(self, learner: OnlineHarmonicLearner) -> None:
        self.problem(
            f"the database does not know of event {self.sequence}, of which there is a snapshot; "
            "lost: pictures, sightings, and whatever was learned after that event"
        )
        self.record("undo", [["undo", self.sequence]], next_id=learner.next_id)

    def _set_aside(self, reason: str) -> None:
        number = 1 + len(list(self._folder.glob("onlooker.db.damaged-*")))
        aside = self._folder / f"onlooker.db.damaged-{number}"
        self._database.rename(aside)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                Path(f"{self._database}{suffix}").rename(f"{aside}{suffix}")
        self.problem(f"the database is damaged ({reason}) and was set aside as {aside.name}")

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
            self.store.append(event, data)  # a single statement is a transaction
        else:
            with self.store.transaction():
                self.store.append(event, data)
                also()
        self.sequence = number

    def snapshot(self, learner: OnlineHarmonicLearner) -> None:
        """Write what is known now. Only `thin` may delete what came before."""
        if self.sequence not in set(self.snapshots.sequences()) - set(self.snapshots.damaged):
            self.snapshots.save(learner, self.sequence)

    def thin(self, now: float, keeping: Keeping) -> Erased:
        """Delete the snapshots and events that no undo within the limits needs."""
        there = self.snapshots.sequences()
        kept = sorted(to_keep(self._times(there), now, keeping.undo_days * DAY))
        gone = self.snapshots.remove(set(there) - set(kept))
        events = self.store.prune(kept[0])
        while len(kept) > 2 and self.store.size > keeping.undo_gigabytes * GIGABYTE:
            gone += self.snapshots.remove([kept.pop(0)])
            events += self.store.prune(kept[0])
        return Erased(events, gone)

    def _times(self, sequences: Iterable[int]) -> dict[int, float]:
        """When the good ones of these snapshots were made; at an unknown time: long ago."""
        good = [sequence for sequence in sequences if sequence not in self.snapshots.damaged]
        marks = ",".join("?" * len(good))
        known = self.store.run(
            f"SELECT sequence, time FROM events WHERE sequence IN ({marks})", good
        )
        return dict.fromkeys(good, float("-inf")) | {row[0]: row[1] for row in known}

    def erase(self, learner: OnlineHarmonicLearner) -> Erased:
        """Leave no byte of the past: only what is known now, in a new snapshot and a new file.

        A vector that was merged away does not say whose it was, so all of history goes.
        """
        self.snapshot(learner)
        there = set(self.snapshots.sequences())
        snapshots = self.snapshots.remove(there - {self.sequence})
        self.snapshots.remove_unfinished()
        for path in self._folder.glob("onlooker.db.damaged-*"):
            path.unlink()
        events = self.store.prune(self.sequence)
        self.store.compact()
        self.store.note(FORGETTING, None)
        return Erased(events, snapshots)
