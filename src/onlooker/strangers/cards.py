"""The card of a stranger: how often, when first and last, the best faces, who it may be."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import floor, inf, isfinite, log

import numpy as np

from onlooker.core.checks import Floats, Rows, is_number
from onlooker.core.errors import BadValue, NotFound
from onlooker.core.records import State
from onlooker.core.similarity import HeatKernel, distances, squared_distances_of_all
from onlooker.strangers.groups import Place

FACES = 4
"""Faces on a card at most."""
RECENT = 15
"""Latest faces of a card that say who it may be, as many as vote on the name of a track."""
ALIKE = 0.5
"""Similarity from which two faces teach the same: the better one is enough."""
BETTER = 1.25
"""Ratio of two qualities from which one is better: a face that is wider by an eighth."""
POOR = 0.25
"""Share of the best face's quality, which is its area, below which a face is too poor to be chosen
because it differs: a small or blurred face differs from all others."""


@dataclass(frozen=True, slots=True)
class SeenAt:
    """When and where somebody was seen; camera and frame are None where that is unknown.

    >>> SeenAt(12.5, "door", 310).camera
    'door'
    """

    time: float
    camera: str | None
    frame: int | None


@dataclass(frozen=True, slots=True, eq=False)
class CardFace:
    """One face of a stranger.

    >>> CardFace(np.zeros(2), None, 80.0, SeenAt(12.5, "door", 310)).quality
    80.0
    """

    vector: Rows
    picture: bytes | None
    """A PNG, if there is one."""
    quality: float
    """More is better: how large, how sharp."""
    seen: SeenAt

    @property
    def key(self) -> str | None:
        """Identifies the picture, whatever its place on the card.

        >>> CardFace(np.zeros(2), b"...", 80.0, SeenAt(12.5, "door", 310)).key
        'ab5df625bc76dbd4'
        """
        return None if self.picture is None else hashlib.sha256(self.picture).hexdigest()[:16]


@dataclass(frozen=True, slots=True, eq=False)
class Card:
    """One stranger.

    >>> seen = SeenAt(12.5, "door", 310)
    >>> Card(3, count=50, first=seen, last=seen, faces=()).hidden
    False
    """

    number: int
    """When cards are merged, the number of the oldest remains."""
    count: int
    """How often they were seen."""
    first: SeenAt
    last: SeenAt
    """The latest to arrive, whatever the clock said."""
    faces: tuple[CardFace, ...]
    """The best one and good ones that differ most, the best first."""
    hidden: bool = False
    """Whether a person chose to ignore them."""
    alerted: bool = False
    """Whether an alert was sent, or none is due."""
    recent: tuple[str | None, ...] = ()
    """The candidates of its latest faces, the newest last; None: a face that is like nobody."""
    not_names: frozenset[str] = frozenset()
    """Who it is not: a person said so."""
    ask: bool = True
    """Whether people may be asked who it is."""

    @property
    def candidates(self) -> dict[str, int]:
        """How many of the latest faces may be whom, the most frequent first, then the newest.

        >>> seen = SeenAt(12.5, "door", 310)
        >>> card = Card(3, 50, seen, seen, (), recent=("ana", "ben", None, "ben", "cem"))
        >>> card.candidates, replace(card, not_names=frozenset({"ben"})).candidate
        ({'ben': 2, 'cem': 1, 'ana': 1}, 'cem')
        """
        newest_first = [name for name in reversed(self.recent) if name is not None]
        counts = Counter(name for name in newest_first if name not in self.not_names)
        return dict(counts.most_common())

    @property
    def candidate(self) -> str | None:
        """Who it may be: somebody to ask about, not a name."""
        return next(iter(self.candidates), None)


@dataclass(frozen=True, slots=True, eq=False)
class DroppedFace:
    """A vertex that was taken out of the home, as it was there."""

    vertex: int
    vector: Rows
    times: int
    picture: bytes | None


@dataclass(frozen=True, slots=True, eq=False)
class StrangersRecord:
    """Everything about strangers, to be stored."""

    graph: State
    places: list[Place]
    """One for each vertex of the graph, in its order."""
    cards: list[Card]
    next_card: int
    turn: int


def merged_cards(cards: Sequence[Card], kernel: HeatKernel) -> Card:
    """One card of several that turned out to be one person: hidden or alerted if any of them is.

    >>> early, late = (SeenAt(time, "door", 0) for time in (1.0, 2.0))
    >>> both = [Card(7, 2, late, late, (), hidden=True), Card(3, 5, early, early, ())]
    >>> one = merged_cards(both, HeatKernel(0.3, 1e-5))
    >>> one.number, one.count, one.hidden, one.first.time
    (3, 7, True, 1.0)
    """
    cards = sorted(cards, key=lambda card: card.number)
    return replace(
        cards[0],
        count=sum(card.count for card in cards),
        last=max((card.last for card in cards), key=lambda seen: seen.time),
        faces=best_faces([face for card in cards for face in card.faces], kernel),
        hidden=any(card.hidden for card in cards),
        alerted=any(card.alerted for card in cards),
        recent=tuple(
            name for card in sorted(cards, key=lambda card: card.last.time) for name in card.recent
        )[-RECENT:],
        not_names=frozenset[str]().union(*(card.not_names for card in cards)),
        ask=all(card.ask for card in cards),
    )


def best_faces(faces: Sequence[CardFace], kernel: HeatKernel) -> tuple[CardFace, ...]:
    """The best face and good ones that differ most from it and each other, the best first.

    A face that is similar to a better one is left out, of about equals the later: else whoever
    comes nearer, each frame a little larger, would have one face. Of more than fit on a card, first
    the poor ones go, the poorest first; then one of the two that are most alike, again and again:
    the one without which the others differ more, never the best.

    >>> seen = SeenAt(0.0, "door", 0)
    >>> places = ((0.0, 9), (0.1, 5), (2.0, 8), (2.5, 8), (4.0, 7), (6.0, 6), (8.0, 1))
    >>> faces = [CardFace(np.array([x]), None, q, seen) for x, q in places]
    >>> [face.vector.item() for face in best_faces(faces, HeatKernel(0.4, 1e-5))]
    [0.0, 2.0, 4.0, 6.0]
    """
    if not faces:
        return ()
    ranked = sorted(faces, key=lambda face: -_grade(face.quality))
    rows = np.array([face.vector for face in ranked], dtype=np.float64)
    gaps = squared_distances_of_all(kernel.distance, rows)
    similar = kernel.weights(gaps) >= ALIKE
    rows_left: list[int] = []
    for row in range(len(ranked)):
        if not similar[row, rows_left].any():
            rows_left.append(row)
    while len(rows_left) > FACES:
        poorest = rows_left[-1]
        if ranked[poorest].quality < POOR * ranked[0].quality:
            rows_left.remove(poorest)
        else:
            rows_left.remove(_least_missed(rows_left, gaps))
    return tuple(ranked[row] for row in rows_left)


def _grade(quality: float) -> float:
    """Equal for qualities that are about equal."""
    return floor(log(quality) / log(BETTER)) if quality > 0 else -inf


def _least_missed(rows: Sequence[int], gaps: Floats) -> int:
    """The row without which the smallest gaps are largest, never the first; of equals the last."""

    def gaps_without(row: int) -> list[float]:
        others = np.array([other for other in rows if other != row])
        among = gaps[np.ix_(others, others)][np.triu_indices(len(others), 1)]
        return sorted(among.tolist())

    return max(reversed(rows[1:]), key=gaps_without)


def most_different(
    vectors: Sequence[Rows],
    count: int,
    kernel: HeatKernel,
    *,
    known: Sequence[Rows] = (),
    least: float = 0.0,
) -> list[int]:
    """One row after the other, each the farthest from those before and from what is known.

    Without anything known the first row is the first. None is as near as `least` to another.

    >>> rows = [np.array([x]) for x in (0.0, 0.1, 9.0, 5.0, 9.0)]
    >>> most_different(rows, 3, HeatKernel(1.0, 1e-5))
    [0, 2, 3]
    >>> most_different(rows, 3, HeatKernel(1.0, 1e-5), known=[np.array([8.0])], least=1.0)
    [0, 3]
    """
    if not len(vectors):
        return []
    rows, selected = np.array(vectors, dtype=np.float64), list[int]()
    gaps = np.full(len(rows), np.inf)
    for row in known:
        gaps = np.minimum(gaps, distances(kernel.distance, row, rows))
    while len(selected) < min(count, len(rows)) and gaps.max() > least:
        selected.append(int(gaps.argmax()))
        gaps = np.minimum(gaps, distances(kernel.distance, rows[selected[-1]], rows))
    return selected


def chosen_faces(card: Card, keys: Iterable[str] | None) -> tuple[CardFace, ...]:
    """The faces with these keys that are still on the card; None: all faces.

    >>> seen = SeenAt(0.0, "door", 0)
    >>> faces = [CardFace(np.zeros(1), picture, 0.0, seen) for picture in (b"a", None, b"b")]
    >>> card = Card(3, 9, seen, seen, tuple(faces))
    >>> [face.picture for face in chosen_faces(card, [faces[2].key, "gone"])]
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
    """The size of its pictures."""
    return sum(len(face.picture or b"") for face in card.faces)


def without_pictures(card: Card) -> Card:
    """The card with its pictures removed."""
    return replace(card, faces=tuple(replace(face, picture=None) for face in card.faces))


def faces_since(faces: Sequence[CardFace], before: float, now: float) -> tuple[CardFace, ...]:
    """Those not seen before a time; a time after now, by a clock that was wrong, becomes now."""
    seen = (replace(f, seen=replace(f.seen, time=min(f.seen.time, now))) for f in faces)
    return tuple(face for face in seen if face.seen.time >= before)


def finite(what: str, value: object) -> float:
    """A finite number as a float."""
    if is_number(value) and isfinite(value):
        return float(value)
    raise BadValue(f"{what} must be a finite number, got {value!r}")
