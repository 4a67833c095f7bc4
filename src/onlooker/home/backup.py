"""Backup: a verified copy of a whole home, which is a home itself."""

import hashlib
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from onlooker.core.errors import BadValue, OnlookerError
from onlooker.core.files import TEMPORARY_FILES, move_into_place
from onlooker.core.similarity import Distance
from onlooker.home.disk import Lock
from onlooker.home.events import digest
from onlooker.home.migration import COPY
from onlooker.home.reopen import DISTANCES, reopen

LEFT_OUT = ("lock", "ballast", TEMPORARY_FILES, "*.damaged-*", "*-shm", COPY)
"""Files of a running process, unfinished or damaged ones, and copies of earlier versions."""


class BackupFailed(OnlookerError):
    """The copy differs from the home; it was deleted again."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What a backup holds.

    >>> Copied(event=1187, people=("ana", "ben"), files=9, bytes=812345).files
    9
    """

    event: int
    people: tuple[str, ...]
    files: int
    bytes: int


def back_up(
    folder: str | PathLike[str],
    to: str | PathLike[str],
    distances: Iterable[Distance] = DISTANCES,
) -> Copied:
    """Copy a home that nobody has open into a new folder, and verify the copy.

    Every file is compared, and the copy is opened and must know the same, before it gets its name.
    """
    source, target = Path(folder), Path(to)
    if target.exists():
        raise BadValue(f"{target} exists already; choose another name")
    if source.resolve() in target.resolve().parents:
        raise BadValue(f"{target} lies in the home itself; a backup belongs somewhere else")
    known = _contents(source, distances)
    partial = target.with_name(f".{target.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        files, size = _copied(source, partial)
        if _contents(partial, distances) != known:
            raise BackupFailed(f"{target}: the copy differs from {source}; try again")
        (partial / "lock").unlink()
        move_into_place(partial, target)
    except OSError as error:
        raise BackupFailed(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    event, people, _ = known
    return Copied(event, people, files, size)


def _contents(folder: Path, distances: Iterable[Distance]) -> tuple[int, tuple[str, ...], str]:
    with reopen(folder, distances) as home:
        if home.problems:
            raise BackupFailed(f"{folder} is not sound: {home.problems[0]}")
        return home.sequence, home.learner.names, digest(home.learner)


def _copied(source: Path, target: Path) -> tuple[int, int]:
    """All files, each on the disk and compared: how many, and how large."""
    target.mkdir(mode=0o700, parents=True)
    lock = Lock(source / "lock")
    try:
        shutil.copytree(
            source,
            target,
            symlinks=True,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns(*LEFT_OUT),
        )
        copies = [path for path in sorted(target.rglob("*")) if path.is_file()]
        for copy in copies:
            with copy.open("rb+") as file:
                os.fsync(file.fileno())
            if _sha256(copy) != _sha256(source / copy.relative_to(target)):
                raise BackupFailed(f"{copy.name} was not copied as it is; look at the disk")
    finally:
        lock.release()
    return len(copies), sum(copy.stat().st_size for copy in copies)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
