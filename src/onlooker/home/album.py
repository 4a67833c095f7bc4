"""Pictures, sightings and persons: what people look at. The learner needs none of it.

A picture is stored as long as its vertex exists; sightings expire. Sightings and events belong to a
person, who has a number: renaming the person renames their history, and undoing that undoes it.
A sighting of a stranger belongs to a card; when that is named, it is a sighting of the person.

A sighting has its own picture and vector, because vertices are merged: by the vector it is found
again, whoever it was.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onlooker.core.checks import Floats
from onlooker.core.errors import BadValue
from onlooker.core.similarity import HeatKernel, squared_distances
from onlooker.home.database import Database, HomeDamaged, as_text, row_crc

PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
LARGEST = 4 << 20
"""Bytes of a picture at most."""
AT_ONCE = 4096
"""Vectors that are compared with a face together."""
IN_A_QUERY = 500
"""Values of one statement at most."""
Picture: TypeAlias = "bytes | Callable[[], bytes] | None"
"""A PNG, or a function that makes it: a face that is not stored needs none."""
_SIGHTING = "number, time, camera, frame, person, vertex, card"
"""The columns of a sighting that its checksum covers."""
_OF_A_SIGHTING = ("sighting_vectors", "sighting_pictures")


@dataclass(frozen=True, slots=True)
class StoredSighting:
    """Who was seen where, and when.

    >>> StoredSighting(1, 0.0, "door", 7, "ana", 3, card=None, picture=False).name
    'ana'
    """

    number: int
    time: float
    camera: str
    frame: int
    name: str | None
    vertex: int | None
    card: int | None
    """Of the stranger, who may have been named since."""
    picture: bool
    """Whether there is a picture of it."""


@dataclass(frozen=True, slots=True)
class SeenBefore:
    """Somebody who looks like a face: when and where they were seen.

    >>> first, last = (StoredSighting(n, n, "door", 0, "ana", 3, None, False) for n in (1, 5))
    >>> SeenBefore("ana", None, 0.9, 2, {"door": 2}, first, last, last).last.time
    5
    """

    name: str | None
    card: int | None
    """Of a stranger; both None: nobody known, where no cards are made."""
    similarity: float
    """Of the face to the most similar of these sightings, from 0 to 1; 0: not linked to any."""
    count: int
    """Sightings that are similar enough to be linked; all of the person's, if none is."""
    cameras: dict[str, int]
    """How many of them at each camera."""
    first: StoredSighting
    last: StoredSighting
    best: StoredSighting
    """The most similar one."""


def as_png(picture: object) -> bytes:
    """A small lossless picture, or what a function makes; anything else is refused.

    >>> as_png(b"GIF89a")
    Traceback (most recent call last):
    ...
    onlooker.core.errors.BadValue: a picture is a PNG of at most 4194304 bytes, got b'GIF89a'
    """
    picture = picture() if callable(picture) else picture
    good = isinstance(picture, bytes) and picture.startswith(PNG) and len(picture) <= LARGEST
    if isinstance(picture, bytes) and good:
        return picture
    shown = repr(picture[:20] if isinstance(picture, bytes) else picture)
    raise BadValue(f"a picture is a PNG of at most {LARGEST} bytes, got {shown}")


def as_small_picture(picture: object) -> bytes:
    """The picture of a sighting, or what a function makes: a PNG, or a JPEG, which is smaller.

    >>> as_small_picture(lambda: JPEG + b"...")
    b'\xff\xd8\xff...'
    """
    made = picture() if callable(picture) else picture
    if isinstance(made, bytes) and made.startswith(JPEG) and len(made) <= LARGEST:
        return made
    return as_png(made)


NameChange: TypeAlias = list[int | str]
"""The number of a person, their name before, and after."""


class PersonTable:
    """The number of everybody who was ever named here, and their name now.

    Two numbers have one name if two people turned out to be one. Changes belong into a transaction.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def number(self, name: str) -> int:
        """The number of a person, who gets one if they have none."""
        found = self.numbers(name)
        if not found:
            self._database.execute("INSERT INTO persons (name) VALUES (?)", (as_text(name),))
            found = self.numbers(name)
        return found[0]

    def numbers(self, name: str) -> list[int]:
        """All numbers with a name."""
        sql = "SELECT person FROM persons WHERE name = ? ORDER BY person"
        return [row[0] for row in self._database.query(sql, (as_text(name),))]

    def names(self) -> set[str]:
        """The names of everybody."""
        return {row[0] for row in self._database.query("SELECT name FROM persons")}

    def rename(self, name: str, to: str) -> list[NameChange]:
        """Change a name: what was changed."""
        return self.change([[number, name, to] for number in self.numbers(name)])

    def change(self, changes: Iterable[NameChange]) -> list[NameChange]:
        """Give names to numbers that are still stored: what was changed."""
        sql = "UPDATE persons SET name = ? WHERE person = ?"
        return [
            change
            for change in changes
            if self._database.execute(sql, (as_text(str(change[2])), change[0]))
        ]

    def remove(self, numbers: Iterable[int]) -> None:
        """Delete persons."""
        for number in numbers:
            self._database.execute("DELETE FROM persons WHERE person = ?", (number,))


class Album:
    """The tables of pictures and sightings."""

    def __init__(self, database: Database) -> None:
        self._database, self.persons = database, PersonTable(database)
        self.newest_number = 0
        """The number of the newest sighting, once it is stored; `HomeFolder` reads it at first."""

    # ---- pictures; changes belong into a transaction

    def put(self, vertex: int, time: float, png: bytes) -> None:
        """Store the picture of a vertex, replacing an older one."""
        values = vertex, time, crc32(png), png
        self._database.execute("INSERT OR REPLACE INTO pictures VALUES (?, ?, ?, ?)", values)

    def remove(self, vertices: Iterable[int]) -> int:
        """Delete the pictures of these vertices: how many there were."""
        sql = "DELETE FROM pictures WHERE vertex = ?"
        return sum(self._database.execute(sql, (vertex,)) for vertex in vertices)

    def remove_all_but(self, vertices: Iterable[int]) -> int:
        """Delete the pictures of all other vertices."""
        return self.remove(set(self.vertices()) - set(vertices))

    def vertices(self) -> list[int]:
        """The vertices that have a picture."""
        return [row[0] for row in self._database.query("SELECT vertex FROM pictures ORDER BY 1")]

    def picture(self, vertex: int) -> bytes | None:
        """The picture of a vertex, if there is one."""
        rows = self._database.query("SELECT crc, png FROM pictures WHERE vertex = ?", (vertex,))
        if not rows:
            return None
        crc, png = rows[0]
        if crc32(png) != crc:
            raise HomeDamaged(f"the picture of vertex {vertex} is damaged and cannot be shown")
        return bytes(png)

    # ---- sightings

    def record_sighting(
        self,
        time: float,
        camera: str,
        frame: int,
        name: str | None,
        vertex: int | None,
        *,
        card: int | None = None,
        vector: ArrayLike | None = None,
        picture: Picture = None,
    ) -> None:
        """Add one sighting: of a person, or of a stranger with a card."""
        png = None if picture is None else as_small_picture(picture)
        with self._database.transaction():
            person = None if name is None else self.persons.number(name)
            number = self.last_sighting() + 1
            self._database.mark_numbered()
            columns = number, float(time), as_text(camera), int(frame), person, vertex, card
            sql = f"INSERT INTO sightings ({_SIGHTING}, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            self._database.execute(sql, (*columns, row_crc(columns)))
            if vector is not None:
                plain = np.ascontiguousarray(vector, "<f4").tobytes()
                values = number, crc32(plain), plain
                self._database.execute("INSERT INTO sighting_vectors VALUES (?, ?, ?)", values)
            if png is not None:
                shown = number, crc32(png), png
                self._database.execute("INSERT INTO sighting_pictures VALUES (?, ?, ?)", shown)
        self.newest_number = number

    def last_sighting(self) -> int:
        """The highest number of a stored sighting; 0 without any."""
        rows = self._database.query("SELECT max(number) FROM sightings")
        return int(rows[0][0] or 0)

    def sightings(self, after: int = 0, limit: int = 100) -> list[StoredSighting]:
        """Sightings, the oldest first."""
        where = "WHERE number > ? ORDER BY number LIMIT ?"
        return self._sound(where, (after, limit))

    def sighting_picture(self, number: int) -> bytes | None:
        """The picture of a sighting, if there is one."""
        sql = "SELECT crc, png FROM sighting_pictures WHERE number = ?"
        for crc, png in self._database.query(sql, (number,)):
            if crc32(png) != crc:
                raise HomeDamaged(f"the picture of sighting {number} is damaged")
            return bytes(png)
        return None

    def damaged(self) -> int:
        """How many sightings have a wrong checksum; they are not shown."""
        sql = f"SELECT count(*) FROM sightings WHERE crc != row_crc({_SIGHTING})"
        return int(self._database.query(sql)[0][0])

    def _sound(self, where: str, values: Sequence[Any]) -> list[StoredSighting]:
        sql = (
            f"SELECT {_SIGHTING}, crc, name, number IN (SELECT number FROM sighting_pictures) "
            f"FROM sightings LEFT JOIN persons USING (person) {where}"
        )
        found = []
        for *columns, crc, name, pictured in self._database.query(sql, values):
            if row_crc(columns) == crc:
                number, time, camera, frame, _, vertex, card = columns
                seen = number, time, camera, frame, name, vertex, card, bool(pictured)
                found.append(StoredSighting(*seen))
        return found

    def newest_sightings(
        self,
        *,
        before: int | None = None,
        limit: int = 100,
        name: str | None = None,
        camera: str | None = None,
        strangers: bool | None = None,
        since: float | None = None,
    ) -> list[StoredSighting]:
        """The newest first: those before a number, of a person, of a camera, since a time.

        strangers: only those without a name, or only those with one.
        """
        wanted = {
            "number < ?": before,
            "name = ?": None if name is None else as_text(name),
            "camera = ?": None if camera is None else as_text(camera),
            "(name IS NULL) = ?": None if strangers is None else int(strangers),
            "time >= ?": since,
        }
        given = {test: value for test, value in wanted.items() if value is not None}
        where = f"WHERE {' AND '.join(given)} " if given else ""
        return self._sound(f"{where}ORDER BY number DESC LIMIT ?", (*given.values(), limit))

    def count(self, name: str) -> int:
        """How many sightings there are of a person."""
        sql = "SELECT count(*) FROM sightings JOIN persons USING (person) WHERE name = ?"
        return int(self._database.query(sql, (as_text(name),))[0][0])

    def sighting_counts(self, name: str, since: float, until: float, buckets: int) -> list[int]:
        """How often a person was seen in each of `buckets` equal parts of a time span."""
        width = (until - since) / buckets
        sql = (
            "SELECT min(?, CAST((time - ?) / ? AS INTEGER)) AS bucket, count(*) "
            "FROM sightings JOIN persons USING (person) "
            "WHERE name = ? AND time >= ? AND time <= ? GROUP BY bucket"
        )
        values = buckets - 1, since, width, as_text(name), since, until
        found = {int(row[0]): int(row[1]) for row in self._database.query(sql, values)}
        return list((dict.fromkeys(range(buckets), 0) | found).values())

    # ---- was this face here before?

    def find_face(self, x: ArrayLike, kernel: HeatKernel) -> list[SeenBefore]:
        """Everybody whose sightings are linked to a face, the most similar first."""
        like = np.asarray(x, dtype=np.float64)
        near: dict[int, float] = {}
        for numbers, rows in self._vectors(len(like)):
            weights = kernel.weights(squared_distances(kernel.distance, like, rows))
            for place in weights.nonzero()[0].tolist():
                near[numbers[place]] = float(weights[place])
        groups: dict[tuple[str | None, int | None], list[StoredSighting]] = {}
        for seen in self._numbered(near):
            key = (None, seen.card) if seen.name is None else (seen.name, None)
            groups.setdefault(key, []).append(seen)
        found = []
        for (name, card), group in groups.items():
            best = max(group, key=lambda seen: near[seen.number])
            found.append(_seen_before(name, card, near[best.number], group, best))
        return sorted(found, key=lambda one: -one.similarity)

    def sightings_of(self, name: str, x: ArrayLike, kernel: HeatKernel) -> SeenBefore | None:
        """All sightings of a person, none of which is linked to a face; None: never seen."""
        like = np.asarray(x, dtype=np.float64)
        where = "JOIN sightings USING (number) JOIN persons USING (person) WHERE name = ?"
        gaps: dict[int, float] = {}
        for numbers, rows in self._vectors(len(like), where, (as_text(name),)):
            squared = squared_distances(kernel.distance, like, rows)
            gaps.update(zip(numbers, squared.tolist(), strict=True))
        group = list(self._numbered(gaps))
        if not group:
            return None
        nearest = min(group, key=lambda seen: gaps[seen.number])
        return _seen_before(name, None, 0.0, group, nearest)

    def _vectors(
        self, length: int, where: str = "", values: Sequence[Any] = ()
    ) -> Iterator[tuple[list[int], Floats]]:
        """Numbers and vectors of this length, many at a time; damaged ones are left out."""
        sql = f"SELECT number, sighting_vectors.crc, vector FROM sighting_vectors {where}"
        rows = self._database.iterate(sql, values)
        while chunk := list(islice(rows, AT_ONCE)):
            sound = [row for row in chunk if len(row[2]) == 4 * length and crc32(row[2]) == row[1]]
            if sound:
                joined = np.frombuffer(b"".join(row[2] for row in sound), "<f4")
                yield [row[0] for row in sound], joined.reshape(-1, length).astype(np.float64)

    def _numbered(self, numbers: Iterable[int]) -> Iterator[StoredSighting]:
        remaining = iter(sorted(numbers))
        while some := list(islice(remaining, IN_A_QUERY)):
            marks = ",".join("?" * len(some))
            yield from self._sound(f"WHERE number IN ({marks}) ORDER BY number", some)

    # ---- strangers; changes belong into a transaction

    def name_card(self, card: int, name: str) -> int:
        """A stranger was named: the sightings of the card are theirs; how many."""
        return self._change_of_cards([card], person=self.persons.number(name))

    def unname_cards(self, cards: Iterable[int]) -> int:
        """That is taken back."""
        return self._change_of_cards(cards, person=None)

    def move_cards(self, cards: Iterable[int], to: int) -> int:
        """Cards turned out to be one: how many sightings it has more."""
        return self._change_of_cards([card for card in cards if card != to], card=to)

    def move_sightings(self, numbers: Iterable[int], to: int) -> int:
        """These sightings are of a card again that had been joined to another: how many."""
        return self._change_where("number", numbers, card=to)

    def _change_of_cards(self, cards: Iterable[int], **change: int | None) -> int:
        return self._change_where("card", cards, **change)

    def _change_where(self, key: str, values: Iterable[int], **change: int | None) -> int:
        ((column, new),) = change.items()
        changed = _SIGHTING.replace(column, "?")
        sql = (
            f"UPDATE sightings SET {column} = ?, crc = row_crc({changed}) "
            f"WHERE {key} = ? AND crc = row_crc({_SIGHTING})"
        )
        return sum(self._database.execute(sql, (new, new, value)) for value in values)

    def remove_pictures_of_card(self, card: int) -> int:
        """Delete the pictures of a stranger's sightings: how many there were."""
        sql = (
            "DELETE FROM sighting_pictures "
            "WHERE number IN (SELECT number FROM sightings WHERE card = ?)"
        )
        return self._database.execute(sql, (card,))

    def of_cards(self, cards: Iterable[int]) -> set[int]:
        """The numbers of the sightings of strangers."""
        sql = "SELECT number FROM sightings WHERE card = ? AND person IS NULL"
        return {row[0] for card in cards for row in self._database.query(sql, (card,))}

    def unnamed_vectors(self, length: int) -> dict[int, NDArray[np.float32]]:
        """The vectors of all sightings without a name."""
        where = "WHERE number IN (SELECT number FROM sightings WHERE person IS NULL)"
        return {
            number: row.astype(np.float32)
            for numbers, rows in self._vectors(length, where)
            for number, row in zip(numbers, rows, strict=True)
        }

    # ---- deleting

    def expire(self, before: float, now: float, strangers_before: float | None = None) -> int:
        """Delete the sightings from before a time: how many. Strangers may have another.

        A sighting from after now was made by a clock that has been set back since. It counts as
        made now, or it would be stored for ever.
        """
        with self._database.transaction():
            columns = _SIGHTING.replace("time", "?")
            sql = f"UPDATE sightings SET time = ?, crc = row_crc({columns}) WHERE time > ?"
            self._database.execute(sql, (float(now), float(now), now))
            deleted = self._delete("time < ?", before)
            if strangers_before is not None:
                deleted += self._delete("person IS NULL AND time < ?", strangers_before)
            self.newest_number = self.last_sighting()
        return deleted

    def forget(
        self, persons: Iterable[int], vertices: Iterable[int], numbers: Iterable[int] = ()
    ) -> int:
        """Delete sightings within a transaction, by person, vertex and number: how many."""
        deleted = sum(self._delete("person = ?", person) for person in persons)
        deleted += sum(self._delete("vertex = ?", vertex) for vertex in vertices)
        deleted += sum(self._delete("number = ?", number) for number in numbers)
        self.remove_loose_faces()
        self.newest_number = self.last_sighting()
        return deleted

    def remove_loose_faces(self) -> None:
        """Delete the vectors and pictures of sightings that damage has taken."""
        for table in _OF_A_SIGHTING:
            sql = f"DELETE FROM {table} WHERE number NOT IN (SELECT number FROM sightings)"
            self._database.execute(sql)

    def _delete(self, test: str, value: float) -> int:
        for table in _OF_A_SIGHTING:
            sql = f"DELETE FROM {table} WHERE number IN (SELECT number FROM sightings WHERE {test})"
            self._database.execute(sql, (value,))
        return self._database.execute(f"DELETE FROM sightings WHERE {test}", (value,))


def _seen_before(
    name: str | None,
    card: int | None,
    similarity: float,
    group: list[StoredSighting],
    best: StoredSighting,
) -> SeenBefore:
    cameras: dict[str, int] = {}
    for seen in group:
        cameras[seen.camera] = cameras.get(seen.camera, 0) + 1
    return SeenBefore(name, card, similarity, len(group), cameras, group[0], group[-1], best)
