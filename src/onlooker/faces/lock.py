"""One home, one service: a lock on a file that the system releases when its holder dies."""

import os
import sys
from pathlib import Path

from onlooker.faces.store import StoreError


class HomeInUse(StoreError):
    """Another process has this home open."""


class Lock:
    """Held from construction to release; the file says by whom."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(self._file)
        except OSError as error:
            os.lseek(self._file, 0, os.SEEK_SET)
            holder = os.read(self._file, 20).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise HomeInUse(
                f"{path.parent} is in use by process {holder}; stop that one first, "
                "or give this one a folder of its own"
            ) from error
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Let the next one in."""
        os.ftruncate(self._file, 0)
        os.close(self._file)


def _lock(file: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(file, 1 << 20, os.SEEK_SET)  # beyond the number, which others must be able to read
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
