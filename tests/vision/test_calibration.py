"""Bandwidth and cutoff from strangers: the paper's rule, and a rate that is used."""

from math import exp, floor, log, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker.core.errors import BadValue, BadVector
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.similarity import (
    Cosine,
    Euclidean,
    HeatKernel,
    squared_distances,
    squared_distances_of_all,
)
from onlooker.experiments.datasets.facebank import find_faces
from onlooker.experiments.datasets.manifest import Picture
from onlooker.vision.calibration import (
    ALIKE,
    CLIFF,
    MARGIN,
    PAIRS_ALIKE,
    PEOPLE,
    calibrate,
    rounded,
    simulated_chains,
)
from onlooker.vision.finder import FaceFinder
from onlooker.vision.pixels import LightCorrected, psi
from onlooker.vision.scales import CLIFFS, FEATURE_KINDS, TRUST_RADII

SHARED = Path(__file__).parents[3] / "shared" / "data"

seeds = st.integers(0, 2**32)
rates = st.floats(1e-6, 0.5)


def crowd_of(seed, count=120, length=6):
    return np.random.default_rng(seed).normal(size=(count, length))


def distances(rows):
    """Of all pairs, the plain way."""
    return np.array([[sqrt(float(((x - y) ** 2).sum())) for y in rows] for x in rows])


def reach_of(chosen):
    return HeatKernel(chosen.bandwidth, chosen.cutoff).reach


def promised(gaps, reach, vertices):
    """The rate as the module's words have it, from a table of distances."""
    count = len(gaps)
    shares = [(sum(gap < reach for gap in row) - 1) / (count - 1) for row in gaps]
    return float(np.mean([1 - (1 - share) ** vertices for share in shares]))


# ---- the rules


@settings(max_examples=30)
@given(seeds, st.integers(40, 200), st.integers(2, 12))
def test_hardly_any_pair_of_strangers_is_more_alike_than_the_paper_says(seed, count, length):
    crowd = crowd_of(seed, count, length)
    chosen = calibrate(crowd, Euclidean(), rate=0.5)
    used = np.delete(crowd, chosen.doubles, axis=0)
    pairs = np.sqrt(squared_distances_of_all(Euclidean(), used))[np.triu_indices(len(used), 1)]
    alike = np.exp(-0.5 * (pairs / chosen.bandwidth) ** 2) > ALIKE * (1 + 1e-9)
    assert alike.mean() <= PAIRS_ALIKE
    # And it is the largest of two digits, but for rounding.
    looser = np.exp(-0.5 * (pairs / (1.1 * chosen.bandwidth)) ** 2) > ALIKE
    assert looser.mean() > PAIRS_ALIKE


@settings(max_examples=30)
@given(seeds, rates, st.integers(1, 800))
def test_the_rate_is_what_the_words_say_and_not_above_what_was_asked(seed, rate, vertices):
    crowd = crowd_of(seed, count=60)
    chosen = calibrate(crowd, Euclidean(), rate=rate, vertices=vertices)
    assert not chosen.doubles
    expected = promised(distances(crowd), reach_of(chosen), vertices)
    assert chosen.rate == pytest.approx(expected, abs=1e-12)
    assert chosen.rate <= rate


@settings(max_examples=30)
@given(seeds, rates, rates)
def test_a_smaller_rate_needs_a_larger_cutoff(seed, one, other):
    crowd = crowd_of(seed)
    small, large = (calibrate(crowd, Euclidean(), rate=rate) for rate in sorted((one, other)))
    assert small.cutoff >= large.cutoff
    assert small.rate <= large.rate
    assert small.bandwidth == large.bandwidth


@settings(max_examples=30)
@given(seeds, st.integers(1, 500), st.integers(1, 500))
def test_more_faces_to_keep_need_a_larger_cutoff(seed, one, other):
    crowd = crowd_of(seed)
    few, many = (calibrate(crowd, Euclidean(), rate=0.1, vertices=n) for n in sorted((one, other)))
    assert many.cutoff >= few.cutoff


def test_the_curve_only_rises():
    chosen = calibrate(crowd_of(0), Euclidean())
    assert (np.diff(chosen.reaches) >= 0).all()
    assert (np.diff(chosen.rates) >= 0).all()
    assert chosen.rates[0] == 0
    assert chosen.least_rate == chosen.rates[chosen.rates > 0][0]
    for reach in chosen.reaches[::50]:
        kernel = HeatKernel(chosen.bandwidth, chosen.cutoff_at(float(reach)))
        assert kernel.reach == pytest.approx(reach)


@pytest.mark.parametrize(("rate", "vertices"), [(0.02, 50), (0.1, 20), (0.3, 100)])
def test_the_rate_is_kept_for_strangers_who_were_not_there(rate, vertices):
    rng = np.random.default_rng(17)
    crowd, others = rng.normal(size=(1000, 4)), rng.normal(size=(3000, 4))
    chosen = calibrate(crowd, Euclidean(), rate=rate, vertices=vertices)
    last = np.flatnonzero(chosen.rates <= rate)[-1]  # the choice itself may be stricter: the cliff
    assert chosen.rates[last] > 0.5 * rate, "the strangers are enough for this rate"
    assert reach_of(chosen) <= chosen.reaches[last]
    shares = []
    for _ in range(40):
        used = rng.normal(size=(vertices, 4))
        squared = ((others[:, None] - used) ** 2).sum(axis=2)
        shares.append((squared < chosen.reaches[last] ** 2).any(axis=1).mean())
    assert np.mean(shares) == pytest.approx(chosen.rates[last], rel=0.25)


# ---- chains and the cliff


def share_named(gaps, reach, vertices, order):
    """One run, literally: who comes near to a player, or to somebody stored, is named."""
    stored, named = list(order[:PEOPLE]), 0
    for one in order[PEOPLE:]:
        if any(gaps[one][other] < reach for other in stored):
            named += 1
            if len(stored) < PEOPLE + vertices:
                stored.append(one)
    return named / (len(order) - PEOPLE)


@settings(max_examples=25)
@given(seeds, st.integers(1, 60), st.floats(0.2, 4.0))
def test_the_chains_are_those_of_running_it_literally(seed, vertices, reach):
    gaps = distances(crowd_of(seed, count=40, length=3))
    listed, rng = np.argsort(gaps.sum(axis=1)), np.random.default_rng(0)
    orders = [rng.permutation(listed) for _ in range(6)]
    found = simulated_chains(gaps, np.array([reach]), vertices, draws=6)
    shares = [share_named(gaps, reach, vertices, order) for order in orders]
    assert found.named[0] == pytest.approx(np.mean(shares))
    near = [
        (gaps[order[PEOPLE:]][:, order[:PEOPLE]] < reach).any(axis=1).mean() for order in orders
    ]
    assert found.direct[0] == pytest.approx(np.mean(near))
    assert found.direct[0] <= found.named[0] + 1e-12


def test_the_choice_keeps_its_margin_to_the_cliff():
    """However large the rate: with 0.5 the rate alone would be far beyond the cliff."""
    chosen = calibrate(crowd_of(0, count=600), Euclidean(), rate=0.5)
    assert MARGIN <= chosen.margin < 1.11 * MARGIN, "rounded to two digits, to the careful side"
    at_cliff, _ = chosen.chains.shares_at(chosen.reach_at(chosen.cliff))
    assert at_cliff > CLIFF
    stricter = chosen.chains.reaches < chosen.chains.cliff
    assert (chosen.chains.named[stricter] <= CLIFF).all()
    strict = calibrate(crowd_of(0, count=600), Euclidean(), rate=1e-4)
    assert strict.cliff == chosen.cliff
    assert strict.margin > 1.11 * MARGIN, "here the rate decides"


def test_more_strangers_have_an_earlier_cliff():
    crowd = crowd_of(3, count=1200, length=4)
    few, many = (calibrate(crowd[:count], Euclidean()).chains.cliff for count in (300, 1200))
    assert many < few


@pytest.mark.parametrize("factor", [0.85, 1, 1.25])
def test_the_share_named_by_a_learner_is_the_one_predicted(factor):
    """From one half of the strangers to the other, whom a real learner sees after real people.

    Many strangers are ordinary and some are far out, so most are reached through chains; the people
    are others of the kind, taught five faces each. Below the cliff's reach, at it and beyond it.
    """
    rng = np.random.default_rng(5)
    crowd = rng.standard_t(3, size=(3000, 8))
    chosen = calibrate(crowd[:1500], Euclidean(), vertices=200)
    reach = factor * chosen.chains.cliff
    predicted, direct = chosen.chains.shares_at(reach)
    assert factor < 1 or direct < predicted / 3, "from the cliff on, most are reached by chains"
    kernel = HeatKernel(chosen.bandwidth, chosen.cutoff_at(reach))
    shares = []
    for _ in range(8):
        learner = OnlineHarmonicLearner(kernel, max_vertices=200)
        for name, person in enumerate(rng.standard_t(3, size=(PEOPLE, 8))):
            for _ in range(5):
                learner.teach(person + 0.02 * rng.normal(size=8), str(name))
        answers = learner.observe_many(rng.permutation(crowd[1500:]))
        shares.append(np.mean([answer.label is not None for answer in answers]))
    assert predicted / 3 < np.mean(shares) < 3 * predicted


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "manifest.csv").exists(), reason="the shared frames are absent")
def test_the_share_of_real_strangers_named_is_the_one_predicted():
    """The same with photographs and SFace, the known people being strangers of the other half."""
    finder = FaceFinder(kind="sface")
    files = sorted((SHARED / "strangers").rglob("*.jpg"))
    pictures = [Picture("strangers", "", None, at, file) for at, file in enumerate(files)]
    found = [faces[0].vector for faces in find_faces(pictures, finder) if faces]
    rows = np.array([vector for vector in found if vector is not None])
    rng, distance = np.random.default_rng(0), finder.features.distance
    rows = rng.permutation(np.delete(rows, calibrate(rows, distance).doubles, axis=0))
    half = len(rows) // 2
    chosen = calibrate(rows[:half], distance)
    for factor in (3, 1, 1 / 3):
        kernel = HeatKernel(chosen.bandwidth, factor * chosen.cliff, distance)
        shares = []
        for _ in range(20):
            learner = OnlineHarmonicLearner(kernel)
            order = rng.permutation(rows[half:])
            for name, row in enumerate(order[:PEOPLE]):
                learner.teach(row, str(name))
            answers = learner.observe_many(order[PEOPLE:])
            shares.append(np.mean([answer.label is not None for answer in answers]))
        predicted, _ = chosen.chains.shares_at(kernel.reach)
        print(f"cutoff {kernel.cutoff:.2g}: {predicted:.5f}, measured {np.mean(shares):.5f}")
        assert predicted / 3 < np.mean(shares) < 3 * predicted


# ---- what must not matter


@settings(max_examples=20)
@given(seeds)
def test_the_order_of_strangers_does_not_matter(seed):
    crowd = crowd_of(seed, count=60)
    shuffled = crowd[np.random.default_rng(seed).permutation(60)]
    one, other = (calibrate(rows, Euclidean(), rate=0.1) for rows in (crowd, shuffled))
    assert (one.bandwidth, one.cutoff) == (other.bandwidth, other.cutoff)
    assert one.rate == pytest.approx(other.rate, rel=1e-12)


@settings(max_examples=20)
@given(seeds, st.lists(st.integers(0, 59), min_size=1, max_size=20), st.booleans())
def test_strangers_who_are_there_twice_are_left_out(seed, twice, exact):
    crowd = crowd_of(seed, count=60)
    noise = 0 if exact else 1e-3 * np.random.default_rng(seed).normal(size=(len(twice), 6))
    one = calibrate(crowd, Euclidean(), rate=0.1)
    other = calibrate(np.concatenate([crowd, crowd[twice] + noise]), Euclidean(), rate=0.1)
    assert other.doubles == tuple(range(60, 60 + len(twice)))
    assert other.strangers == one.strangers == 60
    assert (one.bandwidth, one.cutoff) == (other.bandwidth, other.cutoff)
    assert one.rate == pytest.approx(other.rate, rel=1e-12)
    assert [pair[1:] for pair in one.closest] == [pair[1:] for pair in other.closest]


@settings(max_examples=30)
@given(seeds, st.floats(1e-3, 1e3))
def test_other_units_give_the_same_choice_in_them(seed, scale):
    crowd = crowd_of(seed, count=60)
    one, other = (calibrate(rows, Euclidean(), rate=0.1) for rows in (crowd, scale * crowd))
    assert other.bandwidth == pytest.approx(scale * one.bandwidth, rel=0.1)
    np.testing.assert_allclose(other.reaches, scale * one.reaches, rtol=1e-9)
    np.testing.assert_allclose(other.rates, one.rates, rtol=1e-12)
    # Rounding the bandwidth moves the cutoff, but not the distance at which it is.
    assert reach_of(other) == pytest.approx(scale * reach_of(one), rel=0.05)


@pytest.mark.parametrize("scale", [1e-3, 10.0, 1e4])
def test_powers_of_ten_move_only_the_point(scale):
    crowd = crowd_of(1)
    one, other = (calibrate(rows, Euclidean()) for rows in (crowd, scale * crowd))
    assert other.bandwidth == pytest.approx(scale * one.bandwidth, rel=1e-12)
    assert other.cutoff == one.cutoff


def test_single_precision_and_lists_are_welcome():
    crowd = crowd_of(4).astype(np.float32)
    one, other = (calibrate(rows, Euclidean()) for rows in (crowd, crowd.tolist()))
    assert (one.bandwidth, one.cutoff) == (other.bandwidth, other.cutoff)


# ---- what is told, and what is refused


def test_the_nearest_pairs_are_those_of_the_table():
    crowd = crowd_of(3)
    crowd = np.concatenate([crowd[:10], crowd[:1], crowd[10:]])  # place 10 is place 0 again
    chosen = calibrate(crowd, Euclidean())
    assert chosen.doubles == (10,)
    gaps = distances(crowd)
    gaps[10] = gaps[:, 10] = np.inf
    rows, columns = np.triu_indices(len(crowd), 1)
    nearest = np.argsort(gaps[rows, columns])[: len(chosen.closest)]
    assert [pair[1:] for pair in chosen.closest] == [(rows[at], columns[at]) for at in nearest]
    np.testing.assert_allclose([pair[0] for pair in chosen.closest], gaps[rows, columns][nearest])


@pytest.mark.parametrize("count", [0, 1, 19])
def test_too_few_strangers_are_refused(count):
    with pytest.raises(BadValue, match=f"{count} different strangers are too few"):
        calibrate(crowd_of(0)[:count], Euclidean())


def test_strangers_who_are_all_the_same_are_too_few():
    with pytest.raises(BadValue, match="1 different strangers are too few"):
        calibrate(np.tile(crowd_of(0)[:1], (50, 1)), Euclidean())


def test_mostly_the_same_picture_still_counts_the_others():
    crowd = crowd_of(0, count=40)
    padded = np.concatenate([crowd, np.tile(crowd[:1], (200, 1))])
    chosen = calibrate(padded, Euclidean(), rate=0.1)
    assert chosen.strangers == 40
    assert chosen.cutoff == calibrate(crowd, Euclidean(), rate=0.1).cutoff


def test_a_cutoff_too_small_for_a_number_stays_one():
    """A few pairs of look-alikes, and a rate and a cliff that are far beyond them."""
    rng = np.random.default_rng(0)
    crowd = rng.normal(size=(200, 8))
    crowd[190:] = crowd[:10] + rng.normal(0, 0.04, size=(10, 8))
    chosen = calibrate(crowd, Euclidean(), rate=0.49, vertices=1)
    assert len(chosen.doubles) < 5
    assert chosen.cliff is None
    assert chosen.margin is None
    assert 0 < chosen.cutoff < 1e-100
    assert chosen.rate <= 0.49
    HeatKernel(chosen.bandwidth, chosen.cutoff)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rate": 0}, "rate"),
        ({"rate": 1}, "rate"),
        ({"rate": -0.1}, "rate"),
        ({"vertices": 0}, "vertices"),
        ({"vertices": 2.5}, "vertices"),
    ],
    ids=str,
)
def test_bad_numbers_are_refused(changes, words):
    with pytest.raises(BadValue, match=words):
        calibrate(crowd_of(0), Euclidean(), **changes)


def test_what_is_no_table_of_numbers_is_refused():
    with pytest.raises(BadVector):
        calibrate([1.0, 2.0], Euclidean())
    with pytest.raises(BadVector):
        calibrate(np.full((30, 2), np.nan), Euclidean())


@given(st.floats(1e-290, 1e290))
def test_rounding_goes_to_the_careful_side_and_not_far(value):
    low, high = rounded(value, down=True), rounded(value, down=False)
    assert low <= value * (1 + 1e-9)
    assert high >= value * (1 - 1e-9)
    assert 0.9 * value < low
    assert high < 1.1 * value * (1 + 1e-9)
    for each in (low, high):
        assert float(f"{each:.1e}") == each
        assert rounded(each, down=True) == rounded(each, down=False) == each


def test_the_similarity_of_a_distance_is_that_of_the_kernel():
    chosen = calibrate(crowd_of(0), Euclidean())
    assert chosen.cutoff_at(0.0) == 1
    at_alike = chosen.bandwidth * sqrt(-2 * log(ALIKE))
    assert chosen.cutoff_at(at_alike) == pytest.approx(ALIKE)
    assert chosen.cutoff_at(chosen.bandwidth) == pytest.approx(exp(-0.5))


# ---- all distances at once


def pictures(rng, count, side):
    """Rows that every distance takes: positive, like weighted intensities."""
    return rng.uniform(0.05, 1.0, (count, side * side)) * np.sqrt(psi(side, 0.35))


@pytest.mark.parametrize("kind", [np.float64, np.float32], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("count", [1, 2, 40, 300])
@pytest.mark.parametrize("distance", [Euclidean(), Cosine(), LightCorrected(6)], ids=repr)
def test_all_distances_at_once_are_the_distances_one_by_one(distance, count, kind):
    rng = np.random.default_rng(count)
    rows = pictures(rng, count, 6)
    rows[count // 2] = rows[0]  # the same
    rows[count - 1] = rows[0] * (1 + 1e-7)  # nearly the same, and brighter
    rows[count // 3] = rows[count // 2] + 1e-9 * rng.normal(size=36)
    rows = rows.astype(kind)
    found = squared_distances_of_all(distance, rows)
    wide = rows.astype(np.float64)
    expected = np.array([squared_distances(distance, x, wide) for x in wide])
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-18)
    assert (np.diag(found) == 0).all()
    np.testing.assert_allclose(found, found.T, rtol=1e-8, atol=1e-18)


@pytest.mark.parametrize("kind", FEATURE_KINDS)
def test_the_trust_radius_is_the_reach_of_the_cliff_rounded_down(kind):
    cliff = CLIFFS.get(kind)
    assert TRUST_RADII[kind] == (None if cliff is None else floor(100 * cliff.reach) / 100)
