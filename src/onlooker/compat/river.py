"""The online learner as a river classifier."""

from collections.abc import Iterator
from dataclasses import replace
from math import hypot, isfinite
from typing import Any

import numpy as np
from river import base
from river.base.typing import ClfTarget, FeatureName

from onlooker.compat.translation import LabelNames, as_quantizer, teach_latest
from onlooker.core.checks import Rows, as_vector
from onlooker.core.errors import BadVector
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.quantizer import Quantizer
from onlooker.core.records import Vertices
from onlooker.core.similarity import HeatKernel

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
    >>> model.predict_proba_one({"x": 99.0, "y": 0.0})
    {}

    `learn_one(x, None)` is a step without a label. Nobody is an empty dictionary, and None from
    `predict_one`. Probabilities are those that the walk from x ends at each label; the rest, up
    to 1, ended in the sink. Where examples at the same place have different labels, the latest
    counts. Labeled examples are kept beyond max_vertices.

    A feature that is missing counts as 0, as elsewhere in river, so features may appear and
    disappear at any time; an example seen before a feature appeared has 0 there. Values are
    numbers: encode words first, and bring features to one scale. `learner` is the learner inside;
    new features may renumber its vertices.

    bandwidth: sigma, in the unit of the features; 1 suits features that went through a scaler
    cutoff: epsilon; examples less similar than this are not connected
    sink: gamma_g; None means 10 * cutoff, as in the paper
    max_vertices: n_g, the number of unlabeled vertices that are kept
    quantizer: "closest-pair", "closest-safe-pair", "doubling" (the paper's), or an object
    min_score: a label needs a probability above this
    """

    def __init__(
        self,
        bandwidth: float = 1.0,
        cutoff: float = 1e-5,
        sink: float | None = None,
        max_vertices: int = 500,
        quantizer: str | Quantizer = "closest-pair",
        min_score: float = 0.0,
    ) -> None:
        self.bandwidth = bandwidth
        self.cutoff = cutoff
        self.sink = sink
        self.max_vertices = max_vertices
        self.quantizer = quantizer
        self.min_score = min_score
        self.learner = self._new_learner()
        self._names = LabelNames[ClfTarget]()
        self._columns: dict[FeatureName, int] = {}
        self._width = 1

    def _new_learner(self) -> OnlineHarmonicLearner:
        return OnlineHarmonicLearner(
            HeatKernel(self.bandwidth, self.cutoff),
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

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[ClfTarget, float]:
        """The probability that the walk from x ends at each label; empty for nobody."""
        prediction = self.learner.predict(self._vector(_numbers(x)))
        if prediction.label is None:
            return {}
        known = {self._names.label(name): score for name, score in prediction.scores.items()}
        return known | {label: 0.0 for label in self._names.labels if label not in known}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
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

    def vertices(self) -> Vertices:
        known = self._narrow.vertices()
        zeros = np.zeros((len(known.ids), self._width - known.vectors.shape[1]))
        return replace(known, vectors=np.hstack([known.vectors, zeros]))
