"""What the rivals keep: distances to all that is stored, and tables that follow it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker import HeatKernel
from onlooker.baselines.examples import ExampleStore, PairTable, solved
from onlooker.core.similarity import Cosine, Euclidean

actions = st.lists(st.one_of(st.just("add"), st.integers(0, 10)), max_size=40)


@given(actions=actions, distance=st.sampled_from([Euclidean(), Cosine()]), seed=st.integers(0, 9))
def test_whatever_came_and_went_the_rest_is_measured_right(actions, distance, seed):
    random = np.random.default_rng(seed)
    kernel = HeatKernel(0.8, 0.1, distance)
    store, table, rows = ExampleStore(kernel), PairTable(), []
    for action in actions:
        if action == "add":
            x = random.standard_normal(3)
            query = store.query(x)
            table.add(np.append(store.weights(query), 1.0))
            store.add(query)
            rows.append(x)
        elif action < len(rows):
            store.remove(action)
            table.remove(action)
            rows[action] = rows[-1]
            rows.pop()
    assert len(store) == len(rows)
    x, here = random.standard_normal(3), np.array(rows).reshape(-1, 3)
    gaps = store.gaps(store.query(x))
    np.testing.assert_allclose(gaps, ((here - x) ** 2).sum(axis=1), rtol=1e-12)
    if rows:
        expected = np.array([kernel.similarity(row, here) for row in rows])
        np.testing.assert_allclose(store.weights(store.query(x)), kernel.similarity(x, here))
        np.testing.assert_allclose(table.values, expected, atol=1e-12)


def test_gaps_of_vectors_close_together_and_far_from_zero_do_not_drown():
    store = ExampleStore(HeatKernel(1.0, 0.1))
    store.add(store.query([1e6, 1e6]))
    assert store.gaps(store.query([1e6 + 1e-3, 1e6])) == pytest.approx(1e-6, rel=1e-6)


def test_single_precision_is_measured_in_double():
    store = ExampleStore(HeatKernel(1.0, 0.1))
    x, y = (np.random.default_rng(0).random((2, 5000)).astype(np.float32) for _ in range(2))
    for row in x:
        store.add(store.query(row))
    exact = ((x.astype(np.float64) - y[0].astype(np.float64)) ** 2).sum(axis=1)
    np.testing.assert_allclose(store.gaps(store.query(y[0])), exact, rtol=1e-12)


@pytest.mark.parametrize("gram", [np.ones((3, 3)), np.diag([1.0, -1.0, 2.0])])
def test_a_table_that_is_not_positive_is_solved_too(gram):
    right = gram @ [1.0, 2.0, 3.0]
    np.testing.assert_allclose(gram @ solved(gram, right), right, atol=1e-6)
