"""The time by which things expire: a clock that was just set is not believed at once.

What has expired is deleted, and that cannot be taken back. A clock that jumps ahead by a year for
a minute (a wrong time server, a wrong battery) must not delete everything. So after a jump the
time goes on as it went before, by a clock that nobody can set, until the new one has run for an
hour. A clock that is wrong from the start is believed: there is nothing to compare it with.
"""

from collections.abc import Callable

TOLERANCE = 60.0
"""Seconds that a clock may be corrected by between two looks."""
PATIENCE = 3600.0
"""Seconds after which a clock that was set is believed."""


class Believed:
    """Seconds since 1970, as far as they are to be believed.

    >>> now, steady = [100.0], [0.0]
    >>> believed = Believed(lambda: now[0], lambda: steady[0])
    >>> now[0], steady[0] = 1e9, 5.0
    >>> believed()
    105.0
    >>> now[0], steady[0] = 1e9 + 3600, 3605.0
    >>> believed()
    1000003600.0

    clock may be set; steady may not.
    """

    def __init__(self, clock: Callable[[], float], steady: Callable[[], float]) -> None:
        self._clock, self._steady = clock, steady
        self._ahead = self._claimed = clock() - steady()
        self._since = steady()

    def __call__(self) -> float:
        """What time it is."""
        wall, steady = float(self._clock()), self._steady()
        ahead = wall - steady
        if abs(ahead - self._ahead) > TOLERANCE:
            if abs(ahead - self._claimed) > TOLERANCE:
                self._claimed, self._since = ahead, steady
            if steady - self._since < PATIENCE:
                return self._ahead + steady
        self._ahead = self._claimed = ahead
        return wall
