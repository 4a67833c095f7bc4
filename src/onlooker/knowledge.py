"""What a learner knows: a graph, the names of its labels, and how an example looks to it.

Looking never changes anything that an answer could depend on; learning is what comes after.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onlooker import solver, walks
from onlooker.arrays import Rows
from onlooker.checks import as_vector
from onlooker.errors import LabelConflict
from onlooker.graph import UNLABELED, Event, Graph, Near
from onlooker.inverse import UpdatedInverse
from onlooker.quantizer import Quantizer
from onlooker.records import Ending, Explanation, Prediction
from onlooker.similarity import HeatKernel
from onlooker.vectors import Query

NOT_NEAR = Near(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0))


class Look(NamedTuple):
    """One example, looked at but not yet learned."""

    query: Query
    near: Near
    prediction: Prediction
    absorber: int | None = None
    """The slot of the vertex that would take it in; None: it would become one."""
    around: walks.Surroundings | None = None
    """The walk from it, where there was one to solve."""
    ends: solver.Ends | None = None


class Knowledge:
    """A graph with names for its labels, and the radius R within which vertices absorb."""

    def __init__(self, kernel: HeatKernel, sink: float, min_score: float, budget: int) -> None:
        self.kernel, self.sink, self.min_score, self.budget = kernel, sink, min_score, budget
        self.names: list[str] = []
        """In the order they were first taught; the labels in the graph are places in it."""
        self.radius = 0.0
        self.graph = Graph(kernel, 0, np.float64, budget)
        self._inverse = UpdatedInverse()

    # ---- looking

    @property
    def like(self) -> Rows | None:
        """Something with the length and type of our vectors, once they are known."""
        rows = self.graph.vectors.rows
        return rows if rows.shape[1] else None

    def graph_for(self, vectors: Rows) -> Graph:
        """Our graph; as long as it has seen no vector, a new one for vectors like these."""
        if self.like is not None:
            return self.graph
        graph = Graph(self.kernel, vectors.shape[-1], vectors.dtype, self.budget)
        graph.next_id = self.graph.next_id
        return graph

    def query(self, x: ArrayLike) -> Query:
        """An example, checked and ready to be looked at."""
        vector = as_vector(x, like=self.like)
        return self.graph_for(vector).query(vector)

    def look(self, query: Query) -> Look:
        """Place and infer, without a trace. Nobody first: see docs/choices.md."""
        if not self.names:
            return Look(query, NOT_NEAR, self.nobody())
        graph = self.graph
        near = graph.near(query)
        if not len(near.slots):
            return Look(query, near, self.nobody())
        absorber = graph.nearest(near, self.radius)
        if absorber is not None and absorber >= graph.rows:
            certain = (np.arange(len(self.names)) == graph.label[absorber]).astype(np.float64)
            return Look(query, near, self._named(certain, 0.0, absorber), absorber)
        around = walks.surroundings(graph, near, absorber, self.sink)
        if not (around.walk.start_to_labels.any() or around.walk.to_labels.any()):
            return Look(query, near, self.nobody(), absorber)
        ends = solver.ends(around.walk, self._inverse)
        scores = np.bincount(graph.column_labels, ends.labels, len(self.names))
        prediction = self._named(scores, ends.sink, absorber)
        return Look(query, near, prediction, absorber, around, ends)

    def explain(self, look: Look) -> Explanation:
        """Which labeled vertices the walk ends at, and along which chains."""
        endings = sorted(self._endings(look), key=lambda ending: -ending.share)
        return Explanation(look.prediction, tuple(endings))

    def nobody(self) -> Prediction:
        """The answer where no label is reached."""
        return Prediction(None, dict.fromkeys(self.names, 0.0), 1.0, None)

    def _named(self, scores: NDArray[Any], sink: float, absorber: int | None) -> Prediction:
        """The best name if its score is enough; a tie goes to the name taught first."""
        best = int(scores.argmax())
        table = dict(zip(self.names, scores.tolist(), strict=True))
        if not scores[best] > self.min_score:
            return Prediction(None, table, sink, None)
        graph = self.graph
        vertex = graph.next_id if absorber is None else int(graph.ids[absorber])
        return Prediction(self.names[best], table, sink, vertex)

    def _endings(self, look: Look) -> Iterator[Ending]:
        graph = self.graph
        if look.around is not None and look.ends is not None:
            shares, chains = look.ends.labels.tolist(), walks.chains(graph, look.around)
            for label, share, chain in zip(graph.column_labels, shares, chains, strict=True):
                if chain:
                    yield Ending(self.names[label], share, chain)
        elif look.absorber is not None and look.absorber >= graph.rows:
            name = self.names[graph.label[look.absorber]]
            yield Ending(name, 1.0, (walks.step(graph, look.absorber),))

    # ---- learning

    def learn(self, look: Look, quantizer: Quantizer) -> None:
        """Let the graph stand for an example that was named."""
        self._inverse.learn()
        if look.absorber is not None:
            self.graph.absorb(look.absorber)
            return
        nearest = self.graph.nearest(look.near, np.inf)
        gap = float(look.near.squared.min())
        if nearest is not None and quantizer.merges_at_once(self.graph, gap, self.budget):
            self.graph.pass_through(nearest)  # nine in ten come this way when the budget is full
        else:
            self._inverse.added(self.graph.add(look.query, look.near))

    def put(self, graph: Graph, vector: Rows, multiplicity: int, name: str | None) -> None:
        """Put examples at a place: a new vertex, or more for the one that is there."""
        query = graph.query(vector)
        near = graph.near(query)
        at = graph.nearest(near, 0.0)
        self._refuse_second_name(at, name)
        self.graph = graph
        label = UNLABELED if name is None else self.label(name)
        if at is None:
            graph.add(query, near, label=label, multiplicity=multiplicity)
            return
        graph.absorb(at, multiplicity)
        if name is not None and at < graph.rows:
            graph.relabel(at, label)

    def refuse_conflict(self, graph: Graph, vector: Rows, name: str | None) -> None:
        """Raise what put would raise."""
        self._refuse_second_name(graph.nearest(graph.near(graph.query(vector)), 0.0), name)

    def _refuse_second_name(self, at: int | None, name: str | None) -> None:
        if at is None or name is None or at < self.graph.rows:
            return
        there = self.names[self.graph.label[at]]
        if there != name:
            raise LabelConflict(
                f"this place is labeled {there!r} and cannot be {name!r} too; "
                "take the first label back with unteach"
            )

    def label(self, name: str) -> int:
        """The number of a name, a new one if need be."""
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def tidy_names(self) -> None:
        """A name without a labeled vertex is not a class any more."""
        graph = self.graph
        for label in reversed(range(len(self.names))):
            if label not in graph.column_labels:
                del self.names[label]
                graph.label[graph.label > label] -= 1

    def take_log(self) -> list[Event]:
        """What has happened to the graph since the last time; the solver hears of it too."""
        log, self.graph.log = self.graph.log, []
        for event in log:
            if event.slot < 0:
                continue
            if event.kind == "merged" and event.into_slot < self.graph.rows:
                self._inverse.merged(event.into_slot, event.slot)
            elif event.kind in ("merged", "labeled"):
                self._inverse.grounded(event.slot)
            elif event.kind == "dropped":
                self._inverse.removed(event.slot)
        return log
