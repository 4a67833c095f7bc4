"""The strangers of a home: their cards in memory, stored in the home's database, named into it.

Changes are written every `save_every` of them, when a person decides something, by `expire` and at
the end. A crash may lose the sightings since; nobody was promised those. What a person decides is
one transaction with what it changes in the home: a face is known or a stranger, never both.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from onlooker.core.checks import Rows
from onlooker.core.errors import BadValue, LabelConflict, NotFound
from onlooker.core.graph import UNLABELED
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import State
from onlooker.core.similarity import HeatKernel, squared_distances
from onlooker.home.album import Picture
from onlooker.home.card_table import (
    NEXT_CARD,
    NEXT_VERTEX,
    TURN,
    CardColumns,
    CardTable,
    FaceColumns,
    QuestionColumns,
    VertexColumns,
)
from onlooker.home.database import Database, HomeError, NotSaved
from onlooker.home.home import Home
from onlooker.home.retention import DAY, HOUR, ForgetReceipt
from onlooker.strangers.cards import (
    Card,
    CardFace,
    DroppedFace,
    SeenAt,
    StrangersRecord,
    most_different,
)
from onlooker.strangers.confirming import faces_to_confirm
from onlooker.strangers.correction import Correction, group_of, wrong
from onlooker.strangers.groups import LIKELY_REACH, Place
from onlooker.strangers.strangers import Strangers
from onlooker.strangers.undo_history import UndoHistory, UndoneStrangers, UndoStep

Alert: TypeAlias = Callable[[Mapping[str, Any]], object]
"""Called for a new stranger with: event, card, count, camera, frame, time."""


EXCLUDED = 30
"""Faces of a stranger, at most, that are taught when a person says who it is not. Of 469 later
frames of a stranger one left 98 named, the four of the card 43, these 6, a hundred 5."""


class SamePerson(NamedTuple):
    """A card that may be the same person as another card, or as somebody known."""

    card: int
    other: int | None
    name: str | None
    gap: float
    """Between their most alike faces, in units of the distance up to which faces are linked."""
    face: str | None
    other_face: str | None
    vertex: int | None
    """The two faces: the keys of those of cards, the labeled face of a person."""


class CardQuestion(NamedTuple):
    """A card to ask a person about: is it the candidate, or, without one, who is it?"""

    card: Card
    learned: tuple[int, ...]
    """Vertices that carry the candidate's name: to be shown, and confirmed with a yes."""


NOTHING_TO_ASK = QuestionColumns(0, (), frozenset(), ask=True)
"""Of a card without a row."""


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
        self.strangers.on_joined = self._cards_joined
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
        candidate: str | None = None,
        starts: bool = True,
    ) -> int | None:
        """Add a face that the home does not know: the number of its card.

        candidate: who it may be, by a walk that the home does not trust.
        likely: the card that an earlier face of the same track went to.
        starts: whether it may start a card. A face that may not, and belongs to none, is not added:
        a single face unlike those before it is more often a blurred one than somebody else's.
        """
        if not starts and not self.strangers.has_card(vector, likely):
            return None
        number = self.strangers.see(
            vector,
            time=self._clock(),
            camera=camera,
            frame=frame,
            picture=picture,
            quality=quality,
            likely=likely,
            candidate=candidate,
        )
        card = self.strangers.card(number)
        due = self._alert is not None and card.count >= self._alert_after
        if self._alert and due and self.strangers.mark_alerted(number):
            self._alert({"event": "stranger", **card_summary(card)})
        if self.strangers.changes - self._saved_changes >= self._save_every:
            self._save()
        return number

    def is_shown(self, number: int) -> bool:
        """Whether there is a card, and nobody chose to ignore it."""
        return self.strangers.is_shown(number)

    def _cards_joined(self, numbers: Iterable[int], into: int) -> None:
        with suppress(NotSaved), self.home.database.transaction():
            self.home.album.move_cards(numbers, into)

    # ---- for people

    def cards(self, *, hidden: bool = False) -> list[Card]:
        """One card per stranger, most seen first; the hidden ones if wanted."""
        return self.strangers.cards(hidden=hidden)

    def questions(self, limit: int = 100) -> list[CardQuestion]:
        """The cards to ask a person about, the best question first.

        First "is this the candidate?": the one whose answer would settle most (see
        `OnlineHarmonicLearner.question`), then the most seen; then "who is this?".
        """
        return self.questions_later(limit)()

    def questions_later(
        self, limit: int, owners: Mapping[int, str | None] | None = None
    ) -> Callable[[], list[CardQuestion]]:
        """The same for another thread, so that cameras do not wait for the solving.

        owners: the name that each vertex carries, where it is known already.
        """
        cards, learner = self.strangers.questions(), self.home.learner
        candidates = [card for card in cards if card.candidate is not None]
        radius = learner.trust_radius
        if not candidates or radius is None:
            return lambda: [CardQuestion(card, ()) for card in cards[:limit]]
        vectors = [card.faces[0].vector for card in candidates]
        find = learner.question_later(vectors, [card.count for card in candidates])
        known, kernel = learner.vertices(), learner.kernel
        carried = learner.owners() if owners is None else owners
        pictures = set(self.home.album.vertices())

        def found() -> list[CardQuestion]:
            best = find() if len(candidates) > 1 else None
            if best is not None and best.row is not None:
                cards.insert(0, cards.pop(best.row))
            questions = list[CardQuestion]()
            for card in cards[:limit]:
                learned: tuple[int, ...] = ()
                if card.candidate is not None:
                    faces = [face.vector for face in card.faces]
                    learned = faces_to_confirm(
                        card.candidate, faces, known, carried, kernel, radius, pictures
                    )
                questions.append(CardQuestion(card, learned))
            return questions

        return found

    def name(
        self,
        number: int,
        name: str,
        keys: Iterable[str] | None = None,
        learned: Iterable[int] = (),
    ) -> int:
        """Teach the home who that is and remove the card: how many faces were taught.

        keys: of the faces to teach; the others go with the card. learned: vertices that are
        confirmed to be the same person (see `questions`); those that are gone by now are left out.
        What was said against the name before is taken back: the last word counts.
        """
        return self._name([number], name, keys, learned)

    def name_all(self, numbers: Iterable[int], name: str) -> int:
        """The same of several cards, which are one person, in one change."""
        return self._name(_different(numbers), name, None)

    def _name(
        self,
        numbers: Sequence[int],
        name: str,
        keys: Iterable[str] | None,
        learned: Iterable[int] = (),
    ) -> int:
        before, taught = self.home.sequence, 0
        removed = [self.strangers.removed_card(number) for number in numbers]
        with self._transaction():
            for number in numbers:
                self._take_back_nobody(number)
                self._take_back(self._said_against(number, name), name)
                taught += self.strangers.name(
                    number, name, lambda x, who, png: self.home.teach(x, who, picture=png), keys
                )
                self.home.album.name_card(number, name)
            for vertex in learned:
                with suppress(NotFound):  # merged since the person saw it
                    self.home.label(vertex, name)
                    taught += 1
            self._undo_history.cards_removed(before, self._clock(), removed)
        self._checkpoint()
        return taught

    def join(self, numbers: Iterable[int]) -> int:
        """Several cards are one person: the number of the oldest, which has all of them now."""
        chosen, before = _different(numbers), self.home.sequence
        removed = [self.strangers.removed_card(number) for number in chosen]
        with self._transaction():
            number = self.strangers.join(chosen)
            album = self.home.album
            moved = [(card, sorted(album.of_cards([card]))) for card in chosen if card != number]
            album.move_cards(chosen, number)
            self.home.replace_learner("answer", self.home.learner, ())
            self._undo_history.cards_joined(before, self._clock(), removed, moved)
        return number

    def same_person(self) -> list[SamePerson]:
        """Whom a shown card may be the same person as: another card, or somebody known.

        Only a little farther apart than one person's faces are, the nearest first, and each card
        once. What a person denied is left out.
        """
        found: list[SamePerson] = []
        cards, known = self.cards(), self.home.vertices()
        labeled = [row for row, name in enumerate(known.names) if name is not None]
        people = [
            (None, known.names[row], known.vectors[row], int(known.ids[row])) for row in labeled
        ]
        for at, card in enumerate(cards):
            others = [
                (other.number, None, face.vector, face.key)
                for other in cards[at + 1 :]
                for face in other.faces
            ]
            among = [*others, *(each for each in people if each[1] not in card.not_names)]
            if nearest := _nearest(card, among, self.strangers.kernel):
                found.append(nearest)
        return sorted(found, key=lambda pair: pair.gap)

    def remove_named(self, number: int, name: str, before: int) -> None:
        """Remove a card whose person was named in the event after `before`."""
        removed = self.strangers.removed_card(number)
        with self.home.database.transaction():
            self.home.album.name_card(number, name)
        self._undo_history.cards_removed(before, self._clock(), [removed])
        self.strangers.remove(number)
        self._erase()

    def exclude(self, number: int, name: str) -> int:
        """Say that a stranger is not this person: how many faces were taught. The card stays."""
        self._refuse_unknown(name)
        taught = 0

        def act(card: Card) -> None:
            nonlocal taught
            self._say([face.vector for face in card.faces], name)  # refused if one is labeled so
            taught = len(card.faces) + self._say_of_cards([number], name)

        self._answer([number], act)
        return taught

    def exclude_face(self, vector: ArrayLike, name: str) -> int:
        """Say that a face is not this person: how many faces were taught.

        With it those of the cards that it belongs to: one face alone does not speak for somebody
        who has been here for a while.
        """
        self._refuse_unknown(name)
        near = sorted(self.strangers.cards_near(vector))
        before, cards = self.home.sequence, [self.strangers.card(number) for number in near]
        with self._transaction():
            self.home.teach(vector, not_name=name)
            taught = 1 + self._say_of_cards(near, name)
        self._undo_history.cards_changed(before, self._clock(), cards)
        return taught

    def _refuse_unknown(self, name: str) -> None:
        if name not in self.home.learner.names:
            raise NotFound(f"nobody is called {name!r}, so nobody need be told apart from them")

    def _say_of_cards(self, numbers: Iterable[int], name: str) -> int:
        """Say that strangers are not this person, of the faces that differ most: of how many."""
        count = 0
        for number in numbers:
            known = self.strangers.removed_card(number)
            faces = [face.vector for face in known.card.faces]
            faces += [member.vector for member in known.members]
            for row in most_different(faces, EXCLUDED, self.strangers.kernel):
                with suppress(LabelConflict):  # it is labeled so
                    count += self._say([faces[row]], name)
            self.strangers.exclude(number, name)
        return count

    def set_ask(self, number: int, ask: bool) -> None:
        """Whether people may be asked about a stranger."""
        self._answer([number], lambda card: self.strangers.set_ask(number, ask))

    def ignore(self, number: int) -> int:
        """Hide a stranger from now on: how many faces were taught to be nobody.

        These are consulted before a name is given, so whoever looks like them is not named.
        """
        return self.ignore_all([number])

    def ignore_all(self, numbers: Iterable[int]) -> int:
        """The same of several strangers, in one change."""

        def act(card: Card) -> None:
            for face in card.faces:
                with suppress(LabelConflict):  # it has got a name since
                    self._say([face.vector], None)
            self.strangers.ignore(card.number)
            self.home.album.remove_pictures_of_card(card.number)

        chosen = _different(numbers)
        cards = self.home.with_ballast(lambda: self._answer(chosen, act))
        self._checkpoint()
        return sum(len(card.faces) for card in cards)

    def show(self, number: int) -> None:
        """Undo "ignore": the faces that were nobody are taken back."""

        def act(card: Card) -> None:
            self._take_back_nobody(number)
            self.strangers.show(number)

        self._answer([number], act)

    def nobody(self, vector: ArrayLike, *, likely: int | None = None) -> int:
        """A face is nobody whom people want to know: the number of its card, which is hidden.

        likely: the card that the face went to.
        """
        before, now = self.home.sequence, self._clock()
        cards = {card.number: card for card in self.cards(hidden=True)}
        place = np.asarray(vector)
        with self._transaction():
            self._say([place], None)
            number = self.strangers.see(place, time=now, camera=None, frame=None, likely=likely)
            self.strangers.ignore(number)
            added = DroppedFace(-1, place, 1, None)
            changed = [cards[number]] if number in cards else []
            self._undo_history.cards_changed(before, now, changed, [added])
        self._checkpoint()
        return number

    def change_name(self, change: Callable[[Home, str, str], int], name: str, to: str) -> int:
        """Rename or merge people (`home/people.py`), on the cards too: what `change` returns."""
        changed = [
            card
            for card in self.cards(hidden=True)
            if name in card.recent or name in card.not_names
        ]
        if not changed:
            return change(self.home, name, to)
        before = self.home.sequence
        with self._transaction():
            count = change(self.home, name, to)
            self.strangers.rename(name, to)
            self._undo_history.cards_changed(before, self._clock(), changed)
        return count

    def wrong(self, vertex: int, *, whole_group: bool = False) -> Correction:
        """Drop a face of the home that is somebody else, with all that was learned through it.

        Or with its whole group: what came to the name by the same narrowest link.
        """
        before, now = self.home.sequence, self._clock()
        dropped: list[DroppedFace] = []
        with self._transaction():
            group = group_of(self.home.learner, vertex) if whole_group else ()
            correction = wrong(
                self.home,
                vertex,
                self.strangers,
                time=now,
                group=group,
                dropped=dropped.append,
            )
            self._remove_unknown_names()
            self._undo_history.faces_added(before, now, dropped)
        return correction

    def undo_preview(self, to: int) -> UndoneStrangers:
        """What `undone` would take back; nothing is changed."""
        return self._undo_history.preview(to)

    def undone(self, to: int) -> None:
        """Follow an undo of the home to an event.

        Cards that were named since come back, what people said of cards is taken back, and faces
        that "wrong" moved here go back with their pictures. The latest few; older changes are not
        remembered.
        """
        before, steps = self.strangers.changes, len(self._undo_history)
        with self.home.database.transaction():
            back = self._undo_history.undo(to)
            self.home.album.unname_cards(back.cards)
            for card, sightings in back.moved:
                self.home.album.move_sightings(sightings, card)
        self.home.add_pictures(back.pictures)
        self._remove_unknown_names()
        if self.strangers.changes > before or len(self._undo_history) < steps:
            self._erase()

    def forget(self, name: str) -> ForgetReceipt:
        """Delete a person from the home, and the cards of faces that it would have named so.

        Cards that may be the person go too, and from the others the name. In one transaction: a
        crash leaves all of it or nothing. Only ignored cards, with their faces that are nobody, go
        in one before it.
        """
        if not self.home.mentions(name):
            return self.home.forget(name)  # which says so
        anchors, before = self._nobody_by_card(), self.home.sequence
        doomed = self.cards_like(name, anchors)
        if ignored := doomed & anchors.keys():
            with self._transaction():
                for number in ignored:
                    self._take_back(anchors[number], None)
                    self.strangers.remove(number)
            before = self.home.sequence
        record, steps = self.strangers.record(), self._undo_history.steps
        for number in doomed - ignored:
            self.strangers.remove(number)
        self.strangers.rename(name, None)
        self._undo_history.clear()  # it holds what was taught or dropped
        unsaved = self._unsaved
        try:
            receipt = self.home.forget(name, cards=doomed, also=self._write if unsaved else None)
        except BaseException:
            if self.home.sequence > before:
                self._forgotten(written=unsaved)
            else:
                self.strangers.restore(record)
                self._undo_history.restore(steps)
            raise
        self._forgotten(written=unsaved)
        return replace(receipt, strangers=len(doomed))

    def cards_like(
        self, name: str, anchors: Mapping[int, Sequence[Rows]] | None = None
    ) -> set[int]:
        """The cards that go when a person is forgotten: their faces would have been named so.

        anchors: the faces that are nobody, by card, if they are known already.
        """
        learner = self._without(self._nobody_by_card() if anchors is None else anchors, name)
        named = {vector.tobytes() for vector in self.home.vectors_of(name).values()}
        return {
            card.number
            for card in self.cards(hidden=True)
            if self._has_any(card, named) or self._would_name(learner, card, name)
        }

    def _forgotten(self, *, written: bool) -> None:
        if written:
            self._committed()

    def _vectors(self, card: Card) -> list[Rows]:
        return [face.vector for face in card.faces] + self.strangers.vectors(card.number)

    def _has_any(self, card: Card, named: set[bytes]) -> bool:
        """Whether a face of a card is among these: it came here by "wrong", or by an undo."""
        like = self.home.vertices().vectors.dtype
        return any(each.astype(like).tobytes() in named for each in self._vectors(card))

    def _would_name(self, learner: OnlineHarmonicLearner, card: Card, name: str) -> bool:
        """Whether a learner would name any face of a card so, or ask whether it is."""
        answers = [learner.predict(vector) for vector in self._vectors(card)]
        return any(name in (answer.label, answer.candidate) for answer in answers)

    def expire(self, now: float | None = None) -> int:
        """Delete what the home stores no longer, and write the rest: how many cards went.

        Hidden strangers are stored, without pictures, as long as sightings: whoever comes once a
        day should not have to be ignored once a day. Then their faces are taken out of the home.
        Who may be somebody known is stored for some days, so that there is time to answer.
        """
        now, retention = self._clock() if now is None else now, self.home.retention
        before = self.strangers.changes
        stranger_horizon = now - retention.stranger_hours * HOUR
        self._undo_history.clear(before=stranger_horizon)
        anchors = self._nobody_by_card()

        def delete() -> int:
            count = self.strangers.expire(
                stranger_horizon,
                hidden_before=now - retention.sighting_days * DAY,
                questions_before=now - retention.question_hours * HOUR,
                now=now,
            )
            gone = anchors.keys() - {card.number for card in self.cards(hidden=True)}
            for number in gone:
                self._take_back(anchors[number], None)
            return count

        def delete_with_anchors() -> int:
            with self._transaction():
                return delete()

        removed = self.home.with_ballast(delete_with_anchors) if anchors else delete()
        self._erase() if self.strangers.changes > before else self._save()
        return removed

    # ---- what people say

    def _answer(self, numbers: Sequence[int], act: Callable[[Card], object]) -> list[Card]:
        """Do what a person said of cards, in one transaction: the cards as they were before.

        There is an event of it, which an undo can go back before, whatever the learner learns.
        """
        cards, before = [self.strangers.card(each) for each in numbers], self.home.sequence
        with self._transaction():
            for card in cards:
                act(card)
            if self.home.sequence == before:
                self.home.replace_learner("answer", self.home.learner, ())
            self._undo_history.cards_changed(before, self._clock(), cards)
        return cards

    def _say(self, vectors: Iterable[Rows], name: str | None) -> int:
        """Say of faces that they are not this person, or nobody: of how many, what was said before
        not counted."""
        said, number_type = _negatives(self.home), self.home.vertices().vectors.dtype
        new = [
            vector
            for vector in vectors
            if name not in said.get(vector.astype(number_type).tobytes(), ())
        ]
        for vector in new:
            self.home.teach(vector, not_name=name, nobody=name is None)
        return len(new)

    def _take_back_nobody(self, number: int) -> None:
        """Take back that faces of a card are nobody."""
        self._take_back(self._nobody_by_card().get(number, []), None)

    def _without(self, anchors: Mapping[int, Sequence[Rows]], name: str) -> OnlineHarmonicLearner:
        """A learner that knows a name, and does not know that these faces are nobody."""
        learner = self.home.learner_knowing(name)
        if not anchors:
            return learner
        learner = learner.restored(learner.state())
        for vectors in anchors.values():
            for vector in vectors:
                with suppress(NotFound):  # it is near to two cards
                    learner.unteach(vector)
        return learner

    def _take_back(self, vectors: Iterable[Rows], name: str | None) -> None:
        """Take back that faces are not this person, or nobody.

        A vertex that stands for no other example than what was said of it was never learned: it
        goes. What else was said of the face stays.
        """
        home, known = self.home, self.home.vertices()
        places = {vector.astype(known.vectors.dtype).tobytes() for vector in vectors}
        columns = known.ids.tolist(), known.vectors, known.multiplicities.tolist()
        for vertex, vector, count in zip(*columns, strict=True):
            said = known.negatives.get(vertex, frozenset())
            if name in said and vector.tobytes() in places:
                home.drop(vertex) if count == len(said) else home.unteach(vector)
                for other in said - {name}:
                    home.teach(vector, not_name=other, nobody=other is None)

    def _said_against(self, number: int, name: str) -> list[Rows]:
        """The faces of a card of which was said that they are not this person."""
        known = self.home.vertices()
        return [
            vector
            for vector, vertex in zip(known.vectors, known.ids.tolist(), strict=True)
            if name in known.negatives.get(vertex, ())
            and number in self.strangers.cards_near(vector)
        ]

    def _nobody_by_card(self) -> dict[int, list[Rows]]:
        """The faces that are nobody of each hidden card that has any."""
        hidden = {card.number for card in self.cards(hidden=True) if card.hidden}
        known, found = self.home.vertices(), dict[int, list[Rows]]()
        for vector, vertex in zip(known.vectors, known.ids.tolist(), strict=True):
            if None in known.negatives.get(vertex, ()):
                for number in self.strangers.cards_near(vector) & hidden:
                    found.setdefault(number, []).append(vector)
        return found

    def _remove_unknown_names(self) -> None:
        """What is nobody's name any more is not asked about."""
        for name in self.strangers.names() - {*self.home.learner.names}:
            self.strangers.rename(name, None)

    # ---- storage

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All changes of home and strangers in the block, or none of them."""
        record, steps = self.strangers.record(), self._undo_history.steps
        try:
            with self.home.batch():
                yield
                self._write()
        except BaseException:
            self.strangers.restore(record)
            self._undo_history.restore(steps)
            raise
        self._committed()

    @property
    def _unsaved(self) -> bool:
        """Whether the rows are not what is in memory, or were in a database that is gone."""
        changed = self.strangers.changes != self._saved_changes
        changed |= self._stored.steps.keys() != {step.number for step in self._undo_history.steps}
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
        record, steps = self.strangers.record(), self._undo_history.steps
        self._pending = _Stored.of(record, self.home.database, steps)
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
            self._undo_history.restore(map(UndoStep.of, table.steps()))
            if not damaged:
                self._stored = _Stored.of(record, database, self._undo_history.steps)
            self._remove_unknown_names()
        except (HomeError, BadValue, LookupError, ValueError, TypeError) as error:
            self._report(f"the stored strangers are not shown: {error}")

    def _report(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def _different(numbers: Iterable[int]) -> list[int]:
    """The numbers, each once."""
    return list(dict.fromkeys(numbers))


def _nearest(
    card: Card, others: Sequence[tuple[int | None, str | None, Rows, Any]], kernel: HeatKernel
) -> SamePerson | None:
    """Which of these faces, of a card or of somebody known, is nearest to a face of the card."""
    if not others:
        return None
    rows, best = np.array([vector for _, _, vector, _ in others], dtype=np.float64), None
    for face in card.faces:
        vector = face.vector.astype(np.float64)
        gaps = np.sqrt(squared_distances(kernel.distance, vector, rows)) / kernel.reach
        at = int(gaps.argmin())
        if gaps[at] <= LIKELY_REACH and (best is None or gaps[at] < best.gap):
            number, name, _, where = others[at]
            key, vertex = (where, None) if name is None else (None, where)
            best = SamePerson(card.number, number, name, float(gaps[at]), face.key, key, vertex)
    return best


def _negatives(home: Home) -> dict[bytes, frozenset[str | None]]:
    """What people said that faces are not, by the bytes of their vectors."""
    known = home.vertices()
    rows = zip(known.vectors, known.ids.tolist(), strict=True)
    return {vector.tobytes(): known.negatives.get(vertex, frozenset()) for vector, vertex in rows}


class _Stored:
    """What the rows of a database hold, so that only differences are written."""

    def __init__(self) -> None:
        self.database: Database | None = None
        self.cards: dict[int, Card] = {}
        self.vertices: dict[int, VertexColumns] = {}
        self.numbers: dict[str, int] = {}
        self.steps: dict[int, UndoStep] = {}

    @classmethod
    def of(cls, record: StrangersRecord, database: Database, steps: Iterable[UndoStep]) -> Self:
        """As a record would be stored."""
        stored, graph = cls(), record.graph
        stored.steps = {step.number: step for step in steps}
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
        table.remove_steps(before.steps.keys() - self.steps.keys())
        for number in self.steps.keys() - before.steps.keys():
            table.put_step(self.steps[number].columns())
        for number, card in self.cards.items():
            old = before.cards.get(number)
            if card is not old:
                table.put_card(_card_columns(card))
            if old is None or card.faces != old.faces:
                table.put_faces(number, _face_columns(card))
            question = _question_columns(card)
            stored = NOTHING_TO_ASK if old is None else _question_columns(old)
            if question[1:] != stored[1:]:
                table.put_question(question)
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


def _question_columns(card: Card) -> QuestionColumns:
    return QuestionColumns(card.number, card.recent, card.not_names, card.ask)


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
    questions = table.questions()
    cards = {
        row.number: Card(
            row.number,
            row.times_seen,
            SeenAt(row.first_time, row.first_camera, row.first_frame),
            SeenAt(row.last_time, row.last_camera, row.last_frame),
            tuple(faces.get(row.number, ())),
            row.hidden,
            row.alerted,
            *questions.get(row.number, NOTHING_TO_ASK)[1:],
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
