"""Alerts by HTTP: each is a POST of JSON to an address, sent from a thread.

The address is http or https. Redirects are not followed and proxies are not used, so that only the
host that was named receives the alert.
"""

import logging
import re
from http.client import HTTPException
from time import monotonic
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

from onlooker.alerts.queue import AlertQueue
from onlooker.core.errors import BadValue

ATTEMPTS = 2
"""How often an alert is tried before it counts as failed."""


class Webhook(AlertQueue):
    """Posts every alert it is called with.

    >>> Webhook("file:///etc/passwd")
    Traceback (most recent call last):
    ...
    onlooker.core.errors.BadValue: a webhook has an address like http://10.0.0.5:8123/hook, got...
    """

    def __init__(self, address: str, *, timeout: float = 5.0, pause: float = 1.0) -> None:
        super().__init__("webhook")
        self._address, self._host = address, _host_of(address)
        self._timeout, self._pause = timeout, pause
        self._opener = OpenerDirector()
        for handler in (HTTPHandler, HTTPSHandler, HTTPErrorProcessor, HTTPDefaultErrorHandler):
            self._opener.add_handler(handler())

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
                pass  # some servers fail if their answer is not read


def _host_of(address: str) -> str:
    """The host and port of an address, for messages: the rest may be secret."""
    scheme = re.match(r"(https?)://", address, re.IGNORECASE)
    try:
        parts = urlsplit(address)
        host, port, user = parts.hostname, parts.port, parts.username
    except ValueError:
        host, port, user = None, None, None
    if not scheme or not host or user is not None or not re.fullmatch(r"[!-~]+", address):
        raise BadValue(
            "a webhook has an address like http://10.0.0.5:8123/hook, got "
            f"{address.partition(':')[0][:20]!a}:... (http or https, a host, no user, no spaces)"
        )
    return host if port is None else f"{host}:{port}"


def _reason(error: Exception) -> str:
    """Why a request failed, without the address, which may be secret."""
    if isinstance(error, HTTPError):
        error.close()
        return f"it answered {error.code}" + (
            ", a redirect, which is not followed" if 300 <= error.code < 400 else ""
        )
    return str(getattr(error, "reason", "")) or str(error) or type(error).__name__
