"""Section 2.2: the distance of two faces, corrected for added and multiplied light."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker import HeatKernel, OnlineHarmonicLearner, OnlookerError
from onlooker.core.similarity import squared_distances, squared_gaps, squared_norms
from onlooker.vision.pixels import LightCorrected, psi

SIDE = 12
DISTANCE = LightCorrected(SIDE)
ROOTS = np.sqrt(psi(SIDE, DISTANCE.spread))

seeds = st.integers(0, 10**6)


def faces(seed, count=2, noise=0.05):
    """Intensities in (0, 1] of pictures that resemble each other."""
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.2, 0.8, SIDE**2)
    return np.clip(base + noise * rng.normal(size=(count, SIDE**2)), 0.02, 1.0)


def literal(x, y):
    """Equation (7), word for word."""
    weights = psi(SIDE, DISTANCE.spread)

    def norm(difference):
        return np.sqrt((weights * difference**2).sum())

    return min(
        norm(x - y),
        norm((x - x.mean()) - (y - y.mean())),
        norm(x / x.mean() - y / y.mean()),
    )


def measured(x, y):
    return float(np.sqrt(squared_distances(DISTANCE, x * ROOTS, (y * ROOTS)[None])[0]))


@given(seed=seeds, noise=st.sampled_from([1e-3, 0.05, 0.3]))
def test_one_gap_and_three_moments_give_the_three_terms(seed, noise):
    x, y = faces(seed, noise=noise)
    assert measured(x, y) == pytest.approx(literal(x, y), rel=1e-9, abs=1e-9)


@given(seed=seeds, light=st.floats(0.0, 0.15))
def test_added_light_makes_no_difference(seed, light):
    x = faces(seed)[0]
    assert measured(x, x + light) == pytest.approx(0.0, abs=1e-7)


@given(seed=seeds, light=st.floats(0.5, 1.2))
def test_multiplied_light_makes_no_difference(seed, light):
    x = faces(seed)[0]
    assert measured(x, x * light) == pytest.approx(0.0, abs=1e-7)


@given(seed=seeds, less=st.floats(0.0, 1.0))
def test_a_smaller_gap_never_makes_a_larger_distance(seed, less):
    """What lets a bound of the gap bound the distance."""
    vectors = faces(seed, count=6) * ROOTS
    own, others = DISTANCE.moments(vectors[:1])[0], DISTANCE.moments(vectors[1:])
    gaps = squared_norms(vectors[1:] - vectors[0])
    assert (DISTANCE.squared(less * gaps, own, others) <= DISTANCE.squared(gaps, own, others)).all()


def test_two_steps_of_length_zero_can_add_up_to_a_long_one():
    """Not a metric: brighter by a factor, then by a shift."""
    x = faces(seed=1)[0]
    brighter = 1.4 * x
    shifted = brighter + 0.2
    assert measured(x, brighter) < 1e-6
    assert measured(brighter, shifted) < 1e-6
    assert measured(x, shifted) > 1e-2


def test_the_middle_of_the_picture_counts_for_more():
    x = np.full(SIDE**2, 0.5)
    middle, corner = x.copy(), x.copy()
    middle[SIDE * SIDE // 2 + SIDE // 2] += 0.2
    corner[0] += 0.2
    assert measured(x, middle) > measured(x, corner)


def test_a_black_picture_is_refused_before_anything_is_divided_by_its_mean():
    learner = OnlineHarmonicLearner(HeatKernel(0.025, 1e-5, DISTANCE))
    learner.teach(faces(seed=2)[0] * ROOTS, "ana")
    with pytest.raises(OnlookerError, match="black"):
        learner.observe(np.zeros(SIDE**2))
    assert len(learner) == 1


@given(seed=seeds, noise=st.sampled_from([1e-6, 0.05, 0.3]))
def test_block_means_never_overestimate_a_gap(seed, noise):
    vectors = (faces(seed, count=8, noise=noise) * ROOTS).astype(np.float32)
    sketch = DISTANCE.sketch(vectors[0])
    sketches, spreads = sketch.project(vectors)
    inner = sketches.astype(np.float64) @ sketches.T.astype(np.float64)
    bounds = (spreads[:, None] + spreads) * (1 - sketch.slack) - 2 * inner
    everyone = np.arange(len(vectors))
    norms = squared_norms(vectors)
    for row, vector in enumerate(vectors.astype(np.float64)):
        gaps = squared_gaps(vector, float(norms[row]), vectors, norms, everyone)
        assert (bounds[row] <= gaps + 1e-15).all()


@pytest.mark.parametrize("cutoff", [1e-3, 1e-8])
def test_pruning_by_block_means_changes_no_answer(cutoff, monkeypatch):
    stream = np.concatenate([faces(seed, count=12, noise=0.02) for seed in range(5)]) * ROOTS
    stream = np.random.default_rng(0).permutation(stream).astype(np.float32)

    def answers():
        learner = OnlineHarmonicLearner(HeatKernel(0.025, cutoff, DISTANCE), max_vertices=20)
        for seed in range(4):
            learner.teach((faces(seed, noise=0.02)[0] * ROOTS).astype(np.float32), f"p{seed}")
        return [learner.observe(x) for x in stream]

    pruned = answers()
    monkeypatch.delattr(LightCorrected, "sketch")
    assert answers() == pruned
    assert {answer.label for answer in pruned} == {"p0", "p1", "p2", "p3", None}
