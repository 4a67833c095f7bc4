"""The same face from frame to frame: boxes that overlap."""

from collections.abc import Sequence
from dataclasses import dataclass
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


RECENT = 25
"""Frames, a second of a webcam, after which a face that comes back may be anybody's."""


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
        """The track of each box, new ones where none continues. The best overlaps go first."""
        open_tracks = [
            track
            for track in self._current.get(camera, [])
            if 0 < frame - track.frame <= RECENT and track.missed < self.patience
        ]
        pairs = sorted(
            (
                (overlap(track.box, box), at, track)
                for at, box in enumerate(boxes)
                for track in open_tracks
            ),
            key=lambda pair: -pair[0],
        )
        found: dict[int, Track] = {}
        taken: set[int] = set()
        for share, at, track in pairs:
            if share >= self.least_overlap and at not in found and track.number not in taken:
                found[at] = track
                taken.add(track.number)
        result = [found.get(at) or self._start(box) for at, box in enumerate(boxes)]
        for track, box in zip(result, boxes, strict=True):
            track.box, track.frame, track.missed = box, frame, 0
        missing = [track for track in open_tracks if track.number not in taken]
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

    def _start(self, box: FaceBox) -> Track:
        self._started += 1
        return Track(self._started, box, frame=-1)
