"""A graph of vectors in groups: whatever is connected is one group, within a budget of vectors.

A full graph merges its closest pair. Where no two vectors are within the cutoff, that would join
two groups, so the vector that was seen longest ago is dropped instead. A group is not split when
the vertices between its ends are merged or dropped.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onlooker.core.checks import Rows, as_vector
from onlooker.core.errors import BadValue
from onlooker.core.graph import Graph, Neighbours
from onlooker.core.persistence import graph_of, state_of
from onlooker.core.quantizer import ClosestPair
from onlooker.core.records import State
from onlooker.core.similarity import HeatKernel
from onlooker.core.vectors import Query

LIKELY_REACH = 1.2
"""Reaches within which a vector belongs to a group that is likely. Farther away it is taken for
somebody else, since a track may pass from one person to another: with SFace, whose reach is 0.91,
one pair of strangers in a thousand is nearer than that."""


class Place(NamedTuple):
    """Of a vertex: its group, the number of its last sighting, and when that was."""

    group: int
    turn: int
    time: float


class Member(NamedTuple):
    """A vector of a group, how many examples it stands for, and when it was last seen."""

    vector: Rows
    times: int
    time: float


class Touch(NamedTuple):
    """A vector and what it is connected to, before it is added."""

    vector: Rows
    groups: frozenset[int]
    graph: Graph
    query: Query
    near: Neighbours


class Groups:
    """The graph, and the place of each of its vertices.

    >>> groups = Groups(HeatKernel(bandwidth=0.3, cutoff=1e-5), budget=10)
    >>> groups.put(groups.touch([0.0]), Place(1, turn=1, time=0.0))
    >>> groups.touch([0.1]).groups, groups.touch([9.0]).groups
    (frozenset({1}), frozenset())
    """

    def __init__(self, kernel: HeatKernel, budget: int) -> None:
        self.kernel, self.budget = kernel, budget
        self.places: dict[int, Place] = {}
        self._graph = Graph(kernel, 0, np.float64, budget)

    @property
    def alive(self) -> set[int]:
        """The groups that have a vertex."""
        return {place.group for place in self.places.values()}

    def touch(self, x: ArrayLike, likely: int | None = None) -> Touch:
        """Find what a vector is connected to; nothing changes.

        A group that is likely for another reason counts as touched from a little farther away.
        """
        graph, rows = self._graph, self._graph.vectors.rows
        vector = as_vector(x, like=rows if rows.shape[1] else None).copy()
        if not rows.shape[1]:
            graph = Graph(self.kernel, len(vector), vector.dtype, self.budget)
        query = graph.query(vector)
        near = graph.neighbours(query)
        touched = frozenset(self.places[v].group for v in graph.ids[near.slots].tolist())
        if likely is not None and likely not in touched and likely in self.alive:
            wider, _ = graph.vectors.near(query, LIKELY_REACH * self.kernel.reach)
            if any(self.places[v].group == likely for v in graph.ids[wider].tolist()):
                touched |= {likely}
        return Touch(vector, touched, graph, query, near)

    def put(self, touch: Touch, place: Place, times: int = 1) -> None:
        """Add a vector; the groups it touches become the group of its place."""
        self._graph = graph = touch.graph
        at = touch.near.absorber
        if at is None:
            at = graph.add(touch.query, touch.near, multiplicity=times)
        else:
            graph.absorb(at, times)
        for vertex, old in self.places.items():
            if old.group in touch.groups:
                self.places[vertex] = old._replace(group=place.group)
        self.places[int(graph.ids[at])] = place
        while graph.unlabeled_count > self.budget:
            self._shrink()
        graph.log.clear()

    def _shrink(self) -> None:
        graph = self._graph
        if graph.smallest_gap > self.kernel.reach**2:
            self.drop([self._least_seen()])
            return
        ClosestPair().shrink(graph, graph.unlabeled_count - 1, 0.0)
        merged = graph.log[-1]
        removed, other = self.places.pop(merged.vertex), self.places[merged.into_vertex]
        self.places[merged.into_vertex] = max(removed, other, key=lambda place: place.turn)

    def _least_seen(self) -> int:
        """The oldest vertex of the group that was seen least, but for the one that came last.

        Otherwise whoever was seen once could push out somebody who is seen every day; and where all
        were seen twice, nobody new could stay.
        """
        seen: Counter[int] = Counter()
        for vertex, place in self.places.items():
            seen[place.group] += int(self._graph.multiplicity[self._slot(vertex)])
        newest = max(self.places, key=lambda vertex: self.places[vertex].turn)
        others = [vertex for vertex in self.places if vertex != newest]
        return min(
            others or [newest],
            key=lambda vertex: (seen[self.places[vertex].group], self.places[vertex].turn),
        )

    def drop(self, vertices: Iterable[int]) -> None:
        """Remove vertices."""
        for vertex in vertices:
            self._graph.drop(self._slot(vertex))
            del self.places[vertex]
        self._graph.log.clear()

    def regroup(self, groups: Mapping[int, int]) -> None:
        """Other groups for all vertices of some."""
        for vertex, place in self.places.items():
            self.places[vertex] = place._replace(group=groups.get(place.group, place.group))

    def move(self, vertex: int, group: int) -> None:
        """Another group for a vertex."""
        self.places[vertex] = self.places[vertex]._replace(group=group)

    def vectors(self, group: int) -> dict[int, Rows]:
        """The vectors of a group by vertex, as copies."""
        vertices = [vertex for vertex, place in self.places.items() if place.group == group]
        return {v: self._graph.vectors.rows[self._slot(v)].copy() for v in vertices}

    def latest(self, group: int) -> tuple[int, Rows]:
        """The turn and a copy of the vertex of a group that was seen last."""
        turn, vertex = max((p.turn, v) for v, p in self.places.items() if p.group == group)
        return turn, self._graph.vectors.rows[self._slot(vertex)].copy()

    def members(self, group: int) -> list[Member]:
        """The vectors of a group, as copies."""
        graph, found = self._graph, []
        for vertex, place in self.places.items():
            if place.group == group:
                slot = self._slot(vertex)
                times = int(graph.multiplicity[slot])
                found.append(Member(graph.vectors.rows[slot].copy(), times, place.time))
        return found

    def find(self, x: ArrayLike) -> int | None:
        """The vertex at exactly this place."""
        touch = self.touch(x)
        at = touch.near.absorber
        return None if at is None else int(touch.graph.ids[at])

    def _slot(self, vertex: int) -> int:
        slot = self._graph.slot_of(vertex)
        if slot is None:
            raise BadValue(f"vertex {vertex} has a place, but is not in the graph")
        return slot

    # ---- saving and restoring

    def state(self) -> tuple[State, list[Place]]:
        """The graph as arrays, and the place of each of its vertices."""
        state = state_of(self._graph, [], 0.0)
        return state, [self.places[vertex] for vertex in state.ids.tolist()]

    def restore(self, state: State, places: Sequence[Place]) -> None:
        """Continue with a stored graph; a contradictory one raises BadValue and changes nothing."""
        if len(places) != len(state.ids):
            raise BadValue(f"{len(state.ids)} vertices with {len(places)} places")
        self._graph = graph_of(state, self.kernel, self.budget)
        self.places = dict(zip(state.ids.tolist(), places, strict=True))
