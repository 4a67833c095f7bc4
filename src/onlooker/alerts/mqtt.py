"""Alerts over MQTT, in the form that Home Assistant expects, sent from a thread.

While the broker is unavailable alerts wait in the bounded queue, and the pauses between attempts
grow. An alert is sent until the broker confirms it, so it may arrive twice, after a confirmation
that was lost. Needs the extra `mqtt`.

paho can reconnect in a thread of its own, but then it hides why a connection failed, and its queue
is unbounded. So its network loop is driven from here, one connection at a time. The version is
MQTT 3.1.1, which every broker speaks.
"""

import json
import logging
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from paho.mqtt.client import Client, MQTTMessageInfo, MQTTv311
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.reasoncodes import ReasonCode

from onlooker.alerts.homeassistant import OFFLINE, ONLINE, configurations
from onlooker.alerts.queue import AlertQueue
from onlooker.core.errors import BadValue, OnlookerError

KEEPALIVE = 30
"""Seconds between two pings; after one and a half times that the broker takes us for dead."""
PORTS = {"mqtt": 1883, "mqtts": 8883}
LONGEST_PAUSE = 60.0
"""Seconds between two attempts to reach a broker, at most."""
ATTEMPTS = 3
"""How often the connection may break over one alert before that counts as failed."""


class BrokerUnavailable(OnlookerError):
    """There is no connection to the broker, or it broke."""


@dataclass(frozen=True, slots=True)
class Broker:
    """The address of a broker, and the user to log in as.

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
                f"{address.partition(':')[0][:20]!a}:... (mqtt or mqtts; the password belongs into "
                "ONLOOKER_MQTT_PASSWORD or a file)"
            )
        user = unquote(parts.username) if parts.username else None
        if password is not None and user is None:
            raise BadValue("a password for the broker needs a user: give mqtt://user@...")
        encrypted = parts.scheme == "mqtts"
        return cls(host, port or PORTS[parts.scheme], prefix, user, password, encrypted)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class MqttAlerts(AlertQueue):
    """Publishes every alert it is called with, and whether Onlooker is online.

    identity tells homes apart and must stay the same: the topics and Home Assistant's entities are
    named after it. The topics, all retained, begin with `PREFIX/IDENTITY/`: `stranger`, `alarm` and
    `camera` with the newest alert of each, and `availability`, online or offline; the broker
    publishes the latter if we die.
    """

    def __init__(
        self, broker: Broker, identity: str, *, timeout: float = 5.0, pause: float = 1.0
    ) -> None:
        super().__init__("mqtt")
        self._broker, self._identity, self._timeout = broker, identity, timeout
        ours = f"{broker.prefix}/{identity}"
        self.topic, self.alarm_topic = f"{ours}/stranger", f"{ours}/alarm"
        self.camera_topic = f"{ours}/camera"
        self.availability = f"{ours}/availability"
        self._connection: BrokerConnection | None = None
        self._shortest_pause = self._pause = pause
        self._next_attempt = 0.0
        self._start()  # before the first alert, to publish that we are online

    def _payload(self, alert: Mapping[str, Any]) -> dict[str, Any]:
        seen = datetime.fromtimestamp(alert.get("time", time.time()), UTC)
        event = {"event_type": alert.get("event", "stranger")}  # required by Home Assistant
        return {**event, **alert, "seen": seen.isoformat(timespec="seconds")}

    def _deliver(self, body: bytes) -> None:
        topics = {"alarm": self.alarm_topic, "camera": self.camera_topic}
        topic, breaks = topics.get(json.loads(body)["event_type"], self.topic), 0
        while breaks < ATTEMPTS:
            connection = self._connected()
            if connection is None and self._closed.is_set():
                break
            if connection is None:
                self._closed.wait(max(0.0, self._next_attempt - time.monotonic()))
                continue
            try:
                connection.publish(topic, body)
            except BrokerUnavailable as error:
                self._disconnected(error)
                breaks += 1
            else:
                self.sent += 1
                return
        self.failed += 1

    def _idle(self) -> None:
        connection = self._connected()
        if connection is not None:
            try:
                connection.keep_alive()
            except BrokerUnavailable as error:
                self._disconnected(error)

    def _end(self) -> None:
        if self._connection is not None:
            try:
                self._connection.publish(self.availability, OFFLINE)
                self._connection.close()
            except BrokerUnavailable as error:
                self._disconnected(error)

    def _connected(self) -> "BrokerConnection | None":
        """The connection; a new one if there is none and it is time for another attempt."""
        if self._connection is None and time.monotonic() >= self._next_attempt:
            will, client = (self.availability, OFFLINE), f"onlooker-{self._identity}"
            try:
                connection = BrokerConnection(self._broker, client, will, self._timeout)
                self._announce(connection)
            except BrokerUnavailable as error:
                self._disconnected(error)
            else:
                self._connection, self._pause, self.problem = connection, self._shortest_pause, ""
        return self._connection

    def _announce(self, connection: "BrokerConnection") -> None:
        topics = self.topic, self.alarm_topic, self.camera_topic, self.availability
        entities = configurations(self._identity, *topics)
        for topic, message in entities.items():
            connection.publish(topic, message)
        connection.publish(self.availability, ONLINE)

    def _disconnected(self, error: BrokerUnavailable) -> None:
        """Schedule the next attempt, and log the reason unless it is the same as before."""
        problem = f"{self._broker}: {error}"
        if problem != self.problem:
            logging.getLogger("onlooker").warning("alerts wait: mqtt %s", problem)
        self.problem, self._connection = problem, None
        self._next_attempt = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)


class BrokerConnection:
    """One connection, from the constructor to `close` or the first `BrokerUnavailable`."""

    def __init__(self, broker: Broker, client: str, will: tuple[str, str], timeout: float) -> None:
        self._timeout = timeout
        self._answer: ReasonCode | None = None
        """The broker's answer to our request to connect."""
        self._client = Client(CallbackAPIVersion.VERSION2, client, protocol=MQTTv311)
        self._client.connect_timeout = timeout
        self._client.on_connect = self._on_connect
        topic, payload = will
        self._client.will_set(topic, payload, qos=1, retain=True)
        if broker.user is not None:
            self._client.username_pw_set(broker.user, broker.password)
        if broker.encrypted:
            self._client.tls_set_context(ssl.create_default_context())
        try:
            self._client.connect(broker.host, broker.port, KEEPALIVE)
        except (OSError, ValueError) as error:  # ValueError: a host name that cannot be looked up
            raise BrokerUnavailable(_reason(error)) from error
        self._run_until(lambda: self._answer is not None, "it does not answer as a broker does")
        if self._answer is not None and self._answer.is_failure:
            self._client.disconnect()
            raise BrokerUnavailable(
                f"it refuses the connection ({self._answer}); check the user and the password"
            )

    def publish(self, topic: str, payload: str | bytes) -> None:
        """Publish a retained message; on return the broker has confirmed it."""
        sent = self._client.publish(topic, payload, qos=1, retain=True)
        self._run_until(lambda: _is_confirmed(sent), "it does not confirm what it is sent")

    def keep_alive(self) -> None:
        """Send a ping if one is due, and notice whether the broker still answers."""
        self._run_network(0.01)

    def close(self) -> None:
        """Disconnect in order: the broker does not publish our last will."""
        self._client.disconnect()

    def _on_connect(
        self, client: Client, data: Any, flags: Any, answer: ReasonCode, properties: Any
    ) -> None:
        self._answer = answer

    def _run_until(self, done: Callable[[], bool], otherwise: str) -> None:
        """Send and receive until something is true; after the timeout, fail for this reason."""
        deadline = time.monotonic() + self._timeout
        while not done():
            self._run_network(0.1)
            if time.monotonic() > deadline:
                self.close()
                raise BrokerUnavailable(otherwise)

    def _run_network(self, seconds: float) -> None:
        """Send and receive what there is, for at most this time."""
        try:
            failed = self._client.loop(seconds)
        except Exception as error:  # paho fails on bytes that no broker would send
            self.close()
            raise BrokerUnavailable(f"it does not speak MQTT ({type(error).__name__})") from error
        if failed and self._answer is None:
            raise BrokerUnavailable("it closed the connection at once; does it speak MQTT there?")
        if failed and self._answer is not None and not self._answer.is_failure:
            raise BrokerUnavailable("the connection was lost")


def _is_confirmed(sent: MQTTMessageInfo) -> bool:
    try:
        return sent.is_published()
    except (ValueError, RuntimeError) as error:  # it was not even queued
        raise BrokerUnavailable("the connection was lost") from error


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", "") or error) or type(error).__name__
