"""Hypothesis profiles (`dev` explores, `ci` repeats the same cases every time), Ctrl-C, Ray."""

import os
import signal

from hypothesis import settings

from helpers import ray_settings

assert ray_settings  # before anything imports Ray, which collecting doctests does

settings.register_profile("dev", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

# Shells start jobs in the background with Ctrl-C ignored, and children inherit that; the tests of
# what Ctrl-C does must not depend on how somebody started them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
