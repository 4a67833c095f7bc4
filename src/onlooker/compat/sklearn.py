"""The harmonic solution and the online learner as scikit-learn classifiers.

The conventions are scikit-learn's: `-1` marks a row without a label, columns of `predict_proba`
follow `classes_`, and parameters are checked when fitting. Beside them stand three of our own.

*Nobody.* Where no walk reaches a label, or none with a share above `min_score`, `predict` answers
`outlier_label`: `-1` unless told otherwise, the mark of a row without a label. In an array of
strings that is `"-1"`, which is what numpy makes of it, so `"-1"` is no class there either.
Another `outlier_label` must be of the classes' kind, or None, which makes the answers objects.

*Probabilities.* `predict_proba` gives the probability that the walk from x ends at each class. A
row sums to 1 minus what ended in the sink, and to 0 for nobody; it is not stretched to 1, since
that would make the faintest connection look certain. Metrics that insist on rows that sum to 1
(log loss, multi-class ROC) want `p / p.sum(axis=1, keepdims=True)` of the rows that are known.

*Scores.* `score` is the accuracy over the rows that have a label; a search over parameters would
otherwise be rewarded for answering nobody.
"""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from onlooker.compat.bandwidth import auto_bandwidth
from onlooker.compat.labels import Labels, all_nobody, need_a_label, read_labels, union
from onlooker.compat.translation import LabelNames, as_quantizer, teach_latest
from onlooker.core.checks import Floats, Rows, as_number, as_rows
from onlooker.core.harmonic import harmonic_solution
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.quantizer import Quantizer
from onlooker.core.similarity import HeatKernel

FLOATS = (np.float64, np.float32)
"""Types of rows that are kept as they come."""

SPARSE = 0.1
"""A graph with a smaller share of edges is kept and solved sparsely."""

BATCH = 256
"""Rows whose distances are computed together."""


class _Harmonic(ClassifierMixin, BaseEstimator, ABC):
    """What the two classifiers share: reading labels, and answering from probabilities."""

    bandwidth: Any
    cutoff: float
    min_score: float
    outlier_label: object
    classes_: Labels

    @abstractmethod
    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability that the walk from each row ends at each class."""

    def predict(self, X: ArrayLike) -> Labels:
        """The most probable class of each row; `outlier_label` for nobody."""
        probabilities = self.predict_proba(X)
        known = probabilities.max(axis=1, initial=0.0) > self.min_score
        answers = all_nobody(len(probabilities), self.outlier_label, self.classes_)
        if known.any():
            answers[known] = self.classes_[probabilities[known].argmax(axis=1)]
        return answers

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of the rows that have a label for which predict answers it."""
        labels, labeled = read_labels(column_or_1d(y))
        need_a_label(labeled)
        weights = None if sample_weight is None else np.asarray(sample_weight)[labeled]
        right = self.predict(X)[labeled] == labels[labeled]
        return float(np.average(right, weights=weights))

    def _kernel(self, rows: Rows) -> HeatKernel:
        auto = self.bandwidth == "auto"
        return HeatKernel(auto_bandwidth(rows) if auto else self.bandwidth, self.cutoff)


class HarmonicClassifier(_Harmonic):
    """The exact harmonic solution on all training rows at once (Section 2.1).

    >>> X = [[0.0], [0.5], [1.0], [4.0], [4.5], [5.0]]
    >>> y = ["ana", -1, -1, -1, -1, "ben"]
    >>> model = HarmonicClassifier(bandwidth=0.3).fit(X, y)
    >>> model.predict([[1.2], [4.4], [99.0]])
    array(['ana', 'ben', '-1'], dtype='<U3')
    >>> model.predict_proba([[1.2], [99.0]]).round(3)
    array([[0.999, 0.   ],
           [0.   , 0.   ]])

    Rows at the same place become one vertex of that multiplicity, which changes no answer
    (Proposition 1). Where their labels differ, the place ends walks in the proportion of its
    labels; unlabeled rows at a labeled place count as examples of it.

    A row of the training set is answered with the solution there. Any other row x is answered by
    the walk that starts at x and goes on among the training rows,

        p(x) = sum_i w_xi v_i p_i / (sum_i w_xi v_i + sink),

    the value that is harmonic at x while the training rows keep theirs (Delalleau, Bengio and
    Le Roux, 2005): one product instead of one solve. It differs from adding x to the graph by the
    walks that would come through x; `OnlineHarmonicClassifier` counts those too.

    bandwidth: sigma, or "auto": from the distances to the tenth neighbours, see `auto_bandwidth`
    cutoff: epsilon; rows less similar than this are not connected
    sink: gamma_g; None means 10 * cutoff, as in the paper
    min_score: a class needs a probability above this
    outlier_label: what predict answers for nobody

    Distances are Euclidean; for cosine put `sklearn.preprocessing.Normalizer` in front.
    """

    def __init__(
        self,
        *,
        bandwidth: float | str = "auto",
        cutoff: float = 1e-5,
        sink: float | None = None,
        min_score: float = 0.0,
        outlier_label: object = -1,
    ) -> None:
        self.bandwidth = bandwidth
        self.cutoff = cutoff
        self.sink = sink
        self.min_score = min_score
        self.outlier_label = outlier_label

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Solve for every row; those marked -1 have no label."""
        table, target = validate_data(self, X, y, dtype=FLOATS)
        rows = as_rows(table)
        labels, labeled = read_labels(target)
        need_a_label(labeled)
        kernel = self._kernel(rows)
        sink = 10 * kernel.cutoff if self.sink is None else as_number("sink", self.sink, least=0)
        as_number("min_score", self.min_score, least=0, below=1)
        classes, members = np.unique(labels[labeled], return_inverse=True)
        all_nobody(0, self.outlier_label, classes)
        places, place, multiplicity = np.unique(
            rows, axis=0, return_inverse=True, return_counts=True
        )
        votes = np.zeros((len(places), len(classes)))
        np.add.at(votes, (place.ravel()[labeled], members), 1.0)
        total = votes.sum(axis=1, keepdims=True)
        self.classes_, self.kernel_, self.sink_ = classes, kernel, sink
        self.places_, self.multiplicities_ = places, multiplicity
        self.probabilities_: Floats = harmonic_solution(
            _graph(kernel, places),
            votes / np.where(total, total, 1.0),
            total[:, 0] > 0,
            sink=sink,
            multiplicity=multiplicity,
        )
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability that the walk from each row ends at each class."""
        check_is_fitted(self)
        rows = as_rows(validate_data(self, X, dtype=FLOATS, reset=False))
        batches = gen_batches(len(rows), BATCH)
        return np.concatenate([self._walk_from(rows[batch]) for batch in batches])

    def _walk_from(self, rows: Rows) -> Floats:
        squared = cdist(rows, self.places_, "sqeuclidean")
        weights = self.kernel_.weights(squared) * self.multiplicities_
        leaving = weights.sum(axis=1, keepdims=True) + self.sink_
        walked = weights @ self.probabilities_ / np.where(leaving, leaving, 1.0)
        nearest = squared.argmin(axis=1)
        known = squared[np.arange(len(rows)), nearest] == 0
        return np.where(known[:, None], self.probabilities_[nearest], walked)


class OnlineHarmonicClassifier(_Harmonic):
    """The online learner (Section 3): learns row by row, in bounded memory.

    >>> model = OnlineHarmonicClassifier(bandwidth=0.3)
    >>> model.partial_fit([[0.0], [4.0]], ["ana", "ben"]).partial_fit([[0.6], [1.2], [1.8]])
    OnlineHarmonicClassifier(bandwidth=0.3)
    >>> model.predict([[2.4], [99.0]])
    array(['ana', '-1'], dtype='<U3')
    >>> model.partial_fit([[99.0]], ["cyd"]).predict([[99.1]])
    array(['cyd'], dtype='<U3')

    Rows are taken in their order, labels as they come: a row without a label that no earlier row
    leads to is nobody, and leaves no trace. So labels belong first, in `fit` too. A new class at
    any time extends `classes_`, which stays sorted; the `classes` of the first `partial_fit`,
    which scikit-learn asks for, may announce classes but need not. Where two rows at the same
    place have different labels, the latest counts. Labeled rows are kept beyond max_vertices.

    `learner_` is the learner inside, to explain, forget and save; it calls classes by their text.
    (Labels go through `partial_fit`.) A forgotten class keeps its column, of zeros. The rows of the
    first call decide `bandwidth="auto"`. The parameters are those of `HarmonicClassifier` and

    max_vertices: n_g, the number of unlabeled vertices that are kept
    quantizer: "closest-pair", "doubling" (the paper's), or a quantizer object
    """

    def __init__(
        self,
        *,
        bandwidth: float | str = "auto",
        cutoff: float = 1e-5,
        sink: float | None = None,
        max_vertices: int = 500,
        quantizer: str | Quantizer = "closest-pair",
        min_score: float = 0.0,
        outlier_label: object = -1,
    ) -> None:
        self.bandwidth = bandwidth
        self.cutoff = cutoff
        self.sink = sink
        self.max_vertices = max_vertices
        self.quantizer = quantizer
        self.min_score = min_score
        self.outlier_label = outlier_label

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget everything, then learn these rows in their order; -1 marks those unlabeled."""
        table, target = validate_data(self, X, y, dtype=FLOATS)
        need_a_label(read_labels(target)[1])
        return self._learn(table, target, None, fresh=True)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike | None = None, classes: ArrayLike | None = None
    ) -> Self:
        """Go on learning; without y no row has a label."""
        fresh = not hasattr(self, "learner_")
        if y is None:
            table = validate_data(self, X, dtype=FLOATS, reset=fresh)
            target = np.full(len(table), -1)
        else:
            table, target = validate_data(self, X, y, dtype=FLOATS, reset=fresh)
        return self._learn(table, target, classes, fresh=fresh)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability that the walk from each row ends at each class."""
        check_is_fitted(self)
        rows = as_rows(validate_data(self, X, dtype=FLOATS, reset=False))
        known = [self._names.label(name) for name in self.learner_.names]
        columns = np.searchsorted(self.classes_, np.array(known, dtype=self.classes_.dtype))
        probabilities = np.zeros((len(rows), len(self.classes_)))
        for row, x in enumerate(rows):
            probabilities[row, columns] = list(self.learner_.predict(x).scores.values())
        return probabilities

    def _learn(
        self, table: Rows, target: Labels, classes: ArrayLike | None, *, fresh: bool
    ) -> Self:
        """Check everything, then learn: what is refused leaves no trace."""
        rows = as_rows(table)
        labels, labeled = read_labels(target)
        parts = [labels[labeled]] if fresh else [labels[labeled], self.classes_]
        if classes is not None:
            announced, are_classes = read_labels(column_or_1d(classes))
            parts.append(announced[are_classes])
        every_class = union(parts)
        all_nobody(0, self.outlier_label, every_class)
        if fresh:
            self.learner_ = OnlineHarmonicLearner(
                self._kernel(rows),
                sink=self.sink,
                max_vertices=self.max_vertices,
                quantizer=as_quantizer(self.quantizer),
                min_score=self.min_score,
            )
            self._names = LabelNames[Any]()
        self.classes_ = every_class
        # Runs of rows that all have a label, or all have none.
        edges = np.flatnonzero(np.diff(labeled)) + 1
        for run in np.split(np.arange(len(rows)), edges):
            if not labeled[run[0]]:
                self.learner_.observe_many(rows[run])
                continue
            for x, label in zip(rows[run], labels[run].tolist(), strict=True):
                teach_latest(self.learner_, x, self._names.name(label))
        return self


def _graph(kernel: HeatKernel, places: Rows) -> Any:
    """Similarities of all pairs: sparse while most pairs are not connected, else dense."""
    blocks = [
        scipy.sparse.csr_array(kernel.weights(cdist(places[batch], places, "sqeuclidean")))
        for batch in gen_batches(len(places), BATCH)
    ]
    weights = scipy.sparse.vstack(blocks, format="csr")
    return weights if weights.nnz < SPARSE * len(places) ** 2 else weights.toarray()
