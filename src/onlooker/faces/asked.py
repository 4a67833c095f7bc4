"""What a home can be asked; nothing here changes what it knows."""

from contextlib import suppress
from secrets import randbits

from numpy.typing import ArrayLike

from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Explanation, Prediction, Vertices
from onlooker.faces.album import Album
from onlooker.faces.chronicle import Chronicle
from onlooker.faces.closing import Closing
from onlooker.faces.durable import Durable
from onlooker.faces.journal import Event
from onlooker.faces.keeping import Health
from onlooker.faces.store import NotSaved


class Asked(Closing):
    """The half of a home that teaches it nothing."""

    _chronicle: Chronicle
    _durable: Durable

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
