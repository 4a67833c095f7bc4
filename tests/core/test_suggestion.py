"""Choosing parameters: what `suggest` promises, and what it says of data it cannot help."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker import (
    Cosine,
    HeatKernel,
    OnlineHarmonicLearner,
    OnlookerError,
    ParameterWarning,
    harmonic_solution,
    suggest,
)
from onlooker.core.diagnosis import FIRST_CHECK, MEASURED, StreamCounts
from onlooker.core.suggestion import MOST_ROWS, _spread, left_out


def blobs(seed=0, rows=200, apart=6.0, names=4, length=5):
    rng = np.random.default_rng(seed)
    centres = apart * rng.normal(size=(names, length))
    members = rng.integers(names, size=rows)
    return centres[members] + rng.normal(size=(rows, length)), members


def few_labels(members, labels=5):
    y = np.full(len(members), None, dtype=object)
    for name in np.unique(members):
        y[np.flatnonzero(members == name)[:labels]] = f"class {name}"
    return y


# ---- labels taken away


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 12), st.sampled_from([1e-3, 0.5]))
@settings(max_examples=40, deadline=None)
def test_a_label_taken_away_is_the_harmonic_solution_without_it(seed, given, inner, sink):
    """One factorisation gives what a solution for each label would give."""
    rng = np.random.default_rng(seed)
    n = given + inner
    weights = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.6), 1)
    weights += weights.T + np.diag(rng.random(n))  # self-similarity does not matter
    labels = rng.permutation([*rng.integers(0, 3, given), *[-1] * inner])
    found = left_out(weights, labels, sink=sink)
    columns = labels.max() + 1
    for row, vertex in enumerate(np.flatnonzero(labels >= 0)):
        known = (labels >= 0) & (np.arange(n) != vertex)
        expected = harmonic_solution(
            weights, labels[:, None] == np.arange(columns), known, sink=sink
        )
        np.testing.assert_allclose(found[row], expected[vertex], atol=1e-9)


# ---- suggest


@pytest.mark.parametrize("seed", range(3))
def test_no_more_false_links_than_allowed(seed):
    """Of all pairs with truly different labels, though only five labels a class are known."""
    X, members = blobs(seed, rows=400, apart=1.5)
    found = suggest(X, few_labels(members), false_links=0.01)
    gaps = np.linalg.norm(X[:, None] - X, axis=2)
    differ = members[:, None] != members
    assert (gaps[differ] <= found.kernel.reach).mean() < 0.02
    assert found.false_links <= 0.01


def test_two_names_that_are_mixed_are_not_linked_for_the_sake_of_neighbours():
    rng = np.random.default_rng(0)
    X, names = rng.normal(size=(80, 2)), np.array(["ana", "ben"] * 40)
    reach = suggest(X, names, false_links=1e-3).kernel.reach
    gaps = np.linalg.norm(X[:, None] - X, axis=2)
    assert (gaps[names[:, None] != names] <= reach).mean() <= 1e-3


def test_clusters_are_connected_and_strangers_stay_nobody():
    X, members = blobs(rows=300, apart=20.0)
    found = suggest(X, few_labels(members))
    assert (found.reached, found.mixed) == (1.0, 0.0)
    learner = OnlineHarmonicLearner(found.kernel, sink=found.sink, max_vertices=found.max_vertices)
    y = few_labels(members)
    for x, name in zip(X, y, strict=True):
        if name is not None:
            learner.teach(x, name)
    answers = [seen.label for seen in learner.observe_many(X)]
    right = [answer == f"class {m}" for answer, m in zip(answers, members, strict=True)]
    wrong = [a is not None and not ok for a, ok in zip(answers, right, strict=True)]
    assert np.mean(right) > 0.9
    assert not any(wrong)
    far = X + 300.0
    assert {learner.predict(x).label for x in far} == {None}


def test_the_reach_scales_with_the_features_and_ignores_repetition():
    X, members = blobs()
    y = few_labels(members)
    once = suggest(X, y)
    assert suggest(7 * X, y).bandwidth == pytest.approx(7 * once.bandwidth, rel=0.1)
    assert suggest(np.repeat(X, 2, axis=0), np.repeat(y, 2)).kernel == once.kernel


def test_every_way_to_say_unlabeled_is_the_same():
    X, members = blobs()
    y = few_labels(members)
    for missing in (None, -1, np.nan, pd.NA):
        said = np.array([missing if name is None else name for name in y] + [0], dtype=object)[:-1]
        assert suggest(X, said).kernel == suggest(X, y).kernel
    assert suggest(X, pd.Series(y)).kernel == suggest(X, y).kernel


def test_without_labels_and_with_one_name_neighbours_are_linked():
    X, _ = blobs(apart=20.0)
    for y in (None, [None] * len(X), ["ana"] + [None] * (len(X) - 1), ["ana"] * len(X)):
        found = suggest(X, y)
        assert found.linked > 0.5
        assert found.mixed is None


def test_it_says_where_classes_are_no_clusters():
    """Pairs of one class, strewn at random: the nearest label is right, the way beyond is not."""
    rng = np.random.default_rng(0)
    places = np.repeat(rng.uniform(0, 12, size=(60, 2)), 2, axis=0)
    members = np.repeat(rng.integers(2, size=60), 2)
    found = suggest(places + rng.normal(scale=0.15, size=(120, 2)), members, false_links=0.9)
    assert found.walks_right < found.nearest_right - 0.05
    assert "no clusters" in str(found)
    apart, members = blobs(apart=20.0)
    assert "no clusters" not in str(suggest(apart, members))


def test_the_reasons_and_the_chart_name_the_reach():
    X, members = blobs()
    found = suggest(X, few_labels(members))
    assert f"{found.kernel.reach:.3g}" in found.reasons[0]
    assert found.chart().count("chosen") == 1
    assert len(found.chart().splitlines()) == 1 + len(found.reaches)


def test_the_row_of_the_chart_that_is_marked_has_the_reach():
    X, members = blobs()
    found = suggest(X, few_labels(members))
    (marked,) = (row for row in found.chart().splitlines() if "chosen" in row)
    nearest = found.reaches[abs(np.log(found.reaches / found.kernel.reach)).argmin()]
    assert float(marked.split()[0]) == pytest.approx(nearest, rel=0.01)
    assert nearest == pytest.approx(found.kernel.reach, rel=0.3)


@pytest.mark.parametrize("name", [None, "ana"])
def test_the_share_of_links_is_that_of_all_pairs_where_no_two_names_are_labeled(name):
    X = np.arange(40.0)[:, None] ** 1.3
    found = suggest(X, [name] + [None] * 39)
    gaps = abs(X - X.T)[np.triu_indices(40, 1)]
    assert found.false_links == (gaps <= found.kernel.reach).mean() > 0
    assert "no two names are labeled" in found.reasons[0]


def test_the_reach_is_enough_for_chains_to_the_labels():
    """A third of the rows is farther from the label than rows are from their neighbours."""
    steps = np.concatenate([np.arange(0.0, 20.0), np.arange(24.0, 34.0)])
    X = np.concatenate([steps, steps + 1000.0])[:, None]
    y = [None] * len(X)
    y[0], y[len(steps)] = "ana", "ben"
    found = suggest(X, y)
    assert (found.reached, found.mixed) == (1.0, 0.0)
    assert found.kernel.reach > 4.0


def test_a_label_taken_away_is_compared_with_the_nearest_other_label():
    rng = np.random.default_rng(3)
    X, members = rng.normal(size=(60, 2)), rng.integers(3, size=60)
    gaps = np.linalg.norm(X[:, None] - X, axis=2) + np.diag([np.inf] * 60)
    expected = (members[gaps.argmin(axis=1)] == members).mean()
    assert suggest(X, members).nearest_right == pytest.approx(expected)
    assert expected < 0.7


@given(st.integers(0, 3000), st.integers(0, 3000), st.integers(0, 9), st.sampled_from([2, 10**6]))
@settings(max_examples=40, deadline=None)
def test_no_more_rows_are_measured_than_there_is_time_for(labeled, others, seed, length):
    """Labeled rows first, but half of the places are for the others where they are as many."""
    labels = np.random.default_rng(seed).permutation([0] * labeled + [-1] * others)
    most = MOST_ROWS if length == 2 else 100
    chosen = _spread(labels, length)
    assert len(chosen) == min(most, labeled + others)
    assert (np.diff(chosen) > 0).all()
    half = min(labeled, max(most // 2, most - others))
    assert (labels[chosen] >= 0).sum() == half


def test_another_distance():
    X, members = blobs()
    found = suggest(X, few_labels(members), distance=Cosine())
    assert found.kernel.distance == Cosine()
    assert found.kernel.reach < 2


@pytest.mark.parametrize(
    "X", [np.ones((9, 2)), np.zeros((1, 3)), np.full((50, 1), 7)], ids=["equal", "one", "column"]
)
def test_one_place_has_no_distances(X):
    with pytest.raises(OnlookerError, match="place"):
        suggest(X)


def test_what_cannot_be_used_is_refused():
    X, _ = blobs()
    with pytest.raises(OnlookerError, match="labels for"):
        suggest(X, ["ana"])
    with pytest.raises(OnlookerError, match="false_links"):
        suggest(X, false_links=0)
    with pytest.raises(OnlookerError, match="nan"):
        suggest(np.where(X > 1, np.nan, X))


def test_odd_tables_are_fine():
    """Constant columns, one column, very long rows, many classes, arrays in any order."""
    X, members = blobs()
    y = few_labels(members)
    constant = np.column_stack([X, np.full(len(X), 3.0)])
    assert suggest(constant, y).kernel == suggest(X, y).kernel
    assert suggest(X[:, :1], y).bandwidth > 0
    assert suggest(np.random.default_rng(0).normal(size=(30, 100_000)).astype("f4")).bandwidth > 0
    assert suggest(np.arange(5000.0)[:, None], range(5000)).bandwidth > 0
    turned = np.asfortranarray(X)[:, ::-1]
    turned.flags.writeable = False
    assert suggest(turned, y).bandwidth == pytest.approx(suggest(X, y).bandwidth)


# ---- the warning


def learner_with(X, y, factor):
    found = suggest(X, y)
    kernel = HeatKernel(found.bandwidth * factor, found.kernel.cutoff)
    learner = OnlineHarmonicLearner(kernel, sink=found.sink)
    for x, name in zip(X, y, strict=True):
        if name is not None:
            learner.teach(x, name)
    return learner, found


@pytest.mark.parametrize("factor", [1e-3, 1e3])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_bad_bandwidth_is_named_with_a_better_one_within_100_examples(factor, at_once):
    X, members = blobs(rows=400, apart=3.0)
    y = few_labels(members)
    learner, found = learner_with(X, y, factor)
    stream = X[[name is None for name in y]][:FIRST_CHECK]
    with pytest.warns(ParameterWarning) as caught:
        learner.observe_many(stream) if at_once else [learner.observe(x) for x in stream]
    assert len(caught) == 1
    assert f"bandwidth {learner.kernel.bandwidth:.2g}" in str(caught[0].message)
    better = learner.diagnose().better_bandwidth
    assert f"try bandwidth {better:.2g}" in str(caught[0].message)
    assert found.bandwidth / 5 < better < found.bandwidth * 5


def test_the_suggested_bandwidth_and_strangers_are_no_reason_to_warn():
    X, members = blobs(rows=400, apart=20.0)
    y = few_labels(members)
    learner, _ = learner_with(X, y, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.observe_many(X)
        learner.observe_many(X + 300.0)
    assert learner.diagnose().problem == ""
    assert learner.diagnose().nobody >= len(X)


def test_a_learner_warns_once_and_counts_in_numbers_only():
    learner = OnlineHarmonicLearner(HeatKernel(1e-4, 1e-5))
    learner.observe_many(np.zeros((9, 1)))  # before any label: not counted
    learner.teach([0.0], "ana")
    with pytest.warns(ParameterWarning):
        learner.observe_many(np.arange(1.0, 1001.0)[:, None])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.observe_many(np.arange(1.0, 5001.0)[:, None])
    found = learner.diagnose()
    assert (found.observed, found.nobody, found.isolated) == (6000, 6000, 1)
    assert len(learner._counts.distances) <= 100


def test_answers_are_looked_at_ever_more_seldom_and_the_newest_distances_kept():
    counts = StreamCounts()
    due = [number for number in range(1, 1001) if counts.count(None, float(number))]
    assert due == [FIRST_CHECK, 2 * FIRST_CHECK, 4 * FIRST_CHECK, 8 * FIRST_CHECK]
    assert counts.distances == [float(number) for number in range(1001 - MEASURED, 1001)]


def test_a_diagnosis_counts_components():
    learner = OnlineHarmonicLearner(HeatKernel(0.3, 1e-5))
    assert (learner.diagnose().components, learner.diagnose().largest) == (0, 0.0)
    for place, name in ((0.0, "ana"), (50.0, "ben"), (99.0, "cyd")):
        learner.teach([place], name)
    learner.observe_many([[0.5], [1.0], [50.5]])
    found = learner.diagnose()
    assert (found.components, found.largest, found.isolated) == (3, 0.5, 1)


def test_the_longest_bar_of_the_chart_is_as_wide_as_its_column():
    chart = suggest(np.arange(30.0)[:, None]).chart()
    assert "#" * 30 in chart
    assert "#" * 31 not in chart
