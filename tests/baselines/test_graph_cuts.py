"""Max-margin graph cuts: the exact part against its worked example, and the stream."""

import numpy as np
import pytest

from helpers.spiral import KERNEL, follow, spiral
from onlooker import Doubling, HeatKernel
from onlooker.baselines.graph_cuts import MaxMarginGraphCuts, max_margin, soft_labels
from onlooker.core.errors import BadValue, LabelConflict
from onlooker.core.harmonic import harmonic_solution

COARSE = HeatKernel(bandwidth=1.0, cutoff=0.1)
X = np.array([0.0, 1.0, 2.0, 3.0, 4.5])
LABELED = np.array([True, False, False, False, True])
SIGNED = [1.0, 0.0, 0.0, 0.0, -1.0]
WEIGHTS = np.array([COARSE.similarity([x], X[:, None]) for x in X])


def linear(x, y):
    return np.multiply.outer(x, y) + 1.0


def gaussian(x, y):
    return np.exp(-0.5 * np.subtract.outer(x, y) ** 2)


def agrees(found, expected, within=5.1e-5):
    return np.abs(np.asarray(found) - expected).max() <= within


def soft(sink=0.1, **more):
    return harmonic_solution(WEIGHTS, SIGNED, LABELED, sink=sink, **more)


def objective(gram, a, labels, margin, v):
    f = gram @ a
    return (v * np.maximum(0.0, 1.0 - np.sign(labels) * f)).sum() + margin * a @ gram @ a


def test_the_soft_labels_of_the_worked_example():
    assert agrees(soft(), [1, 0.5338, 0.2893, -0.0659, -1])
    assert agrees(soft(0.0), [1, 0.6143, 0.3693, -0.0164, -1])
    scores = harmonic_solution(WEIGHTS, np.eye(2)[[0, 0, 0, 0, 1]], LABELED, sink=0.1)
    assert agrees(scores[:, 0], [1, 0.6685, 0.5188, 0.3473, 0])
    np.testing.assert_allclose(soft_labels(scores), np.outer(soft(), [1, -1]), atol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "confidence", "expected"),
    [
        (linear, 1e-6, {1.6: 0.4, 2.2: -0.2, 2.6: -0.6}),
        (linear, 0.3, {1.6: 0.6571, 2.6: 0.0857}),
        (gaussian, 1e-6, {1.6: 1.4647, 2.2: 0.6372, 2.6: -0.2217}),
        (gaussian, 0.3, {1.6: 0.6803, 2.6: 0.0304}),
    ],
)
def test_the_boundary_of_the_worked_example(kernel, confidence, expected):
    a = max_margin(kernel(X, X), soft(), margin=0.1, confidence=confidence)
    for x, value in expected.items():
        assert agrees(kernel(x, X) @ a, value, within=1e-4)
    assert not a[np.abs(soft()) < confidence].any()


def test_the_objective_of_the_worked_example():
    for kernel, value in [(linear, 1.5), (gaussian, 0.5673)]:
        gram = kernel(X, X)
        assert agrees(objective(gram, max_margin(gram, soft()), soft(), 0.1, 1.0), value)
    gram = gaussian(X, X)
    assert agrees(gram @ max_margin(gram, soft()), [1, 1.5224, 1, -1, -1])


@pytest.mark.parametrize("seed", range(5))
def test_no_other_function_has_a_smaller_objective(seed):
    """The duality gap closes: what the dual promises, the primal reaches."""
    random = np.random.default_rng(seed)
    x, labels = random.uniform(-2, 2, 30), random.uniform(-1, 1, 30)
    v, margin = random.integers(1, 5, 30), 0.3
    gram = gaussian(x, x)
    a = max_margin(gram, labels, margin=margin, multiplicity=v)
    promised = 2 * margin * np.abs(a).sum() - margin * a @ gram @ a
    reached = objective(gram, a, labels, margin, v)
    assert promised <= reached <= promised + 1e-6 * reached
    assert (np.abs(a) <= v / (2 * margin)).all()


def test_a_vertex_that_stands_for_two_is_two():
    """Proposition 1 for the labels, and the weight of the hinge for the boundary."""
    v, twice = np.array([1, 2, 1, 1, 1]), [0, 1, 1, 2, 3, 4]
    merged = soft(multiplicity=v)
    assert agrees(merged, [1, 0.6199, 0.4594, 0.0935, -1])
    a = max_margin(gaussian(X, X), merged, multiplicity=v)
    b = max_margin(gaussian(X[twice], X[twice]), merged[twice])
    np.testing.assert_allclose(gaussian(X, X) @ a, gaussian(X, X[twice]) @ b, atol=1e-4)


def test_where_it_begins_makes_no_difference():
    gram, labels = gaussian(X, X), soft()
    cold = max_margin(gram, labels)
    for start in (cold, -cold, np.full(5, 99.0)):
        warm = max_margin(gram, labels, start=start)
        np.testing.assert_allclose(gram @ warm, gram @ cold, atol=1e-4)


def test_online_and_refitted_at_every_step_it_is_the_offline_one():
    model = MaxMarginGraphCuts(COARSE, sink=0.1, bandwidth=1.0, refit_every=1)
    model.teach([0.0], "plus")
    model.teach([4.5], "minus")
    for x in (1.0, 2.0, 3.0):
        model.observe([x])
    a = max_margin(gaussian(X, X), soft())
    for x in (0.0, 1.6, 2.2, 2.6, 4.0):
        margins = model.margins([x])
        assert margins["plus"] == pytest.approx(gaussian(x, X) @ a, abs=1e-4)
        assert margins["minus"] == pytest.approx(-margins["plus"], abs=1e-4)
    assert model.learned_from == len(model) == 5


def test_between_refits_boundary_and_gate_stay():
    model = MaxMarginGraphCuts(COARSE, refit_every=3)
    model.teach([0.0], "ana")
    for x in (1.5, 2.0):
        assert model.observe([x]).label == "ana"
    assert len(model) == 3
    assert model.observe([3.5]).label is None, "near to what the graph has, not to what was learned"
    assert model.predict([3.5]).label == "ana"


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("refit_every", "least"), [(10, 0.85), (2, 0.95)])
def test_it_follows_the_stream(seed, refit_every, least):
    """The seldomer it learns, the more often the stream is ahead of the gate."""
    model = MaxMarginGraphCuts(KERNEL, max_vertices=150, refit_every=refit_every)
    result = follow(model, 500, seed)
    assert result.precision > 0.97
    assert result.late > least
    assert result.taken < 0.05
    assert len(model) <= 150 + 8


@pytest.mark.parametrize("seed", [0, 1])
def test_a_boundary_learned_from_labels_alone_is_left_behind(seed):
    """A control: a stream on which this does not fail tests nothing."""
    labeled, stream = spiral(500, seed)
    places = np.array([x for x, _ in labeled])
    smooth = HeatKernel(3 * KERNEL.bandwidth, 1e-300)
    gram = np.array([smooth.similarity(x, places) for x in places])
    a = max_margin(gram, [1.0 if name == "ana" else -1.0 for _, name in labeled])
    late = [(x, name) for x, name in stream[250:] if name is not None]
    sides = [smooth.similarity(x, places) @ a > 0 for x, _ in late]
    right = [side == (name == "ana") for side, (_, name) in zip(sides, late, strict=True)]
    assert np.mean(right) < 0.1


def test_learning_from_the_certain_only_is_learning_from_labels():
    result = follow(MaxMarginGraphCuts(KERNEL, max_vertices=80, confidence=1.0), 300, seed=0)
    assert result.recall < 0.2
    assert result.late == 0


def test_merged_vertices_leave_nothing_behind():
    """The store follows the graph through merges: at the end it is that of a fresh fit."""
    model = MaxMarginGraphCuts(KERNEL, max_vertices=30, quantizer=Doubling(), refit_every=1)
    follow(model, 200, seed=3)
    vertices = model._learner.vertices()
    assert sorted(model._ids) == vertices.ids.tolist()
    order = np.argsort(model._ids)
    for place in range(len(vertices.ids)):
        others = KERNEL.similarity(vertices.vectors[place], vertices.vectors)
        others[place] = 0.0
        found = model._weights.values[order[place], order]
        np.testing.assert_allclose(found, others, atol=1e-12)


def test_two_names_at_one_place_are_refused_as_by_the_learner():
    model = MaxMarginGraphCuts(COARSE)
    model.teach([0.0], "ana")
    with pytest.raises(LabelConflict):
        model.teach([0.0], "ben")
    assert model.predict([0.1]).scores == {"ana": 1.0}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"sink": -1}, "sink must be a number of at least 0, got -1"),
        ({"max_vertices": 0}, "max_vertices must be a whole number of at least 1"),
        ({"quantizer": Doubling}, "quantizer must be"),
        ({"margin": 0}, "margin must be a number of at least"),
        ({"confidence": -1e-6}, "confidence must be a number of at least 0"),
        ({"bandwidth": -1.0}, "bandwidth must be a number between"),
        ({"refit_every": 0}, "refit_every must be a whole number of at least 1"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(wrong, words):
    with pytest.raises(BadValue, match=words):
        MaxMarginGraphCuts(KERNEL, **wrong)
