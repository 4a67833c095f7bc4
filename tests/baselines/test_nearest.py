"""The nearest-neighbour classifier of Section 4.2."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker import HeatKernel, OnlookerError
from onlooker.baselines.nearest import NearestNeighbour

KERNEL = HeatKernel(0.5, 1e-3)
points = st.lists(st.tuples(st.floats(-2, 2), st.sampled_from("abc")), min_size=1, max_size=8)


@given(labeled=points, x=st.floats(-3, 3))
def test_it_is_the_equation(labeled, x):
    model = NearestNeighbour(KERNEL)
    for place, name in labeled:
        model.teach([place], name)
    sums = {}
    for place, name in labeled:
        weight = np.exp(-((x - place) ** 2) / (2 * 0.5**2))
        sums[name] = sums.get(name, 0.0) + (weight if weight >= 1e-3 else 0.0)
    answer = model.predict([x])
    best = max(sums.values())
    if best == 0:
        assert answer.label is None
    else:
        assert sums[answer.label] == pytest.approx(best)
        assert sum(answer.scores.values()) == pytest.approx(1)


def test_it_learns_nothing_from_what_it_sees():
    model = NearestNeighbour(KERNEL)
    model.teach([0.0], "ana")
    for x in np.arange(0.0, 4.0, 0.2):
        model.observe([x])
    assert model.predict([3.9]).label is None


def test_a_tie_goes_to_the_name_taught_first():
    model = NearestNeighbour(KERNEL)
    model.teach([1.0], "ben")
    model.teach([-1.0], "ana")
    assert model.predict([0.0]).label == "ben"


def test_before_any_label_everybody_is_nobody():
    assert NearestNeighbour(KERNEL).predict([1.0]).label is None


def test_another_length_is_refused():
    model = NearestNeighbour(KERNEL)
    model.teach([1.0], "ben")
    with pytest.raises(OnlookerError):
        model.predict([1.0, 2.0])
