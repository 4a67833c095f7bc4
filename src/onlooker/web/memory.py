"""One heap for all threads, so that what one of them gives back is used by the others.

glibc gives every new thread a heap of its own, up to eight a processor, and each keeps what was
freed in it. Cameras that are added and removed, and uploads, come in threads that come and go:
after eighty cameras, two at a time, thirteen heaps held 87 MB that nobody used, and went on
growing; two heaps hold 36 MB, and no more after the first cameras.
"""

import ctypes
import os
import sys

MOST_HEAPS = 2
"""The main thread's, and one for the others: more are of no use to threads that take turns."""
_ARENA_MAX = -8
"""M_ARENA_MAX in malloc.h."""


def share_one_heap() -> bool:
    """Ask for it, before there are threads; whether somebody heard.

    Who has set MALLOC_ARENA_MAX knows better.
    """
    if sys.platform != "linux" or "MALLOC_ARENA_MAX" in os.environ:
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
    return mallopt is not None and bool(mallopt(_ARENA_MAX, MOST_HEAPS))
