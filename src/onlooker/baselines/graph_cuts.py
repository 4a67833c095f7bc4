"""Max-margin graph cuts (Kveton, Valko, Rahimi and Huang 2010), online on the quantised graph.

The harmonic solution gives the vertices of the graph soft labels; a kernel machine of largest
margin then learns from these, one for each name against all others (see `max_margin`). The graph
is the learner's: its quantizer decides which vertices there are and how many examples each
represents.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onlooker.baselines.answers import by_margins, nobody
from onlooker.baselines.examples import ExampleStore, PairTable, solved
from onlooker.core.checks import Floats, Slots, as_number, insert_rows, slots_where
from onlooker.core.harmonic import harmonic_solution
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.quantizer import Quantizer
from onlooker.core.records import Prediction, Vertices
from onlooker.core.similarity import HeatKernel

SWEEPS = 200
"""The most sweeps over all coefficients; about ten are usual, fewer from a good start."""

TOLERANCE = 1e-6
"""Sweeps end when no coefficient would change by more than this share of the largest allowed."""


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

    sink, max_vertices and quantizer are the learner's. margin is gamma, confidence the least |l| of
    a vertex to learn from, bandwidth the sigma of K, which uses the Euclidean distance (three times
    that of the similarity unless given). Every refit_every examples that the graph accepts, and
    after each label, the boundary is learned again, starting from the last one. In between it does
    not change, nor does the region that gets a name: within the cutoff of a vertex learned from.
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
        """The name with the largest f; nobody beyond the cutoff of all vertices learned from."""
        query = self._store.query(x)
        gaps = self._store.gaps(query)
        if not self._store.weights(query, gaps)[self._learned_from].any():
            return nobody(self.names)
        return by_margins(self.names, self._smooth.heat(gaps) @ self._coefficients)

    def observe(self, x: ArrayLike) -> Prediction:
        """Name it by the current boundary, then add it to the graph."""
        prediction = self.predict(x)
        if self._learner.observe(x).label is not None:
            self._waiting += 1
            if self._waiting >= self.refit_every:
                self._refit()
        return prediction

    def margins(self, x: ArrayLike) -> dict[str, float]:
        """f(x) of every name, whatever the distance to the vertices."""
        values = self._smooth.heat(self._store.gaps(self._store.query(x))) @ self._coefficients
        return dict(zip(self.names, values.tolist(), strict=True))

    def _refit(self) -> None:
        """Solve for the soft labels on the current graph, then for the boundary."""
        vertices = self._learner.vertices()
        self._synchronize(vertices)
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

    def _synchronize(self, vertices: Vertices) -> None:
        """Store the vertices of the graph, no others. A vertex never moves, so pairs stay valid."""
        there = set(vertices.ids.tolist())
        for place in reversed(range(len(self._ids))):
            if self._ids[place] not in there:
                self._remove(place)
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
        self._coefficients = insert_rows(self._coefficients, 1, 0.0)

    def _remove(self, place: int) -> None:
        """Remove a vertex; the last one moves to its index."""
        for table in (self._store, self._weights, self._gram):
            table.remove(place)
        self._ids[place] = self._ids[-1]
        self._ids.pop()
        self._coefficients[place] = self._coefficients[-1]
        self._coefficients = self._coefficients[:-1]


def soft_labels(scores: Floats) -> Floats:
    """l_i^c = P_i^c - sum_{c' != c} P_i^c', from harmonic scores with one column for each name.

    >>> soft_labels(np.array([[0.7, 0.2], [0.0, 1.0]]))
    array([[ 0.5, -0.5],
           [-1. ,  1. ]])
    """
    signed: Floats = 2.0 * scores - scores.sum(axis=1, keepdims=True)
    return signed


def max_margin(
    gram: ArrayLike,
    soft: ArrayLike,
    *,
    margin: float = 0.1,
    confidence: float = 1e-6,
    multiplicity: ArrayLike | None = None,
    start: ArrayLike | None = None,
) -> Floats:
    """The coefficients a of f = sum_i a_i K(x_i, .), in the shape of the soft labels l.

        f = argmin sum_{i: |l_i| >= conf} v_i max(0, 1 - sgn(l_i) f(x_i)) + gamma |f|_K^2

    gram is K between the examples, margin is gamma, v the number of examples each represents.
    Several columns of l are several problems. start: coefficients to start the iteration from;
    they change its length, not its result. Their sizes b_i = |a_i| lie in [0, v_i / (2 gamma)].

    Two examples of each sign on a line, with K(x, z) = x z + 1; f(x) = x / 2:

    >>> x = np.array([-2.0, -2.0, 2.0, 2.0])
    >>> a = max_margin(np.outer(x, x) + 1.0, [-1.0, -0.3, 0.3, 1.0])
    >>> [round(float((z * x + 1.0) @ a), 3) for z in (1.0, 2.0)]
    [0.5, 1.0]
    """
    signed = np.asarray(soft, dtype=np.float64)
    kernel = np.asarray(gram, dtype=np.float64)
    v = np.ones(len(kernel)) if multiplicity is None else np.asarray(multiplicity, np.float64)
    found = np.zeros_like(signed) if start is None else np.array(start, dtype=np.float64)
    columns = found.reshape(len(kernel), -1)
    for own, labels in zip(columns.T, signed.reshape(len(kernel), -1).T, strict=True):
        used = slots_where(is_confident(labels, confidence))
        y = np.sign(labels[used])
        signed_gram = y[:, None] * kernel[np.ix_(used, used)] * y
        fitted = _fitted(signed_gram, y * own[used], v[used] / (2.0 * margin), 0.5 / margin)
        own[:] = 0.0
        own[used] = y * fitted
    return found


def is_confident(soft: Floats, confidence: float) -> NDArray[np.bool_]:
    """Which soft labels are used: |l| >= conf, and never 0, which has no sign.

    >>> is_confident(np.array([-0.5, 0.0, 1e-9]), 1e-6)
    array([ True, False, False])
    """
    size = np.abs(soft)
    confident: NDArray[np.bool_] = (size >= confidence) & (size > 0.0)
    return confident


def _fitted(signed_gram: Floats, start: Floats, largest: Floats, scale: float) -> Floats:
    """The b in [0, largest] of least b' B b / 2 - sum b, with B_ij = y_i K_ij y_j for signed_gram.

    Sweeps find out which b are at a bound. They converge slowly for the others, because K of near
    examples is nearly singular: a direct solve for those between their bounds does that at once.
    """
    b = np.clip(start, 0.0, largest)
    for _ in range(SWEEPS):
        slack = 1.0 - signed_gram @ b
        moves = np.clip(b + slack / signed_gram.diagonal(), 0.0, largest) - b
        moving = slots_where(np.abs(moves) > TOLERANCE * max(scale, 1.0))
        if not len(moving):
            break
        _sweep(signed_gram, b, slack, largest, moving)
        _solve_free(signed_gram, b, slack, largest)
    return b


def _sweep(signed_gram: Floats, b: Floats, slack: Floats, largest: Floats, moving: Slots) -> None:
    """b_i <- b_i + (1 - y_i f(x_i)) / K_ii within its bounds, one after another."""
    steepness = signed_gram.diagonal()
    for i in moving.tolist():
        was = b.item(i)
        b[i] = min(max(was + slack.item(i) / steepness.item(i), 0.0), largest.item(i))
        slack -= (b.item(i) - was) * signed_gram[i]


def _solve_free(signed_gram: Floats, b: Floats, slack: Floats, largest: Floats) -> None:
    """Move all b between their bounds to the solution, or until one of them is at a bound."""
    free = slots_where((b > 0.0) & (b < largest))
    if not len(free):
        return
    move = solved(signed_gram[np.ix_(free, free)], slack[free])
    bounds = np.where(move > 0.0, largest[free], 0.0)
    going = move != 0.0
    room = (bounds[going] - b[free][going]) / move[going]
    b[free] = np.clip(b[free] + min(1.0, room.min(initial=1.0)) * move, 0.0, largest[free])
