"""Waiting for what happens in another thread."""

import time


def eventually(true, seconds=20.0):
    """What becomes true, once it does."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := true():
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s")
