"""Online manifold regularisation of a support vector machine (Goldberg, Li and Zhu 2008).

A function in the space of a Gaussian kernel K, f = sum_i a_i K(x_i, .), follows the gradient of

    J_t(f) = d_t max(0, 1 - y_t f(x_t)) + (l1 / 2) |f|^2 + l2 sum_i w_it (f(x_i) - f(x_t))^2

where d_t = 1 for a labeled example and i runs over a bounded buffer. So, with all f taken before:

    a_i <- (1 - eta l1) a_i - 2 eta l2 (f(x_i) - f(x_t)) w_it
    a_t <- 2 eta l2 sum_i (f(x_i) - f(x_t)) w_it + eta d_t y_t 1{y_t f(x_t) < 1}

with eta = eta0 / sqrt(t), one function a name against all others.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from onlooker.baselines.answers import by_margins, nobody
from onlooker.baselines.examples import ExampleQuery, ExampleStore, PairTable
from onlooker.baselines.expansion import Expansion
from onlooker.core.checks import Floats, as_name, as_number
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

    buffer is tau, how many examples are kept: the oldest unlabeled one goes first, labeled ones
    when there is no other. ridge, graph_weight and rate are l1, l2 and eta0; bandwidth is the
    sigma of K, that of the similarity unless given. K takes the plain distance, for the similarity
    may rest on one that is no metric, and K would then be no kernel.

    replay repeats one labeled example after each unlabeled one, in turn. cap keeps eta below
    1 / (l1 + 4 l2 sum_i w_it), so that no step overshoots. projection hands the part of f that an
    example carried to those that stay, where it would be dropped otherwise (`expansion.project`).
    normalise divides w by its median over the stored pairs that have any: with similarities down
    to 1e-8 the graph would have no say.
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
        """A labeled example, which is kept wherever it is."""
        name, query = as_name(name), self._store.query(x)
        if name not in self._names:
            self._names.append(name)
            self._f.add_name()
        self._learn(query, self._store.gaps(query), self._names.index(name))

    def predict(self, x: ArrayLike) -> Prediction:
        """The name of the largest f; nobody where nothing stored is within the cutoff."""
        query = self._store.query(x)
        return self._named(query, self._store.gaps(query))

    def observe(self, x: ArrayLike) -> Prediction:
        """Name it, and learn from it unless it is like nothing that is stored."""
        query = self._store.query(x)
        gaps = self._store.gaps(query)
        prediction = self._named(query, gaps)
        if prediction.label is not None:
            self._learn(query, gaps, UNLABELED)
            if self.replay:
                self._repeat_a_label()
        return prediction

    def margins(self, x: ArrayLike) -> dict[str, float]:
        """f(x) of every name, near or far."""
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
        return self._labels[place] != UNLABELED, self._ages[place]

    def _repeat_a_label(self) -> None:
        """One more step for a labeled example, in turn."""
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
        """What similarities are measured in."""
        pairs = self._weights.values[self._weights.values > 0] if self.normalise else ()
        return float(np.median(pairs)) if len(pairs) else 1.0

    def _evict(self, place: int) -> None:
        """Let go of an example; the last one takes its place."""
        self._f.remove(place, projected=self.projection)
        self._weights.remove(place)
        self._store.remove(place)
        for column in (self._labels, self._ages):
            column[place] = column[-1]
            column.pop()
