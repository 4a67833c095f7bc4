"""Room set aside on the disk: on one that is full, even deleting needs some.

A database writes what it deletes into its log first, and a forgetting ends with a new snapshot.
So a file of no meaning lies in the folder until a deletion is refused. Then it makes way, the
deletion is tried again, and what is left of the room is taken back before others fill it.

One home, one service: a lock on a file that the system releases when its holder dies.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onlooker.home.database import HomeError

PLENTY = 4
"""It is laid down only where so many times its size is free."""


class Ballast:
    """A file of so many bytes, or of none where 0 are wanted.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ballast = Ballast(Path(folder, "ballast"), size=1000)
    ...     ballast.lay()
    ...     with ballast.aside():
    ...         print(len(ballast))
    ...     len(ballast)
    0
    1000
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path, self._size = path, size

    def __len__(self) -> int:
        """How many bytes of room there are."""
        return self._path.stat().st_size if self._path.exists() else 0

    def lay(self) -> None:
        """See that it is there, as large as it should be; where there is little room it waits."""
        if len(self) != self._size and self._free >= PLENTY * self._size:
            self._fill(self._size)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Its room is for others during the block."""
        size = len(self)
        self._path.unlink(missing_ok=True)
        try:
            yield
        finally:
            self._fill(min(size, self._free))

    @property
    def _free(self) -> int:
        return shutil.disk_usage(self._path.parent).free

    def _fill(self, size: int) -> None:
        self._path.unlink(missing_ok=True)
        try:
            if size > 0:
                _fill(self._path, size)
        except OSError:  # somebody was faster
            self._path.unlink(missing_ok=True)


def _fill(path: Path, size: int) -> None:
    """Blocks that are really taken: a file with a hole in it takes none."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
        else:
            for start in range(0, size, 1 << 20):
                os.write(descriptor, os.urandom(min(1 << 20, size - start)))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class HomeInUse(HomeError):
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
