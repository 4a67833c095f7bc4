"""Who is known, and every change to that; used in the thread that owns the home.

Each change returns the event to undo to if it was a mistake: the newest one before it.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from numpy.typing import NDArray
from pydantic import TypeAdapter

from onlooker.core.errors import BadValue, NotFound, OnlookerError
from onlooker.home.home import FaceToTeach, Home
from onlooker.home.people import VertexOwner, counts_of, merge, rename, vertex_owners
from onlooker.home.retention import ForgetReceipt
from onlooker.strangers.book import CardQuestion, SamePerson, StrangerBook
from onlooker.strangers.cards import Card
from onlooker.strangers.correction import group_of
from onlooker.vision.types import MeasuredFace
from onlooker.web.frames import LatestViews, LiveRecognizer, RecentFace
from onlooker.web.photos import PhotoFaces
from onlooker.web.schemas import (
    AnswerTaken,
    ChangedPerson,
    DroppedVertices,
    FaceGroup,
    FaceRow,
    ForgetPreview,
    JoinedStrangers,
    NamedStranger,
    PersonRow,
    StrangerRow,
    TaughtFace,
    TaughtFaces,
    UndoPreviewRow,
)

TABLE_SECONDS = 0.5
"""How old the list of people may be, as far as nobody but a camera has changed it."""
READERS_SHARE = 10
"""A list that took a second to make is used for ten: cameras need the home, too."""
_ROWS = TypeAdapter(list[PersonRow])


class NothingLearned(OnlookerError):
    """No vertex stands for this face, so there is nothing to correct."""


def id_of(name: str) -> str:
    """The id of a person in URLs; the name itself may hold anything, even a path.

    >>> id_of("../../etc/passwd")
    '3754d6cb3a38e118'
    """
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class People:
    """The people, faces and strangers of one home.

    Whose face each vertex is takes a solution of the whole graph, so it is cached until the next
    event. After every change the recognizer drops the names it remembers; after somebody was
    forgotten the views, which show names too, and the faces of uploaded photos are cleared.
    """

    def __init__(self, recognizer: LiveRecognizer, views: LatestViews, photos: PhotoFaces) -> None:
        self._recognizer, self._views, self._photos = recognizer, views, photos
        self._owners: list[VertexOwner] = []
        self._owners_at = -1
        self._rows: dict[str, PersonRow] = {}
        self._rows_at = -1
        self._names: tuple[str, ...] = ()
        self._ids: dict[str, str] = {}
        self._json: bytes | None = None
        self._json_until = 0.0
        self.book: StrangerBook | None = None
        """The strangers; None until the home is open."""

    # ---- reading

    def listed(self, home: Home) -> list[PersonRow]:
        """Everybody with a name, in the order they were first named."""
        return list(self._table(home).values())

    def table(self, home: Home) -> bytes:
        """The same as JSON."""
        if (recent := self.recent_table) is not None:
            return recent  # of many that wait for it, the first makes it for all
        begun = time.monotonic()
        self._json = json = _ROWS.dump_json(self.listed(home))
        now = time.monotonic()
        self._json_until = now + max(TABLE_SECONDS, READERS_SHARE * (now - begun))
        return json

    @property
    def recent_table(self) -> bytes | None:
        """The list as JSON, if it was made a moment ago and nobody changed it since.

        It may be read in any thread: many readers do not keep the home from its cameras.
        """
        return self._json if time.monotonic() < self._json_until else None

    def person(self, home: Home, name: str) -> PersonRow:
        """The person with this name."""
        try:
            return self._table(home)[name]
        except KeyError:
            raise NotFound(f"nobody is called {name!r}") from None

    def name(self, home: Home, person: str) -> str:
        """The name behind an id."""
        names = home.learner.names
        if names != self._names:
            self._names, self._ids = names, {id_of(name): name for name in names}
        try:
            return self._ids[person]
        except KeyError:
            raise NotFound("there is nobody with this id; the list of people has the ids") from None

    def faces(self, home: Home, person: str) -> list[FaceRow]:
        """The faces of a person, labeled ones first."""
        name = self.name(home, person)
        pictured = set(home.album.vertices())
        faces = [
            FaceRow(
                vertex=owner.vertex,
                name=name,
                kind="labeled" if owner.labeled else "learned",
                examples=owner.examples,
                picture=owner.vertex in pictured,
            )
            for owner in self.vertex_owners(home)
            if owner.name == name
        ]
        return sorted(faces, key=lambda face: face.kind)

    def vertex_owners(self, home: Home) -> list[VertexOwner]:
        """Of every vertex, whose face it is; solved for once after each event."""
        if self._owners_at != home.sequence:
            self._owners, self._owners_at = vertex_owners(home.learner), home.sequence
        return self._owners

    def vector(self, home: Home, vertex: int) -> NDArray[Any]:
        """The feature vector of a vertex."""
        return home.learner.vector(vertex)

    # ---- changes to people

    def rename(self, home: Home, person: str, name: str) -> ChangedPerson:
        """Give a person another name, which nobody else may have."""
        before = home.sequence
        self._open_book.change_name(rename, self.name(home, person), name)
        undo = self._undo_event(home, before)
        return ChangedPerson(**dict(self.person(home, name)), undo=undo)

    def merge(self, home: Home, person: str, into: str) -> ChangedPerson:
        """Join two names of one person: the first name is dropped, the second stays."""
        before = home.sequence
        old, name = self.name(home, person), self.name(home, into)
        if old == name:
            raise BadValue("a person cannot be merged with itself; give two ids")
        self._open_book.change_name(merge, old, name)
        undo = self._undo_event(home, before)
        return ChangedPerson(**dict(self.person(home, name)), undo=undo)

    def forget(self, home: Home, person: str) -> ForgetReceipt:
        """Delete a person and everything stored about them. This cannot be undone.

        Also somebody who is not known any more, because that was undone or taken back.
        """
        once_known = (name for name in home.album.persons.names() if id_of(name) == person)
        name = next(once_known, None) or self.name(home, person)
        try:
            return self._open_book.forget(name)
        finally:
            self._json = None
            if name not in home.learner.names:
                self._recognizer.corrected(name)
                self._views.clear()
                self._photos.clear()

    def forget_preview(self, home: Home, person: str) -> ForgetPreview:
        """What forgetting a person would delete, and who stays."""
        name = self.name(home, person)
        row, pictured = self.person(home, name), set(home.album.vertices())
        cards = self._open_book.cards_like(name)
        unnamed = home.unnamed_sightings_of(name) | home.album.of_cards(cards)
        return ForgetPreview(
            labeled=row.labeled,
            unlabeled=row.learned,
            pictures=sum(face.picture for face in self.faces(home, person)),
            strangers=len(cards),
            sightings=home.album.count(name) + len(unnamed),
            people_left=len(home.learner.names) - 1,
            pictures_left=len(pictured) - sum(face.picture for face in self.faces(home, person)),
        )

    def undo_preview(self, home: Home, to: int) -> UndoPreviewRow:
        """What an undo would take back, of people and of strangers."""
        back, strangers = home.undo_preview(to), self._open_book.undo_preview(to)
        return UndoPreviewRow(
            **asdict(back),
            cards_back=list(strangers.cards),
            answers=strangers.answers,
            strangers_back=strangers.faces,
            complete=strangers.complete,
        )

    def undo(self, home: Home, to: int) -> None:
        """Return to what was known after an event; strangers named since then come back too."""
        home.undo(to=to)
        self._json = None
        self._open_book.undone(to)
        self._recognizer.corrected()

    # ---- changes to faces

    def teach(self, home: Home, face: MeasuredFace, name: str) -> TaughtFace:
        """Learn a labeled face."""
        if face.vector is None:
            raise BadValue("the face is too poor to learn from")
        before = home.sequence
        vertex = _teach(home, face.vector, name, face.png())
        return self._taught(home, vertex, name, before)

    def teach_all(self, home: Home, faces: Sequence[FaceToTeach]) -> TaughtFaces:
        """Learn labeled faces, all or none, in one change."""
        before = home.sequence
        taught = home.teach_all(faces)
        undo = self._undo_event(home, before)
        people = [self.person(home, name) for name in taught]
        return TaughtFaces(people=people, taught=sum(taught.values()), undo=undo)

    def label(self, home: Home, vertex: int, name: str) -> TaughtFace:
        """Give a vertex a name."""
        before = home.sequence
        home.label(vertex, name)
        return self._taught(home, vertex, name, before)

    def group(self, home: Home, vertex: int) -> FaceGroup:
        """What "wrong" with the whole group would delete, as far as it has the same name."""
        vertices = group_of(home.learner, vertex)
        owners = {owner.vertex: owner.name for owner in self.vertex_owners(home)}
        return FaceGroup(name=owners[vertex], vertices=vertices)

    def group_seen(self, home: Home, face: RecentFace) -> FaceGroup:
        """The same of a face of the live view; nobody's group is empty."""
        if face.vertex is None:
            return FaceGroup(name=None, vertices=[])
        return self.group(home, _current_vertex(home, face.vertex, vector_of(face)))

    def wrong(self, home: Home, vertex: int, *, whole_group: bool = False) -> DroppedVertices:
        """Delete a vertex and all that was learned only through it; they become strangers."""
        before = home.sequence
        try:
            found = self._open_book.wrong(vertex, whole_group=whole_group)
        finally:
            undo = self._undo_event(home, before)
        return DroppedVertices(
            dropped=list(found.vertices),
            taken_out=found.taken_out,
            complete=found.complete,
            undo=undo,
        )

    def exclude(self, home: Home, vector: NDArray[Any], name: str) -> AnswerTaken:
        """Say that a face is not this person, whoever else, and the stranger whose it may be."""
        before = home.sequence
        faces = self._open_book.exclude_face(vector, name)
        return AnswerTaken(faces=faces, undo=self._undo_event(home, before))

    def nobody(self, home: Home, vector: NDArray[Any], card: int | None = None) -> AnswerTaken:
        """Say that a face is nobody whom people want to know; its stranger's card is hidden."""
        before = home.sequence
        self._open_book.nobody(vector, likely=card)
        return AnswerTaken(faces=1, undo=self._undo_event(home, before))

    def label_seen(self, home: Home, face: RecentFace, name: str) -> TaughtFace:
        """Name a face of the live view; the stranger's card it was filed under is deleted."""
        before = home.sequence
        vertex = _teach(home, vector_of(face), name, face.png())
        if face.card is not None:
            with suppress(NotFound):  # named, expired or merged into another card by now
                self._open_book.remove_named(face.card, name, before)
        return self._taught(home, vertex, name, before)

    def wrong_seen(
        self, home: Home, face: RecentFace, *, whole_group: bool = False
    ) -> DroppedVertices:
        """Delete what was learned from a face of the live view."""
        if face.vertex is None:
            raise NothingLearned(
                "nothing was learned from this face, so there is nothing to take back; say who it "
                "is instead"
            )
        vertex = _current_vertex(home, face.vertex, vector_of(face))
        return self.wrong(home, vertex, whole_group=whole_group)

    # ---- strangers

    def strangers(self, *, hidden: bool) -> list[Card]:
        """One card per stranger, the most often seen first; with the hidden ones if asked for."""
        return self._open_book.cards(hidden=hidden)

    def stranger(self, number: int) -> Card:
        """One card."""
        return self._open_book.strangers.card(number)

    def name_stranger(
        self,
        home: Home,
        number: int,
        name: str,
        keys: Sequence[str] | None,
        learned: Sequence[int] = (),
    ) -> NamedStranger:
        """Name a stranger: the chosen faces are taught, or else all on the card.

        With them the learned faces that were confirmed.
        """
        before = home.sequence
        taught = self._open_book.name(number, name, keys, learned)
        undo = self._undo_event(home, before)
        return NamedStranger(person=self.person(home, name), taught=taught, undo=undo)

    def name_strangers(self, home: Home, numbers: Sequence[int], name: str) -> NamedStranger:
        """Name several strangers who are one person."""
        before = home.sequence
        taught = self._open_book.name_all(numbers, name)
        undo = self._undo_event(home, before)
        return NamedStranger(person=self.person(home, name), taught=taught, undo=undo)

    def join_strangers(self, home: Home, numbers: Sequence[int]) -> JoinedStrangers:
        """Make one card of several."""
        before = home.sequence
        card = self.stranger(self._open_book.join(numbers))
        return JoinedStrangers(card=StrangerRow.of(card), undo=self._undo_event(home, before))

    def ignore_strangers(self, home: Home, numbers: Sequence[int]) -> AnswerTaken:
        """Hide several strangers."""
        before = home.sequence
        faces = self._open_book.ignore_all(numbers)
        return AnswerTaken(faces=faces, undo=self._undo_event(home, before))

    def same_person(self) -> list[SamePerson]:
        """Whom the cards may be the same person as."""
        return self._open_book.same_person()

    def questions_later(self, home: Home, limit: int) -> Callable[[], list[CardQuestion]]:
        """What gives the strangers to ask about, the best question first, in any thread."""
        owners = {owner.vertex: owner.name for owner in self.vertex_owners(home)}
        return self._open_book.questions_later(limit, owners)

    def exclude_stranger(self, home: Home, number: int, name: str) -> AnswerTaken:
        """Say that a stranger is not this person: the faces on the card are taught so."""
        before = home.sequence
        faces = self._open_book.exclude(number, name)
        return AnswerTaken(faces=faces, undo=self._undo_event(home, before))

    def set_ask(self, home: Home, number: int, ask: bool) -> AnswerTaken:
        """Whether people may be asked about a stranger."""
        before = home.sequence
        self._open_book.set_ask(number, ask)
        return AnswerTaken(faces=0, undo=self._undo_event(home, before))

    def ignore(self, home: Home, number: int) -> AnswerTaken:
        """Hide a stranger, from now on; the faces on the card are nobody."""
        before = home.sequence
        faces = self._open_book.ignore(number)
        return AnswerTaken(faces=faces, undo=self._undo_event(home, before))

    def show(self, home: Home, number: int) -> AnswerTaken:
        """Show a hidden stranger again."""
        before = home.sequence
        self._open_book.show(number)
        return AnswerTaken(faces=0, undo=self._undo_event(home, before))

    def expire(self, now: float) -> int:
        """Delete the strangers that were stored long enough: how many."""
        return self._open_book.expire(now)

    @property
    def problems(self) -> list[str]:
        """What is wrong with the stored strangers."""
        return self.book.problems if self.book is not None else []

    # ---- private

    def _table(self, home: Home) -> dict[str, PersonRow]:
        """Everybody by name, counted once for each event."""
        if self._rows_at != home.sequence:
            counts = counts_of(home.learner.names, self.vertex_owners(home))
            self._rows = {one.name: PersonRow(id=id_of(one.name), **asdict(one)) for one in counts}
            self._rows_at = home.sequence
        return self._rows

    @property
    def _open_book(self) -> StrangerBook:
        if self.book is None:
            raise NotFound("strangers are not available while the home is closed")
        return self.book

    def _taught(self, home: Home, vertex: int, name: str, before: int) -> TaughtFace:
        undo = self._undo_event(home, before)
        return TaughtFace(person=self.person(home, name), vertex=vertex, undo=undo)

    def _undo_event(self, home: Home, before: int) -> int | None:
        """The event to undo to after a change; None if nothing changed."""
        if home.sequence == before:
            return None
        self._json = None
        self._recognizer.corrected()
        return before


def vector_of(face: RecentFace) -> NDArray[Any]:
    """The feature vector of a face of the live view, if it was ever good enough for one."""
    if face.vector is None:
        raise BadValue(f"the face cannot be used, {face.refusal}; wait for a better look at it")
    return face.vector


def _current_vertex(home: Home, vertex: int, vector: NDArray[Any]) -> int:
    """The vertex itself, or, if it was merged since, the one that is nearest to the face now."""
    if vertex in home.vertices(vectors=False).ids:
        return vertex
    known = home.vertices()
    similarity = home.learner.kernel.similarity(vector, known.vectors)
    if not similarity.any():
        raise NothingLearned("what was learned from this face is gone already")
    return int(known.ids[similarity.argmax()])


def _teach(home: Home, vector: NDArray[Any], name: str, picture: bytes) -> int:
    home.teach(vector, name, picture=picture)
    return int(home.learner.entries()[0].vertex)
