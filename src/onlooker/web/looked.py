"""What came of one look at a frame."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from onlooker.vision.types import Sighting

STAGES = ("detect", "features", "learn")


@dataclass(frozen=True, slots=True)
class Looked:
    """The faces of a frame, in one order in all columns."""

    camera: str
    frame: int
    time: float
    sightings: tuple[Sighting, ...]
    vertices: tuple[int | None, ...]
    """Which vertex stands for the face, if it was learned."""
    cards: tuple[int | None, ...]
    """Which stranger's card it went to."""
    learned: int
    """How many unlabeled examples the learner has taken in so far."""
    seconds: Mapping[str, float]
    """By stage."""


class Stopwatch:
    """Seconds by stage.

    >>> watch = Stopwatch()
    >>> with watch.timed("detect"):
    ...     pass
    >>> watch.seconds["detect"] >= 0
    True
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add what the block takes."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] += time.perf_counter() - begun
