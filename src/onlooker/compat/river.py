"""The online learner as a river classifier, and metrics that count abstentions.

river's `progressive_val_score` leaves out every answer that is None or an empty dictionary: a
classifier that answers one row in a thousand is scored on that row. So `abstain` decides what is
answered where no walk reaches a label, by default the nearest label, and every row is scored; what
only the walks say is a question of `Coverage` and `SelectiveAccuracy`.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import hypot, isfinite
from typing import Any, Literal, get_args

import numpy as np

from onlooker.compat.translation import (
    LabelNames,
    as_class_prior,
    as_quantizer,
    missing_library,
    teach_latest,
)

try:
    from river import base, metrics
    from river.base.typing import ClfTarget, FeatureName
except ModuleNotFoundError as error:
    raise missing_library(error, "river") from error

from onlooker.core.checks import Rows, as_vector
from onlooker.core.class_prior import weigh
from onlooker.core.errors import BadValue, BadVector
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.quantizer import Quantizer
from onlooker.core.records import Vertices
from onlooker.core.similarity import HeatKernel
from onlooker.core.suggestion import suggest

Abstain = Literal["none", "prior", "nearest"]

AUTO_AT = (4, 10, 20, 50, 100, 200)
"""bandwidth="auto": after so many examples it is chosen anew; the last choice stays."""
FIRST_BANDWIDTH = 1.0
"""Until examples differ."""

Features = dict[FeatureName, Any]


class HarmonicClassifier(base.Classifier):
    """Learns from labeled and unlabeled examples, in bounded memory (Section 3).

    >>> model = HarmonicClassifier(bandwidth=0.3)
    >>> model.learn_one({"x": 0.0, "y": 0.0}, "ana")
    >>> model.learn_one({"x": 4.0, "y": 0.0}, "ben")
    >>> for x in (0.6, 1.2, 1.8):
    ...     model.learn_one({"x": x, "y": 0.0}, None)
    >>> model.predict_one({"x": 2.4, "y": 0.0})
    'ana'
    >>> model.predict_proba_one({"x": 99.0, "y": 0.0})     # nobody, but ben is the nearest label
    {'ben': 0.0, 'ana': 0.0}
    >>> model.predict_one({"x": 99.0, "y": 0.0})
    'ben'

    `learn_one(x, None)` is a step without a label. Probabilities are those that the walk from x
    ends at each label; the rest, up to 1, ended in the sink. Where it reaches none, all are 0 and
    the label that `abstain` gives comes first; before any label, and with `abstain="none"`, the
    answers are an empty dictionary and None, which river does not score. Where examples at the same
    place have different labels, the latest counts. Labeled examples are kept beyond max_vertices.

    A feature that is missing counts as 0, as elsewhere in river, so features may appear and
    disappear at any time; an example seen before a feature appeared has 0 there. Values are
    numbers: encode words first, and bring features to one scale. `learner` is the learner inside;
    new features may renumber its vertices.

    bandwidth: sigma, in the unit of the features, or "auto": by `onlooker.suggest` from the first
        examples, chosen anew after 4, 10, 20, 50, 100 and 200 of them, which are then learned again
    cutoff: epsilon; examples less similar than this are not connected
    sink: gamma_g; None means 10 * cutoff, as in the paper
    max_vertices: n_g, the number of unlabeled vertices that are kept
    quantizer: "closest-pair", "closest-safe-pair", "least-variance", "doubling" (the paper's), or
        an object
    min_score: a label needs a probability above this
    abstain: what to answer for nobody: the "nearest" label, the most frequent one ("prior"), "none"
    class_prior: None; "uniform" if all labels are equally frequent; or a dictionary from labels to
        their shares: probabilities are weighed by them (`onlooker.ClassPrior`)
    """

    def __init__(
        self,
        bandwidth: float | Literal["auto"] = "auto",
        cutoff: float = 1e-5,
        sink: float | None = None,
        max_vertices: int = 500,
        quantizer: str | Quantizer = "closest-pair",
        min_score: float = 0.0,
        abstain: Abstain = "nearest",
        class_prior: Literal["uniform"] | Mapping[ClfTarget, float] | None = None,
    ) -> None:
        if abstain not in get_args(Abstain):
            raise BadValue(f"abstain must be one of {get_args(Abstain)}, got {abstain!r}")
        self.bandwidth = bandwidth
        self.cutoff = cutoff
        self.sink = sink
        self.max_vertices = max_vertices
        self.quantizer = quantizer
        self.min_score = min_score
        self.abstain = abstain
        self.class_prior = class_prior
        auto = bandwidth == "auto"
        self._sigma = FIRST_BANDWIDTH if bandwidth == "auto" else bandwidth
        self._first: list[tuple[dict[FeatureName, float], ClfTarget | None]] | None = (
            [] if auto else None
        )
        """bandwidth="auto": the examples so far, until the last choice."""
        self.learner = self._new_learner()
        self._prior = as_class_prior(class_prior)
        self._names = LabelNames[ClfTarget]()
        self._taught: Counter[ClfTarget] = Counter()
        self._columns: dict[FeatureName, int] = {}
        self._width = 1

    def _new_learner(self) -> OnlineHarmonicLearner:
        return OnlineHarmonicLearner(
            HeatKernel(self._sigma, self.cutoff),
            sink=self.sink,
            max_vertices=self.max_vertices,
            quantizer=as_quantizer(self.quantizer),
            min_score=self.min_score,
        )

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Features, y: ClfTarget | None = None) -> None:
        """Learn from an example; None for y means that it has no label."""
        values = _numbers(x)
        if self._prior is not None and y is not None:
            self._prior.of([y])  # refused before anything is learned
        if self._first is not None:
            as_vector(list(values.values()) or [0.0])  # refused before it is stored
            self._first.append((values, y))
            if len(self._first) in AUTO_AT:
                self._choose_bandwidth(self._first)
                return
        self._learn(values, y)

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[ClfTarget, float]:
        """The probability that the walk from x ends at each label; all 0 for nobody."""
        vector = self._vector(_numbers(x))
        prediction = self.learner.predict(vector)
        labels = [self._names.label(name) for name in self.learner.names]
        scores = np.array([prediction.scores.get(name, 0.0) for name in self.learner.names])
        if self._prior is not None:
            masses = self._prior.masses(self.learner)
            scores = weigh(scores[None], masses, self._prior.of(labels))[0]
        known = dict(zip(labels, scores.tolist(), strict=True))
        known |= {label: 0.0 for label in self._names.labels if label not in known}
        if prediction.label is not None:
            return known
        answer = self._answer_for_nobody(vector)
        if answer is None:
            return {}
        return {answer: 0.0} | dict.fromkeys(known, 0.0)

    def _answer_for_nobody(self, vector: Rows) -> ClfTarget | None:
        if self.abstain == "none" or not self.learner.names:
            return None
        if self.abstain == "prior":
            names = set(self.learner.names)
            taught = [label for label in self._taught if self._names.name(label) in names]
            return max(taught, key=self._taught.__getitem__, default=None)
        name = self.learner.nearest_label(vector)
        return None if name is None else self._names.label(name)

    def _learn(self, values: dict[FeatureName, float], y: ClfTarget | None) -> None:
        new = [feature for feature in values if values[feature] and feature not in self._columns]
        vector = self._vector(values)
        if new:
            if y is None and self.learner.predict(vector).label is None:
                return  # nobody changes nothing, so no feature is added either
            self._add_columns(new)
            vector = self._vector(values)
        if y is None:
            self.learner.observe(vector)
        else:
            teach_latest(self.learner, vector, self._names.name(y))
            self._taught[y] += 1

    def _choose_bandwidth(
        self, examples: list[tuple[dict[FeatureName, float], ClfTarget | None]]
    ) -> None:
        """Choose from these examples, and learn them again with what was chosen."""
        features = sorted({feature for values, _ in examples for feature in values}, key=repr)
        rows = np.array([[values.get(each, 0.0) for each in features] for values, _ in examples])
        if len(examples) == AUTO_AT[-1]:
            self._first = None
        try:
            found = suggest(rows, [y for _, y in examples])
        except BadValue:  # they are all at one place
            self._learn(*examples[-1])
            return
        self._sigma = found.bandwidth_at(self.cutoff)
        self._columns, self._width = {}, 1
        self._taught.clear()
        self.learner = self._new_learner()
        self._prior = as_class_prior(self.class_prior)
        for values, y in examples:
            self._learn(values, y)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"bandwidth": 1.0, "abstain": "prior"}
        yield {"bandwidth": 1.0, "class_prior": "uniform"}
        yield {"bandwidth": 0.5, "quantizer": "doubling", "max_vertices": 20}

    # ---- features to vectors

    def _vector(self, values: dict[FeatureName, float]) -> Rows:
        """One column per known feature, spare columns of zeros, and the norm of unknown features.

        Stored examples have 0 in that last column, so all distances are as if every feature had
        its own column.
        """
        vector = np.zeros(self._width)
        for feature, column in self._columns.items():
            vector[column] = values.get(feature, 0.0)
        vector[-1] = hypot(*(v for feature, v in values.items() if feature not in self._columns))
        return as_vector(vector)

    def _add_columns(self, new: list[FeatureName]) -> None:
        """Add columns for new features, and one for the norm of unknown ones."""
        for feature in sorted(new, key=repr):  # a fixed order, whatever the order of the dictionary
            self._columns[feature] = len(self._columns)
        if len(self._columns) < self._width:
            return
        self._width = len(self._columns) + 1
        narrow, self.learner = self.learner, self._new_learner()
        if len(narrow):
            self._width *= 2  # features that appear one by one must not each cost a copy
            self.learner.merge(_Widened(narrow, self._width))


def _numbers(x: Features) -> dict[FeatureName, float]:
    """The features as finite numbers.

    >>> _numbers({"age": 41, "member": True})
    {'age': 41.0, 'member': 1.0}
    >>> _numbers({"town": "Ulm"})
    Traceback (most recent call last):
    ...
    onlooker.core.errors.BadVector: feature 'town' is 'Ulm', not a finite number; encode or \
impute it first, e.g. with river.preprocessing
    """
    values = {}
    for feature, value in x.items():
        try:
            values[feature] = float("nan") if isinstance(value, str | bytes) else float(value)
        except (TypeError, ValueError):
            values[feature] = float("nan")
        if not isfinite(values[feature]):
            raise BadVector(
                f"feature {feature!r} is {value!r}, not a finite number; encode or impute it "
                "first, e.g. with river.preprocessing"
            )
    return values


class _Widened(OnlineHarmonicLearner):
    """A view of a learner with zeros appended to every vector, which changes no distance."""

    def __init__(self, narrow: OnlineHarmonicLearner, width: int) -> None:
        super().__init__(narrow.kernel, sink=narrow.sink, features=narrow.features)
        self._narrow, self._width = narrow, width

    @property
    def radius(self) -> float:
        return self._narrow.radius

    def vertices(self, *, vectors: bool = True) -> Vertices:
        known = self._narrow.vertices(vectors=vectors)
        zeros = np.zeros((len(known.ids), self._width - known.vectors.shape[1]))
        return replace(known, vectors=np.hstack([known.vectors, zeros]))


class _OfAnswers(metrics.base.MultiClassMetric):
    """A running share of answers, from probabilities: all 0 is nobody."""

    def __init__(self) -> None:
        self._count = 0.0
        self._total = 0.0

    @property
    def requires_labels(self) -> bool:
        return False

    def update(self, y_true: ClfTarget, y_pred: Any, w: float = 1.0) -> None:
        """Count one answer."""
        self._add(y_true, y_pred, w)

    def revert(self, y_true: ClfTarget, y_pred: Any, w: float = 1.0) -> None:
        """Take one answer back."""
        self._add(y_true, y_pred, -w)

    @abstractmethod
    def _add(self, y_true: ClfTarget, y_pred: Any, w: float) -> None:
        """Count one answer with a weight."""

    def get(self) -> float:
        """The share; 0 before the first answer."""
        return self._count / self._total if self._total else 0.0


def _reached(y_pred: Any) -> bool:
    """Whether somebody was reached, from probabilities or from a label."""
    if isinstance(y_pred, dict):
        return any(y_pred.values())
    return y_pred is not None


class Coverage(_OfAnswers):
    """The share of examples from which a walk reaches a label, whatever is answered for the others.

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | HarmonicClassifier(bandwidth=1e-4)
    >>> both = metrics.Accuracy() + Coverage() + SelectiveAccuracy()
    >>> found = evaluate.progressive_val_score(datasets.Phishing().take(60), model, both)
    >>> [round(each, 2) for each in found.get()]     # of all; reached; right among those reached
    [0.78, 0.02, 1.0]
    """

    def _add(self, y_true: ClfTarget, y_pred: Any, w: float) -> None:
        self._count += w * _reached(y_pred)
        self._total += w


class SelectiveAccuracy(_OfAnswers):
    """Accuracy over the examples from which a walk reaches a label; read it beside `Coverage`.

    >>> metric = SelectiveAccuracy()
    >>> metric.update("ana", {"ana": 0.9, "ben": 0.1})
    >>> metric.update("ana", {"ben": 0.0, "ana": 0.0})
    >>> metric.get()
    1.0
    """

    def _add(self, y_true: ClfTarget, y_pred: Any, w: float) -> None:
        if _reached(y_pred):
            answer = max(y_pred, key=y_pred.__getitem__) if isinstance(y_pred, dict) else y_pred
            self._count += w * (answer == y_true)
            self._total += w
