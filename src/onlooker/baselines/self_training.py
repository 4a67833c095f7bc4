"""Self-training: a nearest neighbour that enrols what it names.

This is what most face recognizers with a gallery do, and the rival that users really have. A guess
is stored like a label, so it is never reconsidered: `teach` and `unteach` change the one example
they are given, and what was enrolled because of it stays.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from onlooker.baselines.answers import by_votes, sums
from onlooker.baselines.examples import ExampleQuery, ExampleStore, PairTable
from onlooker.core.checks import Floats, as_name, as_number, slots_where
from onlooker.core.errors import BadValue, NotFound
from onlooker.core.records import Prediction
from onlooker.core.similarity import HeatKernel

Eviction = Literal["closest", "oldest", "random"]


class SelfTraining:
    """Names x by the stored examples within the cutoff, weighted by similarity, then stores x.

        argmax_c sum_i 1{y_i = c} 1{w_ix >= epsilon} w_ix     y_i: a label, or an earlier answer

    >>> model = SelfTraining(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> model.teach([0.0], "ana")
    >>> [model.observe([x]).label for x in (1.0, 2.0, 3.0)]     # each guess carries the next
    ['ana', 'ana', 'ana']
    >>> model.unteach([0.0])
    >>> model.teach([0.0], "ben")                               # a correction
    >>> model.predict([3.1]).label                              # what was guessed stays
    'ana'

    max_examples: enrolled examples at most, labels not counted; None is no limit, and 0 is the
    nearest-neighbour classifier without learning. evict: which one goes when there are more: the
    newer of the closest two that are not both labels, the oldest, or a random one (`seed`).
    enrol_cutoff: the least similarity to a stored example with which x is enrolled, stricter than
    the kernel's own; x is named in any case.
    """

    def __init__(
        self,
        kernel: HeatKernel,
        *,
        max_examples: int | None = None,
        evict: Eviction = "closest",
        enrol_cutoff: float | None = None,
        seed: int = 0,
    ) -> None:
        self._store = ExampleStore(kernel)
        if evict not in get_args(Eviction):
            known = ", ".join(get_args(Eviction))
            raise BadValue(f"evict must be one of {known}, got {evict!r}")
        if max_examples is not None:
            max_examples = int(as_number("max_examples", max_examples, least=0, whole=True))
        strictest = kernel.cutoff if enrol_cutoff is None else enrol_cutoff
        self.kernel = kernel
        self.max_examples = max_examples
        self.evict = evict
        self.enrol_cutoff = float(as_number("enrol_cutoff", strictest, least=kernel.cutoff))
        self._enrolled = 0
        self._random = np.random.default_rng(seed)
        self._names: list[str] = []
        self._labels: list[int] = []
        self._taught: list[bool] = []
        self._ages: list[int] = []
        self._born = 0
        # Similarities of the pairs of which one may go, 0 for two labels; for `closest` only.
        self._similar = PairTable()

    def __len__(self) -> int:
        """Labels and enrolled examples."""
        return len(self._store)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that some example carries, in the order they were first taught."""
        return tuple(self._names)

    @property
    def enrolled(self) -> int:
        """How many examples were ever enrolled, those that had to go again included."""
        return self._enrolled

    def teach(self, x: ArrayLike, name: str) -> None:
        """A labeled example. What was stored at this very place, label or guess, is replaced."""
        name, query = as_name(name), self._store.query(x)
        gaps = self._store.gaps(query)
        for slot in slots_where(gaps == 0)[::-1].tolist():
            self._remove(slot)
        if name not in self._names:
            self._names.append(name)
        weights = self._store.weights(query)
        self._add(query, weights, self._names.index(name), taught=True)
        self._drop_unused_names()

    def unteach(self, x: ArrayLike) -> None:
        """Remove the labeled example at this place; what was enrolled because of it stays."""
        gaps = self._store.gaps(self._store.query(x))
        found = [slot for slot in slots_where(gaps == 0).tolist() if self._taught[slot]]
        if not found:
            raise NotFound("there is no labeled example at this place")
        self._remove(found[0])
        self._drop_unused_names()

    def predict(self, x: ArrayLike) -> Prediction:
        """The name with the largest similarity; the first taught on a tie."""
        return self._named(self._store.weights(self._store.query(x)))

    def observe(self, x: ArrayLike) -> Prediction:
        """Name it, then store it under that name, as if somebody had said so."""
        query = self._store.query(x)
        gaps = self._store.gaps(query)
        weights = self._store.weights(query, gaps)
        prediction = self._named(weights)
        if (
            prediction.label is not None
            and self.max_examples != 0
            and gaps.min() > 0
            and weights.max() >= self.enrol_cutoff
        ):
            self._add(query, weights, self._names.index(prediction.label), taught=False)
            self._enrolled += 1
            if self.max_examples is not None:
                self._shrink(self.max_examples)
        return prediction

    def _named(self, weights: Floats) -> Prediction:
        return by_votes(self._names, sums(self._names, self._labels, weights))

    def _add(self, query: ExampleQuery, weights: Floats, label: int, *, taught: bool) -> None:
        if self._pairs_are_used:
            pairs = np.where(self._taught, 0.0, weights) if taught else weights
            self._similar.add(np.append(pairs, 0.0))
        self._store.add(query)
        self._labels.append(label)
        self._taught.append(taught)
        self._ages.append(self._born)
        self._born += 1

    @property
    def _pairs_are_used(self) -> bool:
        return self.evict == "closest" and bool(self.max_examples)

    def _shrink(self, limit: int) -> None:
        """One example came, so at most one goes: labels never do."""
        guesses = [slot for slot, taught in enumerate(self._taught) if not taught]
        if len(guesses) <= limit:
            return
        if self.evict == "random":
            gone = guesses[int(self._random.integers(len(guesses)))]
        elif self.evict == "oldest":
            gone = min(guesses, key=self._ages.__getitem__)
        else:
            pairs = self._similar.values
            two = divmod(int(pairs.argmax()), len(pairs))
            gone = max((slot for slot in two if not self._taught[slot]), key=self._ages.__getitem__)
        self._remove(gone)
        self._drop_unused_names()

    def _remove(self, slot: int) -> None:
        """Remove one; the last one moves to its index, as in the store."""
        self._store.remove(slot)
        if self._pairs_are_used:
            self._similar.remove(slot)
        self._labels[slot] = self._labels[-1]
        self._taught[slot] = self._taught[-1]
        self._ages[slot] = self._ages[-1]
        del self._labels[-1], self._taught[-1], self._ages[-1]

    def _drop_unused_names(self) -> None:
        for label in reversed(range(len(self._names))):
            if label not in self._labels:
                del self._names[label]
                self._labels = [other - (other > label) for other in self._labels]
