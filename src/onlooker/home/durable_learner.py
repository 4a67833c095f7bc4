"""A learner and its chronicle, kept in step: no change in memory that is not on the disk.

The learner changes first, since it alone knows what it will do, and the chronicle writes what it
did. If that fails, the learner is made anew from the disk.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import inf
from typing import TypeAlias, TypeVar

from onlooker.core.errors import OnlookerError, SnapshotError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.home.album import as_png, as_text
from onlooker.home.database import HomeDamaged, HomeError, NotSaved
from onlooker.home.events import Change, as_change, gone_in, shown_in
from onlooker.home.folder import HomeFolder
from onlooker.home.replay import NotRepaired

Picture: TypeAlias = "bytes | Callable[[], bytes] | None"
"""PNG, or how to make it: a face that does not become a vertex needs none."""
_Result = TypeVar("_Result")


class DurableLearner:
    """Does things to a learner so that they last."""

    def __init__(
        self, chronicle: HomeFolder, clock: Callable[[], float], believed: Callable[[], float]
    ) -> None:
        self.chronicle, self._clock, self._believed = chronicle, clock, believed
        self.read_only: str | None = None
        """Why the last change could not be written."""
        self._refused_at = -inf
        self._ahead = False
        """Whether the learner is not what the disk says: while that cannot be read, or mended."""
        try:
            self.use(chronicle.recover())
        except NotRepaired as error:
            self._serve_only(error)
        self._snapshot_at = chronicle.snapshots.sequences()[-1]

    def use(self, learner: OnlineHarmonicLearner) -> None:
        """Go on with another learner, which is what the disk has."""
        self.learner = learner
        self._names, self._radius = learner.names, learner.radius

    @property
    def waits(self) -> bool:
        """Whether the last refusal is too recent to try again."""
        since = time.monotonic() - self._refused_at
        return self.read_only is not None and since < self.chronicle.retention.retry_seconds

    def do(
        self,
        kind: str,
        act: Callable[[OnlineHarmonicLearner], _Result],
        *,
        picture: Picture = None,
        camera: str | None = None,
        frame: int | None = None,
        also: Callable[[], object] | None = None,
    ) -> _Result:
        """Change the learner, and write down what that did; it is on the disk on return."""
        if isinstance(picture, bytes):
            as_png(picture)
        self.be_ready()
        try:
            result = act(self.learner)
        except OnlookerError:  # it refuses before it changes anything
            raise
        except BaseException:
            self.go_back()
            raise
        with self.in_step():
            self._write(kind, picture, camera, frame, also)
        if self.chronicle.sequence - self._snapshot_at >= self.chronicle.retention.snapshot_every:
            self.snapshot()
        return result

    def exchange(
        self,
        kind: str,
        learner: OnlineHarmonicLearner,
        changes: Iterable[Change],
        *,
        also: Callable[[], object] | None = None,
    ) -> None:
        """Go on with another learner, which these changes lead to from the one so far."""
        self.be_ready()
        with self.in_step():
            self.chronicle.record(kind, changes, next_id=learner.next_id, also=also)
        self.use(learner)

    def with_room(self, delete: Callable[[], _Result]) -> _Result:
        """Delete something; where a full disk refuses that, again in the room of the ballast."""
        try:
            return delete()
        except (NotSaved, SnapshotError):
            if not len(self.chronicle.ballast):
                raise
            self._refused_at = -inf
            with self.chronicle.ballast.aside():
                return delete()

    @contextmanager
    def in_step(self) -> Iterator[None]:
        """Whatever goes wrong within, the learner is what the disk has; refusals are noted."""
        try:
            yield
        except BaseException as error:
            if isinstance(error, HomeError):
                self._refused(error)
            self.go_back(suspicious=isinstance(error, HomeDamaged))
            raise
        self.read_only = None

    def go_back(self, *, suspicious: bool = False) -> None:
        """Make the learner anew from the disk; should that fail too, it only names from now on."""
        self._ahead = True
        try:
            self.use(self.chronicle.recover(suspicious=suspicious))
        except NotRepaired as error:
            self._serve_only(error)
        except (HomeError, SnapshotError) as error:
            self._refused(error)
            self.chronicle.problem(f"the disk cannot be read: {error}")
        else:
            self._ahead = False

    def _serve_only(self, error: NotRepaired) -> None:
        """Name with what could be saved; a change would be lost behind the damage."""
        self.use(error.learner)
        self._ahead = True
        self._refused(error)

    def be_ready(self) -> None:
        """Raise if nothing can be changed at the moment."""
        if self._ahead and not self.waits:
            self.go_back()
        if self._ahead or self.waits:
            raise NotSaved(f"nothing can be changed at the moment: {self.read_only}")

    def _refused(self, error: Exception) -> None:
        self.read_only, self._refused_at = str(error), time.monotonic()

    def snapshot(self) -> None:
        """Write a snapshot and thin the old ones; what fails is told, and tried again later."""
        self._snapshot_at = self.chronicle.sequence
        if self._ahead:
            return
        try:
            self.chronicle.snapshot(self.learner)
            self.chronicle.thin(self._believed())
        except (SnapshotError, HomeError) as error:
            self.chronicle.problem(f"no snapshot after event {self._snapshot_at}: {error}")

    def _write(
        self,
        kind: str,
        picture: Picture,
        camera: str | None,
        frame: int | None,
        also: Callable[[], object] | None,
    ) -> None:
        entries = self.learner.entries()
        changes = [as_change(entry) for entry in entries] + self._beyond_the_graph()
        if not changes:
            return
        album, now = self.chronicle.album, self._clock()
        gone, shown = gone_in(entries), shown_in(kind, entries)
        png = None if picture is None or shown is None else _made(picture)

        def alongside() -> None:
            if shown is not None and png is not None:
                album.put(shown, now, png)
            album.take_out(gone)
            if also is not None:
                also()

        camera = None if camera is None else as_text(camera)
        self.chronicle.record(
            kind,
            changes,
            next_id=self.learner.next_id,
            entries=entries,
            camera=camera,
            frame=None if frame is None else int(frame),
            also=alongside if gone or also or png is not None else None,
        )
        self._names, self._radius = self.learner.names, self.learner.radius

    def _beyond_the_graph(self) -> list[Change]:
        """Names and radius, where they are not what they were."""
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
