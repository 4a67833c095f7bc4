"""Alerts over MQTT, as Home Assistant likes them, from a thread of its own.

Whoever raises an alert never waits for the broker. While that is away alerts wait, as many as the
queue holds, and every attempt to reach it comes later than the one before. An alert is sent until
the broker confirms it, so it may arrive twice, after a lost confirmation. Needs the extra `mqtt`.
"""

import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from onlooker.faces.broker import Broker, Line, LineLost
from onlooker.faces.discovery import OFFLINE, ONLINE, configurations
from onlooker.faces.messenger import Messenger

LONGEST_PAUSE = 60.0
"""Seconds between two attempts to reach a broker, at most."""
ATTEMPTS = 3
"""How often the line may break over one alert before it is given up."""


class Mqtt(Messenger):
    """Publishes what it is called with, and that it is there.

    identity tells homes apart and stays the same: the topics and Home Assistant's entities are
    called by it. The topics, all retained: `PREFIX/IDENTITY/stranger`, the newest alert, and
    `PREFIX/IDENTITY/availability`, online or offline, the latter said by the broker if we die.
    """

    def __init__(
        self, broker: Broker, identity: str, *, timeout: float = 5.0, pause: float = 1.0
    ) -> None:
        super().__init__("mqtt")
        self._broker, self._identity, self._timeout = broker, identity, timeout
        self.topic = f"{broker.prefix}/{identity}/stranger"
        self.availability = f"{broker.prefix}/{identity}/availability"
        self._line: Line | None = None
        self._shortest = self._pause = pause
        self._due = 0.0
        """When to try again."""
        self._begin()  # not with the first alert: that we are there is worth knowing before

    def _worded(self, alert: Mapping[str, Any]) -> dict[str, Any]:
        seen = datetime.fromtimestamp(alert.get("time", time.time()), UTC)
        event = {"event_type": alert.get("event", "stranger")}  # the word of Home Assistant
        return {**event, **alert, "seen": seen.isoformat(timespec="seconds")}

    def _deliver(self, body: bytes) -> None:
        breaks = 0
        while breaks < ATTEMPTS:
            line = self._connected()
            if line is None and self._closed.is_set():
                break
            if line is None:
                self._closed.wait(max(0.0, self._due - time.monotonic()))
                continue
            try:
                line.send(self.topic, body)
            except LineLost as error:
                self._lost(error)
                breaks += 1
            else:
                self.sent += 1
                return
        self.failed += 1

    def _rest(self) -> None:
        line = self._connected()
        if line is not None:
            try:
                line.tend()
            except LineLost as error:
                self._lost(error)

    def _end(self) -> None:
        if self._line is not None:
            try:
                self._line.send(self.availability, OFFLINE)
                self._line.hang_up()
            except LineLost as error:
                self._lost(error)

    def _connected(self) -> Line | None:
        """The line; a new one if there is none and it is time to try again."""
        if self._line is None and time.monotonic() >= self._due:
            will = self.availability, OFFLINE
            try:
                line = Line(self._broker, f"onlooker-{self._identity}", will, self._timeout)
                self._introduce(line)
            except LineLost as error:
                self._lost(error)
            else:
                self._line, self._pause, self.problem = line, self._shortest, ""
        return self._line

    def _introduce(self, line: Line) -> None:
        entities = configurations(self._identity, self.topic, self.availability)
        for topic, words in entities.items():
            line.send(topic, words)
        line.send(self.availability, ONLINE)

    def _lost(self, error: LineLost) -> None:
        """Without a line, for a while."""
        problem = f"{self._broker}: {error}"
        if problem != self.problem:
            logging.getLogger("onlooker").warning("alerts wait: mqtt %s", problem)
        self.problem, self._line = problem, None
        self._due = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
