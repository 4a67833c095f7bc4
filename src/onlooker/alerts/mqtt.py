"""Alerts over MQTT, as Home Assistant likes them, from a thread of its own.

Whoever raises an alert never waits for the broker. While that is away alerts wait, as many as the
queue holds, and every attempt to reach it comes later than the one before. An alert is sent until
the broker confirms it, so it may arrive twice, after a lost confirmation. Needs the extra `mqtt`.

A line to an MQTT broker: its address, and a connection that says why it ends.

paho can reconnect in a thread of its own, but then it keeps the reason of a failure to itself,
and a queue that has no end. So it is driven from here, one connection at a time. MQTT 3.1.1,
which every broker speaks.
"""

import logging
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from paho.mqtt.client import Client, MQTTMessageInfo, MQTTv311
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.reasoncodes import ReasonCode

from onlooker.alerts.homeassistant import OFFLINE, ONLINE, configurations
from onlooker.alerts.queue import AlertQueue
from onlooker.core.errors import BadValue, OnlookerError

KEEPALIVE = 30
"""Seconds between two signs of life; after one and a half times that we are taken for dead."""
PORTS = {"mqtt": 1883, "mqtts": 8883}


class BrokerUnavailable(OnlookerError):
    """No connection to the broker, or not any more."""


@dataclass(frozen=True, slots=True)
class Broker:
    """Where a broker is and who we are there.

    >>> Broker.at("mqtt://ana@10.0.0.5/cams", password="secret")
    Broker(host='10.0.0.5', port=1883, prefix='cams', user='ana', encrypted=False)
    >>> Broker.at("mqtt://ana:secret@10.0.0.5")
    Traceback (most recent call last):
    ...
    onlooker.core.errors.BadValue: a broker has an address like mqtt://user@10.0.0.5:1883...
    """

    host: str
    port: int
    prefix: str = "onlooker"
    """What our topics begin with."""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    encrypted: bool = False

    @classmethod
    def at(cls, address: str, password: str | None = None) -> Self:
        """The broker at `mqtt://[user@]host[:port][/prefix]`, or `mqtts://`."""
        try:
            parts = urlsplit(address)
            host, port = parts.hostname, parts.port
        except ValueError:
            parts, host, port = urlsplit(""), None, None
        prefix = unquote(parts.path).strip("/") or "onlooker"
        if (
            parts.scheme not in PORTS
            or not host
            or port == 0
            or parts.password is not None
            or not re.fullmatch(r"[!-~]+", address)
            or {"?", "#"} & set(address)
            or not re.fullmatch(r"[\w.-]+(/[\w.-]+)*", prefix)
        ):
            raise BadValue(
                "a broker has an address like mqtt://user@10.0.0.5:1883/onlooker, got "
                f"{address.partition(':')[0][:20]}:... (mqtt or mqtts; the password belongs into "
                "ONLOOKER_MQTT_PASSWORD or a file)"
            )
        user = unquote(parts.username) if parts.username else None
        if password is not None and user is None:
            raise BadValue("the broker's password is of which user? Give mqtt://user@...")
        encrypted = parts.scheme == "mqtts"
        return cls(host, port or PORTS[parts.scheme], prefix, user, password, encrypted)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class BrokerConnection:
    """One connection, from the constructor to `hang_up` or the first `BrokerUnavailable`."""

    def __init__(self, broker: Broker, name: str, will: tuple[str, str], timeout: float) -> None:
        self._timeout = timeout
        self._answer: ReasonCode | None = None
        """What the broker said to our greeting."""
        self._client = client = Client(CallbackAPIVersion.VERSION2, name, protocol=MQTTv311)
        client.connect_timeout = timeout
        client.on_connect = self._greeted
        topic, payload = will
        client.will_set(topic, payload, qos=1, retain=True)
        if broker.user is not None:
            client.username_pw_set(broker.user, broker.password)
        if broker.encrypted:
            client.tls_set_context(ssl.create_default_context())
        try:
            client.connect(broker.host, broker.port, KEEPALIVE)
        except (OSError, ValueError) as error:  # ValueError: no name that can be looked up
            raise BrokerUnavailable(_reason(error)) from error
        self._until(lambda: self._answer is not None, "it does not answer as a broker does")
        if self._answer is not None and self._answer.is_failure:
            client.disconnect()
            raise BrokerUnavailable(
                f"it refuses us ({self._answer}); check the user and the password"
            )

    def send(self, topic: str, payload: str | bytes) -> None:
        """Publish something that is retained; on return the broker has it."""
        sent = self._client.publish(topic, payload, qos=1, retain=True)
        self._until(lambda: _acknowledged(sent), "it does not confirm what it is sent")

    def tend(self) -> None:
        """Give a sign of life where one is due, and notice whether the broker still does."""
        self._exchange(0.01)

    def hang_up(self) -> None:
        """Say goodbye: the last will is not carried out."""
        self._client.disconnect()

    def _greeted(
        self, client: Client, data: Any, flags: Any, answer: ReasonCode, properties: Any
    ) -> None:
        self._answer = answer

    def _until(self, done: Callable[[], bool], otherwise: str) -> None:
        """Send and receive until something is so; not for ever."""
        end = monotonic() + self._timeout
        while not done():
            self._exchange(0.1)
            if monotonic() > end:
                self.hang_up()
                raise BrokerUnavailable(otherwise)

    def _exchange(self, seconds: float) -> None:
        """Send and receive what there is, for so long at most."""
        try:
            failed = self._client.loop(seconds)
        except Exception as error:  # paho stumbles over what no broker would send
            self.hang_up()
            raise BrokerUnavailable(f"it does not speak MQTT ({type(error).__name__})") from error
        if failed and self._answer is None:
            raise BrokerUnavailable(
                "it ended the connection without a word; does it speak MQTT there?"
            )
        if failed and self._answer is not None and not self._answer.is_failure:
            raise BrokerUnavailable("the connection was lost")


def _acknowledged(sent: MQTTMessageInfo) -> bool:
    try:
        return sent.is_published()
    except (ValueError, RuntimeError) as error:  # it was not even queued
        raise BrokerUnavailable("the connection was lost") from error


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", "") or error) or type(error).__name__


LONGEST_PAUSE = 60.0
"""Seconds between two attempts to reach a broker, at most."""
ATTEMPTS = 3
"""How often the line may break over one alert before it is given up."""


class MqttAlerts(AlertQueue):
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
        self._line: BrokerConnection | None = None
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
            except BrokerUnavailable as error:
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
            except BrokerUnavailable as error:
                self._lost(error)

    def _end(self) -> None:
        if self._line is not None:
            try:
                self._line.send(self.availability, OFFLINE)
                self._line.hang_up()
            except BrokerUnavailable as error:
                self._lost(error)

    def _connected(self) -> BrokerConnection | None:
        """The line; a new one if there is none and it is time to try again."""
        if self._line is None and time.monotonic() >= self._due:
            will = self.availability, OFFLINE
            try:
                line = BrokerConnection(
                    self._broker, f"onlooker-{self._identity}", will, self._timeout
                )
                self._introduce(line)
            except BrokerUnavailable as error:
                self._lost(error)
            else:
                self._line, self._pause, self.problem = line, self._shortest, ""
        return self._line

    def _introduce(self, line: BrokerConnection) -> None:
        entities = configurations(self._identity, self.topic, self.availability)
        for topic, words in entities.items():
            line.send(topic, words)
        line.send(self.availability, ONLINE)

    def _lost(self, error: BrokerUnavailable) -> None:
        """Without a line, for a while."""
        problem = f"{self._broker}: {error}"
        if problem != self.problem:
            logging.getLogger("onlooker").warning("alerts wait: mqtt %s", problem)
        self.problem, self._line = problem, None
        self._due = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
