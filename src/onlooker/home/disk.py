"""The two plain files of a home: a lock against a second process, and reserved disk space."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onlooker.core.files import lock_file
from onlooker.home.database import HomeError

NEEDED_FREE = 4
"""The ballast is written only where this many times its size is free."""


class HomeInUse(HomeError):
    """Another process has this home open."""


class Lock:
    """An exclusive lock on a file, which holds the process id of its owner.

    Taken by the constructor; the operating system releases it when the process dies.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock_file(self._file, wait=False)
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
        """Let another process open the home."""
        os.ftruncate(self._file, 0)
        os.close(self._file)


class Ballast:
    """A file without content that reserves disk space: on a full disk even deleting needs some.

    SQLite writes what it deletes into its log first, and forgetting ends with a new snapshot. When
    a deletion is refused, the file is removed, the deletion is tried again, and the space that is
    left is reserved again before others use it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ballast = Ballast(Path(folder, "ballast"), size=1000)
    ...     ballast.reserve()
    ...     with ballast.released():
    ...         print(len(ballast))
    ...     len(ballast)
    0
    1000

    size is in bytes; 0: no file.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path, self._size = path, size

    def __len__(self) -> int:
        """The bytes that are reserved."""
        return self._path.stat().st_size if self._path.exists() else 0

    def reserve(self) -> None:
        """Make the file as large as it should be; where little space is free, later."""
        if len(self) != self._size and self._free >= NEEDED_FREE * self._size:
            self._resize(self._size)

    @contextmanager
    def released(self) -> Iterator[None]:
        """Give the space to others during the block."""
        size = len(self)
        self._path.unlink(missing_ok=True)
        try:
            yield
        finally:
            self._resize(min(size, self._free))

    @property
    def _free(self) -> int:
        return shutil.disk_usage(self._path.parent).free

    def _resize(self, size: int) -> None:
        self._path.unlink(missing_ok=True)
        try:
            if size > 0:
                _allocate(self._path, size)
        except OSError:  # another process used the space in the meantime
            self._path.unlink(missing_ok=True)


def _allocate(path: Path, size: int) -> None:
    """Write blocks that are really allocated: a sparse file would reserve nothing."""
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
