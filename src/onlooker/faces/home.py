"""A home for what was learned: the learner's verbs, durable.

Every call that changes something is one event in one transaction, on the disk before the call
returns; an outlier writes nothing. After a crash the home opens with a learner that behaves as
the one that was lost did. One thread owns a home: call it from the thread that made it.

A disk that refuses a change (full, failing) makes the home read-only: the learner goes back to
what is on the disk, `observe` names without learning, the other verbs raise `NotSaved`, `health`
says so, and every few seconds a change is tried again.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path

from numpy.typing import ArrayLike

from onlooker.core.errors import NotFound
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Prediction
from onlooker.faces import hindsight
from onlooker.faces.album import as_png
from onlooker.faces.asked import Asked
from onlooker.faces.believed import Believed
from onlooker.faces.chronicle import Chronicle
from onlooker.faces.durable import Durable, Picture
from onlooker.faces.journal import Change
from onlooker.faces.keeping import Forgotten, Keeping, Tidied
from onlooker.faces.store import NotSaved, StoreError


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
        keeping: Keeping | None = None,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder, self.keeping, self._clock = Path(folder), keeping or Keeping(), clock
        self.believed = Believed(clock, steady)
        """The time by which things expire."""
        self._closed = False
        self._chronicle = Chronicle(self.folder, new_learner(), adopt, self.keeping, clock)
        try:
            self._durable = Durable(self._chronicle, clock, self.believed)
        except BaseException:
            self._chronicle.close()
            raise

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
        except StoreError:
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

        The changes, as `faces/journal.py` has them, must lead from the learner so far to this
        one; what also does with the store belongs to the same transaction.
        """
        self._durable.exchange(kind, learner, changes, also=also)

    # ---- going back

    def undo(self, *, to: int) -> None:
        """Know again what was known after an event; that is an event too, and can be undone.

        Ids are not used again, and pictures of vertices that were gone do not come back. What was
        forgotten stays forgotten: no event before a forgetting can be reached.
        """
        hindsight.undo(self._durable, to)

    def forget(self, name: str) -> Forgotten:
        """Delete a name so that no byte of it remains in any file of the folder.

        Its pictures, vectors and sightings go, and all of history, which holds vectors that were
        merged away and do not say whose they were. Copies outside the folder are yours to delete.
        """
        return hindsight.forget(self._durable, name)

    # ---- for people

    def sighted(self, *, camera: str, frame: int, name: str | None, vertex: int | None) -> None:
        """One line for the diary of sightings; on a full disk it is left out."""
        if not self._durable.waits:
            with suppress(NotSaved):
                self.album.sighted(self._clock(), camera, frame, name, vertex)

    def show(self, pictures: Mapping[int, bytes]) -> None:
        """Give pictures to vertices that have none."""
        missing = pictures.keys() - set(self.album.vertices())
        with self._chronicle.store.transaction():
            for vertex in missing & set(self.vertices().ids.tolist()):
                self.album.put(vertex, self._clock(), as_png(pictures[vertex]))

    def tidy(self, now: float | None = None) -> Tidied:
        """Delete what has expired; for a background job.

        A clock that was set back keeps more, one that was set ahead is not believed at once.
        """
        return hindsight.tidy(self._durable, self.believed() if now is None else now)
