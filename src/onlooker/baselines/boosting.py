"""Online semi-supervised boosting (Grabner, Leistner and Bischof 2008), as Section 4.3 uses it.

The paper fixes the weak learners, h_i(x) = 1{w(x, c_i) >= epsilon} around centres c_i chosen in
advance, and their sum H = sum_i alpha_i h_i, which is 0 for outliers. It does not say how learners
that only fire are right or wrong, nor what pseudo-labels are where outliers have no class. We read
it so: each name c has a table of right and wrong votes, and an unlabeled example counts by
SemiBoost's rule,

    S_c = sum_{j labeled c} w(x, x_j) + C_u sum_i w(x, c_i) b_i^c,    s_c = S_c / (gamma_o + sum S)
    z = exp(-h) s_c - exp(h) s_-c,    h: the sum of alpha over the learners visited so far

where b_i^c is how far centre i is taken for c, and s_-c the sum of all other shares.

`Votes` counts, for one name, how often each weak learner was right and wrong about it. Learners
only fire or stay silent, and silence is no vote: were it a vote against, every local learner would
err about as often as known faces come, wherever it stands.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from onlooker.baselines.answers import by_votes, sums
from onlooker.baselines.examples import ExampleStore
from onlooker.core.checks import Floats, Slots, as_name, as_number, as_rows, slots_where
from onlooker.core.errors import BadValue, NotFound
from onlooker.core.records import Prediction
from onlooker.core.similarity import HeatKernel

Pseudo = Literal["graph", "strict"]

LARGEST_SUM = 700.0
"""exp of more than about 709 overflows float64. Steps are cut at lam_max long before."""

Rule = Callable[[float, float, float], float]
"""The signed step z, from h (the sum of alpha over the learners visited so far), s_c and s_-c."""


def centres_covering(n: int, count: int = 500) -> Slots:
    """Which of n examples to take as centres: evenly spread, each at most once.

    >>> centres_covering(9, 3), centres_covering(2, 500)
    (array([0, 4, 8]), array([0, 1]))
    """
    n = int(as_number("n", n, least=1, whole=True))
    return _spread(0, n, int(as_number("count", count, least=1, whole=True)))


def centres_of_quarters(n: int, count: int = 500) -> Slots:
    """Half the centres from the first quarter [0, n/4), half from the last [3n/4, n).

    >>> centres_of_quarters(16, 4), centres_of_quarters(8, 500)
    (array([ 0,  3, 12, 15]), array([0, 1, 6, 7]))
    """
    n = int(as_number("n", n, least=1, whole=True))
    count = int(as_number("count", count, least=2, whole=True))
    first = _spread(0, math.ceil(n / 4), count // 2)
    return np.append(first, _spread(math.ceil(3 * n / 4), n, count - count // 2))


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
    """The votes for one name: lc and lw of every learner, both 1 at the start, so that alpha is 0.

    >>> table = Votes.without_evidence(2)
    >>> table.visit(np.array([0, 1]), 1.0, 0.0, rule=semi_boost, largest=10.0)
    >>> table.right.round(4), table.alphas.round(4)
    (array([2.    , 1.7071]), array([0.3466, 0.2674]))
    """

    right: Floats
    wrong: Floats

    @classmethod
    def without_evidence(cls, learners: int) -> "Votes":
        """The table of that many learners before the first example."""
        return cls(np.ones(learners), np.ones(learners))

    def copy(self) -> "Votes":
        """An independent copy, with which another name starts."""
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
        """H: the sum of alpha over the learners that fire and are among the least wrong."""
        alphas = self.alphas
        if selectors < len(alphas):
            alphas[np.argsort(self.errors, kind="stable")[selectors:]] = 0.0
        return float(alphas[firing].sum())

    def visit(self, firing: Slots, own: float, rest: float, *, rule: Rule, largest: float) -> None:
        """Update those that fire, the least wrong first; each step depends on those before it."""
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


class OnlineSemiBoost:
    """Boosted neighbourhoods of given centres, with one table of votes for each name.

    It needs its centres before it starts. In the paper these are frames of the stream that follows,
    so it knows the future, which the other methods do not.

    >>> model = OnlineSemiBoost(HeatKernel(bandwidth=1.0, cutoff=0.1), [[0.5], [2.0], [4.0]])
    >>> model.teach([0.0], "ana")
    >>> model.observe([1.0]).label, model.observe([3.0]).label, model.observe([5.5]).label
    ('ana', 'ana', 'ana')
    >>> print(model.observe([10.0]).label)
    None

    graph_weight is C_u; sink is gamma_o (10 * cutoff unless given); largest_step is lam_max.
    pseudo="strict" is the rule closest to 2008, with C_u = 0 (see `strict`). selectors: how
    many learners, those least wrong, may vote for a name; all of them unless given.
    """

    def __init__(
        self,
        kernel: HeatKernel,
        centres: ArrayLike,
        *,
        pseudo: Pseudo = "graph",
        graph_weight: float = 1.0,
        sink: float | None = None,
        largest_step: float = 10.0,
        selectors: int | None = None,
    ) -> None:
        self._store = ExampleStore(kernel)
        if pseudo not in get_args(Pseudo):
            raise BadValue(f"pseudo must be 'graph' or 'strict', got {pseudo!r}")
        rows = as_rows(centres)
        if not len(rows):
            raise BadValue("boosting needs at least one centre, got none")
        graph_weight = as_number("graph_weight", graph_weight, least=0)
        wanted = len(rows) if selectors is None else selectors
        self.kernel = kernel
        self.graph_weight = float(graph_weight) if pseudo == "graph" else 0.0
        self.sink = 10 * kernel.cutoff if sink is None else float(as_number("sink", sink, least=0))
        self.largest_step = float(as_number("largest_step", largest_step, least=0))
        self.selectors = int(as_number("selectors", wanted, least=1, whole=True))
        self._rule: Rule = semi_boost if pseudo == "graph" else strict
        for row in rows:
            self._store.add(self._store.query(row))
        self._centres = len(rows)
        self._tables: dict[str, Votes] = {}
        # The table of a name that was there from the start but has no example. A new name starts
        # with a copy, so that it does not matter when a name is first taught.
        self._unseen = Votes.without_evidence(len(rows))
        self._labels: list[int] = []

    def __len__(self) -> int:
        """Centres plus labeled examples."""
        return len(self._store)

    @property
    def names(self) -> tuple[str, ...]:
        """The names it knows, in the order they were first taught."""
        return tuple(self._tables)

    def votes(self, name: str) -> Votes:
        """A copy of the votes for a name."""
        if name not in self._tables:
            raise NotFound(f"nobody is called {name!r}; known are {', '.join(self.names) or '-'}")
        return self._tables[name].copy()

    def teach(self, x: ArrayLike, name: str) -> None:
        """A labeled example: learners that fire on it are right for its name, wrong for others."""
        name, query = as_name(name), self._store.query(x)
        firing = self._firing(self._store.weights(query))
        if name not in self._tables:
            self._tables[name] = self._unseen.copy()
        own = np.array([float(other == name) for other in self._tables])
        self._learn(firing, own, semi_boost)
        self._store.add(query)
        self._labels.append(self.names.index(name))

    def predict(self, x: ArrayLike) -> Prediction:
        """The name of the largest H_c; nobody if no learner votes."""
        return self._named(self._firing(self._store.weights(self._store.query(x))))

    def observe(self, x: ArrayLike) -> Prediction:
        """Name it, then update the learners that fire on it by its pseudo-label."""
        weights = self._store.weights(self._store.query(x))
        firing = self._firing(weights)
        prediction = self._named(firing)
        self._learn(firing, self._shares(weights), self._rule)
        return prediction

    def _firing(self, weights: Floats) -> Slots:
        return slots_where(weights[: self._centres] > 0)

    def _named(self, firing: Slots) -> Prediction:
        sums = [table.sum_of(firing, self.selectors) for table in self._tables.values()]
        return by_votes(self.names, np.array(sums))

    def _shares(self, weights: Floats) -> Floats:
        """s_c of every name; the rest, up to 1, is the share of the sink."""
        to_centres, to_labels = np.split(weights, [self._centres])
        masses = sums(self.names, self._labels, to_labels)
        if self.graph_weight:
            beliefs = [to_centres @ table.beliefs for table in self._tables.values()]
            masses += self.graph_weight * np.array(beliefs)
        total = masses.sum()
        return masses / (self.sink + total) if total > 0 else masses

    def _learn(self, firing: Slots, shares: Floats, rule: Rule) -> None:
        """Update the firing learners for every name, and for the name without an example."""
        tables = [*self._tables.values(), self._unseen]
        for own, table in zip([*shares.tolist(), 0.0], tables, strict=True):
            rest = float(shares.sum()) - own
            table.visit(firing, own, rest, rule=rule, largest=self.largest_step)


def _spread(begin: int, end: int, count: int) -> Slots:
    places = np.linspace(begin, end - 1, min(count, end - begin))
    return np.round(places).astype(np.intp)
