"""The numerical hazards of the core: single precision, counters, extremes."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from helpers.streams import state
from onlooker import HeatKernel, OnlineHarmonicLearner, OnlookerError


def near_duplicates(seed, *, length, offset, spread):
    """Two rows of single precision that agree in most of their digits."""
    rng = np.random.default_rng(seed)
    row = (offset + rng.random(length)).astype(np.float32)
    return row, (row + (spread * rng.normal(size=length)).astype(np.float32)).astype(np.float32)


@pytest.mark.parametrize("length", [16, 9216])
@given(
    seed=st.integers(0, 10**6),
    offset=st.sampled_from([0.0, 1.0, 100.0]),
    spread=st.sampled_from([1e-5, 1e-3]),
)
def test_distances_of_near_duplicates_keep_their_digits(length, seed, offset, spread):
    """A Gram difference in float32 is 11 % off here, or negative."""
    x, y = near_duplicates(seed, length=length, offset=offset, spread=spread)
    exact = ((x.astype(float) - y.astype(float)) ** 2).sum()
    assume(exact > 1e-20)
    for share in (1.001, 0.999):
        w = float(np.exp(-0.5 / share**2))
        learner = OnlineHarmonicLearner(
            HeatKernel(float(share * np.sqrt(exact)), float(np.exp(-0.5))), sink=w
        )
        learner.teach(x, "ana")
        score = learner.predict(y).scores["ana"]
        assert score == pytest.approx(0.5 if share > 1 else 0.0, abs=1e-9)


@pytest.mark.parametrize("length", [16, 2048])
def test_scores_of_near_duplicates_follow_the_stored_values(length):
    """All the way to the answer, with a bandwidth as small as the differences."""
    rng = np.random.default_rng(3)
    base = (1 + rng.random(length)).astype(np.float32)
    step = np.float32(1e-4)
    learner = OnlineHarmonicLearner(HeatKernel(3e-4 * np.sqrt(length), 1e-6), sink=1e-3)
    left, right = base - step, base + 2 * step
    learner.teach(left, "ana")
    learner.teach(right, "ben")
    wide = [row.astype(float) for row in (base, left, right)]
    w = [
        np.exp(-((wide[0] - other) ** 2).sum() / (2 * learner.kernel.bandwidth**2))
        for other in wide[1:]
    ]
    answer = learner.observe(base)
    assert answer.scores["ana"] == pytest.approx(w[0] / (sum(w) + 1e-3), abs=1e-12)
    assert answer.scores["ben"] == pytest.approx(w[1] / (sum(w) + 1e-3), abs=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [64, 1024])
@pytest.mark.parametrize("ratio", [1e-9, 1e-8, 5e-8, 9e-8, 1.1e-7, 2e-7, 1e-6, 1e-4])
def test_weights_are_right_however_near_the_vectors_are(ratio, length, dtype):
    """d^2 as small a part of |x|^2 + |y|^2 as it likes; a neighbour just inside the cutoff."""
    rng = np.random.default_rng(5)
    x = (3 + rng.random(length)).astype(dtype)
    aside = rng.normal(size=length)
    y = (x + aside * np.sqrt(2 * ratio * (x @ x) / (aside @ aside))).astype(dtype)
    exact = ((x.astype(float) - y.astype(float)) ** 2).sum()
    w = 2e-12
    learner = OnlineHarmonicLearner(
        HeatKernel(float(np.sqrt(exact / (-2 * np.log(w)))), 1e-12), sink=w
    )
    learner.teach(x, "ana")
    # One step to ana or into the sink, which is as wide as the way to her.
    assert learner.predict(y).scores["ana"] == pytest.approx(0.5, abs=1e-8)


def heavy(*, doublings, dtype):
    learner = OnlineHarmonicLearner(HeatKernel(0.5, 1e-3), sink=0.01)
    learner.teach(np.array([0.0], dtype=dtype), "ana")
    learner.observe([0.5])
    for _ in range(doublings):
        learner.merge(learner)
    return learner


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("doublings", [24, 53])
def test_counters_count_on_beyond_the_precision_of_floats(dtype, doublings):
    """float32 stops at 2^24, float64 at 2^53: there, one more is none more."""
    learner = heavy(doublings=doublings, dtype=dtype)
    learner.observe([0.5])
    learner.observe([0.0])
    learner.teach([0.0], "ana")
    assert learner.vertices().multiplicities.tolist() == [2**doublings + 2, 2**doublings + 1]
    assert learner.vertices().multiplicities.dtype == np.int64


def test_a_billion_examples_do_not_bury_the_sink():
    """Two heavy vertices far from the label: the sink decides, and must be felt."""
    learner = OnlineHarmonicLearner(HeatKernel(0.2, 1e-12), sink=1e-11)
    learner.teach([0.0], "ana")
    learner.observe([1.3])
    for _ in range(30):
        learner.merge(learner)
    learner.unteach([0.0])
    learner.teach([-0.1], "ana")
    w = float(np.exp(-(1.4**2) / (2 * 0.2**2)))
    assert w > 1e-12
    before = learner.predict([1.3])
    assert before.scores["ana"] + before.sink == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_a_black_picture_makes_of_division_is_refused(bad, dtype):
    """x / mean(x) is NaN for a black crop, and argmin would return just that one."""
    learner = heavy(doublings=1, dtype=dtype)
    before = state(learner)
    with pytest.raises(OnlookerError, match=str(bad)):
        learner.observe(np.array([bad], dtype=dtype))
    with pytest.raises(OnlookerError, match=str(bad)):
        learner.teach(np.array([bad], dtype=dtype), "ben")
    assert state(learner) == before


def test_a_black_picture_is_an_example_like_any_other():
    learner = OnlineHarmonicLearner(HeatKernel(0.5, 1e-3))
    learner.teach(np.zeros(600, dtype=np.float32), "dark")
    learner.teach(np.ones(600, dtype=np.float32), "light")
    answer = learner.observe(np.zeros(600, dtype=np.float32))
    assert (answer.label, answer.vertex) == ("dark", 0)


@pytest.mark.parametrize("length", [2, 600])
@pytest.mark.parametrize("value", [1e15, 1e19, 1e30, 1e60, 1e120, 1e150])
def test_huge_values_are_measured_or_refused_and_never_warned_about(value, length):
    """Warnings are errors here."""
    learner = OnlineHarmonicLearner(HeatKernel(0.5, 1e-3))
    learner.teach(np.zeros(length), "ana")
    try:
        assert learner.observe(np.full(length, value)).label is None
        learner.teach(np.full(length, value), "ben")
        learner.teach(np.full(length, -value), "cleo")
    except OnlookerError:
        assert len(learner) == 1
        return
    assert learner.predict(np.full(length, value)).label == "ben"
    assert learner.predict(np.full(length, -value)).label == "cleo"
    assert learner.predict(np.zeros(length)).label == "ana"
    assert learner.observe(np.full(length, 1e-3)).label == "ana"


@pytest.mark.parametrize("scale", [1e-14, 1e-7, 1e7, 1e14])
def test_the_unit_of_the_features_does_not_matter(scale):
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(40, 3))

    def answers(unit):
        learner = OnlineHarmonicLearner(HeatKernel(0.8 * unit, 1e-4), max_vertices=10)
        learner.teach(rows[0] * unit, "ana")
        learner.teach(rows[1] * unit, "ben")
        return [learner.observe(x * unit) for x in rows[2:]]

    for found, expected in zip(answers(scale), answers(1.0), strict=True):
        assert found.label == expected.label
        assert found.vertex == expected.vertex
        assert found.sink == pytest.approx(expected.sink, abs=1e-9)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float16", "longdouble", ">f8"])
def test_other_kinds_of_numbers_are_taken_as_double_precision(dtype):
    learner = OnlineHarmonicLearner(HeatKernel(50.0, 1e-3))
    learner.teach(np.array([200, 100], dtype="uint8").astype(dtype), "ana")
    assert learner.vertices().vectors.dtype == np.float64
    # Differences of unsigned bytes would wrap around.
    assert learner.observe(np.array([100, 120], dtype="uint8").astype(dtype)).label == "ana"


def test_rows_that_are_not_contiguous_are_read_right():
    table = np.arange(24, dtype=np.float32).reshape(4, 6)
    learner = OnlineHarmonicLearner(HeatKernel(1.0, 1e-3))
    learner.teach(table[:, 2], "ana")
    learner.teach(table[::-1, 5], "ben")
    assert learner.vertices().vectors.tolist() == [[2, 8, 14, 20], [23, 17, 11, 5]]
    assert [seen.label for seen in learner.observe_many(table.T[[2, 2]])] == ["ana", "ana"]
