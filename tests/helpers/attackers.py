"""Clients that mean harm, or only want too much, all from one address, on one event loop.

Who has no token: idle connections, heads and bodies that arrive a byte at a time, wrong tokens,
requests without any (other users of this computer). Who has one: pollers without mercy, and readers
of streams who never read. Each counts what became of it.
"""

import asyncio
import base64
import os
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

API = "/api/v1"
REFUSALS = (400, 401, 403, 404, 413, 429)
DATA = ("/people", "/map", "/events", "/strangers", "/cameras", "/sessions", "/audit")


@dataclass
class Crowd:
    """How many of each, and how long they pause."""

    idle: int = 300
    slow: int = 40
    wrong: int = 10
    without: int = 10
    pollers: int = 50
    deaf: int = 10
    pause: float = 0.05


@dataclass
class Attack:
    """The address of a service, what opens it, and what became of the attempts."""

    address: str
    token: str
    camera: str
    crowd: Crowd = field(default_factory=Crowd)
    counts: Counter = field(default_factory=Counter)

    async def run(self):
        """Until it is cancelled."""
        crowd = self.crowd
        kinds = {
            self.idle: crowd.idle,
            self.slow_head: crowd.slow // 2,
            self.slow_body: crowd.slow - crowd.slow // 2,
            self.wrong: crowd.wrong,
            self.without: crowd.without,
            self.poll: crowd.pollers,
            self.deaf: crowd.deaf,
        }
        async with asyncio.TaskGroup() as tasks:
            for kind, many in kinds.items():
                for number in range(many):
                    tasks.create_task(self._again(kind, number))

    async def _again(self, kind, number):
        await asyncio.sleep(0.001 * number)
        while True:
            try:
                what = await kind(number)
            except (OSError, EOFError, ValueError) as error:
                what = type(error).__name__ if isinstance(error, ValueError) else "closed"
            self.counts[f"{kind.__name__}: {what}"] += 1
            await asyncio.sleep(self.crowd.pause)

    # ---- without a token

    async def idle(self, number):
        """Connect, say nothing, and stay until the service closes."""
        async with self._link() as (reader, _):
            return "answered" if await reader.read(1) else "closed"

    async def slow_head(self, number):
        """A request whose head arrives a byte at a time."""
        async with self._link() as (reader, writer):
            return await self._trickle(reader, writer, self._head("/people").encode() * 2)

    async def slow_body(self, number):
        """A body that was announced as large and arrives a byte at a time."""
        async with self._link() as (reader, writer):
            head = self._head("/faces?name=eve", method="POST", more="Content-Length: 900000\r\n")
            writer.write(head.encode())
            return await self._trickle(reader, writer, b"x" * 900_000)

    async def wrong(self, number):
        """A token that is not the right one, sometimes to sign in."""
        guess = base64.urlsafe_b64encode(os.urandom(24)).decode()
        return await self._ask(DATA[number % len(DATA)], token=guess)

    async def without(self, number):
        """Another user of this computer, who tries data, pictures and sockets."""
        if number % 3 == 0:
            upgrade = (
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            )
            return await self._ask("/live", more=upgrade)
        if number % 3 == 1:
            return await self._ask(f"/live/{self.camera}.mjpeg", root="")
        return await self._ask(DATA[number % len(DATA)])

    # ---- with the token

    async def poll(self, number):
        """The list of people again and again, on one connection."""
        async with self._link() as (reader, writer):
            while True:
                writer.write(self._head("/people", token=self.token).encode())
                await writer.drain()
                status = await _answer(reader)
                self.counts[f"poll: {status}"] += 1
                await asyncio.sleep(self.crowd.pause)

    async def deaf(self, number):
        """Begin a stream, never read it, and leave after a while."""
        root, path = (("", f"/live/{self.camera}.mjpeg"), (API, "/events/stream"), (API, "/map"))[
            number % 3
        ]
        async with self._link(limit=1) as (_, writer):
            writer.write(self._head(path, token=self.token, root=root).encode())
            await writer.drain()
            await asyncio.sleep(20)
            return "left"

    # ---- helpers

    def _link(self, limit=1 << 16):
        where = urlsplit(self.address)
        return _Link(where.hostname, where.port, limit)

    def _head(self, path, *, method="GET", token=None, more="", root=API):
        lines = f"{method} {root}{path} HTTP/1.1\r\nHost: {urlsplit(self.address).netloc}\r\n"
        return lines + (f"Authorization: Bearer {token}\r\n" if token else "") + more + "\r\n"

    async def _ask(self, path, **head):
        async with self._link() as (reader, writer):
            writer.write(self._head(path, **head).encode())
            await writer.drain()
            return await _answer(reader)

    async def _trickle(self, reader, writer, data):
        ended = asyncio.ensure_future(reader.read(12))
        try:
            for at in range(len(data)):
                writer.write(data[at : at + 1])
                await writer.drain()
                done, _ = await asyncio.wait([ended], timeout=1.0)
                if done:
                    said = ended.result()
                    return said[9:12].decode() if said else "closed"
            return "sent it all"
        finally:
            ended.cancel()


class _Link:
    """One connection, closed whatever happens."""

    def __init__(self, host, port, limit):
        self._where, self._limit = (host, port), limit

    async def __aenter__(self):
        reader, self._writer = await asyncio.open_connection(*self._where, limit=self._limit)
        return reader, self._writer

    async def __aexit__(self, *_):
        self._writer.transport.abort()
        with suppress(OSError):
            await self._writer.wait_closed()


async def _answer(reader):
    """Read a whole answer with a length: its status."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    await reader.readexactly(int(length[1]) if length else 0)
    return int(head.split(b" ")[1])


def let_in(counts):
    """What somebody without the token got that is no refusal; nothing, if all is well."""
    allowed = {"closed", *map(str, REFUSALS)}
    return {
        what: many
        for what, many in counts.items()
        if not what.startswith(("poll:", "deaf:")) and what.partition(": ")[2] not in allowed
    }
