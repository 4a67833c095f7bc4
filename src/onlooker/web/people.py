"""Who is known, and by which faces; asked and changed in the thread that owns the home."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from numpy.typing import NDArray

from onlooker.core.errors import NotFound
from onlooker.home.home import Home
from onlooker.strangers.book import Visitors
from onlooker.strangers.cards import Card


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who has a name."""

    id: str
    name: str
    labeled: int
    """Faces that somebody named."""
    learned: int
    """Faces that were learned by watching."""
    examples: int
    """How often seen: what all of them stand for."""


@dataclass(frozen=True, slots=True)
class KnownFace:
    """One vertex, as somebody's face."""

    vertex: int
    name: str
    kind: Literal["labeled", "learned"]
    examples: int
    picture: bool


class Row(NamedTuple):
    """One vertex: whose face it is, whether somebody said so, what it stands for."""

    vertex: int
    name: str | None
    labeled: bool
    examples: int


def id_of(name: str) -> str:
    """What stands for a name in an address: a name may hold anything, even a path.

    >>> id_of("../../etc/passwd")
    '3754d6cb3a38e118'
    """
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class People:
    """Names and faces of a home; remembers whose each vertex is until the next event."""

    def __init__(self) -> None:
        self._owners: dict[int, str | None] = {}
        self._owners_at = -1
        self.visitors: Visitors | None = None
        """Who keeps the strangers, while the home is open."""

    # ---- asking

    def listed(self, home: Home) -> list[Person]:
        """Everybody, in the order they were first named."""
        faces = list(self._known(home, set()))
        people = []
        for name in home.learner.names:
            mine = [face for face in faces if face.name == name]
            labeled = sum(face.kind == "labeled" for face in mine)
            examples = sum(face.examples for face in mine)
            people.append(Person(id_of(name), name, labeled, len(mine) - labeled, examples))
        return people

    def person(self, home: Home, name: str) -> Person:
        """One of them."""
        for person in self.listed(home):
            if person.name == name:
                return person
        raise NotFound(f"nobody is called {name!r}")

    def faces(self, home: Home, person: str) -> list[KnownFace]:
        """The faces of a person, labeled ones first."""
        name = self.name(home, person)
        found = self._known(home, set(home.album.vertices()))
        return sorted((face for face in found if face.name == name), key=lambda f: f.kind)

    def name(self, home: Home, person: str) -> str:
        """The name behind an id."""
        for name in home.learner.names:
            if id_of(name) == person:
                return name
        raise NotFound("there is nobody with this id; the list of people has the ids")

    def names_of_vertices(self, home: Home) -> dict[int, str | None]:
        """Whose face each vertex is."""
        return {row.vertex: row.name for row in self._rows(home)}

    def everything(self, home: Home) -> list[Row]:
        """Every vertex: id, whose, whether labeled, examples."""
        return list(self._rows(home))

    def vector(self, home: Home, vertex: int) -> NDArray[Any]:
        """Where a vertex stands."""
        known = home.vertices()
        places = (known.ids == vertex).nonzero()[0]
        if not len(places):
            raise NotFound(f"there is no vertex {vertex} any more; it was merged or dropped")
        vector: NDArray[Any] = known.vectors[places[0]]
        return vector

    # ---- strangers

    @property
    def keeper(self) -> Visitors:
        """Who keeps the strangers."""
        if self.visitors is None:
            raise NotFound("nobody keeps strangers while the home is closed")
        return self.visitors

    def strangers(self, *, hidden: bool) -> list[Card]:
        """One card each, the most often seen first."""
        return self.keeper.cards(hidden=hidden)

    def stranger(self, number: int) -> Card:
        """One of the cards."""
        return self.keeper.strangers.card(number)

    # ---- inside

    def _known(self, home: Home, pictured: set[int]) -> Iterator[KnownFace]:
        for vertex, name, labeled, examples in self._rows(home):
            if name is not None:
                kind: Literal["labeled", "learned"] = "labeled" if labeled else "learned"
                yield KnownFace(vertex, name, kind, examples, vertex in pictured)

    def _rows(self, home: Home) -> Iterator[Row]:
        """Of each vertex, whose it is: as labeled, or as it would be taken for now."""
        if self._owners_at != home.sequence:
            self._owners, self._owners_at = home.learner.owners(), home.sequence
        known = home.vertices()
        ids, counts = known.ids.tolist(), known.multiplicities.tolist()
        for vertex, name, count in zip(ids, known.names, counts, strict=True):
            yield Row(vertex, name or self._owners.get(vertex), name is not None, count)
