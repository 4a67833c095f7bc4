"""The nearest-neighbour classifier on labeled examples (Section 4.2)."""

from numpy.typing import ArrayLike

from onlooker.baselines.answers import by_votes, sums
from onlooker.baselines.examples import ExampleStore
from onlooker.core.checks import as_name
from onlooker.core.records import Prediction
from onlooker.core.similarity import HeatKernel


class NearestNeighbour:
    """Names x by the labeled examples within the cutoff, weighted by similarity; learns nothing.

        argmax_c sum_i 1{y_i = c} 1{w_ix >= epsilon} w_ix

    >>> model = NearestNeighbour(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> model.teach([0.0, 0.0], "ana")
    >>> model.observe([0.4, 0.3]).label
    'ana'
    >>> print(model.observe([0.9, 1.3]).label)      # no labeled example is near
    None
    """

    def __init__(self, kernel: HeatKernel) -> None:
        self.kernel = kernel
        self._store = ExampleStore(kernel)
        self._names: list[str] = []
        self._labels: list[int] = []

    def __len__(self) -> int:
        """Labeled examples: it stores no others."""
        return len(self._store)

    def teach(self, x: ArrayLike, name: str) -> None:
        """A labeled example."""
        name, query = as_name(name), self._store.query(x)
        if name not in self._names:
            self._names.append(name)
        self._store.add(query)
        self._labels.append(self._names.index(name))

    def observe(self, x: ArrayLike) -> Prediction:
        """The same as predict: unlabeled examples teach it nothing."""
        return self.predict(x)

    def predict(self, x: ArrayLike) -> Prediction:
        """The name with the largest similarity; the first taught on a tie."""
        similar = self._store.weights(self._store.query(x))
        return by_votes(self._names, sums(self._names, self._labels, similar))
