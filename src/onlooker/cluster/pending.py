"""What a site has to forget before it serves again, as files in its folder.

They are written by whoever forgets while the site does not answer, and need no lock: each is a
file of its own under a name of its own, there as a whole or not at all.
"""

import json
import os
import uuid
from pathlib import Path

from onlooker.cluster.wire import ClusterError


class Pending:
    """The names that are still to be forgotten at a site."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "forget"

    def add(self, name: str) -> None:
        """Have a name forgotten; on the disk on return."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._folder / f"{uuid.uuid4().hex}.json"
            partial = path.with_suffix(".tmp")
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({"forget": name}, file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
            _sync(self._folder)
            _sync(self._folder.parent)
        except OSError as error:
            raise ClusterError(
                f"cannot note in {self._folder} that a name is to be forgotten: {error.strerror}"
            ) from error

    def names(self) -> list[tuple[Path, str]]:
        """What is to be forgotten, and the file that says so."""
        if not self._folder.is_dir():
            return []
        found = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                found.append((path, str(json.loads(path.read_text("utf-8"))["forget"])))
            except (ValueError, KeyError, TypeError, OSError) as error:
                raise ClusterError(
                    f"{path} says what to forget, but cannot be read ({error}); the site does "
                    "not serve before a person has looked at it"
                ) from error
        return found

    def done(self, path: Path) -> None:
        """It is forgotten: so is that it was to be."""
        path.unlink(missing_ok=True)
        _sync(self._folder)


def _sync(folder: Path) -> None:
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
