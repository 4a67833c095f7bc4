"""Export and import: what a home has learned in one file, without its history.

A zip archive that any program can open: `learner.snapshot`, `pictures/VERTEX.png`, and
`manifest.json` with the SHA-256 of each. Nothing in it is compressed, so that it cannot unpack to
more than its size; nothing in it is code, and no name in it becomes the name of a file.

"""

import hashlib
import json
import re
import tempfile
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from onlooker.core.errors import BadValue, Incompatible, OnlookerError, SnapshotError
from onlooker.core.files import move_into_place, refuse_irregular, replace_file
from onlooker.core.graph import UNLABELED
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import State
from onlooker.core.similarity import Distance
from onlooker.home.album import as_png
from onlooker.home.database import HomeDamaged
from onlooker.home.home import Home
from onlooker.home.reopen import DISTANCES, empty_learner, is_home, reopen

WHAT, VERSION = "onlooker export", 1
LEARNER, MANIFEST = "learner.snapshot", "manifest.json"
_PICTURE = re.compile(r"pictures/(\d{1,18})\.png")


class ExportError(OnlookerError):
    """A file that is not a whole export."""


@dataclass(frozen=True, slots=True, eq=False)
class Export:
    """What an export holds."""

    learner: OnlineHarmonicLearner
    pictures: Mapping[int, bytes]
    """By vertex of that learner."""


def export(home: Home, path: str | PathLike[str]) -> Export:
    """Write what a home has learned into a new file, and read it again to be sure."""
    target = Path(path)
    if target.exists():
        raise BadValue(f"{target} exists already; choose another name")
    with _errors_about(target), tempfile.TemporaryDirectory(dir=target.parent) as folder:
        contents = {LEARNER: _saved(home.learner, Path(folder))}
        for vertex in home.album.vertices():
            with suppress(HomeDamaged):  # a damaged picture is left out
                contents[f"pictures/{vertex}.png"] = home.album.picture(vertex) or b""
        finished = Path(folder, "exported")
        _write(finished, contents, home.learner)
        exported = read(finished, [home.learner.kernel.distance])
        move_into_place(finished, target)
    return exported


def to_bytes(exported: Export) -> bytes:
    """The content of an export file, for an answer over the network."""
    with tempfile.TemporaryDirectory() as folder:
        finished = Path(folder, "exported")
        with _errors_about(finished):
            pictures = {f"pictures/{vertex}.png": png for vertex, png in exported.pictures.items()}
            contents = {LEARNER: _saved(exported.learner, Path(folder)), **pictures}
            _write(finished, contents, exported.learner)
            read(finished, [exported.learner.kernel.distance])
            return finished.read_bytes()


def import_into(
    folder: str | PathLike[str],
    path: str | PathLike[str],
    distances: Iterable[Distance] = DISTANCES,
) -> Export:
    """Merge an export into a home; where there is no home, make one of it.

    Other features, or another kernel, are refused: their vectors mean something else.
    """
    exported, target = read(path, distances), Path(folder)
    if is_home(target):
        with reopen(target, distances) as home:
            here, there = home.learner.features, exported.learner.features
            if here != there:
                raise Incompatible(f"{path} has features {there!r}, {target} has {here!r}")
            home.merge(exported.learner)
            _show(home, exported)
        return exported
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BadValue(f"{target} is neither a home nor an empty folder; choose another")
    with tempfile.TemporaryDirectory() as scratch:
        state = Path(scratch, LEARNER)
        exported.learner.save(state)
        empty = empty_learner(state, [exported.learner.kernel.distance])
        with Home(target, new_learner=lambda: empty, adopt=state) as home:
            _show(home, exported)
    return exported


def read(path: str | PathLike[str], distances: Iterable[Distance] = DISTANCES) -> Export:
    """Read an export file; one that is damaged or was changed is refused.

    A learner that was saved alone (`OnlineHarmonicLearner.save`) is an export without pictures.
    """
    with _errors_about(path):
        refuse_irregular(path)
        if _is_snapshot(Path(path)):
            return Export(_load(Path(path), distances), {})
    with _errors_about(path), zipfile.ZipFile(path) as archive:
        contents = _checked(archive)
        with tempfile.TemporaryDirectory() as folder:
            state = Path(folder, LEARNER)
            state.write_bytes(contents.pop(LEARNER))
            learner = _load(state, distances)
        pictures = {}
        for name, data in contents.items():
            match = _PICTURE.fullmatch(name)
            if match is None:
                raise ValueError(f"{name[:60]!r} is no part of one")
            pictures[int(match[1])] = as_png(data)
    return Export(learner, pictures)


def _is_snapshot(path: Path) -> bool:
    """Whether a file says that it is a saved learner; an export is a zip archive."""
    with path.open("rb") as file:
        return file.readline(64).startswith(b"onlooker snapshot ")


def _load(path: Path, distances: Iterable[Distance]) -> OnlineHarmonicLearner:
    distance = empty_learner(path, distances).kernel.distance
    return OnlineHarmonicLearner.load(path, distance=distance)


def _checked(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """The files of the manifest, each as it was written, and no others."""
    entries = {entry.filename: entry for entry in archive.infolist()}
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries.values()):
        raise ValueError("it was to_bytes again by another program")
    manifest: dict[str, Any] = json.loads(archive.read(entries.pop(MANIFEST)))
    if (manifest["what"], manifest["version"]) != (WHAT, VERSION):
        raise ValueError(f"it is {manifest['what']!r} of version {manifest['version']!r}")
    if manifest["files"].keys() != entries.keys() or len(archive.infolist()) != len(entries) + 1:
        raise ValueError("it does not hold what its manifest lists")
    contents = {name: archive.read(entry) for name, entry in entries.items()}
    for name, data in contents.items():
        if hashlib.sha256(data).hexdigest() != manifest["files"][name]:
            raise ValueError(f"{name[:60]!r} in it is damaged or was changed")
    return contents


def _write(path: Path, contents: Mapping[str, bytes], learner: OnlineHarmonicLearner) -> None:
    manifest = {
        "what": WHAT,
        "version": VERSION,
        "features": learner.features,
        "people": list(learner.names),
        "vertices": len(learner),
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()},
    }

    def write(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            # a fixed date: the same home gives the same bytes
            archive.writestr(zipfile.ZipInfo(MANIFEST), json.dumps(manifest, indent=1).encode())
            for name, data in contents.items():
                archive.writestr(zipfile.ZipInfo(name), data)

    replace_file(path, write)


def _saved(learner: OnlineHarmonicLearner, folder: Path) -> bytes:
    path = folder / LEARNER
    learner.save(path)
    return path.read_bytes()


def _show(home: Home, exported: Export) -> None:
    """Give the pictures to the vertices at the same places."""
    theirs, mine = exported.learner.vertices(), home.vertices()
    vectors = theirs.vectors.astype(mine.vectors.dtype)
    source = dict(zip(map(bytes, vectors), theirs.ids.tolist(), strict=True))
    shown = {}
    for vertex, row in zip(mine.ids.tolist(), mine.vectors, strict=True):
        png = exported.pictures.get(source.get(bytes(row), -1))
        if png is not None:
            shown[vertex] = png
    home.add_pictures(shown)


@contextmanager
def _errors_about(path: str | PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ExportError(f"{path}: {error.strerror or error}") from error
    except SnapshotError as error:
        raise ExportError(f"{path} holds no sound learner: {error}") from error
    except OnlookerError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, EOFError) as error:
        raise ExportError(f"{path} is not a whole export: {error}") from error
    except zipfile.BadZipFile as error:
        raise ExportError(f"{path} is not an export: {error}") from error


@dataclass(frozen=True, slots=True, eq=False)
class PersonExport:
    """Copies of one person's faces: exporting them does not need the home any more."""

    settings: OnlineHarmonicLearner
    state: State
    pictures: Mapping[int, bytes]

    def export(self) -> Export:
        """The export itself; measures all pairs of faces, so not in the home's thread."""
        return Export(self.settings.restored(self.state), self.pictures)


def export_person(home: Home, name: str, vertices: Collection[int]) -> PersonExport:
    """Copy the faces of a person, labeled and learned; nobody else is in the export."""
    state = home.learner.state()
    excluded = np.isin(state.ids, state.negatives[:, 0]) & (state.labels == UNLABELED)
    mine = np.isin(state.ids, list(vertices)) & ~excluded  # what is kept to say who it is not
    theirs = state.labels[mine] == state.names.index(name)
    pictures: dict[int, bytes] = {}
    for vertex in set(home.album.vertices()) & set(vertices):
        with suppress(HomeDamaged):
            pictures[vertex] = home.album.picture(vertex) or b""
    alone = State(
        state.ids[mine],
        state.vectors[mine],
        state.multiplicities[mine],
        np.where(theirs, 0, UNLABELED),
        [name],
        state.radius,
        state.next_id,
    )
    return PersonExport(home.learner, alone, pictures)
