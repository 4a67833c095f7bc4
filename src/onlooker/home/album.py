"""Pictures and sightings: what people look at. The learner needs none of it.

A picture is stored as long as its vertex exists; sightings expire.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias
from zlib import crc32

from onlooker.core.errors import BadValue
from onlooker.home.database import Database, HomeDamaged, as_text

PNG = b"\x89PNG\r\n\x1a\n"
LARGEST = 4 << 20
"""Bytes of a picture at most."""
Picture: TypeAlias = "bytes | Callable[[], bytes] | None"
"""A PNG, or a function that makes it: a face that is not stored needs none."""


@dataclass(frozen=True, slots=True)
class StoredSighting:
    """Who was seen where, and when.

    >>> StoredSighting(1, 0.0, "door", 7, "ana", 3).name
    'ana'
    """

    number: int
    time: float
    camera: str
    frame: int
    name: str | None
    vertex: int | None


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


class Album:
    """The tables of pictures and sightings."""

    def __init__(self, database: Database) -> None:
        self._database = database

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
        self, time: float, camera: str, frame: int, name: str | None, vertex: int | None
    ) -> None:
        """Add one sighting."""
        stored_name = None if name is None else as_text(name)
        sql = "INSERT INTO sightings (time, camera, frame, name, vertex) VALUES (?, ?, ?, ?, ?)"
        with self._database.transaction():
            self._database.execute(sql, (time, as_text(camera), frame, stored_name, vertex))

    def sightings(self, after: int = 0, limit: int = 100) -> list[StoredSighting]:
        """Sightings, the oldest first."""
        sql = "SELECT * FROM sightings WHERE number > ? ORDER BY number LIMIT ?"
        return [StoredSighting(*row) for row in self._database.query(sql, (after, limit))]

    def newest_sightings(
        self,
        *,
        before: int | None = None,
        limit: int = 100,
        name: str | None = None,
        camera: str | None = None,
    ) -> list[StoredSighting]:
        """The newest first: those before a number, of a person, of a camera."""
        wanted = {
            "number < ?": before,
            "name = ?": None if name is None else as_text(name),
            "camera = ?": None if camera is None else as_text(camera),
        }
        given = {test: value for test, value in wanted.items() if value is not None}
        where = f"WHERE {' AND '.join(given)} " if given else ""
        sql = f"SELECT * FROM sightings {where}ORDER BY number DESC LIMIT ?"
        rows = self._database.query(sql, (*given.values(), limit))
        return [StoredSighting(*row) for row in rows]

    def sighting_counts(self, name: str, since: float, until: float, buckets: int) -> list[int]:
        """How often a person was seen in each of `buckets` equal parts of a time span."""
        width = (until - since) / buckets
        sql = (
            "SELECT min(?, CAST((time - ?) / ? AS INTEGER)) AS bucket, count(*) FROM sightings "
            "WHERE name = ? AND time >= ? AND time <= ? GROUP BY bucket"
        )
        values = buckets - 1, since, width, as_text(name), since, until
        found = {int(row[0]): int(row[1]) for row in self._database.query(sql, values)}
        return list((dict.fromkeys(range(buckets), 0) | found).values())

    def expire(self, before: float, now: float) -> int:
        """Delete the sightings from before a time: how many.

        A sighting from after now was made by a clock that has been set back since. It counts as
        made now, or it would be stored for ever.
        """
        with self._database.transaction():
            self._database.execute("UPDATE sightings SET time = ? WHERE time > ?", (now, now))
            return self._database.execute("DELETE FROM sightings WHERE time < ?", (before,))

    def rename(self, name: str, to: str) -> int:
        """Change a name in the sightings, within a transaction: how many were changed."""
        sql = "UPDATE sightings SET name = ? WHERE name = ?"
        return self._database.execute(sql, (as_text(to), as_text(name)))

    def forget(self, name: str, vertices: Iterable[int]) -> int:
        """Delete a person's sightings, within a transaction: how many."""
        by_name = "DELETE FROM sightings WHERE name = ?"
        by_vertex = "DELETE FROM sightings WHERE vertex = ?"
        deleted = self._database.execute(by_name, (as_text(name),))
        return deleted + sum(self._database.execute(by_vertex, (vertex,)) for vertex in vertices)
