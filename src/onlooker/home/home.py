"""A home for what was learned: the learner's verbs, durable.

Every call that changes something is one event in one transaction, on the disk before the call
returns; an outlier writes nothing. After a crash the home opens with a learner that behaves as
the one that was lost did. One thread owns a home: call it from the thread that made it.

A disk that refuses a change (full, failing) makes the home read-only: the learner goes back to
what is on the disk, `observe` names without learning, the other verbs raise `NotSaved`, `health`
says so, and every few seconds a change is tried again.

What a home can be asked; nothing here changes what it knows.

What a home does about its past: go back to it, forget a person, let old things expire.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from secrets import randbits
from typing import Self

from numpy.typing import ArrayLike

from onlooker.core.checks import is_number
from onlooker.core.errors import NotFound, SnapshotError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Explanation, Prediction, Vertices
from onlooker.home.album import Album, as_png
from onlooker.home.database import HomeDamaged, HomeError, NotSaved
from onlooker.home.durable_learner import DurableLearner, Picture
from onlooker.home.events import Change, Event
from onlooker.home.folder import FORGETTING, HomeFolder
from onlooker.home.retention import (
    DAY,
    Expired,
    ForgetReceipt,
    Health,
    RetentionPolicy,
    TrustedClock,
)


def undo(durable: DurableLearner, to: int) -> None:
    """Go on with the learner as it was after an event. That it was done is an event as well."""
    chronicle = durable.chronicle
    if not is_number(to, whole=True) or not chronicle.oldest <= to <= chronicle.sequence:
        raise NotFound(
            f"event {to!r} cannot be undone to; give one from {chronicle.oldest} "
            f"to {chronicle.sequence}"
        )
    durable.be_ready()
    found = chronicle.at(int(to))
    if found.problems:
        raise HomeDamaged(f"cannot undo to event {to}: {found.problems[0]}")
    learner = found.learner(durable.learner.next_id)
    alive = learner.vertices().ids.tolist()
    durable.exchange(
        "undo", learner, [["undo", int(to)]], also=lambda: chronicle.album.keep_only(alive)
    )
    durable.snapshot()


def forget(durable: DurableLearner, name: str) -> ForgetReceipt:
    """Drop a name from the learner, and every byte of it from the disk.

    The first transaction also notes that the erasing is to be done, and only its end takes the
    note back: if it is interrupted, the next start or `tidy` goes on with it.
    """
    chronicle, album = durable.chronicle, durable.chronicle.album
    pictures, sightings = len(album.vertices()), 0

    def erase_the_diary() -> None:
        nonlocal sightings
        sightings = album.forget(name, durable.learner.changes().dropped)
        chronicle.store.mark(FORGETTING, 1)

    receipt = durable.with_room(
        lambda: durable.do("forget", lambda learner: learner.forget(name), also=erase_the_diary)
    )
    try:
        erased = durable.with_room(lambda: chronicle.erase(durable.learner))
    except (HomeError, SnapshotError) as error:
        raise NotSaved(
            f"{name!r} is forgotten, but copies are still on the disk ({error}); tidy, or the "
            "next start, will delete them"
        ) from error
    return ForgetReceipt(
        **asdict(receipt),
        pictures=pictures - len(album.vertices()),
        sightings=sightings,
        events=erased.events,
        snapshots=erased.snapshots,
    )


def expire(durable: DurableLearner, now: float) -> Expired:
    """Delete what has expired, and what a forgetting left behind; then see to the ballast."""
    tidied = durable.with_room(lambda: _tidy(durable, now))
    durable.chronicle.ballast.lay()
    return tidied


def _tidy(durable: DurableLearner, now: float) -> Expired:
    chronicle = durable.chronicle
    if chronicle.store.noted(FORGETTING) is not None:
        durable.be_ready()  # only what is on the disk may become a snapshot
        chronicle.erase(durable.learner)
    sightings = chronicle.album.expire(now - chronicle.retention.sighting_days * DAY, now)
    erased = chronicle.thin(now)
    return Expired(sightings, erased.events, erased.snapshots)


class Asked:
    """The half of a home that teaches it nothing."""

    _chronicle: HomeFolder
    _durable: DurableLearner

    @property
    def learner(self) -> OnlineHarmonicLearner:
        """The learner, to be asked only: what it learns behind the home's back is lost."""
        return self._durable.learner

    @property
    def sequence(self) -> int:
        """The number of the newest event."""
        return self._chronicle.sequence

    @property
    def album(self) -> Album:
        """Pictures and sightings."""
        return self._chronicle.album

    @property
    def identity(self) -> str:
        """A random word, made once: who sees another one sees another home."""
        store = self._chronicle.store
        if (number := store.noted("identity")) is None:
            number = randbits(62)
            with suppress(NotSaved):
                store.note("identity", number)
        return f"{number:016x}"

    @property
    def problems(self) -> tuple[str, ...]:
        """What was found damaged or could not be done, in words."""
        return tuple(self._chronicle.problems)

    def health(self) -> Health:
        """Whether it can learn, what went wrong, and how far back an undo reaches."""
        return Health(self._durable.read_only, self.problems, self.sequence, self._chronicle.oldest)

    def predict(self, x: ArrayLike) -> Prediction:
        """What observe would answer, leaving no trace."""
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
        return self._chronicle.ledger.listed(
            after, limit, before=before, kind=kind, camera=camera, newest=newest
        )


class Home(Asked):
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

    new_learner makes the learner of a home that is new; adopt is a state file for it to begin
    with. Later the settings are those of the home. clock is the time for people, steady one that
    nobody can set.
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
        self.folder, self.retention, self._clock = (
            Path(folder),
            retention or RetentionPolicy(),
            clock,
        )
        self.trusted_clock = TrustedClock(clock, steady)
        """The time by which things expire."""
        self._closed = False
        self._chronicle = HomeFolder(self.folder, new_learner(), adopt, self.retention, clock)
        try:
            self._durable = DurableLearner(self._chronicle, clock, self.trusted_clock)
        except BaseException:
            self._chronicle.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write a snapshot, so that the next start is quick, and let the next one in."""
        if self._closed:
            return
        self._closed = True
        try:
            self._durable.snapshot()
        finally:
            self._chronicle.close()

    # ---- learning

    def observe(
        self, x: ArrayLike, *, camera: str, frame: int, picture: Picture = None
    ) -> Prediction:
        """Name an example and learn from it; a home that cannot write only names it."""
        if self._durable.waits:
            return self.learner.predict(x)
        try:
            return self._durable.do(
                "observe",
                lambda learner: learner.observe(x),
                picture=picture,
                camera=camera,
                frame=frame,
            )
        except HomeError:
            return self.learner.predict(x)

    def teach(
        self,
        x: ArrayLike,
        name: str,
        *,
        picture: Picture = None,
        camera: str | None = None,
        frame: int | None = None,
    ) -> None:
        """A labeled example."""
        self._durable.do(
            "teach",
            lambda learner: learner.teach(x, name),
            picture=picture,
            camera=camera,
            frame=frame,
        )

    def label(self, vertex: int, name: str) -> None:
        """Name a face that is known by its vertex."""
        known = self.vertices()
        places = (known.ids == vertex).nonzero()[0]
        if not len(places):
            raise NotFound(f"there is no vertex {vertex!r} any more; it was merged or dropped")
        self.teach(known.vectors[places[0]], name)

    def unteach(self, x: ArrayLike) -> None:
        """Take the label of a labeled example back."""
        self._durable.do("unteach", lambda learner: learner.unteach(x))

    def drop(self, vertex: int) -> None:
        """Take one vertex out, with everything it stands for."""
        self._durable.do("drop", lambda learner: learner.drop(vertex))

    def merge(self, other: OnlineHarmonicLearner) -> None:
        """Take in all that another learner knows."""
        self._durable.do("merge", lambda learner: learner.merge(other))

    def exchange(
        self,
        kind: str,
        learner: OnlineHarmonicLearner,
        changes: Iterable[Change],
        *,
        also: Callable[[], object] | None = None,
    ) -> None:
        """Go on with a learner that was changed by other means than the verbs, in one event.

        The changes, as `home/events.py` has them, must lead from the learner so far to this
        one; what also does with the store belongs to the same transaction.
        """
        self._durable.exchange(kind, learner, changes, also=also)

    # ---- going back

    def undo(self, *, to: int) -> None:
        """Know again what was known after an event; that is an event too, and can be undone.

        Ids are not used again, and pictures of vertices that were gone do not come back. What was
        forgotten stays forgotten: no event before a forgetting can be reached.
        """
        undo(self._durable, to)

    def forget(self, name: str) -> ForgetReceipt:
        """Delete a name so that no byte of it remains in any file of the folder.

        Its pictures, vectors and sightings go, and all of history, which holds vectors that were
        merged away and do not say whose they were. Copies outside the folder are yours to delete.
        """
        return forget(self._durable, name)

    # ---- for people

    def record_sighting(
        self, *, camera: str, frame: int, name: str | None, vertex: int | None
    ) -> None:
        """One line for the diary of sightings; on a full disk it is left out."""
        if not self._durable.waits:
            with suppress(NotSaved):
                self.album.record_sighting(self._clock(), camera, frame, name, vertex)

    def show(self, pictures: Mapping[int, bytes]) -> None:
        """Give pictures to vertices that have none."""
        missing = pictures.keys() - set(self.album.vertices())
        with self._chronicle.store.transaction():
            for vertex in missing & set(self.vertices().ids.tolist()):
                self.album.put(vertex, self._clock(), as_png(pictures[vertex]))

    def expire(self, now: float | None = None) -> Expired:
        """Delete what has expired; for a background job.

        A clock that was set back keeps more, one that was set ahead is not believed at once.
        """
        return expire(self._durable, self.trusted_clock() if now is None else now)
