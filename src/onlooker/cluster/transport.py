"""How a sender reaches its site: over Ray (`RayTransport`) or in one process (`LocalSite`)."""

from collections.abc import Sequence
from typing import Any, Protocol

from onlooker.cluster.messages import BatchAnswer, NumberedExample, SenderSession


class SiteUnavailable(Exception):
    """The site did not answer; whether it took the batch is not known."""


class Transport(Protocol):
    """A connection to one site. Every method may raise SiteUnavailable."""

    def open_session(self, sender: str) -> SenderSession:
        """Register as the only sender of a camera."""

    def send(
        self, sender: str, session: int, batch: Sequence[NumberedExample], acknowledged: int
    ) -> Any:
        """Start sending a batch, without waiting; the result is a handle for `answer`."""

    def answer(self, sent: Any) -> BatchAnswer:
        """Wait for the site's answer to a batch."""
