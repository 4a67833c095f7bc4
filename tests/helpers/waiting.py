"""Waiting for what happens in another thread or process."""

import time

DEADLINE = 120.0
"""Seconds after which a condition counts as never met: far more than a busy machine needs."""


def eventually(true, seconds=DEADLINE):
    """What becomes true, once it does."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := true():
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s")
