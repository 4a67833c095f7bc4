"""What is told of a stranger: a card with a count, when first and last, and the best faces."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from onlooker.core.checks import Rows, is_number
from onlooker.core.errors import BadValue, NotFound
from onlooker.core.records import State
from onlooker.core.similarity import HeatKernel
from onlooker.strangers.groups import Place

FACES = 4
"""How many faces a card keeps at most."""
ALIKE = 0.5
"""Two faces that are so similar teach the same: the better one is enough."""


@dataclass(frozen=True, slots=True)
class Glimpse:
    """When and where somebody was seen; camera and frame are None where nobody knows any more.

    >>> Glimpse(12.5, "door", 310).camera
    'door'
    """

    time: float
    camera: str | None
    frame: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """One face of a stranger.

    >>> Face(np.zeros(2), None, 80.0, Glimpse(12.5, "door", 310)).quality
    80.0
    """

    vector: Rows
    picture: bytes | None
    """PNG, if one was kept."""
    quality: float
    """More is better: how large, how sharp."""
    seen: Glimpse

    @property
    def key(self) -> str | None:
        """Stands for the picture, whatever its place on the card is by now.

        >>> Face(np.zeros(2), b"...", 80.0, Glimpse(12.5, "door", 310)).key
        'ab5df625bc76dbd4'
        """
        return None if self.picture is None else hashlib.sha256(self.picture).hexdigest()[:16]


@dataclass(frozen=True, slots=True, eq=False)
class Card:
    """One stranger, as far as can be told.

    >>> seen = Glimpse(12.5, "door", 310)
    >>> Card(3, count=50, first=seen, last=seen, faces=()).hidden
    False
    """

    number: int
    """Stays when cards become one: the older card's."""
    count: int
    """How often they were seen."""
    first: Glimpse
    last: Glimpse
    """The latest to arrive, whatever the clock said."""
    faces: tuple[Face, ...]
    """The best ones that differ, the best first."""
    hidden: bool = False
    """Whether somebody said: ignore."""
    told: bool = False
    """Whether an alert was raised, or none is due."""


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """Everything about strangers, to be written down."""

    graph: State
    places: list[Place]
    """One for each vertex of the graph, in its order."""
    cards: list[Card]
    next_card: int
    turn: int


def united(cards: Sequence[Card], kernel: HeatKernel) -> Card:
    """Cards that turned out to be one person: the oldest goes on, and what one is, all are.

    >>> early, late = (Glimpse(time, "door", 0) for time in (1.0, 2.0))
    >>> both = [Card(7, 2, late, late, (), hidden=True), Card(3, 5, early, early, ())]
    >>> one = united(both, HeatKernel(0.3, 1e-5))
    >>> one.number, one.count, one.hidden, one.first.time
    (3, 7, True, 1.0)
    """
    cards = sorted(cards, key=lambda card: card.number)
    return replace(
        cards[0],
        count=sum(card.count for card in cards),
        last=max((card.last for card in cards), key=lambda seen: seen.time),
        faces=best([face for card in cards for face in card.faces], kernel),
        hidden=any(card.hidden for card in cards),
        told=any(card.told for card in cards),
    )


def best(faces: Sequence[Face], kernel: HeatKernel) -> tuple[Face, ...]:
    """The best faces, none of them much like a better one; of equals the first.

    >>> seen = Glimpse(0.0, "door", 0)
    >>> faces = [Face(np.array([x]), None, q, seen) for x, q in ((0.0, 1), (0.1, 2), (9.0, 0))]
    >>> [face.quality for face in best(faces, HeatKernel(1.0, 1e-5))]
    [2, 0]
    """
    kept: list[Face] = []
    for face in sorted(faces, key=lambda face: -face.quality):
        others = np.array([other.vector for other in kept])
        if not kept or kernel.similarity(face.vector, others).max() < ALIKE:
            kept.append(face)
        if len(kept) == FACES:
            break
    return tuple(kept)


def chosen(card: Card, keys: Iterable[str] | None) -> tuple[Face, ...]:
    """The faces with these keys that are still on the card; None: all faces.

    >>> seen = Glimpse(0.0, "door", 0)
    >>> faces = [Face(np.zeros(1), picture, 0.0, seen) for picture in (b"a", None, b"b")]
    >>> card = Card(3, 9, seen, seen, tuple(faces))
    >>> [face.picture for face in chosen(card, [faces[2].key, "gone"])]
    [b'b']
    """
    if keys is None:
        return card.faces
    wanted = {*keys}
    found = tuple(face for face in card.faces if face.key in wanted)
    if not found:
        raise NotFound(
            f"the chosen faces are not on the card of stranger {card.number} any more; "
            "look at it again and choose at least one"
        )
    return found


def bytes_of(card: Card) -> int:
    """How much its pictures take."""
    return sum(len(face.picture or b"") for face in card.faces)


def without_pictures(card: Card) -> Card:
    """The same card, with nothing to look at."""
    return replace(card, faces=tuple(replace(face, picture=None) for face in card.faces))


def since(faces: Sequence[Face], before: float, now: float) -> tuple[Face, ...]:
    """Those that were not seen before a time; none was seen after now, whatever it says."""
    seen = (replace(f, seen=replace(f.seen, time=min(f.seen.time, now))) for f in faces)
    return tuple(face for face in seen if face.seen.time >= before)


def finite(what: str, value: object) -> float:
    """A number that can be written down and compared."""
    if is_number(value) and isfinite(value):
        return float(value)
    raise BadValue(f"{what} must be a finite number, got {value!r}")


@dataclass(frozen=True, slots=True, eq=False)
class Dropped:
    """A face that was taken from the home, as it was there."""

    vertex: int
    vector: Rows
    times: int
    picture: bytes | None
