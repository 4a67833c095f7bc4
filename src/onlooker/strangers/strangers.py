"""Strangers: faces that the learner does not know, grouped into cards, in bounded memory.

An outlier teaches the learner nothing (Section 3.3). It is quantized here, in a graph of its own
with the learner's kernel: whatever is connected in it is one stranger and gets one card. Two groups
that a new face connects become one card, under the older number. Nothing here reads a clock.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from onlooker.core.checks import Rows, as_name, as_number
from onlooker.core.errors import BadValue, NotFound
from onlooker.core.similarity import HeatKernel, squared_distances
from onlooker.home.album import Picture, as_png
from onlooker.home.database import as_text
from onlooker.strangers.cards import (
    RECENT,
    Card,
    CardFace,
    SeenAt,
    StrangersRecord,
    best_faces,
    bytes_of,
    chosen_faces,
    faces_since,
    finite,
    merged_cards,
    without_pictures,
)
from onlooker.strangers.groups import Groups, Member, Place

Teach: TypeAlias = Callable[[Rows, str, bytes | None], object]
"""Takes in a vector, its name and its picture."""


FACES = 100
"""Vectors of a removed card that are remembered at most."""


@dataclass(frozen=True, slots=True, eq=False)
class RemovedCard:
    """A card that was taken out, with its vectors."""

    card: Card
    members: tuple[Member, ...]


class Strangers:
    """Cards of strangers, built from one face after another.

    >>> strangers = Strangers(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> for frame, x in enumerate([0.0, 9.0, 0.1, 0.2]):
    ...     card = strangers.see([x], time=5.0 + frame, camera="door", frame=frame)
    >>> [(card.number, card.count, card.last.time) for card in strangers.cards()]
    [(1, 3, 8.0), (2, 1, 6.0)]

    kernel is the learner's; at most max_vertices vectors are stored, and picture_bytes of pictures.
    """

    def __init__(
        self, kernel: HeatKernel, *, max_vertices: int = 300, picture_bytes: int = 64 << 20
    ) -> None:
        self.kernel = kernel
        self.max_vertices = int(as_number("max_vertices", max_vertices, least=1, whole=True))
        self.picture_bytes = int(as_number("picture_bytes", picture_bytes, least=0, whole=True))
        self.changes = 0
        """Counts every change."""
        self.on_joined: Callable[[Iterable[int], int], object] = lambda cards, into: None
        """Called with cards that turned out to be one stranger, and the number they have now."""
        self._groups = Groups(kernel, self.max_vertices)
        self._cards: dict[int, Card] = {}
        self._next_card, self._turn = 1, 0

    def __len__(self) -> int:
        """How many vectors are stored, besides those of the best faces."""
        return len(self._groups.places)

    # ---- new faces

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
        likely: int | None = None,
        candidate: str | None = None,
    ) -> int:
        """Add one unknown face, which stands for `times` faces: the number of its card.

        candidate: who it may be, by a walk that the learner does not trust.
        likely: the card that an earlier face of the same track went to.
        A picture given as a function is made only if the face is among the best of its card.
        """
        origin = None if camera is None else as_text(camera)
        seen = SeenAt(finite("time", time), origin, None if frame is None else int(frame))
        if isinstance(picture, bytes):
            as_png(picture)
        times = int(as_number("times", times, least=1, whole=True))
        touch = self._groups.touch(x, likely)
        face = CardFace(touch.vector, None, finite("quality", quality), seen)
        card = self._card_for(touch.groups, face, picture)
        self._turn += 1
        self._groups.put(touch, Place(card.number, self._turn, seen.time), times)
        self._next_card = max(self._next_card, card.number + 1)
        recent = (*card.recent, candidate)[-RECENT:]
        recent = recent if any(recent) else ()  # most strangers are like nobody
        self._cards[card.number] = replace(card, count=card.count + times, last=seen, recent=recent)
        self._enforce_limits()
        self.changes += 1
        return card.number

    def has_card(self, x: ArrayLike, likely: int | None = None) -> bool:
        """Whether there is a card that a face belongs to; likely as in `see`."""
        return bool(self._groups.touch(x, likely).groups)

    def _card_for(self, touched: frozenset[int], face: CardFace, picture: Picture) -> Card:
        """The touched cards merged, with one more face; or a new card."""
        card = Card(self._next_card, 0, face.seen, face.seen, (face,))
        if touched:
            card = merged_cards([self._cards[number] for number in touched], self.kernel)
            self._joined(touched, card.number)
            card = replace(card, faces=best_faces([*card.faces, face], self.kernel))
        if card.hidden:
            return without_pictures(card)
        if picture is None or face not in card.faces:
            return card
        shown = replace(face, picture=as_png(picture))
        return replace(card, faces=tuple(shown if each is face else each for each in card.faces))

    def _joined(self, numbers: Iterable[int], into: int) -> None:
        if others := {*numbers} - {into}:
            self.on_joined(others, into)

    def _enforce_limits(self) -> None:
        """No card without a vertex, no more bytes of pictures than allowed."""
        for number in self._cards.keys() - self._groups.alive:
            del self._cards[number]
        sizes = {number: bytes_of(card) for number, card in self._cards.items()}
        while sum(sizes.values()) > self.picture_bytes:
            shown = [number for number, size in sizes.items() if size]
            oldest = min(shown, key=lambda number: self._groups.latest(number)[0])
            self._cards[oldest] = without_pictures(self._cards[oldest])
            del sizes[oldest]

    # ---- for people

    def cards(self, *, hidden: bool = False) -> list[Card]:
        """One card per stranger, most seen first, then by age; the hidden ones if wanted."""
        shown = (card for card in self._cards.values() if hidden or not card.hidden)
        return sorted(shown, key=lambda card: (-card.count, card.number))

    def questions(self) -> list[Card]:
        """The cards to ask about, the best question first: is it the candidate, then who is it."""
        cards = [card for card in self.cards() if card.ask]
        return sorted(cards, key=lambda card: card.candidate is None)

    def card(self, number: int) -> Card:
        """The card with that number."""
        if number not in self._cards:
            raise NotFound(
                f"there is no stranger {number!r} any more; named, expired, or part of another"
            )
        return self._cards[number]

    def is_shown(self, number: int) -> bool:
        """Whether there is a card with that number, and it is not hidden."""
        return number in self._cards and not self._cards[number].hidden

    def name(self, number: int, name: str, teach: Teach, keys: Iterable[str] | None = None) -> int:
        """Teach the best faces of a stranger and remove the card: how many were taught.

        keys: only the faces with these; the others go with the card.
        """
        faces, name = chosen_faces(self.card(number), keys), as_name(name)
        for face in faces:
            teach(face.vector, name, face.picture)
        self.remove(number)
        return len(faces)

    def ignore(self, number: int) -> None:
        """Hide a stranger, also when they are seen again; the pictures are deleted."""
        self._cards[number] = without_pictures(
            replace(self.card(number), hidden=True, alerted=True)
        )
        self.changes += 1

    def exclude(self, number: int, name: str) -> None:
        """A stranger is not this person, and is not a question about them any more."""
        card = self.card(number)
        self._cards[number] = replace(card, not_names=card.not_names | {name})
        self.changes += 1

    def set_ask(self, number: int, ask: bool) -> None:
        """Whether people may be asked about a stranger."""
        self._cards[number] = replace(self.card(number), ask=ask)
        self.changes += 1

    def rename(self, name: str, to: str | None) -> None:
        """Another name wherever a card may be somebody or is not; None: nobody has the name now."""
        for number, card in self._cards.items():
            if name in card.recent or name in card.not_names:
                recent = tuple(to if each == name else each for each in card.recent)
                said = (to if each == name else each for each in card.not_names)
                not_names = frozenset(each for each in said if each is not None)
                self._cards[number] = replace(card, recent=recent, not_names=not_names)
                self.changes += 1

    def names(self) -> set[str]:
        """The names that are on any card."""
        cards = self._cards.values()
        return {name for card in cards for name in (*card.recent, *card.not_names) if name}

    def cards_near(self, vector: ArrayLike) -> frozenset[int]:
        """The cards that a face at this place would go to."""
        return self._groups.touch(vector).groups

    def mark_alerted(self, number: int) -> bool:
        """Mark that an alert was sent: whether it was still due."""
        card = self.card(number)
        self._cards[number] = replace(card, alerted=True)
        return not card.alerted

    def remove(self, number: int) -> None:
        """Delete a card with its vectors and pictures."""
        self.card(number)
        places = self._groups.places
        self._groups.drop([vertex for vertex, place in places.items() if place.group == number])
        del self._cards[number]
        self.changes += 1

    def expire(
        self,
        before: float,
        *,
        hidden_before: float | None = None,
        questions_before: float | None = None,
        now: float = inf,
    ) -> int:
        """Delete all vectors and pictures last seen before a time: how many cards went with them.

        hidden_before is the time for hidden cards, questions_before for those of which a person is
        asked whether they are somebody known. What was seen after now was seen by a clock that has
        been set back since, and counts as seen now.
        """
        cards, places = len(self._cards), self._groups.places
        hidden = before if hidden_before is None else hidden_before
        questions = before if questions_before is None else questions_before

        def limit(card: Card) -> float:
            if card.hidden:
                return hidden
            return questions if card.ask and card.candidate is not None else before

        limits = {number: limit(card) for number, card in self._cards.items()}
        for vertex, place in places.items():
            self.changes += place.time > now
            places[vertex] = place._replace(time=min(place.time, now))
        old = [vertex for vertex, place in places.items() if place.time < limits[place.group]]
        self._groups.drop(old)
        self._enforce_limits()
        for number, card in self._cards.items():
            last = CardFace(self._groups.latest(number)[1], None, 0.0, card.last)
            faces = faces_since(card.faces, limits[number], now)
            self.changes += len(card.faces) - len(faces)
            self._cards[number] = replace(card, faces=faces or (last,))
        self.changes += len(old)
        return cards - len(self._cards)

    # ---- taking out and bringing back

    def vectors(self, number: int) -> list[Rows]:
        """All vectors of a card, besides those of its best faces."""
        return [member.vector for member in self._groups.members(number)]

    def removed_card(self, number: int) -> RemovedCard:
        """What it takes to restore a card that is about to be removed."""
        card = self.card(number)
        members = sorted(self._groups.members(number), key=lambda one: -one.time)
        return RemovedCard(card, tuple(members[:FACES]))

    def restore_card(self, removed: RemovedCard) -> int:
        """Add a removed card again, merged with cards of the same person: its number."""
        touched = {
            group
            for member in removed.members
            for group in self._groups.touch(member.vector).groups
        }
        card = merged_cards([removed.card, *(self._cards.pop(n) for n in touched)], self.kernel)
        self._joined({removed.card.number, *touched}, card.number)
        for member in removed.members:
            self._turn += 1
            touch = self._groups.touch(member.vector)
            self._groups.put(touch, Place(card.number, self._turn, member.time), member.times)
        self._cards[card.number] = card
        self._next_card = max(self._next_card, card.number + 1)
        self._enforce_limits()
        self.changes += 1
        return card.number

    def join(self, numbers: Sequence[int]) -> int:
        """Make several cards one, because a person says that they are one: the oldest's number."""
        if len(numbers) < 2:
            raise BadValue(f"it takes two strangers to join them, got {len(numbers)}")
        joined = merged_cards([self.card(number) for number in numbers], self.kernel)
        self._groups.regroup(dict.fromkeys(numbers, joined.number))
        for number in numbers:
            del self._cards[number]
        self._cards[joined.number] = joined
        self.changes += 1
        return joined.number

    def split(self, removed: Sequence[RemovedCard]) -> None:
        """Undo `join`, as far as the faces are still there; newer ones go to the nearest."""
        oldest, *others = sorted((one.card for one in removed), key=lambda card: card.number)
        joined = self._cards.get(oldest.number)
        if joined is None:
            return
        owners = [one.card.number for one in removed for _ in one.members]
        rows = [member.vector for one in removed for member in one.members]
        faces = np.array(rows, dtype=np.float64)
        for vertex, vector in self._groups.vectors(oldest.number).items():
            gaps = squared_distances(self.kernel.distance, vector.astype(np.float64), faces)
            self._groups.move(vertex, owners[int(gaps.argmin())])
        for card in others:
            self._cards[card.number] = card
        count = max(1, joined.count - sum(card.count for card in others))
        self._cards[oldest.number] = replace(oldest, count=count)
        self._enforce_limits()
        self.changes += 1

    def restore_answers(self, before: Card) -> None:
        """Take back what a person said of a card, if it is still there: its pictures, too."""
        card = self._cards.get(before.number)
        if card is None:
            return
        faces = best_faces([*before.faces, *card.faces], self.kernel)
        last = before.last if card.last.camera is None else card.last  # said, not seen
        self._cards[card.number] = replace(before, faces=faces, count=card.count, last=last)
        self.changes += 1

    def remove_face(self, vector: Rows, times: int) -> None:
        """Remove a vector, if it was not merged into another, and `times` sightings of its card."""
        vertex = self._groups.find(vector)
        if vertex is None:
            return
        number = self._groups.places[vertex].group
        card = self._cards[number]
        self._groups.drop([vertex])
        faces = tuple(face for face in card.faces if (face.vector != vector).any())
        self._cards[number] = replace(card, count=max(1, card.count - times), faces=faces)
        self._enforce_limits()
        self.changes += 1

    def show(self, number: int) -> None:
        """Undo "ignore". The pictures are deleted; the next sighting brings one."""
        self._cards[number] = replace(self.card(number), hidden=False)
        self.changes += 1

    # ---- saving and restoring

    def record(self) -> StrangersRecord:
        """Everything as it is now, to be stored."""
        cards = list(self._cards.values())
        return StrangersRecord(*self._groups.state(), cards, self._next_card, self._turn)

    def restore(self, record: StrangersRecord) -> None:
        """Continue with a stored record; a contradictory one raises BadValue."""
        cards = {card.number: card for card in record.cards}
        groups = {place.group for place in record.places}
        if groups != cards.keys() or len(cards) < len(record.cards):
            raise BadValue("strangers without a card, or cards without a stranger")
        if max(cards, default=0) >= record.next_card:
            raise BadValue(f"a card {max(cards)}, where the next one is {record.next_card}")
        self._groups.restore(record.graph, record.places)
        self._cards, self._next_card, self._turn = cards, record.next_card, record.turn
