"""Online manifold regularisation of a support vector machine (Goldberg, Li and Zhu 2008).

A function in the space of a Gaussian kernel K, f = sum_i a_i K(x_i, .), follows the gradient of

    J_t(f) = d_t max(0, 1 - y_t f(x_t)) + (l1 / 2) |f|^2 + l2 sum_i w_it (f(x_i) - f(x_t))^2

where d_t = 1 for a labeled example and i runs over a bounded buffer. So, with all f taken before:

    a_i <- (1 - eta l1) a_i - 2 eta l2 (f(x_i) - f(x_t)) w_it
    a_t <- 2 eta l2 sum_i (f(x_i) - f(x_t)) w_it + eta d_t y_t 1{y_t f(x_t) < 1}

with eta = eta0 / sqrt(t), one function for each name against all others.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from onlooker.baselines.answers import by_margins, nobody
from onlooker.baselines.examples import ExampleQuery, ExampleStore, PairTable, solved
from onlooker.core.checks import Floats, as_name, as_number, insert_rows
from onlooker.core.records import Prediction
from onlooker.core.similarity import HeatKernel

UNLABELED = -1


class OnlineManifoldSVM:
    """A kernel machine that pulls the values of similar examples together, in bounded memory.

    >>> model = OnlineManifoldSVM(HeatKernel(bandwidth=0.3, cutoff=1e-3))
    >>> model.teach([0.0, 0.0], "ana")
    >>> model.teach([2.0, 0.0], "ben")
    >>> model.observe([0.3, 0.3]).label
    'ana'
    >>> print(model.observe([0.0, 9.0]).label)
    None
    >>> len(model)
    3

    buffer is tau, the number of examples that are stored: the oldest unlabeled one is evicted
    first, a labeled one only when there is no other. ridge, graph_weight and rate are l1, l2 and
    eta0; bandwidth is the sigma of K, that of the similarity unless given. K uses the Euclidean
    distance, because the distance of the similarity may not be a metric, and K would then not be a
    kernel.

    replay repeats one labeled example after each unlabeled one, in turn. cap keeps eta below
    1 / (l1 + 4 l2 sum_i w_it), so that no step overshoots. projection moves the part of f of an
    evicted example to the remaining ones, instead of dropping it (`project`).
    normalise divides w by its median over the connected pairs: with similarities down to 1e-8
    the graph term would otherwise have no effect.
    """

    def __init__(
        self,
        kernel: HeatKernel,
        *,
        buffer: int = 150,
        ridge: float = 1e-3,
        graph_weight: float = 10.0,
        rate: float = 2.0,
        bandwidth: float | None = None,
        replay: bool = True,
        cap: bool = True,
        projection: bool = True,
        normalise: bool = False,
    ) -> None:
        self._store = ExampleStore(kernel)
        self.kernel = kernel
        self.buffer = int(as_number("buffer", buffer, least=1, whole=True))
        self.ridge = float(as_number("ridge", ridge, least=0))
        self.graph_weight = float(as_number("graph_weight", graph_weight, least=0))
        self.rate = float(as_number("rate", rate, least=0))
        self.replay, self.cap = replay, cap
        self.projection, self.normalise = projection, normalise
        width = kernel.bandwidth if bandwidth is None else bandwidth
        self._f = Expansion(HeatKernel(width, kernel.cutoff))
        self._weights = PairTable()
        self._names: list[str] = []
        self._labels: list[int] = []
        self._ages: list[int] = []
        self._steps = 0
        self._turns = 0

    def __len__(self) -> int:
        """Examples in the buffer."""
        return len(self._store)

    @property
    def names(self) -> tuple[str, ...]:
        """The names it knows, in the order they were first taught."""
        return tuple(self._names)

    def teach(self, x: ArrayLike, name: str) -> None:
        """A labeled example, which is stored wherever it lies."""
        name, query = as_name(name), self._store.query(x)
        if name not in self._names:
            self._names.append(name)
            self._f.add_name()
        self._learn(query, self._store.gaps(query), self._names.index(name))

    def predict(self, x: ArrayLike) -> Prediction:
        """The name with the largest f; nobody where no stored example is within the cutoff."""
        query = self._store.query(x)
        return self._named(query, self._store.gaps(query))

    def observe(self, x: ArrayLike) -> Prediction:
        """Name it, and learn from it unless it is similar to no stored example."""
        query = self._store.query(x)
        gaps = self._store.gaps(query)
        prediction = self._named(query, gaps)
        if prediction.label is not None:
            self._learn(query, gaps, UNLABELED)
            if self.replay:
                self._repeat_a_label()
        return prediction

    def margins(self, x: ArrayLike) -> dict[str, float]:
        """f(x) of every name, whatever the distance to the stored examples."""
        values = self._f.at(self._store.gaps(self._store.query(x)))[: len(self._names)]
        return dict(zip(self._names, values.tolist(), strict=True))

    def _named(self, query: ExampleQuery, gaps: Floats) -> Prediction:
        if not self._store.weights(query, gaps).any():
            return nobody(self._names)
        return by_margins(self._names, self._f.at(gaps)[: len(self._names)])

    def _learn(self, query: ExampleQuery, gaps: Floats, label: int) -> None:
        self._weights.add(np.append(self._store.weights(query, gaps), 0.0))
        self._f.add_place(gaps)
        self._store.add(query)
        self._labels.append(label)
        self._ages.append(self._steps)
        self._steps += 1
        self._descend(len(self._labels) - 1)
        if len(self._labels) > self.buffer:
            self._evict(min(range(len(self._labels)), key=self._worth))

    def _worth(self, place: int) -> tuple[bool, int]:
        """A sort key: unlabeled examples come before labeled ones, old ones before new ones."""
        return self._labels[place] != UNLABELED, self._ages[place]

    def _repeat_a_label(self) -> None:
        """One more step for a labeled example, each in turn."""
        labeled = [place for place, label in enumerate(self._labels) if label != UNLABELED]
        if labeled:
            labeled.sort(key=self._ages.__getitem__)
            self._descend(labeled[self._turns % len(labeled)])
            self._turns += 1

    def _descend(self, place: int) -> None:
        """One step down the gradient of J_t, for a stored example."""
        weights = self._weights.values[place] / self._unit()
        rate = self.rate / math.sqrt(self._steps)
        steepness = self.ridge + 4.0 * self.graph_weight * float(weights.sum())
        if self.cap and steepness * rate > 1.0:
            rate = 1.0 / steepness
        self._f.descend(
            place,
            shrink=rate * self.ridge,
            pulls=2.0 * rate * self.graph_weight * weights,
            push=rate,
            label=self._labels[place],
        )

    def _unit(self) -> float:
        """The unit of the similarities: their median, or 1."""
        pairs = self._weights.values[self._weights.values > 0] if self.normalise else ()
        return float(np.median(pairs)) if len(pairs) else 1.0

    def _evict(self, place: int) -> None:
        """Remove an example; the last one moves to its index."""
        self._f.remove(place, projected=self.projection)
        self._weights.remove(place)
        self._store.remove(place)
        for column in (self._labels, self._ages):
            column[place] = column[-1]
            column.pop()


class Expansion:
    """The functions f_c = sum_i a_i^c K(x_i, .): a column of coefficients for each name c.

    Examples are given by their squared distances (gaps) to the stored ones. K is the heat of a
    kernel before its cutoff. There is one column more than names, of a name without an example,
    against which every label so far counts. A new name starts with a copy of it, so that it does
    not matter when a name is first taught.

    >>> f = Expansion(HeatKernel(bandwidth=1.0, cutoff=0.1))
    >>> f.add_name()
    >>> f.add_place(np.zeros(0))
    >>> f.descend(0, shrink=0.0, pulls=np.zeros(1), push=0.5, label=0)
    >>> f.at(np.array([0.0]))
    array([ 0.5, -0.5])
    """

    def __init__(self, kernel: HeatKernel) -> None:
        self.kernel = kernel
        self._gram = PairTable()
        self._coefficients: Floats = np.zeros((0, 1))

    def add_name(self) -> None:
        """A column for a new name."""
        self._coefficients = np.hstack([self._coefficients, self._coefficients[:, -1:]])

    def add_place(self, gaps: Floats) -> None:
        """A new example, with coefficients of 0."""
        self._gram.add(self.kernel.heat(np.append(gaps, 0.0)))
        self._coefficients = insert_rows(self._coefficients, 1, 0.0)

    def at(self, gaps: Floats) -> Floats:
        """The values of all columns at a point with those squared gaps to the stored examples."""
        values: Floats = self.kernel.heat(gaps) @ self._coefficients
        return values

    def descend(self, place: int, *, shrink: float, pulls: Floats, push: float, label: int) -> None:
        """One step for a stored example t; all f are the values before the step.

            a_i <- (1 - shrink) a_i - pull_i (f(x_i) - f(x_t))
            a_t <- a_t + sum_i pull_i (f(x_i) - f(x_t)) + push y_t 1{y_t f(x_t) < 1}

        y_t is 1 for the column of its label and -1 for others; without a label there is no push.
        """
        a = self._coefficients
        values = self._gram.values @ a
        pulled = pulls[:, None] * (values - values[place])
        a *= 1.0 - shrink
        a -= pulled
        a[place] += pulled.sum(axis=0)
        if label >= 0:
            y = np.where(np.arange(a.shape[1]) == label, 1.0, -1.0)
            a[place] += push * y * (y * values[place] < 1.0)

    def remove(self, place: int, *, projected: bool) -> None:
        """Remove an example; if projected, the others take over its part of f (`project`)."""
        a = self._coefficients
        if projected:
            a = project(self._gram.values, a, place)
        a[place] = a[-1]
        self._coefficients = a[:-1]
        self._gram.remove(place)


def project(gram: Floats, coefficients: Floats, gone: int) -> Floats:
    """The coefficients that come closest to f without one of its examples, whose own become 0.

        a_rest + (K_rest + 1e-8 I)^-1 K(rest, gone) a_gone

    >>> gram = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> project(gram, np.array([[2.0], [0.0]]), gone=0).round(4)
    array([[0.],
           [1.]])
    """
    similarity = gram[gone].copy()
    similarity[gone] = 0.0
    remaining = gram.copy()
    remaining[gone] = remaining[:, gone] = 0.0
    moved: Floats = coefficients + np.outer(solved(remaining, similarity), coefficients[gone])
    moved[gone] = 0.0
    return moved
