"""The graph of representative vertices: vectors, similarities, multiplicities and labels.

Each vertex has a slot in the tables. Unlabeled vertices have the first slots, labeled ones those
after them. Between two labeled vertices nothing is stored, since no walk passes there and no
quantizer merges them. So the tables grow with the square of the budget, but only linearly with the
number of labeled vertices.

Only pairs inside the cutoff are stored, and no others are needed: beyond it the similarity is 0,
and an accepted example has a neighbour inside it, so that the closest pair lies inside too. (Where
labels were taken back it may not; then, and only then, all pairs are measured.)

A person may also say who a vertex is *not*. Such a vertex is *fixed*: it does not count against the
budget, no quantizer merges it and nothing is merged into it, so that what was said stays where it
was said. "Nobody" ends every walk, so its slot is among those of the labeled ones.
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlooker.core.checks import Floats, Rows, Slots, insert_rows, slots_where
from onlooker.core.components import Components
from onlooker.core.forest import Forest
from onlooker.core.similarity import HeatKernel
from onlooker.core.vectors import Query, Vectors

UNLABELED = -1
FREE = -2
NOBODY = -3
"""The label of a vertex where walks end for every name."""
FARTHEST = float(np.finfo(np.float64).max)
"""Above every squared distance, below that of no pair."""

Kind = Literal["new", "absorbed", "merged", "dropped", "labeled", "unlabeled", "negatives"]


class GraphEvent(NamedTuple):
    """One change: a vertex was added, absorbed an example, was merged, dropped or relabeled."""

    kind: Kind
    slot: int
    """-1 for a vertex that was merged before it was stored."""
    vertex: int
    into_slot: int = -1
    into_vertex: int = -1
    examples: int = 1
    """How many examples a new vertex represents, or how many were absorbed."""


class Neighbours(NamedTuple):
    """The vertices connected to a vector, in slot order."""

    slots: Slots
    squared: Floats
    """Squared distances."""
    weights: Floats
    """Similarities."""
    unlabeled: int = 0
    """How many of them are unlabeled; these come first."""
    nearest: int | None = None
    """The slot of the nearest that is not fixed, the oldest on a tie."""
    gap: float = np.inf
    """Its squared distance."""
    absorber: int | None = None
    """What would absorb the vector: the vertex at distance 0, or the nearest if closer than R."""


class MergePair(NamedTuple):
    """Two vertices that may be merged; of several the least is merged first."""

    squared: float
    older: int
    younger: int
    """Their ids, for ties."""
    survivor: int
    gone: int


NO_NEIGHBOURS = Neighbours(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0))


class Graph:
    """Vertices in slots; it implements the quantizer's `Clusters`."""

    def __init__(self, kernel: HeatKernel, length: int, dtype: Any, budget: int = 0) -> None:
        self.kernel = kernel
        self.vectors = Vectors(kernel.distance, length, dtype)
        self.components = Components()
        self.forest = Forest()
        self.rows = 0
        """How many slots are for unlabeled vertices; those for labeled ones follow."""
        self.unlabeled_count = 0
        """How many vertices count against the budget."""
        self.negatives: dict[int, frozenset[int]] = {}
        """By id of a vertex: the labels that a person said it is not. For "nobody" see `label`."""
        self.fixed: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        """By slot: whether it is unlabeled with negatives, or nobody."""
        self.multiplicity: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.label: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self.ids: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.next_id = 0
        self.weights: Floats = np.zeros((0, 0))
        """Similarities between unlabeled vertices."""
        self.to_labels: Floats = np.zeros((0, 0))
        """Similarities of unlabeled vertices to labeled ones, a column each."""
        self.columns: Slots = np.zeros(0, dtype=np.intp)
        """The columns in use, the oldest labeled vertex first."""
        self.column_labels: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        """The label of each of them."""
        self.log: list[GraphEvent] = []
        """What has changed since the owner last emptied it."""
        self._squared: Floats = np.zeros((0, 0))
        self._squared_to_labels: Floats = np.zeros((0, 0))
        self._nearest: Floats = np.zeros(0)
        """The smallest squared distance of each unlabeled vertex."""
        self._reach = kernel.reach
        self._budget = budget

    # ---- reading

    @property
    def occupied(self) -> Slots:
        """Slots of all vertices."""
        return slots_where(self.label != FREE)

    def slot_of(self, vertex: int) -> int | None:
        """The slot of the vertex with this id; None if there is none."""
        slots = slots_where(self.ids == vertex)
        return int(slots[0]) if len(slots) and vertex >= 0 else None

    def unlabeled(self) -> list[int]:
        """Slots of the unlabeled vertices that a quantizer may merge, oldest first."""
        slots = slots_where((self.label[: self.rows] != FREE) & ~self.fixed[: self.rows])
        return [int(slot) for slot in slots[np.argsort(self.ids[slots])]]

    @property
    def fixed_rows(self) -> int:
        """How many unlabeled vertices do not count against the budget."""
        return int(np.count_nonzero(self.fixed[: self.rows])) if self.negatives else 0

    def slots_not(self, label: int) -> Slots:
        """Slots of the unlabeled vertices that a person said are not this label."""
        marked = [vertex for vertex, labels in self.negatives.items() if label in labels]
        return slots_where(np.isin(self.ids[: self.rows], marked))

    def query(self, vector: Rows) -> Query:
        """Prepare a vector for `neighbours` and `add`, and reserve a slot for it."""
        self.reserve(self.unlabeled_count + self.fixed_rows + 1, len(self.columns) + 1)
        return self.vectors.query(vector)

    def neighbours(self, query: Query, radius: float = 0.0) -> Neighbours:
        """The vertices that a vector is connected to, and which of them absorbs it within R."""
        # The similarity decides which are connected; the search only has to find all of those,
        # and so it goes a little farther than the distance at which the cutoff is reached.
        slots, squared = self.vectors.near(query, self._reach * (1 + 1e-9))
        weights = self.kernel.heat(squared)
        connected = weights >= self.kernel.cutoff
        if not connected.all():
            slots, squared, weights = slots[connected], squared[connected], weights[connected]
        if not len(slots):
            return NO_NEIGHBOURS
        unlabeled = int(slots.searchsorted(self.rows))
        fixed = self.fixed[slots]
        found: tuple[int | None, float, int | None]
        if not fixed.any():
            found = self._nearest_of(slots, squared, radius)
        elif squared[fixed].min() <= 0:  # what is said of this very place
            found = None, np.inf, int(slots[fixed][squared[fixed].argmin()])
        elif fixed.all():
            found = None, np.inf, None
        else:
            found = self._nearest_of(slots[~fixed], squared[~fixed], radius)
        return Neighbours(slots, squared, weights, unlabeled, *found)

    def gap(self, first: int, second: int) -> float:
        """The distance between two vertices."""
        measured = self.vectors.measure(self.vectors.stored(first), np.array([second]))
        return float(np.sqrt(measured[0]))

    @property
    def smallest_gap(self) -> float:
        """The squared distance of the closest pair, or more where that is beyond the cutoff."""
        return float(self._nearest.min(initial=np.inf))

    def closest_pair(self) -> tuple[int, int]:
        """The two closest vertices that are not both labeled, the older one first.

        Ties go to the pair with the oldest older vertex, then to the older younger one.
        """
        smallest = self.smallest_gap
        if smallest > self._reach * self._reach:
            self._measure_everything()
            smallest = self.smallest_gap
        pairs = []
        for slot in slots_where(self._nearest == smallest).tolist():
            for partner in self._at(slot, smallest).tolist():
                ends = sorted([(int(self.ids[slot]), slot), (int(self.ids[partner]), partner)])
                pairs.append(ends)
        (_, older), (_, younger) = min(pairs)
        return older, younger

    def closest_safe_pair(self) -> tuple[int, int] | None:
        """The two closest linked vertices whose merging cuts nobody off, the survivor first.

        Nobody is cut off if every other vertex that reaches a label still reaches one when the one
        that goes is gone. Ties as in `closest_pair`. None if there is no such pair.
        """
        self._prepare_forest()
        best = None
        for pair in self._safe_pairs(FARTHEST):
            best = pair.survivor, pair.gone
        return best

    def cheapest_pair(self) -> tuple[int, int]:
        """The two linked vertices, not both labeled, whose merging at their mean costs least.

        The cost is v_i v_j / (v_i + v_j) d_ij^2. Ties as in `closest_pair`; where no two are
        linked, the cheapest of all.
        """
        linked = np.hstack([self.weights, self.to_labels]) > 0
        squared = np.hstack([self._squared, self._squared_to_labels])
        if not np.isfinite(squared[linked]).any():
            self._measure_everything()
            squared = np.hstack([self._squared, self._squared_to_labels])
            linked = np.isfinite(squared)
        one, other = np.nonzero(linked & np.isfinite(squared))
        v, w = self.multiplicity[one], self.multiplicity[other].astype(np.float64)
        costs = v * w / (v + w) * squared[one, other]
        least = slots_where(costs == costs.min())
        pairs = [
            sorted([(int(self.ids[slot]), slot) for slot in (int(one[at]), int(other[at]))])
            for at in least.tolist()
        ]
        (_, older), (_, younger) = min(pairs)
        return older, younger

    def newcomer_goes_first(self, neighbours: Slots, gap: float) -> bool:
        """Whether a new vertex would be the first to be merged safely; False if not sure.

        It would have these neighbours, the nearest at this squared distance.
        """
        self._prepare_forest()
        inner, to_label = self._split(neighbours)
        if not self.forest.reached(inner):
            return False
        if gap < self.smallest_gap:
            return True
        if any(self._safe_pairs(gap)):
            return False
        return not self.forest.spares(slots_where(self._nearest <= gap), inner, to_label=to_label)

    def nearest_elder(self, slot: int, radius: float) -> int | None:
        """The nearest vertex closer than radius that is labeled or older, if there is one."""
        slots, squared = self.vectors.near(self.vectors.stored(slot), radius * (1 + 1e-9))
        elder = (self.ids[slots] < self.ids[slot]) | (self.label[slots] >= 0)
        elder &= (slots != slot) & ~self.fixed[slots]
        if not elder.any():
            return None
        return self._nearest_of(slots[elder], squared[elder], radius)[2]

    def survivor(self, first: int, second: int) -> tuple[int, int]:
        """Which of two survives a merge and which goes: the labeled, the heavier, the older one."""

        def rank(slot: int) -> tuple[bool, int, int]:
            return (slot >= self.rows, int(self.multiplicity[slot]), -int(self.ids[slot]))

        return (first, second) if rank(first) > rank(second) else (second, first)

    # ---- changing

    def reserve(self, unlabeled: int, labeled: int) -> None:
        """Have at least that many slots of each kind.

        Slots of labeled vertices may move, so never call it between `neighbours` and `add`.
        """
        extra = unlabeled - self.rows
        if extra > 0:
            # Half as many again, but not more than the budget ever needs.
            extra = max(extra, min(max(8, self.rows // 2), self._budget + 1 - self.rows))
            self._open(self.rows, extra)
            self.rows += extra
            around = ((0, extra), (0, extra))
            self.weights = np.pad(self.weights, around)
            self._squared = np.pad(self._squared, around, constant_values=np.inf)
            self.to_labels = insert_rows(self.to_labels, extra, 0.0)
            self._squared_to_labels = insert_rows(self._squared_to_labels, extra, np.inf)
            self._nearest = insert_rows(self._nearest, extra, np.inf)
            self.components.grow(self.rows)
            self.forest.grow(self.rows)
        columns = len(self.ids) - self.rows
        if labeled > columns:
            extra = max(labeled - columns, 4, columns // 2)
            self._open(len(self.ids), extra)
            beside = ((0, 0), (0, extra))
            self.to_labels = np.pad(self.to_labels, beside)
            self._squared_to_labels = np.pad(
                self._squared_to_labels, beside, constant_values=np.inf
            )

    def add(
        self,
        query: Query,
        near: Neighbours,
        *,
        label: int = UNLABELED,
        multiplicity: int = 1,
        vertex: int | None = None,
    ) -> int:
        """Add a vertex in the first free slot of its kind, with a new id unless one is given."""
        begin = 0 if label == UNLABELED else self.rows
        slot = begin + int((self.label[begin:] == FREE).argmax())
        self.vectors.put(slot, query)
        self.multiplicity[slot] = multiplicity
        self.label[slot] = label
        self.ids[slot] = self.next_id if vertex is None else vertex
        self.next_id = max(self.next_id, int(self.ids[slot]) + 1)
        negative = label == UNLABELED and int(self.ids[slot]) in self.negatives
        self.fixed[slot] = negative or label == NOBODY
        self._connect(slot, near)
        self._record("new", slot, multiplicity)
        if label != UNLABELED:
            self._list_columns()
        elif not negative:
            self.unlabeled_count += 1
        return slot

    def add_merged(self, into: int) -> None:
        """Do at once what `add`, and then `merge` into that vertex, would do."""
        vertex = self.next_id
        self.next_id += 1
        self.multiplicity[into] += 1
        merged = GraphEvent("merged", -1, vertex, into, int(self.ids[into]))
        self.log += [GraphEvent("new", -1, vertex), merged]

    def absorb(self, slot: int, times: int = 1) -> None:
        """Let a vertex represent one more example, or several more."""
        self.multiplicity[slot] += times
        self._record("absorbed", slot, times)

    def drop(self, slot: int) -> None:
        """Remove a vertex, with all examples that it represents."""
        self._record("dropped", slot)
        self.negatives.pop(int(self.ids[slot]), None)
        self._remove(slot)

    def merge(self, survivor: int, gone: int) -> None:
        """Let the survivor represent all examples of both; multiplicities and sinks add up."""
        self.multiplicity[survivor] += self.multiplicity[gone]
        vertex, into = int(self.ids[gone]), int(self.ids[survivor])
        self.log.append(GraphEvent("merged", gone, vertex, survivor, into))
        self._remove(gone)

    def merge_at_mean(self, first: int, second: int) -> None:
        """Let one vertex at the mean of both represent their examples; a label stays in place.

        It is a new vertex, into which both are merged, unless there is one at that place already.
        """
        survivor, gone = self.survivor(first, second)
        if survivor >= self.rows:
            self.merge(survivor, gone)
            return
        v, w = float(self.multiplicity[first]), float(self.multiplicity[second])
        rows = self.vectors.rows
        mean = (v * rows[first].astype(float) + w * rows[second].astype(float)) / (v + w)
        query = self.query(mean.astype(rows.dtype))
        near = self.neighbours(query)
        target = near.absorber
        if target is None or self.fixed[target]:
            target = self.add(query, near, multiplicity=0)
        for slot in (first, second):
            if slot != target:
                self.merge(target, slot)

    def exclude(self, slot: int, labels: frozenset[int]) -> None:
        """Say which labels a vertex is not, in place of what was said before; none: all is open."""
        vertex = int(self.ids[slot])
        if labels:
            self.negatives[vertex] = labels
        else:
            self.negatives.pop(vertex, None)
        self._record("negatives", slot)
        if slot < self.rows and self.fixed[slot] != bool(labels):
            self.fixed[slot] = bool(labels)
            self.unlabeled_count += -1 if labels else 1
            self._measure(slot)

    def relabel(self, slot: int, label: int) -> None:
        """Label a vertex, or take its label back: it moves, with its id, to a slot of that kind."""
        vertex, multiplicity = int(self.ids[slot]), int(self.multiplicity[slot])
        vector = self.vectors.rows[slot].copy()
        self._record("unlabeled" if label == UNLABELED else "labeled", slot)
        self._remove(slot)
        query = self.query(vector)
        near = self.neighbours(query)
        self.add(query, near, label=label, multiplicity=multiplicity, vertex=vertex)
        self.log.pop()  # it is not new

    def remove_label(self, label: int) -> None:
        """Take out a label that no vertex has; the labels above it move down by one."""
        for vertex, labels in list(self.negatives.items()):
            if label in labels and (slot := self.slot_of(vertex)) is not None:
                self.exclude(slot, labels - {label})
        self.negatives = {
            vertex: frozenset(each - (each > label) for each in labels)
            for vertex, labels in self.negatives.items()
        }
        self.label[self.label > label] -= 1
        self._list_columns()

    def _nearest_of(
        self, slots: Slots, squared: Floats, radius: float
    ) -> tuple[int, float, int | None]:
        """The nearest of some vertices (the oldest on a tie), how near; again, if it absorbs."""
        smallest = squared.min()
        tied = slots[squared == smallest]
        nearest = int(tied[self.ids[tied].argmin()])
        # Distances, not squares: a radius that is the root of a square would not square back.
        absorbs = smallest <= 0 or np.sqrt(smallest) < radius
        return nearest, float(smallest), nearest if absorbs else None

    def _prepare_forest(self) -> None:
        if not self.forest.built:
            named = self.columns[self.column_labels != NOBODY]
            linked = np.logical_or.reduce(self.to_labels[:, named] > 0, axis=1)
            self.forest.build(self.weights, linked)

    def _split(self, neighbours: Slots) -> tuple[Slots, bool]:
        """The unlabeled of some neighbours, and whether one of the others has a name."""
        inner = int(neighbours.searchsorted(self.rows))
        return neighbours[:inner], bool((self.label[neighbours[inner:]] != NOBODY).any())

    def _safe_pairs(self, limit: float) -> Iterator[MergePair]:
        """Pairs whose merging cuts nobody off, up to a squared distance, the best of all last."""
        best = None
        nearest = np.where(self.forest.known_needed, np.inf, self._nearest)
        while nearest[slot := int(nearest.argmin())] <= limit:
            nearest[slot] = np.inf
            if not self.forest.needed(slot, self.weights):
                pair = self._nearest_survivor(slot, limit)
                if pair is not None and (best is None or pair < best):
                    best, limit = pair, pair.squared
                    yield pair

    def _nearest_survivor(self, slot: int, limit: float) -> MergePair | None:
        """This vertex and the nearest linked one that would survive a merge with it, if any."""
        linked = self.weights[slot] > 0
        rows = slots_where(linked & (self._squared[slot] <= limit))
        lead = self.multiplicity[rows] - self.multiplicity[slot]
        rows = rows[(lead > 0) | ((lead == 0) & (self.ids[rows] < self.ids[slot]))]
        linked = self.to_labels[slot] > 0
        columns = slots_where(linked & (self._squared_to_labels[slot] <= limit))
        others = np.concatenate([rows, columns + self.rows])
        if not len(others):
            return None
        squared = np.concatenate(
            [self._squared[slot, rows], self._squared_to_labels[slot, columns]]
        )
        smallest, own = float(squared.min()), int(self.ids[slot])
        tied = [(int(self.ids[other]), other) for other in others[squared == smallest].tolist()]
        return min(
            MergePair(smallest, min(own, other_id), max(own, other_id), other, slot)
            for other_id, other in tied
        )

    def _open(self, at: int, extra: int) -> None:
        """Insert free slots at a position."""
        self.vectors.grow(at, extra)
        self.multiplicity = insert_rows(self.multiplicity, extra, 0, at)
        self.label = insert_rows(self.label, extra, FREE, at)
        self.ids = insert_rows(self.ids, extra, -1, at)
        self.fixed = insert_rows(self.fixed, extra, False, at)

    def _remove(self, slot: int) -> None:
        self.vectors.free(slot)
        self.multiplicity[slot] = 0
        self.label[slot] = FREE
        self.ids[slot] = -1
        if slot < self.rows:
            self._disconnect(slot)
            self.unlabeled_count -= not self.fixed[slot]
        else:
            self._disconnect_label(slot - self.rows)
            self._list_columns()
        self.fixed[slot] = False

    def _list_columns(self) -> None:
        columns = slots_where(self.label[self.rows :] != FREE)
        self.columns = columns[np.argsort(self.ids[self.rows + columns])]
        self.column_labels = self.label[self.rows + self.columns]

    def _record(self, kind: Kind, slot: int, examples: int = 1) -> None:
        self.log.append(GraphEvent(kind, slot, int(self.ids[slot]), examples=int(examples)))

    def _connect(self, slot: int, near: Neighbours) -> None:
        inner = near.unlabeled
        rows, weights = near.slots[:inner], near.weights[:inner]
        if slot < self.rows:
            self.weights[slot, rows] = self.weights[rows, slot] = weights
            self.to_labels[slot, near.slots[inner:] - self.rows] = near.weights[inner:]
            self.components.join(slot, rows)
            self.forest.added(slot, rows, to_label=self._split(near.slots)[1])
        else:
            self.forest.reset()
            self.to_labels[rows, slot - self.rows] = weights
        self._put_distances(slot, near.slots, near.squared)

    def _put_distances(self, slot: int, slots: Slots, squared: Floats) -> None:
        """Store distances for the quantizer: infinite ones to and from what is fixed."""
        if self.fixed[slot]:
            squared = np.full(len(slots), np.inf)
        elif (fixed := self.fixed[slots]).any():
            squared = np.where(fixed, np.inf, squared)
        inner = int(slots.searchsorted(self.rows))
        rows = slots[:inner]
        if slot < self.rows:
            self._squared[slot, rows] = self._squared[rows, slot] = squared[:inner]
            self._squared_to_labels[slot, slots[inner:] - self.rows] = squared[inner:]
            self._nearest[slot] = squared.min(initial=np.inf)
        else:
            self._squared_to_labels[rows, slot - self.rows] = squared[:inner]
        self._nearest[rows] = np.minimum(self._nearest[rows], squared[:inner])

    def _measure(self, slot: int) -> None:
        """Store the distances of an unlabeled vertex again, after it was fixed or released."""
        touched = slots_where(self._squared[slot] < np.inf)
        self._squared[slot] = self._squared[:, slot] = np.inf
        self._squared_to_labels[slot] = np.inf
        near = self.neighbours(self.vectors.stored(slot))
        others = near.slots != slot
        self._put_distances(slot, near.slots[others], near.squared[others])
        self._find_nearest(touched)

    def _disconnect(self, slot: int) -> None:
        self.forest.removed(slot, self.weights)
        lost = self._squared[slot].copy()
        # What is fixed is linked without a distance, what was measured beyond the cutoff has one.
        touched = slots_where((lost < np.inf) | (self.weights[slot] > 0))
        self.weights[slot] = self.weights[touched, slot] = 0.0
        self._squared[slot] = self._squared[touched, slot] = np.inf
        self.to_labels[slot] = 0.0
        self._squared_to_labels[slot] = np.inf
        self._nearest[slot] = np.inf
        self._find_nearest(touched[lost[touched] <= self._nearest[touched]])
        self.components.leave(slot)

    def _disconnect_label(self, column: int) -> None:
        lost = self._squared_to_labels[:, column].copy()
        self.forest.reset()
        self.to_labels[:, column] = 0.0
        self._squared_to_labels[:, column] = np.inf
        self._find_nearest(slots_where((lost < np.inf) & (lost <= self._nearest)))

    def _find_nearest(self, rows: Slots) -> None:
        """Compute the smallest distance again for vertices that lost their nearest one."""
        if len(rows):
            self._nearest[rows] = np.minimum(
                self._squared[rows].min(axis=1),
                self._squared_to_labels[rows].min(axis=1, initial=np.inf),
            )

    def _at(self, row: int, squared: float) -> Slots:
        """The slots at exactly this squared distance from an unlabeled vertex."""
        labels = slots_where(self._squared_to_labels[row] == squared) + self.rows
        return np.concatenate([slots_where(self._squared[row] == squared), labels])

    def _measure_everything(self) -> None:
        """No pair that may be merged is inside the cutoff: fill in the distances beyond it."""
        slots = slots_where((self.label != FREE) & ~self.fixed)
        inner = int(np.searchsorted(slots, self.rows))
        for slot in slots[:inner]:
            squared = self.vectors.measure(self.vectors.stored(int(slot)), slots)
            self._squared[slot, slots[:inner]] = squared[:inner]
            self._squared_to_labels[slot, slots[inner:] - self.rows] = squared[inner:]
            self._squared[slot, slot] = np.inf
        self._find_nearest(slots[:inner])
