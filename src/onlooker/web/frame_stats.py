"""What cameras have cost and brought: counts for months, and speeds of the last seconds."""

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from onlooker.web.frames import STAGES, FrameResult

WINDOW = 10.0
"""Seconds over which a rate is told."""
FRAMES = 600
"""Frames of a camera that are remembered at most."""


@dataclass(slots=True)
class _Lately:
    """The latest frames of a camera: when each was done, and what each stage took."""

    times: deque[float] = field(default_factory=lambda: deque(maxlen=FRAMES))
    stages: deque[tuple[float, ...]] = field(default_factory=lambda: deque(maxlen=FRAMES))


@dataclass(frozen=True, slots=True)
class Speed:
    """Of one camera in the last ten seconds: frames a second, and seconds a frame by stage."""

    fps: float
    seconds: dict[str, float]


class FrameStats:
    """By camera; written and read from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        """By camera and by what became of frames and faces."""
        self.seconds: defaultdict[str, float] = defaultdict(float)
        """By camera, the time that looking at frames took."""
        self._lately: dict[str, _Lately] = {}
        self._clock, self._lock = clock, Lock()

    def add(self, result: FrameResult, seconds: float) -> None:
        """One frame more."""
        with self._lock:
            camera = result.camera
            self.counts[camera, "frames"] += 1
            self.seconds[camera] += seconds
            for sighting in result.sightings:
                named = "named" if sighting.name is not None else "unknown"
                self.counts[camera, "refused" if sighting.refusal else named] += 1
            lately = self._lately.setdefault(camera, _Lately())
            lately.times.append(self._clock())
            lately.stages.append((*(result.seconds[stage] for stage in STAGES), seconds))

    def totals(self) -> tuple[dict[tuple[str, str], int], dict[str, float]]:
        """Copies of counts and seconds as they are now."""
        with self._lock:
            return dict(self.counts), dict(self.seconds)

    def speed(self, camera: str) -> Speed:
        """Frames per second and seconds per frame of one camera, lately."""
        with self._lock:
            lately, now = self._lately.get(camera, _Lately()), self._clock()
            while lately.times and lately.times[0] < now - WINDOW:
                lately.times.popleft()
                lately.stages.popleft()
            rows = list(lately.stages)
            span = max(now - lately.times[0], 1.0) if rows else WINDOW
        columns = zip(*rows, strict=True) if rows else [[0.0]] * (1 + len(STAGES))
        means = [sum(column) / max(1, len(rows)) for column in columns]
        return Speed(len(rows) / span, dict(zip((*STAGES, "whole"), means, strict=True)))

    def camera_removed(self, camera: str) -> None:
        """A camera is gone, and its numbers with it."""
        with self._lock:
            self.seconds.pop(camera, None)
            self._lately.pop(camera, None)
            for counted in [key for key in self.counts if key[0] == camera]:
                del self.counts[counted]
