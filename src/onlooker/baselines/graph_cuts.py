"""Max-margin graph cuts (Kveton, Valko, Rahimi and Huang 2010), online on the quantised graph.

The harmonic solution labels the vertices of the graph, softly; a kernel machine of largest margin
then learns from those labels, one a name against all others (see `max_margin`). The graph is that
of the learner: its quantizer decides which vertices there are and how much each stands for.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onlooker.baselines.answers import by_margins, nobody
from onlooker.baselines.examples import ExampleStore, PairTable
from onlooker.baselines.max_margin import is_confident, max_margin, soft_labels
from onlooker.core.checks import Floats, as_number, opened
from onlooker.core.harmonic import harmonic_solution
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.quantizer import Quantizer
from onlooker.core.records import Prediction, Vertices
from onlooker.core.similarity import HeatKernel


class MaxMarginGraphCuts:
    """Learns a boundary of largest margin from the harmonic solution, again every few steps.

    >>> model = MaxMarginGraphCuts(HeatKernel(bandwidth=0.3, cutoff=1e-3))
    >>> model.teach([0.0, 0.0], "ana")
    >>> model.teach([2.0, 0.0], "ben")
    >>> model.observe([0.3, 0.3]).label
    'ana'
    >>> print(model.observe([0.0, 9.0]).label)
    None
    >>> len(model)
    3

    sink, max_vertices and quantizer are the learner's. margin is gamma, confidence the least |l|
    of a vertex to learn from, bandwidth the sigma of K, on the plain distance (three times that of
    the similarity unless given). Every refit_every examples that the graph takes in, and after
    each label, the boundary is learned anew, beginning with the last one; in between it stays, and
    so does who is near enough to be named: those within the cutoff of a vertex learned from.
    """

    def __init__(
        self,
        kernel: HeatKernel,
        *,
        sink: float | None = None,
        max_vertices: int = 500,
        quantizer: Quantizer | None = None,
        margin: float = 0.1,
        confidence: float = 1e-6,
        bandwidth: float | None = None,
        refit_every: int = 10,
    ) -> None:
        self._learner = OnlineHarmonicLearner(
            kernel, sink=sink, max_vertices=max_vertices, quantizer=quantizer
        )
        self.kernel = kernel
        self.margin = float(as_number("margin", margin, least=1e-12))
        self.confidence = float(as_number("confidence", confidence, least=0))
        width = 3.0 * kernel.bandwidth if bandwidth is None else bandwidth
        self._smooth = HeatKernel(width, kernel.cutoff)
        self.refit_every = int(as_number("refit_every", refit_every, least=1, whole=True))
        self._store = ExampleStore(kernel)
        self._weights, self._gram = PairTable(), PairTable()
        self._ids: list[int] = []
        self._coefficients: Floats = np.zeros((0, 0))
        self._learned_from: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self._waiting = 0

    def __len__(self) -> int:
        """Vertices of the graph, labeled and unlabeled."""
        return len(self._learner)

    @property
    def names(self) -> tuple[str, ...]:
        """The names it knows, in the order they were first taught."""
        return self._learner.names

    @property
    def learned_from(self) -> int:
        """How many vertices the boundary was learned from."""
        return int(np.count_nonzero(self._learned_from))

    def teach(self, x: ArrayLike, name: str) -> None:
        """A labeled example."""
        self._learner.teach(x, name)
        self._refit()

    def predict(self, x: ArrayLike) -> Prediction:
        """The name of the largest f; nobody beyond the cutoff of all it learned from."""
        query = self._store.query(x)
        gaps = self._store.gaps(query)
        if not self._store.weights(query, gaps)[self._learned_from].any():
            return nobody(self.names)
        return by_margins(self.names, self._smooth.heat(gaps) @ self._coefficients)

    def observe(self, x: ArrayLike) -> Prediction:
        """Name it by the boundary as it is, and let the graph have it."""
        prediction = self.predict(x)
        if self._learner.observe(x).label is not None:
            self._waiting += 1
            if self._waiting >= self.refit_every:
                self._refit()
        return prediction

    def margins(self, x: ArrayLike) -> dict[str, float]:
        """f(x) of every name, near or far."""
        values = self._smooth.heat(self._store.gaps(self._store.query(x))) @ self._coefficients
        return dict(zip(self.names, values.tolist(), strict=True))

    def _refit(self) -> None:
        """The harmonic solution on the graph as it is now, and the boundary that follows."""
        vertices = self._learner.vertices()
        self._follow(vertices)
        places = {vertex: row for row, vertex in enumerate(vertices.ids.tolist())}
        rows = [places[vertex] for vertex in self._ids]
        v = vertices.multiplicities[rows]
        given = [vertices.names[row] for row in rows]
        scores = harmonic_solution(
            self._weights.values,
            [[own == name for name in self.names] for own in given],
            [own is not None for own in given],
            sink=self._learner.sink,
            multiplicity=v,
        )
        labels = soft_labels(scores)
        self._coefficients = max_margin(
            self._gram.values,
            labels,
            margin=self.margin,
            confidence=self.confidence,
            multiplicity=v,
            start=self._coefficients,
        )
        self._learned_from = is_confident(np.abs(labels).max(axis=1), self.confidence)
        self._waiting = 0

    def _follow(self, vertices: Vertices) -> None:
        """Store what the graph has, and no more; a vertex never moves, so pairs stay known."""
        there = set(vertices.ids.tolist())
        for place in reversed(range(len(self._ids))):
            if self._ids[place] not in there:
                self._forget(place)
        here = set(self._ids)
        for vertex, vector in zip(vertices.ids.tolist(), vertices.vectors, strict=True):
            if vertex not in here:
                self._add(vertex, vector)
        more = len(self.names) - self._coefficients.shape[1]
        self._coefficients = np.pad(self._coefficients, ((0, 0), (0, more)))

    def _add(self, vertex: int, vector: ArrayLike) -> None:
        query = self._store.query(vector)
        gaps = self._store.gaps(query)
        self._weights.add(np.append(self._store.weights(query, gaps), 0.0))
        self._gram.add(self._smooth.heat(np.append(gaps, 0.0)))
        self._store.add(query)
        self._ids.append(vertex)
        self._coefficients = opened(self._coefficients, 1, 0.0)

    def _forget(self, place: int) -> None:
        """Let go of a vertex; the last one takes its place."""
        for table in (self._store, self._weights, self._gram):
            table.remove(place)
        self._ids[place] = self._ids[-1]
        self._ids.pop()
        self._coefficients[place] = self._coefficients[-1]
        self._coefficients = self._coefficients[:-1]
