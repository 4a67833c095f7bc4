"""The two plain files of a home: a lock against a second process, and reserved disk space."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from onlooker.core.files import lock_file, replace_file
from onlooker.home.database import HomeError

NEEDED_FREE = 4
"""The ballast is written only where this many times its size is free."""


EXPLANATION = b"""This folder is a home of Onlooker: everything it has learned. Keep it as it is.

onlooker.db   what was learned, pictures, sightings, history
snapshots     the learner at some moments, for a quick start and for undo
ballast       no data: space reserved so that somebody can be forgotten when the disk is full.
              Deleting it does no harm; it is made again.

`onlooker doctor --home FOLDER` lists every file, `onlooker backup` copies the folder while it is in
use, `onlooker people forget` deletes a person from it.
"""
"""What README.txt says beside the ballast."""


class HomeInUse(HomeError):
    """Another process has this home open."""


class Acknowledged(NamedTuple):
    """What the home had said was on the disk: the newest event and sighting, and other changes.

    >>> Acknowledged(405, 12).events
    405
    """

    events: int = 0
    sightings: int = 0
    changes: int = 0
    """Of cards, cameras and numbers; earlier versions did not count them."""


_PID_WIDTH = 20
_MARK = re.compile(rb"(\d{1,18} \d{1,18}(?: \d{1,18})?) ([0-9a-f]{8})\n")


class Lock:
    """An exclusive lock on a file: the process id of its owner, and what the home acknowledged.

    Taken by the constructor; the operating system releases it when the process dies. The second
    line is written after the database has synced a change and is not synced itself, so it may be
    behind the database, never ahead of it: a database without that event has lost it.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock_file(self._file, wait=False)
        except OSError as error:
            os.lseek(self._file, 0, os.SEEK_SET)
            holder = os.read(self._file, _PID_WIDTH).decode("ascii", "replace").strip()
            os.close(self._file)
            raise HomeInUse(
                f"{path.parent} is in use by process {holder or 'unknown'}; stop that one first, "
                "or give this one a folder of its own"
            ) from error
        self.acknowledged = self._read()
        """What the last process wrote; None: nothing that can be read."""
        with suppress(OSError):  # the number is for people
            self._write_line(0, f"{os.getpid():<{_PID_WIDTH}}\n".encode())

    def acknowledge(self, mark: Acknowledged) -> None:
        """Store what was acknowledged; a disk that refuses it costs only this check."""
        before = self.acknowledged or Acknowledged()
        fewer = mark.sightings < before.sightings or mark.changes < before.changes
        self.acknowledged = mark
        numbers = b"%d %d %d" % mark
        with suppress(OSError):
            self._write_line(_PID_WIDTH + 1, numbers + b" %08x\n" % crc32(numbers))
            if fewer:  # deleted on purpose: an older line would call that a loss
                os.fsync(self._file)

    def release(self) -> None:
        """Let another process open the home."""
        with suppress(OSError):
            self._write_line(0, b" " * _PID_WIDTH + b"\n")
        os.close(self._file)

    def _read(self) -> Acknowledged | None:
        os.lseek(self._file, _PID_WIDTH + 1, os.SEEK_SET)
        found = _MARK.match(os.read(self._file, 80))
        if found is None or b"%08x" % crc32(found[1]) != found[2]:
            return None
        return Acknowledged(*map(int, found[1].split()))

    def _write_line(self, place: int, content: bytes) -> None:
        os.lseek(self._file, place, os.SEEK_SET)
        os.write(self._file, content)


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
        explanation = self._path.with_name("README.txt")
        if len(self) and not explanation.exists():
            with suppress(OSError):  # for people only
                replace_file(explanation, EXPLANATION)

    @contextmanager
    def released(self) -> Iterator[None]:
        """Give the space to others during the block."""
        size = len(self)
        self._remove()
        try:
            yield
        finally:
            self._resize(min(size, self._free))

    @property
    def _free(self) -> int:
        return shutil.disk_usage(self._path.parent).free

    def _resize(self, size: int) -> None:
        self._remove()
        try:
            if size > 0:
                _allocate(self._path, size)
        except OSError:  # another process used the space in the meantime
            self._remove()

    def _remove(self) -> None:
        with suppress(OSError):  # a disk that refuses this refuses what comes next, and says so
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
