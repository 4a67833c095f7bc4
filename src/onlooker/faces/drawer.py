"""Where the strangers of a home lie: strangers.snapshot in its folder, so that a restart shows the
same cards.

A file that is damaged, or was written with other features, is left aside with a word in
`problems`.
"""

from pathlib import Path

from onlooker.core.errors import SnapshotError
from onlooker.faces import strangers_file
from onlooker.faces.strangers import Strangers

FILE = "strangers.snapshot"


class Drawer:
    """The file of some strangers; those of before are read at once.

    >>> import tempfile
    >>> from onlooker import HeatKernel
    >>> strangers = Strangers(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     drawer = Drawer(Path(folder), strangers, "points")
    ...     card = strangers.see([0.0, 0.0], time=0.0, camera="door", frame=0)
    ...     drawer.unsaved, drawer.save(), drawer.unsaved
    (1, True, 0)
    """

    def __init__(self, folder: Path, strangers: Strangers, features: str) -> None:
        self.problems: list[str] = []
        """What was found damaged or could not be done, in words."""
        self._path, self._strangers, self._features = folder / FILE, strangers, features
        self._saved = strangers.changes
        for unfinished in folder.glob(".onlooker-*.tmp"):
            unfinished.unlink()
        if self._path.exists():
            try:
                strangers_file.read(self._path, strangers, features)
            except SnapshotError as error:
                self._problem(f"the strangers of before are not shown: {error}")
                self._saved = -1  # faces in a file that nobody can read would never expire

    @property
    def unsaved(self) -> int:
        """Changes that are not in the file."""
        return self._strangers.changes - self._saved

    def save(self) -> bool:
        """Write what has changed; what fails is told, and tried again later."""
        if not self.unsaved:
            return True
        try:
            strangers_file.write(self._path, self._strangers, self._features)
        except SnapshotError as error:
            self._problem(f"strangers are not saved: {error}")
            return False
        self._saved = self._strangers.changes
        return True

    def erase(self) -> None:
        """What is gone must be gone from the file too, even if there is no room for a new one."""
        if not self.save():
            self._path.unlink(missing_ok=True)

    def _problem(self, words: str) -> None:
        if words not in self.problems:
            self.problems.append(words)
