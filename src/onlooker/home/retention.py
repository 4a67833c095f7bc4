"""The small records of a home: how long things are kept, how it is, what was deleted.

The time by which things expire: a clock that was just set is not believed at once.

What has expired is deleted, and that cannot be taken back. A clock that jumps ahead by a year for
a minute (a wrong time server, a wrong battery) must not delete everything. So after a jump the
time goes on as it went before, by a clock that nobody can set, until the new one has run for an
hour. A clock that is wrong from the start is believed: there is nothing to compare it with.
"""

from collections.abc import Callable
from dataclasses import dataclass

from onlooker.core.records import Receipt

DAY = 86400.0
GIGABYTE = 1e9
MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How long things are kept, and how often a snapshot is written.

    >>> RetentionPolicy(undo_days=1).sighting_days
    30
    """

    snapshot_every: int = 5000
    """Events."""
    undo_days: float = 7
    undo_gigabytes: float = 4
    """A journal that outgrows this reaches back less far, but for the newest two snapshots."""
    sighting_days: float = 30
    stranger_hours: float = 8
    retry_seconds: float = 10
    """How long a home that could not write waits before it tries again."""
    ballast_megabytes: float = 64
    """Room that is set aside, so that there is some to delete with on a full disk; 0: none."""


@dataclass(frozen=True, slots=True)
class Health:
    """How a home is.

    >>> Health(None, (), sequence=12, oldest=0).read_only is None
    True
    """

    read_only: str | None
    """Why nothing can be learned at the moment; None: it can."""
    problems: tuple[str, ...]
    """What was found damaged or could not be done, in words."""
    sequence: int
    """The newest event."""
    oldest: int
    """The oldest event that can be undone to."""


@dataclass(frozen=True, slots=True)
class Erased:
    """How much of history was deleted.

    >>> Erased(events=901, snapshots=2).events
    901
    """

    events: int
    snapshots: int


@dataclass(frozen=True, slots=True)
class ForgetReceipt(Receipt):
    """The learner's receipt, and what was deleted from the disk.

    >>> gone = {"pictures": 35, "sightings": 6, "events": 901, "snapshots": 2}
    >>> ForgetReceipt("ana", 4, 31, 812, (), **gone).pictures
    35
    """

    pictures: int
    sightings: int
    events: int
    snapshots: int
    strangers: int = 0
    """Cards of strangers with faces that would have been taken for theirs."""


@dataclass(frozen=True, slots=True)
class Expired:
    """What had expired.

    >>> Expired(sightings=3, events=0, snapshots=0).sightings
    3
    """

    sightings: int
    events: int
    snapshots: int


TOLERANCE = 60.0
"""Seconds that a clock may be corrected by between two looks."""
PATIENCE = 3600.0
"""Seconds after which a clock that was set is believed."""


class TrustedClock:
    """Seconds since 1970, as far as they are to be believed.

    >>> now, steady = [100.0], [0.0]
    >>> believed = TrustedClock(lambda: now[0], lambda: steady[0])
    >>> now[0], steady[0] = 1e9, 5.0
    >>> believed()
    105.0
    >>> now[0], steady[0] = 1e9 + 3600, 3605.0
    >>> believed()
    1000003600.0

    clock may be set; steady may not.
    """

    def __init__(self, clock: Callable[[], float], steady: Callable[[], float]) -> None:
        self._clock, self._steady = clock, steady
        self._ahead = self._claimed = clock() - steady()
        self._since = steady()

    def __call__(self) -> float:
        """What time it is."""
        wall, steady = float(self._clock()), self._steady()
        ahead = wall - steady
        if abs(ahead - self._ahead) > TOLERANCE:
            if abs(ahead - self._claimed) > TOLERANCE:
                self._claimed, self._since = ahead, steady
            if steady - self._since < PATIENCE:
                return self._ahead + steady
        self._ahead = self._claimed = ahead
        return wall
