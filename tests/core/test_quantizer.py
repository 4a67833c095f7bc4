"""All quantizers keep the budget; each keeps its own promise besides."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.streams import QUANTIZERS, assert_same_state, pair_of_learners, state
from onlooker import (
    ClosestPair,
    ClosestSafePair,
    Doubling,
    HeatKernel,
    LeastVariance,
    OnlineHarmonicLearner,
)

# Everything on the line is connected: what the quantizer does is all that is seen.
KERNEL = HeatKernel(20.0, 1e-6)

# Steps of 0.25 and 0.75, without rounding: equal gaps, and chains of which each link is needed.
GRID = st.integers(0, 24).map(lambda n: n // 2 + 0.25 * (n % 2))
positions = st.lists(st.integers(0, 40).map(float), min_size=1, max_size=25)


def watching(stream, *, budget, quantizer, kernel=KERNEL, label=-30.0):
    learner = OnlineHarmonicLearner(kernel, sink=0.0, max_vertices=budget, quantizer=quantizer)
    learner.teach([label], "ana")
    for x in stream:
        learner.observe([x])
    return learner


def unlabeled(learner):
    """Places and multiplicities of the unlabeled vertices, oldest first."""
    vertices = learner.vertices()
    free = [name is None for name in vertices.names]
    return vertices.vectors[free].ravel().tolist(), vertices.multiplicities[free].tolist()


# The two counter-examples of style.md, 3.1 --------------------------------------------------


def test_one_doubling_that_merges_nothing_is_followed_by_another():
    """0, 2, 4 with a limit of one: the figure's "equals n_g + 1" would never be true again."""
    learner = watching([0.0, 2.0], budget=1, quantizer=Doubling())
    assert unlabeled(learner) == ([0.0], [2])
    assert learner.changes().doubled == (2.0, 4.0)  # at R = 2 the two are not closer than R
    learner.observe([4.0])
    assert unlabeled(learner) == ([0.0], [3])
    assert learner.radius == 8.0  # 4 is not closer than 4: a vertex, and one too many


def test_a_gap_of_exactly_the_radius_is_not_closer_than_the_radius():
    """Squaring a root may give more than there was: sqrt(2) squared is above 2."""
    learner = OnlineHarmonicLearner(
        HeatKernel(5.0, 1e-6), sink=0.0, max_vertices=1, quantizer=Doubling()
    )
    learner.teach([-20.0, 0.0], "ana")
    learner.observe([0.0, 0.0])
    learner.observe([1.0, 1.0])
    assert learner.changes().doubled == (np.sqrt(2), 2 * np.sqrt(2))
    assert learner.vertices().multiplicities.tolist() == [1, 2]


@given(x=st.floats(0.01, 30), y=st.floats(0.01, 30))
def test_the_first_radius_is_the_smallest_gap_and_merges_nothing(x, y):
    learner = OnlineHarmonicLearner(
        HeatKernel(20.0, 1e-6), sink=0.0, max_vertices=1, quantizer=Doubling()
    )
    learner.teach([-30.0, -30.0], "ana")
    learner.observe([0.0, 0.0])
    learner.observe([x, y])
    first, second = learner.changes().doubled
    assert first == pytest.approx(np.hypot(x, y), rel=1e-12)
    assert second == 2 * first


@pytest.mark.parametrize("quantizer", QUANTIZERS)
def test_the_same_point_three_times_is_one_vertex(quantizer):
    learner = watching([5.0, 5.0, 5.0], budget=1, quantizer=QUANTIZERS[quantizer]())
    assert unlabeled(learner) == ([5.0], [3])
    assert learner.radius == 0.0


# Doubling ----------------------------------------------------------------------------------


@given(stream=positions, budget=st.integers(1, 6))
def test_doubling_keeps_unlabeled_vertices_a_radius_apart(stream, budget):
    learner = watching(stream, budget=budget, quantizer=Doubling())
    places, _ = unlabeled(learner)
    gaps = [abs(x - y) for i, x in enumerate(places) for y in places[:i]]
    assert min(gaps, default=np.inf) >= learner.radius
    assert all(abs(x + 30.0) >= learner.radius for x in places)


@given(stream=positions, budget=st.integers(1, 6))
def test_radii_double_from_the_smallest_gap(stream, budget):
    learner = OnlineHarmonicLearner(KERNEL, sink=0.0, max_vertices=budget, quantizer=Doubling())
    learner.teach([-30.0], "ana")
    radius = 0.0
    for x in stream:
        places = [*learner.vertices().vectors.ravel().tolist(), x]
        learner.observe([x])
        for found in learner.changes().doubled:
            gaps = [abs(a - b) for i, a in enumerate(places) for b in places[:i] if a != b]
            assert found == (2 * radius or min(gaps))
            radius = found
        assert learner.radius == radius


def test_repartition_is_greedy_in_order_of_age_and_labels_come_first():
    learner = watching([0.0, 1.0, 2.0, 3.0], budget=4, quantizer=Doubling(), label=-1.5)
    learner.observe([20.0])  # the fifth: R = 1 merges nothing, R = 2 merges
    assert learner.changes().doubled == (1.0, 2.0)
    # -1.5 takes 0 in; 1 and 3 stay; 2 is as near to 1 as to 3, but 3 is younger.
    assert unlabeled(learner) == ([1.0, 3.0, 20.0], [2, 1, 1])
    assert learner.vertices().multiplicities.tolist() == [2, 2, 1, 1]
    assert learner.changes().merged == {1: 0, 3: 2}


def test_repartition_gives_a_vertex_between_two_to_the_older():
    learner = watching([0.0, 4.0, 2.0], budget=2, quantizer=Doubling())
    assert learner.radius == 4.0
    assert unlabeled(learner) == ([0.0, 4.0], [2, 1])
    learner.observe([2.0])  # absorbed, again as near to both
    assert unlabeled(learner) == ([0.0, 4.0], [3, 1])


def test_repartition_gives_a_vertex_to_a_label_that_is_younger():
    learner = watching([0.0], budget=2, quantizer=Doubling())
    learner.teach([1.0], "ana")
    learner.observe([10.0])
    learner.observe([20.0])
    assert learner.changes().doubled == (1.0, 2.0)
    assert unlabeled(learner) == ([10.0, 20.0], [1, 1])
    assert learner.changes().merged == {1: 2}


def test_an_example_closer_than_the_radius_is_absorbed_by_the_nearest():
    learner = watching([0.0, 1.0, 10.0], budget=2, quantizer=Doubling())
    assert learner.radius == 2.0
    assert unlabeled(learner) == ([0.0, 10.0], [2, 1])
    learner.observe([1.5])
    assert learner.changes().absorbed == (1,)
    learner.observe([8.5])
    assert unlabeled(learner) == ([0.0, 10.0], [3, 2])
    learner.observe([2.0])  # exactly the radius away: a vertex, and one too many
    assert learner.changes().new == (4,)


# Closest pair ------------------------------------------------------------------------------


@given(stream=positions, budget=st.integers(1, 6))
def test_closest_pair_uses_the_whole_budget(stream, budget):
    learner = watching(stream, budget=budget, quantizer=ClosestPair())
    places, _ = unlabeled(learner)
    assert len(places) == min(budget, len(set(stream)))
    assert learner.radius == 0.0


def test_the_heavier_of_the_closest_two_stays_where_it_is():
    learner = watching([0.0, 5.0, 5.0, 6.0, 20.0], budget=3, quantizer=ClosestPair())
    assert unlabeled(learner) == ([0.0, 5.0, 20.0], [1, 3, 1])
    learner = watching([0.0, 6.0, 5.0, 5.0, 20.0], budget=3, quantizer=ClosestPair())
    assert unlabeled(learner) == ([0.0, 5.0, 20.0], [1, 3, 1])


def test_the_older_of_two_equally_heavy_stays():
    learner = watching([0.0, 6.0, 5.0, 20.0], budget=3, quantizer=ClosestPair())
    assert unlabeled(learner) == ([0.0, 6.0, 20.0], [1, 2, 1])


def test_of_equal_gaps_the_oldest_pair_is_merged():
    learner = watching([10.0, 0.0, 11.0, 1.0], budget=3, quantizer=ClosestPair())
    assert unlabeled(learner) == ([10.0, 0.0, 1.0], [2, 1, 1])


def test_of_equal_gaps_at_one_vertex_the_older_neighbour_is_merged():
    learner = watching([0.0, 1.0, -1.0], budget=2, quantizer=ClosestPair())
    assert unlabeled(learner) == ([0.0, -1.0], [2, 1])


def test_a_label_takes_in_what_is_closest_to_it():
    learner = watching([0.0, 5.0, 11.0], budget=2, quantizer=ClosestPair(), label=12.0)
    assert unlabeled(learner) == ([0.0, 5.0], [1, 1])
    assert learner.vertices().multiplicities.tolist() == [2, 1, 1]
    assert learner.changes().merged == {3: 0}


@pytest.mark.parametrize("quantizer", QUANTIZERS)
def test_labels_are_never_merged_with_each_other(quantizer):
    learner = OnlineHarmonicLearner(KERNEL, max_vertices=1, quantizer=QUANTIZERS[quantizer]())
    for x in range(8):
        learner.teach([x / 100], "ana")
    for x in range(20):
        learner.observe([float(x)])
    assert learner.vertices().names.count("ana") == 8


@pytest.mark.parametrize("quantizer", QUANTIZERS)
def test_labels_taken_back_beyond_the_cutoff_of_each_other_still_fit_the_budget(quantizer):
    """Then the closest pair is not connected, and its distance was never needed before."""
    learner = OnlineHarmonicLearner(
        HeatKernel(0.1, 1e-3), max_vertices=2, quantizer=QUANTIZERS[quantizer]()
    )
    places = [0.0, 10.0, 23.0, 31.0]
    for x in places:
        learner.teach([x], "ana")
    learner.teach([100.0], "ben")
    for x in places:
        learner.unteach([x])
        assert learner.vertices().names.count(None) <= 2
    assert learner.vertices().multiplicities.sum() == 5
    # 23 goes to 31 while that is still a label, 10 to 0 when 31 is none any more.
    if quantizer in ("closest", "safe"):
        assert unlabeled(learner) == ([0.0, 31.0], [2, 2])
    elif quantizer == "variance":
        assert unlabeled(learner) == ([31.0, 5.0], [2, 2])


@pytest.mark.parametrize("quantizer", QUANTIZERS)
@given(stream=positions, budget=st.integers(1, 4))
def test_a_learner_forgets_places_and_never_examples(quantizer, stream, budget):
    learner = watching(stream, budget=budget, quantizer=QUANTIZERS[quantizer]())
    assert sum(unlabeled(learner)[1]) + learner.vertices().multiplicities[0] == len(stream) + 1
    ids = len(stream) + 1 if quantizer != "variance" else 2 * len(stream)  # a mean has its own
    assert set(state(learner)["ids"]) <= set(range(ids))


# Least variance ----------------------------------------------------------------------------

WIDE = HeatKernel(400.0, 1e-6)


def test_what_represents_many_examples_stays_apart():
    """0 and 1 are closer, but five examples each would be half a unit from their vertex."""
    stream = [0.0] * 5 + [1.0] * 5 + [10.0, 11.5]
    closest = watching(stream, budget=3, quantizer=ClosestPair(), kernel=WIDE, label=-1000.0)
    assert unlabeled(closest) == ([0.0, 10.0, 11.5], [10, 1, 1])
    least = watching(stream, budget=3, quantizer=LeastVariance(), kernel=WIDE, label=-1000.0)
    assert unlabeled(least) == ([0.0, 1.0, 10.75], [5, 5, 2])
    assert least.changes().merged == {3: 5, 4: 5}


@given(stream=positions, budget=st.integers(1, 4))
def test_a_vertex_is_the_mean_of_its_examples(stream, budget):
    learner = watching(stream, budget=budget, quantizer=LeastVariance(), kernel=WIDE, label=-1000.0)
    places, counts = unlabeled(learner)
    assert sum(counts) == len(stream)
    assert np.dot(places, counts) == pytest.approx(sum(stream))


def test_a_label_stays_where_it_is():
    learner = watching([5.0, 20.0], budget=1, quantizer=LeastVariance(), label=4.0)
    assert learner.vertices().vectors.ravel().tolist() == [4.0, 20.0]
    assert learner.vertices().multiplicities.tolist() == [2, 1]


def test_two_whose_mean_is_another_vertex_are_merged_into_it():
    """10 represents four, so it stays when 9 and 11 are merged, whose mean is 10."""
    stream = [10.0] * 4 + [9.5, 10.5]
    learner = watching(stream, budget=2, quantizer=LeastVariance(), kernel=WIDE, label=-1000.0)
    places, counts = unlabeled(learner)
    assert sum(counts) == 6
    assert len(set(places)) == len(places)


# Closest safe pair -------------------------------------------------------------------------

CHAIN = HeatKernel(1.0, 0.1)  # linked up to a gap of 2.1


def test_a_chain_to_a_label_is_not_cut():
    """1.7 and 2 are the closest pair, but only 2 links 3.9 with the label."""
    stream = [1.7, 1.7, 2.0, 3.9, 0.8]
    cut = watching(stream, budget=3, quantizer=ClosestPair(), kernel=CHAIN, label=0.0)
    assert unlabeled(cut) == ([1.7, 3.9, 0.8], [3, 1, 1])
    assert cut.predict([3.9]).label is None
    whole = watching(stream, budget=3, quantizer=ClosestSafePair(), kernel=CHAIN, label=0.0)
    assert unlabeled(whole) == ([1.7, 2.0, 3.9], [2, 1, 1])
    assert whole.predict([3.9]).label == "ana"


def test_of_equal_gaps_the_oldest_safe_pair_is_merged():
    stream = [0.0, 2.0, 10.0, 11.0, 1.0]
    learner = watching(stream, budget=4, quantizer=ClosestSafePair())
    assert unlabeled(learner) == ([0.0, 2.0, 10.0, 11.0], [2, 1, 1, 1])


def test_of_equal_gaps_to_a_label_the_oldest_safe_pair_is_merged():
    """1.5 and 2.5 are half a step from ben: the older one goes, also from a later slot."""
    learner = OnlineHarmonicLearner(
        HeatKernel(0.6, 1e-3), max_vertices=1, quantizer=ClosestSafePair()
    )
    learner.teach([0.0], "ana")
    learner.teach([2.0], "ben")
    left = []
    for x in (1.5, 2.5, 1.5):
        learner.observe([x])
        left.append(unlabeled(learner)[0])
    assert left == [[1.5], [2.5], [1.5]]


def test_distances_beyond_the_cutoff_are_measured_again_for_new_vertices():
    """10 and 10.95 are measured when 0.9 goes; then 0.6 comes, which is closer to 0."""
    learner = OnlineHarmonicLearner(HeatKernel(0.1, 1e-5), max_vertices=3)
    learner.teach([100.0], "ana")
    for place in (0.0, 0.9, 10.0, 10.95, 0.6):
        learner.teach([place], "ben")
        learner.unteach([place])
    assert unlabeled(learner) == ([0.0, 10.0, 10.95], [3, 1, 1])


def test_a_label_that_was_forgotten_is_nobodys_closest():
    """0.45 is closest to ana, but ben's: it stays, and then ben's first label takes it in."""
    learner = OnlineHarmonicLearner(HeatKernel(1.0, 1e-5), max_vertices=3)
    learner.teach([0.0], "ana")
    for place in (0.91, 0.95, 1.0):
        learner.teach([place], "ben")
    assert [learner.observe([x]).label for x in (0.45, 2.0, 2.6)] == ["ben"] * 3
    learner.forget("ana")
    learner.observe([3.4])
    assert unlabeled(learner) == ([2.0, 2.6, 3.4], [1, 1, 1])


def test_a_new_vertex_that_others_need_is_not_merged_at_once():
    """3.9 is closest to 2, and brings back 5.9, which was cut off when 3.95 was dropped."""
    learner = watching(
        [2.0, 3.95, 5.9, -2.0], budget=4, quantizer=ClosestSafePair(), kernel=CHAIN, label=0.0
    )
    learner.drop(2)
    assert learner.predict([5.9]).label is None
    learner.observe([-4.05])
    learner.observe([3.9])
    assert unlabeled(learner) == ([2.0, 5.9, -2.0, 3.9], [1, 1, 2, 1])
    assert learner.predict([5.9]).label == "ana"


def test_a_link_goes_once_a_new_vertex_takes_its_place():
    """2.5 links 3.9 with 1.7, so nobody needs 2 any more, which is closer to 1.7 than 2.5 to 2."""
    learner = watching(
        [1.7, 1.7, 2.0, 3.9, 2.5], budget=3, quantizer=ClosestSafePair(), kernel=CHAIN, label=0.0
    )
    assert unlabeled(learner) == ([1.7, 3.9, 2.5], [3, 1, 1])


def test_where_every_merge_cuts_somebody_off_the_closest_pair_is_merged():
    """3.5 is the heavier, so 1.5 would go into it or into the label, and 3.5 needs 1.5."""
    learner = watching(
        [1.5, 3.5, 3.5], budget=2, quantizer=ClosestSafePair(), kernel=CHAIN, label=0.0
    )
    learner.teach([100.0], "ben")
    learner.unteach([100.0])
    assert unlabeled(learner) == ([3.5, 100.0], [2, 1])
    assert learner.changes().merged == {1: 0}


@given(
    stream=st.lists(
        st.tuples(st.sampled_from(["observe"] * 6 + ["teach", "unteach", "drop"]), GRID),
        min_size=4,
        max_size=40,
    ),
    n_g=st.integers(2, 9),
)
def test_on_a_chain_every_merge_is_that_of_the_oracle(stream, n_g):
    learner, model = pair_of_learners(sigma=1.0, epsilon=0.1, gamma=1e-3, n_g=n_g, quantizer="safe")
    learner.teach([0.0], "ana")
    model.teach([0.0], "ana")
    for verb, x in stream:
        place = [x]
        if verb == "observe":
            assert learner.observe(place).label == model.observe(place).label
        elif verb == "drop":
            vertex = model.vertices[int(x) % len(model.vertices)]
            if vertex.id:
                learner.drop(vertex.id)
                model.drop(vertex.id)
        else:
            here = model._at(place)
            if verb == "teach":
                learner.teach(place, "ana")
                model.teach(place, "ana")
            elif here is not None and here.name and here.id:
                learner.unteach(place)
                model.unteach(place)
        assert_same_state(learner, model)
