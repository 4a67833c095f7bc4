"""Slopes on log-log paper: right where the answer is known, and honest intervals."""

import numpy as np
import pytest
from scipy.signal import lfilter

from onlooker.experiments.accuracy import AccuracyRow
from onlooker.experiments.theory.slopes import binned_slope, slope, student_interval, trend


def test_the_rate_of_the_paper_is_found_in_an_exact_series():
    t = np.arange(1, 4097)
    assert binned_slope(t, t**-0.5, first=16) == pytest.approx(-0.5, abs=0.002)


@pytest.mark.parametrize("exponent", [-0.9, -0.25, 0.0, 0.4])
def test_other_rates_too_from_some_of_the_steps(exponent):
    t = np.arange(3, 1601, 8)
    assert binned_slope(t, 7.0 * t**exponent) == pytest.approx(exponent, abs=0.01)


def test_errors_of_nothing_are_left_out():
    assert slope([1, 2, 4, 8], [1.0, 0.5, 0.25, 0.0]) == pytest.approx(-1)
    assert slope([1, 2, 4], [1.0, 0.0, 0.0]) is None
    assert slope([5, 5], [1.0, 2.0]) is None


def test_a_short_series_has_no_slope():
    assert binned_slope(np.arange(1, 201), np.ones(200)) is None
    assert binned_slope([], []) is None


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_ten_streams_cover_the_truth_about_as_often_as_they_say(rho):
    """Nominal 95 %, measured 92 to 95 in 60 trials, so 85 leaves three standard errors."""
    rng = np.random.default_rng(5)
    t = np.arange(1, 4097)
    noise = np.sqrt(1 - rho**2) * rng.normal(size=(60, 10, len(t)))
    errors = t**-0.5 * np.exp(0.7 * lfilter([1.0], [1.0, -rho], noise))
    intervals = [student_interval([binned_slope(t, e) for e in trial]) for trial in errors]
    covered = np.mean([each.low <= -0.5 <= each.high for each in intervals])
    assert covered >= 0.85


def test_one_stream_says_nothing_of_its_spread():
    assert student_interval([-0.5]) == (-0.5, -np.inf, np.inf)


def test_a_trend_is_taken_seed_by_seed():
    """Seeds of very different size fall alike; a fit to all of them at once would be unsure."""
    rows = [
        AccuracyRow("m", n_g, seed, 10.0**seed / n_g, 0.0, 1, 1.0)
        for seed in range(3)
        for n_g in (50, 100, 200)
    ]
    assert trend(rows, "accuracy", by="n_g") == pytest.approx((-1, -1, -1))
    assert trend(rows[:1], "accuracy", by="n_g") is None
