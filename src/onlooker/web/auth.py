"""Who may ask what: the guard that every request and every socket passes before the app.

In order: the Host must be ours (a foreign name that points here is an attack), no other site may
ask through somebody's browser, the token must be right where one is needed, and no body may be
larger than the limit.

The one token: made at first start, told once, kept as a salted hash; and who may guess it.
"""

import hashlib
import hmac
import json
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from enum import Enum
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from threading import Lock
from typing import Self, TypeVar

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import Scope

from onlooker.core.errors import OnlookerError
from onlooker.core.files import OWNER_ONLY, replace_file

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
        replace_file(path, kept.encode("ascii"), mode=OWNER_ONLY)
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


MEGABYTE = 1 << 20
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_SAFE = ("GET", "HEAD", "OPTIONS")
_PUSHED = "/api/v1/browser/"
_LOGIN = {("/login", "GET"), ("/api/v1/session", "POST"), ("/api/v1/session", "DELETE")}


class Refused(Exception):
    """What is answered instead."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


class Guard:
    """The rules of one service.

    There is none without a token. public: whether it listens beyond this computer; then
    everything needs the token, also what only reads.
    """

    def __init__(
        self,
        door: Door,
        *,
        hosts: Iterable[str] = (),
        public: bool = False,
        max_upload: int = 10 * MEGABYTE,
    ) -> None:
        self.door, self.public, self.max_upload = door, public, max_upload
        self._hosts = LOOPBACK | {host.lower() for host in hosts}

    def check(self, scope: Scope) -> None:
        """Raise Refused if this must not pass."""
        headers = Headers(scope=scope)
        host = self._host(headers)
        _refuse_other_sites(scope, headers)
        if self._needs_token(scope, host):
            self.admit(scope, token_in(headers))
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length[:20]) > self.max_upload:
            raise Refused(413, self.too_large)

    def admit(self, scope: Scope, token: str | None) -> None:
        """Raise Refused if the token is not right."""
        client = scope["client"][0] if scope.get("client") else "-"
        verdict = self.door.look(client, token)
        if verdict is Verdict.LATER:
            raise Refused(429, "too many wrong tokens; wait a minute")
        if verdict is not Verdict.RIGHT:
            raise Refused(401, f"the token is {verdict.value}; it was printed at the first start")

    @property
    def too_large(self) -> str:
        """What is said of a body beyond the limit."""
        return f"at most {self.max_upload} bytes are taken"

    def _host(self, headers: Headers) -> str:
        given = headers.getlist("host")
        host = given[0].lower() if len(given) == 1 else ""
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if name in self._hosts or (self.public and _is_address(name)):
            return name
        raise Refused(400, "this service does not go by that Host; see `onlooker serve --allow`")

    def _needs_token(self, scope: Scope, host: str) -> bool:
        if _is_for_everybody(scope):
            return False
        changes = scope["type"] == "http" and scope["method"] not in _SAFE
        pushes = scope["type"] == "websocket" and scope["path"].startswith(_PUSHED)
        near = host in LOOPBACK and _is_loopback(scope) and not self.public
        return changes or pushes or not near


def _is_for_everybody(scope: Scope) -> bool:
    """To bring the token or let go of it nobody needs it, nor for the page, which holds no data."""
    if scope["type"] != "http":
        return False
    path, method = scope["path"], scope["method"]
    page = path == "/" or path.startswith("/static/")
    return (path, method) in _LOGIN or (page and method in ("GET", "HEAD"))


def token_in(headers: Headers) -> str | None:
    """The token that a request carries: as Bearer, or in the cookie of the page."""
    kind, _, text = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return text.strip() or None
    return cookie_parser(headers.get("cookie", "")).get(cookie_name(headers))


def cookie_name(headers: Headers) -> str:
    """Cookies do not know ports: two services on one computer must not share theirs."""
    port = headers.get("host", "").rpartition(":")[2]
    return f"onlooker-{port}" if port.isdecimal() else "onlooker"


def _refuse_other_sites(scope: Scope, headers: Headers) -> None:
    """A page of another site may link to the first page here, and nothing else."""
    site = headers.get("sec-fetch-site", "none")
    visit = scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
    if site not in ("none", "same-origin") and not (visit and scope.get("method") == "GET"):
        raise Refused(403, "another site asks through your browser; that is refused")
    origin = headers.get("origin")
    own = {f"{scheme}://{headers['host'].lower()}" for scheme in ("http", "https")}
    if origin is not None and origin.lower() not in own:
        raise Refused(403, "another origin asks through your browser; that is refused")


def _is_address(host: str) -> bool:
    """An address, which no foreign name server can point here, in contrast to a name."""
    try:
        return bool(ip_address(host.strip("[]")))
    except ValueError:
        return False


def _is_loopback(scope: Scope) -> bool:
    try:
        address = ip_address((scope.get("client") or ("", 0))[0])
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
