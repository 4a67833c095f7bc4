"""The HTTP server: one process, one socket, no access log; and the memory setting it needs.

Connections are bounded in number and in time. Whoever is not signed in can neither hold one for
long nor take the place of somebody who is: when there are too many, the oldest without a signed-in
request is closed, whatever its address, because attackers and owner may share one. Nothing is
logged of what is closed or refused: a log that strangers can fill is one more thing to attack.
"""

import asyncio
import ctypes
import os
import socket
import ssl
import sys
import time
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from onlooker.core.errors import OnlookerError
from onlooker.web.auth import SIGNED_IN, STILL_SIGNED_IN

MAX_CONNECTIONS = 256
HEAD_SECONDS = 15.0
"""From the start of a connection, or the last answer, to the end of the next request's head."""
REQUEST_SECONDS = 60.0
"""For the body of a request, and for the whole of one that is not signed in."""
ANSWER_SECONDS = 1.0
"""For the answer to the request that ends its own session; longer ones are streams."""
TLS_SECONDS = 10.0
"""For the handshake that begins an encrypted connection."""
MAX_MESSAGE = 4 << 20
"""Bytes of one WebSocket message."""
MAX_ARENAS = 2
"""One for the main thread and one for all others, of which only one at a time is busy."""
_M_ARENA_MAX = -8
"""The parameter's number in malloc.h."""


class CannotListen(OnlookerError):
    """An address that cannot be listened on, or a certificate that cannot be used."""


class Connection(H11Protocol):
    """One connection: closed when it takes too long, or when a newer one needs its place."""

    def __init__(self, server: "Server") -> None:
        super().__init__(server.config, server.server_state, server.lifespan.state)
        self._server = server
        self.opened = self._phase_began = time.monotonic()
        self._was_signed_in = False

    def connection_made(self, transport: Any) -> None:
        """Another makes room for it, if there are too many."""
        super().connection_made(transport)
        self._server.make_room()

    def data_received(self, data: bytes) -> None:
        """Note when the head of a request is complete."""
        waiting = self.conn.their_state is h11.IDLE
        super().data_received(data)
        if waiting and self.conn.their_state is not h11.IDLE:
            self._phase_began = time.monotonic()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand over to a `LiveConnection` of the same age; a younger one would outlive others."""
        super().handle_websocket_upgrade(event)
        live = self.transport.get_protocol()
        if isinstance(live, LiveConnection):
            live.opened = self.opened

    def on_response_complete(self) -> None:
        """Note when an answer is complete."""
        self._was_signed_in, self._phase_began = self.is_signed_in, time.monotonic()
        super().on_response_complete()

    @property
    def is_signed_in(self) -> bool:
        """Whether the guard has permitted a request of somebody who is signed in."""
        scope: Any = self.scope  # None before the first request, and after a malformed one
        return self._was_signed_in or bool(scope and scope["state"].get(SIGNED_IN))

    def is_overdue(self, now: float) -> bool:
        """Whether the client takes too long to send its request, or to read a refusal.

        A stream to somebody whose session has ended is overdue as well.
        """
        duration = now - self._phase_began
        if self.conn.their_state is h11.IDLE:
            return duration > HEAD_SECONDS
        if self.conn.their_state is h11.SEND_BODY or not self.is_signed_in:
            return duration > REQUEST_SECONDS
        cycle: Any = self.cycle
        answering = cycle is not None and not cycle.response_complete
        return answering and duration > ANSWER_SECONDS and _was_ended(self.scope)

    def abort(self) -> None:
        """Close it at once, without waiting for the client to read."""
        self.connections.discard(self)
        self.transport.abort()


class LiveConnection(WebSocketsSansIOProtocol):
    """What a connection becomes that asks for a WebSocket, also if it never gets one.

    A request that is malformed as one, with a body for example, is neither answered nor closed.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.opened = time.monotonic()

    @property
    def is_signed_in(self) -> bool:
        """Whether the guard has permitted it."""
        scope: Any = getattr(self, "scope", None)  # a malformed request has none
        return bool(scope and scope["state"].get(SIGNED_IN))

    def is_overdue(self, now: float) -> bool:
        """Whether it takes too long to begin, or belongs to a session that has ended."""
        if not self.is_signed_in:
            return now - self.opened > HEAD_SECONDS
        return _was_ended(self.scope)

    def abort(self) -> None:
        """Close it at once."""
        self.connections.discard(self)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take it from the connections, where uvicorn requires it to be."""
        self.connections.add(self)
        super().connection_lost(exc)


def _was_ended(scope: Any) -> bool:
    """Whether the session, or the token, that permitted a request does not count any more."""
    return SIGNED_IN in scope["state"] and not scope["state"][STILL_SIGNED_IN]()


class Server(uvicorn.Server):
    """Serves until a signal arrives, with TLS if there is a certificate.

    before_shutdown ends the streams: uvicorn waits for open responses, and those never end alone.
    """

    def __init__(
        self,
        app: FastAPI,
        *,
        before_shutdown: Callable[[], object],
        certificate: Path | None = None,
        key: Path | None = None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                access_log=False,
                log_config=None,  # into the log of the command
                log_level="error",  # warnings are about requests, of which anybody may send many
                proxy_headers=False,  # the guard decides what a proxy may say
                server_header=False,
                http="h11",
                ssl_certfile=certificate,
                ssl_keyfile=key,
                ws=LiveConnection,
                ws_max_size=MAX_MESSAGE,
                ws_per_message_deflate=False,
                lifespan="off",
                timeout_graceful_shutdown=5,
                timeout_keep_alive=int(HEAD_SECONDS),
            )
        )
        self._before_shutdown = before_shutdown
        try:
            self.config.load()
        except (OSError, ssl.SSLError, ValueError) as error:
            raise CannotListen(
                f"cannot use the certificate {certificate} with the key {key}: {error}"
            ) from error

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve; a signal that arrives before the event loop runs also ends it properly."""
        with self.capture_signals():
            super().run(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer; uvicorn itself would wait a minute for the handshake of TLS."""
        await super().startup([])
        for listening in sockets or []:
            self.servers.append(
                await asyncio.get_running_loop().create_server(
                    partial(Connection, self),
                    sock=listening,
                    ssl=self.config.ssl,
                    backlog=self.config.backlog,
                    ssl_handshake_timeout=None if self.config.ssl is None else TLS_SECONDS,
                )
            )

    def make_room(self) -> None:
        """Close the oldest connection that nobody signed in on, if there are too many."""
        if len(self.server_state.connections) > MAX_CONNECTIONS:
            waiting = [each for each in self._connections() if not each.is_signed_in]
            if waiting:
                min(waiting, key=lambda each: each.opened).abort()

    def _connections(self) -> list[Connection | LiveConnection]:
        kinds = Connection, LiveConnection
        return [each for each in self.server_state.connections if isinstance(each, kinds)]

    async def on_tick(self, counter: int) -> bool:
        """Close what is overdue, once a second."""
        if counter % 10 == 0:
            now = time.monotonic()
            for each in self._connections():
                if each.is_overdue(now):
                    each.abort()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then the server."""
        self._before_shutdown()
        await super().shutdown(sockets)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this computer only.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens on an address; CannotListen says why not."""
    host = host.strip("[]")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind)
    except (OSError, OverflowError) as error:
        raise CannotListen(f"cannot listen on {host}: {error}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise CannotListen(
            f"cannot listen on {host} port {port}: {error.strerror}; is another service running "
            "there? --port chooses another"
        ) from error
    return listening


def limit_malloc_arenas() -> bool:
    """Let all threads share two heaps; call it before there are threads. Whether it worked.

    glibc gives every new thread a heap (arena) of its own, up to eight per processor, and each
    retains what was freed in it. Cameras that are added and removed, and uploads, run in threads
    that come and go: after eighty cameras, two at a time, thirteen heaps held 87 MB that nothing
    used, and went on growing; two heaps hold 36 MB, and no more after the first cameras.
    MALLOC_ARENA_MAX in the environment takes precedence.
    """
    if sys.platform != "linux" or "MALLOC_ARENA_MAX" in os.environ:
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
    return mallopt is not None and bool(mallopt(_M_ARENA_MAX, MAX_ARENAS))
