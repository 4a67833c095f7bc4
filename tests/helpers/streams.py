"""What the tests of the learner share: its state as plain values, and a model to run beside it."""

import copy
import math
from dataclasses import dataclass

import numpy as np

from onlooker import (
    ClosestPair,
    ClosestSafePair,
    Doubling,
    HeatKernel,
    LeastVariance,
    OnlineHarmonicLearner,
)
from oracle import Example, LiteralLearner, Refused

QUANTIZERS = {
    "closest": ClosestPair,
    "safe": ClosestSafePair,
    "variance": LeastVariance,
    "doubling": Doubling,
}


def gap(x, y):
    """The oracle's distance, only faster: a stream asks for some ten thousand of them."""
    difference = np.asarray(x, dtype=float) - np.asarray(y, dtype=float)
    return math.sqrt(float(difference @ difference))


@dataclass
class Model(LiteralLearner):
    """The oracle, and what design.md says of merging (section 4, number 9)."""

    distance: object = gap

    def merge(self, other):
        arriving = sorted(copy.deepcopy(other.vertices), key=lambda c: c.name is None)
        for c in arriving:
            here = self._at(c.vector)
            if here is not None and None not in (here.name, c.name) and here.name != c.name:
                raise Refused(f"{here.name!r} is taught at the place of {c.name!r}")
            for one, another in ((here, c), (c, here)):
                if here and one.name is not None and another.not_names & {None, one.name}:
                    raise Refused(f"{one.name!r} meets the place where it is not")
        self.names += [name for name in other.names if name not in self.names]
        moved = {}
        for c in arriving:
            here = self._at(c.vector)
            if here is None:
                here = self._add(c.vector, c.name)
                here.multiplicity = 0
            here.multiplicity += c.multiplicity
            here.name = here.name or c.name
            here.not_names |= c.not_names
            moved[c.id] = here.id
        if other is not self:  # thirty doublings of a list would fill the memory
            self.history += [Example(e.vector, moved[e.vertex]) for e in other.history]
        self.radius = max(self.radius, other.radius)
        if self.quantizer == "doubling":
            self._repartition()
        self._shrink()


def pair_of_learners(*, sigma, epsilon, gamma, n_g, quantizer, min_score=0.0, trust_radius=None):
    """The learner under test, and the model of it."""
    learner = OnlineHarmonicLearner(
        HeatKernel(sigma, epsilon),
        sink=gamma,
        max_vertices=n_g,
        quantizer=QUANTIZERS[quantizer](),
        min_score=min_score,
        trust_radius=trust_radius,
    )
    model = Model(sigma, epsilon, gamma, n_g, quantizer, min_score, trust_radius=trust_radius)
    return learner, model


def state(learner):
    """Everything that a caller can see of a learner, comparable with ==."""
    vertices = learner.vertices()
    return {
        "ids": vertices.ids.tolist(),
        "vectors": vertices.vectors.tolist(),
        "type": vertices.vectors.dtype.name,
        "multiplicities": vertices.multiplicities.tolist(),
        "labels": list(vertices.names),
        "negatives": dict(vertices.negatives),
        "names": learner.names,
        "radius": learner.radius,
        "size": len(learner),
    }


def assert_same_state(learner, model):
    found = state(learner)
    assert found["ids"] == [c.id for c in model.vertices]
    assert found["multiplicities"] == [c.multiplicity for c in model.vertices]
    assert found["labels"] == [c.name for c in model.vertices]
    assert found["negatives"] == {c.id: c.not_names for c in model.vertices if c.not_names}
    assert found["names"] == tuple(model.names)
    assert found["vectors"] == [c.vector.tolist() for c in model.vertices]
    assert math.isclose(found["radius"], model.radius, rel_tol=1e-9)


def assert_same_answer(found, expected, *, tolerance=1e-8):
    assert list(found.scores) == list(expected.scores)
    for name, score in expected.scores.items():
        assert abs(found.scores[name] - score) <= tolerance, name
    assert abs(found.sink - expected.sink) <= tolerance
    assert found.vertex == expected.vertex
    assert found.candidate == expected.candidate or expected.confidence <= tolerance
    assert found.support == expected.support or expected.confidence <= tolerance
    if (
        found.label != expected.label
    ):  # rounding may decide a tie, but not between somebody and None
        assert None not in (found.label, expected.label)
        assert expected.confidence <= tolerance


def eliminated(W, v, labeled, gamma, start):
    """`oracle.walk_gth` in rows instead of numbers, for graphs too large for it."""
    n = len(W)
    rates = np.array(W, dtype=float) * v * np.reshape(v, (-1, 1))
    np.fill_diagonal(rates, 0.0)
    rates = np.column_stack([rates, gamma * np.asarray(v, dtype=float)])
    for k in np.flatnonzero(~np.asarray(labeled)):
        if k != start and rates[k].sum() > 0:
            into = rates[:, k].copy()
            into[labeled] = 0.0
            rates[:, k] = 0.0
            rates += np.outer(into, rates[k] / rates[k].sum())
            np.fill_diagonal(rates, 0.0)
            rates[k] = 0.0
    ends = rates[start] / rates[start].sum()
    return np.where(labeled, ends[:n], 0.0), ends[n]
