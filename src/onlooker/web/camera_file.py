"""The cameras that were added while the service ran, for its next start.

    cameras.json                   {"version": 1, "sha256": "...", "cameras": [...]}
    cameras.json.damaged-N         one that could not be read, for a person to look at

An address may hold a password, which the camera wants as it is: the file is for its owner only,
and nothing that is said about it repeats what is in it. It belongs to whoever has the home open.
"""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from onlooker.core.errors import OnlookerError

FILE = "cameras.json"
VERSION = 1
LARGEST = 1 << 20
"""Bytes of a file that is read at all."""


class NotKept(OnlookerError):
    """A camera that could not be written down, or not be crossed out."""


class CameraFile:
    """Sources by the name of their camera; every change is on the disk when it returns.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     CameraFile(Path(folder)).add("door", "rtsp://10.0.0.5/1")
    ...     CameraFile(Path(folder)).sources
    {'door': 'rtsp://10.0.0.5/1'}
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self.problem: str | None = None
        """Why the cameras of before are not known any more."""
        self.sources: dict[str, str] = {}
        try:
            if self._path.exists():
                self.sources = _read(self._path)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            self._put_aside()

    def add(self, name: str, source: str) -> None:
        """Remember a camera."""
        self._change({**self.sources, name: source})

    def remove(self, name: str) -> None:
        """Forget one; one that is not there is forgotten already."""
        if name in self.sources:
            self._change({one: source for one, source in self.sources.items() if one != name})

    def _change(self, sources: dict[str, str]) -> None:
        try:
            _write(self._path, sources)
        except OSError as error:
            raise NotKept(f"cannot write {self._path.name}: {error.strerror}") from error
        self.sources = sources

    def _put_aside(self) -> None:
        """A person may still read in it what the cameras were."""
        number = 1 + len(list(self._path.parent.glob(f"{FILE}.damaged-*")))
        aside = self._path.with_name(f"{FILE}.damaged-{number}")
        with suppress(OSError):  # then the next change replaces it
            self._path.replace(aside)
        self.problem = (
            f"{FILE} could not be read, and the cameras in it are not watched: add them again; "
            f"what is left of it is in {aside.name}"
        )


def _read(path: Path) -> dict[str, str]:
    """What is not exactly what we write is a ValueError, KeyError or TypeError."""
    if path.stat().st_size > LARGEST:
        raise ValueError("too large")
    kept = json.loads(path.read_text(encoding="ascii"))
    cameras = kept["cameras"]
    if kept["version"] != VERSION or kept["sha256"] != _digest(cameras):
        raise ValueError("of another version, or not what was written")
    return {str(one["name"]): str(one["source"]) for one in cameras}


def _write(path: Path, sources: dict[str, str]) -> None:
    cameras = [{"name": name, "source": source} for name, source in sources.items()]
    kept = {"version": VERSION, "sha256": _digest(cameras), "cameras": cameras}
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(file, "w", encoding="ascii") as text:
        json.dump(kept, text, indent=1)
        text.flush()
        os.fsync(file)
    unfinished.replace(path)
    if os.name != "nt":  # folders cannot be opened there
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _digest(cameras: Any) -> str:
    plain = json.dumps(cameras, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode("ascii")).hexdigest()
