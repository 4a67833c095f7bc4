"""A learner and its event log, in step: no change in memory that is not on the disk.

The learner changes first, since only it knows what it will do; then the event log records what it
did. If that fails, the learner is made again from the disk.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import inf
from typing import TypeAlias, TypeVar

from onlooker.core.errors import OnlookerError, SnapshotError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.home.album import as_png
from onlooker.home.database import HomeDamaged, HomeError, NotSaved, as_text
from onlooker.home.events import Change, change_of, pictured_vertex, removed_vertices
from onlooker.home.folder import HomeFolder
from onlooker.home.replay import NotRepaired

Picture: TypeAlias = "bytes | Callable[[], bytes] | None"
"""A PNG, or a function that makes it: a face that does not become a vertex needs none."""
_Result = TypeVar("_Result")


class DurableLearner:
    """Changes a learner so that every change is on the disk when the call returns."""

    def __init__(
        self, folder: HomeFolder, clock: Callable[[], float], trusted_clock: Callable[[], float]
    ) -> None:
        self._folder, self._clock, self._trusted_clock = folder, clock, trusted_clock
        self.read_only: str | None = None
        """Why the last change could not be written."""
        self._refused_at = -inf
        self._ahead = False
        """Whether the learner differs from the disk: it cannot be read, or not repaired."""
        self.in_batch = False
        try:
            self._use(folder.recover())
        except NotRepaired as error:
            self._use_read_only(error)
        self._snapshot_at = folder.snapshots.sequences()[-1]

    @property
    def is_waiting(self) -> bool:
        """Whether the last refusal is too recent to try again."""
        since = time.monotonic() - self._refused_at
        return self.read_only is not None and since < self._folder.retention.retry_seconds

    # ---- changing

    def change(
        self,
        kind: str,
        act: Callable[[OnlineHarmonicLearner], _Result],
        *,
        picture: Picture = None,
        camera: str | None = None,
        frame: int | None = None,
        also: Callable[[], object] | None = None,
    ) -> _Result:
        """Change the learner and record what that did; it is on the disk on return.

        What `also` writes belongs to the same transaction.
        """
        if isinstance(picture, bytes):
            as_png(picture)
        self.require_writable()
        try:
            result = act(self.learner)
        except OnlookerError:  # it refuses before it changes anything
            raise
        except BaseException:
            self._go_back()
            raise
        with self._in_step():
            self._record(kind, picture, camera, frame, also)
        self._snapshot_if_due()
        return result

    def replace(
        self,
        kind: str,
        learner: OnlineHarmonicLearner,
        changes: Iterable[Change],
        *,
        also: Callable[[], object] | None = None,
    ) -> None:
        """Continue with another learner, to which these changes lead from the current one."""
        self.require_writable()
        with self._in_step():
            self._folder.log.append(kind, changes, next_id=learner.next_id, also=also)
        self._use(learner)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """One transaction around all changes in the block: all of them, or none.

        No snapshot is written inside: it would hold what is not committed yet.
        """
        if self.in_batch:
            yield
            return
        self.require_writable()
        self.in_batch = True
        try:
            with self._in_step(), self._folder.database.transaction():
                yield
        finally:
            self.in_batch = False
        self._snapshot_if_due()

    def require_writable(self) -> None:
        """Raise if nothing can be changed at the moment."""
        if self._ahead and not self.is_waiting:
            self._go_back()
        if self._ahead or self.is_waiting:
            raise NotSaved(f"nothing can be changed at the moment: {self.read_only}")

    def with_ballast(self, delete: Callable[[], _Result]) -> _Result:
        """Delete something; where a full disk refuses that, again in the space of the ballast."""
        try:
            return delete()
        except (NotSaved, SnapshotError):
            if not len(self._folder.ballast):
                raise
            self._refused_at = -inf
            with self._folder.ballast.released():
                return delete()

    def save_snapshot(self) -> None:
        """Write a snapshot and delete old ones; a failure is reported, and tried again later."""
        self._snapshot_at = self._folder.log.sequence
        if self._ahead:
            return
        try:
            self._folder.save_snapshot(self.learner)
            self._folder.thin(self._trusted_clock())
        except (SnapshotError, HomeError) as error:
            self._folder.report(f"no snapshot after event {self._snapshot_at}: {error}")

    def _snapshot_if_due(self) -> None:
        due = self._snapshot_at + self._folder.retention.snapshot_every
        if not self.in_batch and self._folder.log.sequence >= due:
            self.save_snapshot()

    # ---- keeping memory and disk in step

    @contextmanager
    def _in_step(self) -> Iterator[None]:
        """Whatever fails inside, the learner is what the disk has afterwards."""
        try:
            yield
        except BaseException as error:
            if isinstance(error, HomeError):
                self._refused(error)
            self._go_back(suspicious=isinstance(error, HomeDamaged))
            raise
        self.read_only = None

    def _go_back(self, *, suspicious: bool = False) -> None:
        """Make the learner again from the disk; if that fails too, it only predicts from now on."""
        self._ahead = True
        try:
            self._use(self._folder.recover(suspicious=suspicious))
        except NotRepaired as error:
            self._use_read_only(error)
        except (HomeError, SnapshotError) as error:
            self._refused(error)
            self._folder.report(f"the disk cannot be read: {error}")
        else:
            self._ahead = False

    def _use(self, learner: OnlineHarmonicLearner) -> None:
        self.learner = learner
        self._names, self._radius = learner.names, learner.radius

    def _use_read_only(self, error: NotRepaired) -> None:
        """Predict with what could be read; a change would be lost behind the damage."""
        self._use(error.learner)
        self._ahead = True
        self._refused(error)

    def _refused(self, error: Exception) -> None:
        self.read_only, self._refused_at = str(error), time.monotonic()

    def _record(
        self,
        kind: str,
        picture: Picture,
        camera: str | None,
        frame: int | None,
        also: Callable[[], object] | None,
    ) -> None:
        entries = self.learner.entries()
        changes = [change_of(entry) for entry in entries] + self._names_and_radius()
        if not changes:
            return
        album, now = self._folder.album, self._clock()
        removed, pictured = removed_vertices(entries), pictured_vertex(kind, entries)
        png = None if picture is None or pictured is None else _made(picture)

        def alongside() -> None:
            if pictured is not None and png is not None:
                album.put(pictured, now, png)
            album.remove(removed)
            if also is not None:
                also()

        self._folder.log.append(
            kind,
            changes,
            next_id=self.learner.next_id,
            entries=entries,
            camera=None if camera is None else as_text(camera),
            frame=None if frame is None else int(frame),
            also=alongside if removed or also or png is not None else None,
        )
        self._names, self._radius = self.learner.names, self.learner.radius

    def _names_and_radius(self) -> list[Change]:
        """What is not in the graph, where it changed."""
        learner, changes = self.learner, list[Change]()
        if learner.radius != self._radius:
            changes += [["doubled", radius] for radius in learner.changes().doubled]
            if not changes or changes[-1][1] != learner.radius:
                changes.append(["radius", learner.radius])
        if learner.names != self._names:
            changes.append(["names", list(learner.names)])
        return changes


def _made(picture: bytes | Callable[[], bytes]) -> bytes:
    return as_png(picture() if callable(picture) else picture)
