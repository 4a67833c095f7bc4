"""The middleware in front of the app: the guard, the upload limit, the security headers."""

import asyncio
from contextlib import suppress

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onlooker.web.auth import Guard, Refused

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


class GuardMiddleware:
    """Passes what the guard permits on to an ASGI app, and answers the rest itself."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            self._guard.check(scope)
        except Refused as refused:
            await _refuse(refused, scope, receive, _with_headers(send))
            return
        if scope["type"] == "http":
            receive, send = self._limited(receive), _with_headers(send)
        await self._app(scope, receive, send)

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
