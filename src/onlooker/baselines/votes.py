"""What boosting knows of one name: how often each weak learner was right and wrong about it.

Learners only fire or keep silent, and silence is no vote: were it a vote against, every local
learner would err about as often as known faces come, wherever it stands.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from onlooker.core.checks import Floats, Slots

LARGEST_SUM = 700.0
"""Where exp ends in float64. The step was cut at lam_max long before."""

Rule = Callable[[float, float, float], float]
"""From h, the sum of alpha over those visited so far, and s_c and s_-c to the signed step z."""


def semi_boost(h: float, own: float, rest: float) -> float:
    """z = exp(-h) s_c - exp(h) s_-c. Shares of 1 and 0 make it the rule for a labeled example.

    >>> semi_boost(0.0, 0.5, 0.2)
    0.3
    """
    return math.exp(-h) * own - math.exp(min(h, LARGEST_SUM)) * rest


def strict(h: float, own: float, rest: float) -> float:
    """z = tanh(2 (s_c - s_-c)) - tanh(2 min(h, 1)), closest to the rule of 2008.

    >>> round(strict(0.2, 0.5, 0.0), 4)
    0.3816
    """
    return math.tanh(2.0 * (own - rest)) - math.tanh(2.0 * min(h, 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """One name's table: lc and lw of every learner, 1 at the start, so that no alpha is above 0.

    >>> table = Votes.without_evidence(2)
    >>> table.visit(np.array([0, 1]), 1.0, 0.0, rule=semi_boost, largest=10.0)
    >>> table.right.round(4), table.alphas.round(4)
    (array([2.    , 1.7071]), array([0.3466, 0.2674]))
    """

    right: Floats
    wrong: Floats

    @classmethod
    def without_evidence(cls, learners: int) -> "Votes":
        """A table of that many learners."""
        return cls(np.ones(learners), np.ones(learners))

    def copy(self) -> "Votes":
        """The same table, for another name to go on with."""
        return Votes(self.right.copy(), self.wrong.copy())

    @property
    def errors(self) -> Floats:
        """e_i = lw / (lc + lw)."""
        return self.wrong / (self.right + self.wrong)

    @property
    def alphas(self) -> Floats:
        """alpha_i = 1/2 ln((1 - e_i) / e_i), and 0 where e_i >= 1/2."""
        return np.maximum(0.5 * np.log(self.right / self.wrong), 0.0)

    @property
    def beliefs(self) -> Floats:
        """b_i = max(0, (lc - lw) / (lc + lw)): how much centre i is taken for the name."""
        return np.maximum((self.right - self.wrong) / (self.right + self.wrong), 0.0)

    def sum_of(self, firing: Slots, selectors: int) -> float:
        """H: the alphas of those that fire, as far as they are among the least wrong."""
        alphas = self.alphas
        if selectors < len(alphas):
            alphas[np.argsort(self.errors, kind="stable")[selectors:]] = 0.0
        return float(alphas[firing].sum())

    def visit(self, firing: Slots, own: float, rest: float, *, rule: Rule, largest: float) -> None:
        """Correct those that fire, the least wrong first; each hears what those before it say."""
        h = 0.0
        for i in firing[np.argsort(self.errors[firing], kind="stable")].tolist():
            z = rule(h, own, rest)
            right, wrong = self.right.item(i), self.wrong.item(i)
            if z > 0:
                right += min(z, largest)
            else:
                wrong += min(-z, largest)
            self.right[i], self.wrong[i] = right, wrong
            h += max(0.5 * math.log(right / wrong), 0.0)
