"""Alerts are sent in the background: a bounded queue, and a thread that empties it."""

import json
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

WAITING = 32
"""How many alerts may wait to be sent; more are dropped."""
IDLE_SECONDS = 0.2
"""How long the thread waits for an alert before it does other work, in seconds."""


class AlertQueue(ABC):
    """Takes alerts without blocking the caller; a subclass says how one is delivered."""

    def __init__(self, target: str) -> None:
        self._target = target
        self.sent = self.failed = self.dropped = 0
        """How many were delivered, could not be delivered, were dropped from a full queue."""
        self.problem = ""
        """Why the last alert could not be sent; empty if it was."""
        self._waiting: queue.Queue[bytes] = queue.Queue(WAITING)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"onlooker {target}", daemon=True)

    def __call__(self, alert: Mapping[str, Any]) -> None:
        """Queue an alert and return at once; when the queue is full it is dropped and counted."""
        if self._closed.is_set():
            return
        self._start()
        try:
            self._waiting.put_nowait(json.dumps(self._payload(alert)).encode())
        except queue.Full:
            self.dropped += 1

    def close(self, timeout: float = 5.0) -> None:
        """Send what is queued, for a few seconds at most, and stop the thread."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    @property
    def problems(self) -> list[str]:
        """What went wrong, one sentence each, for `health`."""
        found = [f"{self._target} {self.problem}"] if self.problem else []
        if self.dropped:
            found.append(f"{self._target}: {self.dropped} alerts were dropped, too many waited")
        return found

    def _start(self) -> None:
        if not self._thread.is_alive():
            self._thread.start()

    def _run(self) -> None:
        while not (self._closed.is_set() and self._waiting.empty()):
            try:
                body = self._waiting.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                self._idle()
                continue
            self._deliver(body)
        self._end()

    def _payload(self, alert: Mapping[str, Any]) -> dict[str, Any]:
        """The alert in the form that the receiver expects."""
        return dict(alert)

    @abstractmethod
    def _deliver(self, body: bytes) -> None:
        """Send one alert, as JSON, or count it as failed."""

    def _idle(self) -> None:
        """Called while no alert waits; must return in less than a second."""
        return None

    def _end(self) -> None:
        """Called when the thread ends."""
        return None
