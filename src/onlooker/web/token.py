"""The one token: made at first start, told once, kept as a salted hash; and who may guess it."""

import hashlib
import hmac
import json
import os
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from threading import Lock
from typing import Self, TypeVar

from onlooker.core.errors import OnlookerError

FILE = "token.json"

_Value = TypeVar("_Value")


class TokenError(OnlookerError):
    """A token that cannot be read or written."""


class Token:
    """Knows the token when it sees it, without keeping it.

    256 random bits need no slow hash: nobody can try them all.
    """

    def __init__(self, salt: bytes, digest: bytes) -> None:
        self._salt, self._digest = salt, digest

    @classmethod
    def in_folder(cls, folder: Path, *, new: bool = False) -> tuple[Self, str | None]:
        """The token of a home, and its text if it was made just now."""
        path = folder / FILE
        try:
            if new:
                path.unlink(missing_ok=True)
            if path.exists():
                return cls._read(path), None
            return cls._make(path)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TokenError(
                f"the token in {path} cannot be used ({error}); --new-token makes another"
            ) from error

    @classmethod
    def _read(cls, path: Path) -> Self:
        kept = json.loads(path.read_text(encoding="ascii"))
        return cls(bytes.fromhex(kept["salt"]), bytes.fromhex(kept["sha256"]))

    @classmethod
    def _make(cls, path: Path) -> tuple[Self, str]:
        text, salt = secrets.token_urlsafe(32), secrets.token_bytes(16)
        token = cls(salt, _digest(salt, text))
        kept = json.dumps({"salt": salt.hex(), "sha256": token._digest.hex()})
        unfinished = path.with_suffix(".new")
        unfinished.unlink(missing_ok=True)
        file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(file, kept.encode("ascii"))
            os.fsync(file)
        finally:
            os.close(file)
        unfinished.replace(path)
        return token, text

    def is_(self, text: str) -> bool:
        """Whether this is it, in a time that does not say how much of it is right."""
        return hmac.compare_digest(_digest(self._salt, text), self._digest)


def _digest(salt: bytes, text: str) -> bytes:
    return hashlib.sha256(salt + text.encode("utf-8", "surrogatepass")).digest()


class Verdict(Enum):
    """What came of a look at somebody's token."""

    RIGHT = "right"
    MISSING = "missing"
    WRONG = "wrong"
    LATER = "too many wrong ones"


class Door:
    """Lets the right token in, and makes those wait who bring wrong ones.

    The limit for all together does not hold for clients that have brought the right one: nobody
    can lock the owner out.
    """

    def __init__(
        self,
        token: Token,
        *,
        each: int = 5,
        together: int = 50,
        within: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._token, self._each, self._together = token, each, together
        self._within, self._clock = within, clock
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._all: deque[float] = deque(maxlen=together)
        self._trusted: OrderedDict[str, None] = OrderedDict()
        self._lock = Lock()

    def look(self, client: str, text: str | None) -> Verdict:
        """Whether a client may come in."""
        if not text:
            return Verdict.MISSING
        with self._lock:
            mine = self._failures.get(client, deque())
            stranger = client not in self._trusted
            if self._full(mine, self._each) or (stranger and self._full(self._all, self._together)):
                return Verdict.LATER
            if self._token.is_(text):
                _remember(self._trusted, client, None)
                return Verdict.RIGHT
            now = self._clock()
            mine.append(now)
            self._all.append(now)
            _remember(self._failures, client, mine)
            return Verdict.WRONG

    def knows(self, text: str | None) -> bool:
        """Whether this is the token, without counting: a page with an old cookie is no burglar.

        Nobody comes in by it, and 256 random bits cannot be guessed however often one may ask.
        """
        return bool(text) and self._token.is_(text or "")

    def _full(self, times: deque[float], most: int) -> bool:
        horizon = self._clock() - self._within
        while times and times[0] < horizon:
            times.popleft()
        return len(times) >= most


def _remember(table: OrderedDict[str, _Value], client: str, value: _Value) -> None:
    table.pop(client, None)
    table[client] = value
    while len(table) > 1024:
        table.popitem(last=False)
