"""A dataset on disk: a folder with pictures, and `manifest.csv` that says who is in which.

The columns are set, camera, person (empty for strangers), frame, path, and optionally condition:
what disturbs the face, so that misses can be counted by their causes. A set whose pictures have
neither camera nor person is a crowd of strangers: one picture each, nobody twice.
"""

import csv
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from onlooker.core.errors import BadValue

MANIFEST = "manifest.csv"
COLUMNS = ("set", "camera", "person", "frame", "path")
OPTIONAL_COLUMNS = ("condition",)
SHOWN = 100
"""The most problems that an error lists; the others are counted."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One frame: the recording it belongs to, who is in it, and its file."""

    set: str
    camera: str
    person: str | None
    frame: int
    path: Path
    condition: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """All pictures of a folder, in the order of its manifest."""

    name: str
    pictures: tuple[Picture, ...]
    digest: str
    """Of the manifest, and of the size and time of every picture: cached results depend on it."""

    @property
    def recordings(self) -> tuple[str, ...]:
        """The sets that show people at cameras, in order."""
        return tuple(dict.fromkeys(each.set for each in self.pictures if each.camera))

    @property
    def crowd(self) -> tuple[Picture, ...]:
        """Pictures of strangers that belong to no camera."""
        return tuple(each for each in self.pictures if not each.camera)

    def recording(self, name: str) -> tuple[Picture, ...]:
        """The pictures of one set."""
        found = tuple(each for each in self.pictures if each.set == name and each.camera)
        if not found:
            known = ", ".join(self.recordings) or "none"
            raise BadValue(f"there is no set {name!r} with cameras in {self.name}; known: {known}")
        return found


def read_dataset(folder: str | Path) -> Dataset:
    """Read and check a dataset; one error lists all its problems."""
    folder = Path(folder)
    manifest = folder / MANIFEST
    try:
        content = manifest.read_bytes()
        rows = list(csv.DictReader(content.decode("utf-8-sig").splitlines(), strict=True))
    except OSError as error:
        raise BadValue(f"cannot read {manifest}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BadValue(f"{manifest} is not UTF-8 text: {error}") from error
    except csv.Error as error:
        raise BadValue(f"{manifest} is not a table: {error}; is there a quote too many?") from error
    missing, unknown = _wrong_columns(content)
    if missing:  # nothing else can be checked
        refuse(manifest, [*missing, *unknown])
    refuse(manifest, [*unknown, *_problems(folder, rows)])
    pictures = tuple(
        Picture(
            row["set"], row["camera"], row["person"] or None, int(row["frame"]),
            folder / row["path"], row.get("condition", ""),
        )
        for row in rows
    )  # fmt: skip
    return Dataset(folder.resolve().name, pictures, _digest(content, pictures))


def _digest(content: bytes, pictures: Sequence[Picture]) -> str:
    digest = hashlib.sha256(content)
    for each in pictures:
        about = each.path.stat()
        digest.update(f"{about.st_size} {about.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def refuse(what: object, problems: Sequence[str]) -> None:
    """One error that lists all problems, if there are any."""
    if problems:
        more = [f"and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
        raise BadValue(f"{what}: " + "; ".join([*problems[:SHOWN], *more]))


def _wrong_columns(content: bytes) -> tuple[list[str], list[str]]:
    """Missing columns, then unknown and repeated ones."""
    first = content.decode("utf-8-sig").splitlines()[:1]
    header = next(csv.reader(first), [])
    known = COLUMNS + OPTIONAL_COLUMNS
    return (
        [f"the column {name} is missing" for name in COLUMNS if name not in header],
        [f"the column {name!r} is unknown" for name in header if name not in known]
        + [f"the column {name} is there twice" for name in known if header.count(name) > 1],
    )


def _problems(folder: Path, rows: Sequence[dict[str, str]]) -> Iterator[str]:
    if not rows:
        yield "it lists no picture"
    for number, row in enumerate(rows, start=2):
        where = f"line {number}"
        if None in row or None in row.values():
            yield f"{where} does not have a value for every column"
            continue
        if not row["set"]:
            yield f"{where} names no set"
        if not row["frame"].isdecimal():
            yield f"{where}: frame {row['frame']!r} is not a number"
        if row["person"] and not row["camera"]:
            yield f"{where}: {row['person']} is at no camera"
        path = PurePosixPath(row["path"])
        if path.is_absolute() or ".." in path.parts or not row["path"]:
            yield f"{where}: the path {row['path']!r} does not lie in the folder"
        elif not os.path.isfile(folder / path):  # False where the operating system refuses the name
            yield f"{where}: there is no picture {row['path']}"
    yield from _repeated(rows)


def _repeated(rows: Sequence[dict[str, str]]) -> Iterator[str]:
    whole = [row for row in rows if None not in row.values()]
    keys = Counter(
        (row["set"], row["camera"], row["person"], row["frame"].lstrip("0") or "0") for row in whole
    )
    for key, times in keys.items():
        if times > 1:
            yield f"frame {' / '.join(part for part in key if part)} is listed {times} times"
    for path, times in Counter(PurePosixPath(row["path"]) for row in whole).items():
        if times > 1:
            yield f"the picture {path} is listed {times} times"
