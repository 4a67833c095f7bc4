"""From shots to numbered frames, and an account of those that did not become one."""

from dataclasses import dataclass

from onlooker.faces.records import Frame, Pixels


@dataclass(slots=True)
class Counts:
    """What became of the frames of one camera.

    >>> Counts(frames=3, corrupt=1)
    Counts(frames=3, dropped=0, corrupt=1, resized=0, reconnects=0, problem='')
    """

    frames: int = 0
    """Handed out."""
    dropped: int = 0
    """Thrown away, oldest first, because the reader was slower than the camera (live only)."""
    corrupt: int = 0
    """Could not be decoded."""
    resized: int = 0
    """Had another size than the frame before."""
    reconnects: int = 0
    """How often a lost stream came back."""
    problem: str = ""
    """Why nothing arrives at the moment; empty while all is well."""


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """One picture as it came: its time if the source knows it, no pixels if it was corrupt."""

    time: float | None
    pixels: Pixels | None


@dataclass(slots=True)
class Tally:
    """Turns the shots of a camera into numbered frames, and counts those that cannot be."""

    camera: str
    counts: Counts
    seconds: float
    """Between two frames, where the source does not say."""
    index: int = -1
    size: tuple[int, ...] = ()

    def frame(self, shot: Shot, time: float | None = None) -> Frame | None:
        """The next frame, at this time or the shot's own; None for a corrupt one."""
        self.index += 1
        if shot.pixels is None:
            self.counts.corrupt += 1
            return None
        if self.size and shot.pixels.shape != self.size:
            self.counts.resized += 1
        self.size = shot.pixels.shape
        if time is None:
            time = self.due(shot)
        return Frame(self.camera, self.index, time, shot.pixels)

    def due(self, shot: Shot) -> float:
        """When the shot was taken, by the source's own time or else by counting."""
        return max(0, self.index) * self.seconds if shot.time is None else shot.time
