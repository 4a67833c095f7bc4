"""Names by how frequent they are expected to be: class mass normalisation.

Of a stream it may be known how frequent its names are, as of digits, all of which are about as
frequent. Walks do not know it: a name whose labels lie where many examples are ends more walks than
it has examples. Zhu, Ghahramani and Lafferty (*Semi-Supervised Learning Using Gaussian Fields and
Harmonic Functions*, 2003, Section 4) weigh the scores p of a name a by its expected share q_a and
by its mass, the sum of the scores of all examples for it,

    q_a p_x(a) / m_a        with  m_a = sum_i v_i p_i(a),

and answer the largest. What is learned does not depend on it, since no name is written down, and
who is nobody stays nobody.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from onlooker.core.checks import Floats, as_number
from onlooker.core.errors import BadValue
from onlooker.core.records import Prediction

if TYPE_CHECKING:  # scipy would be imported from deeper in the stack, which takes 30 ms longer
    from onlooker.core.learner import OnlineHarmonicLearner

GROWTH = 1.02
"""Masses are computed anew when so many times as many examples were learned: it takes a solution of
the whole graph, and one example more hardly changes them."""


class ClassPrior:
    """Answers of a learner, if its names have known shares of the stream.

    >>> from onlooker import HeatKernel, OnlineHarmonicLearner
    >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.5, cutoff=1e-5))
    >>> learner.teach([0.0], "ana")
    >>> learner.teach([4.0], "ben")
    >>> for x in (0.5, 1.0, 1.5, 2.0):
    ...     _ = learner.observe([x])
    >>> seen = learner.predict([2.9])
    >>> seen.label, ClassPrior().answer(learner, seen).label      # as many of ben as of ana
    ('ana', 'ben')
    >>> ClassPrior({"ana": 5, "ben": 1}).answer(learner, seen).label
    'ana'

    shares: of the names, in any unit; None: all names are equally frequent.
    """

    def __init__(self, shares: Mapping[Any, float] | None = None) -> None:
        if shares is not None:
            shares = {name: _share(name, value) for name, value in shares.items()}
        self.shares = shares
        self._names: tuple[str, ...] = ()
        self._examples = 0
        self._masses = np.zeros(0)

    def answer(self, learner: "OnlineHarmonicLearner", seen: Prediction) -> Prediction:
        """The same prediction with scores that are weighed, and the name that is best by them."""
        names = learner.names
        scores = np.array([seen.scores.get(name, 0.0) for name in names])
        weighed = weigh(scores[None], self.masses(learner), self.of(names))[0]
        label = seen.label if seen.label is None else names[int(weighed.argmax())]
        return replace(seen, label=label, scores=dict(zip(names, weighed.tolist(), strict=True)))

    def masses(self, learner: "OnlineHarmonicLearner") -> Floats:
        """The masses of the learner's names, as they were a few examples ago."""
        names, examples = learner.names, learner.examples
        few = self._examples <= examples <= GROWTH * self._examples
        if names != self._names or not few:
            self._masses = np.array(list(learner.masses().values()))
            self._names, self._examples = names, examples
        return self._masses

    def of(self, names: Sequence[Any]) -> Floats:
        """The shares of these names."""
        if self.shares is None:
            return np.ones(len(names))
        if missing := [name for name in names if name not in self.shares]:
            raise BadValue(f"the class prior has no share for {missing[0]!r}; give one for each")
        return np.array([self.shares[name] for name in names])


def weigh(scores: Floats, masses: Floats, shares: Floats) -> Floats:
    """Scores times share by mass, with the sum of each row as it was.

    >>> weigh(np.array([[0.5, 0.4], [0.0, 0.0]]), np.array([3.0, 1.0]), np.ones(2)).round(3)
    array([[0.265, 0.635],
           [0.   , 0.   ]])
    """
    weighed = scores * np.divide(shares, masses, out=np.zeros(len(masses)), where=masses > 0)
    total = weighed.sum(axis=1, keepdims=True)
    return np.asarray(weighed * scores.sum(axis=1, keepdims=True) / np.where(total, total, 1.0))


def _share(name: Any, value: float) -> float:
    share = float(as_number(f"the share of {name!r}", value, least=0))
    if share == 0:
        raise BadValue(f"the share of {name!r} must be above 0; leave out a class that never comes")
    return share
