"""Alerts that nobody waits for: a queue with an end, and a thread that empties it."""

import json
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

WAITING = 32
"""Alerts that may wait to be sent."""
PATIENCE = 0.2
"""Seconds between two looks at whatever else there is to do."""


class AlertQueue(ABC):
    """Is called with alerts, and returns at once; how one is delivered is for others to say."""

    def __init__(self, whom: str) -> None:
        self._whom = whom
        self.sent = self.failed = self.dropped = 0
        """How many were received; could not be sent; were left out because too many waited."""
        self.problem = ""
        """Why the last one could not be sent; empty while all is well."""
        self._waiting: queue.Queue[bytes] = queue.Queue(WAITING)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"onlooker {whom}", daemon=True)

    def __call__(self, alert: Mapping[str, Any]) -> None:
        """Send an alert soon; this returns at once, whatever happens to it."""
        if self._closed.is_set():
            return
        self._begin()
        try:
            self._waiting.put_nowait(json.dumps(self._worded(alert)).encode())
        except queue.Full:
            self.dropped += 1

    def close(self, timeout: float = 5.0) -> None:
        """Send what waits, for a few seconds at most, and stop."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    @property
    def problems(self) -> list[str]:
        """What somebody should know, for `health`."""
        told = [f"{self._whom} {self.problem}"] if self.problem else []
        if self.dropped:
            told.append(f"{self._whom}: {self.dropped} alerts were left out, too many waited")
        return told

    def _begin(self) -> None:
        if not self._thread.is_alive():
            self._thread.start()

    def _work(self) -> None:
        while not (self._closed.is_set() and self._waiting.empty()):
            try:
                body = self._waiting.get(timeout=PATIENCE)
            except queue.Empty:
                self._rest()
                continue
            self._deliver(body)
        self._end()

    def _worded(self, alert: Mapping[str, Any]) -> dict[str, Any]:
        """The alert as the other side wants it."""
        return dict(alert)

    @abstractmethod
    def _deliver(self, body: bytes) -> None:
        """Send one alert, as JSON, or count it as failed."""

    def _rest(self) -> None:
        """Whatever there is to do while nothing waits, in less than a second."""
        return None

    def _end(self) -> None:
        """The last thing to do."""
        return None
