"""Backup and restore: a verified copy of a whole home, which is a home itself.

A home may be learning while it is copied. A second reader of the database holds one moment of it,
and copies that; snapshots up to that moment go with it. Nobody waits for the copy, except somebody
who is being forgotten: forgetting reaches every byte of the folder, so a copy that would still have
the person gives up and is deleted.

Copying and verifying take seconds of the processor, which cameras may need: whoever asks for a
backup may hand in another way to make the copy, such as a process of lowest priority.
"""

import hashlib
import os
import re
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from onlooker.core.errors import BadValue, OnlookerError, SnapshotError
from onlooker.core.files import TEMPORARY_FILES, move_into_place
from onlooker.core.similarity import Distance
from onlooker.home.database import VERSION, Database, HomeError
from onlooker.home.disk import HomeInUse, Lock
from onlooker.home.events import EventLog, digest
from onlooker.home.folder import BACKUP_FOLDERS, DATABASE_FILE, FORGETTING, SNAPSHOT_FILE
from onlooker.home.migration import COPY
from onlooker.home.reopen import DISTANCES, is_home, reopen

LEFT_OUT = (
    *("lock", "ballast", "README.txt", TEMPORARY_FILES, "*.damaged-*", "*-shm", COPY),
    *("*.partial", BACKUP_FOLDERS, "sessions.json", "login"),
)
"""Files of a running process, unfinished or damaged ones, copies of earlier versions, and who is
signed in at the service."""
CHUNK = 1 << 20
"""Bytes of an archive that are read at a time."""
PAUSE = 0.01
"""Seconds after each of them: 100 MB a second are what a fast network takes, and sending more at
once would take the processor from the cameras."""
ATTEMPTS = 100
"""How often to look for a moment in which snapshots and events go together; nearly always once."""
_BLOCK = tarfile.BLOCKSIZE
_ARCHIVED = re.compile(r"onlooker\.db|token\.json|snapshots/\d+\.snapshot")
"""The files of an archive."""


class BackupFailed(OnlookerError):
    """The copy could not be made or differs from the home; it was deleted again."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What a backup holds, or what was restored.

    >>> Copied(event=1187, people=("ana", "ben"), files=9, bytes=812345).files
    9
    """

    event: int
    people: tuple[str, ...]
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Contents:
    """What a home knows after an event.

    >>> Contents(event=1187, people=("ana", "ben"), digest="5d1f...").people
    ('ana', 'ben')
    """

    event: int
    people: tuple[str, ...]
    digest: str


CopyHome: TypeAlias = Callable[[Path, Path], Contents]
"""Copies a home that is open into an empty folder, and says what the copy knows when opened."""


# ---- backup


def back_up(
    folder: str | PathLike[str],
    to: str | PathLike[str],
    distances: Iterable[Distance] = DISTANCES,
    *,
    copy: CopyHome | None = None,
) -> Copied:
    """Copy a home into a new folder, and verify the copy; another process may have it open.

    The copy is opened, and must know what the home knew at its moment, before it gets its name.
    copy: another way to make it than here and now.
    """
    source, target = Path(folder), Path(to)
    if target.exists():
        raise BadValue(f"{target} exists already; choose another name")
    if source.resolve() in target.resolve().parents:
        raise BadValue(f"{target} lies in the home itself; a backup belongs somewhere else")
    partial = target.with_name(f".{target.name}.partial")
    distances = tuple(distances)
    with ExitStack() as stack:
        try:
            home = stack.enter_context(reopen(source, distances))
        except HomeInUse:
            expected = None
        else:
            if home.problems:
                raise BackupFailed(f"{source} is not sound: {home.problems[0]}")
            expected = Contents(home.sequence, home.learner.names, digest(home.learner))
        with _made_or_removed(partial, target):
            found = (copy or _copy_here(distances))(source, partial)
            if expected not in (None, found):
                raise BackupFailed(f"the copy differs from {source}; try again")
            copied = _copied(partial, found)
            move_into_place(partial, target)
    return copied


@contextmanager
def backup_archive(
    folder: str | PathLike[str], copy: CopyHome | None = None
) -> Iterator[tuple[int, Iterator[bytes]]]:
    """A backup of a home that is open as one tar archive: its size, and its bytes.

    The copy lies in the home, where forgetting deletes it, and only for the duration of the block.
    One at a time.
    """
    source = Path(folder)
    for path in source.glob(BACKUP_FOLDERS):  # of a client that left, or of a killed process
        shutil.rmtree(path, ignore_errors=True)
    partial = Path(tempfile.mkdtemp(prefix=BACKUP_FOLDERS.rstrip("*"), dir=source))
    with _made_or_removed(partial, partial):
        found = (copy or verified_copy)(source, partial)
        paths = [partial / name for name in sorted(_files_in(partial)) if _ARCHIVED.fullmatch(name)]
        size = sum(_BLOCK + _padded(path.stat().st_size) for path in paths)
        yield size + 2 * _BLOCK, _archive(source, partial, paths, found.event)


def _archive(source: Path, partial: Path, paths: list[Path], event: int) -> Iterator[bytes]:
    for path in paths:
        with path.open("rb") as file:
            member = tarfile.TarInfo(path.relative_to(partial).as_posix())
            found = os.fstat(file.fileno())
            member.size, member.mtime, member.mode = found.st_size, int(found.st_mtime), 0o600
            yield member.tobuf(tarfile.GNU_FORMAT)
            while chunk := file.read(CHUNK):
                _refuse_forgotten(source, event)
                yield chunk
                time.sleep(PAUSE if len(chunk) == CHUNK else 0.0)
        yield bytes(_padded(member.size) - member.size)
    yield bytes(2 * _BLOCK)


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _copy_here(distances: Iterable[Distance]) -> CopyHome:
    return lambda source, to: verified_copy(source, to, distances)


def verified_copy(source: Path, to: Path, distances: Iterable[Distance] = DISTANCES) -> Contents:
    """Copy a home that is open, here or elsewhere, into an empty folder, and open the copy."""
    with _as_backup_failed(to):
        event = _copy_open_home(source, to)
        found = _contents(to, distances)
        if found.event != event:
            raise BackupFailed(f"the copy differs from {source}; try again")
        (to / "lock").unlink()
        _refuse_forgotten(source, event)
    return found


def _copy_open_home(source: Path, target: Path) -> int:
    """One moment of a home: the number of its newest event."""
    with ExitStack() as stack:
        database, event, files = _held(source, stack)
        size = database.size + sum(os.fstat(file.fileno()).st_size for file in files)
        _require_space(target, size)
        database.copy_to(target / DATABASE_FILE, lambda: _refuse_forgotten(source, event))
        for file in files:
            _copy_file(file, target / Path(file.name).relative_to(source))
    return event


def _held(source: Path, stack: ExitStack) -> tuple[Database, int, list[BufferedReader]]:
    """The database at one moment, its newest event, and the files that belong to that moment.

    Snapshots are opened before the moment, so that one that is deleted later can be copied all the
    same. Where the home has thinned its snapshots and events in between, none of those opened goes
    with the events of the moment: once more.
    """
    for _ in range(ATTEMPTS):
        with ExitStack() as attempt:
            names = [name for name in _files_in(source) if not name.startswith(DATABASE_FILE)]
            files = [attempt.enter_context(file) for file in _opened(source, names)]
            database = Database(source / DATABASE_FILE)
            attempt.callback(database.close_as_it_is)
            database.hold()
            log = EventLog(database, float)
            opened = [int(match[1]) for file in files if (match := SNAPSHOT_FILE.search(file.name))]
            if opened and max(opened) >= log.first() - 1:
                stack.push(attempt.pop_all())
                return database, log.last()[0], files
    raise BackupFailed(f"{source} changed too fast to be copied; try again")


def _refuse_forgotten(source: Path, event: int) -> None:
    """Fail once somebody is being forgotten who was known at an event."""
    database = Database(source / DATABASE_FILE)
    try:
        forgotten = EventLog(database, float).last_forgetting() > event
        if forgotten or database.number(FORGETTING) is not None:
            raise BackupFailed(
                "somebody is being forgotten, who would have been in the copy; make it again"
            )
    finally:
        database.close_as_it_is()


# ---- restore


def restore(
    backup: str | PathLike[str],
    folder: str | PathLike[str],
    distances: Iterable[Distance] = DISTANCES,
    *,
    replace: bool = False,
) -> tuple[Copied, Path | None]:
    """Make a home of a backup, a folder or an archive; where one is, only if it may be replaced.

    What is replaced is set aside, and its new place returned. The copy is verified, and migrated
    if it is of an earlier version, before it gets its name.
    """
    source, target = Path(backup), Path(folder)
    partial = target.with_name(f".{target.name}.partial")
    with ExitStack() as stack:
        aside = None
        if is_home(target):
            stack.callback(Lock(target / "lock").release)
            if not replace:
                raise BadValue(f"{target} is a home already; --replace sets it aside first")
            aside = next(
                path
                for number in range(1, 1000)
                if not (path := target.with_name(f"{target.name}.replaced-{number}")).exists()
            )
        elif target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise BadValue(f"{target} exists already and is not a home; choose another folder")
        with _made_or_removed(partial, target):
            _unpack(source, partial)
            _refuse_newer(source, partial)
            found = _contents(partial, distances)
            (partial / "lock").unlink()
            copied = _copied(partial, found)
            if aside is not None:
                target.rename(aside)
            move_into_place(partial, target)
    return copied, aside


def _unpack(source: Path, partial: Path) -> None:
    if source.is_dir():
        if not is_home(source):
            raise BadValue(f"{source} is not a backup: it holds no home")
        if (source / "lock").exists():  # a home, which may be open
            Lock(source / "lock").release()
        _require_space(partial, sum(_sizes(source)))
        for file in _opened(source, _files_in(source)):
            with file:
                _copy_file(file, partial / Path(file.name).relative_to(source))
        return
    if not source.is_file():
        raise BadValue(f"there is no backup {source}")
    try:
        _require_space(partial, source.stat().st_size)
        with tarfile.open(source, "r:") as archive:  # compressed ones may be bombs
            _unpack_archive(source, archive, partial)
    except (tarfile.TarError, EOFError) as error:
        raise BadValue(f"{source} is not a whole backup: {error}") from error
    if not is_home(partial):
        raise BadValue(f"{source} is not a backup: it holds no home")


def _unpack_archive(source: Path, archive: tarfile.TarFile, partial: Path) -> None:
    for member in archive:
        content = archive.extractfile(member) if member.isreg() else None
        if content is None or not _ARCHIVED.fullmatch(member.name):
            raise BadValue(f"{source} is not a backup: {member.name[:80]!r} is in it")
        path = partial / member.name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with open(path, "xb", opener=_for_owner) as file:
            shutil.copyfileobj(content, file)
            os.fsync(file.fileno())
            if file.tell() != member.size:
                raise BadValue(f"{source} is not a whole backup: {member.name} is cut off")


def _refuse_newer(source: Path, partial: Path) -> None:
    path = partial / DATABASE_FILE
    if not path.exists():
        return
    database = Database(path)
    try:
        version = database.version
    finally:
        database.close_as_it_is()
    if version > VERSION:
        raise HomeError(
            f"{source} has version {version}, this Onlooker reads up to {VERSION}; update Onlooker"
        )


# ---- files


@contextmanager
def _made_or_removed(partial: Path, target: Path) -> Iterator[None]:
    """An empty folder for a copy, which is deleted however the block ends."""
    try:
        with _as_backup_failed(target):
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(mode=0o700, parents=True)
            yield
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def _as_backup_failed(target: Path) -> Iterator[None]:
    """What goes wrong on the disk, in one line."""
    try:
        yield
    except BackupFailed:
        raise
    except OSError as error:
        raise BackupFailed(f"cannot write {target}: {error.strerror or error}") from error
    except (HomeError, SnapshotError) as error:
        if isinstance(error, HomeInUse):
            raise
        raise BackupFailed(f"no copy was made: {error}") from error


def _contents(folder: Path, distances: Iterable[Distance]) -> Contents:
    with reopen(folder, distances) as home:
        if home.problems:
            raise BackupFailed(f"the copy is not sound: {home.problems[0]}")
        return Contents(home.sequence, home.learner.names, digest(home.learner))


def _files_in(folder: Path) -> list[str]:
    """The files of a home that belong into a copy, relative to it."""
    ignored = shutil.ignore_patterns(*LEFT_OUT)
    found = []
    for place, folders, files in os.walk(folder):
        gone = ignored(place, [*folders, *files])
        folders[:] = [name for name in folders if name not in gone]
        found += [Path(place, name) for name in files if name not in gone]
    return [path.relative_to(folder).as_posix() for path in found]


def _opened(folder: Path, names: Iterable[str]) -> Iterator[BufferedReader]:
    """The files that are still there."""
    for name in names:
        with suppress(FileNotFoundError):
            yield (folder / name).open("rb")


def _sizes(folder: Path) -> list[int]:
    return [(folder / name).stat().st_size for name in _files_in(folder)]


def _copied(folder: Path, found: Contents) -> Copied:
    sizes = _sizes(folder)
    return Copied(found.event, found.people, len(sizes), sum(sizes))


def _require_space(target: Path, size: int) -> None:
    """A disk that is filled up stops everybody else on it."""
    free = shutil.disk_usage(target).free
    if size > free:
        raise BackupFailed(
            f"not enough space for the copy: {size / 1e6:.1f} MB are needed, {free / 1e6:.1f} MB "
            "are free; free some, or choose another disk"
        )


def _copy_file(file: BufferedReader, target: Path) -> None:
    target.parent.mkdir(mode=0o700, exist_ok=True)
    with open(target, "xb", opener=_for_owner) as copy:
        shutil.copyfileobj(file, copy)
        copy.flush()
        os.fsync(copy.fileno())
    file.seek(0)
    if hashlib.file_digest(file, "sha256").digest() != _sha256(target):
        raise BackupFailed(f"{target.name} was not copied as it is; look at the disk")


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _sha256(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
