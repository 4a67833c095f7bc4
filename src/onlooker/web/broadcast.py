"""News for many: whoever is slow loses the oldest, and nobody waits for anybody."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any


class Subscription:
    """What one listener has not taken yet; made in the event loop, filled from any thread."""

    def __init__(self, size: int) -> None:
        self._waiting: deque[Any] = deque(maxlen=size)
        self._loop, self._news = asyncio.get_running_loop(), asyncio.Event()
        self.closed = False
        self.lost = 0

    def put(self, item: Any) -> None:
        """Add one; the oldest gives way."""
        self.lost += len(self._waiting) == self._waiting.maxlen
        self._waiting.append(item)
        self._wake()

    def close(self) -> None:
        """Nothing more will come."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop is gone, and the listener with it
            self._loop.call_soon_threadsafe(self._news.set)

    async def take(self, wait: float) -> Any | None:
        """The next one; None if there is none within so many seconds, or will be none."""
        if not self._waiting and not self.closed:
            self._news.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), wait)
        return self._waiting.popleft() if self._waiting else None

    async def __aiter__(self) -> AsyncIterator[Any]:
        while not self.closed:
            item = await self.take(60.0)
            if item is not None:
                yield item


class Broadcast:
    """Who listens to what."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._listeners: dict[str, set[Subscription]] = {}
        self._closed = False
        self._lost = 0

    @contextmanager
    def listen(self, topic: str, *, size: int = 64) -> Iterator[Subscription]:
        """News of a topic from now on."""
        subscription = Subscription(size)
        with self._lock:
            self._listeners.setdefault(topic, set()).add(subscription)
            subscription.closed = self._closed
        try:
            yield subscription
        finally:
            with self._lock:
                self._lost += subscription.lost
                others = self._listeners.get(topic, set())
                others.discard(subscription)
                if not others:
                    self._listeners.pop(topic, None)

    def publish(self, topic: str, item: Any) -> None:
        """Tell everybody who listens now."""
        for subscription in self._of(topic):
            subscription.put(item)

    def end(self, topic: str) -> None:
        """Tell those who listen that nothing more will come."""
        for subscription in self._of(topic):
            subscription.close()

    def close(self) -> None:
        """Send everybody home."""
        with self._lock:
            self._closed = True
            everybody = [one for some in self._listeners.values() for one in some]
        for subscription in everybody:
            subscription.close()

    @property
    def listeners(self) -> int:
        """How many there are."""
        with self._lock:
            return sum(map(len, self._listeners.values()))

    @property
    def lost(self) -> int:
        """How many pieces of news slow listeners have missed."""
        with self._lock:
            current = (one.lost for some in self._listeners.values() for one in some)
            return self._lost + sum(current)

    def _of(self, topic: str) -> list[Subscription]:
        with self._lock:
            return list(self._listeners.get(topic, ()))
