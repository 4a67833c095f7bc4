"""Taking names out and putting learners together: what must change, and what must not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.streams import state
from onlooker import (
    ClosestPair,
    ClosestSafePair,
    Cosine,
    Doubling,
    HeatKernel,
    OnlineHarmonicLearner,
)
from onlooker.core.errors import Incompatible, LabelConflict, NotFound, OnlookerError
from onlooker.core.union import _order

KERNEL = HeatKernel(0.5, 1e-3)

grid = st.tuples(st.integers(-4, 4), st.integers(-4, 4)).map(lambda p: (p[0] / 2, p[1] / 2))
quantizers = st.sampled_from([ClosestPair(), ClosestSafePair(), Doubling()])


@st.composite
def learners(draw, names=("ana", "ben")):
    """A learner that has seen a little; ana is taught on the left and ben on the right."""
    learner = OnlineHarmonicLearner(
        KERNEL, sink=0.01, max_vertices=draw(st.integers(1, 5)), quantizer=draw(quantizers)
    )
    for x in draw(st.lists(grid, max_size=4)):
        learner.teach(x, names[x[0] > 0])
    for x in draw(st.lists(grid, max_size=12)):
        learner.observe(x)
    return learner


def total(learner):
    return int(learner.vertices().multiplicities.sum())


def two_people():
    """ana at 0 and ben at 3, one vertex beside each, the one of ana seen twice."""
    learner = OnlineHarmonicLearner(KERNEL, sink=0.01)
    for x, name in (([0.0], "ana"), ([3.0], "ben"), ([0.5], None), ([0.5], None), ([2.5], None)):
        learner.observe(x) if name is None else learner.teach(x, name)
    return learner


# Forgetting --------------------------------------------------------------------------------


def test_a_receipt_counts_what_went():
    learner = two_people()
    receipt = learner.forget("ana")
    assert (receipt.labeled, receipt.unlabeled) == (1, 1)
    assert (receipt.multiplicity, receipt.unreachable) == (3, ())
    assert learner.names == ("ben",)
    assert learner.vertices().vectors.ravel().tolist() == [3.0, 2.5]
    assert sorted(learner.changes().dropped) == [0, 2]


def test_vertices_without_a_path_to_a_label_are_reported():
    """Taking a label back leaves its surroundings behind; forgetting another name reports them."""
    learner = two_people()
    learner.unteach([3.0])
    receipt = learner.forget("ana")
    assert receipt.unreachable == (1, 3)
    assert len(learner) == 2
    assert learner.predict([3.0]).label is None


@given(learner=learners())
def test_after_forgetting_every_vertex_reaches_a_label_or_is_reported(learner):
    for name in learner.names:
        before, counted = len(learner), total(learner)
        receipt = learner.forget(name)
        assert name not in learner.names
        assert before - len(learner) == receipt.labeled + receipt.unlabeled
        assert counted - total(learner) == receipt.multiplicity
        vertices = learner.vertices()
        for vertex, vector in zip(vertices.ids.tolist(), vertices.vectors, strict=True):
            nobody = learner.predict(vector).label is None
            assert nobody == (vertex in receipt.unreachable)


@given(learner=learners())
def test_nothing_that_is_left_is_called_by_a_forgotten_name(learner):
    for name in learner.names:
        learner.forget(name)
        assert name not in learner.vertices().names
        for vector in learner.vertices().vectors:
            assert name not in learner.predict(vector).scores


def test_a_forgotten_name_can_be_taught_again():
    learner = two_people()
    learner.forget("ana")
    learner.teach([0.0], "ana")
    assert learner.names == ("ben", "ana")
    assert learner.predict([0.5]).label == "ana"


def test_forgetting_a_stranger_is_refused_and_changes_nothing():
    learner = two_people()
    before = state(learner)
    with pytest.raises(NotFound, match="'cleo'"):
        learner.forget("cleo")
    assert state(learner) == before


# Merging -----------------------------------------------------------------------------------


@given(first=learners(), second=learners())
def test_multiplicities_are_conserved_and_the_budget_holds(first, second):
    expected = total(first) + total(second)
    labeled = {
        (tuple(vector), name)
        for learner in (first, second)
        for vector, name in zip(learner.vertices().vectors, learner.vertices().names, strict=True)
        if name is not None
    }
    first.merge(second)
    vertices = first.vertices()
    assert total(first) == expected
    assert vertices.names.count(None) <= first.max_vertices
    found = {
        (tuple(vector), name)
        for vector, name in zip(vertices.vectors, vertices.names, strict=True)
        if name is not None
    }
    assert found == labeled
    assert set(first.names) == {name for _, name in labeled}


@given(first=learners(), second=learners())
def test_the_other_learner_is_left_alone(first, second):
    before, changes = state(second), second.changes()
    first.merge(second)
    first.observe((0.0, 0.0))
    assert state(second) == before
    assert second.changes() == changes


@given(first=learners(), second=learners())
def test_the_larger_radius_is_taken(first, second):
    least = max(first.radius, second.radius)
    first.merge(second)
    assert first.radius >= least
    if not first.changes().doubled:
        assert first.radius == least


@given(learner=learners())
def test_merging_a_learner_with_itself_doubles_every_multiplicity(learner):
    learner.merge(learner)  # a doubling's own invariant is restored first
    vertices = learner.vertices()
    learner.merge(learner)
    again = learner.vertices()
    np.testing.assert_array_equal(again.ids, vertices.ids)
    np.testing.assert_array_equal(again.multiplicities, 2 * vertices.multiplicities)


def test_equal_points_add_up():
    first, second = two_people(), two_people()
    first.merge(second)
    assert len(first) == 4
    assert first.vertices().multiplicities.tolist() == [2, 2, 4, 2]


@pytest.mark.parametrize("taught_here", [True, False])
def test_a_label_wins_over_an_unlabeled_vertex_at_its_place(taught_here):
    """Whichever side it comes from."""
    first, second = two_people(), two_people()
    (first if taught_here else second).teach([0.5], "ana")
    first.merge(second)
    assert first.vertices().names == ("ana", "ben", "ana", None)
    assert first.vertices().multiplicities.tolist() == [2, 2, 5, 2]


def test_an_empty_learner_becomes_the_other():
    first, second = OnlineHarmonicLearner(KERNEL, sink=0.01), two_people()
    first.merge(second)
    assert state(first) == state(second)
    second.merge(OnlineHarmonicLearner(KERNEL, sink=0.01))
    assert state(first) == state(second)


def test_merged_names_follow_the_order_in_which_they_were_taught():
    """A tie goes to the name taught first; the age of a vertex is not the age of its name."""
    other = two_people()
    other.unteach([0.0])
    other.teach([0.0], "ana")
    assert other.names == ("ben", "ana")
    learner = OnlineHarmonicLearner(KERNEL, sink=0.01)
    learner.merge(other)
    assert learner.names == ("ben", "ana")


def test_the_same_vectors_in_single_precision_meet_at_the_same_place():
    first, second = two_people(), OnlineHarmonicLearner(KERNEL, sink=0.01)
    second.teach(np.array([0.5], dtype=np.float32), "ana")
    first.merge(second)
    assert len(first) == 4
    assert first.vertices().vectors.dtype == np.float64


def test_labels_that_fall_together_in_single_precision_are_refused():
    """Two places that only double precision tells apart, with two names."""
    narrow = OnlineHarmonicLearner(KERNEL, sink=0.01)
    narrow.teach(np.array([5.0], dtype=np.float32), "cleo")
    wide = OnlineHarmonicLearner(KERNEL, sink=0.01)
    wide.teach([1.0], "ana")
    wide.teach([1.0 + 1e-12], "ben")
    before = state(narrow)
    with pytest.raises(OnlookerError):
        narrow.merge(wide)
    assert state(narrow) == before


REFUSED = {
    "features": {"features": "faces"},
    "bandwidth": {"kernel": HeatKernel(0.6, 1e-3)},
    "cutoff": {"kernel": HeatKernel(0.5, 1e-4)},
    "distance": {"kernel": HeatKernel(0.5, 1e-3, Cosine())},
    "sink": {"sink": 0.02},
}


def other_learner(*, kernel=KERNEL, sink=0.01, features=""):
    return OnlineHarmonicLearner(kernel, sink=sink, features=features)


@pytest.mark.parametrize("what", REFUSED)
def test_learners_of_another_kind_are_refused_and_nothing_changes(what):
    learner, other = two_people(), other_learner(**REFUSED[what])
    other.teach([7.0], "cleo")
    before = state(learner)
    with pytest.raises(Incompatible):
        learner.merge(other)
    assert state(learner) == before


def test_vectors_of_another_length_are_refused_and_nothing_changes():
    learner, other = two_people(), other_learner()
    other.teach([7.0, 7.0], "cleo")
    before = state(learner)
    with pytest.raises(Incompatible, match=r"1 .*2"):
        learner.merge(other)
    assert state(learner) == before


def test_a_conflict_of_names_is_refused_before_anything_was_merged():
    learner, other = two_people(), other_learner()
    other.teach([9.0], "cleo")
    other.teach([3.0], "ana")  # ben stands here
    before, changes = state(learner), learner.changes()
    with pytest.raises(LabelConflict, match=r"'ben'.*'ana'"):
        learner.merge(other)
    assert state(learner) == before
    assert learner.changes() == changes


def test_only_learners_can_be_merged():
    learner = two_people()
    before = state(learner)
    with pytest.raises(Incompatible, match="'ana'"):
        learner.merge("ana")
    assert state(learner) == before


def test_dropping_the_last_label_of_a_name_drops_the_name():
    learner = two_people()
    learner.drop(0)
    assert learner.names == ("ben",)
    assert learner.predict([0.0]).label is None
    assert learner.changes().dropped == (0,)


def test_the_order_of_vectors_in_a_merge_tells_all_numbers_apart_but_the_two_zeros():
    """However small they are, so that a merge does not depend on who is merged into whom."""
    small = np.array([0.0, 1e-20, 2e-20, -1e-20, 5e-324, 1.0])
    assert len({_order(np.array([number])) for number in small}) == len(small)
    assert _order(np.array([-0.0])) == _order(np.array([0.0]))
