"""The nearest-neighbour classifier on labeled examples (Section 4.2)."""

import numpy as np
from numpy.typing import ArrayLike

from onlooker.arrays import Rows
from onlooker.checks import as_name, as_vector
from onlooker.records import Prediction
from onlooker.similarity import HeatKernel


class NearestNeighbour:
    """Names x by the labeled examples within the cutoff, weighted by similarity; learns nothing.

        argmax_c sum_i 1{y_i = c} 1{w_ix >= epsilon} w_ix

    >>> model = NearestNeighbour(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> model.teach([0.0, 0.0], "ana")
    >>> model.observe([0.4, 0.3]).label
    'ana'
    >>> print(model.observe([0.9, 1.3]).label)      # nobody labeled is near, whoever else was seen
    None
    """

    def __init__(self, kernel: HeatKernel) -> None:
        self.kernel = kernel
        self._rows: list[Rows] = []
        self._names: list[str] = []

    def teach(self, x: ArrayLike, name: str) -> None:
        """A labeled example."""
        like = self._rows[0][None] if self._rows else None
        self._rows.append(as_vector(x, like=like).copy())
        self._names.append(as_name(name))

    def observe(self, x: ArrayLike) -> Prediction:
        """The same as predict: unlabeled examples teach it nothing."""
        return self.predict(x)

    def predict(self, x: ArrayLike) -> Prediction:
        """The name with the largest similarity; the first taught on a tie."""
        votes = dict.fromkeys(self._names, 0.0)
        if self._rows:
            vector = as_vector(x, like=self._rows[0][None])
            similar = self.kernel.similarity(vector, np.array(self._rows))
            for name, weight in zip(self._names, similar.tolist(), strict=True):
                votes[name] += weight
        total = sum(votes.values())
        if total == 0:
            return Prediction(None, votes, 1.0, None)
        shares = {name: vote / total for name, vote in votes.items()}
        return Prediction(max(shares, key=shares.__getitem__), shares, 0.0, None)
