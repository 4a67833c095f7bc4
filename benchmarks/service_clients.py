"""The clients of a service: who reads, who listens, who uploads; each with a connection of its own.

Nobody tries anything twice: whatever is not a success is an error, a 503 for being busy too. Only
a picture of a face that was merged away between the list and the question may be gone (404), and
is counted apart.
"""

import asyncio
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import httpx2
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

API = "/api/v1"
STAY = 20.0
"""Seconds after which somebody who listens leaves and comes again, as pages do."""
TROUBLE = (httpx2.HTTPError, OSError, TimeoutError, ValueError, WebSocketException)
READERS = {"live pictures": 5, "live results": 5, "events as they happen": 5, "lists": 35}
UPLOADERS = {"recognize": 6, "explain": 2, "teach": 2}


@dataclass
class Plan:
    """What the clients need to know."""

    address: str
    token: str
    warm_up: float
    seconds: float
    pause: float
    pictures: list[bytes]
    labeled: list[tuple[bytes, str]]
    cameras: list[str]


@dataclass
class Account:
    """What became of the requests."""

    took: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    pieces: Counter[str] = field(default_factory=Counter)
    gone: int = 0
    over: bool = False
    """Whether everybody is to finish what they are at."""

    def forget(self) -> None:
        """Of the times; an error is one whenever it happens."""
        self.took.clear()
        self.pieces.clear()
        self.gone = 0

    @asynccontextmanager
    async def timed(self, route: str) -> Any:
        """One request; what goes wrong is an error of the route."""
        begun = time.perf_counter()
        try:
            yield
        except (*TROUBLE, StopAsyncIteration) as error:
            self.errors[f"{route}: {type(error).__name__} {error}"[:200]] += 1
            return
        self.took[route].append(time.perf_counter() - begun)


class Client:
    """One of the sixty."""

    def __init__(self, plan: Plan, account: Account, number: int) -> None:
        self.plan, self.account, self.random = plan, account, random.Random(number)
        self.http = httpx2.AsyncClient(
            base_url=plan.address, timeout=60, headers={"authorization": f"Bearer {plan.token}"}
        )
        self.seen: dict[str, list[Any]] = {"people": [], "faces": [], "strangers": []}
        self.after = 0

    async def ask(
        self, route: str, path: str = "", *, may_be_gone: bool = False, **more: Any
    ) -> Any:
        """A request to its end; what it answered, or None."""
        method, _, template = route.partition(" ")
        async with self.account.timed(route):
            answer = await self.http.request(method, API + (path or template), **more)
            if may_be_gone and answer.status_code == 404:
                self.account.gone += 1
            elif answer.status_code >= 400:
                raise ValueError(f"{answer.status_code} {answer.text[:100]}")
            elif answer.headers["content-type"] == "application/json":
                return answer.json()
        return None

    # ---- those who read

    async def lists(self) -> None:
        """One look at something."""
        look = self.random.choice(
            (self._people, self._faces, self._face, self._strangers, self._stranger, self._events)
            + (self._plain,) * 3
        )
        await look()

    async def _people(self) -> None:
        self.seen["people"] = await self.ask("GET /people") or []

    async def _faces(self) -> None:
        if person := self._one("people"):
            found = await self.ask("GET /faces", params={"person": person["id"]})
            self.seen["faces"] = [face["vertex"] for face in found or [] if face["picture"]]

    async def _face(self) -> None:
        if vertex := self._one("faces"):
            path = f"/faces/{vertex}/picture"
            await self.ask("GET /faces/{vertex}/picture", path, may_be_gone=True)

    async def _strangers(self) -> None:
        found = await self.ask("GET /strangers") or []
        self.seen["strangers"] = [(one["card"], one["faces"][0]) for one in found if one["faces"]]

    async def _stranger(self) -> None:
        if stranger := self._one("strangers"):
            path = "/strangers/{}/faces/{}".format(*stranger)
            await self.ask("GET /strangers/{card}/faces/{key}", path, may_be_gone=True)

    async def _events(self) -> None:
        found = await self.ask("GET /events", params={"after": self.after, "limit": 100})
        self.after = found[-1]["sequence"] if found else self.after

    async def _plain(self) -> None:
        await self.ask(self.random.choice(("GET /health", "GET /metrics", "GET /cameras")))

    def _one(self, of: str) -> Any:
        return self.random.choice(self.seen[of]) if self.seen[of] else None

    # ---- those who listen

    async def live_pictures(self) -> None:
        """A live view: its first picture is timed, the others are counted."""
        camera = self.random.choice(self.plan.cameras)
        await self._listen("GET /live/{camera}.mjpeg", f"/live/{camera}.mjpeg", b"image/jpeg")

    async def events_as_they_happen(self) -> None:
        """Server-sent events from now on."""
        await self._listen("GET /events/stream", f"{API}/events/stream", b"\n\n")

    async def _listen(self, route: str, path: str, mark: bytes) -> None:
        end, parts = time.monotonic() + STAY, None
        async with AsyncExitStack() as stack:
            async with self.account.timed(route):
                answer = await stack.enter_async_context(self.http.stream("GET", path))
                if answer.status_code != 200:
                    raise ValueError(str(answer.status_code))
                parts = answer.aiter_bytes()
                await anext(parts)
            async for part in parts or _nothing():
                self.account.pieces[route] += part.count(mark)
                if time.monotonic() > end or self.account.over:
                    break

    async def live_results(self) -> None:
        """Results over a WebSocket."""
        route, end, socket = "WebSocket /live", time.monotonic() + STAY, None
        address = self.plan.address.replace("http", "ws", 1) + f"{API}/live"
        token = {"authorization": f"Bearer {self.plan.token}"}
        async with AsyncExitStack() as stack:
            async with self.account.timed(route):
                entering = connect(address, additional_headers=token)
                socket = await stack.enter_async_context(entering)
                json.loads(await socket.recv())
            while socket and time.monotonic() < end and not self.account.over:
                json.loads(await asyncio.wait_for(socket.recv(), 60))
                self.account.pieces[route] += 1

    # ---- those who upload

    async def recognize(self) -> None:
        """Who is in a picture?"""
        await self.ask("POST /recognize", content=self.random.choice(self.plan.pictures))

    async def explain(self) -> None:
        """Why?"""
        await self.ask("POST /explain", content=self.random.choice(self.plan.pictures))

    async def teach(self) -> None:
        """Mostly a question, at times a label."""
        if self.random.random() < 0.8:
            await self.recognize()
            return
        jpeg, name = self.random.choice(self.plan.labeled)
        await self.ask("POST /faces", params={"name": name}, content=jpeg)


async def _nothing() -> AsyncIterator[bytes]:
    for piece in ():
        yield piece


async def _again_and_again(client: Client, visit: Callable[[], Awaitable[None]]) -> None:
    await asyncio.sleep(client.random.uniform(0, 2 * client.plan.pause))
    while not client.account.over:
        try:
            await visit()
        except TROUBLE as error:
            client.account.errors[f"{visit.__name__}: {type(error).__name__} {error}"[:200]] += 1
        await asyncio.sleep(client.random.uniform(0, 2 * client.plan.pause))


async def _visit(plan: Plan, account: Account) -> None:
    tasks = []
    for kind, many in (READERS | UPLOADERS).items():
        for _ in range(many):
            client = Client(plan, account, len(tasks))
            visit = getattr(client, kind.replace(" ", "_"))
            tasks.append(asyncio.create_task(_again_and_again(client, visit)))
    await asyncio.sleep(plan.warm_up)
    account.forget()
    done, _ = await asyncio.wait(tasks, timeout=plan.seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in done:
        task.result()  # a mistake of ours
    account.over = True
    await asyncio.wait(tasks, timeout=STAY)


def visit(plan: Plan, results: Connection) -> None:
    """All clients for as long as planned; their account goes to whoever waits for it."""
    account = Account()
    asyncio.run(_visit(plan, account))
    results.send((dict(account.took), account.errors, account.pieces, account.gone))
