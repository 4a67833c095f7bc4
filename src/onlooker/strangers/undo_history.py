"""What an undo of the home must take back of strangers: the newest few changes, as rows of a table.

They are stored with the change itself, so that a service that was started again, or a command, can
undo what another process did. They hold faces: they expire as strangers do, and forgetting anybody
deletes all of them.
"""

import json
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlooker.home.card_table import StepColumns
from onlooker.strangers.cards import Card, CardFace, DroppedFace, SeenAt
from onlooker.strangers.groups import Member
from onlooker.strangers.strangers import FACES, RemovedCard, Strangers

STEPS = 8
"""How many of the newest changes can be undone."""


@dataclass(frozen=True, slots=True, eq=False)
class UndoStep:
    """A change of the home that concerned strangers: a card was named, a person said something of
    cards, or faces came back."""

    number: int
    before: int
    """The newest event before it."""
    time: float
    removed: tuple[RemovedCard, ...] = ()
    joined: bool = False
    """Whether the removed cards became the oldest of them."""
    changed: tuple[Card, ...] = ()
    """As they were."""
    added: tuple[DroppedFace, ...] = ()
    moved: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """The sightings of each card that was joined to another."""

    def columns(self) -> StepColumns:
        """As a row."""
        content = {
            "removed": [
                [_card(one.card), [[_array(x), n, t] for x, n, t in one.members]]
                for one in self.removed
            ],
            "joined": self.joined,
            "changed": [_card(card) for card in self.changed],
            "added": [
                [face.vertex, _array(face.vector), face.times, _text(face.picture)]
                for face in self.added
            ],
            "moved": self.moved,
        }
        return StepColumns(self.number, self.before, self.time, json.dumps(content))

    @classmethod
    def of(cls, row: StepColumns) -> "UndoStep":
        """From a row; what is no step raises LookupError, TypeError or ValueError."""
        content = json.loads(row.content)
        removed = content["removed"] or []
        if removed and isinstance(removed[0], dict):  # as it was stored when it was always one
            removed = [removed]
        return cls(
            row.number,
            row.event,
            row.time,
            tuple(
                RemovedCard(_card_of(card), tuple(Member(_vector(x), n, t) for x, n, t in members))
                for card, members in removed
            ),
            content.get("joined", False),
            tuple(map(_card_of, content["changed"])),
            tuple(
                DroppedFace(vertex, _vector(x), times, _bytes(picture))
                for vertex, x, times, picture in content["added"]
            ),
            tuple((card, tuple(numbers)) for card, numbers in content.get("moved", ())),
        )


@dataclass(frozen=True, slots=True)
class UndoneStrangers:
    """What an undo would take back of strangers.

    >>> UndoneStrangers(cards=(3,), answers=0, faces=0, complete=True).cards
    (3,)
    """

    cards: tuple[int, ...]
    """Of strangers who were named since: they come back."""
    answers: int
    """Cards of which people said something that would be taken back."""
    faces: int
    """Faces that came to the strangers by "wrong", and would be somebody's again."""
    complete: bool
    """Whether all that was done to strangers since is remembered; if not, some cards stay away."""


class BroughtBack(NamedTuple):
    """What an undo brought back of strangers."""

    pictures: dict[int, bytes]
    """Of vertices that the home has again, which it did not store."""
    cards: list[int]
    """Of strangers who have no name any more."""
    moved: list[tuple[int, tuple[int, ...]]]
    """Cards that are cards of their own again, and their sightings; in this order."""


class UndoHistory:
    """The latest changes that an undo of the home must take back here too."""

    def __init__(self, strangers: Strangers) -> None:
        self._strangers = strangers
        self._steps: deque[UndoStep] = deque(maxlen=STEPS)
        self._next = 1

    def __len__(self) -> int:
        return len(self._steps)

    @property
    def steps(self) -> tuple[UndoStep, ...]:
        """The oldest first."""
        return tuple(self._steps)

    def restore(self, steps: Iterable[UndoStep]) -> None:
        """Continue with these."""
        self._steps = deque(steps, maxlen=STEPS)
        self._next = max([self._next, *(step.number + 1 for step in self._steps)])

    def cards_removed(self, before: int, time: float, removed: Iterable[RemovedCard]) -> None:
        """Strangers were named, and their cards removed."""
        self._add(before, time, removed=tuple(removed))

    def cards_joined(
        self,
        before: int,
        time: float,
        removed: Iterable[RemovedCard],
        moved: Iterable[tuple[int, Iterable[int]]],
    ) -> None:
        """Cards became one, the oldest of them, with the sightings of all."""
        sightings = tuple((card, tuple(numbers)) for card, numbers in moved)
        self._add(before, time, removed=tuple(removed), joined=True, moved=sightings)

    def cards_changed(
        self, before: int, time: float, cards: Iterable[Card], faces: Iterable[DroppedFace] = ()
    ) -> None:
        """A person said something of cards, which were these; and of faces, which were added."""
        self._add(before, time, changed=tuple(cards), added=tuple(faces))

    def faces_added(self, before: int, time: float, faces: Sequence[DroppedFace]) -> None:
        """Faces of the home became strangers."""
        self._add(before, time, added=tuple(faces[:FACES]))

    def preview(self, to: int) -> UndoneStrangers:
        """What `undo` would take back."""
        steps = [step for step in self._steps if step.before >= to]
        return UndoneStrangers(
            tuple(one.card.number for step in steps for one in step.removed),
            len({card.number for step in steps for card in step.changed}),
            sum(len(step.added) for step in steps),
            len(steps) < STEPS,
        )

    def undo(self, to: int) -> BroughtBack:
        """Take back what happened after an event, as far as it is remembered."""
        pictures: dict[int, bytes] = {}
        cards: list[int] = []
        moved: list[tuple[int, tuple[int, ...]]] = []
        while self._steps and self._steps[-1].before >= to:
            step = self._steps.pop()
            if step.joined:
                self._strangers.split(step.removed)
                moved += step.moved
            else:
                for removed in step.removed:
                    # Its sightings have its own number, until it is joined to another again.
                    cards.append(removed.card.number)
                    cards.append(self._strangers.restore_card(removed))
            for card in step.changed:
                self._strangers.restore_answers(card)
            for face in step.added:
                self._strangers.remove_face(face.vector, face.times)
                if face.picture is not None:
                    pictures[face.vertex] = face.picture
        return BroughtBack(pictures, cards, moved)

    def clear(self, before: float = inf) -> None:
        """Remove the steps from before a time."""
        self.restore(step for step in self.steps if step.time >= before)

    def _add(self, before: int, time: float, **what: Any) -> None:
        self._steps.append(UndoStep(self._next, before, time, **what))
        self._next += 1


def _card(card: Card) -> dict[str, Any]:
    return {
        "number": card.number,
        "count": card.count,
        "first": _seen(card.first),
        "last": _seen(card.last),
        "faces": [
            [_array(face.vector), _text(face.picture), face.quality, _seen(face.seen)]
            for face in card.faces
        ],
        "flags": [card.hidden, card.alerted, card.ask],
        "recent": card.recent,
        "not_names": sorted(card.not_names),
    }


def _card_of(row: dict[str, Any]) -> Card:
    hidden, alerted, ask = row["flags"]
    return Card(
        row["number"],
        row["count"],
        SeenAt(*row["first"]),
        SeenAt(*row["last"]),
        tuple(
            CardFace(_vector(x), _bytes(picture), quality, SeenAt(*seen))
            for x, picture, quality, seen in row["faces"]
        ),
        hidden,
        alerted,
        tuple(row["recent"]),
        frozenset(row["not_names"]),
        ask,
    )


def _seen(seen: SeenAt) -> list[Any]:
    return [seen.time, seen.camera, seen.frame]


def _array(vector: NDArray[Any]) -> list[str]:
    plain = np.ascontiguousarray(vector, vector.dtype.newbyteorder("<"))
    return [plain.dtype.str, b64encode(plain.tobytes()).decode()]


def _vector(stored: list[str]) -> NDArray[Any]:
    number_type, data = stored
    vector = np.frombuffer(b64decode(data), number_type)
    return vector.astype(vector.dtype.newbyteorder("="))


def _text(picture: bytes | None) -> str | None:
    return None if picture is None else b64encode(picture).decode()


def _bytes(picture: str | None) -> bytes | None:
    return None if picture is None else b64decode(picture)
