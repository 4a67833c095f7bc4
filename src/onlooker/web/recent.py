"""The faces that are on the screen now, so that a click on one can ask, name or correct it.

The newest usable face of each of the latest tracks, in memory only, never on the disk.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from onlooker.core.errors import NotFound
from onlooker.vision.pixels import lossless
from onlooker.vision.types import Pixels, Refusal, Sighting

TRACKS = 64
"""How many tracks are remembered; the one not seen for longest goes first."""


@dataclass(frozen=True, slots=True, eq=False)
class Remembered:
    """The newest usable face of a track; a poor one only until there is a better."""

    sighting: Sighting
    vector: NDArray[Any] | None
    """None: all faces of this track were too poor so far."""
    pixels: Pixels
    vertex: int | None
    card: int | None

    @property
    def refusal(self) -> Refusal | None:
        """Why there is no vector."""
        return self.sighting.refusal

    def png(self) -> bytes:
        """Its picture."""
        return lossless(self.pixels)


class Recent:
    """By camera and track; belongs to the thread that owns the home."""

    def __init__(self) -> None:
        self._faces: OrderedDict[tuple[str, int], Remembered] = OrderedDict()

    def __len__(self) -> int:
        return len(self._faces)

    def keep(self, face: Remembered) -> None:
        """Take in the newest; the track that was not seen for longest gives way."""
        key = face.sighting.camera, face.sighting.track
        before = self._faces.pop(key, None)
        usable = face.vector is not None or before is None or before.vector is None
        self._faces[key] = face if usable or before is None else before
        while len(self._faces) > TRACKS:
            self._faces.popitem(last=False)

    def face(self, camera: str, track: int) -> Remembered:
        """The face of a track, if it was seen lately."""
        found = self._faces.get((camera, track))
        if found is None:
            raise NotFound(f"track {track} was not seen lately; choose a face that is there now")
        return found

    def forget(self, name: str) -> None:
        """Let go of all that was taken for somebody."""
        for key, face in list(self._faces.items()):
            answer = face.sighting.answer
            if face.sighting.name == name or (answer is not None and answer.label == name):
                del self._faces[key]

    def left(self, camera: str) -> None:
        """Let go of all that a camera saw."""
        for key in [key for key in self._faces if key[0] == camera]:
            del self._faces[key]
