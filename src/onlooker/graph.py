"""The graph that lives over time: vertices in slots, similarities, multiplicities, labels.

Only pairs inside the cutoff are ever stored, and no others are needed: beyond the cutoff the
similarity is 0, and an accepted example has a neighbour inside it, so that the closest pair lies
inside too. (Where labels were taken back it may not; then, and only then, all pairs are measured.)
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from onlooker.arrays import Floats, Slots, padded, slots_where
from onlooker.components import Components
from onlooker.similarity import HeatKernel
from onlooker.vectors import Query, Vectors

UNLABELED = -1
FREE = -2

Kind = Literal["new", "absorbed", "merged", "dropped", "labeled", "unlabeled"]


@dataclass(frozen=True, slots=True)
class Event:
    """One change: a vertex was new, absorbed an example, was merged, dropped or relabeled."""

    kind: Kind
    slot: int
    vertex: int
    into_slot: int = -1
    into_vertex: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """The vertices connected to a vector: slots, squared distances, similarities >= cutoff."""

    slots: Slots
    squared: Floats
    weights: Floats


class Graph:
    """Vertices in fixed slots; the quantizer's `Clusters`."""

    def __init__(self, kernel: HeatKernel, length: int, dtype: Any) -> None:
        self.kernel = kernel
        self.vectors = Vectors(kernel.distance, length, dtype)
        self._reach = kernel.reach
        self.weights: Floats = np.zeros((0, 0))
        self.squared: Floats = np.zeros((0, 0))
        """Squared distances; infinite beyond the cutoff, between labels and to oneself."""
        self.multiplicity: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.label: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self.ids: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.next_id = 0
        self._nearest: Floats = np.zeros(0)
        self.components = Components()
        self.log: list[Event] = []
        """What has changed since the owner last emptied it."""

    # ---- asking

    @property
    def labeled(self) -> Slots:
        """Slots of the labeled vertices."""
        return slots_where(self.label >= 0)

    @property
    def occupied(self) -> Slots:
        """Slots of all vertices."""
        return slots_where(self.label != FREE)

    @property
    def unlabeled_count(self) -> int:
        """How many vertices count against the budget."""
        return int(np.count_nonzero(self.label == UNLABELED))

    def unlabeled(self) -> list[int]:
        """Slots of the unlabeled vertices, oldest first."""
        slots = slots_where(self.label == UNLABELED)
        return [int(slot) for slot in slots[np.argsort(self.ids[slots])]]

    def near(self, query: Query) -> Near:
        """The vertices that a vector is connected to."""
        # The exponential decides who is connected; the reach a little beyond only finds them.
        slots, squared = self.vectors.near(query, self._reach * (1 + 1e-9))
        weights = self.kernel.weights(squared)
        connected = weights > 0
        if connected.all():
            return Near(slots, squared, weights)
        return Near(slots[connected], squared[connected], weights[connected])

    def neighbours(self, slot: int) -> Near:
        """The vertices that a vertex is connected to, itself left out."""
        near = self.near(self.vectors.stored(slot))
        others = near.slots != slot
        return Near(near.slots[others], near.squared[others], near.weights[others])

    def nearest(self, near: Near, closer_than: float) -> int | None:
        """The nearest of them (the oldest on a tie) that is at distance 0 or closer than that."""
        if not len(near.slots):
            return None
        smallest = near.squared.min()
        # Distances, not squares: a radius that is the root of a square would not square back.
        if smallest > 0 and np.sqrt(smallest) >= closer_than:
            return None
        tied = near.slots[near.squared == smallest]
        return int(tied[np.argmin(self.ids[tied])])

    def members(self, start: Slots, *, exact: bool) -> Slots:
        """The unlabeled vertices that a walk which starts at these may visit.

        Some more than that unless exact: a component that fell apart is told late. Walks never
        get there, so no answer changes.
        """
        return self.components.reached(start, self.weights, exact=exact)

    def gap(self, first: int, second: int) -> float:
        """The distance of two vertices."""
        measured = self.vectors.measure(self.vectors.stored(first), np.array([second]))
        return float(np.sqrt(measured[0]))

    def closest_pair(self) -> tuple[int, int]:
        """The two closest vertices that are not both labeled, the older one first.

        Ties go to the pair with the oldest older vertex, then to the older younger one.
        """
        smallest = self._nearest.min()
        if smallest > self._reach * self._reach:
            self._measure_everything()
            smallest = self._nearest.min()
        tied = slots_where(self._nearest == smallest)
        first = int(tied[np.argmin(self.ids[tied])])
        partners = slots_where(self.squared[first] == smallest)
        return first, int(partners[np.argmin(self.ids[partners])])

    def nearest_elder(self, slot: int, radius: float) -> int | None:
        """The nearest vertex closer than radius that is labeled or older, if there is one."""
        slots, squared = self.vectors.near(self.vectors.stored(slot), radius * (1 + 1e-9))
        elder = (self.ids[slots] < self.ids[slot]) | (self.label[slots] >= 0)
        elder &= slots != slot
        found = Near(slots[elder], squared[elder], squared[elder])
        return self.nearest(found, radius)

    def survivor(self, first: int, second: int) -> tuple[int, int]:
        """Which of two stays and which goes: labeled, then heavier, then older stays."""

        def rank(slot: int) -> tuple[bool, int, int]:
            return (self.label[slot] >= 0, int(self.multiplicity[slot]), -int(self.ids[slot]))

        kept, gone = sorted((first, second), key=rank, reverse=True)
        return kept, gone

    # ---- changing

    def reserve(self, slots: int) -> None:
        """Have room for that many vertices."""
        extra = slots - len(self.ids)
        if extra <= 0:
            return
        self.vectors.grow(slots)
        self.weights = _padded_square(self.weights, extra, 0.0)
        self.squared = _padded_square(self.squared, extra, np.inf)
        self.multiplicity = padded(self.multiplicity, extra, 0)
        self.label = padded(self.label, extra, FREE)
        self.ids = padded(self.ids, extra, -1)
        self._nearest = padded(self._nearest, extra, np.inf)
        self.components.grow(slots)

    def add(self, query: Query, near: Near, label: int = UNLABELED, multiplicity: int = 1) -> int:
        """A new vertex, in the lowest free slot."""
        free = slots_where(self.label == FREE)
        slot = int(free[0]) if len(free) else len(self.ids)
        self.reserve(slot + 1 if len(free) else max(8, slot + slot // 2))
        self.restore(slot, self.next_id, query, near, multiplicity, label)
        self._note("new", slot)
        return slot

    def absorb(self, slot: int, times: int = 1) -> None:
        """Let a vertex stand for one more example, or for more."""
        self.multiplicity[slot] += times
        self._note("absorbed", slot)

    def restore(
        self, slot: int, vertex: int, query: Query, near: Near, multiplicity: int, label: int
    ) -> None:
        """A vertex with everything given, as it was saved or as it is new."""
        self.vectors.put(slot, query)
        self.multiplicity[slot] = multiplicity
        self.label[slot] = label
        self.ids[slot] = vertex
        self.next_id = max(self.next_id, vertex + 1)
        self._connect(slot, near)

    def drop(self, slot: int) -> None:
        """Take a vertex out, with all that it stood for."""
        self._note("dropped", slot)
        self._remove(slot)

    def _remove(self, slot: int) -> None:
        self._disconnect(slot)
        self.vectors.free(slot)
        self.multiplicity[slot] = 0
        self.label[slot] = FREE
        self.ids[slot] = -1

    def merge(self, kept: int, gone: int) -> None:
        """Let kept stand for everything that gone stood for; their counts and sinks add up."""
        self.multiplicity[kept] += self.multiplicity[gone]
        self.log.append(Event("merged", gone, int(self.ids[gone]), kept, int(self.ids[kept])))
        self._remove(gone)

    def relabel(self, slot: int, label: int) -> None:
        """Label a vertex, or take its label back."""
        self._disconnect(slot)
        self.label[slot] = label
        self._note("unlabeled" if label == UNLABELED else "labeled", slot)
        self._connect(slot, self.neighbours(slot))

    def _note(self, kind: Kind, slot: int) -> None:
        self.log.append(Event(kind, slot, int(self.ids[slot])))

    def _connect(self, slot: int, near: Near) -> None:
        self.weights[slot, near.slots] = near.weights
        self.weights[near.slots, slot] = near.weights
        unlabeled = self.label[near.slots] == UNLABELED
        if self.label[slot] == UNLABELED:
            self.components.join(slot, near.slots[unlabeled])
            slots, squared = near.slots, near.squared
        else:  # the distance of two labels is kept infinite: they are never merged
            slots, squared = near.slots[unlabeled], near.squared[unlabeled]
        self.squared[slot, slots] = squared
        self.squared[slots, slot] = squared
        self._nearest[slot] = squared.min(initial=np.inf)
        self._nearest[slots] = np.minimum(self._nearest[slots], squared)

    def _disconnect(self, slot: int) -> None:
        measured = self.squared[slot] < np.inf
        orphans = slots_where(measured & (self.squared[slot] <= self._nearest))
        touched = slots_where(measured | (self.weights[slot] > 0))
        self.weights[slot] = 0.0
        self.weights[touched, slot] = 0.0
        self.squared[slot] = np.inf
        self.squared[touched, slot] = np.inf
        self._nearest[slot] = np.inf
        if len(orphans):
            self._nearest[orphans] = self.squared[orphans].min(axis=1)
        self.components.leave(slot)

    def _measure_everything(self) -> None:
        """Nothing admissible is inside the cutoff: fill in the distances beyond it."""
        slots = self.occupied
        for slot in slots[self.label[slots] == UNLABELED]:
            self.squared[slot, slots] = self.vectors.measure(self.vectors.stored(int(slot)), slots)
            self.squared[slots, slot] = self.squared[slot, slots]
            self.squared[slot, slot] = np.inf
        self._nearest = self.squared.min(axis=1)


def _padded_square(matrix: Floats, extra: int, value: float) -> Floats:
    return np.pad(matrix, ((0, extra), (0, extra)), constant_values=value)
