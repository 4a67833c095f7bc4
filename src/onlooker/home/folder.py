"""The folder of one home: its files, its history, and what is deleted from them.

A snapshot is what `OnlineHarmonicLearner.save` wrote, named by event. Each is replaced as a whole
and holds its own SHA-256: a damaged one is skipped for the one before it.

onlooker.db (-wal, -shm)       events, vectors, pictures, sightings, cards of strangers, cameras
snapshots/NNN.snapshot         the learner after event NNN
lock                           the process that has the home open; the last event on the disk
ballast, README.txt            space reserved for deleting when the disk is full, and what it is for
token.json, sessions.json      the service's token and who is signed in; needed while it is closed
login/                         one-time codes for signing in, and where the service listens
onlooker.db.new                one that takes the place of a damaged one in a moment
onlooker.db.damaged-N          a database that could not be read, for a person to inspect
onlooker.db.damaged-N-wal      its write-ahead log, or one that was repaired, as it was found
before-version-N/              a copy of the home before it was migrated to version N
.backup-N/                     a copy that is being sent to somebody
"""

import json
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

from onlooker.core import snapshot
from onlooker.core.errors import BadValue, Incompatible, SnapshotError
from onlooker.core.files import (
    move_into_place,
    refuse_irregular,
    remove_temporary_files,
    replace_file,
    sync_folder,
)
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.persistence import KNOWN, Saved
from onlooker.home import migration
from onlooker.home.album import Album
from onlooker.home.database import (
    LOG_SUFFIXES,
    Database,
    HomeDamaged,
    HomeError,
    NotSaved,
    page_size,
)
from onlooker.home.disk import Acknowledged, Ballast, Lock
from onlooker.home.events import EventLog
from onlooker.home.replay import NotRepaired, Replayed, replay
from onlooker.home.retention import DAY, GIGABYTE, MEGABYTE, Erased, RetentionPolicy
from onlooker.home.taught import TaughtFaces
from onlooker.home.wal import WriteAheadLog

CHECKED_SIZE = 64e6
"""Bytes of a database up to which every page is checked at the start; it takes part of a second."""
FORGETTING = "forgetting"
"""The number that is stored while copies of a forgotten person may still be on the disk."""
_ONLY_COMPACTING = -1
"""Its value once the rows are gone, and only free pages may still hold anything."""
_FORGOTTEN_NAME, _FORGOTTEN_PERSON = f"{FORGETTING} name", f"{FORGETTING} person"
"""Numbers for each name and person to erase: the event up to which."""
DATABASE_FILE = "onlooker.db"
UNFINISHED_DATABASE = ".onlooker-database.tmp"
"""A new database for one that is damaged, while rows are taken over; matches `TEMPORARY_FILES`."""
BACKUP_FOLDERS = ".backup-*"
"""Pattern of the folders with a copy that is being sent."""
PER_HORIZON = 7
"""How many snapshots are stored between the oldest and the newest two."""
SNAPSHOT_FILE = re.compile(r"(?:^|/)(\d+)\.snapshot$")
"""Path of a snapshot, with the number of its event."""


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
        with _translated_errors(path):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            _refuse_pipes(path)
            self._lock = Lock(path / "lock")
            try:
                remove_temporary_files(path)
                for unsent in path.glob(BACKUP_FOLDERS):
                    shutil.rmtree(unsent)
                self._open_or_set_aside(fresh)
                self.snapshots = Snapshots(path / "snapshots", fresh)
                if not self.snapshots.sequences() and not self.log.last()[0]:
                    self.snapshots.save(load_or_new(fresh, adopt), 0)
                self.log.sequence = self._newest_event()
                self._count_rows()
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
        self._finish_replacement()
        try:
            self._open_database(learner)
        except HomeDamaged as error:
            self._replace_database(str(error), learner)
            return
        try:
            self.log.last()
            is_damaged = self.database.size <= CHECKED_SIZE and not self.database.is_intact()
        except HomeDamaged:
            is_damaged = True
        except BaseException:
            self.database.close_as_it_is()
            raise
        if is_damaged:
            self.database.close_as_it_is()
            self._replace_database("some pages cannot be read", learner)

    def _open_database(self, learner: OnlineHarmonicLearner) -> None:
        database, problems = self._database_with_log(), list[str]()
        try:
            copied = migration.needs_copy(database)
            if copied:
                migration.put_copy_aside(self._path, database)
            problems = self._upgrade(database, learner)
            migration.remove_imported_files(self._path)
        except BaseException:
            database.close_as_it_is()
            raise
        for problem in problems:
            self.report(f"{problem}; it is in the copy of the home" if copied else problem)
        self.database = database
        self.log, self.album = EventLog(database, self._clock), Album(database)

    def _upgrade(self, database: Database, learner: OnlineHarmonicLearner) -> list[str]:
        problems: list[str] = []
        database.upgrade(
            lambda: problems.extend(migration.import_files(self._path, database, learner))
        )
        return problems

    @property
    def _database_path(self) -> Path:
        return self._path / DATABASE_FILE

    def _database_with_log(self) -> Database:
        """Open the database, but not before its log was examined: SQLite drops what is damaged."""
        path, log_path = self._database_path, Path(f"{self._database_path}-wal")
        content = log_path.read_bytes() if log_path.is_file() else b""
        log = WriteAheadLog(content, page_size(path))
        is_gone = bool(content) and not (path.exists() and path.stat().st_size)
        if not (log.corrected or log.transactions_behind or is_gone):
            return Database(path)
        copy = self._path / f"{self._name_for_damaged()}-wal"
        replace_file(copy, content)
        if log.corrected:
            replace_file(log_path, log.before_damage())
            self.report(
                f"{log.corrected} flipped bits in the write-ahead log were corrected; the log as "
                f"it was is {copy.name}; check the disk and the memory of this computer"
            )
        database = Database(path)
        if not log.transactions_behind:
            return database
        if self._lock.acknowledged is None:
            self.report(
                f"{log.transactions_behind} changes behind a damaged place in the write-ahead log "
                f"are in doubt; the log as it was is {copy.name}"
            )
        elif self._is_behind(database):
            database.close()
            replace_file(log_path, log.without_damage())
            database = Database(path)
            self.report(
                "the write-ahead log was damaged; what could be read of the "
                f"{log.transactions_behind} changes behind that place was recovered; the log as it "
                f"was is {copy.name}"
            )
        elif not log.corrected:
            copy.unlink()  # what was never acknowledged lies behind what was
        return database

    def _is_behind(self, database: Database) -> bool:
        """Whether a database lacks something that was acknowledged."""
        mark = self._lock.acknowledged
        try:
            last = EventLog(database, self._clock).last()[0], Album(database).last_sighting()
            found = Acknowledged(*last, database.changes)
        except HomeError:
            return True
        return mark is not None and any(a < b for a, b in zip(found, mark, strict=True))

    def _name_for_damaged(self) -> str:
        number = 1 + len(list(self._path.glob("onlooker.db.damaged-*")))
        return f"onlooker.db.damaged-{number}"

    def _replace_database(self, reason: str, learner: OnlineHarmonicLearner) -> None:
        """Continue with a new database that has every row of the old one that can be read.

        It is complete before the old one is touched: a disk that fails meanwhile costs nothing.
        """
        new = self._path / UNFINISHED_DATABASE
        try:
            remove_temporary_files(self._path)
            database = Database(new)
            try:
                problems = self._upgrade(database, learner)
                count = database.take_over(self._database_path)
                database.checkpoint()
            finally:
                database.close_as_it_is()
            move_into_place(new, self._replacement)
        except OSError as error:
            raise HomeError(
                f"the database is damaged ({reason}), and no new one can be made: {error.strerror}"
            ) from error
        aside = self._name_for_damaged()
        self._finish_replacement(aside)
        self._open_database(learner)
        self.album.remove_loose_faces()
        self.album.newest_number = self.album.last_sighting()
        for problem in problems:
            self.report(problem)
        self.report(
            f"the database is damaged ({reason}) and was set aside as {aside}; {count} rows of it "
            "could be read and were taken over"
        )

    @property
    def _replacement(self) -> Path:
        return self._path / f"{DATABASE_FILE}.new"

    def _finish_replacement(self, aside: str = "") -> None:
        """Put a complete new database in the place of a damaged one, which is set aside.

        Without a name for that one, only what a killed process had begun: the database itself is
        the first that is moved.
        """
        new, path = self._replacement, self._database_path
        if not aside and path.exists():
            new.unlink(missing_ok=True)
        if not new.exists():
            return
        target = self._path / (aside or f"{self._name_for_damaged()}-rest")
        for suffix in ("", *LOG_SUFFIXES):
            with suppress(FileNotFoundError):
                Path(f"{path}{suffix}").rename(f"{target}{suffix}")
        move_into_place(new, path)

    def acknowledge(self) -> None:
        """Store how far the home is, once that is on the disk."""
        if not self.database.in_transaction:
            newest = self.log.sequence, self.album.newest_number
            self._lock.acknowledge(Acknowledged(*newest, self.database.changes))

    # ---- history

    @property
    def oldest(self) -> int:
        """The oldest event that can be undone to: a snapshot, and all events since."""
        good, first = self._good_snapshots(), 0
        with suppress(HomeError):  # a disk that cannot be read says so when it is used
            first = self.log.first()
        newest = max(good, default=self.log.sequence)
        return min((each for each in good if each >= first - 1), default=newest)

    def learner_after(self, sequence: int) -> Replayed:
        """The learner as it was after an event."""
        return replay(self.log, self.snapshots.newest, sequence)

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
                self.erase_forgotten(learner)
        except (NotSaved, SnapshotError) as error:
            self.report(f"could not be done yet: {error}")
        self.database.on_counted = self.acknowledge
        return learner

    def _newest_event(self) -> int:
        mark = self._lock.acknowledged or Acknowledged()
        return max(self.log.last()[0], *self.snapshots.sequences(), mark.events, 0)

    def _count_rows(self) -> None:
        """Say how many sightings and other changes that were acknowledged are lost."""
        mark = self._lock.acknowledged or Acknowledged()
        self.album.newest_number = last = self.album.last_sighting()
        if last < mark.sightings:
            self.report(f"sightings {last + 1} to {mark.sightings} are lost")
        if self.database.size <= CHECKED_SIZE and (damaged := self.album.damaged()):
            self.report(f"{damaged} sightings are damaged and are not shown")
        if (lost := mark.changes - self.database.changes) > 0:
            self.report(
                f"the last {lost} changes of strangers' cards, cameras or settings are lost; check "
                "them"
            )

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
        try:
            self._replace_database("some pages cannot be read", learner)
        except HomeError:
            with suppress(HomeError, OSError):  # the old one, until the disk allows it
                self._open_database(learner)
            raise
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
        horizon = now - retention.undo_days * DAY  # without it, history ended where undo does
        events = self.log.prune(needed[0], before=horizon, after=now)
        while len(needed) > 2 and self.database.size > retention.undo_gigabytes * GIGABYTE:
            snapshots += self.snapshots.remove([needed.pop(0)])
            events += self.log.prune(needed[0])
        return Erased(events, snapshots)

    def remove_old_copies(self) -> None:
        """Delete copies from before a migration that are older than the undo horizon."""
        horizon = time.time() - self.retention.undo_days * DAY
        if any(path.stat().st_mtime < horizon for path in self._path.glob(migration.COPY)):
            self._remove_copies()

    def _remove_copies(self) -> None:
        for path in (*self._path.glob(migration.COPY), *self._path.glob(migration.PARTIAL_COPY)):
            shutil.rmtree(path)
        for path in self._path.glob(BACKUP_FOLDERS):
            shutil.rmtree(path, ignore_errors=True)  # whoever still writes into it deletes it too

    def _snapshot_times(self) -> dict[int, float]:
        """When the good snapshots were made; those without an event count as very old."""
        good = self._good_snapshots()
        return dict.fromkeys(good, float("-inf")) | self.log.times(good)

    def names_on_disk(self) -> set[str]:
        """The names in snapshots and of persons; those in events are searched for."""
        names = set(self.album.persons.names())
        for sequence in self.snapshots.sequences():
            with suppress(SnapshotError):
                header: dict[str, Any] = snapshot.read(self.snapshots.path(sequence)).header
                names |= set(header.get("names", ()))
        return names

    def mark_forgotten(self, name: str, upto: int) -> set[int]:
        """Store, within a transaction, what `erase_forgotten` has to erase: the persons' numbers.

        Earlier names of the same person are erased too, unless somebody else has them now. So are
        those of somebody who was once called so: the events that connect them are erased.
        """
        persons, changes = self.album.persons, self.log.name_changes(0)
        numbers = set(persons.numbers(name))
        persons.remove(numbers)
        called = numbers | {row[0] for row in changes if name in row[1:]}
        names = {name, *(str(each) for row in changes if row[0] in called for each in row[1:])}
        for each in names - (persons.names() - {name}):
            self.database.set_number(f"{_FORGOTTEN_NAME} {json.dumps(each)}", upto)
        for number in numbers:
            self.database.set_number(f"{_FORGOTTEN_PERSON} {number}", upto)
        self.database.set_number(FORGETTING, 1)
        return numbers

    def erase_forgotten(self, learner: OnlineHarmonicLearner) -> Erased:
        """Leave no byte of who was forgotten: in events, snapshots, copies and free pages.

        The events of others stay, but no earlier state of the learner: without the person, their
        replay would give another graph.
        """
        self.save_snapshot(learner)
        needed = {self.log.sequence}
        snapshots = self.snapshots.remove(set(self.snapshots.sequences()) - needed)
        self.snapshots.remove_unfinished()
        for path in self._path.glob("onlooker.db.damaged-*"):
            path.unlink()
        self._remove_copies()
        names = self.database.numbers(_FORGOTTEN_NAME)
        numbers = self.database.numbers(_FORGOTTEN_PERSON)
        events = self.log.forget(
            {json.loads(name) for name in names},
            {int(number) for number in numbers},
            upto=max([0, *names.values(), *numbers.values()]),
            alive=set(learner.vertices().ids.tolist()),
        )
        if not names and self.database.number(FORGETTING) != _ONLY_COMPACTING:
            # begun by an earlier version, which stored no names: all of history goes
            events += self.log.prune(self.log.sequence)
        with self.database.transaction():
            self.database.set_number(FORGETTING, _ONLY_COMPACTING)
            for prefix, marks in ((_FORGOTTEN_NAME, names), (_FORGOTTEN_PERSON, numbers)):
                for mark in marks:
                    self.database.set_number(f"{prefix} {mark}", None)
        self.database.compact()
        self.database.set_number(FORGETTING, None)
        return Erased(events, snapshots)


class Snapshots:
    """The folder of snapshots; opening it removes what a killed process left half-written."""

    def __init__(self, folder: Path, like: OnlineHarmonicLearner) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self.damaged: dict[int, str] = {}
        """Those that could not be read, with the reason."""
        self._folder, self._like = folder, like
        self.remove_unfinished()

    def remove_unfinished(self) -> None:
        """Delete the temporary files of a process that was killed while writing."""
        remove_temporary_files(self._folder)

    def path(self, sequence: int) -> Path:
        """The file of the snapshot after an event."""
        return self._folder / f"{sequence:012d}.snapshot"

    def sequences(self) -> list[int]:
        """The events with a snapshot, the oldest first; damaged ones included."""
        found = (SNAPSHOT_FILE.search(path.name) for path in self._folder.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def save(self, learner: OnlineHarmonicLearner, sequence: int) -> None:
        """Write the learner as it is after an event."""
        learner.save(self.path(sequence))
        self.damaged.pop(sequence, None)

    def newest(self, upto: int) -> tuple[int, Saved] | None:
        """The newest good one that is not after an event."""
        for sequence in reversed(self.sequences()):
            if sequence <= upto and sequence not in self.damaged:
                try:
                    return sequence, self._read(sequence)
                except SnapshotError as error:
                    self.damaged[sequence] = str(error)
        return None

    def remove(self, sequences: Iterable[int]) -> int:
        """Delete snapshots: how many."""
        doomed = list(sequences)
        try:
            for sequence in doomed:
                self.path(sequence).unlink(missing_ok=True)
                self.damaged.pop(sequence, None)
            if doomed:
                sync_folder(self._folder)
        except OSError as error:
            raise SnapshotError(f"cannot delete old snapshots: {error}") from error
        return len(doomed)

    def _read(self, sequence: int) -> Saved:
        path, like = self.path(sequence), self._like
        stored = snapshot.read(path).header.get("distance")
        if stored != repr(like.kernel.distance):
            raise Incompatible(
                f"{path} was saved with {stored}, not with {like.kernel.distance!r}; "
                "open this home with the features it was made with"
            )
        quantizer = None if like.quantizer in KNOWN else like.quantizer
        return Saved.read(
            path, distance=like.kernel.distance, quantizer=quantizer, features=like.features
        )


@contextmanager
def _translated_errors(folder: Path) -> Iterator[None]:
    """Say in one line which home a failing file call keeps from opening."""
    try:
        yield
    except OSError as error:
        name = f" ({Path(error.filename).name})" if error.filename else ""
        raise HomeError(
            f"cannot open a home in {folder}: {error.strerror}{name}; check the path, its "
            "permissions and the free space"
        ) from error


def _refuse_pipes(folder: Path) -> None:
    """Refuse a folder with a pipe or a device in it: opening one may wait for ever."""
    for path in (*folder.iterdir(), *folder.glob("snapshots/*")):
        with suppress(FileNotFoundError, IsADirectoryError):
            refuse_irregular(path)


def load_or_new(
    fresh: OnlineHarmonicLearner, path: str | PathLike[str] | None
) -> OnlineHarmonicLearner:
    """The learner of a state file if one is given, otherwise the fresh one."""
    if path is None:
        return fresh
    return OnlineHarmonicLearner.load(
        path,
        distance=fresh.kernel.distance,
        quantizer=None if fresh.quantizer in KNOWN else fresh.quantizer,
        features=fresh.features,
    )


def needed_snapshots(times: Mapping[int, float], now: float, horizon: float) -> set[int]:
    """Which snapshots an undo horizon in seconds needs: a few, the newest two, one before it.

    >>> times = {0: 0.0, 50: 10.0, 60: 15.0, 80: 20.0, 90: 21.0, 99: 22.0}
    >>> sorted(needed_snapshots(times, 22.0, 7.0))
    [60, 80, 90, 99]
    """
    ordered = sorted(times)
    before = [sequence for sequence in ordered if times[sequence] <= now - horizon]
    oldest = before[-1] if before else ordered[0]
    needed = {*ordered[-2:], oldest}
    last = times[oldest]
    for sequence in ordered:
        if sequence > oldest and times[sequence] - last >= horizon / PER_HORIZON:
            needed.add(sequence)
            last = times[sequence]
    return needed
