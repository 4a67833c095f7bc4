"""The online harmonic learner: the algorithm figure of Section 3, and the verbs around it."""

from collections.abc import Iterator
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onlooker import solver, walks
from onlooker.arrays import Rows, slots_where
from onlooker.checks import as_name, as_number, as_rows, as_vector, is_number
from onlooker.errors import BadValue, Incompatible, LabelConflict, NotFound
from onlooker.graph import FREE, UNLABELED, Event, Graph, Near
from onlooker.inverse import UpdatedInverse
from onlooker.persistence import Saved
from onlooker.quantizer import ClosestPair, Quantizer
from onlooker.records import Changes, Ending, Explanation, Prediction, Receipt, Vertices
from onlooker.similarity import Distance, HeatKernel
from onlooker.vectors import Query

BLOCK = 64
"""Examples whose distances `observe_many` computes together."""


class Look(NamedTuple):
    """One example, looked at but not yet learned."""

    query: Query
    near: Near
    absorber: int | None
    """The slot of the vertex that would take it in; None: it would become one."""
    around: walks.Surroundings | None
    """The walk from it, where there was one to solve."""
    ends: solver.Ends | None
    prediction: Prediction


class OnlineHarmonicLearner:
    """Learns a few names from labeled examples, and the rest from the unlabeled stream.

    >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5), sink=1e-4)
    >>> learner.teach([0.0, 0.0], "ana")
    >>> learner.teach([3.0, 0.0], "ben")
    >>> learner.observe([0.4, 0.3]).label
    'ana'
    >>> learner.observe([0.9, 1.0]).label      # beyond the reach of every label, near what it saw
    'ana'
    >>> print(learner.observe([0.0, 9.0]).label)
    None
    >>> len(learner)
    4

    sink is the paper's gamma_g (10 * cutoff unless given), max_vertices its n_g: how many
    unlabeled vertices are kept. A name needs a score above min_score. features is a tag; learners
    of other features neither merge nor load.
    """

    def __init__(
        self,
        kernel: HeatKernel,
        *,
        sink: float | None = None,
        max_vertices: int = 500,
        quantizer: Quantizer | None = None,
        min_score: float = 0.0,
        features: str = "",
    ) -> None:
        if not isinstance(kernel, HeatKernel):
            raise BadValue(f"kernel must be a HeatKernel, got {kernel!r}")
        if quantizer is not None and (
            isinstance(quantizer, type) or not isinstance(quantizer, Quantizer)
        ):
            raise BadValue(f"quantizer must be ClosestPair() or Doubling(), got {quantizer!r}")
        if not isinstance(features, str):
            raise BadValue(f"features is a tag, a string; got {features!r}")
        self.kernel = kernel
        self.sink = 10 * kernel.cutoff if sink is None else float(as_number("sink", sink, least=0))
        self.max_vertices = int(as_number("max_vertices", max_vertices, least=1, whole=True))
        self.quantizer: Quantizer = ClosestPair() if quantizer is None else quantizer
        self.min_score = float(as_number("min_score", min_score, least=0, below=1))
        self.features = features
        self._radius = 0.0
        self._names: list[str] = []
        self._graph = Graph(kernel, 0, np.float64, self.max_vertices)
        self._inverse = UpdatedInverse()
        self._log: list[Event] = []
        self._radii: list[float] = []

    def __len__(self) -> int:
        """Labeled plus unlabeled vertices."""
        return len(self._graph.occupied)

    def __repr__(self) -> str:
        return (
            f"<OnlineHarmonicLearner: {len(self._names)} names, {len(self)} vertices, "
            f"{self.kernel!r}>"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names it knows, in the order they were first taught."""
        return tuple(self._names)

    @property
    def radius(self) -> float:
        """R of the doubling algorithm; 0.0 until the first doubling."""
        return self._radius

    # ---- learning and naming

    def observe(self, x: ArrayLike) -> Prediction:
        """One step of the figure: place the example, infer, name it, and learn from it."""
        return self._step(self._query(x))

    def observe_many(self, rows: ArrayLike) -> list[Prediction]:
        """The same as observe for each row, with the distances of a block computed at once."""
        examples = as_rows(rows, like=self._like())
        self.kernel.distance.moments(examples)  # what it refuses, it must refuse before we learn
        if not self._names:
            self._finish()
            return [self._nobody() for _ in examples]
        predictions = []
        for start in range(0, len(examples), BLOCK):
            block = examples[start : start + BLOCK]
            most = min(self._graph.unlabeled_count + len(block), self.max_vertices + 1)
            self._graph.reserve(most, 0)
            predictions += [self._step(query) for query in self._graph.vectors.queries(block)]
        return predictions

    def predict(self, x: ArrayLike) -> Prediction:
        """What observe would answer, leaving no trace."""
        return self._look(self._query(x)).prediction

    def teach(self, x: ArrayLike, name: str) -> None:
        """A labeled example. A new name at any time is a new class."""
        name = as_name(name)
        vector = as_vector(x, like=self._like())
        graph = self._graph_for(vector)
        query = graph.query(vector)
        near = graph.near(query)
        at = graph.nearest(near, 0.0)
        self._refuse_second_name(at, name)
        self._graph = graph
        self._place(query, near, at, 1, name)
        self._finish()

    def unteach(self, x: ArrayLike) -> None:
        """Take the label of a labeled example back; its vertex stays, unlabeled."""
        graph = self._graph
        query = self._query(x)
        at = graph.nearest(graph.near(query), 0.0) if self._names else None
        if at is None or graph.label[at] == UNLABELED:
            raise NotFound("there is no labeled example at this place; vertices() lists them")
        graph.relabel(at, UNLABELED)
        self._tidy_names()
        self._finish()

    # ---- asking

    def explain(self, x: ArrayLike) -> Explanation:
        """Which labeled examples the walk from x ends at, and the chain of vertices in between."""
        look = self._look(self._query(x))
        endings = sorted(self._endings(look), key=lambda ending: -ending.share)
        return Explanation(look.prediction, tuple(endings))

    def vertices(self) -> Vertices:
        """All vertices in order of age."""
        graph = self._graph
        slots = graph.occupied
        slots = slots[np.argsort(graph.ids[slots])]
        columns = graph.ids[slots], graph.vectors.rows[slots], graph.multiplicity[slots]
        for column in columns:
            column.flags.writeable = False
        labels = graph.label[slots]
        names = tuple(self._names[label] if label >= 0 else None for label in labels)
        return Vertices(*columns, names)

    def changes(self) -> Changes:
        """What the last call that may learn did to the graph."""
        log = self._log

        def vertices(kind: str) -> tuple[int, ...]:
            return tuple(event.vertex for event in log if event.kind == kind)

        return Changes(
            new=vertices("new"),
            absorbed=vertices("absorbed"),
            merged={event.vertex: event.into_vertex for event in log if event.kind == "merged"},
            dropped=vertices("dropped"),
            labeled=vertices("labeled"),
            unlabeled=vertices("unlabeled"),
            doubled=tuple(self._radii),
        )

    # ---- taking back and joining

    def drop(self, vertex: int) -> None:
        """Take one vertex out of the graph, with everything it stands for."""
        known = is_number(vertex, whole=True) and vertex >= 0
        slots = slots_where(self._graph.ids == (vertex if known else FREE))
        if not len(slots):
            raise NotFound(f"there is no vertex {vertex!r}; it may have been merged into another")
        self._graph.drop(int(slots[0]))
        self._tidy_names()
        self._finish()

    def forget(self, name: str) -> Receipt:
        """Delete a name: its labeled vertices, and every unlabeled one whose best name it is."""
        if name not in self._names:
            raise NotFound(f"nobody is called {name!r}; known are {', '.join(self._names) or '-'}")
        graph, label = self._graph, self._names.index(name)
        doomed = graph.occupied[walks.best_labels(graph, len(self._names), self.sink) == label]
        labeled = int(np.count_nonzero(graph.label[doomed] >= 0))
        multiplicity = int(graph.multiplicity[doomed].sum())
        for slot in doomed:
            graph.drop(int(slot))
        self._tidy_names()
        self._finish()
        unreachable = np.sort(graph.ids[walks.unreachable(graph)])
        return Receipt(
            name, labeled, len(doomed) - labeled, multiplicity, tuple(map(int, unreachable))
        )

    def merge(self, other: Self) -> None:
        """Take in all that another learner knows, which is left alone."""
        self._refuse_to_merge(other)
        theirs = other.vertices()
        graph = self._graph_for(theirs.vectors)
        # Labels first: an unlabeled vertex gives way to a label at its place, never the reverse.
        order = sorted(range(len(theirs.ids)), key=lambda row: theirs.names[row] is None)
        vectors = theirs.vectors.astype(graph.vectors.rows.dtype)
        for row in order:
            at = graph.nearest(graph.near(graph.query(vectors[row])), 0.0)
            self._refuse_second_name(at, theirs.names[row])
        self._graph = graph
        for name in other.names:
            self._label(name)
        for row in order:
            query = graph.query(vectors[row])
            near = graph.near(query)
            at = graph.nearest(near, 0.0)
            self._place(query, near, at, int(theirs.multiplicities[row]), theirs.names[row])
        self._radius = max(self._radius, other.radius)
        self.quantizer.settle(graph, self._radius)
        self._finish()

    # ---- keeping

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a file: arrays and a readable header, replaced as a whole."""
        saved = Saved(self._settings(), self._radius, list(self._names), self._graph)
        saved.write(path)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        distance: Distance | None = None,
        quantizer: Quantizer | None = None,
        features: str | None = None,
    ) -> Self:
        """Read a saved learner.

        A distance or quantizer from outside the core must be handed in; given features must be
        those of the file.
        """
        saved = Saved.read(path, distance=distance, quantizer=quantizer, features=features)
        learner = cls(**saved.settings)
        learner._radius = saved.radius
        learner._names = saved.names
        learner._graph = saved.graph
        return learner

    # ---- inside

    def _settings(self) -> dict[str, Any]:
        """What the constructor was given."""
        return {
            "kernel": self.kernel,
            "sink": self.sink,
            "max_vertices": self.max_vertices,
            "quantizer": self.quantizer,
            "min_score": self.min_score,
            "features": self.features,
        }

    def _like(self) -> Rows | None:
        """Something with the length and type of our vectors, once they are known."""
        rows = self._graph.vectors.rows
        return rows if rows.shape[1] else None

    def _graph_for(self, vectors: Rows) -> Graph:
        """Our graph; as long as it has seen no vector, a new one for vectors like these."""
        if self._like() is not None:
            return self._graph
        return Graph(self.kernel, vectors.shape[-1], vectors.dtype, self.max_vertices)

    def _query(self, x: ArrayLike) -> Query:
        vector = as_vector(x, like=self._like())
        return self._graph_for(vector).query(vector)

    def _step(self, query: Query) -> Prediction:
        look = self._look(query)
        if look.prediction.label is not None:
            if look.absorber is None:
                self._inverse.added(self._graph.add(look.query, look.near))
            else:
                self._graph.absorb(look.absorber)
        self._finish()
        return look.prediction

    def _look(self, query: Query) -> Look:
        """Place and infer, without a trace. Nobody first: see docs/choices.md."""
        if not self._names:
            return Look(query, _NOT_NEAR, None, None, None, self._nobody())
        graph = self._graph
        near = graph.near(query)
        if not len(near.slots):
            return Look(query, near, None, None, None, self._nobody())
        absorber = graph.nearest(near, self._radius)
        if absorber is not None and graph.label[absorber] >= 0:
            certain = (np.arange(len(self._names)) == graph.label[absorber]).astype(np.float64)
            return Look(query, near, absorber, None, None, self._named(certain, 0.0, absorber))
        around = walks.surroundings(graph, near, absorber, self.sink)
        if not (around.walk.start_to_labels.any() or around.walk.to_labels.any()):
            return Look(query, near, absorber, None, None, self._nobody())
        ends = solver.ends(around.walk, self._inverse)
        labels = graph.label[graph.rows + graph.columns]
        scores = np.bincount(labels, ends.labels, len(self._names))
        prediction = self._named(scores, ends.sink, absorber)
        return Look(query, near, absorber, around, ends, prediction)

    def _named(self, scores: NDArray[Any], sink: float, absorber: int | None) -> Prediction:
        """The best name if its score is enough; a tie goes to the name taught first."""
        best = int(scores.argmax())
        table = dict(zip(self._names, scores.tolist(), strict=True))
        if not scores[best] > self.min_score:
            return Prediction(None, table, sink, None)
        graph = self._graph
        vertex = graph.next_id if absorber is None else int(graph.ids[absorber])
        return Prediction(self._names[best], table, sink, vertex)

    def _nobody(self) -> Prediction:
        return Prediction(None, dict.fromkeys(self._names, 0.0), 1.0, None)

    def _endings(self, look: Look) -> Iterator[Ending]:
        graph = self._graph
        if look.around is not None and look.ends is not None:
            chains = walks.chains(graph, look.around)
            labels = graph.label[graph.rows + graph.columns]
            for label, share, chain in zip(labels, look.ends.labels.tolist(), chains, strict=True):
                if chain:
                    yield Ending(self._names[label], share, chain)
        elif look.absorber is not None and graph.label[look.absorber] >= 0:
            name = self._names[graph.label[look.absorber]]
            yield Ending(name, 1.0, (walks.step(graph, look.absorber),))

    def _label(self, name: str) -> int:
        """The number of a name, a new one if need be."""
        if name not in self._names:
            self._names.append(name)
        return self._names.index(name)

    def _refuse_second_name(self, at: int | None, name: str | None) -> None:
        if at is None or name is None or self._graph.label[at] == UNLABELED:
            return
        there = self._names[self._graph.label[at]]
        if there != name:
            raise LabelConflict(
                f"this place is labeled {there!r} and cannot be {name!r} too; "
                "take the first label back with unteach"
            )

    def _place(
        self, query: Query, near: Near, at: int | None, multiplicity: int, name: str | None
    ) -> None:
        """Put examples at a place: a new vertex, or more for the one that is there."""
        label = UNLABELED if name is None else self._label(name)
        if at is None:
            self._graph.add(query, near, label=label, multiplicity=multiplicity)
            return
        self._graph.absorb(at, multiplicity)
        if name is not None and self._graph.label[at] == UNLABELED:
            self._graph.relabel(at, label)

    def _refuse_to_merge(self, other: object) -> None:
        if not isinstance(other, OnlineHarmonicLearner):
            raise Incompatible(f"only another learner can be merged, got {other!r}")
        for what in ("features", "kernel", "sink"):
            here, there = getattr(self, what), getattr(other, what)
            if here != there:
                raise Incompatible(f"cannot merge: {what} {here!r} here, {there!r} there")
        mine, theirs = self._like(), other._like()
        if mine is None or theirs is None:
            return
        if mine.shape[1] != theirs.shape[1]:
            raise Incompatible(
                f"cannot merge: vectors of length {mine.shape[1]} here, {theirs.shape[1]} there"
            )
        if not np.can_cast(theirs.dtype, mine.dtype):
            raise Incompatible(
                f"cannot merge: {theirs.dtype} vectors would be rounded to the {mine.dtype} of "
                "this learner; merge the other way round"
            )

    def _tidy_names(self) -> None:
        """A name without a labeled example is not a class any more."""
        graph = self._graph
        for label in reversed(range(len(self._names))):
            if not (graph.label == label).any():
                del self._names[label]
                graph.label[graph.label > label] -= 1

    def _finish(self) -> None:
        """Shrink to the budget, and remember what this call has changed."""
        graph = self._graph
        self._radii = []
        if graph.unlabeled_count > self.max_vertices:
            self._radii = self.quantizer.shrink(graph, self.max_vertices, self._radius)
            self._radius = max([self._radius, *self._radii])
        for event in graph.log:
            self._follow(event)
        self._log, graph.log = graph.log, []

    def _follow(self, event: Event) -> None:
        """Tell the solver's inverse what has happened to a vertex."""
        if event.kind == "merged" and event.into_slot < self._graph.rows:
            self._inverse.merged(event.into_slot, event.slot)
        elif event.kind in ("merged", "labeled"):
            self._inverse.grounded(event.slot)
        elif event.kind == "dropped":
            self._inverse.removed(event.slot)


_NOT_NEAR = Near(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0))
