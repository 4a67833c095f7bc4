"""The folder of one home: its files, its history, and what is deleted from them.

onlooker.db (-wal, -shm)       events, vectors, pictures, sightings, cards of strangers, cameras
snapshots/NNN.snapshot         the learner after event NNN
lock                           the process that has the home open
ballast                        space reserved for deleting when the disk is full
token.json                     the service's token; needed while the home is closed
onlooker.db.damaged-N          a database that could not be read, for a person to inspect
before-version-N/              a copy of the home before it was migrated to version N
"""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from os import PathLike
from pathlib import Path

from onlooker.core.errors import BadValue, SnapshotError
from onlooker.core.files import remove_temporary_files
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.home import migration
from onlooker.home.album import Album
from onlooker.home.database import Database, HomeDamaged, HomeError, NotSaved
from onlooker.home.disk import Ballast, Lock
from onlooker.home.events import EventLog
from onlooker.home.replay import NotRepaired, Replayed, replay
from onlooker.home.retention import DAY, GIGABYTE, MEGABYTE, Erased, RetentionPolicy
from onlooker.home.snapshots import Snapshots, load_or_new, needed_snapshots
from onlooker.home.taught import TaughtFaces

FORGETTING = "forgetting"
"""The number that is stored while copies of a forgotten person may still be on the disk."""


class HomeFolder:
    """The folder, open and locked: no other process has it open."""

    def __init__(
        self,
        path: Path,
        fresh: OnlineHarmonicLearner,
        adopt: str | PathLike[str] | None,
        retention: RetentionPolicy,
        clock: Callable[[], float],
    ) -> None:
        self.problems: list[str] = []
        """What was found damaged or could not be done."""
        self._path, self.retention, self._clock = path, retention, clock
        self.ballast = Ballast(path / "ballast", int(retention.ballast_megabytes * MEGABYTE))
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = Lock(path / "lock")
        except OSError as error:
            raise HomeError(
                f"cannot open a home in {path}: {error.strerror}; check the path, its "
                "permissions and the free space"
            ) from error
        try:
            remove_temporary_files(path)
            self._open_or_set_aside(fresh)
            self.snapshots = Snapshots(path / "snapshots", fresh)
            if not self.snapshots.sequences() and not self.log.last()[0]:
                self.snapshots.save(load_or_new(fresh, adopt), 0)
            self.log.sequence = self._newest_event()
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        """Close the database and release the lock."""
        try:
            self.database.close()
        finally:
            self._lock.release()

    def report(self, problem: str) -> None:
        """Add a problem that a person should know of, once."""
        if problem not in self.problems:
            self.problems.append(problem)

    @property
    def taught(self) -> TaughtFaces:
        """Which faces were taught from a folder of people."""
        leftover = self._path / migration.TAUGHT_FILE
        if leftover.exists():
            raise BadValue(
                f"{leftover} cannot be read, so nobody can tell who was forgotten; delete it, and "
                "everybody in the folder of people is taught again"
            )
        return TaughtFaces(self.database)

    # ---- opening

    def _open_or_set_aside(self, learner: OnlineHarmonicLearner) -> None:
        try:
            self._open_database(learner)
        except HomeDamaged as error:
            self._set_database_aside(str(error))
            self._open_database(learner)

    def _open_database(self, learner: OnlineHarmonicLearner) -> None:
        database, problems = Database(self._database_path), list[str]()
        try:
            copied = migration.needs_copy(database)
            if copied:
                migration.put_copy_aside(self._path, database)
            database.upgrade(
                lambda: problems.extend(migration.import_files(self._path, database, learner))
            )
            migration.remove_imported_files(self._path)
        except BaseException:
            database.close_as_it_is()
            raise
        for problem in problems:
            self.report(f"{problem}; it is in the copy of the home" if copied else problem)
        self.database = database
        self.log, self.album = EventLog(database, self._clock), Album(database)

    @property
    def _database_path(self) -> Path:
        return self._path / "onlooker.db"

    def _set_database_aside(self, reason: str) -> None:
        number = 1 + len(list(self._path.glob("onlooker.db.damaged-*")))
        aside = self._path / f"onlooker.db.damaged-{number}"
        self._database_path.rename(aside)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                Path(f"{self._database_path}{suffix}").rename(f"{aside}{suffix}")
        self.report(f"the database is damaged ({reason}) and was set aside as {aside.name}")

    # ---- history

    @property
    def oldest(self) -> int:
        """The oldest event that can be undone to."""
        return min(self._good_snapshots())

    def learner_after(self, sequence: int) -> Replayed:
        """The learner as it was after an event."""
        return replay(self.log, self.snapshots, sequence)

    def recover(self, *, suspicious: bool = False) -> OnlineHarmonicLearner:
        """The learner that is on the disk; damage is reported and repaired.

        suspicious: check every page of the database first.
        """
        self.log.sequence = self._newest_event()
        found = self.learner_after(self.log.sequence)
        learner = found.learner()
        damaged = [f"skipped: {reason}" for reason in self.snapshots.damaged.values()]
        for problem in (*damaged, *found.problems):
            self.report(problem)
        try:
            if found.problems or (suspicious and not self.database.is_intact()):
                self._repair(learner, found)
            if self.log.last()[0] < self.log.sequence:
                self._continue_from_snapshot(learner)
        except (NotSaved, SnapshotError) as error:
            raise NotRepaired(learner, error) from error
        try:
            if damaged:
                self.save_snapshot(learner)
            if self.database.number(FORGETTING) is not None:
                self.erase_history(learner)
        except (NotSaved, SnapshotError) as error:
            self.report(f"could not be done yet: {error}")
        return learner

    def _newest_event(self) -> int:
        return max(self.log.last()[0], *self.snapshots.sequences(), 0, 0)

    def _repair(self, learner: OnlineHarmonicLearner, found: Replayed) -> None:
        """Record the way around the damage as an undo, so that it is not met again."""
        if self.database.is_intact():
            alive = found.state.ids.tolist()
            self.log.append(
                "undo",
                [["undo", found.sequence]],
                next_id=found.state.next_id,
                also=lambda: self.album.remove_all_but(alive),
            )
            self.save_snapshot(learner)
            return
        self.log.sequence += 1
        sequence = self.log.sequence
        self.snapshots.save(learner, sequence)
        self.database.close_as_it_is()
        self._set_database_aside("parts of it cannot be read")
        self._open_database(learner)
        self.log.sequence = sequence

    def _continue_from_snapshot(self, learner: OnlineHarmonicLearner) -> None:
        sequence = self.log.sequence
        self.report(
            f"the database does not have event {sequence}, of which there is a snapshot; "
            "lost: pictures, sightings, and whatever was learned after that event"
        )
        self.log.append("undo", [["undo", sequence]], next_id=learner.next_id)

    def save_snapshot(self, learner: OnlineHarmonicLearner) -> None:
        """Write the learner as it is now. Only `thin` may delete older snapshots."""
        if self.log.sequence not in self._good_snapshots():
            self.snapshots.save(learner, self.log.sequence)

    def _good_snapshots(self) -> set[int]:
        return set(self.snapshots.sequences()) - set(self.snapshots.damaged)

    # ---- deleting

    def thin(self, now: float) -> Erased:
        """Delete the snapshots and events that no undo within the limits needs."""
        stored, retention = self.snapshots.sequences(), self.retention
        needed = sorted(needed_snapshots(self._snapshot_times(), now, retention.undo_days * DAY))
        snapshots = self.snapshots.remove(set(stored) - set(needed))
        events = self.log.prune(needed[0])
        while len(needed) > 2 and self.database.size > retention.undo_gigabytes * GIGABYTE:
            snapshots += self.snapshots.remove([needed.pop(0)])
            events += self.log.prune(needed[0])
        return Erased(events, snapshots)

    def remove_old_copies(self) -> None:
        """Delete copies from before a migration that are older than the undo horizon."""
        horizon = time.time() - self.retention.undo_days * DAY
        if any(path.stat().st_mtime < horizon for path in self._path.glob(migration.COPY)):
            migration.remove_copies(self._path)

    def _snapshot_times(self) -> dict[int, float]:
        """When the good snapshots were made; those without an event count as very old."""
        good = self._good_snapshots()
        return dict.fromkeys(good, float("-inf")) | self.log.times(good)

    def erase_history(self, learner: OnlineHarmonicLearner) -> Erased:
        """Leave no byte of the past: only the learner as it is now, in a new snapshot and file.

        A vector that was merged away does not say whose it was, so all of history goes.
        """
        self.save_snapshot(learner)
        return self._erase_all_but([self.log.sequence])

    def _erase_all_but(self, sequences: Iterable[int]) -> Erased:
        needed = set(sequences)
        snapshots = self.snapshots.remove(set(self.snapshots.sequences()) - needed)
        self.snapshots.remove_unfinished()
        for path in self._path.glob("onlooker.db.damaged-*"):
            path.unlink()
        migration.remove_copies(self._path)
        events = self.log.prune(min(needed))
        self.database.compact()
        self.database.set_number(FORGETTING, None)
        return Erased(events, snapshots)
