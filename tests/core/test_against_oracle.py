"""Two hundred random streams, every step compared with the oracle that keeps and solves all."""

from types import SimpleNamespace

import numpy as np
import pytest

from helpers.streams import QUANTIZERS, assert_same_answer, assert_same_state, pair_of_learners
from onlooker import OnlookerError
from onlooker.core import walks
from oracle import Refused

STEPS = 32
DOUBLINGS = 30
"""Merging a learner with itself doubles every multiplicity: thirty times make 10^9 of 1."""


def draw_setting(rng, quantizer):
    epsilon = 10.0 ** -rng.integers(2, 13)
    return {
        "sigma": float(rng.choice([0.05, 0.3, 2.0])),
        "epsilon": epsilon,
        "gamma": float(rng.choice([0.0, 1e-3 * epsilon, 10 * epsilon, 10 * epsilon, 0.5])),
        "n_g": int(rng.integers(1, 10)),
        "quantizer": quantizer,
    }


def draw_points(rng, setting, components):
    """Either blobs that never meet or one cloud in which everything hangs together."""
    reach = setting["sigma"] * np.sqrt(-2 * np.log(setting["epsilon"]))
    dimensions = int(rng.integers(2, 9))
    spread = reach / np.sqrt(2 * dimensions)
    places = 5 if components == "many" else 1
    centres = 10 * reach * np.arange(places)[:, None] * np.ones(dimensions)
    spread *= rng.uniform(0.2, 0.5) if components == "many" else rng.uniform(0.5, 0.9)
    points = centres[rng.integers(places, size=STEPS)] + rng.normal(
        scale=spread, size=(STEPS, dimensions)
    )
    again = np.flatnonzero(rng.random(STEPS) < 0.12)[1:]
    points[again] = points[rng.integers(0, again + 1)]
    return points


def draw_verb(rng, step):
    if step == 0:
        return "teach"
    return str(
        rng.choice(
            ["observe", "teach", "unteach", "drop", "forget"], p=[0.76, 0.15, 0.04, 0.03, 0.02]
        )
    )


def draw_guarded_verb(rng, step):
    """The same with negatives among them."""
    if step > 1 and rng.random() < 0.15:
        return str(rng.choice(["not", "not", "nobody"]))
    return draw_verb(rng, step)


def play(rng, learner, model, verb, x):
    """One verb on both; nothing where it does not apply."""
    if verb == "observe":
        assert_same_answer(learner.predict(x), model.predict(x))
        assert_same_answer(learner.observe(x), model.observe(x))
    elif verb == "teach":
        here = model._at(x)
        if here is not None and here.not_names:
            return
        name = here.name if here is not None and here.name else str(rng.choice(["a", "b", "c"]))
        learner.teach(x, name)
        model.teach(x, name)
    elif verb in ("not", "nobody"):
        here = model._at(x)
        name = str(rng.choice(model.names or ["a"])) if verb == "not" else None
        place = rng.choice(model.vertices).vector if rng.random() < 0.4 and model.vertices else x
        options = {"nobody": True} if name is None else {"not_name": name}
        try:
            model.teach_not(place, name)
        except Refused:
            with pytest.raises(OnlookerError):
                learner.teach(place, **options)
        else:
            learner.teach(place, **options)
    elif verb == "unteach":
        taught = [c.vector for c in model.vertices if c.name is not None or c.not_names]
        if taught:
            back = taught[rng.integers(len(taught))]
            learner.unteach(back)
            model.unteach(back)
    elif verb == "drop":
        if model.vertices:
            vertex = model.vertices[rng.integers(len(model.vertices))].id
            learner.drop(vertex)
            model.drop(vertex)
    elif model.names:
        name = str(rng.choice(model.names))
        learner.forget(name)
        model.forget(name)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("components", ["many", "one"])
@pytest.mark.parametrize("quantizer", QUANTIZERS)
def test_every_step_agrees_with_the_oracle(quantizer, components, seed):
    rng = np.random.default_rng([seed, len(quantizer), len(components)])
    setting = draw_setting(rng, quantizer)
    learner, model = pair_of_learners(**setting)
    for step, x in enumerate(draw_points(rng, setting, components)):
        play(rng, learner, model, draw_verb(rng, step), x)
        assert_same_state(learner, model)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("seed", range(50))
@pytest.mark.parametrize("quantizer", QUANTIZERS)
def test_every_step_with_trust_radius_and_negatives_agrees_with_the_oracle(
    monkeypatch, tmp_path, quantizer, seed, large
):
    """Two hundred streams of all verbs; halfway the learner is saved and loaded."""
    if large:
        monkeypatch.setattr(walks, "LARGE", 1)
        monkeypatch.setattr(walks, "LARGE_SHARE", 0.0)
    rng = np.random.default_rng([seed, len(quantizer), large, 2])
    setting = draw_setting(rng, quantizer)
    reach = setting["sigma"] * np.sqrt(-2 * np.log(setting["epsilon"]))
    radius = rng.choice([0.0, 0.3, 0.6, 1.1, 2.0])
    setting["trust_radius"] = float(radius * reach) or None
    learner, model = pair_of_learners(**setting)
    for step, x in enumerate(draw_points(rng, setting, ["many", "one"][seed % 2])):
        play(rng, learner, model, draw_guarded_verb(rng, step), x)
        assert_same_state(learner, model)
        if step == STEPS // 2:
            learner.save(tmp_path / "learner")
            learner = type(learner).load(tmp_path / "learner")
    assert learner.owners() == {c.id: model.owner(c.id) for c in model.vertices}
    masses, expected = learner.masses(), model.masses()
    assert list(masses) == list(expected)
    assert masses == pytest.approx(expected, rel=0, abs=1e-8 * learner.examples)
    assert learner.examples == sum(c.multiplicity for c in model.vertices)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("quantizer", QUANTIZERS)
def test_every_step_agrees_with_the_oracle_at_multiplicities_of_a_billion(quantizer, seed):
    rng = np.random.default_rng([seed, len(quantizer)])
    setting = draw_setting(rng, quantizer)
    learner, model = pair_of_learners(**setting)
    points = draw_points(rng, setting, "one")
    for step, x in enumerate(points[:12]):
        play(rng, learner, model, "teach" if step in (0, 3) else "observe", x)
    for _ in range(DOUBLINGS):
        learner.merge(learner)
        model.merge(model)
        assert_same_state(learner, model)
    assert learner.vertices().multiplicities.max() >= 2**DOUBLINGS
    for x in points[12:]:
        play(rng, learner, model, draw_verb(rng, 1), x)
        assert_same_state(learner, model)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("quantizer", QUANTIZERS)
def test_every_step_agrees_with_the_oracle_when_everything_counts_as_large(
    monkeypatch, quantizer, seed
):
    """What large components go through, at a size at which the oracle can follow every step."""
    monkeypatch.setattr(walks, "LARGE", 1)
    monkeypatch.setattr(walks, "LARGE_SHARE", 0.0)
    rng = np.random.default_rng([seed, len(quantizer), 1])
    setting = draw_setting(rng, quantizer) | {"n_g": int(rng.integers(6, 16))}
    learner, model = pair_of_learners(**setting)
    for step, x in enumerate(draw_points(rng, setting, ["many", "one"][seed % 2])):
        play(rng, learner, model, draw_verb(rng, step), x)
        assert_same_state(learner, model)


@pytest.mark.parametrize("seed", range(6))
def test_the_oracle_itself_agrees_with_fifty_digits_on_a_stream(seed):
    """Otherwise the two above would compare one rounding with another."""
    rng = np.random.default_rng(seed)
    setting = draw_setting(rng, "closest") | {"n_g": 6}
    _, plain = pair_of_learners(**setting)
    _, exact = pair_of_learners(**setting)
    exact.solver = "mpmath"
    for step, x in enumerate(draw_points(rng, setting, "one")[:16]):
        if step in (0, 3):
            plain.teach(x, "ab"[step % 2])
            exact.teach(x, "ab"[step % 2])
        else:
            assert_same_answer(plain.observe(x), exact.observe(x), tolerance=1e-12)


def test_an_answer_of_the_oracle_is_compared_in_every_part():
    """The comparison is worth as much as it can tell apart."""
    answer = {"label": "a", "scores": {"a": 0.7, "b": 0.2}, "sink": 0.1, "vertex": 3}
    answer |= {"candidate": None, "support": "direct"}
    expected = SimpleNamespace(**answer, confidence=0.5)
    assert_same_answer(SimpleNamespace(**answer), expected)
    others = [{"label": "b"}, {"label": None}, {"sink": 0.11}, {"vertex": None}]
    for other in [*others, {"candidate": "a"}, {"support": "inferred"}]:
        with pytest.raises(AssertionError):
            assert_same_answer(SimpleNamespace(**(answer | other)), expected)
    with pytest.raises(AssertionError):
        assert_same_answer(
            SimpleNamespace(**(answer | {"scores": {"a": 0.7, "b": 0.2 + 2e-8}})), expected
        )
