"""The way to a site: what a sender asks of it, how it is lost, and what came of it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from onlooker.cluster.messages import BatchAnswer, NumberedExample, SenderSession

PAUSES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Seconds before an attempt after the first, second ... failure in a row."""


class SiteUnavailable(Exception):
    """The site did not answer; whether it took the batch is not known."""


class Transport(Protocol):
    """A way to a site: `ray_site.py` has one over Ray, `local_site.py` one without."""

    def open_session(self, sender: str) -> SenderSession:
        """Introduce a sender, or raise SiteUnavailable."""

    def send(
        self, sender: str, session: int, batch: Sequence[NumberedExample], acknowledged: int
    ) -> Any:
        """Send a batch, or raise SiteUnavailable; what it gives is for `answer`."""

    def answer(self, sent: Any) -> BatchAnswer:
        """Wait for what the site says, or raise SiteUnavailable."""


class Outage:
    """A time without the site, which begins now.

    >>> outage = Outage()
    >>> [outage.next_pause() for _ in range(8)]
    [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 1.0, 1.0]
    """

    def __init__(self) -> None:
        self._since, self._failures = time.monotonic(), 0

    @property
    def seconds(self) -> float:
        """How long it has lasted."""
        return time.monotonic() - self._since

    def next_pause(self) -> float:
        """Seconds to wait after one more failure: short at first, then a site has to start."""
        pause = PAUSES[min(self._failures, len(PAUSES) - 1)]
        self._failures += 1
        return pause


@dataclass(frozen=True, slots=True)
class SenderCounts:
    """What a sender has done so far.

    >>> SenderCounts(acknowledged=600, resent=13) + SenderCounts(acknowledged=1)
    SenderCounts(acknowledged=601, dropped=0, resent=13, refused=0, lost=0, away=0.0)
    """

    acknowledged: int = 0
    """Examples that are safe at the site."""
    dropped: int = 0
    """Thrown away, oldest first, because the site was slower than the camera (live only)."""
    resent: int = 0
    refused: int = 0
    """Examples that the site could not use, such as vectors of another length."""
    lost: int = 0
    """How often the site went away."""
    away: float = 0.0
    """Seconds until it came back, all times together."""

    def __add__(self, more: "SenderCounts") -> "SenderCounts":
        return SenderCounts(
            self.acknowledged + more.acknowledged,
            self.dropped + more.dropped,
            self.resent + more.resent,
            self.refused + more.refused,
            self.lost + more.lost,
            self.away + more.away,
        )
