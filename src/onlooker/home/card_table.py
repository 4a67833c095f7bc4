"""Cards of strangers as rows of the database; `strangers/` gives them their meaning.

Five tables: the cards, the best faces of each, what to ask about it, the vertices of the graph that
groups the faces, and the newest changes, which can be undone.
Every row has a checksum: a damaged one is skipped, with everything that hangs on it.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlooker.home.database import Database, row_crc

NEXT_CARD, NEXT_VERTEX, TURN = (f"strangers {what}" for what in ("next_card", "next_id", "turn"))
"""Numbers of the table meta."""
_TABLES = ("cards", "card_faces", "card_questions", "card_vertices", "card_steps")
_OF_A_CARD = ("card_faces", "card_questions")


class CardColumns(NamedTuple):
    """A row of `cards`."""

    number: int
    times_seen: int
    first_time: float
    first_camera: str | None
    first_frame: int | None
    last_time: float
    last_camera: str | None
    last_frame: int | None
    hidden: bool
    alerted: bool


class FaceColumns(NamedTuple):
    """A row of `card_faces`."""

    card: int
    place: int
    time: float
    camera: str | None
    frame: int | None
    quality: float
    vector: NDArray[Any]
    png: bytes | None


class QuestionColumns(NamedTuple):
    """A row of `card_questions`; the names are lists in JSON there."""

    card: int
    recent: tuple[str | None, ...]
    not_names: frozenset[str]
    ask: bool


class VertexColumns(NamedTuple):
    """A row of `card_vertices`."""

    vertex: int
    card: int
    turn: int
    time: float
    multiplicity: int
    vector: NDArray[Any]


class StepColumns(NamedTuple):
    """A row of `card_steps`: what an undo to that event, or before, takes back of strangers."""

    number: int
    event: int
    time: float
    content: str


class CardTable:
    """Reads and writes the rows. Changes belong into a transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put_card(self, card: CardColumns) -> None:
        """Insert or replace a card."""
        columns = (*card[:8], int(card.hidden), int(card.alerted))
        self._insert("cards", [*columns, row_crc(columns)])

    def put_faces(self, card: int, faces: Iterable[FaceColumns]) -> None:
        """Replace the faces of a card."""
        self._database.execute("DELETE FROM card_faces WHERE card = ?", (card,))
        for face in faces:
            number_type, data = _encoded(face.vector)
            columns = (*face[:6], number_type, data, face.png)
            self._insert("card_faces", [*columns, row_crc(columns)])

    def put_question(self, question: QuestionColumns) -> None:
        """Insert or replace what to ask about a card."""
        names = json.dumps(question.recent), json.dumps(sorted(question.not_names))
        columns = (question.card, *names, int(question.ask))
        self._insert("card_questions", [*columns, row_crc(columns)])

    def mentions(self, name: str) -> bool:
        """Whether a card may be somebody, or is not; damaged rows count too."""
        sql = "SELECT 1 FROM card_questions WHERE instr(recent, ?) OR instr(not_names, ?)"
        return bool(self._database.query(sql, (json.dumps(name),) * 2))

    def put_vertex(self, vertex: VertexColumns) -> None:
        """Insert or replace a vertex."""
        columns = (*vertex[:5], *_encoded(vertex.vector))
        self._insert("card_vertices", [*columns, row_crc(columns)])

    def put_step(self, step: StepColumns) -> None:
        """Insert a change that can be undone."""
        self._insert("card_steps", [*step, row_crc(step)])

    def remove_steps(self, numbers: Iterable[int]) -> None:
        """Delete changes that cannot be undone any more, or were."""
        for number in numbers:
            self._database.execute("DELETE FROM card_steps WHERE number = ?", (number,))

    def steps(self) -> list[StepColumns]:
        """All changes with a good checksum, the oldest first."""
        rows = self._sound("SELECT * FROM card_steps ORDER BY number")
        return [StepColumns._make(row) for row in rows]

    def remove_cards(self, numbers: Iterable[int]) -> None:
        """Delete cards and all that belongs to them."""
        for number in numbers:
            self._database.execute("DELETE FROM cards WHERE number = ?", (number,))
            for table in _OF_A_CARD:
                self._database.execute(f"DELETE FROM {table} WHERE card = ?", (number,))

    def remove_vertices(self, vertices: Iterable[int]) -> None:
        """Delete vertices."""
        for vertex in vertices:
            self._database.execute("DELETE FROM card_vertices WHERE vertex = ?", (vertex,))

    def clear(self) -> None:
        """Delete all rows, damaged ones too."""
        for table in _TABLES:
            self._database.execute(f"DELETE FROM {table}")

    def cards(self) -> list[CardColumns]:
        """All cards with a good checksum, by number."""
        rows = self._sound("SELECT * FROM cards ORDER BY number")
        return [CardColumns._make([*row[:8], bool(row[8]), bool(row[9])]) for row in rows]

    def faces(self) -> list[FaceColumns]:
        """All faces with a good checksum, the best of each card first."""
        rows = self._sound("SELECT * FROM card_faces ORDER BY card, place")
        return [FaceColumns._make([*row[:6], _decoded(row[6], row[7]), row[8]]) for row in rows]

    def questions(self) -> dict[int, QuestionColumns]:
        """What to ask about which card, where the checksum is good."""
        rows = self._sound("SELECT * FROM card_questions")
        return {
            card: QuestionColumns(
                card, tuple(json.loads(recent)), frozenset(json.loads(not_names)), bool(ask)
            )
            for card, recent, not_names, ask in rows
        }

    def vertices(self) -> list[VertexColumns]:
        """All vertices with a good checksum, by id."""
        rows = self._sound("SELECT * FROM card_vertices ORDER BY vertex")
        return [VertexColumns._make([*row[:5], _decoded(row[5], row[6])]) for row in rows]

    def damaged(self) -> int:
        """How many rows have a wrong checksum."""
        rows = [row for table in _TABLES for row in self._database.query(f"SELECT * FROM {table}")]
        return sum(row_crc(row[:-1]) != row[-1] for row in rows)

    def _sound(self, sql: str) -> list[tuple[Any, ...]]:
        rows = self._database.query(sql)
        return [row[:-1] for row in rows if row_crc(row[:-1]) == row[-1]]

    def _insert(self, table: str, row: list[Any]) -> None:
        marks = ",".join("?" * len(row))
        self._database.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row)


def _encoded(vector: NDArray[Any]) -> tuple[str, bytes]:
    plain = np.ascontiguousarray(vector, vector.dtype.newbyteorder("<"))
    return plain.dtype.str, plain.tobytes()


def _decoded(number_type: str, data: bytes) -> NDArray[Any]:
    stored = np.frombuffer(data, number_type)
    return stored.astype(stored.dtype.newbyteorder("="))
