"""The addresses of cameras, videos and pictures: parsed, named, and shown without secrets."""

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from glob import glob
from pathlib import Path
from urllib.parse import urlsplit

from onlooker.core.errors import OnlookerError
from onlooker.video.image_files import SUFFIXES


class SourceError(OnlookerError):
    """A source that cannot be opened, or whose address cannot be parsed."""


class Kind(Enum):
    """What kind of source an address names."""

    CAMERA = "a camera of this computer"
    STREAM = "a camera in the network"
    VIDEO = "a video file"
    PICTURES = "pictures"
    SIMULATED = "the simulated camera"


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed source."""

    kind: Kind
    target: str
    """What to open. Never shown: it may contain a password."""
    camera: str
    """The name that every frame carries."""
    shown: str
    """The address for messages: of a network address only the host."""
    files: tuple[Path, ...] = ()
    """The pictures, in order."""

    def __repr__(self) -> str:
        return f"<{self.camera}: {self.shown}>"


Source = str | int | os.PathLike[str]

_NAMED = re.compile(r"([^=:/\\*?\[]*)=(.*)", re.DOTALL)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # two letters at least: C: is a disk
SCENARIOS = ("V1", "V2", "VO", "VN")
"""The scenarios of the simulated camera."""
_CAMERA_PROTOCOLS = ("rtsp", "rtsps", "http", "https")


def addresses_of(sources: Iterable[Source]) -> list[Address]:
    """Parse several sources, and give each camera a unique name.

    A name given as `name=source` stays; one that is derived gets a number if it is taken.

    >>> found = addresses_of(["door=rtsp://me:secret@10.0.0.5/1", 0, "http://10.0.0.7:81/video"])
    >>> [address.camera for address in found]
    ['door', 'camera0', '10.0.0.7-81']
    >>> found[0]
    <door: rtsp://10.0.0.5/...>
    """
    named = [_split(source) for source in sources]
    if not named:
        raise SourceError("no source given; try 0 for the camera of this computer")
    taken: set[str] = set()
    for name, _ in named:
        if name is not None and name in taken:
            raise SourceError(f"two sources are called {name!r}; give each its own name")
        if name is not None:
            taken.add(name)
    addresses = []
    for name, text in named:
        address = _address(text)
        if name is None:
            name = _free(address.camera, taken)
            taken.add(name)
        addresses.append(replace(address, camera=name))
    return addresses


def _split(source: Source) -> tuple[str | None, str]:
    text = str(source) if isinstance(source, int) else os.fspath(source)
    if not text or re.search(r"[\0-\x1f\x7f]", text):
        raise SourceError("a source must be one row of text; try 0, video.mp4 or rtsp://...")
    named = _NAMED.fullmatch(text)
    if named is None or os.path.lexists(text):
        return None, text
    if not named[1].strip() or not named[2]:
        raise SourceError("a named source is written name=source, for example door=0")
    return named[1].strip(), named[2]


def _free(name: str, taken: set[str]) -> str:
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def _address(text: str) -> Address:
    if re.fullmatch(r"[0-9]{1,3}", text):
        return Address(Kind.CAMERA, text, f"camera{int(text)}", f"camera {int(text)}")
    scheme = _SCHEME.match(text)
    if scheme is None:
        return _path(text)
    if scheme[1].lower() == "simulated":
        return _simulated(text)
    if scheme[1].lower() not in _CAMERA_PROTOCOLS:
        raise SourceError(
            f"{scheme[1]}: is not opened; a camera has an rtsp, rtsps, http or https address, "
            "and a file is named by its plain path (./ in front if the name has a colon)"
        )
    return _network(text, scheme[1].lower())


def _simulated(text: str) -> Address:
    """The simulated camera, by its scenario.

    >>> _simulated("simulated:v1").camera
    'simulated-V1'
    """
    name = text.partition(":")[2].upper()
    if name not in SCENARIOS:
        known = ", ".join(f"simulated:{each}" for each in SCENARIOS)
        raise SourceError(f"the simulated camera is one of {known}")
    return Address(Kind.SIMULATED, f"simulated:{name}", f"simulated-{name}", f"simulated:{name}")


def _network(text: str, scheme: str) -> Address:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host:
        raise SourceError(
            f"a {scheme} address without a host; it looks like "
            f"{scheme}://user:password@10.0.0.5:554/path, with / ? # @ in a password "
            "written as %2F %3F %23 %40"
        )
    # User and password, and sometimes the path and the query too, are secrets.
    where = host if port is None else f"{host}:{port}"
    if "@" in text.removeprefix(f"{text[: len(scheme)]}://{parts.netloc}"):
        where = ""  # likely a password with a slash, so the "host" is a part of it
    name = re.sub(r"[^\w.]+", "-", where).strip("-") or scheme
    return Address(Kind.STREAM, text, name, f"{scheme}://{where}/...")


def _path(text: str) -> Address:
    path = Path(text)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        if any(sign in text for sign in "*?["):
            return _pictures(text, map(Path, _matching(text)))
        raise SourceError(f"there is no file or folder {text!r}") from None
    if stat.S_ISDIR(mode):
        return _pictures(text, path.iterdir())
    if stat.S_ISCHR(mode) and re.fullmatch(r"/dev/video[0-9]+", str(path.resolve())):
        return Address(Kind.CAMERA, str(path), path.name, text)
    if not stat.S_ISREG(mode):
        raise SourceError(f"{text!r} is neither a file nor a folder")
    if path.suffix.lower() in SUFFIXES:
        return Address(Kind.PICTURES, text, path.stem, repr(text), (path,))
    return Address(Kind.VIDEO, text, path.stem, repr(text))


def _matching(pattern: str) -> list[str]:
    try:
        return glob(pattern, recursive=True)
    except RecursionError:  # one call for each folder in the pattern
        raise SourceError(f"there are too many folders in {pattern[:60]!r}...") from None


def _pictures(text: str, files: Iterable[Path]) -> Address:
    try:
        found = [file for file in files if file.suffix.lower() in SUFFIXES]
    except OSError as error:
        raise SourceError(f"cannot list {text!r}: {error.strerror}") from None
    if not found:
        raise SourceError(f"there are no pictures in {text!r}; videos are named one by one")
    found.sort(key=natural_order)
    folder = Path(text) if Path(text).is_dir() else found[0].parent
    return Address(Kind.PICTURES, text, folder.resolve().name or "pictures", repr(text), (*found,))


def natural_order(path: Path) -> list[tuple[int, str]]:
    """A sort key for natural order: frame2 before frame10.

    >>> [path.name for path in sorted([Path("f10.png"), Path("f2.png")], key=natural_order)]
    ['f2.png', 'f10.png']
    """
    parts = re.split(r"([0-9]+)", str(path))
    return [(int(part), part) if part[:1].isdecimal() else (0, part) for part in parts]
