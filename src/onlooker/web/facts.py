"""What anybody may know of a home without waiting for the thread that owns it."""

from dataclasses import dataclass
from pathlib import Path

from onlooker.home.home import Home
from onlooker.home.retention import Keeping


@dataclass(slots=True)
class Facts:
    """Settled when the home is opened, but for the vertices, which are counted now and then."""

    identity: str
    folder: Path
    keeping: Keeping
    max_vertices: int
    vertices: int

    @classmethod
    def of(cls, home: Home) -> "Facts":
        """As they are now."""
        learner = home.learner
        return cls(home.identity, home.folder, home.keeping, learner.max_vertices, len(learner))
