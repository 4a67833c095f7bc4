"""What a run has come to: frames, faces, people, strangers, vertices and seconds."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from onlooker.faces.records import Sighting

OPEN_TRACKS = 1000
"""Tracks that are remembered; who has not been seen for so many others does not come back."""

Ended = Literal["finished", "interrupted", "nobody reads"]
Stage = Literal["read", "recognize", "write"]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run has come to, so far or at its end.

    >>> Summary(frames=50, seconds={"read": 1.5, "recognize": 0.5, "write": 0.0}).rate
    25.0
    """

    frames: int = 0
    faces: int = 0
    """Sightings, the refused ones too."""
    refused: int = 0
    named: Mapping[str, int] = field(default_factory=dict)
    """For each person, how many faces were announced by that name."""
    strangers: int = 0
    """Tracks without a name, though the learner was asked."""
    vertices: int = 0
    seconds: Mapping[Stage, float] = field(default_factory=dict)
    """Waiting for frames, recognizing, and in the sinks."""
    ended: Ended = "finished"

    @property
    def rate(self) -> float:
        """Frames per second."""
        seconds = sum(self.seconds.values())
        return self.frames / seconds if seconds else 0.0


class Tally:
    """Counts what was seen, in bounded memory."""

    def __init__(self, learner: Sized, clock: Callable[[], float]) -> None:
        self._learner, self._clock = learner, clock
        self._frames = self._faces = self._refused = self._strangers = 0
        self._named: Counter[str] = Counter()
        self._nameless: OrderedDict[int, bool] = OrderedDict()
        """Of each recent track, least recent first: is it without a name, though asked about?"""
        self._seconds: dict[Stage, float] = {"read": 0.0, "recognize": 0.0, "write": 0.0}
        self.ended: Ended = "finished"

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:
        """Add the time a block takes to a stage."""
        start = self._clock()
        try:
            yield
        finally:
            self._seconds[stage] += self._clock() - start

    def add(self, sightings: Sequence[Sighting]) -> None:
        """Count the sightings of one frame."""
        self._frames += 1
        self._faces += len(sightings)
        for sighting in sightings:
            if sighting.refusal is not None:
                self._refused += 1
            elif sighting.name is not None:
                self._named[sighting.name] += 1
            self._follow(sighting)

    def _follow(self, sighting: Sighting) -> None:
        """A track has the name it was last called; a refused face says nothing new."""
        before = self._nameless.pop(sighting.track, False)
        asked = sighting.refusal is None
        nameless = sighting.name is None if asked else before
        self._strangers += nameless - before
        self._nameless[sighting.track] = nameless
        if len(self._nameless) > OPEN_TRACKS:
            self._nameless.popitem(last=False)

    def summary(self) -> Summary:
        """What it has come to."""
        counts = self._frames, self._faces, self._refused, dict(self._named), self._strangers
        return Summary(*counts, len(self._learner), dict(self._seconds), self.ended)
