"""Waiting for a condition that another thread or process fulfils."""

import time

DEADLINE = 120.0
"""Seconds after which a condition counts as never met: far more than a busy machine needs."""


def eventually(condition, seconds=DEADLINE):
    """The first true result of condition(), called again and again."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s")
