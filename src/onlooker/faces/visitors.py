"""The strangers of a home: seen by its cameras, kept beside it, named into it.

Their file (`drawer.py`) is written every so many changes, when somebody is named or ignored, by
`tidy` and at the end. A crash may lose the sightings since; nobody was promised those.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from onlooker.faces.cards import Card
from onlooker.faces.closing import Closing
from onlooker.faces.correction import Corrected, Dropped, wrong
from onlooker.faces.drawer import Drawer
from onlooker.faces.durable import Picture
from onlooker.faces.home import Home
from onlooker.faces.keeping import DAY, Forgotten
from onlooker.faces.recall import RecallableStrangers, SecondThoughts

Alert: TypeAlias = Callable[[Mapping[str, Any]], object]
"""Hears of a new stranger: event, card, count, camera, frame, time."""


class Visitors(Closing):
    """Strangers that last as long as their home says; call it from the home's thread.

    >>> import tempfile
    >>> from onlooker import HeatKernel, OnlineHarmonicLearner
    >>> def new_learner():
    ...     return OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Home(folder, new_learner=new_learner) as home, Visitors(home, folder) as visitors:
    ...         card = visitors.met([0.0, 0.0], camera="door", frame=0)
    ...         visitors.name(card, "ana"), home.predict([0.1, 0.0]).label
    (1, 'ana')

    alert hears of each stranger who was seen alert_after times, once.
    """

    def __init__(
        self,
        home: Home,
        folder: str | PathLike[str],
        *,
        alert: Alert | None = None,
        alert_after: int = 1,
        max_vertices: int = 300,
        save_every: int = 200,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.home, self._clock = home, clock
        self._alert, self._alert_after, self._save_every = alert, alert_after, save_every
        self.strangers = RecallableStrangers(home.learner.kernel, max_vertices=max_vertices)
        self._thoughts = SecondThoughts(self.strangers)
        self._drawer = Drawer(Path(folder), self.strangers, home.learner.features)

    @property
    def problems(self) -> list[str]:
        """What was found damaged or could not be done, in words."""
        return self._drawer.problems

    def close(self) -> None:
        """Write what is not written; before the home is closed, whose lock guards the file."""
        self._drawer.save()

    def met(
        self,
        vector: ArrayLike,
        *,
        camera: str,
        frame: int,
        picture: Picture = None,
        quality: float = 0.0,
    ) -> int:
        """A face that the home names nobody: the number of its card."""
        number = self.strangers.see(
            vector,
            time=self._clock(),
            camera=camera,
            frame=frame,
            picture=picture,
            quality=quality,
        )
        card = self.strangers.card(number)
        if self._alert and card.count >= self._alert_after and self.strangers.tell(number):
            self._alert({"event": "stranger", **told(card)})
        if self._drawer.unsaved >= self._save_every:
            self._drawer.save()
        return number

    def cards(self, *, hidden: bool = False) -> list[Card]:
        """One card a stranger, most seen first; the hidden ones if wanted."""
        return self.strangers.cards(hidden=hidden)

    def name(self, number: int, name: str, keys: Iterable[str] | None = None) -> int:
        """Teach the home who that is, and forget the stranger: how many faces were taught.

        keys: of the faces to teach; the others go with the card.
        """
        before, left = self.home.sequence, self.strangers.leftover(number)
        taught = self.strangers.name(
            number, name, lambda x, who, png: self.home.teach(x, who, picture=png), keys
        )
        self._thoughts.named(before, self._clock(), left)
        self._drawer.erase()
        return taught

    def settle(self, number: int, before: int) -> None:
        """A card is no stranger's any more, since the event after `before`."""
        self._thoughts.named(before, self._clock(), self.strangers.leftover(number))
        self.strangers.remove(number)
        self._drawer.erase()

    def ignore(self, number: int) -> None:
        """Hide a stranger, from now on."""
        self.strangers.ignore(number)
        self._drawer.erase()

    def show(self, number: int) -> None:
        """Take "ignore" back."""
        self.strangers.show(number)
        self._drawer.save()

    def wrong(self, vertex: int) -> Corrected:
        """That face of the home is somebody else: drop it, and what was learned only through it."""
        before, now = self.home.sequence, self._clock()
        dropped: list[Dropped] = []
        try:
            return wrong(self.home, vertex, self.strangers, time=now, dropped=dropped.append)
        finally:
            self._thoughts.added(before, now, dropped)
            self._drawer.save()

    def undone(self, to: int) -> None:
        """The home went back to an event: cards that were named since come back, those that
        "wrong" made go, their pictures to the home. The latest few; older ones are forgotten."""
        before = self.strangers.changes
        self.home.show(self._thoughts.undone(to))
        if self.strangers.changes > before:
            self._drawer.erase()

    def forget(self, name: str) -> Forgotten:
        """Delete somebody from the home, and the cards of faces that it would have named so.

        The cards go first: afterwards nobody could tell any more whose they were.
        """
        mine = [card.number for card in self.cards(hidden=True) if self._would_name(card, name)]
        for number in mine:
            self.strangers.remove(number)
        if mine:
            self._drawer.erase()
        try:
            return replace(self.home.forget(name), strangers=len(mine))
        finally:
            if name not in self.home.learner.names:
                self._thoughts.forget()  # what was taught or dropped

    def _would_name(self, card: Card, name: str) -> bool:
        """Whether the home takes any face of a card for somebody."""
        vectors = [face.vector for face in card.faces]
        vectors += [member.vector for member in self.strangers.leftover(card.number).members]
        return any(self.home.predict(vector).label == name for vector in vectors)

    def tidy(self, now: float | None = None) -> int:
        """Delete what the home keeps no longer, and write the rest: how many cards went.

        Hidden strangers are remembered, without pictures, as long as sightings: who comes once a
        day is not to be ignored once a day.
        """
        now, keeping = self._clock() if now is None else now, self.home.keeping
        before = self.strangers.changes
        self._thoughts.forget(before=now - keeping.stranger_hours * 3600)
        gone = self.strangers.expire(
            now - keeping.stranger_hours * 3600,
            hidden_before=now - keeping.sighting_days * DAY,
            now=now,
        )
        self._drawer.erase() if self.strangers.changes > before else self._drawer.save()
        return gone


def told(card: Card) -> dict[str, Any]:
    """A card in a few words, for programs.

    >>> from onlooker.faces.cards import Glimpse
    >>> seen = Glimpse(12.5, "door", 310)
    >>> told(Card(3, 50, seen, seen, ()))["camera"]
    'door'
    """
    last = card.last
    where = {"camera": last.camera, "frame": last.frame, "time": last.time}
    return {"card": card.number, "count": card.count, **where}
