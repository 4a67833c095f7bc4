"""Temporal label propagation: the harmonic solution of a whole stream, from its latest examples.

Wagner, Guha, Kasiviswanathan and Mishra, *Semi-Supervised Learning on Data Streams via Temporal
Label Propagation* (2018). Where our learner merges vertices that are alike, which changes the graph
a little, this one links each example to the labels and to the latest examples only, and takes the
oldest out of the graph exactly: nothing will ever be linked to it again, so all that it can still
do is to pass walks on, and links between its neighbours do the same.
"""

import numpy as np
from numpy.typing import ArrayLike

from onlooker.baselines.answers import nobody, sums
from onlooker.baselines.examples import ExampleStore, PairTable
from onlooker.core.checks import Floats, as_name, as_number
from onlooker.core.harmonic import absorbed
from onlooker.core.records import Prediction
from onlooker.core.similarity import HeatKernel


class TemporalLabelPropagation:
    """The harmonic solution on all examples so far, of which the latest are stored.

    When there are more than `window` unlabeled examples, the oldest one, k, is replaced by links
    between all its neighbours, labels and the sink among them (the star-mesh transform):

        w_ij <- w_ij + w_ik w_kj / d_k        with  d_k = sum_j w_kj

    A walk that would pass k goes from i to j as often as before, so that every score stays what it
    was. Scores are those of the whole stream, in which an example is linked to labels and to the
    `window` examples before it. All labels are stored, and a new one is linked to the examples in
    the window. As in the learner, an example that is linked to nothing is nobody and is not stored.

    >>> model = TemporalLabelPropagation(HeatKernel(bandwidth=0.3, cutoff=1e-5), window=2)
    >>> model.teach([0.0], "ana")
    >>> model.teach([9.0], "ben")
    >>> [model.observe([x]).label for x in (1.0, 2.0, 3.0, 4.0, 5.0)]    # ana moves away
    ['ana', 'ana', 'ana', 'ana', 'ana']
    >>> print(model.observe([1.0]).label, len(model))  # linked to nothing in the window but ana
    ana 4
    >>> print(model.observe([20.0]).label)
    None

    window: tau, the unlabeled examples that are stored
    sink: gamma of our learner; 0, as published: every walk ends at a label
    """

    def __init__(self, kernel: HeatKernel, *, window: int = 300, sink: float = 0.0) -> None:
        self._labeled, self._latest = ExampleStore(kernel), ExampleStore(kernel)
        self.kernel = kernel
        self.window = int(as_number("window", window, least=1, whole=True))
        self.sink = float(as_number("sink", sink, least=0))
        self._names: list[str] = []
        self._labels: list[int] = []
        self._links = PairTable()
        self._ends: Floats = np.zeros((0, 0))
        """From each stored example into each name."""
        self._leaks: Floats = np.zeros(0)
        """From each into the sink."""
        self._ages: list[int] = []

    def __len__(self) -> int:
        """Labeled examples, and those in the window."""
        return len(self._labeled) + len(self._latest)

    def teach(self, x: ArrayLike, name: str) -> None:
        """A labeled example, linked to those in the window and to all that come."""
        name, query = as_name(name), self._labeled.query(x)
        weights = self._latest.weights(self._latest.query(x))
        if name not in self._names:
            self._names.append(name)
            self._ends = np.pad(self._ends, ((0, 0), (0, 1)))
        label = self._names.index(name)
        self._ends[:, label] += weights
        self._labeled.add(query)
        self._labels.append(label)

    def predict(self, x: ArrayLike) -> Prediction:
        """Where the walk from x ends, if x is linked to anything."""
        return self._named(*self._weights(x))

    def observe(self, x: ArrayLike) -> Prediction:
        """Name it, then store it, and take the oldest out of a full window."""
        links, ends = self._weights(x)
        prediction = self._named(links, ends)
        if prediction.label is None:
            return prediction
        self._latest.add(self._latest.query(x))
        self._links.add(np.append(links, 0.0))
        self._ends = np.vstack([self._ends, ends])
        self._leaks = np.append(self._leaks, self.sink)
        self._ages.append(max(self._ages, default=0) + 1)
        if len(self._latest) > self.window:
            self._take_out(self._ages.index(min(self._ages)))
        return prediction

    def window_scores(self) -> Floats:
        """The scores of the stored examples, oldest first, with a column for each name."""
        return self._solved(self._links.values, self._ends, self._leaks)[np.argsort(self._ages)]

    def _weights(self, x: ArrayLike) -> tuple[Floats, Floats]:
        """Similarities to each of the window, and their sum over the labels of each name."""
        to_labels = self._labeled.weights(self._labeled.query(x))
        links = self._latest.weights(self._latest.query(x))
        return links, sums(self._names, self._labels, to_labels)

    def _named(self, links: Floats, ends: Floats) -> Prediction:
        if not links.any() and not ends.any():
            return nobody(self._names)
        n = len(links)
        graph = np.zeros((n + 1, n + 1))
        graph[:n, :n], graph[n, :n], graph[:n, n] = self._links.values, links, links
        leaks = np.append(self._leaks, self.sink)
        scores = self._solved(graph, np.vstack([self._ends, ends]), leaks)[-1]
        return Prediction(
            self._names[int(scores.argmax())],
            dict(zip(self._names, scores.tolist(), strict=True)),
            sink=max(0.0, 1.0 - float(scores.sum())),
            vertex=None,
        )

    def _solved(self, links: Floats, ends: Floats, leaks: Floats) -> Floats:
        return absorbed(links, ends, ends.sum(axis=1), leaks)

    def _take_out(self, slot: int) -> None:
        """The star-mesh transform; the last example moves to the slot, as in the store."""
        links = self._links.values
        row = links[slot].copy()
        ends, leak = self._ends[slot].copy(), self._leaks[slot]
        shares = row / (row.sum() + ends.sum() + leak)
        links += np.multiply.outer(shares, row)
        np.fill_diagonal(links, 0.0)  # a walk that comes back has not moved
        self._ends += np.multiply.outer(shares, ends)
        self._leaks += shares * leak
        self._latest.remove(slot)
        self._links.remove(slot)
        self._ends[slot], self._leaks[slot] = self._ends[-1], self._leaks[-1]
        self._ends, self._leaks = self._ends[:-1], self._leaks[:-1]
        self._ages[slot] = self._ages[-1]
        del self._ages[-1]
