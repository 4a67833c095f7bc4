"""Who is known, and by which faces; asked and changed in the thread that owns the home.

Whatever changes who is known; done in the thread that owns the home.

Each deed tells where to go back to if it was a mistake: the newest event before it.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from numpy.typing import NDArray

from onlooker.core.errors import BadValue, NotFound, OnlookerError
from onlooker.home.home import Home
from onlooker.home.people import merge, rename
from onlooker.home.retention import ForgetReceipt
from onlooker.strangers.book import StrangerBook
from onlooker.strangers.cards import Card
from onlooker.vision.types import MeasuredFace
from onlooker.web.frames import RecentFace


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
        self.visitors: StrangerBook | None = None
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
    def keeper(self) -> StrangerBook:
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


class NothingLearned(OnlookerError):
    """Nothing in the home stands for this face, so nothing can be taken back."""


class Taught(NamedTuple):
    """A vertex that has a name now."""

    vertex: int
    undo: int | None


class Dropped(NamedTuple):
    """Vertices that are gone."""

    vertices: list[int]
    undo: int | None


class Met(NamedTuple):
    """A stranger who has a name now: how many faces were taught."""

    taught: int
    undo: int | None


class Deeds:
    """changed hears of every deed, with the name if somebody was forgotten."""

    def __init__(self, people: People, changed: Callable[[str | None], object]) -> None:
        self._people, self._changed = people, changed

    # ---- people

    def rename(self, home: Home, person: str, name: str) -> int | None:
        """Give somebody another name, which must be free."""
        before = home.sequence
        rename(home, self._people.name(home, person), name)
        return self._done(home, before)

    def merge(self, home: Home, person: str, into: str) -> tuple[str, int | None]:
        """Two names, one person: the first name goes. The name that stays."""
        before = home.sequence
        old, name = self._people.name(home, person), self._people.name(home, into)
        if old == name:
            raise BadValue("a person cannot be merged with itself; give two ids")
        merge(home, old, name)
        return name, self._done(home, before)

    def forget(self, home: Home, person: str) -> ForgetReceipt:
        """Delete a person so that nothing remains. There is no way back."""
        name = self._people.name(home, person)
        try:
            return self._people.keeper.forget(name)
        finally:
            if name not in home.learner.names:
                self._changed(name)

    def undo(self, home: Home, to: int) -> None:
        """Know again what was known after an event; the strangers of then come back too."""
        home.undo(to=to)
        self._people.keeper.undone(to)
        self._changed(None)

    # ---- faces

    def teach(self, home: Home, face: MeasuredFace, name: str) -> Taught:
        """A labeled face."""
        if face.vector is None:
            raise BadValue("the face is too poor to learn from")
        before = home.sequence
        vertex = _taught(home, face.vector, name, face.png())
        return Taught(vertex, self._done(home, before))

    def label(self, home: Home, vertex: int, name: str) -> int | None:
        """Name a face that is known by its vertex."""
        before = home.sequence
        home.label(vertex, name)
        return self._done(home, before)

    def wrong(self, home: Home, vertex: int) -> Dropped:
        """Drop a face and all that was learned through it only; they are strangers from then on."""
        before = home.sequence
        try:
            dropped = self._people.keeper.wrong(vertex).vertices
        finally:
            undo = self._done(home, before)
        return Dropped(list(dropped), undo)

    def label_seen(self, home: Home, face: RecentFace, name: str) -> Taught:
        """Say who is on the screen. The stranger's card that the face went to is theirs, too."""
        before = home.sequence
        vertex = _taught(home, vector_of(face), name, face.png())
        if face.card is not None:
            with suppress(NotFound):  # named, expired or part of another by now
                self._people.keeper.settle(face.card, before)
        return Taught(vertex, self._done(home, before))

    def wrong_seen(self, home: Home, face: RecentFace) -> Dropped:
        """Take back what was learned from the face on the screen."""
        if face.vertex is None:
            raise NothingLearned(
                "nothing was learned from this face, so there is nothing to take back; say who it "
                "is instead"
            )
        return self.wrong(home, _standing(home, face.vertex, vector_of(face)))

    # ---- strangers

    def name_stranger(self, home: Home, number: int, name: str, keys: Sequence[str] | None) -> Met:
        """Say who it is."""
        before = home.sequence
        taught = self._people.keeper.name(number, name, keys)
        return Met(taught, self._done(home, before))

    def ignore(self, number: int) -> None:
        """Hide a stranger, from now on."""
        self._people.keeper.ignore(number)

    def show(self, number: int) -> None:
        """Take that back."""
        self._people.keeper.show(number)

    # ---- inside

    def _done(self, home: Home, before: int) -> int | None:
        """What to undo to; nothing if nothing has changed."""
        if home.sequence == before:
            return None
        self._changed(None)
        return before


def vector_of(face: RecentFace) -> NDArray[Any]:
    """What the learner is asked with, if the face was good enough once."""
    if face.vector is None:
        raise BadValue(f"the face cannot be used, {face.refusal}; wait for a better look at it")
    return face.vector


def _standing(home: Home, vertex: int, vector: NDArray[Any]) -> int:
    """The vertex itself, or, where it was merged since, the one that stands nearest now."""
    known = home.vertices()
    if vertex in known.ids:
        return vertex
    alike = home.learner.kernel.similarity(vector, known.vectors)
    if not alike.any():
        raise NothingLearned("what was learned from this face is gone already")
    return int(known.ids[alike.argmax()])


def _taught(home: Home, vector: NDArray[Any], name: str, picture: bytes) -> int:
    home.teach(vector, name, picture=picture)
    return int(home.learner.entries()[0].vertex)
