"""The snapshots of a home: files that `OnlineHarmonicLearner.save` wrote, named by event.

`snapshots/000000005000.snapshot` is the learner after event 5000. Each file is replaced as a whole
and holds its own SHA-256: a damaged one is skipped for the one before it.
"""

import re
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path

from onlooker.core import snapshot
from onlooker.core.errors import Incompatible, SnapshotError
from onlooker.core.files import remove_temporary_files, sync_folder
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.persistence import KNOWN, Saved

_NAME = re.compile(r"(\d+)\.snapshot")
PER_HORIZON = 7
"""How many snapshots are stored between the oldest and the newest two."""


class Snapshots:
    """The folder of snapshots; opening it removes what a killed process left half-written."""

    def __init__(self, folder: Path, like: OnlineHarmonicLearner) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self.damaged: dict[int, str] = {}
        """Those that could not be read, with the reason."""
        self._folder, self._like = folder, like
        self.remove_unfinished()

    def remove_unfinished(self) -> None:
        """Delete the temporary files of a process that was killed while writing."""
        remove_temporary_files(self._folder)

    def path(self, sequence: int) -> Path:
        """The file of the snapshot after an event."""
        return self._folder / f"{sequence:012d}.snapshot"

    def sequences(self) -> list[int]:
        """The events with a snapshot, the oldest first; damaged ones included."""
        found = (_NAME.fullmatch(path.name) for path in self._folder.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def save(self, learner: OnlineHarmonicLearner, sequence: int) -> None:
        """Write the learner as it is after an event."""
        learner.save(self.path(sequence))
        self.damaged.pop(sequence, None)

    def newest(self, upto: int) -> tuple[int, Saved] | None:
        """The newest good one that is not after an event."""
        for sequence in reversed(self.sequences()):
            if sequence <= upto and sequence not in self.damaged:
                try:
                    return sequence, self._read(sequence)
                except SnapshotError as error:
                    self.damaged[sequence] = str(error)
        return None

    def remove(self, sequences: Iterable[int]) -> int:
        """Delete snapshots: how many."""
        doomed = list(sequences)
        try:
            for sequence in doomed:
                self.path(sequence).unlink(missing_ok=True)
                self.damaged.pop(sequence, None)
            if doomed:
                sync_folder(self._folder)
        except OSError as error:
            raise SnapshotError(f"cannot delete old snapshots: {error}") from error
        return len(doomed)

    def _read(self, sequence: int) -> Saved:
        path, like = self.path(sequence), self._like
        stored = snapshot.read(path).header.get("distance")
        if stored != repr(like.kernel.distance):
            raise Incompatible(
                f"{path} was saved with {stored}, not with {like.kernel.distance!r}; "
                "open this home with the features it was made with"
            )
        quantizer = None if like.quantizer in KNOWN else like.quantizer
        return Saved.read(
            path, distance=like.kernel.distance, quantizer=quantizer, features=like.features
        )


def load_or_new(
    fresh: OnlineHarmonicLearner, path: str | PathLike[str] | None
) -> OnlineHarmonicLearner:
    """The learner of a state file if one is given, otherwise the fresh one."""
    if path is None:
        return fresh
    return OnlineHarmonicLearner.load(
        path,
        distance=fresh.kernel.distance,
        quantizer=None if fresh.quantizer in KNOWN else fresh.quantizer,
        features=fresh.features,
    )


def needed_snapshots(times: Mapping[int, float], now: float, horizon: float) -> set[int]:
    """Which snapshots an undo horizon in seconds needs: a few, the newest two, one before it.

    >>> times = {0: 0.0, 50: 10.0, 60: 15.0, 80: 20.0, 90: 21.0, 99: 22.0}
    >>> sorted(needed_snapshots(times, 22.0, 7.0))
    [60, 80, 90, 99]
    """
    ordered = sorted(times)
    before = [sequence for sequence in ordered if times[sequence] <= now - horizon]
    oldest = before[-1] if before else ordered[0]
    needed = {*ordered[-2:], oldest}
    last = times[oldest]
    for sequence in ordered:
        if sequence > oldest and times[sequence] - last >= horizon / PER_HORIZON:
            needed.add(sequence)
            last = times[sequence]
    return needed
