"""An app behind a guard: refusals, the limit of uploads, and the headers of every answer."""

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

DRAIN, DRAIN_SECONDS = 1 << 16, 1.0
"""Bytes of the body of a refused request that are read, and how long they are waited for."""


class Guarded:
    """An ASGI app behind a guard."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass what may pass."""
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
        left = self._guard.max_upload

        async def limited() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
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
    response.headers["connection"] = "close"  # a body may still be on its way
    with suppress(TimeoutError):
        await asyncio.wait_for(_drained(receive), DRAIN_SECONDS)
    await response(scope, receive, send)


async def _drained(receive: Receive) -> None:
    """Take in what came with a request, if it is little.

    A connection that is closed on unread bytes is reset, and the answer may be lost with it.
    """
    left, more = DRAIN, True
    while more and left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        more = message.get("more_body", False)


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
