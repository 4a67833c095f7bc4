"""The guard in front of the app, which every connection passes first.

The guard checks, in this order: nobody but a trusted proxy speaks for others; the Host header names
this service (a foreign name that resolves to this address is a DNS rebinding attack); the request
was not sent by a page of another site; who asks is signed in, for all that holds data; the body is
not larger than the limit. What it refuses it answers itself; to all other answers it adds headers
that tell browsers what a page may do.
"""

import asyncio
import re
from collections.abc import Awaitable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Self

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onlooker.core.errors import BadValue
from onlooker.web.credentials import BrowserSession, Credentials, Verdict

MEGABYTE = 1 << 20
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
ASSERTIONS = ("for", "proto", "host", "prefix")
"""What a proxy may say of a request, in headers called X-Forwarded-For and so on."""
SIGNED_IN = "signed_in"
"""Set in the state of a request that the guard permits, for the server, which closes others."""
STILL_SIGNED_IN = "still_signed_in"
"""Beside it, a function: whether that is still so. Sessions end, and tokens are replaced."""
VISIT = "visit"
"""Where the state of a request has its `Requester`."""
_PREFIX = re.compile(r"(?:/[A-Za-z0-9_~-]+)*/?")
_OPEN = {
    ("/", "GET"),
    ("/", "HEAD"),
    ("/api/v1/alive", "GET"),
    ("/api/v1/session", "GET"),
    ("/api/v1/session", "POST"),
    ("/api/v1/session", "DELETE"),
}
"""What needs no token, beside the files of the page: none of it holds data."""

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


class Refused(Exception):
    """A request that is refused, with the status code and the reason."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


@dataclass(frozen=True, slots=True)
class TrustedProxy:
    """A reverse proxy in front of the service, and what it may say about requests."""

    address: IPv4Address | IPv6Address
    may_assert: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> Self:
        """From `ADDRESS=ASSERTION,...`.

        >>> TrustedProxy.parse("127.0.0.1=for,proto").may_assert == {"for", "proto"}
        True
        """
        where, _, what = text.partition("=")
        named = [each.strip() for each in what.split(",") if each.strip()]
        unknown = [each for each in named if each not in ASSERTIONS]
        address = _plain_address(where.strip().strip("[]"))
        if address is None or unknown or not named:
            raise BadValue(
                f"a trusted proxy is written ADDRESS={','.join(ASSERTIONS)} with those of the four "
                f"that it sets itself, for example 127.0.0.1=for,proto; got {text!r}"
            )
        return cls(address, frozenset(named))


@dataclass(frozen=True, slots=True)
class Requester:
    """Who asks, and for what they hold this service; as a trusted proxy says, if there is one."""

    client: str
    host: str
    """The name and port of this service, in small letters."""
    secure: bool
    """Whether the browser uses TLS."""
    prefix: str = ""
    """The path under which a proxy offers the service."""
    session: BrowserSession | None = field(default=None, repr=False)

    @property
    def cookie_name(self) -> str:
        """The name of the cookie; it has the port, because cookies are shared between ports.

        The beginnings are promises that browsers enforce: no other site and no unencrypted
        connection can set a cookie of that name.
        """
        port = self.host.rpartition(":")[2]
        name = f"onlooker-{port}" if port.isdecimal() else "onlooker"
        if not self.secure:
            return name
        return f"__Secure-{name}" if self.prefix else f"__Host-{name}"


class Guard:
    """The access rules of one service.

    public: the service listens beyond this computer; then its IP addresses are names of it, too.
    max_upload: the largest body of a request, in bytes.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        hosts: Iterable[str] = (),
        public: bool = False,
        proxies: Iterable[TrustedProxy] = (),
        max_upload: int = 32 * MEGABYTE,
    ) -> None:
        self.credentials, self.public, self.max_upload = credentials, public, max_upload
        self._hosts = LOOPBACK | {host.lower() for host in hosts}
        self._proxies = {proxy.address: proxy for proxy in proxies}

    def check(self, scope: Scope) -> None:
        """Raise Refused if the request is not permitted; else its state has the `Requester`."""
        headers = Headers(scope=scope)
        visit = self._visit(scope, headers)
        self._check_host(visit)
        _refuse_other_sites(scope, headers, visit)
        cookie = cookie_parser(headers.get("cookie", "")).get(visit.cookie_name)
        visit = replace(visit, session=self.credentials.sessions.find(cookie))
        state = scope.setdefault("state", {})
        state[VISIT], state[SIGNED_IN] = visit, visit.session is not None
        if not state[SIGNED_IN] and not _is_open(scope):
            self._check_token(visit, _bearer_token(headers))
            state[SIGNED_IN] = True
        state[STILL_SIGNED_IN] = self.credentials.permission(visit.session)
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length[:20]) > self.max_upload:
            raise Refused(413, self.too_large)

    def begin_session(self, visit: Requester, text: str, agent: str) -> str:
        """The cookie of a new session; Refused if this is neither the token nor a code."""
        verdict, cookie = self.credentials.sign_in(visit.client, text, agent)
        _refuse_unless_right(verdict)
        return cookie

    def is_signed_in(self, visit: Requester, headers: Headers) -> bool:
        """Whether a request carries a session or the right token; a wrong one is not counted."""
        token = _bearer_token(headers)
        return visit.session is not None or (
            token is not None and self.credentials.token.matches(token)
        )

    @property
    def too_large(self) -> str:
        """The message about a body beyond the limit."""
        return f"at most {self.max_upload // MEGABYTE} MB are accepted; make it smaller first"

    def _check_token(self, visit: Requester, token: str | None) -> None:
        _refuse_unless_right(self.credentials.check(visit.client, token))

    def _visit(self, scope: Scope, headers: Headers) -> Requester:
        """Who asks, for whom; forwarded requests only from a trusted proxy."""
        given = headers.getlist("host")
        host = given[0].lower() if len(given) == 1 else ""
        client = str((scope.get("client") or ("-",))[0])
        visit = Requester(client, host, scope.get("scheme") in ("https", "wss"))
        names = {name for name in headers if name == "forwarded" or name.startswith("x-forwarded-")}
        if not names:
            return visit
        address = _plain_address(client)
        proxy = None if address is None else self._proxies.get(address)
        if proxy is None:
            raise Refused(400, "forwarded requests are refused; see `serve --trusted-proxy`")
        if "forwarded" in names:
            raise Refused(400, "Forwarded is not understood; let the proxy send X-Forwarded-For")
        for name in ASSERTIONS:
            if f"x-forwarded-{name}" in names:
                if name not in proxy.may_assert:
                    raise Refused(400, f"the proxy may not assert {name}; see `--trusted-proxy`")
                visit = _asserted(visit, name, headers.getlist(f"x-forwarded-{name}"))
        return visit

    def _check_host(self, visit: Requester) -> None:
        host = visit.host
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if name not in self._hosts and not (self.public and _is_ip_address(name)):
            raise Refused(400, "this Host is not permitted; see `onlooker serve --allow`")


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


def _asserted(visit: Requester, name: str, values: list[str]) -> Requester:
    """The visit with what a proxy says; it appends to a list, so its own word is the last."""
    value = values[-1].rpartition(",")[2].strip()
    match name:
        case "for":
            address = _plain_address(value)
            if address is not None:
                return replace(visit, client=str(address))
        case "proto":
            if value.lower() in ("http", "https"):
                return replace(visit, secure=value.lower() == "https")
        case "host":
            if value and len(values) == 1 and "," not in values[0]:
                return replace(visit, host=value.lower())
        case _:
            if _PREFIX.fullmatch(value):
                return replace(visit, prefix=value.rstrip("/"))
    raise Refused(400, f"the proxy sends an X-Forwarded-{name.capitalize()} that is not understood")


def _refuse_unless_right(verdict: Verdict) -> None:
    if verdict is Verdict.TOO_MANY:
        raise Refused(429, "too many wrong tokens; wait a minute, or use the right one")
    if verdict is not Verdict.RIGHT:
        raise Refused(401, f"the token is {verdict.value}; `onlooker login` prints a link")


def _bearer_token(headers: Headers) -> str | None:
    kind, _, text = headers.get("authorization", "").partition(" ")
    return text.strip() or None if kind.lower() == "bearer" else None


def _is_open(scope: Scope) -> bool:
    """Signing in and out, a sign of life, and the files of the page, which hold no data."""
    if scope["type"] != "http":
        return False
    path, method = scope["path"], scope["method"]
    page = path.startswith("/static/") and method in ("GET", "HEAD")
    return page or (path, method) in _OPEN


def _refuse_other_sites(scope: Scope, headers: Headers, visit: Requester) -> None:
    """A page of another site may link to the start page, and nothing else."""
    site = headers.get("sec-fetch-site", "none")
    link = scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
    if site not in ("none", "same-origin") and not (link and scope.get("method") == "GET"):
        raise Refused(403, "requests from pages of another site are refused")
    origin = headers.get("origin")
    own = {f"{scheme}://{visit.host}" for scheme in ("http", "https")}
    if origin is not None and origin.lower() not in own:
        raise Refused(403, "requests from pages of another origin are refused")


def _is_ip_address(host: str) -> bool:
    """Whether a host is an IP address: unlike a name, no foreign DNS server can redirect it."""
    return _plain_address(host.strip("[]")) is not None


def _plain_address(text: str) -> IPv4Address | IPv6Address | None:
    """An IP address; one of version 4 that is written as version 6 is the same address."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


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
