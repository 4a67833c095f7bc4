"""The peak of this process's resident memory, as Linux counts it."""

import os
import re
from pathlib import Path

MEASURABLE = os.access("/proc/self/clear_refs", os.W_OK)
"""Whether there is Linux's /proc."""


class PeakMemory:
    """What the peak in the block was beyond what was resident before; all threads count."""

    def __enter__(self):
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self._before = _kilobytes("VmRSS")
        return self

    def __exit__(self, *exc):
        self.megabytes = (_kilobytes("VmHWM") - self._before) / 1024


def _kilobytes(key):
    (found,) = re.findall(rf"^{key}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.M)
    return int(found)
