"""Strangers: faces the learner names nobody, kept apart from it and grouped, in bounded memory.

An outlier teaches the learner nothing (Section 3.3). It is quantized here, in a graph of its own
with the learner's kernel: whoever is connected in it is one stranger and gets one card. Two groups
that a new face connects become one card, under the older number. Nothing here reads a clock.

Second thoughts about strangers: a card that was named comes back, a face that was added goes.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import inf
from typing import TypeAlias

from numpy.typing import ArrayLike

from onlooker.core.checks import Rows, as_name, as_number
from onlooker.core.errors import BadValue, NotFound
from onlooker.core.similarity import HeatKernel
from onlooker.home.album import as_png, as_text
from onlooker.home.durable_learner import Picture
from onlooker.strangers.cards import (
    Card,
    Dropped,
    Face,
    Glimpse,
    Record,
    best,
    bytes_of,
    chosen,
    finite,
    since,
    united,
    without_pictures,
)
from onlooker.strangers.groups import Groups, Member, Place

Teach: TypeAlias = Callable[[Rows, str, bytes | None], object]
"""Takes in a vector, its name and its picture."""


STEPS = 8
"""How many changes are remembered, the newest."""
FACES = 100
"""Vectors of each that are remembered at most."""


@dataclass(frozen=True, slots=True, eq=False)
class RemovedCard:
    """A card that was taken out, with its vectors."""

    card: Card
    members: tuple[Member, ...]


class Strangers:
    """Cards of strangers, from one face after another.

    >>> strangers = Strangers(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> for frame, x in enumerate([0.0, 9.0, 0.1, 0.2]):
    ...     card = strangers.see([x], time=5.0 + frame, camera="door", frame=frame)
    >>> [(card.number, card.count, card.last.time) for card in strangers.cards()]
    [(1, 3, 8.0), (2, 1, 6.0)]

    kernel is the learner's; at most max_vertices vectors are kept, and picture_bytes of pictures.
    """

    def __init__(
        self, kernel: HeatKernel, *, max_vertices: int = 300, picture_bytes: int = 64 << 20
    ) -> None:
        self.kernel = kernel
        self.max_vertices = int(as_number("max_vertices", max_vertices, least=1, whole=True))
        self.picture_bytes = int(as_number("picture_bytes", picture_bytes, least=0, whole=True))
        self.changes = 0
        """How often anything changed."""
        self._groups = Groups(kernel, self.max_vertices)
        self._cards: dict[int, Card] = {}
        self._next_card, self._turn = 1, 0

    def __len__(self) -> int:
        """How many vectors are kept, besides those of the best faces."""
        return len(self._groups.places)

    # ---- seeing

    def see(
        self,
        x: ArrayLike,
        *,
        time: float,
        camera: str | None,
        frame: int | None,
        picture: Picture = None,
        quality: float = 0.0,
        times: int = 1,
    ) -> int:
        """One face of somebody unknown (or times faces, of which this is one): whose card it is.

        A picture that is handed in as a way to make it is made only if it is among the best.
        """
        where = None if camera is None else as_text(camera)
        seen = Glimpse(finite("time", time), where, None if frame is None else int(frame))
        if isinstance(picture, bytes):
            as_png(picture)
        times = int(as_number("times", times, least=1, whole=True))
        touch = self._groups.touch(x)
        face = Face(touch.vector, None, finite("quality", quality), seen)
        card = self._card_for(touch.groups, face, picture)
        self._turn += 1
        self._groups.put(touch, Place(card.number, self._turn, seen.time), times)
        self._next_card = max(self._next_card, card.number + 1)
        self._cards[card.number] = replace(card, count=card.count + times, last=seen)
        self._tidy()
        self.changes += 1
        return card.number

    def _card_for(self, touched: frozenset[int], face: Face, picture: Picture) -> Card:
        """Theirs made one, with one more face, or a new one."""
        card = Card(self._next_card, 0, face.seen, face.seen, (face,))
        if touched:
            card = united([self._cards[number] for number in touched], self.kernel)
            card = replace(card, faces=best([*card.faces, face], self.kernel))
        if card.hidden:
            return without_pictures(card)
        if picture is None or face not in card.faces:
            return card
        shown = replace(face, picture=as_png(picture() if callable(picture) else picture))
        return replace(card, faces=tuple(shown if each is face else each for each in card.faces))

    def _tidy(self) -> None:
        """No card without a vertex, no more pictures than there is room for."""
        for number in self._cards.keys() - self._groups.alive:
            del self._cards[number]
        sizes = {number: bytes_of(card) for number, card in self._cards.items()}
        while sum(sizes.values()) > self.picture_bytes:
            shown = [number for number, size in sizes.items() if size]
            longest_ago = min(shown, key=lambda number: self._groups.latest(number)[0])
            self._cards[longest_ago] = without_pictures(self._cards[longest_ago])
            del sizes[longest_ago]

    # ---- for people

    def cards(self, *, hidden: bool = False) -> list[Card]:
        """One card a stranger, most seen first, of equals the older; the hidden ones if wanted."""
        shown = (card for card in self._cards.values() if hidden or not card.hidden)
        return sorted(shown, key=lambda card: (-card.count, card.number))

    def card(self, number: int) -> Card:
        """The card with that number."""
        if number not in self._cards:
            raise NotFound(
                f"there is no stranger {number!r} any more; named, expired, or part of another"
            )
        return self._cards[number]

    def name(self, number: int, name: str, teach: Teach, keys: Iterable[str] | None = None) -> int:
        """Teach the best faces of a stranger, who is none from then on: how many were taught.

        keys: only the faces with these; the others go with the card.
        """
        faces, name = chosen(self.card(number), keys), as_name(name)
        for face in faces:
            teach(face.vector, name, face.picture)
        self.remove(number)
        return len(faces)

    def ignore(self, number: int) -> None:
        """Hide a stranger now and whenever they are seen again; pictures are not needed for it."""
        self._cards[number] = without_pictures(replace(self.card(number), hidden=True, told=True))
        self.changes += 1

    def tell(self, number: int) -> bool:
        """Whether an alert is due; the answer is yes once a card."""
        card = self.card(number)
        self._cards[number] = replace(card, told=True)
        return not card.told

    def remove(self, number: int) -> None:
        """Take out a card, and every vector and picture of it."""
        self.card(number)
        places = self._groups.places
        self._groups.drop([vertex for vertex, place in places.items() if place.group == number])
        del self._cards[number]
        self.changes += 1

    def expire(self, before: float, *, hidden_before: float | None = None, now: float = inf) -> int:
        """Delete all vectors and pictures last seen before a time: how many cards went with them.

        hidden_before is the time for hidden cards. What was seen after now was seen by a clock
        that has been set back since, and counts as seen now.
        """
        cards, places = len(self._cards), self._groups.places
        hidden = before if hidden_before is None else hidden_before
        limits = {n: hidden if card.hidden else before for n, card in self._cards.items()}
        for vertex, place in places.items():
            self.changes += place.time > now
            places[vertex] = place._replace(time=min(place.time, now))
        old = [vertex for vertex, place in places.items() if place.time < limits[place.group]]
        self._groups.drop(old)
        self._tidy()
        for number, card in self._cards.items():
            last = Face(self._groups.latest(number)[1], None, 0.0, card.last)
            faces = since(card.faces, limits[number], now)
            self.changes += len(card.faces) - len(faces)
            self._cards[number] = replace(card, faces=faces or (last,))
        self.changes += len(old)
        return cards - len(self._cards)

    # ---- taking out and bringing back

    def leftover(self, number: int) -> RemovedCard:
        """What it takes to bring a card back that is about to go."""
        card = self.card(number)
        members = sorted(self._groups.members(number), key=lambda one: -one.time)
        return RemovedCard(card, tuple(members[:FACES]))

    def bring_back(self, left: RemovedCard) -> int:
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

    # ---- keeping

    def record(self) -> Record:
        """Everything, as it is now."""
        cards = list(self._cards.values())
        return Record(*self._groups.state(), cards, self._next_card, self._turn)

    def restore(self, record: Record) -> None:
        """Be as it was then; what contradicts itself is a BadValue."""
        cards = {card.number: card for card in record.cards}
        groups = {place.group for place in record.places}
        if groups != cards.keys() or len(cards) < len(record.cards):
            raise BadValue("strangers without a card, or cards without a stranger")
        if max(cards, default=0) >= record.next_card:
            raise BadValue(f"a card {max(cards)}, where the next one is {record.next_card}")
        self._groups.restore(record.graph, record.places)
        self._cards, self._next_card, self._turn = cards, record.next_card, record.turn


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A change of the home that concerned strangers: a card went there, or faces came back."""

    before: int
    """The newest event before it."""
    time: float
    gone: RemovedCard | None
    added: tuple[Dropped, ...]


class UndoHistory:
    """The latest changes that an undo of the home must take back here too; in memory only."""

    def __init__(self, strangers: Strangers) -> None:
        self._strangers = strangers
        self._steps: deque[_Step] = deque(maxlen=STEPS)

    def __len__(self) -> int:
        return len(self._steps)

    def named(self, before: int, time: float, gone: RemovedCard) -> None:
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
