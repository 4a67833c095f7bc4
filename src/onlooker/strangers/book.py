"""The strangers of a home: their cards in memory, stored in the home's database, named into it.

Changes are written every `save_every` of them, when a person decides something, by `expire` and at
the end. A crash may lose the sightings since; nobody was promised those. What a person decides is
one transaction with what it changes in the home: a face is known or a stranger, never both.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from onlooker.core.errors import BadValue
from onlooker.core.graph import UNLABELED
from onlooker.core.records import State
from onlooker.home.album import Picture
from onlooker.home.card_table import (
    NEXT_CARD,
    NEXT_VERTEX,
    TURN,
    CardColumns,
    CardTable,
    FaceColumns,
    VertexColumns,
)
from onlooker.home.database import Database, HomeError
from onlooker.home.home import Home
from onlooker.home.retention import DAY, HOUR, ForgetReceipt
from onlooker.strangers.cards import Card, CardFace, DroppedFace, SeenAt, StrangersRecord
from onlooker.strangers.correction import Correction, wrong
from onlooker.strangers.groups import Place
from onlooker.strangers.strangers import Strangers, UndoHistory

Alert: TypeAlias = Callable[[Mapping[str, Any]], object]
"""Called for a new stranger with: event, card, count, camera, frame, time."""


class StrangerBook:
    """Strangers that are stored as long as their home says; call it from the home's thread.

    >>> import tempfile
    >>> from onlooker import HeatKernel, OnlineHarmonicLearner
    >>> def new_learner():
    ...     return OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Home(folder, new_learner=new_learner) as home, StrangerBook(home) as book:
    ...         card = book.observe([0.0, 0.0], camera="door", frame=0)
    ...         book.name(card, "ana"), home.predict([0.1, 0.0]).label
    (1, 'ana')

    alert is called once for each stranger who was seen alert_after times.
    """

    def __init__(
        self,
        home: Home,
        *,
        alert: Alert | None = None,
        alert_after: int = 1,
        max_vertices: int = 300,
        save_every: int = 200,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.home, self._clock = home, clock
        self._alert, self._alert_after, self._save_every = alert, alert_after, save_every
        self.problems: list[str] = []
        """What was found damaged or could not be done."""
        self.strangers = Strangers(home.learner.kernel, max_vertices=max_vertices)
        self._undo_history = UndoHistory(self.strangers)
        self._stored = _Stored()
        self._load()
        # Damaged rows are not shown and would never expire: the next save replaces all rows.
        self._saved_changes = -1 if self.problems else self.strangers.changes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is not written; before the home is closed."""
        self._save()

    # ---- from cameras

    def observe(
        self,
        vector: ArrayLike,
        *,
        camera: str,
        frame: int,
        picture: Picture = None,
        quality: float = 0.0,
        likely: int | None = None,
    ) -> int:
        """Add a face that the home does not know: the number of its card.

        likely: the card that an earlier face of the same track went to.
        """
        number = self.strangers.see(
            vector,
            time=self._clock(),
            camera=camera,
            frame=frame,
            picture=picture,
            quality=quality,
            likely=likely,
        )
        card = self.strangers.card(number)
        due = self._alert is not None and card.count >= self._alert_after
        if self._alert and due and self.strangers.mark_alerted(number):
            self._alert({"event": "stranger", **card_summary(card)})
        if self.strangers.changes - self._saved_changes >= self._save_every:
            self._save()
        return number

    # ---- for people

    def cards(self, *, hidden: bool = False) -> list[Card]:
        """One card per stranger, most seen first; the hidden ones if wanted."""
        return self.strangers.cards(hidden=hidden)

    def name(self, number: int, name: str, keys: Iterable[str] | None = None) -> int:
        """Teach the home who that is and remove the card: how many faces were taught.

        keys: of the faces to teach; the others go with the card.
        """
        before, removed = self.home.sequence, self.strangers.removed_card(number)
        with self._transaction():
            taught = self.strangers.name(
                number, name, lambda x, who, png: self.home.teach(x, who, picture=png), keys
            )
        self._undo_history.card_removed(before, self._clock(), removed)
        self._checkpoint()
        return taught

    def remove_named(self, number: int, before: int) -> None:
        """Remove a card whose person was named in the event after `before`."""
        self._undo_history.card_removed(before, self._clock(), self.strangers.removed_card(number))
        self.strangers.remove(number)
        self._erase()

    def ignore(self, number: int) -> None:
        """Hide a stranger from now on."""
        self.strangers.ignore(number)
        self._erase()

    def show(self, number: int) -> None:
        """Undo "ignore"."""
        self.strangers.show(number)
        self._save()

    def wrong(self, vertex: int) -> Correction:
        """Drop a face of the home that is somebody else, with all that was learned through it."""
        before, now = self.home.sequence, self._clock()
        dropped: list[DroppedFace] = []
        with self._transaction():
            correction = wrong(self.home, vertex, self.strangers, time=now, dropped=dropped.append)
        self._undo_history.faces_added(before, now, dropped)
        return correction

    def undone(self, to: int) -> None:
        """Follow an undo of the home to an event.

        Cards that were named since come back, and faces that "wrong" moved here go back with their
        pictures. The latest few; older changes are not remembered.
        """
        before = self.strangers.changes
        self.home.add_pictures(self._undo_history.undo(to))
        if self.strangers.changes > before:
            self._erase()

    def forget(self, name: str) -> ForgetReceipt:
        """Delete a person from the home, and the cards of faces that it would have named so.

        In one transaction: a crash leaves all of it or nothing.
        """
        if name not in self.home.learner.names:
            return self.home.forget(name)  # which says so
        doomed = [card.number for card in self.cards(hidden=True) if self._would_name(card, name)]
        record = self.strangers.record() if doomed else None
        for number in doomed:
            self.strangers.remove(number)
        unsaved = self._unsaved
        try:
            receipt = self.home.forget(name, also=self._write if unsaved else None)
        except BaseException:
            if name not in self.home.learner.names:
                self._forgotten(written=unsaved)
            elif record is not None:
                self.strangers.restore(record)
            raise
        self._forgotten(written=unsaved)
        return replace(receipt, strangers=len(doomed))

    def _forgotten(self, *, written: bool) -> None:
        if written:
            self._committed()
        self._undo_history.clear()  # it holds what was taught or dropped

    def _would_name(self, card: Card, name: str) -> bool:
        """Whether the home would name any face of a card so."""
        vectors = [face.vector for face in card.faces]
        vectors += [member.vector for member in self.strangers.removed_card(card.number).members]
        return any(self.home.predict(vector).label == name for vector in vectors)

    def expire(self, now: float | None = None) -> int:
        """Delete what the home stores no longer, and write the rest: how many cards went.

        Hidden strangers are stored, without pictures, as long as sightings: whoever comes once a
        day should not have to be ignored once a day.
        """
        now, retention = self._clock() if now is None else now, self.home.retention
        before = self.strangers.changes
        stranger_horizon = now - retention.stranger_hours * HOUR
        self._undo_history.clear(before=stranger_horizon)
        removed = self.strangers.expire(
            stranger_horizon, hidden_before=now - retention.sighting_days * DAY, now=now
        )
        self._erase() if self.strangers.changes > before else self._save()
        return removed

    # ---- storage

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All changes of home and strangers in the block, or none of them."""
        record = self.strangers.record()
        try:
            with self.home.batch():
                yield
                self._write()
        except BaseException:
            self.strangers.restore(record)
            raise
        self._committed()

    @property
    def _unsaved(self) -> bool:
        """Whether the rows are not what is in memory, or were in a database that is gone."""
        changed = self.strangers.changes != self._saved_changes
        return changed or self._stored.database is not self.home.database

    def _save(self) -> bool:
        """Write what has changed; a failure is reported, and tried again later."""
        if not self._unsaved:
            return True
        try:
            with self.home.database.transaction():
                self._write()
        except HomeError as error:
            self._report(f"strangers are not saved: {error}")
            return False
        self._committed()
        return True

    def _erase(self) -> None:
        """Write a deletion, on a full disk in the space that is reserved for it."""
        self.home.with_ballast(self._delete_rows)
        self._committed()
        self._checkpoint()

    def _delete_rows(self) -> None:
        with self.home.database.transaction():
            self._write()

    def _checkpoint(self) -> None:
        """Remove deleted rows from the write-ahead log too."""
        with suppress(HomeError):  # later, then
            self.home.database.checkpoint()

    def _write(self) -> None:
        """Bring the rows to what is in memory, within a transaction."""
        self._pending = _Stored.of(self.strangers.record(), self.home.database)
        self._pending.write_differences(self._stored)

    def _committed(self) -> None:
        self._stored, self._saved_changes = self._pending, self.strangers.changes

    def _load(self) -> None:
        database = self.home.database
        table = CardTable(database)
        try:
            if damaged := table.damaged():
                self._report(f"{damaged} damaged rows of strangers are skipped")
            record = _read(table, database)
            self.strangers.restore(record)
            if not damaged:
                self._stored = _Stored.of(record, database)
        except (HomeError, BadValue, ValueError, TypeError) as error:
            self._report(f"the stored strangers are not shown: {error}")

    def _report(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


class _Stored:
    """What the rows of a database hold, so that only differences are written."""

    def __init__(self) -> None:
        self.database: Database | None = None
        self.cards: dict[int, Card] = {}
        self.vertices: dict[int, VertexColumns] = {}
        self.numbers: dict[str, int] = {}

    @classmethod
    def of(cls, record: StrangersRecord, database: Database) -> Self:
        """As a record would be stored."""
        stored, graph = cls(), record.graph
        stored.database = database
        stored.cards = {card.number: card for card in record.cards}
        columns = graph.ids.tolist(), record.places, graph.multiplicities.tolist(), graph.vectors
        stored.vertices = {
            vertex: VertexColumns(
                vertex, place.group, place.turn, float(place.time), multiplicity, vector
            )
            for vertex, place, multiplicity, vector in zip(*columns, strict=True)
        }
        stored.numbers = {
            NEXT_CARD: record.next_card,
            NEXT_VERTEX: graph.next_id,
            TURN: record.turn,
        }
        return stored

    def write_differences(self, before: "_Stored") -> None:
        """Bring rows from what they were to this, within a transaction."""
        if self.database is None:
            raise BadValue("nothing to write to")
        table = CardTable(self.database)
        if before.database is not self.database:  # damaged rows, or a database that was replaced
            before = _Stored()
            table.clear()
        table.remove_cards(before.cards.keys() - self.cards.keys())
        table.remove_vertices(before.vertices.keys() - self.vertices.keys())
        for number, card in self.cards.items():
            old = before.cards.get(number)
            if card is not old:
                table.put_card(_card_columns(card))
            if old is None or card.faces != old.faces:
                table.put_faces(number, _face_columns(card))
        for vertex, columns in self.vertices.items():
            known = before.vertices.get(vertex)
            if known is None or columns[:5] != known[:5]:
                table.put_vertex(columns)
        for key, number in self.numbers.items():
            if before.numbers.get(key) != number:
                self.database.set_number(key, number)


def _card_columns(card: Card) -> CardColumns:
    return CardColumns(
        card.number, card.count, *_seen(card.first), *_seen(card.last), card.hidden, card.alerted
    )


def _face_columns(card: Card) -> list[FaceColumns]:
    return [
        FaceColumns(
            card.number, place, *_seen(face.seen), float(face.quality), face.vector, face.picture
        )
        for place, face in enumerate(card.faces)
    ]


def _seen(seen: SeenAt) -> tuple[float, str | None, int | None]:
    return float(seen.time), seen.camera, seen.frame


def _read(table: CardTable, database: Database) -> StrangersRecord:
    """What is stored; rows that hang on a damaged one are left out."""
    faces: dict[int, list[CardFace]] = {}
    for row in table.faces():
        seen = SeenAt(row.time, row.camera, row.frame)
        faces.setdefault(row.card, []).append(CardFace(row.vector, row.png, row.quality, seen))
    cards = {
        row.number: Card(
            row.number,
            row.times_seen,
            SeenAt(row.first_time, row.first_camera, row.first_frame),
            SeenAt(row.last_time, row.last_camera, row.last_frame),
            tuple(faces.get(row.number, ())),
            row.hidden,
            row.alerted,
        )
        for row in table.cards()
    }
    vertices = [row for row in table.vertices() if row.card in cards]
    alive = {row.card for row in vertices}
    vectors = np.array([row.vector for row in vertices]) if vertices else np.zeros((0, 0))
    state = State(
        np.array([row.vertex for row in vertices], dtype=np.int64),
        vectors,
        np.array([row.multiplicity for row in vertices], dtype=np.int64),
        np.full(len(vertices), UNLABELED, dtype=np.int64),
        names=[],
        radius=0.0,
        next_id=max([database.number(NEXT_VERTEX) or 0, *(row.vertex + 1 for row in vertices)]),
    )
    return StrangersRecord(
        state,
        [Place(row.card, row.turn, row.time) for row in vertices],
        [card for number, card in cards.items() if number in alive],
        max([database.number(NEXT_CARD) or 1, *(number + 1 for number in cards)]),
        max([database.number(TURN) or 0, *(row.turn for row in vertices)]),
    )


def card_summary(card: Card) -> dict[str, Any]:
    """A card for programs.

    >>> seen = SeenAt(12.5, "door", 310)
    >>> card_summary(Card(3, 50, seen, seen, ()))["camera"]
    'door'
    """
    last = card.last
    origin = {"camera": last.camera, "frame": last.frame, "time": last.time}
    return {"card": card.number, "count": card.count, **origin}
