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
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from math import inf
from os import PathLike
from pathlib import Path
from secrets import randbits
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onlooker.core.checks import is_number
from onlooker.core.errors import LabelConflict, NotFound, OnlookerError, SnapshotError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Explanation, Prediction, Receipt, Vertices
from onlooker.home.alarms import Alarm, AlarmWatch
from onlooker.home.album import Album, Picture, SeenBefore, as_png
from onlooker.home.camera_table import CameraTable
from onlooker.home.card_table import CardTable
from onlooker.home.database import Database, HomeDamaged, HomeError, NotSaved, as_text
from onlooker.home.events import Change, Event, changes_of, pictured_vertex, removed_vertices
from onlooker.home.folder import FORGETTING, HomeFolder
from onlooker.home.replay import MergedExamples, NotRepaired, merged_examples
from onlooker.home.retention import (
    DAY,
    HOUR,
    Expired,
    ForgetReceipt,
    Health,
    RetentionPolicy,
    TrustedClock,
    UndoPreview,
)
from onlooker.home.taught import TaughtFaces

ALARMS_READ = 100
"""Newest alarms whose regions are not reported again."""

_Result = TypeVar("_Result")


class FaceToTeach(NamedTuple):
    """A labeled face for `Home.teach_once`."""

    name: str
    vector: NDArray[Any]
    picture: Picture = None


def new_faces(known: Vertices, faces: Iterable[FaceToTeach]) -> list[FaceToTeach]:
    """The faces that do not have that name yet, each once."""
    there = set(zip((row.tobytes() for row in known.vectors), known.names, strict=True))
    keys = {(face.vector.astype(known.vectors.dtype).tobytes(), face.name): face for face in faces}
    return [face for key, face in keys.items() if key not in there]


class _Removed(NamedTuple):
    receipt: Receipt
    sightings: int


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
        self.on_alarm: Callable[[Event], object] = lambda event: None
        """Called with the event of every alarm."""
        self._watch, self._watch_is_new = AlarmWatch(), True
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
        """Name an example and learn from it; a home that cannot write only names it.

        What it learned may raise an alarm, which is an event of its own.
        """
        try:
            prediction = self._change(
                "observe",
                lambda learner: learner.observe(x),
                picture=picture,
                camera=camera,
                frame=frame,
                about=lambda answer: answer.label,
            )
            self._look_for_alarm(x, prediction, camera, frame)
            return prediction
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
            about=lambda _: name,
        )

    def teach_once(self, faces: Sequence[FaceToTeach]) -> list[str]:
        """Teach the faces that were never taught here: the names that are left out altogether.

        Those were taught once, and a person forgot, renamed or undid them since. A single face that
        was corrected since is not taught again either. All in one transaction.
        """
        taught = self.taught
        new, forgotten = taught.untaught(faces, self.learner.names)
        with self.batch():
            self.teach_all(new)
            taught.add(face for face in faces if face.name not in forgotten)
        return forgotten

    def teach_all(self, faces: Sequence[FaceToTeach]) -> dict[str, int]:
        """Teach the faces that do not have that name yet, in one transaction: how many of whom."""
        taught = dict.fromkeys((face.name for face in faces), 0)
        with self.batch():
            for face in new_faces(self.vertices(), faces):
                self.teach(face.vector, face.name, picture=face.picture)
                taught[face.name] += 1
        return taught

    def label(self, vertex: int, name: str) -> None:
        """Teach the face of a vertex."""
        self.teach(self.learner.vector(vertex), name)

    def unteach(self, x: ArrayLike) -> None:
        """Take back what was taught at a place: a label, or who it is not."""
        self._change("unteach", lambda learner: learner.unteach(x))

    def drop(self, vertex: int) -> None:
        """Take one vertex out, with everything it stands for."""
        self._change("drop", lambda learner: learner.drop(vertex))

    def merged_examples(self, since: int) -> tuple[MergedExamples, bool]:
        """What was merged into what since a vertex came; whether history reaches back to that."""
        files = self._files
        event = files.log.of_vertex(since) - 1
        reached = max(event, files.oldest)
        found = merged_examples(files.log, files.snapshots.newest, self.sequence, reached)
        return found, reached == event

    def reduce(self, parts: Mapping[int, Mapping[int, int]]) -> None:
        """Take out of vertices what was merged into them: how many examples, by part."""
        state = self._learner.state()
        counts, rows = state.multiplicities.copy(), {v: r for r, v in enumerate(state.ids.tolist())}
        changes: list[Change] = []
        for vertex, taken in parts.items():
            counts[rows[vertex]] -= sum(taken.values())
            changes.append(["reduced", vertex, sum(taken.values()), list(taken)])
        if changes:
            learner = self._learner.restored(replace(state, multiplicities=counts))
            self.replace_learner("reduce", learner, changes)

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

    def vertices(self, *, vectors: bool = True) -> Vertices:
        """All vertices in order of age, with their vectors or without."""
        return self.learner.vertices(vectors=vectors)

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
        """What happened, the oldest first unless the newest are wanted; damage is a problem."""
        log = self._files.log
        found = log.select(after, limit, before=before, kind=kind, camera=camera, newest=newest)
        for sequence in sorted(log.damaged):
            self._files.report(f"event {sequence} of the history is damaged and is not shown")
        return found

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
        self._refuse_unreachable(to)
        self._require_writable()
        learner = self._learner_after(to)
        alive = learner.vertices().ids.tolist()
        with self.batch():
            back = [[number, new, old] for number, old, new in files.log.name_changes(int(to))]
            renamed = self.album.persons.change(back)
            changes: list[Change] = [["undo", int(to)], *([["people", renamed]] if renamed else [])]
            self.replace_learner("undo", learner, changes)
            self.album.remove_all_but(alive)
        self._save_snapshot()

    def undo_preview(self, to: int) -> UndoPreview:
        """What an undo to an event would take back; nothing is changed.

        >>> import tempfile
        >>> from onlooker import HeatKernel
        >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Home(folder, new_learner=lambda: learner) as home:
        ...         home.teach([0.0, 0.0], "ana")
        ...         home.undo_preview(0).people
        ('ana',)
        """
        self._refuse_unreachable(to)
        then, now = self._learner_after(to), self.learner
        changed: dict[str, str] = {}
        for _, old, new in reversed(self._files.log.name_changes(int(to))):
            first = [name for name, current in changed.items() if current == old] or [str(old)]
            changed |= dict.fromkeys(first, str(new))
        # Two people who were made one would be two again: that is no other name.
        changed = {old: new for old, new in changed.items() if new not in then.names}
        # A name that was changed is the same person's: it counts as changed, and as nothing else.
        before, after = _labels(then, changed), _labels(now, {})
        known, knew = set(now.names), {changed.get(name, name) for name in then.names}
        said, had = _negatives(now), {(v, changed.get(str(n), n)) for v, n in _negatives(then)}
        ids, old_ids = set(now.vertices().ids.tolist()), set(then.vertices().ids.tolist())
        return UndoPreview(
            int(to),
            events=self.sequence - int(to),
            people=tuple(name for name in now.names if name not in knew),
            people_back=tuple(n for n in then.names if changed.get(n, n) not in known),
            renamed={new: old for old, new in changed.items() if new in known and old != new},
            labels=dict(Counter(name for v, name in after.items() if before.get(v) != name)),
            labels_back=dict(Counter(n for v, n in before.items() if after.get(v) != n)),
            learned=len(ids - old_ids - after.keys() - {vertex for vertex, _ in said}),
            learned_back=len(old_ids - ids - before.keys() - {vertex for vertex, _ in had}),
            excluded=len(said - had),
            excluded_back=len(had - said),
        )

    def _refuse_unreachable(self, to: int) -> None:
        files = self._files
        if not is_number(to, whole=True) or not files.oldest <= to <= self.sequence:
            forgotten = is_number(to, whole=True) and 0 <= to < files.log.last_forgetting()
            why = " since somebody was forgotten after it" if forgotten else ""
            raise NotFound(
                f"event {to!r} cannot be undone to{why}; give one from {files.oldest} to "
                f"{self.sequence}"
            )

    def _learner_after(self, to: int) -> OnlineHarmonicLearner:
        found = self._files.learner_after(int(to))
        if found.problems:
            raise HomeDamaged(f"cannot undo to event {to}: {found.problems[0]}")
        return found.learner(self.learner.next_id)

    def forget(
        self,
        name: str,
        *,
        cards: Collection[int] = (),
        also: Callable[[], object] | None = None,
    ) -> ForgetReceipt:
        """Delete a name so that no byte of it remains in any file of the folder.

        Any name that occurs anywhere in it, also one that was undone or taken back. All that was
        ever named so goes, unless a person gave it another name since: vectors, pictures,
        sightings, events, and what `also` deletes, in one transaction. With it go sightings of
        strangers that would be named so, and those of the given cards. It stores marks that only
        the end of the erasing removes: after a crash the next start, or `expire`, finishes it. What
        belongs to others stays, but nothing before can be undone to. Copies outside the folder are
        yours to delete.
        """
        if not self.mentions(name):
            self.learner.forget(name)  # which says that nobody is called so
        album, before = self.album, len(self.album.vertices())
        removed = self.with_ballast(lambda: self._remove_person(name, cards, also))
        try:
            erased = self.with_ballast(lambda: self._files.erase_forgotten(self.learner))
        except (HomeError, SnapshotError, OSError) as error:
            raise NotSaved(
                f"forgotten, but copies are still on the disk ({error}); the next start, or "
                "expire, will delete them"
            ) from error
        return ForgetReceipt(
            **asdict(removed.receipt),
            pictures=before - len(album.vertices()),
            sightings=removed.sightings,
            events=erased.events,
            snapshots=erased.snapshots,
        )

    def mentions(self, name: str) -> bool:
        """Whether a name occurs anywhere in the folder."""
        return (
            name in self.learner.names
            or self._files.log.mentions(name)
            or CardTable(self.database).mentions(name)
            or as_text(name) in self._files.names_on_disk()
        )

    def vectors_of(self, name: str) -> dict[int, NDArray[Any]]:
        """Everything stored that was ever named so, by vertex; it need not exist any more."""
        return self._files.log.vertices_of(self.album.persons.numbers(name))

    def learner_knowing(self, name: str) -> OnlineHarmonicLearner:
        """The learner; where nobody is called so any more, a copy that knows what once was."""
        learner = self.learner
        if name not in learner.names:
            learner = learner.restored(learner.state())
            for vector in self.vectors_of(name).values():
                with suppress(LabelConflict):
                    learner.teach(vector, name)
        return learner

    def unnamed_sightings_of(self, name: str) -> set[int]:
        """The sightings without a name whose face would be given this one, or asked about so."""
        learner, once = self.learner_knowing(name), self.vectors_of(name)
        length = learner.vertices().vectors.shape[1]
        known = {vector.astype(np.float32).tobytes() for vector in once.values()}
        found = set()
        for number, vector in self.album.unnamed_vectors(length).items():
            answer = learner.predict(vector)
            if vector.tobytes() in known or name in (answer.label, answer.candidate):
                found.add(number)
        return found

    def _remove_person(
        self, name: str, cards: Collection[int], also: Callable[[], object] | None
    ) -> "_Removed":
        first = self.sequence + 1
        with self.batch():
            unnamed = self.unnamed_sightings_of(name) | self.album.of_cards(cards)
            known = self.vertices()
            labels = dict(zip(known.ids.tolist(), known.names, strict=True))
            receipt = Receipt(0, 0, 0, ())
            if name in self.learner.names:
                receipt = self._change("forget", lambda learner: learner.forget(name))
            for vertex in self.vectors_of(name).keys() & set(self.vertices().ids.tolist()):
                if labels[vertex] is None:
                    count = int(known.multiplicities[known.ids == vertex][0])
                    self._change("forget", partial(OnlineHarmonicLearner.drop, vertex=vertex))
                    receipt = replace(
                        receipt,
                        unlabeled=receipt.unlabeled + 1,
                        multiplicity=receipt.multiplicity + count,
                    )
            if self.sequence < first:
                self._files.log.append("forget", [], next_id=self.learner.next_id)
            gone = labels.keys() - set(self.vertices().ids.tolist())
            numbers = self._files.mark_forgotten(name, self.sequence)
            sightings = self.album.forget(numbers, gone, unnamed)
            if also is not None:
                also()
        return _Removed(receipt, sightings)

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
            files.erase_forgotten(self.learner)
        days, hours = self.retention.sighting_days, self.retention.stranger_hours
        sightings = self.album.expire(now - days * DAY, now, now - hours * HOUR)
        files.acknowledge()
        erased = files.thin(now)
        files.remove_old_copies()
        return Expired(sightings, erased.events, erased.snapshots)

    def checkpoint(self) -> None:
        """Move the write-ahead log into the database, for idle moments: damage finds less in it."""
        with suppress(HomeError):  # what stays in the log is as safe there
            self._files.database.checkpoint_if_needed()

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
        self,
        *,
        camera: str,
        frame: int,
        name: str | None,
        vertex: int | None = None,
        card: int | None = None,
        vector: ArrayLike | None = None,
        picture: Picture = None,
    ) -> None:
        """Store who was seen, with the face, to be found again; on a full disk it is left out."""
        if not self._is_waiting:
            with suppress(NotSaved):
                where = self._clock(), camera, frame
                face: dict[str, Any] = {"card": card, "vector": vector, "picture": picture}
                self.album.record_sighting(*where, name, vertex, **face)
                self._files.acknowledge()

    def find_face(self, x: ArrayLike) -> list[SeenBefore]:
        """Was this face here before? Everybody whose sightings it is linked to.

        The most similar first, but before all others whom the learner names, also if no sighting
        of them is linked to it: of somebody who has changed, it knows more than any single
        sighting tells.

        >>> import tempfile
        >>> from onlooker import HeatKernel
        >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Home(folder, new_learner=lambda: learner) as home:
        ...         home.record_sighting(camera="door", frame=7, name="ana", vector=[0.0, 0.0])
        ...         [(who.name, who.count) for who in home.find_face([0.1, 0.0])]
        [('ana', 1)]
        """
        found = self.album.find_face(x, self.learner.kernel)
        name = self.predict(x).label if len(self.learner) else None
        if name is not None and all(who.name != name for who in found):
            named = self.album.sightings_of(name, x, self.learner.kernel)
            found += [] if named is None else [named]
        return sorted(found, key=lambda who: who.name is None or who.name != name)

    def record_twice(self, name: str, surer: int, other: int, *, camera: str, frame: int) -> None:
        """Record that two faces of one frame, near to these vertices, had one name.

        For the audit; on a full disk it is left out.
        """
        if not self._is_waiting:
            with suppress(NotSaved), self._in_step():
                self._files.log.append(
                    "twice",
                    [["twice", surer, other, name]],
                    next_id=self._learner.next_id,
                    camera=as_text(camera),
                    frame=int(frame),
                )

    def record_camera(self, camera: str, state: str, problem: str) -> None:
        """Record that a camera began to fail, or that this is over.

        state: failing, live, ended or removed. On a full disk it is left out.
        """
        if not self._is_waiting and not self._ahead:
            with suppress(NotSaved), self._in_step():
                self._files.log.append(
                    "camera",
                    [["camera", state, problem]],
                    next_id=self._learner.next_id,
                    camera=as_text(camera),
                )

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
        about: Callable[[_Result], str | None] = lambda _: None,
    ) -> _Result:
        """Change the learner and record what that did; it is on the disk on return.

        about gives the name of whoever it is about.
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
        self._watch_is_new |= kind != "observe"
        with self._in_step():
            self._record(kind, picture, camera, frame, about(result))
        self._snapshot_if_due()
        return result

    def _record(
        self,
        kind: str,
        picture: Picture,
        camera: str | None,
        frame: int | None,
        name: str | None,
    ) -> None:
        learner, entries = self._learner, self._learner.entries()
        changes = changes_of(learner, entries, self._names, self._radius)
        if not changes:
            return
        album, now = self.album, self._clock()
        removed, pictured = removed_vertices(entries), pictured_vertex(kind, entries)
        png = None if picture is None or pictured is None else as_png(picture)

        with self.database.transaction():
            self._files.log.append(
                kind,
                changes,
                next_id=learner.next_id,
                entries=entries,
                camera=None if camera is None else as_text(camera),
                frame=None if frame is None else int(frame),
                person=None if name is None else album.persons.number(name),
            )
            if pictured is not None and png is not None:
                album.put(pictured, now, png)
            album.remove(removed)
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

    def _look_for_alarm(
        self, x: ArrayLike, prediction: Prediction, camera: str, frame: int
    ) -> None:
        """Record the alarm that a face raises which was just learned."""
        if self._watch_is_new:
            found = self.events(kind="alarm", newest=True, limit=ALARMS_READ)
            self._watch.restart(self._learner, (Alarm.of(event.changes[0]) for event in found))
            self._watch_is_new = False
        alarm = self._watch.note(self._learner, x, prediction, camera)
        if alarm is None:
            return
        with self._in_step():
            self._files.log.append(
                "alarm",
                [alarm.change],
                next_id=self._learner.next_id,
                camera=as_text(camera),
                frame=int(frame),
                person=self.album.persons.number(alarm.name),
            )
        for event in self.events(self.sequence - 1, 1):
            self.on_alarm(event)

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
        self._files.acknowledge()
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
        self._learner, self._watch_is_new = learner, True
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


def _labels(learner: OnlineHarmonicLearner, changed: Mapping[str, str]) -> dict[int, str]:
    """Labeled vertices, by the names that people have now."""
    known = learner.vertices()
    named = zip(known.ids.tolist(), known.names, strict=True)
    return {vertex: changed.get(name, name) for vertex, name in named if name is not None}


def _negatives(learner: OnlineHarmonicLearner) -> set[tuple[int, str | None]]:
    said = learner.vertices().negatives.items()
    return {(vertex, name) for vertex, names in said for name in names}
