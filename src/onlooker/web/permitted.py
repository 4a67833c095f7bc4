"""What somebody from outside may call a camera, and may have watched."""

import re
from collections.abc import Sequence
from pathlib import Path

from onlooker.core.errors import BadValue

_NAME = re.compile(r"\w[\w. -]{0,63}")
_PROTOCOLS = ("rtsp://", "rtsps://", "http://", "https://")


def as_camera_name(name: str) -> str:
    """A name that can stand in an address.

    >>> as_camera_name("../door")
    Traceback (most recent call last):
    ...
    onlooker.core.errors.BadValue: a camera's name has letters, digits, spaces and . _ - (64...
    """
    if not _NAME.fullmatch(name):
        raise BadValue(
            "a camera's name has letters, digits, spaces and . _ - (64 at most) and begins with "
            f"a letter or digit, got {name[:80]!r}"
        )
    return name


def permitted(source: str, folders: Sequence[Path]) -> str:
    """The source, if it is a camera or lies in one of the folders.

    >>> permitted("rtsp://10.0.0.5/1", [])
    'rtsp://10.0.0.5/1'
    """
    if re.fullmatch(r"[0-9]{1,3}|simulated:(V1|V2|VO)", source) or source.lower().startswith(
        _PROTOCOLS
    ):
        return source
    try:
        path = Path(source).resolve()
        inside = any(path.is_relative_to(folder.resolve()) for folder in folders)
    except (OSError, ValueError, RuntimeError):
        inside = False
    if not inside or any(sign in source for sign in "*?[") or "://" in source:
        raise BadValue(
            "a source is the number of a camera, an rtsp, rtsps, http or https address, "
            "simulated:V1, simulated:V2 or simulated:VO, or lies in a folder that `onlooker serve "
            "--folder` names"
        )
    return str(path)
