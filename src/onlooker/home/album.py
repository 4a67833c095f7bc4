"""Pictures and sightings: what people look at. The learner needs none of it.

A picture is kept as long as its vertex lives; sightings expire.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

from onlooker.core.errors import BadValue
from onlooker.home.database import Database, HomeDamaged

PNG = b"\x89PNG\r\n\x1a\n"
LARGEST = 4 << 20


@dataclass(frozen=True, slots=True)
class Seen:
    """One line of the diary: who was where, and when.

    >>> Seen(1, 0.0, "door", 7, "ana", 3).name
    'ana'
    """

    number: int
    time: float
    camera: str
    frame: int
    name: str | None
    vertex: int | None


def as_png(picture: object) -> bytes:
    """A small lossless picture, or a sentence about why it is none.

    >>> as_png(b"GIF89a")
    Traceback (most recent call last):
    ...
    onlooker.core.errors.BadValue: a picture is kept as PNG of at most 4194304 bytes, got b'GIF89a'
    """
    good = isinstance(picture, bytes) and picture.startswith(PNG) and len(picture) <= LARGEST
    if isinstance(picture, bytes) and good:
        return picture
    shown = repr(picture[:20] if isinstance(picture, bytes) else picture)
    raise BadValue(f"a picture is kept as PNG of at most {LARGEST} bytes, got {shown}")


def as_text(text: str) -> str:
    """Text that any database takes: half characters are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


class Album:
    """What a store keeps for people. `put` and the like belong into a transaction."""

    def __init__(self, store: Database) -> None:
        self._store = store

    def put(self, vertex: int, time: float, png: bytes) -> None:
        """The picture of a vertex; an older one gives way."""
        values = vertex, time, crc32(png), png
        self._store.change("INSERT OR REPLACE INTO pictures VALUES (?, ?, ?, ?)", values)

    def take_out(self, vertices: Iterable[int]) -> int:
        """Delete the pictures of vertices that are gone: how many there were."""
        sql = "DELETE FROM pictures WHERE vertex = ?"
        return sum(self._store.change(sql, (vertex,)) for vertex in vertices)

    def keep_only(self, vertices: Iterable[int]) -> int:
        """Delete the pictures of all others."""
        return self.take_out(set(self.vertices()) - set(vertices))

    def vertices(self) -> list[int]:
        """The vertices that have a picture."""
        return [row[0] for row in self._store.run("SELECT vertex FROM pictures ORDER BY vertex")]

    def picture(self, vertex: int) -> bytes | None:
        """The picture of a vertex, if one was kept."""
        rows = self._store.run("SELECT crc, png FROM pictures WHERE vertex = ?", (vertex,))
        return _checked(f"the picture of vertex {vertex}", rows[0]) if rows else None

    # ---- sightings

    def record_sighting(
        self, time: float, camera: str, frame: int, name: str | None, vertex: int | None
    ) -> None:
        """One line for the diary."""
        told = None if name is None else as_text(name)
        sql = "INSERT INTO sightings (time, camera, frame, name, vertex) VALUES (?, ?, ?, ?, ?)"
        with self._store.transaction():
            self._store.change(sql, (time, as_text(camera), frame, told, vertex))

    def sightings(self, after: int = 0, limit: int = 100) -> list[Seen]:
        """The diary, the oldest first."""
        sql = "SELECT * FROM sightings WHERE number > ? ORDER BY number LIMIT ?"
        return [Seen(*row) for row in self._store.run(sql, (after, limit))]

    def diary(
        self,
        *,
        before: int | None = None,
        limit: int = 100,
        name: str | None = None,
        camera: str | None = None,
    ) -> list[Seen]:
        """The newest lines first: those before a line, of somebody, of a camera."""
        wanted = {
            "number < ?": before,
            "name = ?": None if name is None else as_text(name),
            "camera = ?": None if camera is None else as_text(camera),
        }
        given = {test: value for test, value in wanted.items() if value is not None}
        where = f"WHERE {' AND '.join(given)} " if given else ""
        sql = f"SELECT * FROM sightings {where}ORDER BY number DESC LIMIT ?"
        return [Seen(*row) for row in self._store.run(sql, (*given.values(), limit))]

    def history(self, name: str, since: float, until: float, buckets: int) -> list[int]:
        """How often somebody was sighted in each of so many equal parts of a time."""
        width = (until - since) / buckets
        sql = (
            "SELECT min(?, CAST((time - ?) / ? AS INTEGER)) AS bucket, count(*) FROM sightings "
            "WHERE name = ? AND time >= ? AND time <= ? GROUP BY bucket"
        )
        rows = self._store.run(sql, (buckets - 1, since, width, as_text(name), since, until))
        counts = dict.fromkeys(range(buckets), 0) | {int(row[0]): int(row[1]) for row in rows}
        return list(counts.values())

    def expire(self, before: float, now: float) -> int:
        """Delete the sightings from before a time: how many.

        What was seen after now was seen by a clock that has been set back since, and counts as
        seen now: it is not kept for ever.
        """
        with self._store.transaction():
            self._store.change("UPDATE sightings SET time = ? WHERE time > ?", (now, now))
            return self._store.change("DELETE FROM sightings WHERE time < ?", (before,))

    def rename(self, name: str, to: str) -> int:
        """Another name in the diary: in how many lines. Within a transaction."""
        sql = "UPDATE sightings SET name = ? WHERE name = ?"
        return self._store.change(sql, (as_text(to), as_text(name)))

    def forget(self, name: str, vertices: Iterable[int]) -> int:
        """Delete what the diary says of somebody: how many lines. Within a transaction."""
        lines = self._store.change("DELETE FROM sightings WHERE name = ?", (as_text(name),))
        sql = "DELETE FROM sightings WHERE vertex = ?"
        return lines + sum(self._store.change(sql, (vertex,)) for vertex in vertices)


def _checked(what: str, row: tuple[int, bytes]) -> bytes:
    crc, png = row
    if crc32(png) != crc:
        raise HomeDamaged(f"{what} is not as it was written; it cannot be shown")
    return png
