"""Temporal label propagation: a few stored examples, and the scores of the whole stream."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.spiral import follow
from onlooker import HeatKernel
from onlooker.baselines.temporal_propagation import TemporalLabelPropagation
from onlooker.core.errors import BadValue

KERNEL = HeatKernel(0.5, 1e-3)
places = st.integers(-20, 20).map(lambda number: number / 5)
steps = st.lists(
    st.tuples(places, st.sampled_from([None, None, None, "ana", "ben", "cyd"])), max_size=30
)


class WholeStream:
    """Every example of the stream and all their links; one dense solve at every step."""

    def __init__(self, window, sink):
        self.window, self.sink = window, sink
        self.unlabeled, self.labeled = [], []  # places; place, name and the first it is linked to

    def similarity(self, x, y):
        w = np.exp(-((x - y) ** 2) / (2 * 0.5**2))
        return w if w >= 1e-3 else 0.0

    def teach(self, x, name):
        self.labeled.append((x, name, len(self.unlabeled) - self.window))

    def scores(self, names):
        """A row for each unlabeled example of the whole stream: (L + sink) f = W_ul y."""
        n = len(self.unlabeled)
        system, right = self.sink * np.eye(n), np.zeros((n, len(names)))
        for i, x in enumerate(self.unlabeled):
            for j, y in enumerate(self.unlabeled):
                if 0 < abs(i - j) <= self.window:
                    system[i, i] += self.similarity(x, y)
                    system[i, j] -= self.similarity(x, y)
            for y, name, first in self.labeled:
                if i >= first:
                    system[i, i] += self.similarity(x, y)
                    right[i, names.index(name)] += self.similarity(x, y)
        return np.linalg.solve(system, right)

    def is_linked(self, x):
        near = self.unlabeled[-self.window :] + [y for y, _, _ in self.labeled]
        return any(self.similarity(x, y) for y in near)


@settings(max_examples=60)
@given(stream=steps, window=st.integers(1, 5), sink=st.sampled_from([0.0, 0.1]))
@example([(0.0, "ana"), *[(n / 5, None) for n in range(12)], (0.4, "ben"), (2.4, None)], 2, 0.0)
def test_scores_are_those_of_the_whole_stream(stream, window, sink):
    """Taking a vertex out changes no score of the others, whatever the stream and the labels."""
    model = TemporalLabelPropagation(KERNEL, window=window, sink=sink)
    whole, names = WholeStream(window, sink), []
    for x, name in stream:
        if name is not None:
            model.teach([x], name)
            whole.teach(x, name)
            names += [name] * (name not in names)
        else:
            linked = whole.is_linked(x)
            answer = model.observe([x])
            assert (answer.label is not None) == linked
            if linked:
                whole.unlabeled.append(x)
                expected = whole.scores(names)[-1]
                found = np.array([answer.scores[each] for each in names])
                np.testing.assert_allclose(found, expected, atol=1e-8)
                assert answer.sink == pytest.approx(1 - expected.sum(), abs=1e-8)
        if whole.unlabeled:
            stored = min(window, len(whole.unlabeled))
            expected = whole.scores(names)[-stored:]
            np.testing.assert_allclose(model.window_scores(), expected, atol=1e-8)
    assert len(model) == len(whole.labeled) + min(window, len(whole.unlabeled))


def test_a_chain_reaches_its_label_through_examples_that_are_gone():
    model = TemporalLabelPropagation(KERNEL, window=1)
    model.teach([0.0], "ana")
    model.teach([500.0], "ben")
    answers = [model.observe([x]) for x in np.arange(1.0, 400.0)]
    assert {answer.label for answer in answers} == {"ana"}
    assert answers[-1].scores["ana"] == pytest.approx(1.0, abs=1e-12)
    assert len(model) == 3


def test_it_follows_clusters_that_turn():
    found = follow(TemporalLabelPropagation(HeatKernel(0.1, 1e-3), window=60), 400, seed=1)
    assert found.precision > 0.99
    assert found.late > 0.95
    assert found.taken < 0.05


@pytest.mark.parametrize("wrong", [{"window": 0}, {"window": 1.5}, {"sink": -1.0}])
def test_parameters_that_make_no_sense_are_refused(wrong):
    with pytest.raises(BadValue):
        TemporalLabelPropagation(KERNEL, **wrong)
