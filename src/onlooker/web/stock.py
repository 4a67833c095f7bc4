"""How much is known: counted once, and then one by one as faces are learned by watching."""

from typing import NamedTuple

from onlooker.home.home import Home


class Known(NamedTuple):
    """How many faces were named by people, and how many examples were learned without a name."""

    labeled: int
    learned: int


class Stock:
    """Belongs to the thread that owns the home; reading all vertices for a number is too slow."""

    def __init__(self) -> None:
        self._known, self._sequence = Known(0, 0), -1

    def watched(self, home: Home, before: int) -> None:
        """A face was shown when `before` was the newest event; if it was learned, count it."""
        if self._sequence == before and home.sequence == before + 1:
            self._known = self._known._replace(learned=self._known.learned + 1)
            self._sequence = home.sequence

    def counted(self, home: Home) -> Known:
        """How much is known now."""
        if self._sequence != home.sequence:
            known = home.vertices()
            labeled = sum(name is not None for name in known.names)
            self._known = Known(labeled, int(known.multiplicities.sum()) - labeled)
            self._sequence = home.sequence
        return self._known
