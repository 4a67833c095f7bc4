"""Who is known, and by which faces; asked and changed in the thread that owns the home."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from onlooker.errors import BadValue, NotFound
from onlooker.faces.cards import Card
from onlooker.faces.home import Home
from onlooker.faces.keeping import Forgotten
from onlooker.faces.people import merge, rename
from onlooker.faces.visitors import Visitors
from onlooker.records import Explanation, Prediction
from onlooker.web.sight import Face


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


def id_of(name: str) -> str:
    """What stands for a name in an address: a name may hold anything, even a path.

    >>> id_of("../../etc/passwd")
    '3754d6cb3a38e118'
    """
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class People:
    """Names and faces of a home; remembers whom each unlabeled vertex was last taken for."""

    def __init__(self) -> None:
        self._owners: dict[int, str | None] = {}
        self.visitors: Visitors | None = None
        """Who keeps the strangers, while the home is open."""

    def noticed(self, answer: Prediction) -> None:
        """An answer tells whose its vertex is, for free."""
        if answer.vertex is not None:
            self._owners[answer.vertex] = answer.label

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
        """Whose face each vertex is: as labeled, or as last taken for."""
        return {vertex: name for vertex, name, _, _ in self._rows(home)}

    def explain(self, home: Home, vertex: int) -> Explanation:
        """Why a vertex is whose it is."""
        return home.explain(_vector(home, vertex))

    # ---- changing

    def teach(self, home: Home, face: Face, name: str) -> int:
        """A labeled face: its vertex."""
        if face.vector is None:
            raise BadValue("the face is too poor to learn from")
        home.teach(face.vector, name, picture=face.png())
        self._owners.clear()
        return int(home.learner.entries()[0].vertex)

    def label(self, home: Home, vertex: int, name: str) -> None:
        """Name a face that is known by its vertex."""
        home.label(vertex, name)
        self._owners.clear()

    def rename(self, home: Home, person: str, name: str) -> str:
        """Give somebody another name, which must be free."""
        rename(home, self.name(home, person), name)
        self._owners.clear()
        return name

    def merge(self, home: Home, person: str, into: str) -> str:
        """Two names, one person: the first name goes."""
        old, name = self.name(home, person), self.name(home, into)
        if old == name:
            raise BadValue("a person cannot be merged with itself; give two ids")
        merge(home, old, name)
        self._owners.clear()
        return name

    def forget(self, home: Home, person: str) -> Forgotten:
        """Delete a person so that nothing remains."""
        receipt = home.forget(self.name(home, person))
        self._owners.clear()
        return receipt

    def wrong(self, vertex: int) -> list[int]:
        """Drop a face and all that was learned through it only; they are strangers from then on."""
        dropped = self._visitors.wrong(vertex).vertices
        self._owners.clear()
        return list(dropped)

    def undo(self, home: Home, to: int) -> None:
        """Know again what was known after an event."""
        home.undo(to=to)
        self._owners.clear()

    # ---- strangers

    @property
    def _visitors(self) -> Visitors:
        if self.visitors is None:
            raise NotFound("nobody keeps strangers while the home is closed")
        return self.visitors

    def strangers(self, *, hidden: bool) -> list[Card]:
        """One card each, the most often seen first."""
        return self._visitors.cards(hidden=hidden)

    def stranger(self, number: int) -> Card:
        """One of the cards."""
        return self._visitors.strangers.card(number)

    def name_stranger(self, number: int, name: str) -> int:
        """Say who it is: how many faces were taught."""
        taught = self._visitors.name(number, name)
        self._owners.clear()
        return taught

    def ignore(self, number: int) -> None:
        """Hide a stranger, from now on."""
        self._visitors.ignore(number)

    # ---- inside

    def _known(self, home: Home, pictured: set[int]) -> Iterator[KnownFace]:
        for vertex, name, labeled, examples in self._rows(home):
            if name is not None:
                kind: Literal["labeled", "learned"] = "labeled" if labeled else "learned"
                yield KnownFace(vertex, name, kind, examples, vertex in pictured)

    def _rows(self, home: Home) -> Iterator[tuple[int, str | None, bool, int]]:
        """Of each vertex: id, whose, whether labeled, examples. Only new ones are asked about."""
        known, owners = home.vertices(), self._owners
        ids, counts = known.ids.tolist(), known.multiplicities.tolist()
        self._owners = {vertex: owners[vertex] for vertex in ids if vertex in owners}
        for row, (vertex, name, count) in enumerate(zip(ids, known.names, counts, strict=True)):
            if name is None and vertex not in self._owners:
                self._owners[vertex] = home.predict(known.vectors[row]).label
            yield vertex, name or self._owners[vertex], name is not None, count


def _vector(home: Home, vertex: int) -> NDArray[Any]:
    known = home.vertices()
    places = (known.ids == vertex).nonzero()[0]
    if not len(places):
        raise NotFound(f"there is no vertex {vertex} any more; it was merged or dropped")
    vector: NDArray[Any] = known.vectors[places[0]]
    return vector
