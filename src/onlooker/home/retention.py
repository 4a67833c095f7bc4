"""How long a home stores things, by which clock they expire, and reports of what was deleted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from onlooker.core.records import Receipt

DAY = 86400.0
HOUR = 3600.0
GIGABYTE = 1e9
MEGABYTE = 1e6
TOLERANCE = 60.0
"""Seconds by which the wall clock may be corrected between two readings."""
CONFIRMATION = 3600.0
"""Seconds after which a wall clock that was set is trusted."""


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How long things are stored, and how often a snapshot is written.

    >>> RetentionPolicy(undo_days=1).sighting_days
    30
    """

    snapshot_every: int = 5000
    """Events between two snapshots."""
    undo_days: float = 7
    undo_gigabytes: float = 4
    """A larger event log reaches back less far, but always to the newest two snapshots."""
    sighting_days: float = 30
    stranger_hours: float = 8
    question_hours: float = 72
    """Of a stranger who may be somebody known: long enough to be asked about."""
    retry_seconds: float = 10
    """How long a home that could not write waits before it tries again."""
    ballast_megabytes: float = 64
    """Space reserved so that deleting works on a full disk; 0: none."""


class TrustedClock:
    """Seconds since 1970 by which things expire: a clock that was just set is not trusted at once.

    What has expired is deleted for good. A clock that jumps ahead by a year for a minute (a wrong
    time server, an empty battery) must not delete everything. So after a jump the time continues
    as before, by a clock that cannot be set, until the new time has lasted for an hour. A clock
    that is wrong from the start is trusted: there is nothing to compare it with.

    >>> now, steady = [100.0], [0.0]
    >>> clock = TrustedClock(lambda: now[0], lambda: steady[0])
    >>> now[0], steady[0] = 1e9, 5.0
    >>> clock()
    105.0
    >>> now[0], steady[0] = 1e9 + 3600, 3605.0
    >>> clock()
    1000003600.0

    wall_clock may be set by people and programs; steady_clock may not.
    """

    def __init__(self, wall_clock: Callable[[], float], steady_clock: Callable[[], float]) -> None:
        self._wall_clock, self._steady_clock = wall_clock, steady_clock
        self._offset = self._new_offset = wall_clock() - steady_clock()
        self._set_at = steady_clock()

    def __call__(self) -> float:
        """The time."""
        wall, steady = float(self._wall_clock()), self._steady_clock()
        offset = wall - steady
        if abs(offset - self._offset) > TOLERANCE:
            if abs(offset - self._new_offset) > TOLERANCE:
                self._new_offset, self._set_at = offset, steady
            if steady - self._set_at < CONFIRMATION:
                return self._offset + steady
        self._offset = self._new_offset = offset
        return wall


@dataclass(frozen=True, slots=True)
class Health:
    """The condition of a home.

    >>> Health(None, (), sequence=12, oldest=0).read_only is None
    True
    """

    read_only: str | None
    """Why nothing can be learned at the moment; None: it can."""
    problems: tuple[str, ...]
    """What was found damaged or could not be done."""
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
class UndoPreview:
    """What an undo to an event would take back, and bring back.

    >>> preview = UndoPreview(41, events=3, labels={"ana": 4}, people=("ana",))
    >>> preview.learned, preview.learned_back, preview.excluded, preview.excluded_back
    (0, 0, 0, 0)
    """

    to: int
    events: int
    """Since then, all of which are taken back."""
    people: tuple[str, ...] = ()
    """Who would have no name any more."""
    people_back: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    """The names that would be changed back, and what they would be."""
    labels: Mapping[str, int] = field(default_factory=dict)
    """Labeled faces that would not be labeled so any more, by name."""
    labels_back: Mapping[str, int] = field(default_factory=dict)
    learned: int = 0
    """Faces that were learned by watching since, and would go."""
    learned_back: int = 0
    excluded: int = 0
    """Statements of who a face is not, or that it is nobody, that would be taken back."""
    excluded_back: int = 0


@dataclass(frozen=True, slots=True)
class ForgetReceipt(Receipt):
    """The learner's receipt, and what was deleted from the disk.

    >>> gone = {"pictures": 35, "sightings": 6, "events": 901, "snapshots": 2}
    >>> ForgetReceipt(4, 31, 812, (), **gone).pictures
    35
    """

    pictures: int
    sightings: int
    events: int
    snapshots: int
    strangers: int = 0
    """Cards of strangers with faces that would have been given the name."""


@dataclass(frozen=True, slots=True)
class Expired:
    """What was deleted because it had expired.

    >>> Expired(sightings=3, events=0, snapshots=0).sightings
    3
    """

    sightings: int
    events: int
    snapshots: int
