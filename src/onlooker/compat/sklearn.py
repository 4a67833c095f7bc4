"""The harmonic solution and the online learner as scikit-learn classifiers.

The conventions are scikit-learn's: `-1` marks a row without a label (None, NaN and pandas' NA do so
too, so that names may be strings), columns of `predict_proba`
follow `classes_`, and parameters are checked when fitting. There are four of our own.

*Nobody.* Where no walk reaches a label, or none with a share above `min_score`, `predict` answers
`outlier_label`: `-1` by default, the mark of a row without a label. In an array of
strings that is `"-1"`, which is what numpy makes of it, so `"-1"` is no class there either.
Another `outlier_label` must be of the classes' kind, or None, which makes the answers objects.

*Probabilities.* `predict_proba` gives the probability that the walk from x ends at each class. A
row sums to 1 minus what ended in the sink, and to 0 for nobody; it is not normalised to 1, since
that would make the weakest connection look certain. Metrics that need rows that sum to 1
(log loss, multi-class ROC) need `p / p.sum(axis=1, keepdims=True)` of the rows that are known.

*Files.* `skops.io.dump` and `load` work without pickle; `TRUSTED` are the types to trust.

*Scores.* `score` is the accuracy over the rows that have a label; a search over parameters would
otherwise be rewarded for answering nobody.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from io import BytesIO
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from onlooker.compat.translation import (
    LabelNames,
    as_class_prior,
    as_quantizer,
    missing_library,
    teach_latest,
)

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import gen_batches
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
    from threadpoolctl import ThreadpoolController
except ModuleNotFoundError as error:
    raise missing_library(error, "sklearn") from error

from onlooker.core.checks import Floats, Rows, as_number, as_rows
from onlooker.core.class_prior import weigh
from onlooker.core.errors import BadValue
from onlooker.core.harmonic import harmonic_solution, poisson_solution
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.quantizer import Quantizer
from onlooker.core.similarity import HeatKernel
from onlooker.core.suggestion import has_label

Labels = NDArray[Any]

FLOATS = (np.float64, np.float32)
"""Types of rows that are not converted."""

SPARSE = 0.1
"""A graph with a smaller share of edges is stored and solved as a sparse matrix."""

BATCH = 256
"""Rows whose distances are computed together."""

NEIGHBOURS = 10
"""`auto_bandwidth`: the number of neighbours that should matter to an example."""

SIGMAS = 3.5
"""`auto_bandwidth`: the distance of the last of them, in units of sigma."""

SAMPLED = 500
"""`auto_bandwidth`: at most this many rows are sampled, evenly spread over all rows."""

MOST_ON_ONE_THREAD = 3000
"""A dense system of more rows is solved with the threads that there are. A smaller one is not: its
products are small, and threads wait for each other longer than they work."""

TRUSTED = tuple(
    f"onlooker.{name}"
    for name in (
        "compat.sklearn.HarmonicClassifier",
        "compat.sklearn.OnlineHarmonicClassifier",
        "core.quantizer.ClosestPair",
        "core.quantizer.ClosestSafePair",
        "core.quantizer.Doubling",
        "core.similarity.Euclidean",
        "core.similarity.HeatKernel",
    )
)
"""Types of ours in what `skops.io.dump` writes, for `skops.io.load(file, trusted=TRUSTED)`; none of
them runs code of the file."""


class _Harmonic(ClassifierMixin, BaseEstimator, ABC):
    """What the two classifiers share: reading labels, and answering from probabilities."""

    bandwidth: Any
    cutoff: float
    min_score: float
    outlier_label: object
    class_prior: Any
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
        labels, labeled = read_labels(column_or_1d(mark_missing(y)))
        need_a_label(labeled)
        weights = None if sample_weight is None else np.asarray(sample_weight)[labeled]
        right = self.predict(X)[labeled] == labels[labeled]
        return float(np.average(right, weights=weights))

    def _kernel(self, rows: Rows) -> HeatKernel:
        auto = self.bandwidth == "auto"
        return HeatKernel(auto_bandwidth(rows) if auto else self.bandwidth, self.cutoff)

    def _weighed(self, probabilities: Floats, masses: Floats) -> Floats:
        """Probabilities weighed by what is expected of the classes, if anything is."""
        prior = as_class_prior(self.class_prior)
        if prior is None:
            return probabilities
        return weigh(probabilities, masses, prior.of(self.classes_.tolist()))


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

    `graph="precomputed"`: X is the graph itself, a symmetric table of similarities between all
    rows, sparse for many of them (scikit-learn's `kneighbors_graph`, or an approximate index). Then
    X of predict has a column for each row of the training set, and `probabilities_` has the
    solution for those. Large sparse graphs are solved by conjugate gradients, without a factor.

    >>> chain = scipy.sparse.diags_array([np.ones(4), np.ones(4)], offsets=[1, -1])
    >>> model = HarmonicClassifier(graph="precomputed", sink=0.0)
    >>> model.fit(chain, ["ana", None, None, None, "ben"]).probabilities_[1]
    array([0.75, 0.25])

    `solution="poisson"` solves Poisson learning in its place, which is made for very few labels
    (`onlooker.core.harmonic.poisson_solution`). It has no sink and gives no probabilities:
    `potentials_` has its solution, which is averaged over the neighbours of a new row as above, and
    `predict_proba` the positive ones among the potentials of a row, as shares of their sum.

    >>> model = HarmonicClassifier(bandwidth=0.5, solution="poisson").fit(X, y)
    >>> model.predict([[1.2], [4.4], [99.0]])
    array(['ana', 'ben', '-1'], dtype='<U3')

    bandwidth: sigma, or "auto": from the distances to the tenth neighbours, see `auto_bandwidth`
    cutoff: epsilon; rows less similar than this are not connected
    sink: gamma_g; None means 10 * cutoff, as in the paper
    min_score: a class needs a probability above this
    outlier_label: what predict answers for nobody
    graph: "rows" if X has features, "precomputed" if X has similarities
    solution: "harmonic", or "poisson"
    class_prior: None; "uniform" if all classes are equally frequent; or a dictionary from classes
        to their shares: probabilities are weighed by them (`onlooker.ClassPrior`)

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
        graph: str = "rows",
        solution: str = "harmonic",
        class_prior: str | Mapping[Any, float] | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.cutoff = cutoff
        self.sink = sink
        self.min_score = min_score
        self.outlier_label = outlier_label
        self.graph = graph
        self.solution = solution
        self.class_prior = class_prior

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.pairwise = self.graph == "precomputed"
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Solve for every row; those marked -1 have no label."""
        if self.graph not in ("rows", "precomputed"):
            raise BadValue(f"graph must be 'rows' or 'precomputed', got {self.graph!r}")
        if self.solution not in ("harmonic", "poisson"):
            raise BadValue(f"solution must be 'harmonic' or 'poisson', got {self.solution!r}")
        prior = as_class_prior(self.class_prior)
        if prior is not None and self.solution == "poisson":
            raise BadValue("class_prior weighs probabilities; solution='poisson' has none")
        given = self.graph == "precomputed"
        sparse = ["csr", "csc", "coo"] if given else False
        table, target = validate_data(self, X, mark_missing(y), dtype=FLOATS, accept_sparse=sparse)
        labels, labeled = read_labels(target)
        need_a_label(labeled)
        HeatKernel(1.0, self.cutoff)
        sink = 10 * self.cutoff if self.sink is None else as_number("sink", self.sink, least=0)
        as_number("min_score", self.min_score, least=0, below=1)
        classes, members = np.unique(labels[labeled], return_inverse=True)
        all_nobody(0, self.outlier_label, classes)
        if prior is not None:
            prior.of(classes.tolist())
        if given:
            columns = np.zeros((table.shape[0], len(classes)))
            columns[np.flatnonzero(labeled), members] = 1.0
            self.classes_ = classes
            return self._solve(table, columns, labeled, sink, None)
        rows = as_rows(table)
        kernel = self._kernel(rows)
        places, place, multiplicity = np.unique(
            rows, axis=0, return_inverse=True, return_counts=True
        )
        votes = np.zeros((len(places), len(classes)))
        np.add.at(votes, (place.ravel()[labeled], members), 1.0)
        total = votes.sum(axis=1, keepdims=True)
        self.classes_, self.kernel_ = classes, kernel
        self.places_, self.multiplicities_ = places, multiplicity
        shares = votes / np.where(total, total, 1.0)
        return self._solve(_graph(kernel, places), shares, total[:, 0] > 0, sink, multiplicity)

    def _solve(
        self,
        weights: Any,
        labels: Floats,
        labeled: NDArray[np.bool_],
        sink: float,
        multiplicity: NDArray[Any] | None,
    ) -> Self:
        large = not scipy.sparse.issparse(weights) and len(weights) > MOST_ON_ONE_THREAD
        with nullcontext() if large else one_thread():
            if self.solution == "poisson":
                self.sink_ = 0.0
                self.potentials_: Floats = poisson_solution(
                    weights, labels, labeled, multiplicity=multiplicity
                )
                self.probabilities_: Floats = positive_shares(self.potentials_)
                return self
            self.sink_ = sink
            self.probabilities_ = harmonic_solution(
                weights, labels, labeled, sink=sink, multiplicity=multiplicity
            )
            counts = np.ones(len(labels)) if multiplicity is None else multiplicity
            self.class_masses_: Floats = counts @ self.probabilities_
            return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability that the walk from each row ends at each class."""
        check_is_fitted(self)
        if self.graph == "precomputed":
            formats = ["csr", "csc", "coo"]
            links = validate_data(self, X, dtype=FLOATS, reset=False, accept_sparse=formats)
            leaving = np.asarray(links.sum(axis=1)).reshape(-1, 1) + self.sink_
            reached = np.asarray(links @ self._values)
            return self._answers(np.asarray(reached / np.where(leaving, leaving, 1.0)))
        rows = as_rows(validate_data(self, X, dtype=FLOATS, reset=False))
        batches = gen_batches(len(rows), BATCH)
        with one_thread():
            walked = [self._walk_from(rows[batch]) for batch in batches]
        return self._answers(np.concatenate(walked))

    @property
    def _values(self) -> Floats:
        """What is averaged over the neighbours of a new row."""
        return self.potentials_ if self.solution == "poisson" else self.probabilities_

    def _answers(self, values: Floats) -> Floats:
        if self.solution == "poisson":
            return positive_shares(values)
        return self._weighed(values, self.class_masses_)

    def _walk_from(self, rows: Rows) -> Floats:
        squared = cdist(rows, self.places_, "sqeuclidean")
        weights = self.kernel_.weights(squared) * self.multiplicities_
        leaving = weights.sum(axis=1, keepdims=True) + self.sink_
        walked = weights @ self._values / np.where(leaving, leaving, 1.0)
        nearest = squared.argmin(axis=1)
        known = squared[np.arange(len(rows)), nearest] == 0
        return np.where(known[:, None], self._values[nearest], walked)


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
    quantizer: "closest-pair", "closest-safe-pair", "least-variance", "doubling" (the paper's), or
        an object
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
        class_prior: str | Mapping[Any, float] | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.cutoff = cutoff
        self.sink = sink
        self.max_vertices = max_vertices
        self.quantizer = quantizer
        self.min_score = min_score
        self.outlier_label = outlier_label
        self.class_prior = class_prior

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget everything, then learn these rows in their order; -1 marks those unlabeled."""
        table, target = validate_data(self, X, mark_missing(y), dtype=FLOATS)
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
            table, target = validate_data(self, X, mark_missing(y), dtype=FLOATS, reset=fresh)
        return self._learn(table, target, classes, fresh=fresh)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability that the walk from each row ends at each class."""
        check_is_fitted(self)
        rows = as_rows(validate_data(self, X, dtype=FLOATS, reset=False))
        known = [self._names.label(name) for name in self.learner_.names]
        columns = np.searchsorted(self.classes_, np.array(known, dtype=self.classes_.dtype))
        probabilities = np.zeros((len(rows), len(self.classes_)))
        with one_thread():
            for row, x in enumerate(rows):
                probabilities[row, columns] = list(self.learner_.predict(x).scores.values())
            masses = np.zeros(len(self.classes_))
            if self.class_prior is not None:
                masses[columns] = list(self.learner_.masses().values())
        return self._weighed(probabilities, masses)

    def __getstate__(self) -> dict[str, Any]:
        """What pickle, copies and skops store: the learner as its own snapshot, without code."""
        state: dict[str, Any] = super().__getstate__()
        if "learner_" not in state:
            return state
        file = BytesIO()
        self.learner_.save(file)
        return {**state, "learner_": file.getvalue(), "_names": self._names.labels}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "learner_" in state:
            given = None if isinstance(self.quantizer, str) else self.quantizer
            self.learner_ = OnlineHarmonicLearner.load(BytesIO(state["learner_"]), quantizer=given)
            self._names = LabelNames[Any]()
            for label in state["_names"]:
                self._names.name(label)

    def _learn(
        self, table: Rows, target: Labels, classes: ArrayLike | None, *, fresh: bool
    ) -> Self:
        """Check everything, then learn: an error changes nothing."""
        rows = as_rows(table)
        labels, labeled = read_labels(target)
        parts = [labels[labeled]] if fresh else [labels[labeled], self.classes_]
        if classes is not None:
            announced, are_classes = read_labels(column_or_1d(classes))
            parts.append(announced[are_classes])
        every_class = union(parts)
        all_nobody(0, self.outlier_label, every_class)
        prior = as_class_prior(self.class_prior)
        if prior is not None:
            prior.of(every_class.tolist())
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
        with one_thread():
            for run in np.split(np.arange(len(rows)), edges):
                if not labeled[run[0]]:
                    self.learner_.observe_many(rows[run])
                    continue
                for x, label in zip(rows[run], labels[run].tolist(), strict=True):
                    teach_latest(self.learner_, x, self._names.name(label))
        return self


@cache
def _libraries() -> ThreadpoolController:
    """The libraries with threads; searching for them takes milliseconds, a small `fit` thirty."""
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[None]:
    """Linear algebra on one thread until the end of the block; for a whole call, not for a step."""
    return _libraries().limit(limits=1, user_api="blas")


def _graph(kernel: HeatKernel, places: Rows) -> Any:
    """Similarities of all pairs: sparse while most pairs are not connected, else dense."""
    blocks = [
        scipy.sparse.csr_array(kernel.weights(cdist(places[batch], places, "sqeuclidean")))
        for batch in gen_batches(len(places), BATCH)
    ]
    weights = scipy.sparse.vstack(blocks, format="csr")
    return weights if weights.nnz < SPARSE * len(places) ** 2 else weights.toarray()


def auto_bandwidth(rows: Rows) -> float:
    """The median distance to the tenth neighbour, divided by 3.5: a bandwidth to start from.

    A neighbour at that distance has a weight of 0.2 % of one at the same place: about ten
    neighbours matter. Equal rows are one row here. Both numbers were chosen by trying a dozen on
    eight small datasets, among them digits (four labels a class, mean of five draws: 0.91) and two
    moons (0.99). There scikit-learn's `gamma="scale"`, made for support vectors, reaches 0.11 and
    0.57: harmonic functions need a bandwidth that only reaches neighbours. It does not replace a
    search.

    >>> auto_bandwidth(np.arange(30.0)[:, None])
    1.429
    """
    places = np.unique(rows, axis=0)
    if len(places) < 2:
        raise BadValue(
            f"bandwidth='auto' needs distances between rows, and n_samples = {len(rows)} "
            f"with {len(places)} of them different has none; give a number"
        )
    nearest = min(NEIGHBOURS, len(places) - 1)
    sampled = places[:: -(-len(places) // SAMPLED)]
    distances = (cdist(place[None], places)[0] for place in sampled)
    # Index 0 is the row itself.
    return float(np.median([np.partition(d, nearest)[nearest] for d in distances])) / SIGMAS


def positive_shares(potentials: Floats) -> Floats:
    """The positive numbers of each row as shares of their sum; none where no number is positive.

    >>> positive_shares(np.array([[3.0, 1.0, -4.0], [0.0, 0.0, 0.0]]))
    array([[0.75, 0.25, 0.  ],
           [0.  , 0.  , 0.  ]])
    """
    positive = potentials.clip(0, None)
    total = positive.sum(axis=1, keepdims=True)
    return np.asarray(positive / np.where(total, total, 1.0))


def mark_missing(y: ArrayLike) -> ArrayLike:
    """Labels with -1 for None, NaN and pandas' NA, which mark a row without a label too.

    >>> mark_missing(np.array([3.0, np.nan]))
    array([ 3., -1.])
    >>> mark_missing(["ana", None])
    array(['ana', -1], dtype=object)
    """
    if hasattr(y, "dtype"):
        values = np.asarray(y)
    else:  # of a list with names and NaN, numpy would make the name "nan"
        try:
            values = np.array(y, dtype=object)
        except ValueError:
            return y
    if values.ndim != 1:
        return y
    if values.dtype.kind == "f":
        return np.where(np.isnan(values), -1.0, values) if np.isnan(values).any() else y
    if values.dtype.kind != "O" or all(map(has_label, values)):
        return y
    marked = np.full(len(values), -1, dtype=object)
    for row, value in enumerate(values.tolist()):
        if has_label(value):
            marked[row] = value
    return marked


def read_labels(y: Labels) -> tuple[Labels, NDArray[np.bool_]]:
    """The labels as an array of one type, and which rows have one; -1 marks those without.

    numpy turns `["ana", -1]` into strings and an array of objects keeps both; either way -1 marks
    a row without a label, and "-1" is not the name of a class.

    >>> read_labels(np.array(["ana", -1, "-1"], dtype=object))
    (array(['ana', '-1', '-1'], dtype='<U3'), array([ True, False, False]))
    >>> read_labels(np.array([3, -1]))
    (array([ 3, -1]), array([ True, False]))
    """
    if y.dtype.kind not in "biuf":
        items = [-1 if item in (-1, "-1") else item for item in y.tolist()]
        strings = [item for item in items if isinstance(item, str)]
        others = [item for item in items if item != -1 and not isinstance(item, str)]
        if strings and others:
            raise BadValue(
                f"labels are strings or numbers, not both: {strings[0]!r}, {others[0]!r}; "
                "a row without a label is marked -1"
            )
        y = np.array([str(item) for item in items] if strings else items)
    check_classification_targets(y)
    return y, y != ("-1" if _are_strings(y) else -1)


def need_a_label(labeled: NDArray[np.bool_]) -> None:
    """Raise unless at least one row has a label."""
    if not labeled.any():
        raise BadValue(
            f"none of the {len(labeled)} rows has a label, so no class is known (-1 marks a row "
            "without one); label a few"
        )


def union(parts: list[Labels]) -> Labels:
    """All classes of several arrays, sorted.

    >>> union([np.array([], dtype=int), np.array(["ben"]), np.array(["ana", "ben"])])
    array(['ana', 'ben'], dtype='<U3')
    """
    parts = [part for part in parts if len(part)]
    example = {_are_strings(part): part[0].item() for part in parts}
    if len(example) > 1:
        raise BadValue(
            f"classes are strings or numbers, not both: {example[True]!r}, {example[False]!r}"
        )
    return np.unique(np.concatenate(parts)) if parts else np.array([], dtype=int)


def all_nobody(rows: int, outlier_label: Any, classes: Labels) -> Labels:
    """An array filled with the label for nobody, of a type that can hold every class.

    >>> all_nobody(1, -1, np.array(["ana"])), all_nobody(1, -1, np.array([3, 7]))
    (array(['-1'], dtype='<U3'), array([-1]))
    """
    if outlier_label is None:
        return np.full(rows, None, dtype=object)
    if not len(classes):
        return np.full(rows, outlier_label)
    if _are_strings(classes) and outlier_label == -1:
        outlier_label = "-1"
    if isinstance(outlier_label, str) != _are_strings(classes):
        raise BadValue(
            f"outlier_label is {outlier_label!r}, but classes are like {classes[0].item()!r}; "
            "give one of their kind, or None"
        )
    kind = np.result_type(classes, np.min_scalar_type(outlier_label))
    return np.full(rows, outlier_label, dtype=kind)


def _are_strings(labels: Labels) -> bool:
    return labels.dtype.kind == "U"
