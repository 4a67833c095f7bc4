"""The small records of a home: how long things are kept, how it is, what was deleted."""

from dataclasses import dataclass

from onlooker.core.records import Receipt

DAY = 86400.0
GIGABYTE = 1e9
MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long things are kept, and how often a snapshot is written.

    >>> Keeping(undo_days=1).sighting_days
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
class Forgotten(Receipt):
    """The learner's receipt, and what was deleted from the disk.

    >>> Forgotten("ana", 4, 31, 812, (), pictures=35, sightings=6, events=901, snapshots=2).pictures
    35
    """

    pictures: int
    sightings: int
    events: int
    snapshots: int
    strangers: int = 0
    """Cards of strangers with faces that would have been taken for theirs."""


@dataclass(frozen=True, slots=True)
class Tidied:
    """What had expired.

    >>> Tidied(sightings=3, events=0, snapshots=0).sightings
    3
    """

    sightings: int
    events: int
    snapshots: int
