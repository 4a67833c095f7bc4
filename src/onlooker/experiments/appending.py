"""One picture after the other into a dataset folder, which is a valid dataset after each."""

import csv
import hashlib
import io
import os
import re
import unicodedata
from pathlib import Path, PurePosixPath

import cv2

from onlooker.core.errors import BadValue
from onlooker.experiments.manifest import COLUMNS, MANIFEST, read_dataset
from onlooker.recognition.pipeline import undisturbed
from onlooker.vision.types import Pixels

ASIDE = "faces"
"""A subfolder that is not part of the dataset: the faces somebody was asked about."""
QUALITY = 95


class Appender:
    """Adds to a dataset, or begins one in a folder that is new or empty; overwrites nothing.

    A picture is written before its line in the manifest, and Ctrl-C waits for both.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._manifest = folder, folder / MANIFEST
        self._columns, self._next = list(COLUMNS), dict[tuple[str, str], int]()
        if self._manifest.exists():
            for picture in read_dataset(folder).pictures:
                place = (picture.set, picture.camera)
                self._next[place] = max(self._next.get(place, 0), picture.frame + 1)
            with self._manifest.open(encoding="utf-8-sig", newline="") as file:
                self._columns = next(csv.reader(file))
        elif folder.exists() and (not folder.is_dir() or _foreign(folder)):
            raise BadValue(
                f"{folder} is neither empty nor a dataset (it has no {MANIFEST}); name a new folder"
            )

    def first_free(self, recording: str, camera: str) -> int:
        """The number after the last frame of a camera: of those listed, and of stray pictures."""
        folder = self.folder / _plain(recording) / _plain(camera)
        stray = [int(path.stem) for path in folder.glob("*.jpg") if path.stem.isdecimal()]
        return max([self._next.get((recording, camera), 0), *(number + 1 for number in stray)])

    def add(
        self, recording: str, camera: str, person: str | None, frame: int, pixels: Pixels
    ) -> Path:
        """Write one frame and list it."""
        path = PurePosixPath(_plain(recording), _plain(camera), f"{frame:04d}.jpg")
        values = (recording, camera, person or "", str(frame), str(path))
        row = dict(zip(COLUMNS, values, strict=True))
        _, encoded = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
        file = self.folder / path
        try:
            with undisturbed():
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("xb") as out:
                    out.write(encoded.tobytes())
                self._append(row)
        except FileExistsError:
            raise BadValue(f"{file} is there already and stays as it is") from None
        except OSError as error:
            raise BadValue(f"cannot write {file}: {error.strerror or error}") from error
        return file

    def _append(self, row: dict[str, str]) -> None:
        """One write for the whole line; half a line, on a full disk, is taken back."""
        text = io.StringIO()
        lines = csv.DictWriter(text, self._columns, lineterminator="\n")
        with self._manifest.open("a+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if not size:
                lines.writeheader()
            elif file.seek(-1, os.SEEK_END) and file.read(1) != b"\n":  # somebody's editor
                text.write("\n")
            lines.writerow(row)
            content = text.getvalue().encode()
            try:
                if file.write(content) != len(content):
                    raise OSError("the disk is full")
            except OSError:
                file.truncate(size)
                raise


def clean(name: str | None) -> str | None:
    """A name as the manifest can hold it: one line of text, nothing that steers a terminal.

    >>> clean("  Ana \\n\\x1b[2J/../🦊 ")
    'Ana [2J/../🦊'
    >>> clean(" ") is None
    True
    """
    text = unicodedata.normalize("NFC", " ".join((name or "").split()))
    return "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cs")).strip() or None


def _foreign(folder: Path) -> bool:
    return any(path.name != ASIDE for path in folder.iterdir())


def _plain(name: str) -> str:
    """As a folder's name: safe everywhere, and different for different names.

    >>> _plain("door"), _plain("../door")
    ('door', 'door-f35fd4')
    """
    safe = re.sub(r"[^A-Za-z0-9_+-]+", "-", name).strip("-")[:40]
    if safe == name:
        return name
    return f"{safe}-{hashlib.sha256(name.encode()).hexdigest()[:6]}".strip("-")
