"""A home: the learner's verbs, durable, in one folder.

Every call that changes something is one event in one transaction, on the disk before the call
returns; an outlier writes nothing. The learner changes first, since only it knows what it will do;
then the event log records what it did. If that fails, the learner is made again from the disk:
memory and disk are in step. After a crash the home opens with a learner that behaves as the lost
one did. One thread owns a home: call it from the thread that made it.

A disk that refuses a change (full, failing) makes the home read-only: the learner goes back to what
is on the disk, `observe` names without learning, the other verbs raise `NotSaved`, `health` gives
the reason, and every few seconds a change is tried again.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from math import inf
from os import PathLike
from pathlib import Path
from secrets import randbits
from typing import Any, NamedTuple, Self, TypeVar

from numpy.typing import ArrayLike, NDArray

from onlooker.core.checks import is_number
from onlooker.core.errors import NotFound, OnlookerError, SnapshotError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Explanation, Prediction, Vertices
from onlooker.home.album import Album, Picture, as_png
from onlooker.home.camera_table import CameraTable
from onlooker.home.database import Database, HomeDamaged, HomeError, NotSaved, as_text
from onlooker.home.events import Change, Event, changes_of, pictured_vertex, removed_vertices
from onlooker.home.folder import FORGETTING, HomeFolder
from onlooker.home.replay import NotRepaired
from onlooker.home.retention import (
    DAY,
    Expired,
    ForgetReceipt,
    Health,
    RetentionPolicy,
    TrustedClock,
)
from onlooker.home.taught import TaughtFaces

_Result = TypeVar("_Result")


class FaceToTeach(NamedTuple):
    """A labeled face for `Home.teach_once`."""

    name: str
    vector: NDArray[Any]
    picture: Picture = None


class Home:
    """A folder with everything that was learned, and the learner itself.

    >>> import tempfile
    >>> from onlooker import HeatKernel
    >>> def new_learner():
    ...     return OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Home(folder, new_learner=new_learner) as home:
    ...         home.teach([0.0, 0.0], "ana")
    ...     with Home(folder, new_learner=new_learner) as home:
    ...         home.observe([0.1, 0.0], camera="door", frame=0).label
    'ana'

    new_learner makes the learner of a new home; adopt is a state file to start it with. A home that
    exists keeps its settings. clock is the wall clock, steady one that cannot be set.
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        new_learner: Callable[[], OnlineHarmonicLearner],
        adopt: str | PathLike[str] | None = None,
        retention: RetentionPolicy | None = None,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder, self.retention = Path(folder), retention or RetentionPolicy()
        self._clock = clock
        self.trusted_clock = TrustedClock(clock, steady)
        """The time by which things expire."""
        self._closed, self._in_batch = False, False
        self._names: tuple[str, ...] = ()
        self._radius = 0.0
        self._read_only: str | None = None
        """Why the last change could not be written."""
        self._refused_at = -inf
        self._ahead = False
        """Whether the learner differs from the disk: it cannot be read, or not repaired."""
        self._files = HomeFolder(self.folder, new_learner(), adopt, self.retention, clock)
        try:
            try:
                self._use(self._files.recover())
            except NotRepaired as error:
                self._use_read_only(error)
            self._snapshot_at = self._files.snapshots.sequences()[-1]
        except BaseException:
            self._files.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write a snapshot, so that the next start is quick, and release the folder."""
        if self._closed:
            return
        self._closed = True
        try:
            self._save_snapshot()
        finally:
            self._files.close()

    # ---- learning

    def observe(
        self, x: ArrayLike, *, camera: str, frame: int, picture: Picture = None
    ) -> Prediction:
        """Name an example and learn from it; a home that cannot write only names it."""
        if self._is_waiting:
            return self.learner.predict(x)
        try:
            return self._change(
                "observe",
                lambda learner: learner.observe(x),
                picture=picture,
                camera=camera,
                frame=frame,
            )
        except HomeError:
            if self._in_batch:
                raise
            return self.learner.predict(x)

    def teach(
        self,
        x: ArrayLike,
        name: str | None = None,
        *,
        not_name: str | None = None,
        nobody: bool = False,
        picture: Picture = None,
        camera: str | None = None,
        frame: int | None = None,
    ) -> None:
        """Learn an example from a person: its name, a name that it is not, or that it is nobody."""
        self._change(
            "exclude" if name is None else "teach",
            lambda learner: learner.teach(x, name, not_name=not_name, nobody=nobody),
            picture=picture,
            camera=camera,
            frame=frame,
        )

    def teach_once(self, faces: Sequence[FaceToTeach]) -> list[str]:
        """Teach the faces that were never taught here: the names that are left out altogether.

        Those were taught once, and a person forgot, renamed or undid them since. A single face that
        was corrected since is not taught again either. All in one transaction.
        """
        taught = self.taught
        new, forgotten = taught.untaught(faces, self.learner.names)
        known = self.vertices()
        there = set(zip((row.tobytes() for row in known.vectors), known.names, strict=True))
        with self.batch():
            for face in new:
                if (face.vector.tobytes(), face.name) not in there:
                    self.teach(face.vector, face.name, picture=face.picture)
            taught.add(face for face in faces if face.name not in forgotten)
        return forgotten

    def label(self, vertex: int, name: str) -> None:
        """Teach the face of a vertex."""
        known = self.vertices()
        places = (known.ids == vertex).nonzero()[0]
        if not len(places):
            raise NotFound(f"there is no vertex {vertex!r} any more; it was merged or dropped")
        self.teach(known.vectors[places[0]], name)

    def unteach(self, x: ArrayLike) -> None:
        """Take back what was taught at a place: a label, or who it is not."""
        self._change("unteach", lambda learner: learner.unteach(x))

    def drop(self, vertex: int) -> None:
        """Take one vertex out, with everything it stands for."""
        self._change("drop", lambda learner: learner.drop(vertex))

    def merge(self, other: OnlineHarmonicLearner) -> None:
        """Take in all that another learner knows."""
        self._change("merge", lambda learner: learner.merge(other))

    def replace_learner(
        self,
        kind: str,
        learner: OnlineHarmonicLearner,
        changes: Iterable[Change],
        *,
        also: Callable[[], object] | None = None,
    ) -> None:
        """Continue with a learner that was changed by other means than the verbs, in one event.

        The changes, as in `home/events.py`, must lead from the current learner to this one; what
        `also` writes to the database belongs to the same transaction.
        """
        self._require_writable()
        with self._in_step():
            self._files.log.append(kind, changes, next_id=learner.next_id, also=also)
        self._use(learner)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Many changes in one transaction: on the disk when the block ends, or none of them.

        Inside, a refused write raises from every verb, `observe` included, and no snapshot is
        written: it would hold what is not committed yet.

        >>> import tempfile
        >>> from onlooker import HeatKernel
        >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Home(folder, new_learner=lambda: learner) as home:
        ...         with home.batch():
        ...             home.teach([0.0], "ana")
        ...             _ = home.observe([0.1], camera="door", frame=0)
        ...             home.set_number("last door", 1)
        ...         home.sequence, home.number("last door")
        (2, 1)
        """
        if self._in_batch:
            yield
            return
        self._require_writable()
        self._in_batch = True
        try:
            with self._in_step(), self.database.transaction():
                yield
        finally:
            self._in_batch = False
        self._snapshot_if_due()

    # ---- reading

    @property
    def learner(self) -> OnlineHarmonicLearner:
        """The learner, for reading only: what it learns without the home is lost."""
        return self._learner

    @property
    def sequence(self) -> int:
        """The number of the newest event."""
        return self._files.log.sequence

    @property
    def album(self) -> Album:
        """Pictures and sightings."""
        return self._files.album

    @property
    def cameras(self) -> CameraTable:
        """The cameras that were added while a service ran."""
        return CameraTable(self._files.database)

    @property
    def taught(self) -> TaughtFaces:
        """Which faces were taught from a folder of people."""
        return self._files.taught

    @property
    def database(self) -> Database:
        """The tables, for what belongs to a home and is defined elsewhere, such as strangers."""
        return self._files.database

    @property
    def identity(self) -> str:
        """A random word, made once, by which a client notices that another home answers."""
        number = self.number("identity")
        if number is None:
            number = randbits(62)
            with suppress(NotSaved):
                self.set_number("identity", number)
        return f"{number:016x}"

    @property
    def problems(self) -> tuple[str, ...]:
        """What was found damaged or could not be done."""
        return tuple(self._files.problems)

    def health(self) -> Health:
        """Whether it can learn, what went wrong, and how far back an undo reaches."""
        return Health(self._read_only, self.problems, self.sequence, self._files.oldest)

    def predict(self, x: ArrayLike) -> Prediction:
        """What observe would answer, without learning."""
        return self.learner.predict(x)

    def explain(self, x: ArrayLike) -> Explanation:
        """Which labeled examples the walk from x ends at."""
        return self.learner.explain(x)

    def vertices(self) -> Vertices:
        """All vertices in order of age."""
        return self.learner.vertices()

    def events(
        self,
        after: int = 0,
        limit: int = 100,
        *,
        before: int | None = None,
        kind: str | None = None,
        camera: str | None = None,
        newest: bool = False,
    ) -> list[Event]:
        """What happened, the oldest first unless the newest are wanted."""
        return self._files.log.select(
            after, limit, before=before, kind=kind, camera=camera, newest=newest
        )

    def number(self, key: str) -> int | None:
        """A number that was stored."""
        return self._files.database.number(key)

    def numbers(self, prefix: str) -> dict[str, int]:
        """The numbers stored under `PREFIX NAME`, by name."""
        return self._files.database.numbers(prefix)

    def set_number(self, key: str, value: int | None) -> None:
        """Store a number or delete it; within a batch, together with it."""
        self._files.database.set_number(key, value)

    # ---- undo, forget, expire

    def undo(self, *, to: int) -> None:
        """Continue with the learner as it was after an event; that is an event too.

        Ids are not used again, and pictures of vertices that were gone do not come back. What was
        forgotten stays forgotten: no event before a forgetting can be reached.
        """
        files = self._files
        if not is_number(to, whole=True) or not files.oldest <= to <= self.sequence:
            raise NotFound(
                f"event {to!r} cannot be undone to; give one from {files.oldest} to {self.sequence}"
            )
        self._require_writable()
        found = files.learner_after(int(to))
        if found.problems:
            raise HomeDamaged(f"cannot undo to event {to}: {found.problems[0]}")
        learner = found.learner(self.learner.next_id)
        alive = learner.vertices().ids.tolist()
        self.replace_learner(
            "undo", learner, [["undo", int(to)]], also=lambda: self.album.remove_all_but(alive)
        )
        self._save_snapshot()

    def forget(self, name: str, *, also: Callable[[], object] | None = None) -> ForgetReceipt:
        """Delete a name so that no byte of it remains in any file of the folder.

        Its pictures, vectors and sightings go in one transaction, with what `also` deletes. Then
        all of history goes, which holds vectors that were merged away and do not say whose they
        were. The transaction stores a mark that only the end of the erasing removes: after a crash
        the next start, or `expire`, finishes it. Copies outside the folder are yours to delete.
        """
        album = self.album
        pictures, sightings = len(album.vertices()), 0

        def delete_rows() -> None:
            nonlocal sightings
            sightings = album.forget(name, self.learner.changes().dropped)
            self.set_number(FORGETTING, 1)
            if also is not None:
                also()

        receipt = self.with_ballast(
            lambda: self._change("forget", lambda learner: learner.forget(name), also=delete_rows)
        )
        try:
            erased = self.with_ballast(lambda: self._files.erase_history(self.learner))
        except (HomeError, SnapshotError, OSError) as error:
            raise NotSaved(
                f"{name!r} is forgotten, but copies are still on the disk ({error}); the "
                "next start, or expire, will delete them"
            ) from error
        return ForgetReceipt(
            **asdict(receipt),
            pictures=pictures - len(album.vertices()),
            sightings=sightings,
            events=erased.events,
            snapshots=erased.snapshots,
        )

    def expire(self, now: float | None = None) -> Expired:
        """Delete what has expired, and what an interrupted forgetting left; for a background job.

        A wall clock that was set back stores things longer, one that was set ahead is not trusted
        at once.
        """
        time_now = self.trusted_clock() if now is None else now
        expired = self.with_ballast(lambda: self._expire(time_now))
        self._files.ballast.reserve()
        return expired

    def _expire(self, now: float) -> Expired:
        files = self._files
        if self.number(FORGETTING) is not None:
            self._require_writable()  # only what is on the disk may become a snapshot
            files.erase_history(self.learner)
        sightings = self.album.expire(now - self.retention.sighting_days * DAY, now)
        erased = files.thin(now)
        files.remove_old_copies()
        return Expired(sightings, erased.events, erased.snapshots)

    def with_ballast(self, delete: Callable[[], _Result]) -> _Result:
        """Run a deletion; where a full disk refuses it, again in the reserved space."""
        try:
            return delete()
        except (NotSaved, SnapshotError):
            if not len(self._files.ballast):
                raise
            self._refused_at = -inf
            with self._files.ballast.released():
                return delete()

    # ---- pictures and sightings

    def record_sighting(
        self, *, camera: str, frame: int, name: str | None, vertex: int | None
    ) -> None:
        """Store who was seen; on a full disk it is left out."""
        if not self._is_waiting:
            with suppress(NotSaved):
                self.album.record_sighting(self._clock(), camera, frame, name, vertex)

    def add_pictures(self, pictures: Mapping[int, bytes]) -> None:
        """Give pictures to vertices that have none."""
        missing = pictures.keys() - set(self.album.vertices())
        with self._files.database.transaction():
            for vertex in missing & set(self.vertices().ids.tolist()):
                self.album.put(vertex, self._clock(), as_png(pictures[vertex]))

    # ---- one change

    def _change(
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
        self._require_writable()
        try:
            result = act(self._learner)
        except OnlookerError:  # it refuses before it changes anything
            raise
        except BaseException:
            self._go_back()
            raise
        with self._in_step():
            self._record(kind, picture, camera, frame, also)
        self._snapshot_if_due()
        return result

    def _record(
        self,
        kind: str,
        picture: Picture,
        camera: str | None,
        frame: int | None,
        also: Callable[[], object] | None,
    ) -> None:
        learner, entries = self._learner, self._learner.entries()
        changes = changes_of(learner, entries, self._names, self._radius)
        if not changes:
            return
        album, now = self.album, self._clock()
        removed, pictured = removed_vertices(entries), pictured_vertex(kind, entries)
        png = None if picture is None or pictured is None else as_png(picture)

        def alongside() -> None:
            if pictured is not None and png is not None:
                album.put(pictured, now, png)
            album.remove(removed)
            if also is not None:
                also()

        self._files.log.append(
            kind,
            changes,
            next_id=learner.next_id,
            entries=entries,
            camera=None if camera is None else as_text(camera),
            frame=None if frame is None else int(frame),
            also=alongside if removed or also or png is not None else None,
        )
        self._names, self._radius = learner.names, learner.radius

    def _save_snapshot(self) -> None:
        """Write a snapshot and delete old ones; a failure is reported, and tried again later."""
        self._snapshot_at = self.sequence
        if self._ahead:
            return
        try:
            self._files.save_snapshot(self._learner)
            self._files.thin(self.trusted_clock())
        except (SnapshotError, HomeError) as error:
            self._files.report(f"no snapshot after event {self._snapshot_at}: {error}")

    def _snapshot_if_due(self) -> None:
        due = self._snapshot_at + self.retention.snapshot_every
        if not self._in_batch and self.sequence >= due:
            self._save_snapshot()

    # ---- memory and disk in step

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
        self._read_only = None

    def _go_back(self, *, suspicious: bool = False) -> None:
        """Make the learner again from the disk; if that fails too, it only predicts from now on."""
        self._ahead = True
        try:
            self._use(self._files.recover(suspicious=suspicious))
        except NotRepaired as error:
            self._use_read_only(error)
        except (HomeError, SnapshotError) as error:
            self._refused(error)
            self._files.report(f"the disk cannot be read: {error}")
        else:
            self._ahead = False

    def _use(self, learner: OnlineHarmonicLearner) -> None:
        self._learner = learner
        self._names, self._radius = learner.names, learner.radius

    def _use_read_only(self, error: NotRepaired) -> None:
        """Predict with what could be read; a change would be lost behind the damage."""
        self._use(error.learner)
        self._ahead = True
        self._refused(error)

    def _refused(self, error: Exception) -> None:
        self._read_only, self._refused_at = str(error), time.monotonic()

    @property
    def _is_waiting(self) -> bool:
        """Whether the last refusal is too recent to try again."""
        since = time.monotonic() - self._refused_at
        return self._read_only is not None and since < self.retention.retry_seconds

    def _require_writable(self) -> None:
        """Raise if nothing can be changed at the moment."""
        if self._ahead and not self._is_waiting:
            self._go_back()
        if self._ahead or self._is_waiting:
            raise NotSaved(f"nothing can be changed at the moment: {self._read_only}")
