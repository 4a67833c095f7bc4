"""A state made again from what the journal says: nothing is measured, nothing is solved."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlooker.core.graph import UNLABELED
from onlooker.core.records import State
from onlooker.faces.journal import Change


class Table:
    """The vertices of a learner as a plain table, to which changes are applied."""

    def __init__(self, state: State) -> None:
        names = [state.names[label] if label >= 0 else None for label in state.labels]
        counts = state.multiplicities.tolist()
        self.vertices: dict[int, list[Any]] = {
            vertex: [count, name, 0]
            for vertex, count, name in zip(state.ids.tolist(), counts, names, strict=True)
        }
        """Per id, how many examples it stands for, its name, and the event that brought it."""
        self.names, self.radius, self.next_id = list(state.names), state.radius, state.next_id
        self._vectors = dict(zip(state.ids.tolist(), state.vectors, strict=True))
        self._like = state.vectors[:0]

    def apply(self, changes: Iterable[Change], sequence: int) -> None:
        """Repeat what one event did."""
        vertices = self.vertices
        for change in changes:
            kind, vertex = change[0], change[1]
            if kind == "new":
                count, name = change[2:4] if len(change) > 2 else (1, None)
                vertices[vertex] = [count, name, sequence]
                self.next_id = max(self.next_id, vertex + 1)
            elif kind == "merged":
                vertices[change[2]][0] += vertices.pop(vertex)[0]
            elif kind == "absorbed":
                vertices[vertex][0] += change[2] if len(change) > 2 else 1
            elif kind == "dropped":
                del vertices[vertex]
            elif kind in ("labeled", "unlabeled"):
                vertices[vertex][1] = change[2] if kind == "labeled" else None
            elif kind == "names":
                self.names = change[1]
            elif kind in ("doubled", "radius"):
                self.radius = change[1]
            elif kind != "undo":
                raise ValueError(f"an event speaks of {kind!r}")

    @property
    def unknown(self) -> set[int]:
        """The events that brought the vectors which are still to be found."""
        missing = (vertex for vertex in self.vertices if vertex not in self._vectors)
        return {self.vertices[vertex][2] for vertex in missing}

    def complete(self, vectors: Mapping[int, NDArray[Any]]) -> list[int]:
        """Take in vectors; the vertices that remain without one are left out, and told."""
        self._vectors.update(vectors)
        lost = [vertex for vertex in self.vertices if vertex not in self._vectors]
        for vertex in lost:
            del self.vertices[vertex]
        return lost

    def state(self, like: NDArray[Any] | None = None) -> State:
        """The table as the arrays a learner is made of; like: a vector, should none be left."""
        used = {name for _, name, _ in self.vertices.values()}
        names = [name for name in self.names if name in used]
        numbers = {name: number for number, name in enumerate(names)}
        labels = [numbers.get(name, UNLABELED) for _, name, _ in self.vertices.values()]
        rows = [self._vectors[vertex] for vertex in self.vertices]
        empty = self._like if like is None or self._like.shape[1] else like[None][:0]
        return State(
            np.array(list(self.vertices), dtype=np.int64),
            np.array(rows) if rows else empty,
            np.array([count for count, _, _ in self.vertices.values()], dtype=np.int64),
            np.array(labels, dtype=np.int64),
            names,
            self.radius,
            self.next_id,
        )
