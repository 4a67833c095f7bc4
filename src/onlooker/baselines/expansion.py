"""Functions f_c = sum_i a_i^c K(x_i, .) on stored examples, and what one step does to them."""

import numpy as np

from onlooker.baselines.examples import PairTable, solved
from onlooker.core.checks import Floats, opened
from onlooker.core.similarity import HeatKernel


class Expansion:
    """One function a name, a column of coefficients each; places are told by squared gaps.

    K is the heat of a kernel before its cutoff. There is one column more than names: every label
    so far speaks against a name yet to come. A new name goes on from there, so that it makes no
    difference when it is first heard of.

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
        """The name that was yet to come has come."""
        self._coefficients = np.hstack([self._coefficients, self._coefficients[:, -1:]])

    def add_place(self, gaps: Floats) -> None:
        """One more example, with no say as yet."""
        self._gram.add(self.kernel.heat(np.append(gaps, 0.0)))
        self._coefficients = opened(self._coefficients, 1, 0.0)

    def at(self, gaps: Floats) -> Floats:
        """The values of all columns at a place with those squared gaps to the stored ones."""
        values: Floats = self.kernel.heat(gaps) @ self._coefficients
        return values

    def descend(self, place: int, *, shrink: float, pulls: Floats, push: float, label: int) -> None:
        """One step for a stored example t; values are those before it.

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
        """Let go of an example, and hand its part of f to the others; the last takes its place."""
        a = self._coefficients
        if projected:
            a = project(self._gram.values, a, place)
        a[place] = a[-1]
        self._coefficients = a[:-1]
        self._gram.remove(place)


def project(gram: Floats, coefficients: Floats, gone: int) -> Floats:
    """The coefficients that come closest to f without one of its examples, whose own are 0.

        a_kept + (K_kept + 1e-8 I)^-1 K(kept, gone) a_gone

    >>> gram = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> project(gram, np.array([[2.0], [0.0]]), gone=0).round(4)
    array([[0.],
           [1.]])
    """
    likeness = gram[gone].copy()
    likeness[gone] = 0.0
    cut_off = gram.copy()
    cut_off[gone] = cut_off[:, gone] = 0.0
    moved: Floats = coefficients + np.outer(solved(cut_off, likeness), coefficients[gone])
    moved[gone] = 0.0
    return moved
