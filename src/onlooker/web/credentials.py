"""What proves to the service who asks: the token, sessions of browsers, and one-time codes.

All three are random and stored as hashes, in files of the home that only its owner may read. The
token is for programs. A code begins a session, once, within a quarter of an hour: it can stand in a
link, and in the log of whoever started the service. A session is a cookie; it can be ended here.
"""

import hashlib
import hmac
import json
import logging
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Self
from zlib import crc32

from onlooker.core.errors import OnlookerError
from onlooker.core.files import OWNER_ONLY, refuse_irregular, replace_file

TOKEN_FILE, SESSIONS_FILE, LOGIN_FOLDER = "token.json", "sessions.json", "login"
ADDRESS_FILE = "address"
"""In the folder of the codes: where the service listens, for `onlooker login`."""
CODE_SECONDS = 900.0
SESSION_SECONDS = 30 * 24 * 3600.0
MAX_SESSIONS = 64
"""Sessions at a time; the one not used for longest is ended first."""
MAX_CLIENTS = 1024
"""Clients whose wrong tokens are counted; the one not seen for longest is dropped first."""
MAX_CODES = 20
"""Codes that were not used yet; older ones stop working."""

log = logging.getLogger(__name__)


class TokenError(OnlookerError):
    """The file of the token cannot be read or written."""


class Token:
    """The token of a home, stored as a salted hash; its text is shown once, when it is created.

    A slow hash is not needed: nobody can try 256 random bits. The file is read again when it was
    replaced, because `onlooker login --new-token` may do that while the service runs.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._version: tuple[int, int] | None = None
        self._salt, self._digest = b"", b""
        self._read()

    @classmethod
    def in_folder(cls, folder: Path, *, new: bool = False) -> tuple[Self, str | None]:
        """The token of a home, and its text if it was created now."""
        path, text = folder / TOKEN_FILE, None
        try:
            if new or not path.exists():
                discard_codes(folder)  # a link in a log would sign in under the new token
                text, salt = secrets.token_urlsafe(32), secrets.token_bytes(16)
                digest = _digest(text, salt)
                crc = crc32(salt + digest)
                stored = {"salt": salt.hex(), "sha256": digest.hex(), "crc": crc}
                replace_file(path, json.dumps(stored).encode("ascii"), mode=OWNER_ONLY)
            return cls(path), text
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TokenError(
                f"the token in {path} cannot be used ({error}); "
                "onlooker login --new-token makes another"
            ) from error

    @property
    def identity(self) -> str:
        """Changes with the token: what was granted under an earlier one is void."""
        self._refresh()
        return self._salt.hex()

    def matches(self, text: str) -> bool:
        """Whether this is the token, in constant time: the duration reveals nothing about it."""
        self._refresh()
        return hmac.compare_digest(_digest(text, self._salt), self._digest)

    def _refresh(self) -> None:
        try:
            if self._version_on_disk() != self._version:
                self._read()
        except (OSError, ValueError, KeyError, TypeError) as error:
            if self._digest:  # said once, not for each request
                log.warning("the token in %s cannot be used: %s", self._path, error)
            self._salt, self._digest, self._version = b"", b"", None

    def _read(self) -> None:
        version = self._version_on_disk()
        stored = json.loads(self._path.read_text(encoding="ascii"))
        salt, digest = (bytes.fromhex(stored[key]) for key in ("salt", "sha256"))
        if not salt or stored.get("crc", crc32(salt + digest)) != crc32(salt + digest):
            raise ValueError("it is damaged")  # otherwise the right token would be called wrong
        self._salt, self._digest, self._version = salt, digest, version

    def _version_on_disk(self) -> tuple[int, int]:
        refuse_irregular(self._path)  # reading a pipe would wait for ever
        about = self._path.stat()
        return about.st_mtime_ns, about.st_ino


# ---- one-time codes


def new_code(folder: Path) -> str:
    """A code that signs in once, within `CODE_SECONDS`; for whoever may write into the home."""
    codes = folder / LOGIN_FOLDER
    try:
        codes.mkdir(mode=0o700, exist_ok=True)
        _discard_old_codes(codes)
        text = secrets.token_urlsafe(16)
        replace_file(codes / _code_file(text), str(time.time() + CODE_SECONDS).encode("ascii"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise TokenError(f"cannot write a code into {codes}: {reason}") from error
    return text


def redeem_code(folder: Path, text: str) -> bool:
    """Whether this code exists and has not expired; afterwards it is gone.

    Removing the file decides: of two who send the same code one succeeds.
    """
    path = folder / LOGIN_FOLDER / _code_file(text)
    try:
        expires = float(path.read_text(encoding="ascii"))
        path.unlink()
    except (OSError, ValueError):
        return False
    return 0.0 <= expires - time.time() <= CODE_SECONDS


def discard_codes(folder: Path) -> None:
    """No code that was not used yet works any more."""
    for path in (folder / LOGIN_FOLDER).glob("*.code"):
        path.unlink(missing_ok=True)


def write_address(folder: Path, address: str) -> None:
    """Note where the service listens."""
    path = folder / LOGIN_FOLDER / ADDRESS_FILE
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        replace_file(path, address.encode("utf-8"))
    except OSError as error:
        raise TokenError(f"cannot write {path}: {error.strerror or error}") from error


def read_address(folder: Path) -> str | None:
    """Where the service listens, or listened last."""
    path = folder / LOGIN_FOLDER / ADDRESS_FILE
    try:
        refuse_irregular(path)
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _discard_old_codes(codes: Path) -> None:
    """What has expired, and the oldest where there are too many."""
    found = sorted(codes.glob("*.code"), key=lambda path: path.stat().st_mtime)
    expired = [path for path in found if time.time() - path.stat().st_mtime > CODE_SECONDS]
    for path in {*expired, *found[: max(0, len(found) - MAX_CODES + 1)]}:
        path.unlink(missing_ok=True)


def _code_file(text: str) -> str:
    return f"{_digest(text).hex()}.code"


# ---- sessions


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A browser that is signed in."""

    digest: str
    """The hash of the cookie."""
    granted: str
    """The identity of the token under which it began."""
    began: float
    used: float
    agent: str
    """What the browser says it is."""
    address: str

    @property
    def id(self) -> str:
        """For lists; it does not sign in."""
        return self.digest[:16]


class Sessions:
    """The sessions of one home, in memory and in a file; safe to use from several threads."""

    def __init__(self, folder: Path, token: Token) -> None:
        self._path, self._token, self._lock = folder / SESSIONS_FILE, token, Lock()
        self._sessions = {session.digest: session for session in self._stored()}

    def begin(self, agent: str, address: str) -> str:
        """A new session; returns the text of its cookie."""
        text, now = secrets.token_urlsafe(32), time.time()
        readable = "".join(each for each in agent if each.isprintable())[:200]
        session = BrowserSession(
            _digest(text).hex(), self._token.identity, now, now, readable, address
        )
        with self._lock:
            self._sessions[session.digest] = session
            by_use = sorted(self._valid(), key=lambda each: each.used)
            self._sessions = {each.digest: each for each in by_use[-MAX_SESSIONS:]}
            self._write()
        return text

    def find(self, text: str | None) -> BrowserSession | None:
        """The session of this cookie; None if there is none, or it has ended."""
        if not text:
            return None
        with self._lock:
            session = self._sessions.get(_digest(text).hex())
            if session is None or not self._is_valid(session):
                return None
            session = self._sessions[session.digest] = replace(session, used=time.time())
            return session

    def lasts(self, session: BrowserSession) -> bool:
        """Whether a session has not ended."""
        with self._lock:
            return session.digest in self._sessions and self._is_valid(session)

    def listed(self) -> list[BrowserSession]:
        """Those that have not ended, the one used last first."""
        with self._lock:
            return sorted(self._valid(), key=lambda each: -each.used)

    def end(self, id: str) -> bool:
        """End one; whether there was one."""
        with self._lock:
            found = [session for session in self._valid() if session.id == id]
            for session in found:
                del self._sessions[session.digest]
            if found:
                self._write()
            return bool(found)

    def _valid(self) -> list[BrowserSession]:
        return [session for session in self._sessions.values() if self._is_valid(session)]

    def _is_valid(self, session: BrowserSession) -> bool:
        fresh = 0 <= time.time() - session.began < SESSION_SECONDS
        return fresh and session.granted == self._token.identity

    def _write(self) -> None:
        rows = [asdict(session) for session in self._sessions.values()]
        try:
            replace_file(self._path, json.dumps(rows).encode("ascii"), mode=OWNER_ONLY)
        except OSError as error:  # sessions work until the service ends
            log.warning("cannot store the sessions in %s: %s", self._path, error)

    def _stored(self) -> list[BrowserSession]:
        try:
            refuse_irregular(self._path)
            rows = json.loads(self._path.read_text(encoding="ascii"))
            return [BrowserSession(**row) for row in rows]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError) as error:
            log.warning("everybody has to sign in again: %s: %s", self._path, error)
            return []


# ---- all of it


class Verdict(Enum):
    """The result of checking a client's token."""

    RIGHT = "right"
    MISSING = "missing"
    WRONG = "wrong"
    TOO_MANY = "too many wrong ones"


class Credentials:
    """Token, codes and sessions of one home, with a limit of wrong tokens per client.

    The limit spares work, and never refuses the right token: whoever shares an address with an
    attacker is not locked out, and nobody can guess 256 random bits. window is in seconds.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_wrong: int = 5,
        window: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder = folder
        self.token, _ = Token.in_folder(folder)
        self.sessions = Sessions(folder, self.token)
        self._max_wrong, self._window, self._clock = max_wrong, window, clock
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = Lock()

    def check(self, client: str, text: str | None) -> Verdict:
        """Check the token that a client sent, and count it if it is wrong."""
        if not text:
            return Verdict.MISSING
        if self.token.matches(text):
            return Verdict.RIGHT
        return self._wrong(client)

    def permission(self, session: BrowserSession | None) -> Callable[[], bool]:
        """Says, whenever it is called, whether a session lasts; without one, the token of now."""
        if session is not None:
            return partial(self.sessions.lasts, session)
        identity = self.token.identity
        return lambda: self.token.identity == identity

    def sign_in(self, client: str, text: str, agent: str) -> tuple[Verdict, str]:
        """Begin a session with the token or with a code; the cookie, if that was right."""
        if redeem_code(self.folder, text) or self.token.matches(text):
            return Verdict.RIGHT, self.sessions.begin(agent, client)
        return self._wrong(client), ""

    def _wrong(self, client: str) -> Verdict:
        now = self._clock()
        with self._lock:
            failures = self._failures.pop(client, deque())
            while failures and failures[0] < now - self._window:
                failures.popleft()
            limited = len(failures) >= self._max_wrong
            if not limited:
                failures.append(now)
            self._failures[client] = failures
            while len(self._failures) > MAX_CLIENTS:
                self._failures.popitem(last=False)
        return Verdict.TOO_MANY if limited else Verdict.WRONG


def _digest(text: str, salt: bytes = b"") -> bytes:
    return hashlib.sha256(salt + text.encode("utf-8", "surrogatepass")).digest()
