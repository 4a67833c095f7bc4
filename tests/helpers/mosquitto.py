"""A real MQTT broker on a free port of this computer, and a client that records its messages."""

import os
import shutil
import socket
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from helpers.ports import free_port
from helpers.waiting import DEADLINE, eventually

USER, PASSWORD = "ana", "open sesame"


def program(name):
    """The path of a program of the Debian package."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        message = f"{name} is not installed; install it: apt install mosquitto"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    return found


class Mosquitto:
    """A broker that can be stopped and started again; it forgets everything when it stops."""

    def __init__(self, folder: Path, *, password=False, more=()):
        self.port, self._process = free_port(), None
        lines = [f"listener {self.port} 127.0.0.1", "persistence false", *more]
        if os.geteuid() == 0:
            lines.append("user root")  # or it could not read its files
        if password:
            known = folder / "known"
            command = [program("mosquitto_passwd"), "-b", "-c", known, USER, PASSWORD]
            subprocess.run(command, check=True, capture_output=True)
            lines.append(f"password_file {known}")
        lines.append(f"allow_anonymous {str(not password).lower()}")
        self._settings = folder / "mosquitto.conf"
        self._settings.write_text("\n".join(lines) + "\n")

    @property
    def address(self):
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self):
        arguments = [program("mosquitto"), "-c", str(self._settings)]
        self._process = subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        eventually(self._answers)

    def stop(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait(DEADLINE)
            self._process = None

    def _answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()


@contextmanager
def listening(port, user=None, password=None):
    """All retained and new messages, as a list that grows: (topic, text, whether retained)."""
    heard, there = [], threading.Event()
    client = Client(CallbackAPIVersion.VERSION2)
    client.username_pw_set(user, password)
    client.on_connect = lambda *_: client.subscribe("#", qos=1)
    client.on_subscribe = lambda *_: there.set()
    client.on_message = lambda _, __, m: heard.append((m.topic, m.payload.decode(), m.retain))
    client.connect("127.0.0.1", port)
    client.loop_start()
    try:
        assert there.wait(DEADLINE)
        yield heard
    finally:
        client.disconnect()
        client.loop_stop()
