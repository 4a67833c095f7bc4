"""How the number of unlabeled vertices is limited to the budget n_g (Section 3.1).

A quantizer uses the graph through the small interface `Clusters`: it may ask which vertices are
close to each other, and merge one into another. Labeled vertices are never merged into others and
do not count against the budget.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from onlooker.core.checks import Slots


class Clusters(Protocol):
    """What a quantizer may read from a graph, and do to it. Vertices are identified by slot."""

    unlabeled_count: int
    """How many vertices count against the budget."""

    def unlabeled(self) -> list[int]:
        """Slots of the unlabeled vertices, oldest first."""

    @property
    def smallest_gap(self) -> float:
        """The squared distance of the closest pair, or more where that is beyond the cutoff."""

    def closest_pair(self) -> tuple[int, int]:
        """The two closest vertices that are not both labeled, the older one first."""

    def closest_safe_pair(self) -> tuple[int, int] | None:
        """The two closest linked vertices whose merging cuts nobody off, the survivor first."""

    def cheapest_pair(self) -> tuple[int, int]:
        """The two linked vertices whose merging at their mean adds least to the variance."""

    def newcomer_goes_first(self, neighbours: Slots, gap: float) -> bool:
        """Whether a new vertex would be safe to merge and no two others as close are, if sure."""

    def gap(self, first: int, second: int) -> float:
        """The distance between two vertices."""

    def nearest_elder(self, slot: int, radius: float) -> int | None:
        """The nearest vertex closer than radius that is labeled or older, if there is one."""

    def survivor(self, first: int, second: int) -> tuple[int, int]:
        """Which of two survives a merge and which goes: the labeled, the heavier, the older one."""

    def merge(self, survivor: int, gone: int) -> None:
        """Let the survivor represent all examples of both; the other one is removed."""

    def merge_at_mean(self, first: int, second: int) -> None:
        """Let one vertex at the mean of both represent their examples; a label stays in place."""


@runtime_checkable
class Quantizer(Protocol):
    """Reduces the vertices to a budget; its repr identifies it in saved files."""

    def shrink(self, vertices: Clusters, budget: int, radius: float) -> list[float]:
        """Merge until at most budget unlabeled vertices are left; the radii R passed through."""

    def settle(self, vertices: Clusters, radius: float) -> None:
        """Restore the quantizer's invariant after vertices of another learner were added."""

    def merges_at_once(
        self, vertices: Clusters, neighbours: Slots, gap: float, budget: int
    ) -> bool:
        """Whether a vertex added now would be merged into its nearest before any other merge.

        It would have these neighbours; gap is its squared distance to the nearest, inside the
        cutoff. False is always safe: it only costs the time to add the vertex and to merge it.
        """


@dataclass(frozen=True)
class ClosestPair:
    """Merge the two closest vertices whenever the budget is exceeded: the default.

    Doubling leaves much of the budget unused; this uses all of it. The heavier vertex stays where
    it is, so that representatives do not drift.

    >>> ClosestPair()
    ClosestPair()
    """

    def shrink(self, vertices: Clusters, budget: int, radius: float) -> list[float]:
        """Merge closest pairs; R is not used."""
        while vertices.unlabeled_count > budget:
            vertices.merge(*vertices.survivor(*vertices.closest_pair()))
        return []

    def settle(self, vertices: Clusters, radius: float) -> None:
        """Nothing to restore."""

    def merges_at_once(
        self, vertices: Clusters, neighbours: Slots, gap: float, budget: int
    ) -> bool:
        """If the budget is full and no two vertices are as close.

        The new vertex is the younger and not the heavier, so the other one survives.
        """
        return vertices.unlabeled_count == budget and gap < vertices.smallest_gap


@dataclass(frozen=True)
class ClosestSafePair:
    """As `ClosestPair`, but merge the two closest whose merging cuts nobody off from all labels.

    A chain of vertices is what names somebody who has changed since the label. Where two links of
    it are the closest pair, `ClosestPair` merges them, and what is behind them has lost its name.

    >>> ClosestSafePair()
    ClosestSafePair()
    """

    def shrink(self, vertices: Clusters, budget: int, radius: float) -> list[float]:
        """Merge the closest pairs that cut nobody off; where all do, the closest pair."""
        while vertices.unlabeled_count > budget:
            pair = vertices.closest_safe_pair()
            vertices.merge(*(pair or vertices.survivor(*vertices.closest_pair())))
        return []

    def settle(self, vertices: Clusters, radius: float) -> None:
        """Nothing to restore."""

    def merges_at_once(
        self, vertices: Clusters, neighbours: Slots, gap: float, budget: int
    ) -> bool:
        """If the budget is full, nobody needs the new vertex, and all closer pairs are unsafe."""
        full = vertices.unlabeled_count == budget
        return full and vertices.newcomer_goes_first(neighbours, gap)


@dataclass(frozen=True)
class LeastVariance:
    """Merge the two vertices that lose least, and put one vertex at their mean (Ward, 1963).

    Merging vertices of v_i and v_j examples adds v_i v_j / (v_i + v_j) d_ij^2 to the sum of squared
    distances between examples and their vertices. So what represents many examples stays apart,
    and a vertex is where its examples are, as in k-means: with a small budget it is more accurate
    than `ClosestPair` (digits: docs/performance.md), and takes more time. Its vertices are no
    examples that were seen: they have no picture, and a mean of two lies off a curved cluster.

    >>> LeastVariance()
    LeastVariance()
    """

    def shrink(self, vertices: Clusters, budget: int, radius: float) -> list[float]:
        """Merge the cheapest pairs; R is not used."""
        while vertices.unlabeled_count > budget:
            vertices.merge_at_mean(*vertices.cheapest_pair())
        return []

    def settle(self, vertices: Clusters, radius: float) -> None:
        """Nothing to restore."""

    def merges_at_once(
        self, vertices: Clusters, neighbours: Slots, gap: float, budget: int
    ) -> bool:
        """Never: the vertex would move."""
        return False


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
        """Repartition greedily in order of age: labeled vertices first, all of which survive."""
        for slot in vertices.unlabeled():
            elder = vertices.nearest_elder(slot, radius)
            if elder is not None:
                vertices.merge(elder, slot)

    def merges_at_once(
        self, vertices: Clusters, neighbours: Slots, gap: float, budget: int
    ) -> bool:
        """Never: what a doubling merges depends on all vertices."""
        return False


QUANTIZERS: tuple[Quantizer, ...] = (ClosestPair(), ClosestSafePair(), LeastVariance(), Doubling())
"""Those that a saved file may name."""
