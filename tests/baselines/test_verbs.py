"""What all rivals have in common: the learner's verbs, and their manners."""

import copy

import numpy as np
import pytest

from helpers.spiral import KERNEL, spiral
from onlooker import HeatKernel
from onlooker.baselines.boosting import OnlineSemiBoost
from onlooker.baselines.graph_cuts import MaxMarginGraphCuts
from onlooker.baselines.manifold_svm import OnlineManifoldSVM
from onlooker.baselines.nearest import NearestNeighbour
from onlooker.baselines.self_training import SelfTraining
from onlooker.baselines.temporal_propagation import TemporalLabelPropagation
from onlooker.core.errors import BadName, BadValue, BadVector, WrongVectorLength
from onlooker.core.similarity import Cosine

LABELED, STREAM = spiral(160, seed=5)
X = np.array([x for x, _ in STREAM])
FAR = [60.0, 60.0]

RIVALS = {
    "nearest": NearestNeighbour,
    "self-training": SelfTraining,
    "bounded self-training": lambda kernel: SelfTraining(kernel, max_examples=40),
    "random self-training": lambda kernel: SelfTraining(kernel, max_examples=40, evict="random"),
    "boosting": lambda kernel: OnlineSemiBoost(kernel, X),
    "strict boosting": lambda kernel: OnlineSemiBoost(kernel, X, pseudo="strict", selectors=40),
    "manifold": lambda kernel: OnlineManifoldSVM(kernel, buffer=40),
    "scaled manifold": lambda kernel: OnlineManifoldSVM(kernel, buffer=40, normalise=True),
    "temporal propagation": lambda kernel: TemporalLabelPropagation(kernel, window=40),
    "cuts": lambda kernel: MaxMarginGraphCuts(kernel, max_vertices=40),
}


@pytest.fixture(params=RIVALS.values(), ids=RIVALS)
def rival(request):
    return request.param(KERNEL)


def taught(model):
    for x, name in LABELED:
        model.teach(x, name)
    return model


def test_predict_is_what_observe_will_answer_and_leaves_no_trace(rival):
    model, twin = taught(rival), copy.deepcopy(rival)
    for x in X:
        first, second = model.predict(x), model.predict(x)
        assert first == second == model.observe(x) == twin.observe(x)
    assert len(model) == len(twin)


def test_a_stranger_far_away_is_nobody_and_changes_nothing(rival):
    watching, twin = taught(rival), copy.deepcopy(rival)
    for x in X:
        before = len(watching)
        answer = watching.observe(FAR)
        assert (answer.label, answer.sink, len(watching)) == (None, 1.0, before)
        assert set(answer.scores.values()) == {0.0}
        assert watching.observe(x) == twin.observe(x)


def test_all_are_strangers_before_the_first_label(rival):
    size = len(rival)
    for x in X[:20]:
        answer = rival.observe(x)
        assert (answer.label, answer.scores) == (None, {})
    assert len(rival) == size
    rival.teach(X[0], "ana")
    assert rival.observe(X[0]).label == "ana"


def test_one_name_only_is_given_to_all_within_reach(rival):
    rival.teach(X[0], "ana")
    answer = rival.observe(X[0] + 0.01)
    assert (answer.label, answer.scores) == ("ana", {"ana": 1.0})
    assert rival.observe(FAR).label is None


def test_scores_are_shares_of_all_names_in_the_order_they_were_taught(rival):
    taught(rival)
    for x in X:
        answer = rival.observe(x)
        assert list(answer.scores) == ["ana", "ben"]
        assert sum(answer.scores.values()) + answer.sink == pytest.approx(1)
        assert all(0 <= share <= 1 for share in answer.scores.values())
        if answer.label is not None:
            assert answer.scores[answer.label] == max(answer.scores.values())


def test_a_new_name_comes_at_any_time(rival):
    """With a single label, in the middle of the stream."""
    taught(rival)
    for x in X[:80]:
        rival.observe(x)
    rival.teach(X[80] + 0.7, "eva")
    assert rival.predict(X[80] + 0.7).label == "eva"
    assert list(rival.predict(X[0]).scores) == ["ana", "ben", "eva"]
    for x in X[80:]:
        rival.observe(x)


def test_the_same_bits_whatever_type_the_numbers_come_in(rival):
    twin = copy.deepcopy(rival)
    for x, name in LABELED:
        rival.teach(x.tolist(), name)
        twin.teach(x, name)
    for x in X[:40]:
        assert rival.observe(x.tolist()) == twin.observe(x)


def test_vectors_that_were_handed_in_may_be_changed_later(rival):
    x = X[0].copy()
    rival.teach(x, "ana")
    x += 50.0
    assert rival.predict(X[0]).label == "ana"


@pytest.mark.parametrize("verb", ["teach", "observe", "predict"])
@pytest.mark.parametrize(
    ("x", "error"),
    [
        ([1.0, 2.0, 3.0], WrongVectorLength),
        ([1.0, np.nan], BadVector),
        ([[1.0, 2.0]], BadVector),
        (["a", "b"], BadVector),
    ],
)
def test_vectors_that_cannot_be_used_are_refused(rival, verb, x, error):
    taught(rival)
    size, before = len(rival), rival.predict(X[0])
    with pytest.raises(error):
        getattr(rival, verb)(x, *(["ana"] if verb == "teach" else []))
    assert (len(rival), rival.predict(X[0])) == (size, before)


@pytest.mark.parametrize("name", ["", " ", 3, None])
def test_names_that_cannot_be_used_are_refused(rival, name):
    size = len(rival)
    with pytest.raises(BadName):
        rival.teach(X[0], name)
    assert len(rival) == size
    assert rival.predict(X[0]).scores == {}


@pytest.mark.parametrize("build", RIVALS.values(), ids=RIVALS)
def test_the_kernel_must_be_one(build):
    with pytest.raises(BadValue, match="kernel must be a HeatKernel, got 3"):
        build(3)


@pytest.mark.parametrize("build", RIVALS.values(), ids=RIVALS)
def test_other_distances_decide_who_is_near(build):
    """For Cosine, what lies in one direction is at one place."""
    model = build(HeatKernel(0.1, 1e-3, Cosine()))
    model.teach(X[0], "ana")
    assert model.observe(3.0 * X[0]).label == "ana"
    assert model.observe(-X[0]).label is None
