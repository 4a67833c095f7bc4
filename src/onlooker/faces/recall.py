"""Second thoughts about strangers: a card that was named comes back, a face that was added goes."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from onlooker.core.checks import Rows
from onlooker.faces.cards import Card, united
from onlooker.faces.correction import Dropped
from onlooker.faces.groups import Member, Place
from onlooker.faces.strangers import Strangers

STEPS = 8
"""How many changes are remembered, the newest."""
FACES = 100
"""Vectors of each that are remembered at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Leftover:
    """A card that was taken out, with its vectors."""

    card: Card
    members: tuple[Member, ...]


class RecallableStrangers(Strangers):
    """Strangers who can be taken out and brought back.

    >>> from onlooker import HeatKernel
    >>> strangers = RecallableStrangers(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> number = strangers.see([0.0], time=5.0, camera="door", frame=0)
    >>> left = strangers.leftover(number)
    >>> strangers.remove(number)
    >>> strangers.cards()
    []
    >>> strangers.bring_back(left), strangers.card(1).count
    (1, 1)
    """

    def leftover(self, number: int) -> Leftover:
        """What it takes to bring a card back that is about to go."""
        card = self.card(number)
        members = sorted(self._groups.members(number), key=lambda one: -one.time)
        return Leftover(card, tuple(members[:FACES]))

    def bring_back(self, left: Leftover) -> int:
        """Show a card again: its number. Who was seen since and is the same is one with it."""
        touched = {
            group for member in left.members for group in self._groups.touch(member.vector).groups
        }
        card = united([left.card, *(self._cards.pop(n) for n in touched)], self.kernel)
        for member in left.members:
            self._turn += 1
            touch = self._groups.touch(member.vector)
            self._groups.put(touch, Place(card.number, self._turn, member.time), member.times)
        self._cards[card.number] = card
        self._next_card = max(self._next_card, card.number + 1)
        self._tidy()
        self.changes += 1
        return card.number

    def take_off(self, vector: Rows, times: int) -> None:
        """Take a vector out, if it still stands for itself, and so many sightings of its card."""
        vertex = self._groups.find(vector)
        if vertex is None:
            return
        number = self._groups.places[vertex].group
        card = self._cards[number]
        self._groups.drop([vertex])
        faces = tuple(face for face in card.faces if (face.vector != vector).any())
        self._cards[number] = replace(card, count=max(1, card.count - times), faces=faces)
        self._tidy()
        self.changes += 1

    def show(self, number: int) -> None:
        """Take "ignore" back. Its pictures are gone; the next sighting brings one."""
        self._cards[number] = replace(self.card(number), hidden=False)
        self.changes += 1


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A change of the home that concerned strangers: a card went there, or faces came back."""

    before: int
    """The newest event before it."""
    time: float
    gone: Leftover | None
    added: tuple[Dropped, ...]


class SecondThoughts:
    """The latest changes that an undo of the home must take back here too; in memory only."""

    def __init__(self, strangers: RecallableStrangers) -> None:
        self._strangers = strangers
        self._steps: deque[_Step] = deque(maxlen=STEPS)

    def __len__(self) -> int:
        return len(self._steps)

    def named(self, before: int, time: float, gone: Leftover) -> None:
        """Somebody got a name, and their card is gone."""
        self._steps.append(_Step(before, time, gone, ()))

    def added(self, before: int, time: float, faces: Iterable[Dropped]) -> None:
        """Faces of the home are strangers now."""
        self._steps.append(_Step(before, time, None, tuple(faces)[:FACES]))

    def undone(self, to: int) -> dict[int, bytes]:
        """The home is as it was after an event: so be the strangers, where we remember how.

        The pictures of vertices that the home has again, which it did not keep.
        """
        pictures: dict[int, bytes] = {}
        while self._steps and self._steps[-1].before >= to:
            step = self._steps.pop()
            if step.gone is not None:
                self._strangers.bring_back(step.gone)
            for face in step.added:
                self._strangers.take_off(face.vector, face.times)
                if face.picture is not None:
                    pictures[face.vertex] = face.picture
        return pictures

    def forget(self, before: float = float("inf")) -> None:
        """Remember nothing from before a time."""
        kept = [step for step in self._steps if step.time >= before]
        self._steps = deque(kept, maxlen=STEPS)
