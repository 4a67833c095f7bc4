"""The files of a home, open: what is where, and what is deleted from them.

onlooker.db (-wal, -shm)       events, vectors, pictures, sightings
snapshots/NNN.snapshot         what was known after event NNN
lock                           the process that has the home open
ballast                        room to delete with when the disk is full
onlooker.db.damaged-N          a database that could not be read, for a person to look at
"""

from collections.abc import Iterable
from contextlib import suppress
from os import PathLike
from pathlib import Path

from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.faces.album import Album
from onlooker.faces.ballast import Ballast
from onlooker.faces.keeping import DAY, GIGABYTE, MEGABYTE, Erased, Keeping
from onlooker.faces.ledger import Ledger
from onlooker.faces.lock import Lock
from onlooker.faces.snapshots import Snapshots, adopted, to_keep
from onlooker.faces.store import Store, StoreDamaged, StoreError

FORGETTING = "forgetting"
"""Noted while copies of somebody who was forgotten may still be on the disk."""


class Shelf:
    """The folder of one home; nobody else has it open."""

    def __init__(
        self,
        folder: Path,
        fresh: OnlineHarmonicLearner,
        adopt: str | PathLike[str] | None,
        keeping: Keeping,
    ) -> None:
        self.problems: list[str] = []
        """What is not as it was left, in words."""
        self._folder, self.keeping = folder, keeping
        self.ballast = Ballast(folder / "ballast", int(keeping.ballast_megabytes * MEGABYTE))
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
            self._open_database()
        except StoreDamaged as error:
            self._set_aside(str(error))
            self._open_database()
        self.snapshots = Snapshots(self._folder / "snapshots", fresh)
        if not self.snapshots.sequences() and not self.ledger.last()[0]:
            self.snapshots.save(adopted(fresh, adopt), 0)

    def _open_database(self) -> None:
        self.store = Store(self._database)
        self.ledger, self.album = Ledger(self.store), Album(self.store)

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
        there, keeping = self.snapshots.sequences(), self.keeping
        kept = sorted(to_keep(self._times(), now, keeping.undo_days * DAY))
        gone = self.snapshots.remove(set(there) - set(kept))
        events = self.ledger.prune(kept[0])
        while len(kept) > 2 and self.store.size > keeping.undo_gigabytes * GIGABYTE:
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
