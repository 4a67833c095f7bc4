"""What a home was taught from a folder of people once, so that it is not taught again.

A service reads the folder at each start. Without this, whoever was forgotten, renamed, undone or
called wrong since would be back. So the home remembers what it was taught, as digests under a key
of its own: of every face with its name, and of every name. They hold neither: but who has the
folder of the home and guesses a name can check whether it was ever taught.
"""

import hashlib
import json
import secrets
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from onlooker.core.errors import BadValue
from onlooker.core.files import OWNER_ONLY, replace_file
from onlooker.home.database import NotSaved

FILE = "register.json"


class Register:
    """Opened in the folder of a home by whoever has that open, and written by `save`.

    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     register = Register(Path(folder))
    ...     register.add("ana", np.zeros(3))
    ...     register.save()
    ...     Register(Path(folder)).knows("ana"), register.knows("ana", np.ones(3))
    (True, False)
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._key, self._taught = secrets.token_bytes(32), set[str]()
        self._changed = True
        if self._path.exists():
            self._key, self._taught = _read(self._path)
            self._changed = False

    @property
    def identity(self) -> str:
        """A name for this home that says nothing about it, the same at every start."""
        return self._digest(b"identity")[:16]

    def knows(self, name: str, vector: NDArray[Any] | None = None) -> bool:
        """Whether that face was taught by that name; without a face, whether any was."""
        return self._digest(_written(name, vector)) in self._taught

    def left_out(self, names: Iterable[str], known: Collection[str]) -> list[str]:
        """Who was taught once and is not known any more: forgotten, renamed or undone by a person.

        A folder that still has the pictures does not know that.
        """
        return [name for name in names if name not in known and self.knows(name)]

    def add(self, name: str, vector: NDArray[Any]) -> None:
        """That face is taught."""
        new = {self._digest(_written(name, vector)), self._digest(_written(name, None))}
        self._changed |= not new <= self._taught
        self._taught |= new

    def save(self) -> None:
        """Write what has changed; all of it or nothing."""
        if not self._changed:
            return
        kept = json.dumps({"key": self._key.hex(), "taught": sorted(self._taught)})
        try:
            replace_file(self._path, kept.encode("ascii"), mode=OWNER_ONLY)
        except OSError as error:
            raise NotSaved(f"cannot write {self._path}: {error.strerror or error}") from error
        self._changed = False

    def _digest(self, what: bytes) -> str:
        return hashlib.blake2b(what, key=self._key, digest_size=16).hexdigest()


def _written(name: str, vector: NDArray[Any] | None) -> bytes:
    called = b"name " + name.encode("utf-8", "surrogatepass")
    return called if vector is None else called + b"\0" + vector.tobytes()


def _read(path: Path) -> tuple[bytes, set[str]]:
    try:
        kept = json.loads(path.read_text(encoding="ascii"))
        key, taught = bytes.fromhex(kept["key"]), set(map(str, kept["taught"]))
        if len(key) != 32:
            raise ValueError("its key is cut short")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadValue(
            f"{path} cannot be read ({error}), and so nobody can say who was forgotten; delete "
            "it, and everybody in the folder of people is taught again"
        ) from error
    return key, taught
