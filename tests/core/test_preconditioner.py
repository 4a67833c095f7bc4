"""The inverse that follows the graph is the inverse, and learns from what it got wrong."""

import numpy as np
import pytest

from onlooker.core.preconditioner import Border, Preconditioner


class System:
    """A random walk of a few vertices: A is the system, z the solution that is asked for."""

    def __init__(self, seed, n=12):
        rng = np.random.default_rng(seed)
        weights = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
        self.weights = weights + weights.T
        self.v = rng.integers(1, 6, n).astype(float)
        self.rates = self.v * (self.weights @ self.v + rng.random(n) + 0.01)
        self.A = np.diag(self.rates) - self.v[:, None] * self.weights * self.v
        g = rng.random(n) * self.v
        m = 50.0  # of an example that many others were merged into: M is far from right
        self.border = Border(g, g.sum() + 0.3, m)
        bordered = self.A + m * np.diag(g) - m * np.outer(g, g) / self.border.c
        self.z = np.linalg.solve(bordered, g / self.border.c)

    def solved(self, preconditioner):
        return preconditioner.solve(self.weights, self.v, self.rates, self.border, 1e-10)


def inverse_of(preconditioner):
    lower = np.tril(preconditioner._inverse)
    return lower + np.tril(lower, -1).T


def steps_of(preconditioner):
    return len(preconditioner._trace.theta)


@pytest.fixture(params=range(5))
def system(request):
    return System(request.param)


@pytest.fixture
def solved(system):
    preconditioner = Preconditioner()
    np.testing.assert_allclose(system.solved(preconditioner), system.z, atol=1e-9)
    return preconditioner


def test_a_new_one_is_the_inverse(system, solved):
    np.testing.assert_allclose(inverse_of(solved) @ system.A, np.eye(len(system.v)), atol=1e-9)


def test_a_vertex_that_was_labeled_leaves_the_inverse_of_the_others(system, solved):
    solved.grounded(3)
    others = np.delete(np.arange(len(system.v)), 3)
    found = inverse_of(solved)
    assert not found[3].any()
    grid = np.ix_(others, others)
    np.testing.assert_allclose(found[grid], np.linalg.inv(system.A[grid]), atol=1e-9)


def test_two_vertices_that_became_one_leave_the_inverse_of_the_merged_system(system, solved):
    solved.merged(2, 7)
    both = np.eye(len(system.v))
    both[7, 2] = 1.0
    both = np.delete(both, 7, axis=1)
    others = np.delete(np.arange(len(system.v)), 7)
    found = inverse_of(solved)
    assert not found[7].any()
    expected = np.linalg.inv(both.T @ system.A @ both)
    np.testing.assert_allclose(found[np.ix_(others, others)], expected, atol=1e-9)


def test_of_a_vertex_that_was_removed_nothing_stays_and_a_new_one_starts_from_its_rate(
    system, solved
):
    before = inverse_of(solved)
    solved.removed(5)
    found = inverse_of(solved)
    assert not found[5].any()
    others = np.delete(np.arange(len(system.v)), 5)
    np.testing.assert_array_equal(found[np.ix_(others, others)], before[np.ix_(others, others)])
    np.testing.assert_allclose(system.solved(solved), system.z, atol=1e-9)
    assert solved._inverse[5, 5] == pytest.approx(1 / system.rates[5])


def test_what_was_learned_makes_the_same_walk_shorter(system, solved):
    first = steps_of(solved)
    solved.learn()
    np.testing.assert_allclose(system.solved(solved), system.z, atol=1e-9)
    assert steps_of(solved) < first
    assert steps_of(solved) <= 3


def test_what_was_right_is_not_corrected(system, solved):
    """Where M was exact, rounding errors are all that a correction could learn."""
    before = solved._inverse.copy()
    exact = Border(system.border.g, system.border.c, 0.0)
    assert solved.solve(system.weights, system.v, system.rates, exact, 1e-10) is not None
    solved.learn()
    np.testing.assert_array_equal(solved._inverse, before)


def test_what_was_learned_is_the_inverse_where_the_walk_went(system, solved):
    b = system.border.g / system.border.c
    solved.learn()
    found = inverse_of(solved) @ b
    np.testing.assert_allclose(found, system.z, atol=0.15 * np.abs(system.z).max())


def test_changes_without_a_walk_are_followed_a_hundred_times_and_then_no_more(system, solved):
    for _ in range(100):
        solved.removed(3)
    assert solved._inverse is not None
    solved.removed(3)
    assert solved._inverse is None
