"""Threads that come and go share heaps, so that freed memory is reused."""

import os
import platform
import subprocess
import sys

import pytest

CAMERAS_COME_AND_GO = """
import ctypes, sys, threading
from onlooker.web.server import limit_malloc_arenas

if sys.argv[1] == "shared":
    assert limit_malloc_arenas()

together = threading.Barrier(6)

def camera():
    together.wait()
    held = [bytearray(60_000) for _ in range(100)]
    together.wait()

for _ in range(3):
    threads = [threading.Thread(target=camera) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[2].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


def heaps(tmp_path, how):
    out = tmp_path / how
    plain = {key: value for key, value in os.environ.items() if key != "MALLOC_ARENA_MAX"}
    subprocess.run(
        [sys.executable, "-c", CAMERAS_COME_AND_GO, how, str(out)],
        check=True,
        env=plain,
    )
    return out.read_text().count("<heap nr=")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_cameras_that_come_and_go_share_a_heap(tmp_path):
    assert heaps(tmp_path, "shared") <= 2 < heaps(tmp_path, "alone")
