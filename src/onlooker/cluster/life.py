"""A life of a site: how its home is opened, the signs that it serves, and an end in order."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from onlooker.cluster.kept import Kept
from onlooker.cluster.wire import Recipe
from onlooker.core.errors import Incompatible
from onlooker.home.database import StoreError
from onlooker.home.disk import HomeInUse
from onlooker.home.retention import Keeping

SIGN_OF_LIFE = 5.0
"""Seconds between two notes that the site serves: how exactly a gap can be told."""


def opened_home(
    folder: Path, recipe: Recipe, keeping: Keeping, clock: Callable[[], float], patience: float
) -> Kept:
    """The home; while its last owner is still dying, wait for the lock."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return Kept(folder, new_learner=recipe.learner, keeping=keeping, clock=clock)
        except HomeInUse:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.1)


def refuse_another_recipe(home: Kept, recipe: Recipe, site: str) -> None:
    """A home that other choices made cannot be united with those of the other sites."""
    wanted = recipe.learner()
    for what in ("features", "kernel", "sink", "max_vertices", "quantizer"):
        here, asked = getattr(home.learner, what), getattr(wanted, what)
        if here != asked:
            raise Incompatible(
                f"the home of site {site} was made with {what} {here!r}, the configuration says "
                f"{asked!r}; all sites must agree: change the configuration, or give the site "
                "another folder"
            )


class Life:
    """From the opening of a home until its end, by the site's clock.

    >>> import tempfile
    >>> from onlooker import HeatKernel
    >>> recipe, now = Recipe(HeatKernel(bandwidth=0.3, cutoff=1e-5), features="points"), [1000.0]
    >>> clock = lambda: now[0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     home = opened_home(Path(folder), recipe, Keeping(), clock, patience=0.0)
    ...     Life(home, clock).show()
    ...     now[0] = 1040.0
    ...     print(Life(home, clock).gap)  # nobody noted the end of the first
    ...     Life(home, clock).end()
    ...     print(Life(home, clock).gap)
    ...     home.close()
    40.0
    None
    """

    def __init__(self, home: Kept, clock: Callable[[], float]) -> None:
        self._home, self._clock, self._sign = home, clock, 0.0
        self.opened = clock()
        self.gap = self._silence()
        """Seconds since the last sign of the life before, if that did not end in order."""

    def show(self) -> None:
        """Now and then, leave a sign of life on the disk."""
        now = self._clock()
        if abs(now - self._sign) >= SIGN_OF_LIFE:
            self._sign = now
            with suppress(StoreError):  # the report says that nothing can be written
                self._home.note("alive", int(now))

    def end(self) -> None:
        """Note that the end was in order."""
        with suppress(StoreError):  # then the next start speaks of a gap
            self._home.note("alive", None)

    def _silence(self) -> float | None:
        alive = self._home.number("alive")
        if alive is None:
            return None
        return max(0.0, self._clock() - max(alive, self._home.last_event_time() or 0.0))
