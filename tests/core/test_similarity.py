"""Distances and the heat kernel: what they are, and what the search relies on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from onlooker import Cosine, Euclidean, HeatKernel, OnlineHarmonicLearner
from onlooker.core.errors import BadValue
from onlooker.core.similarity import Distance, squared_distances

numbers = st.floats(-10, 10, width=32)
rows = hnp.arrays(np.float64, (6, 3), elements=numbers)
DISTANCES = [Euclidean(), Cosine()]


def long_enough(table):
    """Directions of tiny vectors are lost in rounding before any distance sees them."""
    table = np.array(table)
    table[np.linalg.norm(table, axis=1) < 1e-3] = 1.0
    return table


@given(table=rows)
def test_euclidean_is_the_plain_distance(table):
    found = squared_distances(Euclidean(), table[0], table)
    expected = ((table - table[0]) ** 2).sum(axis=1)
    # A gap is rounded at the scale of both vectors, unless it is below CLOSE of that.
    scale = (table**2).sum(axis=1) + (table[0] ** 2).sum()
    assert (np.abs(found - expected) <= 1e-12 * expected + 4e-16 * scale).all()


def test_a_gap_a_little_above_close_is_right_to_ten_digits():
    table = np.array([[0.125, 8.0, 8.0], [3.532e-6, 8.0, 8.0]])
    found = squared_distances(Euclidean(), table[0], table)
    np.testing.assert_allclose(found[1], (table[0, 0] - table[1, 0]) ** 2, rtol=1e-10)


@given(table=rows.map(long_enough))
def test_cosine_is_the_chord_between_directions(table):
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    expected = ((unit - unit[0]) ** 2).sum(axis=1)
    found = squared_distances(Cosine(), table[0], table)
    # Lengths differ by up to 10^4 here, and that much of the last digit is lost.
    np.testing.assert_allclose(found, expected, atol=1e-10)
    cosine = unit @ unit[0]
    np.testing.assert_allclose(found, 2 * (1 - cosine), atol=1e-10)


@given(table=rows.map(long_enough), exponent=st.integers(-3, 3))
def test_cosine_does_not_depend_on_lengths(table, exponent):
    """To 1e-8 while lengths differ by less than 10^7: the gap of the vectors is all it sees."""
    plain = squared_distances(Cosine(), table[0], table)
    scaled = squared_distances(Cosine(), table[0] * 10.0**exponent, table)
    np.testing.assert_allclose(scaled, plain, atol=1e-8)


@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
@given(table=rows.map(long_enough))
def test_distances_are_symmetric_zero_to_oneself_and_obey_the_triangle(distance, table):
    D = np.sqrt([squared_distances(distance, x, table) for x in table])
    np.testing.assert_array_equal(D, D.T)
    np.testing.assert_array_equal(D.diagonal(), 0.0)
    assert (D[:, None, :] <= D[:, :, None] + D[None, :, :] + 1e-5).all()


@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
@given(table=rows.map(long_enough), less=st.floats(0, 1))
def test_a_smaller_gap_never_makes_a_larger_distance(distance, table, less):
    """What lets a lower bound of the gap stand in for it."""
    gaps = ((table - table[0]) ** 2).sum(axis=1)
    moments = distance.moments(table)
    whole = distance.squared(gaps.copy(), moments[0], moments)
    part = distance.squared(gaps * less, moments[0], moments)
    assert (part <= whole).all()


@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
@given(table=rows.map(long_enough), chosen=st.sets(st.integers(0, 5), min_size=1))
def test_a_distance_depends_on_nothing_but_the_pair(distance, table, chosen):
    """Not on which other pairs are measured with it: bits, not digits."""
    some = sorted(chosen)
    every = squared_distances(distance, table[0], table)
    few = squared_distances(distance, table[0], table[some])
    np.testing.assert_array_equal(every[some], few)


@given(table=rows, bandwidth=st.floats(0.05, 20), cutoff=st.sampled_from([0.5, 1e-2, 1e-5, 1e-12]))
def test_weights_are_the_heat_kernel_at_or_above_the_cutoff(table, bandwidth, cutoff):
    kernel = HeatKernel(bandwidth, cutoff)
    found = kernel.similarity(table[0], table)
    exact = np.exp(-((table - table[0]) ** 2).sum(axis=1) / (2 * bandwidth**2))
    connected = found > 0
    np.testing.assert_allclose(found[connected], exact[connected], rtol=1e-9)
    assert (found[connected] >= cutoff).all()
    assert (exact[~connected] < cutoff * (1 + 1e-9)).all()
    assert found[0] == 1.0


@given(bandwidth=st.floats(0.01, 100), cutoff=st.floats(1e-12, 0.99))
def test_the_reach_is_where_the_similarity_meets_the_cutoff(bandwidth, cutoff):
    kernel = HeatKernel(bandwidth, cutoff)
    assert kernel.similarity([0.0], [[kernel.reach * (1 - 1e-6)]])[0] > 0
    assert kernel.similarity([0.0], [[kernel.reach * (1 + 1e-6)]])[0] == 0
    assert np.exp(-(kernel.reach**2) / (2 * bandwidth**2)) == pytest.approx(cutoff, rel=1e-9)


def test_a_neighbour_exactly_at_the_cutoff_is_connected():
    """w >= epsilon, not w > epsilon."""
    cutoff = float(np.exp(-0.5))
    learner = OnlineHarmonicLearner(HeatKernel(1.0, cutoff), sink=0.0)
    learner.teach([0.0], "ana")
    assert learner.observe([1.0]).label == "ana"
    assert learner.predict([-1.0]).label == "ana"
    assert learner.predict([-1.0 - 1e-6]).label is None


@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
def test_distances_are_compared_and_named_by_value(distance):
    again = type(distance)()
    assert again == distance
    assert repr(again) == repr(distance)
    assert isinstance(distance, Distance)
    assert HeatKernel(0.3, 1e-5, distance) == HeatKernel(0.3, 1e-5, again)


def test_cosine_learners_name_directions():
    learner = OnlineHarmonicLearner(HeatKernel(0.2, 1e-4, Cosine()))
    learner.teach([1.0, 0.0], "east")
    learner.teach([0.0, 5.0], "north")
    assert learner.observe([30.0, 4.0]).label == "east"
    assert learner.observe([0.01, 0.1]).label == "north"
    assert learner.observe([-1.0, -1.0]).label is None
    assert learner.observe([7.0, 0.0]).vertex == 0  # the same direction is the same place


@pytest.mark.parametrize("length", [1, 40])
def test_a_pair_exactly_at_the_cutoff_is_connected(length):
    """The paper sets similarities *below* epsilon to 0."""
    near, far = np.zeros(length), np.eye(length)[0]
    at = float(HeatKernel(1.0, 1e-3).similarity(near, far[None])[0])
    for cutoff, connected in ((at, True), (np.nextafter(at, 1), False)):
        learner = OnlineHarmonicLearner(HeatKernel(1.0, float(cutoff)))
        learner.teach(near, "ana")
        assert (learner.predict(far).label == "ana") == connected
        assert (learner.kernel.similarity(near, far[None])[0] > 0) == connected


@pytest.mark.parametrize("bandwidth", [1e-15, 1e15])
def test_a_bandwidth_at_the_end_of_the_range_is_refused(bandwidth):
    with pytest.raises(BadValue):
        HeatKernel(bandwidth, 1e-3)
