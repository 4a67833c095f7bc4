"""The server: an address of our own, one process, no log of who asked what.

One heap for all threads, so that what one of them gives back is used by the others.

glibc gives every new thread a heap of its own, up to eight a processor, and each keeps what was
freed in it. Cameras that are added and removed, and uploads, come in threads that come and go:
after eighty cameras, two at a time, thirteen heaps held 87 MB that nobody used, and went on
growing; two heaps hold 36 MB, and no more after the first cameras.
"""

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


class CannotListen(OnlookerError):
    """An address that cannot be had."""


def is_loopback(host: str) -> bool:
    """Whether only this computer can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def listening(host: str, port: int) -> socket.socket:
    """A socket that is ours from now on."""
    host = host.strip("[]")
    try:
        family, kind, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        ours = socket.socket(family, kind)
    except (OSError, OverflowError) as error:
        raise CannotListen(f"cannot listen on {host}: {error}") from error
    try:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        ours.bind(where)
        ours.listen(128)
    except OSError as error:
        ours.close()
        raise CannotListen(
            f"cannot listen on {host} port {port}: {error.strerror}; is another service running "
            "there? --port chooses another"
        ) from error
    return ours


class Server(uvicorn.Server):
    """Serves until told to stop; streams are told before they are waited for."""

    def __init__(self, app: FastAPI, *, before_end: Callable[[], object]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                access_log=False,
                log_level="warning",
                proxy_headers=False,  # whoever says so is not nearer for it
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
        self._before_end = before_end

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve. A signal that comes while the loop is still being made ends it in good order."""
        with self.capture_signals():
            super().run(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then everything."""
        self._before_end()
        await super().shutdown(sockets)


MOST_HEAPS = 2
"""The main thread's, and one for the others: more are of no use to threads that take turns."""
_ARENA_MAX = -8
"""M_ARENA_MAX in malloc.h."""


def share_one_heap() -> bool:
    """Ask for it, before there are threads; whether somebody heard.

    Who has set MALLOC_ARENA_MAX knows better.
    """
    if sys.platform != "linux" or "MALLOC_ARENA_MAX" in os.environ:
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
    return mallopt is not None and bool(mallopt(_ARENA_MAX, MOST_HEAPS))
