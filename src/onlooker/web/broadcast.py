"""Publish and subscribe between threads: a slow subscriber loses the oldest items, nobody waits."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any


class Subscription:
    """The items one subscriber has not taken yet; created in the event loop, filled anywhere."""

    def __init__(self, size: int) -> None:
        self._items: deque[Any] = deque(maxlen=size)
        self._loop, self._changed = asyncio.get_running_loop(), asyncio.Event()
        self.closed = False
        self.lost = 0
        """Items that were dropped because the subscriber was slow."""

    def put(self, item: Any) -> None:
        """Add an item; if there is no room, the oldest is dropped."""
        self.lost += len(self._items) == self._items.maxlen
        self._items.append(item)
        self._wake()

    def close(self) -> None:
        """End the subscription: no further items will come."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the event loop has ended, and the subscriber with it
            self._loop.call_soon_threadsafe(self._changed.set)

    async def take(self, timeout: float) -> Any | None:
        """The next item; None if there is none within timeout seconds, or the end was reached."""
        if not self._items and not self.closed:
            self._changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), timeout)
        return self._items.popleft() if self._items else None

    async def __aiter__(self) -> AsyncIterator[Any]:
        while not self.closed:
            item = await self.take(60.0)
            if item is not None:
                yield item


class Broadcast:
    """The subscriptions by topic."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._subscriptions: dict[str, set[Subscription]] = {}
        self._closed = False
        self._lost = 0

    @contextmanager
    def listen(self, topic: str, *, size: int = 64) -> Iterator[Subscription]:
        """Subscribe to a topic for the duration of the block; at most size items wait."""
        subscription = Subscription(size)
        with self._lock:
            self._subscriptions.setdefault(topic, set()).add(subscription)
            subscription.closed = self._closed
        try:
            yield subscription
        finally:
            with self._lock:
                self._lost += subscription.lost
                others = self._subscriptions.get(topic, set())
                others.discard(subscription)
                if not others:
                    self._subscriptions.pop(topic, None)

    def publish(self, topic: str, item: Any) -> None:
        """Hand an item to every subscriber of a topic."""
        for subscription in self._of(topic):
            subscription.put(item)

    def end(self, topic: str) -> None:
        """Close the subscriptions of a topic."""
        for subscription in self._of(topic):
            subscription.close()

    def close(self) -> None:
        """Close every subscription; readers see the end of the stream."""
        with self._lock:
            self._closed = True
            subscriptions = [one for group in self._subscriptions.values() for one in group]
        for subscription in subscriptions:
            subscription.close()

    @property
    def listeners(self) -> int:
        """The number of subscriptions."""
        with self._lock:
            return sum(map(len, self._subscriptions.values()))

    @property
    def lost(self) -> int:
        """The number of items that slow subscribers have lost."""
        with self._lock:
            current = (one.lost for group in self._subscriptions.values() for one in group)
            return self._lost + sum(current)

    def _of(self, topic: str) -> list[Subscription]:
        with self._lock:
            return list(self._subscriptions.get(topic, ()))
