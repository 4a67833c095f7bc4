"""How the graph is kept within its budget n_g (Section 3.1).

A quantizer sees the vertices through a narrow window: it may ask who is close to whom, and merge
one vertex into another. Labeled vertices are never merged away and do not count.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


class Clusters(Protocol):
    """What a quantizer may ask of the vertices, and do to them. Vertices are told by slot."""

    unlabeled_count: int
    """How many vertices count against the budget."""

    def unlabeled(self) -> list[int]:
        """Slots of the unlabeled vertices, oldest first."""

    @property
    def smallest_gap(self) -> float:
        """The squared distance of the closest pair, or more where that is beyond the cutoff."""

    def closest_pair(self) -> tuple[int, int]:
        """The two closest vertices that are not both labeled, the older one first."""

    def gap(self, first: int, second: int) -> float:
        """The distance of two vertices."""

    def nearest_elder(self, slot: int, radius: float) -> int | None:
        """The nearest vertex closer than radius that is labeled or older, if there is one."""

    def survivor(self, first: int, second: int) -> tuple[int, int]:
        """Which of two stays and which goes: labeled, then heavier, then older stays."""

    def merge(self, kept: int, gone: int) -> None:
        """Let kept stand for everything that gone stood for."""


@runtime_checkable
class Quantizer(Protocol):
    """Reduces the vertices to a budget; its repr names it in saved files."""

    def shrink(self, vertices: Clusters, budget: int, radius: float) -> list[float]:
        """Merge until at most budget unlabeled vertices are left; the radii R passed through."""

    def settle(self, vertices: Clusters, radius: float) -> None:
        """Restore the quantizer's invariant after vertices came from elsewhere."""

    def merges_at_once(self, vertices: Clusters, gap: float, budget: int) -> bool:
        """Whether a vertex that came now would be merged into its nearest before anything else.

        gap is its squared distance to that one, inside the cutoff. "No" is always a safe answer.
        """


@dataclass(frozen=True)
class ClosestPair:
    """Merge the two closest vertices whenever the budget is exceeded: the default.

    Doubling throws budget away; this keeps all of it. The heavier vertex stays where it is, so
    representatives do not wander.

    >>> ClosestPair()
    ClosestPair()
    """

    def shrink(self, vertices: Clusters, budget: int, radius: float) -> list[float]:
        """Merge closest pairs; R plays no part."""
        while vertices.unlabeled_count > budget:
            vertices.merge(*vertices.survivor(*vertices.closest_pair()))
        return []

    def settle(self, vertices: Clusters, radius: float) -> None:
        """Nothing to restore."""

    def merges_at_once(self, vertices: Clusters, gap: float, budget: int) -> bool:
        """If the budget is full and no two vertices are as close. What comes is the younger and
        not the heavier, so it goes and the other stays."""
        return vertices.unlabeled_count == budget and gap < vertices.smallest_gap


@dataclass(frozen=True)
class Doubling:
    """The doubling algorithm of Charikar et al., as in the figure of Section 3.

    Keeps unlabeled vertices at least R apart; every example is within 2R of its vertex when the
    distance is a metric. Doubles *while* the size exceeds the budget: one doubling may merge
    nothing, and the figure's "equals n_g + 1" would then never be true again.

    >>> Doubling()
    Doubling()
    """

    def shrink(self, vertices: Clusters, budget: int, radius: float) -> list[float]:
        """Double R and repartition until the vertices fit."""
        radii = []
        while vertices.unlabeled_count > budget:
            # The first radius is not given and zero doubled is zero: start at the smallest gap.
            radius = 2 * radius or vertices.gap(*vertices.closest_pair())
            self.settle(vertices, radius)
            radii.append(radius)
        return radii

    def settle(self, vertices: Clusters, radius: float) -> None:
        """Repartition greedily in order of age: labeled vertices first, all of them kept."""
        for slot in vertices.unlabeled():
            elder = vertices.nearest_elder(slot, radius)
            if elder is not None:
                vertices.merge(elder, slot)

    def merges_at_once(self, vertices: Clusters, gap: float, budget: int) -> bool:
        """Not told beforehand: a doubling looks at everybody."""
        return False
