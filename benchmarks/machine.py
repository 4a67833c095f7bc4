"""One core for a benchmark, and a description of what it ran on."""

import os
import platform
import sys
from importlib.metadata import version
from typing import Any

import cv2

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def one_thread_each() -> None:
    """Start the program again, if need be, with libraries told to use one thread.

    They read it when they are loaded, and by now they are.
    """
    if any(os.environ.get(name) != "1" for name in THREADS):
        os.environ.update(dict.fromkeys(THREADS, "1"))
        os.execv(sys.executable, [sys.executable, *sys.argv])


def one_core() -> None:
    """Decoder, detector and learner on one core; where a system cannot pin, on one thread each."""
    cv2.setNumThreads(1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    packages = ("onlooker", "numpy", "scipy", "opencv-python-headless", "av")
    return {
        "cpus": os.cpu_count(),
        "cores_used": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "processor": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }
