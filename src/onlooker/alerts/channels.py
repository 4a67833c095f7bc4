"""Where alerts about strangers, alarms and cameras are sent: webhook, MQTT broker, or none.

The same for a service and for the coordinator of a cluster.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onlooker.alerts.queue import AlertQueue
from onlooker.alerts.webhook import Webhook
from onlooker.core.errors import BadValue
from onlooker.home.alarms import Alarm
from onlooker.home.events import Event
from onlooker.video.live import CameraChange

if TYPE_CHECKING:
    from onlooker.alerts.mqtt import Broker

PASSWORD_VARIABLE = "ONLOOKER_MQTT_PASSWORD"
"""Holds the password of the broker: an option would show it in every list of processes."""


class Alerts:
    """The senders that the options ask for; an option that cannot be used is refused here.

    >>> Alerts().wanted, Alerts("http://10.0.0.5:8123/hook").wanted
    (False, True)
    """

    def __init__(
        self,
        webhook: str | None = None,
        mqtt: str | None = None,
        password_file: Path | None = None,
    ) -> None:
        self._broker = None if mqtt is None else _broker(mqtt, password_file)
        if mqtt is None and password_file is not None:
            raise BadValue("--mqtt-password-file needs a broker: Give --mqtt URL")
        self._senders: list[AlertQueue] = [] if webhook is None else [Webhook(webhook)]

    @property
    def wanted(self) -> bool:
        """Whether alerts are sent at all."""
        return bool(self._senders) or self._broker is not None

    def begin(self, identity: str) -> None:
        """Connect to the broker; identity is that of the home, or of the people of a cluster."""
        if self._broker is not None:
            from onlooker.alerts.mqtt import MqttAlerts

            self._senders.append(MqttAlerts(self._broker, identity))

    def __call__(self, alert: Mapping[str, Any]) -> None:
        """Queue the alert at every sender; does not wait."""
        for sender in self._senders:
            sender(alert)

    def alarm(self, event: Event) -> None:
        """Send an alert about an alarm; whose name it is about stays here."""
        kind = Alarm.of(event.changes[0]).kind
        where = {"camera": event.camera, "frame": event.frame, "time": event.time}
        self({"event": "alarm", "kind": kind, "sequence": event.sequence, **where})

    def camera(self, change: CameraChange, **where: str) -> None:
        """Send an alert that a camera began to fail, or that this is over; where: its site."""
        self(
            {
                "event": "camera",
                **where,
                "camera": change.camera,
                "state": change.state,
                "problem": change.problem,
                "since": change.since,
                "time": time.time(),
            }
        )

    def problems(self) -> list[str]:
        """The problems of all senders, without secrets."""
        return [problem for sender in self._senders for problem in sender.problems]

    def close(self) -> None:
        """Send what is queued, and stop."""
        for sender in self._senders:
            sender.close()


def _broker(address: str, password_file: Path | None) -> "Broker":
    """Imported here: if the extra is missing, that is reported before anything is started."""
    from onlooker.alerts.mqtt import Broker

    return Broker.at(address, _password(password_file))


def _password(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get(PASSWORD_VARIABLE) or None
    try:
        first_line = file.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise BadValue(f"cannot read the password file {file}: {reason}") from error
    if not first_line:
        raise BadValue(f"{file} is empty; its first line must be the broker's password")
    return first_line
