"""The HTTP server: one process, one socket, no access log; and the memory setting it needs."""

import ctypes
import os
import socket
import sys
from collections.abc import Callable
from ipaddress import ip_address

import uvicorn
from fastapi import FastAPI

from onlooker.core.errors import OnlookerError

MAX_MESSAGE = 4 << 20
"""Bytes of one WebSocket message."""
MAX_ARENAS = 2
"""One for the main thread and one for all others, of which only one at a time is busy."""
_M_ARENA_MAX = -8
"""The parameter's number in malloc.h."""


class CannotListen(OnlookerError):
    """An address that cannot be listened on."""


class Server(uvicorn.Server):
    """Serves until a signal arrives.

    before_shutdown ends the streams: uvicorn waits for open responses, and those never end alone.
    """

    def __init__(self, app: FastAPI, *, before_shutdown: Callable[[], object]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                access_log=False,
                log_level="warning",
                proxy_headers=False,  # any client could claim to be local with such a header
                server_header=False,
                ws="websockets-sansio",
                ws_max_size=MAX_MESSAGE,
                ws_per_message_deflate=False,
                lifespan="off",
                timeout_graceful_shutdown=5,
                timeout_keep_alive=15,
                limit_concurrency=256,
            )
        )
        self._before_shutdown = before_shutdown

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve; a signal that arrives before the event loop runs also ends it properly."""
        with self.capture_signals():
            super().run(sockets)

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
