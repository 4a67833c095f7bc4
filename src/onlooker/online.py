"""The online harmonic learner: the algorithm figure of Section 3, and the verbs around it."""

from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from onlooker import walks
from onlooker.arrays import slots_where
from onlooker.checks import as_name, as_number, as_rows, as_vector, is_number
from onlooker.errors import BadValue, Incompatible, NotFound
from onlooker.graph import FREE, UNLABELED, Event
from onlooker.knowledge import Knowledge
from onlooker.persistence import Saved, errors_about, graph_of, state_of
from onlooker.quantizer import ClosestPair, Quantizer
from onlooker.records import Changes, Entry, Explanation, Prediction, Receipt, State, Vertices
from onlooker.similarity import Distance, HeatKernel
from onlooker.vectors import Query

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
