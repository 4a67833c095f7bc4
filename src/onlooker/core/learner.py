"""The online harmonic learner: the algorithm figure of Section 3, and the methods around it.

`observe` is one step of the figure. Its first half, `_infer`, places an example in the graph and
names it; nothing that an answer could depend on changes. `predict` and `explain` are that half
alone. Its second half, `_learn` and `_finish`, changes the graph.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import cache, partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from onlooker.core import questions, solver, walks
from onlooker.core.checks import (
    Floats,
    Rows,
    Slots,
    as_name,
    as_number,
    as_rows,
    as_vector,
    is_number,
    slots_where,
)
from onlooker.core.diagnosis import Diagnosis, StreamCounts, diagnose
from onlooker.core.errors import (
    BadName,
    BadValue,
    Incompatible,
    LabelConflict,
    NotFound,
    ParameterWarning,
)
from onlooker.core.graph import (
    NO_NEIGHBOURS,
    NOBODY,
    UNLABELED,
    Graph,
    GraphEvent,
    Neighbours,
)
from onlooker.core.persistence import Saved, errors_about, graph_of, state_of
from onlooker.core.preconditioner import Preconditioner
from onlooker.core.quantizer import ClosestPair, Quantizer
from onlooker.core.records import (
    Changes,
    Ending,
    Entry,
    Explanation,
    Prediction,
    Question,
    Receipt,
    State,
    Step,
    Support,
    Vertices,
)
from onlooker.core.similarity import Distance, HeatKernel
from onlooker.core.snapshot import Source
from onlooker.core.vectors import Query

BLOCK = 64
"""Examples whose distances `observe_many` computes together."""


TIE = 1 + 1e-6
"""A score that exceeds what ended at negatives by less is equal to it, whatever rounding says."""


class Scores(NamedTuple):
    """Where the walk from one example ends."""

    names: Floats
    """The score of every name."""
    sink: float
    negatives: float = 0.0
    """The part of the sink that ended at negatives."""
    shares: Floats | None = None
    """The parts of the scores, by labeled vertex, if there was a walk to solve."""


class Inference(NamedTuple):
    """What is known of one example before it is learned."""

    query: Query
    near: Neighbours
    prediction: Prediction
    local: walks.LocalWalk | None = None
    """The walk from it, and the shares of the labeled vertices, if there was one to solve."""
    shares: Floats | None = None


class OnlineHarmonicLearner:
    """Learns a few names from labeled examples, and the rest from the unlabeled stream.

    >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5), sink=1e-4)
    >>> learner.teach([0.0, 0.0], "ana")
    >>> learner.teach([3.0, 0.0], "ben")
    >>> learner.observe([0.4, 0.3]).label
    'ana'
    >>> learner.observe([0.9, 1.0]).label      # near no label, but near what it has observed
    'ana'
    >>> print(learner.observe([0.0, 9.0]).label)
    None
    >>> len(learner)
    4

    sink is the paper's gamma_g (10 * cutoff unless given). max_vertices is its n_g, the largest
    number of unlabeled vertices. A name needs a score above min_score. An unlabeled example carries
    a name only within trust_radius of a labeled example of it, in a straight line; beyond it the
    name is a `candidate`, and nothing is learned until a person teaches it. features is a tag:
    learners with different tags cannot be merged, and a file with another tag is not loaded.

    **Negatives.** `teach(x, not_name="ana")` says that x is not ana, whoever else it may be. For
    the score of ana, and of nobody else, a walk that reaches x ends there, in the sink. With N_a
    the vertices that are not a, the harmonic function h_a of Section 2.1 has one condition more:
    h_a = 0 on N_a. What the score loses is the probability that a walk which would have ended at a
    passes N_a first. At "nobody" every walk ends: it is in N_a for every a. If more of a walk ends
    at negatives than at any name, it is nobody: a person has said more against the name than for
    it. Without negatives no score and no answer changes.
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
        trust_radius: float | None = None,
    ) -> None:
        if not isinstance(kernel, HeatKernel):
            raise BadValue(f"kernel must be a HeatKernel, got {kernel!r}")
        if quantizer is not None and (
            isinstance(quantizer, type) or not isinstance(quantizer, Quantizer)
        ):
            raise BadValue(f"quantizer must be an object such as ClosestPair(), got {quantizer!r}")
        if not isinstance(features, str):
            raise BadValue(f"features is a tag, a string; got {features!r}")
        self.kernel = kernel
        self.sink = 10 * kernel.cutoff if sink is None else float(as_number("sink", sink, least=0))
        self.max_vertices = int(as_number("max_vertices", max_vertices, least=1, whole=True))
        self.quantizer: Quantizer = ClosestPair() if quantizer is None else quantizer
        self.min_score = float(as_number("min_score", min_score, least=0, below=1))
        self.features = features
        self.trust_radius = (
            None
            if trust_radius is None
            else float(as_number("trust_radius", trust_radius, least=0))
        )
        self._graph = Graph(kernel, 0, np.float64, self.max_vertices)
        """C_t with its multiplicities v_t and similarities W_t."""
        self._names: list[str] = []
        """In the order they were first taught; a label in the graph is an index into it."""
        self._radius = 0.0
        self._preconditioner = Preconditioner()
        self._events: list[GraphEvent] = []
        self._radii: list[float] = []
        self._counts = StreamCounts()

    def __len__(self) -> int:
        """Labeled plus unlabeled vertices."""
        return len(self._graph.occupied)

    def __repr__(self) -> str:
        return (
            f"<OnlineHarmonicLearner: {len(self.names)} names, {len(self)} vertices, "
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

    @property
    def next_id(self) -> int:
        """The id that the next vertex will get; none is used twice."""
        return self._graph.next_id

    # ---- one step of the figure

    def observe(self, x: ArrayLike) -> Prediction:
        """Name an unlabeled example x_t, and learn from it unless it is nobody known."""
        return self._step(self._query(x))

    def _step(self, query: Query) -> Prediction:
        inference = self._infer(query)
        if inference.prediction.label is not None:  # Section 3.3: outliers leave no trace
            self._learn(inference)
        self._finish()
        if self._names:
            self._count(inference)
        return inference.prediction

    def _infer(self, query: Query) -> Inference:
        """From x_t to its name; nothing changes. Nobody comes first: see docs/choices.md."""
        graph = self._graph
        if not self._names:
            return Inference(query, NO_NEIGHBOURS, self._nobody())
        # Place: is x_t closer than R to any c_i? That vertex would absorb it.
        near = graph.neighbours(query, self._radius)
        if not len(near.slots):
            return Inference(query, near, self._nobody())
        if near.absorber is not None and near.absorber >= graph.rows:  # its label is given: y_i
            certain = np.arange(len(self._names)) == graph.label[near.absorber]
            scores = Scores(certain.astype(np.float64), 1.0 - float(certain.any()))
            return Inference(query, near, self._named(scores, query, near))
        # Build W_t, V_t and V_t W_t V_t, as far as a walk from x_t can get.
        local = walks.walk_from(graph, near, self.sink)
        if not (local.walk.start_to_labels.any() or local.walk.to_labels.any()):
            return Inference(query, near, self._nobody())
        # Solve min l'(L + gamma_g V_t) l, s.t. l_i = y_i, for the row of x_t and every name.
        ends = solver.ends(local.walk, self._preconditioner)
        scores = self._scores(near, local, ends)
        # Name: y_t = sgn(l_t[t]), which is the name with the largest score.
        named = self._named(scores, query, near, local)
        return Inference(query, near, named, local, scores.shares)

    def _learn(self, inference: Inference) -> None:
        """Let the graph represent an example that was named."""
        graph, near = self._graph, inference.near
        self._preconditioner.learn()
        if near.absorber is not None:
            graph.absorb(near.absorber)  # v_t(i) = v_t(i) + 1
        elif near.nearest is not None and self.quantizer.merges_at_once(
            graph, near.slots, near.gap, self.max_vertices
        ):
            graph.add_merged(near.nearest)  # nine of ten come this way when the budget is full
        else:
            slot = graph.add(inference.query, near)  # x_t to the position |C_t| + 1, v_t = 1
            self._preconditioner.added(slot)

    def _finish(self) -> None:
        """Shrink if |C_t| > n_g, where the figure does so in the next step; record the changes."""
        graph, self._radii = self._graph, []
        if any(event.kind in ("dropped", "unlabeled") for event in graph.log):
            self._remove_unused_names()
        if graph.unlabeled_count > self.max_vertices:
            self._radii = self.quantizer.shrink(graph, self.max_vertices, self._radius)
            self._radius = max([self._radius, *self._radii])
        self._events, graph.log = graph.log, []
        self._update_preconditioner()

    # ---- learning and naming

    def observe_many(self, rows: ArrayLike) -> list[Prediction]:
        """The same as observe for each row, with the distances of a block computed at once."""
        examples = as_rows(rows, like=self._like)
        self.kernel.distance.moments(examples)  # raises what it refuses before anything is learned
        if not self._names:
            self._finish()
            return [self._nobody() for _ in examples]
        graph, predictions = self._graph, []
        for start in range(0, len(examples), BLOCK):
            block = examples[start : start + BLOCK]
            rows = min(graph.unlabeled_count + len(block), self.max_vertices + 1)
            graph.reserve(rows + graph.fixed_rows, 0)
            predictions += [self._step(query) for query in graph.vectors.queries(block)]
        return predictions

    def predict(self, x: ArrayLike) -> Prediction:
        """What observe would answer, leaving no trace."""
        return self._infer(self._query(x)).prediction

    def teach(
        self,
        x: ArrayLike,
        name: str | None = None,
        *,
        not_name: str | None = None,
        nobody: bool = False,
    ) -> None:
        """Learn an example from a person: its name, a name that it is not, or that it is nobody.

        A new name at any time is a new class. What an example is not is said of a known name.

        >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
        >>> learner.teach([0.0], "ana")
        >>> learner.observe([0.5]).label, learner.observe([1.0]).label
        ('ana', 'ana')
        >>> learner.teach([1.0], not_name="ana")
        >>> print(learner.predict([1.1]).label, learner.predict([0.1]).label)
        None ana
        """
        given = (name is not None) + (not_name is not None) + bool(nobody)
        if given != 1:
            kind = BadName if given == 0 else BadValue
            raise kind(
                "give a name, or not_name, or nobody=True, one of the three; "
                f"got {name!r}, not_name {not_name!r}, nobody {nobody!r}"
            )
        if not_name is not None and not_name not in self._names:
            raise NotFound(
                f"nobody is called {not_name!r}; known are {', '.join(self.names) or '-'}"
            )
        label = None if name is None else as_name(name)
        vector = as_vector(x, like=self._like)
        negatives: frozenset[str | None] = frozenset()
        if label is None:
            negatives = frozenset({not_name})  # None: nobody
        self._put(self._graph_for(vector), vector, 1, label, negatives)
        self._finish()

    def unteach(self, x: ArrayLike) -> None:
        """Take back what was taught at a place; its vertex stays, unlabeled."""
        graph, query = self._graph, self._query(x)
        slot = graph.neighbours(query).absorber if len(self) else None
        taught = slot is not None and (slot >= graph.rows or bool(graph.fixed[slot]))
        if slot is None or not taught:
            raise NotFound("nothing was taught at this place; vertices() lists what was")
        graph.negatives.pop(int(graph.ids[slot]), None)
        graph.relabel(slot, UNLABELED)
        self._finish()

    # ---- reading

    def explain(self, x: ArrayLike) -> Explanation:
        """Which labeled examples the walk from x ends at, and the chain of vertices in between."""
        inference = self._infer(self._query(x))
        prediction, local, graph = inference.prediction, inference.local, self._graph
        name = prediction.label or prediction.candidate
        chains = [] if local is None else walks.chains(graph, local)
        found = self._endings(inference, [chain.steps for chain in chains])
        endings = tuple(sorted(found, key=lambda ending: -ending.share))
        if local is None or name is None:
            hops = len(endings[0].chain) if endings else None
            return Explanation(prediction, endings, hops)
        label = self._names.index(name)
        own = [chains[column] for column in slots_where(graph.column_labels == label)]
        best = min(own, key=lambda chain: chain.length)
        bridge = walks.bridge(graph, local, label)
        return Explanation(prediction, endings, len(best.steps), best.weakest, bridge)

    def label_distance(self, x: ArrayLike, name: str) -> float:
        """How far x is from the nearest labeled example of a name, in a straight line.

        >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
        >>> learner.teach([0.0], "ana")
        >>> learner.label_distance([1.5], "ana")
        1.5
        """
        if name not in self._names:
            raise NotFound(f"nobody is called {name!r}; known are {', '.join(self.names) or '-'}")
        return self._label_distance(self._query(x), self._names.index(name))

    def nearest_label(self, x: ArrayLike) -> str | None:
        """The name of the nearest labeled example, whether linked or not; None without labels.

        >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
        >>> learner.teach([0.0], "ana")
        >>> print(learner.predict([99.0]).label, learner.nearest_label([99.0]))
        None ana
        """
        graph, query = self._graph, self._query(x)
        named = graph.column_labels >= 0
        if not named.any():
            return None
        squared = graph.vectors.measure(query, graph.rows + graph.columns[named])
        return self._names[int(graph.column_labels[named][int(squared.argmin())])]

    def diagnose(self) -> Diagnosis:
        """Whether the parameters suit the data, and what would help: see `Diagnosis`.

        >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
        >>> learner.teach([0.0], "ana")
        >>> _ = learner.observe([0.5])
        >>> print(learner.diagnose())
        0 of 1 examples were nobody; 1 components, the largest has 100% of the vertices, 0 are \
isolated
        """
        return diagnose(self._graph, self._counts)

    def question(
        self, rows: ArrayLike = (), masses: Sequence[int] | None = None
    ) -> Question | None:
        """Whose label would settle most of the stream: a vertex, or, of examples, one of these.

        The examples are those that were not learned, such as candidates, each with the number of
        examples that it stands for (one unless given). None: no label would settle anything.

        >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5), trust_radius=1)
        >>> learner.teach([0.0], "ana")
        >>> print(learner.question())
        None
        >>> best = learner.question([[1.2], [2.1], [2.2], [2.3], [2.4]])
        >>> best.row, best.candidate, round(best.gain)
        (1, 'ana', 5)
        """
        return self.question_later(rows, masses)()

    def question_later(
        self, rows: ArrayLike = (), masses: Sequence[int] | None = None
    ) -> Callable[[], Question | None]:
        """The same for another thread: what is returned has a copy of all that it needs."""
        given = as_rows(rows, like=self._like) if np.size(rows) else np.zeros((0, 0))
        counts = [1] * len(given) if masses is None else [int(mass) for mass in masses]
        if len(counts) != len(given) or any(count < 1 for count in counts):
            raise BadValue(f"give one mass of at least 1 for each of the {len(given)} examples")
        if self._like is None:
            return lambda: None
        graph, names, sink, radius = self.graph(), self.names, self.sink, self.trust_radius
        return lambda: questions.QuestionGraph.of(graph, given, counts).best(names, sink, radius)

    def graph(self) -> Graph:
        """A copy of the graph, to read or to change; nothing is measured again."""
        return deepcopy(self._graph)

    def vertices(self, *, vectors: bool = True) -> Vertices:
        """All vertices in order of age; if the vectors are not wanted, with rows of length 0."""
        graph = self._graph
        slots = graph.occupied
        slots = slots[np.argsort(graph.ids[slots])]
        rows = graph.vectors.rows if vectors else graph.vectors.rows[:, :0]
        columns = graph.ids[slots], rows[slots], graph.multiplicity[slots]
        for column in columns:
            column.flags.writeable = False
        labels = graph.label[slots].tolist()
        names = tuple(self._names[label] if label >= 0 else None for label in labels)
        excluded = (graph.label[slots] == NOBODY) | np.isin(columns[0], list(graph.negatives))
        said = {
            int(graph.ids[slot]): frozenset(self._negatives_of(int(slot)))
            for slot in slots[excluded]
        }
        return Vertices(*columns, names, said)

    def vector(self, vertex: int) -> Rows:
        """The vector of one vertex, which is looked up: no other is read.

        >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
        >>> learner.teach([0.5], "ana")
        >>> learner.vector(0)
        array([0.5])
        """
        return np.array(self._graph.vectors.rows[self._slot(vertex)])

    def owners(self) -> dict[int, str | None]:
        """The name that each vertex carries, by id: one solution for all of them at once.

        >>> from onlooker import HeatKernel
        >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
        >>> learner.teach([0.0], "ana")
        >>> _ = learner.observe([0.5])
        >>> learner.owners()
        {0: 'ana', 1: 'ana'}
        """
        graph, names = self._graph, self._names
        ids = graph.ids[graph.occupied].tolist()
        if not names:
            return dict.fromkeys(ids)
        found = zip(ids, self._carried_labels().tolist(), strict=True)
        return {vertex: names[label] if label >= 0 else None for vertex, label in sorted(found)}

    @property
    def examples(self) -> int:
        """How many examples its vertices represent, labeled ones included."""
        return int(self._graph.multiplicity[self._graph.occupied].sum())

    def masses(self) -> dict[str, float]:
        """How many of these examples each name has: the sum of their scores for it.

        >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5), sink=0.0)
        >>> learner.teach([0.0], "ana")
        >>> learner.teach([1.0], "ben")
        >>> _ = learner.observe([0.5])
        >>> learner.masses()
        {'ana': 1.5, 'ben': 1.5}
        """
        graph, count = self._graph, len(self._names)
        links = walks.class_links(graph, count)
        scores, _ = self._all_scores(links)
        sums = links.multiplicity @ scores
        named = graph.column_labels >= 0
        taught = graph.multiplicity[graph.rows + graph.columns[named]]
        sums += np.bincount(graph.column_labels[named], taught, count)
        return dict(zip(self._names, sums.tolist(), strict=True))

    def changes(self) -> Changes:
        """What the last call that may learn did to the graph."""
        events = self._events

        def vertices(kind: str) -> tuple[int, ...]:
            return tuple(event.vertex for event in events if event.kind == kind)

        return Changes(
            new=vertices("new"),
            absorbed=vertices("absorbed"),
            merged={event.vertex: event.into_vertex for event in events if event.kind == "merged"},
            dropped=vertices("dropped"),
            labeled=vertices("labeled"),
            unlabeled=vertices("unlabeled"),
            negatives=vertices("negatives"),
            doubled=tuple(self._radii),
        )

    def entries(self) -> tuple[Entry, ...]:
        """The same changes in order, with all that it takes to repeat them without solving."""
        return tuple(self._entry(event) for event in self._events)

    # ---- removing and merging

    def drop(self, vertex: int) -> None:
        """Remove one vertex from the graph, with all examples that it represents."""
        self._graph.drop(self._slot(vertex))
        self._finish()

    def forget(self, name: str) -> Receipt:
        """Delete a name: its labeled vertices, every unlabeled one whose best name it is, whatever
        a person said against it, and every one that is kept only because it is not that name."""
        if name not in self._names:
            raise NotFound(f"nobody is called {name!r}; known are {', '.join(self.names) or '-'}")
        graph, label = self._graph, self._names.index(name)
        doomed = graph.occupied[walks.best_labels(graph, len(self._names), self.sink) == label]
        only = [vertex for vertex, labels in graph.negatives.items() if labels == {label}]
        kept_for_it = slots_where(np.isin(graph.ids[: graph.rows], only))
        doomed = np.union1d(doomed, kept_for_it)
        labeled = int(np.count_nonzero(graph.label[doomed] >= 0))
        multiplicity = int(graph.multiplicity[doomed].sum())
        for slot in doomed:
            graph.drop(int(slot))
        self._finish()
        unreachable = np.sort(graph.ids[walks.unreachable(graph)])
        return Receipt(labeled, len(doomed) - labeled, multiplicity, tuple(map(int, unreachable)))

    def merge(self, other: Self) -> None:
        """Add everything that another learner knows; the other learner does not change."""
        self._refuse_to_merge(other)
        theirs = other.vertices()
        graph = self._graph_for(theirs.vectors)
        vectors = theirs.vectors.astype(graph.vectors.rows.dtype)
        # Labels first: an unlabeled vertex gives way to a label at its place, never the reverse.
        order = sorted(range(len(theirs.ids)), key=lambda row: theirs.names[row] is None)
        said = [theirs.negatives.get(vertex, frozenset()) for vertex in theirs.ids.tolist()]
        for row in order:
            near = graph.neighbours(graph.query(vectors[row]))
            self._refuse_contradiction(graph, near.absorber, theirs.names[row], said[row])
        for name in other.names:
            self._label_of(name)
        for row in order:
            count = int(theirs.multiplicities[row])
            self._put(graph, vectors[row], count, theirs.names[row], said[row])
        self._radius = max(self._radius, other.radius)
        self.quantizer.settle(graph, self._radius)
        self._finish()

    # ---- files

    def save(self, path: Source) -> None:
        """Write everything to a file: arrays and a readable header, replaced as a whole."""
        Saved(self._settings(), self.state()).write(path)

    @classmethod
    def load(
        cls,
        path: Source,
        *,
        distance: Distance | None = None,
        quantizer: Quantizer | None = None,
        features: str | None = None,
    ) -> Self:
        """Read a saved learner.

        A distance or quantizer that is not part of the core must be given; if features are given,
        they must be those of the file.
        """
        saved = Saved.read(path, distance=distance, quantizer=quantizer, features=features)
        with errors_about(path):
            return cls(**saved.settings).restored(saved.state)

    def state(self) -> State:
        """Everything it has learned, as arrays; nothing is solved."""
        return state_of(self._graph, list(self._names), self._radius)

    def empty_copy(self, **settings: Any) -> Self:
        """A learner that has learned nothing, with the same settings but for those given.

        >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5), min_score=0.1)
        >>> wide = learner.empty_copy(max_vertices=9)
        >>> wide.max_vertices, wide.min_score
        (9, 0.1)
        """
        return type(self)(**{**self._settings(), **settings})

    def restored(self, state: State) -> Self:
        """A new learner with the same settings that has learned exactly that state."""
        learner = self.empty_copy()
        learner._graph = graph_of(state, self.kernel, self.max_vertices)
        learner._names, learner._radius = list(state.names), state.radius
        return learner

    def _settings(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel,
            "sink": self.sink,
            "max_vertices": self.max_vertices,
            "quantizer": self.quantizer,
            "min_score": self.min_score,
            "features": self.features,
            "trust_radius": self.trust_radius,
        }

    # ---- helpers

    def _count(self, inference: Inference) -> None:
        """Count an answer; say so, once, if all answers together say that parameters are wrong."""
        graph, counts, label = self._graph, self._counts, inference.prediction.label
        distance = None
        if label is None and inference.prediction.candidate is None and counts.measures_next:
            slots = graph.rows + graph.columns
            distance = float(np.sqrt(graph.vectors.measure(inference.query, slots).min()))
        if counts.count(label, distance) and (problem := self.diagnose().problem):
            counts.due = 0
            warnings.warn(problem, ParameterWarning, stacklevel=4)

    @property
    def _like(self) -> Rows | None:
        """Rows with the length and type of our vectors, once they are known."""
        rows = self._graph.vectors.rows
        return rows if rows.shape[1] else None

    def _graph_for(self, vectors: Rows) -> Graph:
        """Our graph; as long as it has stored no vector, a new one for vectors like these."""
        if self._like is not None:
            return self._graph
        graph = Graph(self.kernel, vectors.shape[-1], vectors.dtype, self.max_vertices)
        graph.next_id = self._graph.next_id
        return graph

    def _slot(self, vertex: int) -> int:
        """The slot of a vertex that must exist."""
        slot = self._graph.slot_of(int(vertex)) if is_number(vertex, whole=True) else None
        if slot is None:
            raise NotFound(f"there is no vertex {vertex!r}; it may have been merged or dropped")
        return slot

    def _query(self, x: ArrayLike) -> Query:
        """An example, checked and prepared."""
        vector = as_vector(x, like=self._like)
        return self._graph_for(vector).query(vector)

    def _nobody(self) -> Prediction:
        """The answer where no label is reached."""
        return Prediction(None, dict.fromkeys(self._names, 0.0), 1.0, None)

    def _scores(self, near: Neighbours, local: walks.LocalWalk, ends: solver.Ends) -> Scores:
        """The score of every name: what ends at its labels, without passing a negative of it."""
        graph, shares = self._graph, ends.labels
        columns, negatives = graph.column_labels, 0.0
        if graph.fixed.any():
            shares, nobody = shares.copy(), columns == NOBODY
            negatives, shares[nobody] = float(shares[nobody].sum()), 0.0
            kinds = np.where(nobody, len(self._names), columns)
            sums = cache(partial(walks.LabelSums.of, local.walk, kinds))
            for label in sorted(set().union(*graph.negatives.values())):
                own = slots_where(columns == label)
                rest = self._past_negatives(label, own, near, local, sums)
                if rest is not None:
                    rest = np.minimum(rest, shares[own])
                    negatives += float((shares[own] - rest).sum())
                    shares[own] = rest
            columns = np.where(nobody, 0, columns)
        scores = np.bincount(columns, shares, len(self._names))
        sink = min(ends.sink + negatives, 1.0)
        return Scores(np.asarray(scores, float), sink, negatives, shares)

    def _past_negatives(
        self,
        label: int,
        own: Slots,
        near: Neighbours,
        local: walks.LocalWalk,
        sums: Callable[[], walks.LabelSums],
    ) -> Floats | None:
        """What ends at the columns of a label, if the walk may not pass its negatives.

        None: it never does.
        """
        slots = self._graph.slots_not(label)
        if near.absorber is not None and near.absorber in slots:
            return np.zeros(len(own))
        rows = np.isin(local.members, slots) & (local.walk.multiplicity > 0)
        if not rows.any():
            return None
        walk = walks.for_label(local.walk, own, sums(), label)
        return solver.ends(walks.ended_at(walk, slots_where(rows))).labels[: len(own)]

    def _named(
        self,
        found: Scores,
        query: Query,
        near: Neighbours,
        local: walks.LocalWalk | None = None,
    ) -> Prediction:
        """The best name if its score is enough; a tie goes to the name taught first."""
        graph, scores, sink = self._graph, found.names, found.sink
        best = int(scores.argmax())
        table = dict(zip(self._names, scores.tolist(), strict=True))
        if not scores[best] > max(self.min_score, found.negatives * TIE):
            return Prediction(None, table, sink, None)
        support: Support = "labeled"
        if local is not None:
            linked = local.walk.start_to_labels[graph.column_labels == best].any()
            support = "direct" if linked else "inferred"
        if not self._trusted(query, best):
            return Prediction(None, table, sink, None, self._names[best], support)
        vertex = graph.next_id if near.absorber is None else int(graph.ids[near.absorber])
        return Prediction(self._names[best], table, sink, vertex, None, support)

    def _trusted(self, query: Query, label: int) -> bool:
        """Whether x is near enough, in a straight line, to an example with that label."""
        return self.trust_radius is None or (
            self._label_distance(query, label) <= self.trust_radius
        )

    def _label_distance(self, query: Query, label: int) -> float:
        graph = self._graph
        slots = graph.rows + graph.columns[graph.column_labels == label]
        return float(np.sqrt(graph.vectors.measure(query, slots).min()))

    def _carried_labels(self) -> Slots:
        """The label that each vertex carries, in slot order: `_scores` and `_named` for all."""
        graph = self._graph
        links = walks.class_links(graph, len(self._names))
        scores, ended = self._all_scores(links)
        best = scores.argmax(axis=1)
        enough = scores[np.arange(len(best)), best] > ended * TIE
        if self.trust_radius is not None:
            for row in slots_where(enough):
                query = graph.vectors.stored(int(links.slots[row]))
                enough[row] = self._trusted(query, int(best[row]))
        carried = np.where(enough, best, UNLABELED)
        return np.concatenate([carried, walks.given_labels(graph)])

    def _all_scores(self, links: walks.ClassLinks) -> tuple[Floats, Floats]:
        """`_scores` of every unlabeled vertex: those of the names, and what ended at negatives."""
        graph, count = self._graph, len(self._names)
        scores = walks.all_scores(links, self.sink)
        ended = scores[:, count].copy()
        for label in sorted(set().union(*graph.negatives.values())):
            negatives = graph.slots_not(label)
            if len(negatives):
                rest = walks.all_scores(links, self.sink, ended=negatives)[:, label]
                ended += np.maximum(scores[:, label] - rest, 0.0)
                scores[:, label] = np.minimum(scores[:, label], rest)
        return scores[:, :count], ended

    def _negatives_of(self, slot: int) -> tuple[str | None, ...]:
        """The names that a vertex is not, in order; None: it is nobody."""
        graph = self._graph
        excluded = sorted(graph.negatives.get(int(graph.ids[slot]), ()))
        nobody = (None,) if graph.label[slot] == NOBODY else ()
        return *nobody, *(self._names[label] for label in excluded)

    def _endings(
        self, inference: Inference, chains: Sequence[tuple[Step, ...]]
    ) -> Iterator[Ending]:
        """Which labeled vertices the walk ends at, and along which chains."""
        graph, absorber = self._graph, inference.near.absorber
        if inference.local is not None and inference.shares is not None:
            shares = inference.shares.tolist()
            for label, share, chain in zip(graph.column_labels, shares, chains, strict=True):
                if chain and label != NOBODY:
                    yield Ending(self._names[label], share, chain)
        elif absorber is not None and absorber >= graph.rows and graph.label[absorber] >= 0:
            name = self._names[graph.label[absorber]]
            yield Ending(name, 1.0, (walks.step(graph, absorber),))

    def _put(
        self,
        graph: Graph,
        vector: Rows,
        multiplicity: int,
        name: str | None,
        negatives: frozenset[str | None] = frozenset(),
    ) -> None:
        """Add examples at a place: a new vertex, or more examples for the one that is there."""
        query = graph.query(vector)
        near = graph.neighbours(query)
        slot = near.absorber
        self._refuse_contradiction(graph, slot, name, negatives)
        self._graph = graph
        label = UNLABELED if name is None else self._label_of(name)
        if slot is None:
            slot = graph.add(query, near, label=label, multiplicity=multiplicity)
            vertex = int(graph.ids[slot])
        else:
            vertex = int(graph.ids[slot])
            graph.absorb(slot, multiplicity)
            if name is not None and slot < graph.rows:
                graph.relabel(slot, label)
        if negatives:
            self._exclude(graph, vertex, negatives)

    def _exclude(self, graph: Graph, vertex: int, negatives: frozenset[str | None]) -> None:
        """Say of a vertex who it is not, beside what was said before."""
        labels = frozenset(self._label_of(name) for name in negatives if name is not None)
        slot = graph.slot_of(vertex)
        if labels and slot is not None:
            graph.exclude(slot, graph.negatives.get(vertex, frozenset()) | labels)
        if None in negatives and slot is not None and graph.label[slot] != NOBODY:
            graph.relabel(slot, NOBODY)

    def _label_of(self, name: str) -> int:
        """The label of a name, a new one if need be."""
        if name not in self._names:
            self._names.append(name)
        return self._names.index(name)

    def _update_preconditioner(self) -> None:
        for event in self._events:
            if event.slot < 0:
                continue
            if event.kind == "merged" and event.into_slot < self._graph.rows:
                self._preconditioner.merged(event.into_slot, event.slot)
            elif event.kind in ("merged", "labeled"):
                self._preconditioner.grounded(event.slot)
            elif event.kind == "dropped":
                self._preconditioner.removed(event.slot)

    def _remove_unused_names(self) -> None:
        """A name without a labeled vertex is not a class any more."""
        for label in reversed(range(len(self._names))):
            if label not in self._graph.column_labels:
                del self._names[label]
                self._graph.remove_label(label)

    def _entry(self, event: GraphEvent) -> Entry:
        graph, kind, vertex = self._graph, event.kind, event.vertex
        if kind == "merged":
            return Entry(kind, vertex, into=event.into_vertex)
        stays = event.slot >= 0 and kind in ("new", "labeled", "negatives")
        slot = graph.slot_of(vertex) if stays else None
        if slot is None:  # or merged before the call was over
            return Entry(kind, vertex, event.examples)
        if kind == "negatives" or (kind == "labeled" and graph.label[slot] == NOBODY):
            return Entry("negatives", vertex, not_names=self._negatives_of(slot))
        name = self._names[graph.label[slot]] if graph.label[slot] >= 0 else None
        vector = graph.vectors.rows[slot].copy() if kind == "new" else None
        return Entry(kind, vertex, event.examples, name=name, vector=vector)

    def _refuse_contradiction(
        self,
        graph: Graph,
        slot: int | None,
        name: str | None,
        negatives: frozenset[str | None],
    ) -> None:
        """What is said of one place must agree: one name at most, and none that it is not."""
        if slot is None or not (name is not None or negatives):
            return
        present = self._names[graph.label[slot]] if graph.label[slot] >= 0 else None
        excluded = self._negatives_of(slot)
        if present is not None and name not in (None, present):
            said = f"is labeled {present!r} and cannot be {name!r} too"
        elif present is not None and (None in negatives or present in negatives):
            said = f"is labeled {present!r}, so it cannot be said that it is not"
        elif name is not None and (None in excluded or name in excluded):
            said = f"was said not to be {name!r}"
        else:
            return
        raise LabelConflict(f"this place {said}; take the first label back with unteach")

    def _refuse_to_merge(self, other: object) -> None:
        if not isinstance(other, OnlineHarmonicLearner):
            raise Incompatible(f"only another learner can be merged, got {other!r}")
        for what in ("features", "kernel", "sink"):
            here, there = getattr(self, what), getattr(other, what)
            if here != there:
                raise Incompatible(f"cannot merge: {what} {here!r} here, {there!r} there")
        mine, theirs = self._like, other._like
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
