"""The same face from frame to frame: boxes that overlap."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import hypot
from typing import NamedTuple

from onlooker.vision.types import FaceBox, Pixels


def overlap(a: FaceBox, b: FaceBox) -> float:
    """Intersection over union of two boxes.

    >>> overlap(FaceBox(0, 0, 2, 2), FaceBox(1, 0, 2, 2))
    0.3333333333333333
    """
    width = min(a.left + a.width, b.left + b.width) - max(a.left, b.left)
    height = min(a.top + a.height, b.top + b.height) - max(a.top, b.top)
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return both / (a.area + b.area - both)


def distance(a: FaceBox, b: FaceBox) -> float:
    """How far two boxes are from each other, center to center, in sides of the larger one.

    >>> distance(FaceBox(0, 0, 30, 40), FaceBox(60, 80, 30, 40))
    2.5
    """
    side = max(a.width, a.height, b.width, b.height)
    return hypot(a.center[0] - b.center[0], a.center[1] - b.center[1]) / side


RECENT = 25
"""Frames, a second of a webcam, after which a face that comes back may be anybody's."""
NEAR = 2.0
"""Sides of a face that it may have moved by then, and be the one that was lost."""


class LastLook(NamedTuple):
    """What a face looked like when it was last measured."""

    frame: int
    pixels: Pixels
    """Small and grey."""


@dataclass(slots=True)
class Track:
    """One face followed through consecutive frames of one camera."""

    number: int
    box: FaceBox
    frame: int
    missed: int = 0
    """Frames since then that were looked at and did not show it."""
    look: LastLook | None = None
    """None: its next face is measured, whatever it looks like (`vision/measuring.py`)."""
    settled: bool = False
    """Whether its name is settled, so that only a larger change is worth measuring."""
    continues: int | None = None
    """The track that was lost here shortly before it began, which was likely the same person."""


class Tracker:
    """The tracks of all cameras; a track ends when `patience` frames do not show its face.

    Frames that a slow computer drops do not count, as long as they are few: if they did, every face
    would begin a track, be measured for it, and make the computer slower still.
    """

    def __init__(self, *, least_overlap: float = 0.3, patience: int = 2) -> None:
        self.least_overlap, self.patience = least_overlap, patience
        self._current: dict[str, list[Track]] = {}
        self._started = 0

    def follow(self, camera: str, frame: int, boxes: Sequence[FaceBox]) -> list[Track]:
        """The track of each box, new ones where none continues. The best overlaps go first.

        A face that jumps begins a new track, which says which one was lost there.
        """
        recent = [
            track for track in self._current.get(camera, []) if 0 < frame - track.frame <= RECENT
        ]
        pairs = [
            _Pair(overlap(track.box, box), at, track)
            for at, box in enumerate(boxes)
            for track in recent
        ]
        found = _best_first(
            pair
            for pair in pairs
            if pair.score >= self.least_overlap and pair.track.missed < self.patience
        )
        followed = {track.number for track in found.values()}
        lost = _best_first(
            _Pair(-apart, pair.at, pair.track)
            for pair in pairs
            if pair.at not in found
            and pair.track.number not in followed
            and (apart := distance(pair.track.box, boxes[pair.at])) <= NEAR
        )
        result = [found.get(at) or self._start(box, lost.get(at)) for at, box in enumerate(boxes)]
        for track, box in zip(result, boxes, strict=True):
            track.box, track.frame, track.missed = box, frame, 0
        missing = [track for track in recent if track.number not in followed]
        for track in missing:
            track.missed += 1
        self._current[camera] = result + missing
        return result

    def forget_looks(self) -> None:
        """Have every face measured in the next frame."""
        for tracks in self._current.values():
            for track in tracks:
                track.look = None

    def camera_removed(self, camera: str) -> None:
        """Drop the tracks of a camera."""
        self._current.pop(camera, None)

    def _start(self, box: FaceBox, lost: Track | None) -> Track:
        self._started += 1
        return Track(self._started, box, frame=-1, continues=lost.number if lost else None)


class _Pair(NamedTuple):
    """A box of this frame and a track that may continue in it."""

    score: float
    at: int
    track: Track


def _best_first(pairs: Iterable[_Pair]) -> dict[int, Track]:
    """Tracks by the number of their box: each box and each track once, the best scores first."""
    found: dict[int, Track] = {}
    taken: set[int] = set()
    for _, at, track in sorted(pairs, key=lambda pair: -pair.score):
        if at not in found and track.number not in taken:
            found[at] = track
            taken.add(track.number)
    return found
