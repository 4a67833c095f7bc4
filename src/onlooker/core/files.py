"""Replacing, locking and reading files.

A file is replaced so that a crash leaves the old content or the new one, never a part of either.

The new content goes to a temporary file in the same folder (a rename across file systems is a
copy), is synced, and takes the name in one step. Then the folder is synced, because that is where
the name is stored. A process that is killed leaves at most a file matching `TEMPORARY_FILES`.
"""

import errno
import logging
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from onlooker.core.errors import BadValue

PathLike: TypeAlias = str | os.PathLike[str]
Writer: TypeAlias = Callable[[BinaryIO], object]
"""Writes the content into the file it is given; it need not flush or close it."""

TEMPORARY_FILES = ".onlooker-*.tmp*"
"""Pattern of the names that unfinished files have; a database has files of its own beside it."""
_MOST_TOML = 1 << 20
_DEEP_KEY = r"""(?<![\w"'-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){64}"""
"""tomllib takes time and memory by the square of the length of a dotted key."""
OWNER_ONLY = stat.S_IRUSR | stat.S_IWUSR


def read_toml(path: PathLike) -> dict[str, Any]:
    """The table in a TOML file that a person wrote; BadValue says in one line why there is none.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     replace_file(Path(folder, "a.toml"), b"port = 8123")
    ...     read_toml(Path(folder, "a.toml"))
    {'port': 8123}
    """
    import tomllib  # here: it compiles patterns when it is imported, and few programs need it

    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_MOST_TOML + 1)
        if len(text) > _MOST_TOML or re.search(_DEEP_KEY, text):
            raise ValueError(f"it has more than {_MOST_TOML} characters, or a key of 64 parts")
        return tomllib.loads(text)
    except OSError as error:
        raise BadValue(f"cannot read {path}: {error.strerror or error}") from error
    except RecursionError as error:
        raise BadValue(f"{path} is not TOML: it has too many brackets") from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise BadValue(f"{path} is not TOML: {error}") from error


def replace_file(path: PathLike, content: bytes | Writer, *, mode: int | None = None) -> None:
    """Write a file as a whole, replacing what was there; an OSError leaves the old one in place.

    Without a mode an existing file keeps its own, and a new one is for its owner only, because
    what is stored may be faces. A symbolic link is followed: replacing the link itself would leave
    the real file as it was.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     replace_file(Path(folder, "names.txt"), b"ana")
    ...     replace_file(Path(folder, "names.txt"), lambda file: file.write(b"ana, ben"))
    ...     Path(folder, "names.txt").read_text(), len(os.listdir(folder))
    ('ana, ben', 1)
    """
    target = Path(os.path.realpath(path))
    final_mode = _mode_of(target, mode)
    descriptor, temporary = tempfile.mkstemp(prefix=".onlooker-", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if callable(content):
                content(file)
            else:
                file.write(content)
            file.flush()
            os.chmod(temporary, final_mode)
            os.fsync(file.fileno())  # the name must never refer to bytes that are not on the disk
        move_into_place(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def move_into_place(finished: PathLike, target: PathLike) -> None:
    """Give a finished file or folder, already synced, its name on the same file system.

    A file of that name is replaced; a folder only if it is empty.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "model.part").touch()
    ...     move_into_place(Path(folder, "model.part"), Path(folder, "model"))
    ...     os.listdir(folder)
    ['model']
    """
    os.replace(finished, target)
    folder = Path(target).parent
    try:
        sync_folder(folder)
    except OSError as error:  # complete and in place: too late to call it a failure
        logging.getLogger("onlooker").warning("saved, but cannot sync %s: %s", folder, error)


def sync_folder(folder: PathLike) -> None:
    """Make the names in a folder, new or deleted, survive a power cut.

    >>> sync_folder(tempfile.gettempdir())
    """
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_temporary_files(folder: PathLike) -> None:
    """Delete what a process left that was killed while it replaced a file in this folder.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, ".onlooker-1a2b3c.tmp").touch()
    ...     remove_temporary_files(folder)
    ...     os.listdir(folder)
    []
    """
    for path in Path(folder).glob(TEMPORARY_FILES):
        path.unlink(missing_ok=True)


def lock_file(descriptor: int, *, wait: bool) -> None:
    """Lock an open file exclusively; without waiting, an OSError if another process holds it.

    The operating system releases the lock when the file is closed or its owner dies.

    >>> with tempfile.TemporaryFile() as file:
    ...     lock_file(file.fileno(), wait=False)
    """
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, 1 << 20, os.SEEK_SET)  # behind the content, which others may read
        while True:
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
                return
            except OSError:
                if not wait:
                    raise
                time.sleep(0.1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def refuse_irregular(path: PathLike) -> None:
    """Refuse a folder, a device or a pipe; a missing file raises FileNotFoundError.

    >>> refuse_irregular(tempfile.gettempdir())
    Traceback (most recent call last):
    IsADirectoryError: [Errno 21] it is a folder, not a file: '...'
    """
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder, not a file", os.fspath(path))
    if not stat.S_ISREG(mode):
        message = "it is a device or a pipe, not a file"
        raise OSError(errno.EINVAL, message, os.fspath(path))


def _mode_of(target: Path, mode: int | None) -> int:
    try:
        refuse_irregular(target)
    except FileNotFoundError:
        return OWNER_ONLY if mode is None else mode
    return stat.S_IMODE(os.stat(target).st_mode) if mode is None else mode
