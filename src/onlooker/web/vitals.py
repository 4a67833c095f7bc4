"""What the machine says of this process: memory, disk, versions."""

import os
import platform
import shutil
import sys
from functools import cache
from pathlib import Path

import cv2
import numpy as np

import onlooker
from onlooker.home.database import VERSION


def resident() -> int:
    """Bytes of memory this process holds; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return _peak()


def _peak() -> int:
    """At most so many bytes were held at one time: the next best, where there is no /proc."""
    if sys.platform == "win32":
        return 0
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def used_and_free(folder: Path) -> tuple[int, int]:
    """Bytes of all files in a folder, and bytes that are free there."""
    used = 0
    for path in folder.rglob("*"):
        try:
            used += path.stat().st_size if path.is_file() else 0
        except OSError:  # it has just gone
            continue
    try:
        return used, shutil.disk_usage(folder).free
    except OSError:
        return used, 0


@cache
def versions() -> dict[str, str]:
    """Of what matters when somebody reports a problem."""
    return {
        "onlooker": onlooker.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "opencv": cv2.__version__,
        "sqlite": VERSION,
    }
