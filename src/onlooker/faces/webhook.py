"""Alerts for other programs: a POST of JSON to an address, from a thread of its own.

Whoever raises an alert never waits for the network: alerts queue up, and where too many do, new
ones are left out and counted. An address is http or https; redirects are not followed, and
proxies are not asked, so nobody but the machine that was named hears of it.
"""

import json
import logging
import queue
import re
import threading
from collections.abc import Mapping
from http.client import HTTPException
from time import monotonic
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
)

from onlooker.errors import BadValue

WAITING = 32
"""Alerts that may wait to be sent."""
ATTEMPTS = 2


class Webhook:
    """Posts what it is called with.

    >>> Webhook("file:///etc/passwd")
    Traceback (most recent call last):
    ...
    onlooker.errors.BadValue: a webhook has an address like http://10.0.0.5:8123/hook, got file:...
    """

    def __init__(self, address: str, *, timeout: float = 5.0, pause: float = 1.0) -> None:
        self._address, self._host = address, _machine(address)
        self._timeout, self._pause = timeout, pause
        self.sent = self.failed = self.dropped = 0
        """How many were received; could not be sent; were left out because too many waited."""
        self.problem = ""
        """Why the last one could not be sent; empty while all is well."""
        self._waiting: queue.Queue[bytes] = queue.Queue(WAITING)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="onlooker webhook", daemon=True)
        self._opener = OpenerDirector()
        for handler in (HTTPHandler, HTTPSHandler, HTTPErrorProcessor, HTTPDefaultErrorHandler):
            self._opener.add_handler(handler())

    def __call__(self, alert: Mapping[str, Any]) -> None:
        """Send an alert soon; this returns at once, whatever happens to it."""
        if self._closed.is_set():
            return
        if not self._thread.is_alive():
            self._thread.start()
        try:
            self._waiting.put_nowait(json.dumps(dict(alert)).encode())
        except queue.Full:
            self.dropped += 1

    def close(self, timeout: float = 5.0) -> None:
        """Send what waits, for a few seconds at most, and stop."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _work(self) -> None:
        while not (self._closed.is_set() and self._waiting.empty()):
            try:
                body = self._waiting.get(timeout=0.2)
            except queue.Empty:
                continue
            self._deliver(body)

    def _deliver(self, body: bytes) -> None:
        for attempt in range(ATTEMPTS):
            if attempt:
                self._closed.wait(self._pause)
            try:
                self._post(body)
            except (OSError, HTTPException, ValueError) as error:
                self.problem = f"{self._host}: {_reason(error)}"
            else:
                self.sent, self.problem = self.sent + 1, ""
                return
        self.failed += 1
        logging.getLogger("onlooker").warning("an alert was not sent: %s", self.problem)

    def _post(self, body: bytes) -> None:
        headers = {"Content-Type": "application/json", "User-Agent": "onlooker"}
        request = Request(self._address, body, headers, method="POST")
        start = monotonic()
        with self._opener.open(request, timeout=self._timeout) as response:
            while response.read1(1 << 12) and monotonic() - start < self._timeout:
                pass  # some servers mind if nobody listens to their answer


def _machine(address: str) -> str:
    """The machine of an address, to be shown: the rest may be secret."""
    scheme = re.match(r"(https?)://", address, re.IGNORECASE)
    try:
        parts = urlsplit(address)
        host, port, user = parts.hostname, parts.port, parts.username
    except ValueError:
        host, port, user = None, None, None
    if not scheme or not host or user is not None or not re.fullmatch(r"[!-~]+", address):
        raise BadValue(
            "a webhook has an address like http://10.0.0.5:8123/hook, got "
            f"{address.partition(':')[0][:20]}:... (http or https, a machine, no user, no spaces)"
        )
    return host if port is None else f"{host}:{port}"


def _reason(error: Exception) -> str:
    """In words that do not repeat the address."""
    if isinstance(error, HTTPError):
        error.close()
        return f"it answered {error.code}" + (
            ", a redirect, which is not followed" if 300 <= error.code < 400 else ""
        )
    return str(getattr(error, "reason", "")) or str(error) or type(error).__name__
