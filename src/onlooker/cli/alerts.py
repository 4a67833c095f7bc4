"""Everybody who is told of a new stranger, as the options of `serve` say."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onlooker.alerts.queue import AlertQueue
from onlooker.alerts.webhook import Webhook
from onlooker.core.errors import BadValue

if TYPE_CHECKING:
    from onlooker.alerts.mqtt import Broker

PASSWORD = "ONLOOKER_MQTT_PASSWORD"
"""The variable with the broker's password: an option would show it in every list of processes."""


class Alerts:
    """A webhook, an MQTT broker, both or none; what cannot be used is refused here."""

    def __init__(self, webhook: str | None, mqtt: str | None, password_file: Path | None) -> None:
        self._broker = None if mqtt is None else _broker(mqtt, password_file)
        if mqtt is None and password_file is not None:
            raise BadValue(f"{password_file} holds the password of which broker? Give --mqtt URL")
        self._told: list[AlertQueue] = [] if webhook is None else [Webhook(webhook)]

    @property
    def wanted(self) -> bool:
        """Whether anybody is to be told."""
        return bool(self._told) or self._broker is not None

    def begin(self, identity: str) -> None:
        """The home is open: say so where somebody listens."""
        if self._broker is not None:
            from onlooker.alerts.mqtt import MqttAlerts

            self._told.append(MqttAlerts(self._broker, identity))

    def __call__(self, alert: Mapping[str, Any]) -> None:
        """Tell everybody; nobody is waited for."""
        for messenger in self._told:
            messenger(alert)

    def problems(self) -> list[str]:
        """What is not well, in words without secrets."""
        return [words for messenger in self._told for words in messenger.problems]

    def close(self) -> None:
        """Send what waits, and stop."""
        for messenger in self._told:
            messenger.close()


def _broker(address: str, password_file: Path | None) -> "Broker":
    """Also where the extra is missing that is: the error says so before anything has begun."""
    from onlooker.alerts.mqtt import Broker

    return Broker.at(address, _password(password_file))


def _password(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get(PASSWORD) or None
    try:
        first_line = file.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise BadValue(f"cannot read the password in {file}: {reason}") from error
    if not first_line:
        raise BadValue(f"{file} is empty; its first line must be the broker's password")
    return first_line
