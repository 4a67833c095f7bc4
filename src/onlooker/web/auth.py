"""The one token of a home, and the guard in front of the app that every connection passes first.

The guard checks, in this order: the Host header names this service (a foreign name that resolves
to this address is a DNS rebinding attack); the request was not sent by a page of another site; the
token is right where one is needed; the body is not larger than the limit. What it refuses it
answers itself; to all other answers it adds headers that tell browsers what a page may do.
"""

import asyncio
import hashlib
import hmac
import json
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from enum import Enum
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from threading import Lock
from typing import Self, TypeVar

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onlooker.core.errors import OnlookerError
from onlooker.core.files import OWNER_ONLY, replace_file

TOKEN_FILE = "token.json"
MEGABYTE = 1 << 20
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
MAX_CLIENTS = 1024
"""Clients that are remembered; the one not seen for longest is dropped first."""
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_BROWSER_CAMERAS = "/api/v1/browser/"
_LOGIN = {("/login", "GET"), ("/api/v1/session", "POST"), ("/api/v1/session", "DELETE")}

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
        "media-src 'self' blob:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(self), microphone=(), geolocation=()",
    "cache-control": "no-store",
}

DRAIN_SIZE, DRAIN_SECONDS = 1 << 16, 1.0
"""How many bytes of the body of a refused request are read, and for how long."""

_Value = TypeVar("_Value")


class TokenError(OnlookerError):
    """The file of the token cannot be read or written."""


class Refused(Exception):
    """A request that is refused, with the status code and the reason."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


class Token:
    """The token of a home, stored as a salted hash; its text is shown once, when it is created.

    A slow hash is not needed: nobody can try 256 random bits.
    """

    def __init__(self, salt: bytes, digest: bytes) -> None:
        self._salt, self._digest = salt, digest

    @classmethod
    def in_folder(cls, folder: Path, *, new: bool = False) -> tuple[Self, str | None]:
        """The token of a home, and its text if it was created now."""
        path = folder / TOKEN_FILE
        try:
            if new:
                path.unlink(missing_ok=True)
            if path.exists():
                return cls._load(path), None
            return cls._create(path)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TokenError(
                f"the token in {path} cannot be used ({error}); --new-token makes another"
            ) from error

    @classmethod
    def _load(cls, path: Path) -> Self:
        stored = json.loads(path.read_text(encoding="ascii"))
        return cls(bytes.fromhex(stored["salt"]), bytes.fromhex(stored["sha256"]))

    @classmethod
    def _create(cls, path: Path) -> tuple[Self, str]:
        text, salt = secrets.token_urlsafe(32), secrets.token_bytes(16)
        token = cls(salt, _digest(salt, text))
        stored = json.dumps({"salt": salt.hex(), "sha256": token._digest.hex()})
        replace_file(path, stored.encode("ascii"), mode=OWNER_ONLY)
        return token, text

    def matches(self, text: str) -> bool:
        """Whether this is the token, in constant time: the duration reveals nothing about it."""
        return hmac.compare_digest(_digest(self._salt, text), self._digest)


class Verdict(Enum):
    """The result of checking a client's token."""

    RIGHT = "right"
    MISSING = "missing"
    WRONG = "wrong"
    TOO_MANY = "too many wrong ones"


class TokenChecker:
    """Checks tokens, with a limit of wrong ones per client and of all clients together.

    The limit of all together does not apply to clients that have sent the right token before, so
    an attacker cannot lock the owner out. window is in seconds.
    """

    def __init__(
        self,
        token: Token,
        *,
        max_per_client: int = 5,
        max_in_total: int = 50,
        window: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._token, self._window, self._clock = token, window, clock
        self._max_per_client, self._max_in_total = max_per_client, max_in_total
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._all_failures: deque[float] = deque(maxlen=max_in_total)
        self._trusted: OrderedDict[str, None] = OrderedDict()
        self._lock = Lock()

    def check(self, client: str, text: str | None) -> Verdict:
        """Check the token that a client sent, and count it if it is wrong."""
        if not text:
            return Verdict.MISSING
        with self._lock:
            failures = self._failures.get(client, deque())
            if self._at_limit(failures, self._max_per_client):
                return Verdict.TOO_MANY
            total_reached = self._at_limit(self._all_failures, self._max_in_total)
            if total_reached and client not in self._trusted:
                return Verdict.TOO_MANY
            if self._token.matches(text):
                _remember(self._trusted, client, None)
                return Verdict.RIGHT
            now = self._clock()
            failures.append(now)
            self._all_failures.append(now)
            _remember(self._failures, client, failures)
            return Verdict.WRONG

    def matches(self, text: str | None) -> bool:
        """Whether this is the token, without counting: an old cookie is not an attack.

        It grants no access, and 256 random bits cannot be guessed with any number of attempts.
        """
        return bool(text) and self._token.matches(text or "")

    def _at_limit(self, times: deque[float], limit: int) -> bool:
        oldest = self._clock() - self._window
        while times and times[0] < oldest:
            times.popleft()
        return len(times) >= limit


class Guard:
    """The access rules of one service; every service has a token.

    public: the service listens beyond this computer; then reading needs the token, too.
    max_upload: the largest body of a request, in bytes.
    """

    def __init__(
        self,
        tokens: TokenChecker,
        *,
        hosts: Iterable[str] = (),
        public: bool = False,
        max_upload: int = 10 * MEGABYTE,
    ) -> None:
        self.public, self.max_upload = public, max_upload
        self._tokens = tokens
        self._hosts = LOOPBACK | {host.lower() for host in hosts}

    def check(self, scope: Scope) -> None:
        """Raise Refused if the request is not permitted."""
        headers = Headers(scope=scope)
        host = self._host(headers)
        _refuse_other_sites(scope, headers)
        if self._needs_token(scope, host):
            self.check_token(scope, token_in(headers))
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length[:20]) > self.max_upload:
            raise Refused(413, self.too_large)

    def check_token(self, scope: Scope, token: str | None) -> None:
        """Raise Refused if the token is not right."""
        client = scope["client"][0] if scope.get("client") else "-"
        verdict = self._tokens.check(client, token)
        if verdict is Verdict.TOO_MANY:
            raise Refused(429, "too many wrong tokens; wait a minute")
        if verdict is not Verdict.RIGHT:
            raise Refused(401, f"the token is {verdict.value}; it was printed at the first start")

    def is_signed_in(self, headers: Headers) -> bool:
        """Whether a request carries the right token; a wrong one is not counted."""
        return self._tokens.matches(token_in(headers))

    @property
    def too_large(self) -> str:
        """The message about a body beyond the limit."""
        return f"at most {self.max_upload} bytes are accepted"

    def _host(self, headers: Headers) -> str:
        given = headers.getlist("host")
        host = given[0].lower() if len(given) == 1 else ""
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if name in self._hosts or (self.public and _is_ip_address(name)):
            return name
        raise Refused(400, "this Host is not permitted; see `onlooker serve --allow`")

    def _needs_token(self, scope: Scope, host: str) -> bool:
        if _needs_no_token(scope):
            return False
        changes = scope["type"] == "http" and scope["method"] not in _SAFE_METHODS
        sends_frames = scope["type"] == "websocket" and scope["path"].startswith(_BROWSER_CAMERAS)
        local = host in LOOPBACK and _is_loopback(scope) and not self.public
        return changes or sends_frames or not local


class GuardMiddleware:
    """Hands what the guard permits over to an ASGI app, and answers the rest itself."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """One connection: the app's, once it is permitted."""
        if scope["type"] not in ("http", "websocket"):
            return self._app(scope, receive, send)
        try:
            self._guard.check(scope)
        except Refused as refused:
            return _refuse(refused, scope, receive, _with_headers(send))
        if scope["type"] == "websocket":
            return self._app(scope, receive, send)
        return self._app(scope, self._limited(receive), _with_headers(send))

    def _limited(self, receive: Receive) -> Receive:
        remaining = self._guard.max_upload

        async def limited() -> Message:
            nonlocal remaining
            message = await receive()
            remaining -= len(message.get("body", b""))
            if remaining < 0:
                raise HTTPException(413, self._guard.too_large)
            return message

        return limited


def token_in(headers: Headers) -> str | None:
    """The token of a request: a Bearer token, or the cookie of the page."""
    kind, _, text = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return text.strip() or None
    return cookie_parser(headers.get("cookie", "")).get(cookie_name(headers))


def cookie_name(headers: Headers) -> str:
    """The name of the cookie; it has the port, because cookies are shared between ports."""
    port = headers.get("host", "").rpartition(":")[2]
    return f"onlooker-{port}" if port.isdecimal() else "onlooker"


def _digest(salt: bytes, text: str) -> bytes:
    return hashlib.sha256(salt + text.encode("utf-8", "surrogatepass")).digest()


def _remember(table: OrderedDict[str, _Value], client: str, value: _Value) -> None:
    table.pop(client, None)
    table[client] = value
    while len(table) > MAX_CLIENTS:
        table.popitem(last=False)


def _needs_no_token(scope: Scope) -> bool:
    """Signing in and out, and the files of the page, which hold no data."""
    if scope["type"] != "http":
        return False
    path, method = scope["path"], scope["method"]
    page = path == "/" or path.startswith("/static/")
    return (path, method) in _LOGIN or (page and method in ("GET", "HEAD"))


def _refuse_other_sites(scope: Scope, headers: Headers) -> None:
    """A page of another site may link to the start page, and nothing else."""
    site = headers.get("sec-fetch-site", "none")
    visit = scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
    if site not in ("none", "same-origin") and not (visit and scope.get("method") == "GET"):
        raise Refused(403, "requests from pages of another site are refused")
    origin = headers.get("origin")
    own = {f"{scheme}://{headers['host'].lower()}" for scheme in ("http", "https")}
    if origin is not None and origin.lower() not in own:
        raise Refused(403, "requests from pages of another origin are refused")


def _is_ip_address(host: str) -> bool:
    """Whether a host is an IP address: unlike a name, no foreign DNS server can redirect it."""
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


async def _refuse(refused: Refused, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": refused.detail[:100]})
        return
    headers = {401: {"www-authenticate": "Bearer"}, 429: {"retry-after": "60"}}
    response = JSONResponse(
        {"detail": refused.detail}, refused.status, headers.get(refused.status, {})
    )
    response.headers["connection"] = "close"  # more of the body may still arrive
    with suppress(TimeoutError):
        await asyncio.wait_for(_drain(receive), DRAIN_SECONDS)
    await response(scope, receive, send)


async def _drain(receive: Receive) -> None:
    """Read the body of a refused request, up to the limit.

    Closing a connection with unread bytes resets it, and the client may never see the answer.
    """
    remaining, more = DRAIN_SIZE, True
    while more and remaining > 0:
        message = await receive()
        remaining -= len(message.get("body", b""))
        more = message.get("more_body", False)


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
