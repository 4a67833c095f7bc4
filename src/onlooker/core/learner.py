"""The online harmonic learner: the algorithm figure of Section 3, and the verbs around it.

What a learner knows: a graph, the names of its labels, and how an example looks to it.

Looking never changes anything that an answer could depend on; learning is what comes after.
"""

from collections.abc import Iterator
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onlooker.core import solver, walks
from onlooker.core.checks import (
    Rows,
    as_name,
    as_number,
    as_rows,
    as_vector,
    is_number,
    slots_where,
)
from onlooker.core.errors import BadValue, Incompatible, LabelConflict, NotFound
from onlooker.core.graph import FREE, UNLABELED, Event, Graph, Near
from onlooker.core.persistence import Saved, errors_about, graph_of, state_of
from onlooker.core.preconditioner import UpdatedInverse
from onlooker.core.quantizer import ClosestPair, Quantizer
from onlooker.core.records import (
    Changes,
    Ending,
    Entry,
    Explanation,
    Prediction,
    Receipt,
    State,
    Vertices,
)
from onlooker.core.similarity import Distance, HeatKernel
from onlooker.core.vectors import Query

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


BLOCK = 64
"""Examples whose distances `observe_many` computes together."""


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
        self._known = Knowledge(kernel, self.sink, self.min_score, self.max_vertices)
        self._log: list[Event] = []
        self._radii: list[float] = []

    def __len__(self) -> int:
        """Labeled plus unlabeled vertices."""
        return len(self._known.graph.occupied)

    def __repr__(self) -> str:
        return (
            f"<OnlineHarmonicLearner: {len(self.names)} names, {len(self)} vertices, "
            f"{self.kernel!r}>"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names it knows, in the order they were first taught."""
        return tuple(self._known.names)

    @property
    def radius(self) -> float:
        """R of the doubling algorithm; 0.0 until the first doubling."""
        return self._known.radius

    @property
    def next_id(self) -> int:
        """The id that the next vertex will get; none is used twice."""
        return self._known.graph.next_id

    # ---- learning and naming

    def observe(self, x: ArrayLike) -> Prediction:
        """One step of the figure: place the example, infer, name it, and learn from it."""
        return self._step(self._known.query(x))

    def observe_many(self, rows: ArrayLike) -> list[Prediction]:
        """The same as observe for each row, with the distances of a block computed at once."""
        examples = as_rows(rows, like=self._known.like)
        self.kernel.distance.moments(examples)  # what it refuses, it must refuse before we learn
        if not self._known.names:
            self._finish()
            return [self._known.nobody() for _ in examples]
        graph, predictions = self._known.graph, []
        for start in range(0, len(examples), BLOCK):
            block = examples[start : start + BLOCK]
            graph.reserve(min(graph.unlabeled_count + len(block), self.max_vertices + 1), 0)
            predictions += [self._step(query) for query in graph.vectors.queries(block)]
        return predictions

    def predict(self, x: ArrayLike) -> Prediction:
        """What observe would answer, leaving no trace."""
        return self._known.look(self._known.query(x)).prediction

    def teach(self, x: ArrayLike, name: str) -> None:
        """A labeled example. A new name at any time is a new class."""
        name = as_name(name)
        vector = as_vector(x, like=self._known.like)
        self._known.put(self._known.graph_for(vector), vector, 1, name)
        self._finish()

    def unteach(self, x: ArrayLike) -> None:
        """Take the label of a labeled example back; its vertex stays, unlabeled."""
        graph, query = self._known.graph, self._known.query(x)
        at = graph.nearest(graph.near(query), 0.0) if self._known.names else None
        if at is None or at < graph.rows:
            raise NotFound("there is no labeled example at this place; vertices() lists them")
        graph.relabel(at, UNLABELED)
        self._finish()

    # ---- asking

    def explain(self, x: ArrayLike) -> Explanation:
        """Which labeled examples the walk from x ends at, and the chain of vertices in between."""
        return self._known.explain(self._known.look(self._known.query(x)))

    def vertices(self) -> Vertices:
        """All vertices in order of age."""
        graph = self._known.graph
        slots = graph.occupied
        slots = slots[np.argsort(graph.ids[slots])]
        columns = graph.ids[slots], graph.vectors.rows[slots], graph.multiplicity[slots]
        for column in columns:
            column.flags.writeable = False
        labels = graph.label[slots]
        names = tuple(self._known.names[label] if label >= 0 else None for label in labels)
        return Vertices(*columns, names)

    def owners(self) -> dict[int, str | None]:
        """Whom each vertex is taken for, by id: one solution for all of them at once.

        >>> from onlooker import HeatKernel
        >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
        >>> learner.teach([0.0], "ana")
        >>> _ = learner.observe([0.5])
        >>> learner.owners()
        {0: 'ana', 1: 'ana'}
        """
        graph, names = self._known.graph, self._known.names
        ids = graph.ids[graph.occupied].tolist()
        if not names:
            return dict.fromkeys(ids)
        best = walks.best_labels(graph, len(names), self.sink).tolist()
        found = zip(ids, best, strict=True)
        return {vertex: names[label] if label >= 0 else None for vertex, label in sorted(found)}

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

    def entries(self) -> tuple[Entry, ...]:
        """The same in order, with all that it takes to repeat it without solving."""
        return tuple(self._entry(event) for event in self._log)

    # ---- taking back and joining

    def drop(self, vertex: int) -> None:
        """Take one vertex out of the graph, with everything it stands for."""
        known = is_number(vertex, whole=True) and vertex >= 0
        slots = slots_where(self._known.graph.ids == (vertex if known else FREE))
        if not len(slots):
            raise NotFound(f"there is no vertex {vertex!r}; it may have been merged into another")
        self._known.graph.drop(int(slots[0]))
        self._finish()

    def forget(self, name: str) -> Receipt:
        """Delete a name: its labeled vertices, and every unlabeled one whose best name it is."""
        if name not in self.names:
            raise NotFound(f"nobody is called {name!r}; known are {', '.join(self.names) or '-'}")
        graph, label = self._known.graph, self.names.index(name)
        doomed = graph.occupied[walks.best_labels(graph, len(self.names), self.sink) == label]
        labeled = int(np.count_nonzero(graph.label[doomed] >= 0))
        multiplicity = int(graph.multiplicity[doomed].sum())
        for slot in doomed:
            graph.drop(int(slot))
        self._finish()
        unreachable = np.sort(graph.ids[walks.unreachable(graph)])
        return Receipt(
            name, labeled, len(doomed) - labeled, multiplicity, tuple(map(int, unreachable))
        )

    def merge(self, other: Self) -> None:
        """Take in all that another learner knows, which is left alone."""
        self._refuse_to_merge(other)
        known, theirs = self._known, other.vertices()
        graph = known.graph_for(theirs.vectors)
        vectors = theirs.vectors.astype(graph.vectors.rows.dtype)
        # Labels first: an unlabeled vertex gives way to a label at its place, never the reverse.
        order = sorted(range(len(theirs.ids)), key=lambda row: theirs.names[row] is None)
        for row in order:
            known.refuse_conflict(graph, vectors[row], theirs.names[row])
        for name in other.names:
            known.label(name)
        for row in order:
            known.put(graph, vectors[row], int(theirs.multiplicities[row]), theirs.names[row])
        known.radius = max(known.radius, other.radius)
        self.quantizer.settle(graph, known.radius)
        self._finish()

    # ---- keeping

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a file: arrays and a readable header, replaced as a whole."""
        Saved(self._settings(), self.state()).write(path)

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
        with errors_about(path):
            return cls(**saved.settings).restored(saved.state)

    def state(self) -> State:
        """Everything it has learned, as arrays; nothing is solved."""
        return state_of(self._known.graph, list(self.names), self.radius)

    def restored(self, state: State) -> Self:
        """A new learner with these settings that has learned that, and nothing else."""
        learner = type(self)(**self._settings())
        known = learner._known
        known.graph = graph_of(state, self.kernel, self.max_vertices)
        known.names, known.radius = list(state.names), state.radius
        return learner

    # ---- inside

    def _settings(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel,
            "sink": self.sink,
            "max_vertices": self.max_vertices,
            "quantizer": self.quantizer,
            "min_score": self.min_score,
            "features": self.features,
        }

    def _entry(self, event: Event) -> Entry:
        graph, kind, vertex = self._known.graph, event.kind, event.vertex
        if kind == "merged":
            return Entry(kind, vertex, into=event.into_vertex)
        if event.slot < 0 or kind not in ("new", "labeled"):
            return Entry(kind, vertex, event.examples)
        slots = slots_where(graph.ids == vertex)
        if not len(slots):  # merged before the call was over
            return Entry(kind, vertex, event.examples)
        slot = int(slots[0])
        name = self.names[graph.label[slot]] if graph.label[slot] >= 0 else None
        vector = graph.vectors.rows[slot].copy() if kind == "new" else None
        return Entry(kind, vertex, event.examples, name=name, vector=vector)

    def _step(self, query: Query) -> Prediction:
        look = self._known.look(query)
        if look.prediction.label is not None:
            self._known.learn(look, self.quantizer)
        self._finish()
        return look.prediction

    def _refuse_to_merge(self, other: object) -> None:
        if not isinstance(other, OnlineHarmonicLearner):
            raise Incompatible(f"only another learner can be merged, got {other!r}")
        for what in ("features", "kernel", "sink"):
            here, there = getattr(self, what), getattr(other, what)
            if here != there:
                raise Incompatible(f"cannot merge: {what} {here!r} here, {there!r} there")
        mine, theirs = self._known.like, other._known.like
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

    def _finish(self) -> None:
        """Shrink to the budget, and remember what this call has changed."""
        known, self._radii = self._known, []
        if known.graph.unlabeled_count > self.max_vertices:
            self._radii = self.quantizer.shrink(known.graph, self.max_vertices, known.radius)
            known.radius = max([known.radius, *self._radii])
        self._log = known.take_log()
        if any(event.kind in ("dropped", "unlabeled") for event in self._log):
            known.tidy_names()
