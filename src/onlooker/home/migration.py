"""Homes of earlier versions: a copy is put aside, and files beside the database become tables.

Until version 2 of the database the cards of strangers were in strangers.snapshot, cameras in
cameras.json and the record of taught faces in register.json. Rows and version are written in one
transaction, so a process killed at any statement leaves the old home; the files are deleted after
it. The copy is a home of the old version: it is deleted when it is older than the undo horizon, and
when somebody is forgotten.
"""

import errno
import hashlib
import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from onlooker.core import snapshot
from onlooker.core.errors import BadValue, SnapshotError
from onlooker.core.files import TEMPORARY_FILES, move_into_place, sync_folder
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.home.album import as_png
from onlooker.home.camera_table import CameraTable
from onlooker.home.card_table import (
    NEXT_CARD,
    NEXT_VERTEX,
    TURN,
    CardColumns,
    CardTable,
    FaceColumns,
    VertexColumns,
)
from onlooker.home.database import VERSION, Database, HomeError, NotSaved
from onlooker.home.taught import KEY_BYTES, TaughtFaces

CARDS_FILE, CAMERAS_FILE, TAUGHT_FILE = "strangers.snapshot", "cameras.json", "register.json"
COPY = "before-version-*"
"""Pattern of the folders with a copy of the home before a migration."""
PARTIAL_COPY = f".{COPY}.partial"
"""Pattern of such folders that a killed process did not finish."""
NOT_COPIED = (
    "lock",
    "ballast",
    TEMPORARY_FILES,
    "*.damaged-*",
    "*-shm",
    "*-wal",
    "*.partial",
    COPY,
)
_LARGEST_CAMERAS_FILE = 1 << 20
_UNREADABLE = (
    OSError,
    SnapshotError,
    BadValue,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What reading a damaged file may raise."""
_FAILING = (errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def needs_copy(database: Database) -> bool:
    """Whether a database has content of an earlier version."""
    return 0 < database.version < VERSION


def put_copy_aside(folder: Path, database: Database) -> None:
    """Copy the home, so that the earlier Onlooker can still open the copy."""
    target = folder / f"before-version-{VERSION}"
    partial = folder / f".before-version-{VERSION}.partial"
    try:
        shutil.rmtree(partial, ignore_errors=True)
        skipped = shutil.ignore_patterns(*NOT_COPIED, "onlooker.db")
        shutil.copytree(folder, partial, symlinks=True, ignore=skipped)
        partial.chmod(0o700)
        database.copy_to(partial / "onlooker.db")
        for path in (*partial.rglob("*"), partial):
            sync_folder(path)  # files too: nothing is changed before the copy is safe
        shutil.rmtree(target, ignore_errors=True)  # of a migration that was killed
        move_into_place(partial, target)
    except (OSError, NotSaved) as error:
        shutil.rmtree(partial, ignore_errors=True)
        reason = error.strerror or error if isinstance(error, OSError) else error
        raise HomeError(
            f"{folder} is of an earlier version, and a copy of it cannot be put aside before it is "
            f"migrated ({reason}); nothing was changed: free some space, or check the disk"
        ) from error


def import_files(folder: Path, database: Database, learner: OnlineHarmonicLearner) -> list[str]:
    """Write what the files hold into the tables, within a transaction: problems."""
    problems = []
    importers: dict[str, Callable[[Path], None]] = {
        CARDS_FILE: lambda path: _import_cards(path, CardTable(database), database, learner),
        CAMERAS_FILE: lambda path: _import_cameras(path, CameraTable(database)),
        TAUGHT_FILE: lambda path: import_taught(path, TaughtFaces(database)),
    }
    for name, import_file in importers.items():
        path = folder / name
        if not path.exists():
            continue
        try:
            import_file(path)
        except NotSaved:
            raise
        except _UNREADABLE as error:
            if _is_failing(error):
                raise HomeError(f"cannot read {path} at the moment; check the disk") from error
            problems.append(f"{name} of an earlier version cannot be read ({error})")
    return problems


def _is_failing(error: BaseException) -> bool:
    """Whether the system did not give what is in a file, which may be sound."""
    reason = error if isinstance(error, OSError) else error.__cause__
    return isinstance(reason, OSError) and reason.errno in _FAILING


def remove_imported_files(folder: Path) -> None:
    """Delete what is in the tables now.

    A record of taught faces that could not be read stays: without it nobody can tell who was
    forgotten, and a person has to decide (`HomeFolder.taught`).
    """
    for name in (CARDS_FILE, CAMERAS_FILE):
        (folder / name).unlink(missing_ok=True)
    path = folder / TAUGHT_FILE
    if path.exists() and _is_readable(path):
        path.unlink()


def import_taught(path: Path, taught: TaughtFaces) -> None:
    """Take over a record of taught faces, within a transaction."""
    taught.restore(*_read_taught(path))


def _is_readable(path: Path) -> bool:
    try:
        _read_taught(path)
    except _UNREADABLE:
        return False
    return True


def _read_taught(path: Path) -> tuple[bytes, list[str]]:
    content = json.loads(path.read_text(encoding="ascii"))
    key = bytes.fromhex(content["key"])
    if len(key) != KEY_BYTES:
        raise ValueError("its key is too short")
    return key, [str(digest) for digest in content["taught"]]


def _import_cameras(path: Path, cameras: CameraTable) -> None:
    if path.stat().st_size > _LARGEST_CAMERAS_FILE:
        raise ValueError("too large")
    content = json.loads(path.read_text(encoding="ascii"))
    rows = content["cameras"]
    plain = json.dumps(rows, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(plain.encode("ascii")).hexdigest()
    if content["version"] != 1 or content["sha256"] != digest:
        raise ValueError("of another version, or damaged")
    for row in [(str(row["name"]), str(row["source"])) for row in rows]:
        cameras.add(*row)


def _import_cards(
    path: Path, table: CardTable, database: Database, learner: OnlineHarmonicLearner
) -> None:
    """All rows are made before the first is written: a damaged file leaves none."""
    file = snapshot.read(path)
    header: dict[str, Any] = file.header
    kernel = learner.kernel
    expected = {
        "what": "onlooker.Strangers",
        "features": learner.features,
        "bandwidth": kernel.bandwidth,
        "cutoff": kernel.cutoff,
        "distance": repr(kernel.distance),
    }
    for key, value in expected.items():
        if header[key] != value:
            raise ValueError(f"written with {key} {header[key]!r}, not {value!r}")
    cards = [_card(row) for row in header["cards"]]
    faces = _faces(header["cards"], file.arrays)
    vertices = _vertices(file.arrays)
    numbers = {key: int(header[key.split()[1]]) for key in (NEXT_CARD, NEXT_VERTEX, TURN)}
    for card in cards:
        table.put_card(card)
        table.put_faces(card.number, [face for face in faces if face.card == card.number])
    for vertex in vertices:
        table.put_vertex(vertex)
    for key, number in numbers.items():
        database.set_number(key, number)


def _card(row: dict[str, Any]) -> CardColumns:
    first, last = _seen(row["first"]), _seen(row["last"])
    flags = bool(row["hidden"]), bool(row["told"])
    return CardColumns(int(row["number"]), int(row["count"]), *first, *last, *flags)


def _seen(columns: Any) -> tuple[float, str | None, int | None]:
    time, camera, frame = columns
    return float(time), camera, frame


def _faces(cards: Iterable[dict[str, Any]], arrays: Any) -> list[FaceColumns]:
    vectors, pictures, start = iter(arrays["faces"]), arrays["pictures"].tobytes(), 0
    faces = []
    for card in cards:
        for place, face in enumerate(card["faces"]):
            end = start + int(face["bytes"])
            png = as_png(pictures[start:end]) if end > start else None
            origin = int(card["number"]), place, *_seen(face["seen"])
            faces.append(FaceColumns(*origin, float(face["quality"]), next(vectors).copy(), png))
            start = end
    if next(vectors, None) is not None or start != len(pictures):
        raise ValueError("faces that belong to no card")
    return faces


def _vertices(arrays: Any) -> list[VertexColumns]:
    names = ("ids", "groups", "turns", "times", "multiplicities")
    columns = [arrays[name].tolist() for name in names]
    rows = zip(*columns, arrays["vectors"], strict=True)
    return [VertexColumns._make([*row[:5], row[5].copy()]) for row in rows]
