"""Export and import: what a home has learned in one file, without its history; tables as CSV.

A zip archive that any program can open: `learner.snapshot`, `pictures/VERTEX.png`, and
`manifest.json` with the SHA-256 of each. Nothing in it is compressed, so that it cannot unpack to
more than its size; nothing in it is code, and no name in it becomes the name of a file.

"""

import csv
import hashlib
import json
import re
import shutil
import struct
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO, StringIO
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from onlooker.core.errors import BadValue, Incompatible, OnlookerError, SnapshotError
from onlooker.core.files import move_into_place, refuse_irregular, replace_file
from onlooker.core.graph import UNLABELED
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.persistence import Saved, errors_about
from onlooker.core.records import State
from onlooker.core.similarity import Distance
from onlooker.core.snapshot import Source
from onlooker.home.album import StoredSighting, as_png
from onlooker.home.database import HomeDamaged
from onlooker.home.home import Home
from onlooker.home.reopen import DISTANCES, empty_learner, is_home, reopen

WHAT, VERSION = "onlooker export", 1
LEARNER, MANIFEST = "learner.snapshot", "manifest.json"
MOST_ENTRIES = 50_000
"""Entries of an archive; each takes some hundred bytes of memory before anything is read."""
MOST_MEMORY = 256e6
"""Bytes that the similarities of an imported learner may take: 4,000 unlabeled vertices."""
_END = struct.Struct("<4s4H2IH")
"""The last record of a zip archive without a comment."""
SIGHTING_COLUMNS = ("number", "time", "camera", "frame", "name", "vertex", "card", "utc")
"""Of a table of sightings."""
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
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
    pictures = {}
    for vertex in home.album.vertices():
        with suppress(HomeDamaged):  # a damaged picture is left out
            pictures[vertex] = home.album.picture(vertex) or b""
    content = to_bytes(Export(home.learner, pictures))
    with _errors_about(target):
        replace_file(target, content)
        return read(target, [home.learner.kernel.distance])


def to_bytes(exported: Export) -> bytes:
    """The content of an export file.

    Made in memory, because a process that is killed would leave faces in the temporary directory.
    """
    saved = BytesIO()
    exported.learner.save(saved)
    pictures = {f"pictures/{vertex}.png": png for vertex, png in exported.pictures.items()}
    content = _archive({LEARNER: saved.getvalue(), **pictures}, exported.learner)
    with _errors_about("the export"):
        _read_archive(BytesIO(content), len(content), [exported.learner.kernel.distance])
    return content


def import_into(
    folder: str | PathLike[str],
    path: str | PathLike[str],
    distances: Iterable[Distance] = DISTANCES,
    *,
    trust_radius: Callable[[OnlineHarmonicLearner], float | None] | None = None,
) -> Export:
    """Merge an export into a home; where there is no home, make one of it.

    Other features, or another kernel, are refused: their vectors mean something else. trust_radius
    gives that of a new home, from what was exported; without it, it is that of the export.
    """
    exported, target = read(path, distances), Path(folder)
    if trust_radius is not None:
        learner = exported.learner
        empty = learner.empty_copy(trust_radius=trust_radius(learner))
        exported = Export(empty.restored(learner.state()), exported.pictures)
    if is_home(target):
        with reopen(target, distances) as home:
            own = home.learner.trust_radius
            if trust_radius is not None and own != exported.learner.trust_radius:
                raise BadValue(
                    f"{target} was built with trust radius {'off' if own is None else f'{own:g}'} "
                    "and keeps it; leave the radius out, or choose another folder"
                )
            here, there = home.learner.features, exported.learner.features
            if here != there:
                raise Incompatible(f"{path} has features {there!r}, {target} has {here!r}")
            with home.batch():
                home.merge(exported.learner)
                _show(home, exported)
        return exported
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BadValue(f"{target} is neither a home nor an empty folder; choose another")
    with _errors_about(target):
        _make_home(target, exported)
    return exported


def _make_home(target: Path, exported: Export) -> None:
    """A home that gets its name when it is complete: a killed import can be repeated."""
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # of an import that was killed
    try:
        partial.mkdir(mode=0o700, parents=True)
        state = partial / LEARNER
        exported.learner.save(state)
        empty = empty_learner(state, [exported.learner.kernel.distance])
        with Home(partial, new_learner=lambda: empty, adopt=state) as home:
            _show(home, exported)
        state.unlink()
        (partial / "lock").unlink()
        if target.exists():
            target.rmdir()  # an empty folder
        move_into_place(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def read(path: str | PathLike[str], distances: Iterable[Distance] = DISTANCES) -> Export:
    """Read an export file; one that is damaged or was changed is refused.

    A learner that was saved alone (`OnlineHarmonicLearner.save`) is an export without pictures.
    """
    with _errors_about(path):
        refuse_irregular(path)
        if _is_snapshot(Path(path)):
            return Export(_load(Path(path), distances), {})
        with Path(path).open("rb") as file:
            return _read_archive(file, Path(path).stat().st_size, distances)


def _read_archive(file: BinaryIO, size: int, distances: Iterable[Distance]) -> Export:
    _refuse_long_directory(file, size)
    with zipfile.ZipFile(file) as archive:
        contents = _checked(archive, size)
    learner = _load(BytesIO(contents.pop(LEARNER)), distances)
    pictures = {}
    for name, data in contents.items():
        match = _PICTURE.fullmatch(name)
        if match is None:
            raise ValueError(f"{name[:60]!r} is no part of one")
        pictures[int(match[1])] = as_png(data)
    return Export(learner, pictures)


def _refuse_long_directory(file: BinaryIO, size: int) -> None:
    """The list of entries is read as a whole, so its length is checked before."""
    file.seek(max(0, size - _END.size))
    end = file.read(_END.size)
    if len(end) == _END.size and end.startswith(b"PK\5\6"):
        count = _END.unpack(end)[4]
        if count > MOST_ENTRIES:
            raise ValueError(f"it claims {count} entries, at most {MOST_ENTRIES} are read")
    elif file.seek(0) == 0 and file.read(2) == b"PK":
        raise ValueError("it was written by another program, or is cut off")
    file.seek(0)


def _is_snapshot(path: Path) -> bool:
    """Whether a file says that it is a saved learner; an export is a zip archive."""
    with path.open("rb") as file:
        return file.readline(64).startswith(b"onlooker snapshot ")


def _load(path: Source, distances: Iterable[Distance]) -> OnlineHarmonicLearner:
    distance = empty_learner(path, distances).kernel.distance
    saved = Saved.read(path, distance=distance, quantizer=None, features=None)
    labels = saved.state.labels
    unlabeled = int(np.count_nonzero(labels == UNLABELED))
    needed = 2 * 8 * unlabeled * len(labels)  # similarities and distances
    if needed > MOST_MEMORY:
        raise SnapshotError(
            f"its {len(labels)} vertices, {unlabeled} of them unlabeled, would take "
            f"{needed / 1e9:.1f} GB of memory; at most {MOST_MEMORY / 1e9:.1f} GB are read"
        )
    with errors_about(path):
        return OnlineHarmonicLearner(**saved.settings).restored(saved.state)


def _checked(archive: zipfile.ZipFile, size: int) -> dict[str, bytes]:
    """The files of the manifest, each as it was written, and no others."""
    entries = {entry.filename: entry for entry in archive.infolist()}
    claimed = sum(max(entry.file_size, entry.compress_size) for entry in archive.infolist())
    if claimed > size:
        raise ValueError(f"its entries claim {claimed} bytes in a file of {size}")
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries.values()):
        raise ValueError("it was written again by another program")
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


def _archive(contents: Mapping[str, bytes], learner: OnlineHarmonicLearner) -> bytes:
    manifest = {
        "what": WHAT,
        "version": VERSION,
        "features": learner.features,
        "people": list(learner.names),
        "vertices": len(learner),
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()},
    }
    written = BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        # a fixed date: the same home gives the same bytes
        archive.writestr(zipfile.ZipInfo(MANIFEST), json.dumps(manifest, indent=1).encode())
        for name, data in contents.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return written.getvalue()


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


# ---- tables


def sighting_cells(seen: StoredSighting) -> list[Any]:
    """A sighting as a row of a table.

    >>> sighting_cells(StoredSighting(1, 60.0, "door", 7, "ana", None, None, False))
    [1, 60.0, 'door', 7, 'ana', None, None, '1970-01-01T00:01:00+00:00']
    """
    where = seen.number, seen.time, seen.camera, seen.frame
    when = datetime.fromtimestamp(seen.time, UTC).isoformat(timespec="seconds")
    return [*where, seen.name, seen.vertex, seen.card, when]


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as lines of a CSV file.

    >>> csv_text([["name", "score"], ["=1+1", -1.5]])
    "name,score\\r\\n'=1+1,-1.5\\r\\n"
    """
    text = StringIO()
    csv.writer(text).writerows([safe_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def safe_cell(cell: object) -> object:
    """Text that a spreadsheet would run as a formula gets an apostrophe; numbers are unchanged.

    >>> safe_cell("=HYPERLINK(1)"), safe_cell(-1.5)
    ("'=HYPERLINK(1)", -1.5)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) else cell
