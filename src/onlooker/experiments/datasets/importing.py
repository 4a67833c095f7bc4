"""Importing a folder of people: datasets that others made, as one set of a dataset of ours.

Two layouts are understood. In PERSON/PICTURE and PERSON/SEQUENCE/PICTURE, as VidTIMIT has it (its
PERSON/video/SEQUENCE too), all sequences of a person are one after the other before one camera. In
CAMERA/PERSON/PICTURE, as the cropped faces of ChokePoint, every first folder is a camera. Names are
put in their natural order: 9 before 10. Every picture gets the next number of its person, so that
an experiment interleaves people (docs/choices.md, 26).

Pictures are copied, so that a dataset stays whole when the folder is moved or changed. They are
written beside the dataset and moved into it together; the manifest is replaced last.
"""

import csv
import io
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Literal

from onlooker.core.errors import BadValue
from onlooker.core.files import move_into_place, replace_file
from onlooker.experiments.datasets.manifest import COLUMNS, MANIFEST, read_dataset, refuse
from onlooker.experiments.datasets.recording import Appender, clean, folder_name
from onlooker.video.image_files import SUFFIXES, is_picture

FirstFolders = Literal["person", "camera"]
"""What the first folders are: people, with or without sequences, or cameras."""
ONE_CAMERA = "camera1"
BETWEEN = ("video", "Video")
"""A folder between a person and the sequences, as in VidTIMIT; its neighbours are left out."""


@dataclass(frozen=True, slots=True)
class FoundPicture:
    """One file, and where it belongs."""

    camera: str
    person: str
    path: Path


def import_people(
    folder: Path, into: Path, *, recording: str = "imported", first: FirstFolders = "person"
) -> Path:
    """Copy all pictures into a dataset, new or existing, as a set of their own.

    Nothing is written unless all of it can be: a wrong layout and a set that is there already are
    one error each.
    """
    name = clean(recording)
    if name is None:
        raise BadValue("a set of pictures needs a name, for example 'imported'")
    found = find_pictures(folder, first)
    before = _manifest_before(into, name)
    target = into / folder_name(name)
    if target.exists():
        raise BadValue(f"{target} is there already and is not overwritten; name another --set")
    try:
        into.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".partial-", dir=into) as unfinished:
            made = Path(unfinished, "set")
            rows = list(_copied(found, made, name))
            move_into_place(made, target)
        try:
            replace_file(into / MANIFEST, _with_rows(before, rows))
        except OSError:
            shutil.rmtree(target, ignore_errors=True)
            raise
    except OSError as error:
        raise BadValue(f"cannot write {into}: {error.strerror or error}") from error
    return into


def find_pictures(folder: Path, first: FirstFolders) -> list[FoundPicture]:
    """All pictures in order, camera by camera and person by person; one error lists what is wrong.

    Pictures that lie elsewhere are refused, not left out.
    """
    if not folder.is_dir():
        raise BadValue(f"there is no folder {folder}")
    if _pictures(folder):
        wanted = "a folder for each person" if first == "person" else "folders CAMERA/PERSON"
        raise BadValue(f"{folder} has pictures itself; {wanted} is expected in it")
    found: list[FoundPicture] = []
    problems: list[str] = []
    for outer in _folders(folder):
        if first == "person":
            found += _of_person(outer, ONE_CAMERA, outer.name, problems)
        elif _pictures(outer):
            problems.append(f"{outer.name} has pictures itself, CAMERA/PERSON was expected")
        else:
            for person in _folders(outer):
                found += _of_person(person, outer.name, person.name, problems)
    refuse(folder, problems)
    if not found:
        raise BadValue(f"{folder} has no pictures in folders of people")
    return found


def _of_person(
    folder: Path, camera: str, person: str, problems: list[str]
) -> Iterator[FoundPicture]:
    """The pictures of one person, in one folder or in one folder for each sequence."""
    name, place = clean(person), clean(camera)
    if name is None or place is None:
        problems.append(f"{folder} has no usable name")
        return
    between = [each for each in _folders(folder) if each.name in BETWEEN]
    inner = between[0] if between and not _pictures(folder) else folder
    own, sequences = _pictures(inner), _folders(inner)
    inside = [path for each in sequences for path in _pictures(each)]
    if own and inside:
        problems.append(f"{folder.name} has pictures and folders with pictures")
    elif not own and not inside:
        deeper = any(_pictures(below) for each in sequences for below in _folders(each))
        problems.append(
            f"{folder.name} has its pictures too deep, PERSON/SEQUENCE/PICTURE was expected"
            if deeper
            else f"{folder.name} has no pictures"
        )
    yield from (FoundPicture(place, name, path) for path in own or inside)


def natural(path: Path) -> list[tuple[int, int | str]]:
    """A key by which names are sorted as people count: numbers by value.

    >>> sorted(map(Path, ["10.jpg", "9.jpg", "b2"]), key=natural)
    [PosixPath('9.jpg'), PosixPath('10.jpg'), PosixPath('b2')]
    """
    parts = re.split(r"(\d+)", path.name)
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts if part]


def _folders(folder: Path) -> list[Path]:
    inside = (each for each in folder.iterdir() if not each.name.startswith("."))
    return sorted((each for each in inside if each.is_dir()), key=natural)


def _pictures(folder: Path) -> list[Path]:
    """Files with the suffix of a picture, and files without a suffix that are one."""
    inside = (each for each in folder.iterdir() if not each.name.startswith("."))
    return sorted((each for each in inside if each.is_file() and _is_picture(each)), key=natural)


def _is_picture(path: Path) -> bool:
    """By its suffix; VidTIMIT's frames have none (001), they are recognized by their content."""
    if path.suffix:
        return path.suffix.lower() in SUFFIXES
    try:
        return is_picture(path.read_bytes())
    except OSError:
        return False


def _copied(found: Sequence[FoundPicture], made: Path, recording: str) -> Iterator[dict[str, str]]:
    """Copy the pictures one after the other; the rows of the manifest."""
    numbers: Counter[tuple[str, str]] = Counter()
    for each in found:
        number = numbers[each.camera, each.person]
        numbers[each.camera, each.person] += 1
        place = PurePosixPath(folder_name(each.camera), folder_name(each.person))
        inner = place / f"{number:05d}{each.path.suffix.lower()}"
        (made / place).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(each.path, made / inner)
        path = PurePosixPath(folder_name(recording)) / inner
        values = (recording, each.camera, each.person, str(number), str(path))
        yield dict(zip(COLUMNS, values, strict=True))


def _manifest_before(into: Path, recording: str) -> str:
    """The manifest of the dataset, empty for a new one; an error where the set is in it already."""
    Appender(into)  # refuses a folder that is neither empty nor a dataset
    if not (into / MANIFEST).exists():
        return ""
    if recording in {each.set for each in read_dataset(into).pictures}:
        raise BadValue(f"{into} has a set {recording!r} already; name another with --set")
    return (into / MANIFEST).read_text(encoding="utf-8-sig")


def _with_rows(before: str, rows: Sequence[dict[str, str]]) -> bytes:
    """A manifest and further rows; columns that these do not have stay empty."""
    header = next(csv.reader(before.splitlines()[:1]), list(COLUMNS))
    text = io.StringIO()
    table = csv.DictWriter(text, header, restval="", lineterminator="\n")
    if not before:
        table.writeheader()
    elif not before.endswith("\n"):
        text.write("\n")
    table.writerows(rows)
    return (before + text.getvalue()).encode()
