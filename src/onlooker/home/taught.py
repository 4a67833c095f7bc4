"""Which faces were taught from a folder of people, so that each is taught once.

A service reads the folder at every start. Without this record, whoever was forgotten, renamed,
undone or corrected since would come back. It stores digests under a secret key of its own, of every
face with its name and of every name. They contain neither, but whoever has the database and guesses
a name can check whether it was ever taught.
"""

import hashlib
import secrets
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from numpy.typing import NDArray

from onlooker.home.database import Database, HomeDamaged

KEY_BYTES = 32
_KEY = "taught key"


class NamedVector(Protocol):
    """A vector with a name to teach it under."""

    @property
    def name(self) -> str:
        """Who it is."""

    @property
    def vector(self) -> NDArray[Any]:
        """The face."""


_Face = TypeVar("_Face", bound=NamedVector)


class Untaught(NamedTuple, Generic[_Face]):
    """What a folder of people has that was never taught."""

    faces: list[_Face]
    forgotten: list[str]
    """Names that were taught once and are not known any more, because a person forgot, renamed or
    undid them: the folder still has the pictures and cannot know that."""


class TaughtFaces:
    """The table of digests.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> class Face(NamedTuple):
    ...     name: str
    ...     vector: NDArray[Any]
    >>> ana, ben = Face("ana", np.zeros(2)), Face("ben", np.ones(2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     database = Database(Path(folder, "onlooker.db"))
    ...     database.upgrade()
    ...     taught = TaughtFaces(database)
    ...     taught.add([ana])
    ...     faces, forgotten = taught.untaught([ana, ben], known={"cid"})
    >>> [face.name for face in faces], forgotten
    (['ben'], ['ana'])
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def identity(self) -> str:
        """A name for this home that says nothing about it, the same at every start."""
        return self._digest(b"identity")[:16]

    def untaught(self, faces: Sequence[_Face], known: Collection[str]) -> Untaught[_Face]:
        """The faces that were never taught, but for people who were forgotten since."""
        names = dict.fromkeys(face.name for face in faces)
        forgotten = [name for name in names if name not in known and self._has(name, None)]
        new = [
            face
            for face in faces
            if face.name not in forgotten and not self._has(face.name, face.vector)
        ]
        return Untaught(new, forgotten)

    def add(self, faces: Iterable[NamedVector]) -> None:
        """Record that these faces were taught; durable on return, or part of a transaction."""
        with self._database.transaction():
            for face in faces:
                for vector in (face.vector, None):
                    self._insert(self._digest(_content(face.name, vector)))

    def restore(self, key: bytes, digests: Iterable[str]) -> None:
        """Take over a record that was stored elsewhere, within a transaction."""
        self._database.execute("INSERT OR REPLACE INTO secrets VALUES (?, ?)", (_KEY, key))
        for digest in digests:
            self._insert(digest)

    def _has(self, name: str, vector: NDArray[Any] | None) -> bool:
        digest = self._digest(_content(name, vector))
        return bool(self._database.query("SELECT 1 FROM taught WHERE digest = ?", (digest,)))

    def _insert(self, digest: str) -> None:
        self._database.execute("INSERT OR IGNORE INTO taught VALUES (?)", (digest,))

    def _digest(self, content: bytes) -> str:
        return hashlib.blake2b(content, key=self._key(), digest_size=16).hexdigest()

    def _key(self) -> bytes:
        rows = self._database.query("SELECT value FROM secrets WHERE name = ?", (_KEY,))
        if not rows:
            key = secrets.token_bytes(KEY_BYTES)
            self._database.execute("INSERT INTO secrets VALUES (?, ?)", (_KEY, key))
            return key
        key = bytes(rows[0][0])
        if len(key) != KEY_BYTES:
            raise HomeDamaged("the key of the taught faces is damaged; restore a backup")
        return key


def _content(name: str, vector: NDArray[Any] | None) -> bytes:
    named = b"name " + name.encode("utf-8", "surrogatepass")
    return named if vector is None else named + b"\0" + vector.tobytes()
