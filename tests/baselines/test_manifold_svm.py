"""Online manifold regularisation: the gradient, the buffer, and the stream it should follow."""

import numpy as np
import pytest

from helpers.spiral import KERNEL, follow
from onlooker import HeatKernel
from onlooker.baselines.manifold_svm import OnlineManifoldSVM, project
from onlooker.core.errors import BadValue
from onlooker.core.similarity import Euclidean

COARSE = HeatKernel(bandwidth=1.0, cutoff=0.1)
PLAIN = {"ridge": 0.1, "graph_weight": 0.5, "rate": 0.5, "cap": False, "replay": False}
PLACES = np.array([0.0, 3.0, 1.0, 2.2])
SIZE = 600


def heat(x, y):
    return np.exp(-0.5 * np.subtract.outer(x, y) ** 2)


def values(model, places, name="plus"):
    return np.array([model.margins([x])[name] for x in places])


def coefficients(model, places):
    return np.linalg.solve(heat(places, places), values(model, places))


def agrees(found, expected):
    return np.abs(np.asarray(found) - expected).max() <= 5.1e-5


def worked_example():
    model = OnlineManifoldSVM(COARSE, **PLAIN)
    model.teach([0.0], "plus")
    model.teach([3.0], "minus")
    model.observe([1.0])
    model.observe([2.2])
    return model


def test_the_worked_example_step_by_step():
    model = OnlineManifoldSVM(COARSE, **PLAIN)
    model.teach([0.0], "plus")
    assert agrees(coefficients(model, PLACES[:1]), [0.5])
    assert agrees(values(model, [3.0]), 0.0056)
    model.teach([3.0], "minus")
    assert agrees(coefficients(model, PLACES[:2]), [0.4823, -0.3536])
    assert agrees(values(model, [1.0]), 0.2447)
    assert model.observe([1.0]).label == "plus"
    assert agrees(coefficients(model, PLACES[:3]), [0.4275, -0.3202, 0.0178])
    assert agrees(values(model, [2.2]), -0.1858)
    assert model.observe([2.2]).label == "minus"
    assert agrees(coefficients(model, PLACES), [0.4168, -0.2891, -0.0337, 0.0280])
    assert agrees(values(model, PLACES), [0.3956, -0.2687, 0.1935, -0.1613])
    assert agrees(values(model, [1.6]), 0.0026)
    assert model.observe([9.0]).label is None
    assert len(model) == 4


def test_the_worked_example_of_an_eviction():
    a = coefficients(worked_example(), PLACES)
    moved = project(heat(PLACES, PLACES), a[:, None], gone=0)[:, 0]
    assert moved[0] == 0
    assert agrees(moved[1:], [-0.1799, 0.3051, -0.1792])
    assert agrees(heat(1.6, PLACES) @ moved, 0.0377)
    assert agrees(heat(1.6, PLACES[1:]) @ a[1:], -0.1133), "had it been dropped"


def test_of_two_names_one_function_is_minus_the_other():
    """Whenever the second one was first heard of."""
    model = worked_example()
    for x in (0.3, 1.6, 2.9):
        margins = model.margins([x])
        assert margins["plus"] == pytest.approx(-margins["minus"], abs=1e-15)


def test_the_step_is_the_gradient():
    """Finite differences of J_t along each stored K(x_i, .) give the change of f there."""
    rate, ridge, weight = 1e-2, 0.1, 0.5
    model = OnlineManifoldSVM(
        COARSE, ridge=ridge, graph_weight=weight, rate=rate, cap=False, replay=False
    )
    places = [0.0, 1.1, 0.4]
    for x, name in zip(places, ["plus", "minus", "plus"], strict=True):
        model.teach([x], name)
    places = np.array([*places, 0.8])
    gram, w = heat(places, places), heat(places, places)[-1, :-1]
    before = np.append(coefficients(model, places[:-1]), 0.0)

    def risk(a):
        f = gram @ a
        return 0.5 * ridge * a @ gram @ a + weight * (w * (f[:-1] - f[-1]) ** 2).sum()

    model.observe([0.8])
    moved = gram @ (coefficients(model, places) - before)
    slope = [(risk(before + 1e-6 * e) - risk(before - 1e-6 * e)) / 2e-6 for e in np.eye(4)]
    np.testing.assert_allclose(moved, -rate / np.sqrt(4) * np.array(slope), rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "settings", [{}, {"replay": False}, {"normalise": True}], ids=lambda s: next(iter(s), "default")
)
def test_it_follows_the_stream(seed, settings):
    result = follow(OnlineManifoldSVM(KERNEL, **settings), SIZE, seed)
    assert result.precision > 0.95
    assert result.late > 0.9
    assert result.taken < 0.05


@pytest.mark.parametrize("seed", [0, 1])
def test_without_the_graph_it_is_left_behind(seed):
    """A control: a stream on which this does not fail tests nothing."""
    result = follow(OnlineManifoldSVM(KERNEL, graph_weight=0.0), SIZE, seed)
    assert result.precision < 0.6
    assert result.late < 0.1


@pytest.mark.parametrize("seed", [0, 1])
def test_without_the_cap_steps_overshoot(seed):
    result = follow(OnlineManifoldSVM(KERNEL, cap=False), SIZE, seed)
    assert result.precision < 0.8


def test_it_keeps_no_more_than_its_buffer():
    model = OnlineManifoldSVM(KERNEL, buffer=30)
    follow(model, 200, seed=0)
    assert len(model) == 30


def test_labels_outlive_all_that_is_unlabeled():
    """A stream away from the label does not push it out: its place stays within reach."""
    model = OnlineManifoldSVM(COARSE, buffer=3)
    model.teach([0.0], "ana")
    for x in np.arange(0.5, 20.0, 0.5):
        model.observe([x])
    assert len(model) == 3
    assert model.predict([0.0]).label == "ana"
    assert model.predict([19.0]).label == "ana"
    assert model.predict([10.0]).label is None, "the oldest unlabeled went"


def test_where_all_are_labeled_the_oldest_goes():
    model = OnlineManifoldSVM(COARSE, buffer=2)
    for x, name in [(0.0, "ana"), (10.0, "ben"), (20.0, "eva")]:
        model.teach([x], name)
    assert [model.predict([x]).label for x in (0.0, 10.0, 20.0)] == [None, "ben", "eva"]


def test_a_buffer_full_of_labels_keeps_no_stranger():
    model = OnlineManifoldSVM(COARSE, buffer=2)
    model.teach([0.0], "ana")
    model.teach([10.0], "ben")
    assert model.observe([1.5]).label == "ana"
    assert len(model) == 2
    assert model.predict([3.0]).label is None


def test_examples_at_one_place_do_no_harm():
    """K is singular; the projection still has an answer."""
    model = OnlineManifoldSVM(COARSE, buffer=5)
    model.teach([0.0], "ana")
    model.teach([0.0], "ben")
    model.teach([0.0], "ana")
    for _ in range(20):
        model.observe([0.1])
    assert model.predict([0.1]).label == "ana"
    assert all(np.isfinite(list(model.margins([0.1]).values())))


def test_the_gate_has_the_distance_of_the_similarity_and_k_the_plain_one():
    class Halved(Euclidean):
        def squared(self, gap, own, others):
            return gap / 4

    near = OnlineManifoldSVM(HeatKernel(1.0, 0.1, Halved()), rate=1.0)
    near.teach([0.0], "ana")
    assert near.predict([4.0]).label == "ana"
    assert near.margins([2.0])["ana"] == pytest.approx(np.exp(-2.0))


def test_division_by_the_median_undoes_a_smaller_scale_of_similarity():
    """All pairs at one distance, so all similarities are the median: any scale is the same."""
    answers = []
    for bandwidth in (1.0, 0.5):
        kernel = HeatKernel(bandwidth, 1e-9)
        model = OnlineManifoldSVM(kernel, bandwidth=1.0, normalise=True)
        for x, name in zip(np.eye(3), ["ana", "ben", "eva"], strict=True):
            model.teach(x, name)
        answers.append(model.margins(np.eye(3)[0]))
    assert answers[0] == pytest.approx(answers[1], rel=1e-12)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"buffer": 0}, "buffer must be a whole number of at least 1, got 0"),
        ({"ridge": -1}, "ridge must be a number of at least 0, got -1"),
        ({"graph_weight": "much"}, "graph_weight must be a number of at least 0, got 'much'"),
        ({"rate": -2.0}, "rate must be a number of at least 0"),
        ({"bandwidth": 0.0}, "bandwidth must be a number between"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(wrong, words):
    with pytest.raises(BadValue, match=words):
        OnlineManifoldSVM(KERNEL, **wrong)
