"""Which label would settle most of the stream: from one solve, not by learning each in turn.

Let G be the inverse of A = L + gamma V over the unlabeled vertices of V W V (solver.py). A walk
from i passes j with probability G_ij / G_jj. Were j labeled, that part of the walks from i would
end at j: so much of what is uncertain at i would be settled. With v_i examples at i, of which the
share u_i is uncertain (1 where i carries no name, otherwise what does not end at its name), that is

    gain_j = sum_i v_i u_i G_ij / G_jj,

over those i that could carry the name of j: with a trust radius, the ones within it. Where examples
are given, the question is about one of them: they are what nobody could name.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onlooker.core.checks import Floats, Rows, Slots, slots_where
from onlooker.core.graph import FREE, Graph
from onlooker.core.harmonic import LEAST_SINK, green_function
from onlooker.core.records import Question

LEAST_GAIN = 0.5
"""Half an example: where no label would settle more, there is nothing to ask."""


@dataclass(frozen=True, slots=True)
class QuestionGraph:
    """A graph to which examples were added that are in question, and where they are in it."""

    graph: Graph
    slots: Sequence[int]
    """The slot of each of these examples."""

    @classmethod
    def of(cls, graph: Graph, rows: Rows, masses: Sequence[int]) -> "QuestionGraph":
        """Add examples; what is already there is absorbed. The graph must have the room."""
        slots = []
        for row, mass in zip(rows, masses, strict=True):
            query = graph.query(row)
            near = graph.neighbours(query)
            if near.absorber is None:
                slots.append(graph.add(query, near, multiplicity=mass))
            else:
                graph.absorb(near.absorber, mass)
                slots.append(near.absorber)
        return cls(graph, slots)

    def best(self, names: Sequence[str], sink: float, radius: float | None) -> Question | None:
        """The one with the largest gain of the examples given, or of all vertices if none are."""
        graph = self.graph
        inner = slots_where(graph.label[: graph.rows] != FREE)
        inner = inner[graph.ids[inner].argsort()]  # sums in the same order after a restart
        if not len(inner):
            return None
        hits, scores = _solved(graph, inner, len(names), sink)
        best = scores.argmax(axis=1)
        top = scores[np.arange(len(inner)), best]
        uncertain = 1 - top
        if radius is not None:
            for at, slot in enumerate(inner.tolist()):
                labeled = graph.rows + graph.columns[graph.column_labels == best[at]]
                if not self._is_near(slot, labeled, radius).any():
                    uncertain[at] = 1.0
                hits[:, at] *= self._is_near(slot, inner, radius)
        gains = (graph.multiplicity[inner] * uncertain) @ hits
        gains[graph.fixed[inner]] = 0.0  # a person has spoken about it
        if self.slots:
            gains[~np.isin(inner, self.slots)] = 0.0
        if not gains.max() >= LEAST_GAIN:
            return None
        age = graph.ids[inner]
        chosen = int(np.lexsort([age, -np.round(gains, 9)])[0])
        slot = int(inner[chosen])
        candidate = names[best[chosen]] if top[chosen] > 0 else None
        given = slot in self.slots
        return Question(
            None if given else int(age[chosen]),
            self.slots.index(slot) if given else None,
            candidate,
            float(gains[chosen]),
        )

    def _is_near(self, slot: int, others: Slots, radius: float) -> NDArray[np.bool_]:
        """Which of these vertices are within the radius of one."""
        vectors = self.graph.vectors
        return np.sqrt(vectors.measure(vectors.stored(slot), others)) <= radius


def _solved(graph: Graph, inner: Slots, labels: int, sink: float) -> tuple[Floats, Floats]:
    """G_ij / G_jj for all pairs of unlabeled vertices, and the score of every label at each."""
    v = graph.multiplicity[inner].astype(np.float64)
    weights = graph.weights[np.ix_(inner, inner)] * v * v[:, None]
    mass = graph.multiplicity[graph.rows + graph.columns]
    exits = graph.to_labels[np.ix_(inner, graph.columns)] * mass * v[:, None]
    green = green_function(weights, exits.sum(axis=1) + max(sink, LEAST_SINK) * v)
    named = graph.column_labels[:, None] == np.arange(max(1, labels))
    scores = np.clip(green @ (exits @ named), 0.0, 1.0)
    return np.clip(green / np.diagonal(green), 0.0, 1.0), scores
