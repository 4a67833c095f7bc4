"""Rows summed up over seeds, and the cutoff at which each method should be used."""

from dataclasses import replace
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker.core.errors import BadValue
from onlooker.experiments.paper.curves import (
    HEADER,
    WORDS,
    best_at,
    operating_points,
    summarise,
)
from onlooker.experiments.paper.trial import TrialRow

shares = st.floats(0, 1)
scores = st.tuples(st.none() | shares, shares)
DEFAULT = TrialRow(
    dataset="made up", set="V1", camera="hall", method="online", features="pixels", cutoff=1e-5,
    bandwidth=0.025, sink=1e-4, n_g=500, seed=0, detector="yunet", strangers=0, precision=1.0,
    recall=0.5, detection_rate=0.9, contamination=0.0, frames=100, ms_per_frame=1.0,
    strangers_named=0,
)  # fmt: skip


def row(**changes):
    return replace(DEFAULT, **changes)


def of_seeds(pairs, **changes):
    """A row a seed, of pairs of precision and recall."""
    return [
        row(seed=seed, precision=precision, recall=recall, **changes)
        for seed, (precision, recall) in enumerate(pairs)
    ]


def of_cutoffs(pairs, **changes):
    """A row a cutoff, from tight to loose, of pairs of precision and recall."""
    return [
        row(cutoff=10.0 ** -(at + 1), precision=precision, recall=recall, **changes)
        for at, (precision, recall) in enumerate(pairs)
    ]


def cells(rows, column, precision=0.9):
    """One column of the table."""
    header, table = operating_points(rows, precision)
    return [cells[header.index(column)] for cells in table]


@given(st.lists(scores, min_size=1, max_size=6))
def test_a_point_is_the_mean_and_the_range_of_the_seeds(pairs):
    (point,) = summarise(of_seeds(pairs))
    recalls = [recall for _, recall in pairs]
    assert point.seeds == len(pairs)
    assert point.recall == mean(recalls)
    assert (point.recall_low, point.recall_high) == (min(recalls), max(recalls))
    assert point.recall_low <= point.recall <= point.recall_high


@given(st.lists(scores, min_size=1, max_size=6))
def test_seeds_that_named_nothing_are_left_out_of_the_precision_only(pairs):
    (point,) = summarise(of_seeds(pairs))
    known = [precision for precision, _ in pairs if precision is not None]
    wanted = (mean(known), min(known), max(known)) if known else (None, None, None)
    assert (point.precision, point.precision_low, point.precision_high) == wanted


def test_one_seed_has_no_spread():
    (point,) = summarise([row(precision=0.8, recall=0.3)])
    assert (point.precision_low, point.precision, point.precision_high) == (0.8, 0.8, 0.8)
    assert (point.recall_low, point.recall, point.recall_high) == (0.3, 0.3, 0.3)


def test_strangers_add_up_and_contamination_is_of_those_that_accept():
    (point,) = summarise(
        [
            row(seed=0, strangers_named=2, contamination=None),
            row(seed=1, strangers_named=3, contamination=0.1),
        ]
    )
    assert (point.strangers_named, point.contamination) == (5, 0.1)


@pytest.mark.parametrize(
    "change",
    [
        {"set": "VO"},
        {"camera": "couch"},
        {"method": "nearest"},
        {"features": "embedding"},
        {"cutoff": 1e-8},
        {"n_g": 100},
        {"strangers": 7},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_makes_another_point_and_their_order_of_appearance(change):
    points = summarise([row(**change), row(), row(seed=1), row(seed=1, **change)])
    name, value = next(iter(change.items()))
    assert [getattr(point, name) for point in points] == [value, getattr(DEFAULT, name)]
    assert [point.seeds for point in points] == [2, 2]


@pytest.mark.parametrize("change", [{}, {"detector": "haar"}, {"bandwidth": 0.2}])
def test_a_seed_is_not_counted_twice(change):
    with pytest.raises(BadValue, match="online at cutoff 1e-05 on V1, hall has several"):
        summarise([row(), row(**change)])


@given(st.lists(scores, max_size=8), shares)
def test_the_best_is_precise_enough_and_nothing_precise_enough_recalls_more(pairs, least):
    points = summarise(of_cutoffs(pairs))
    enough = [each for each in points if each.precision is not None and each.precision >= least]
    best = best_at(points, least)
    if best is None:
        assert not enough
    else:
        assert best in enough
        assert best.recall == max(each.recall for each in enough)


def test_among_equal_recalls_the_more_precise_then_the_tighter():
    points = summarise(of_cutoffs([(0.95, 0.8), (0.97, 0.8), (0.97, 0.8), (0.9, 0.8)]))
    assert best_at(points, 0.5) == best_at(points[::-1], 0.5) == points[1]


def test_a_mean_that_equals_the_demand_meets_it():
    (point,) = summarise(of_seeds([(0.995, 0.5)] * 7))
    assert best_at([point], 0.995) == point


def test_a_camera_without_known_people_has_no_best():
    assert best_at(summarise([row(recall=None)]), 0.5) is None


def test_misses_are_compared_with_the_nearest_neighbour_at_its_own_cutoff():
    rows = of_cutoffs([(1.0, 0.2), (0.95, 0.9), (0.5, 0.95)])
    rows += of_cutoffs([(1.0, 0.5), (0.8, 0.8), (0.5, 0.85)], method="nearest")
    assert cells(rows, "method") == ["online", "nearest"]
    assert cells(rows, "cutoff") == ["0.01", "0.1"]
    assert cells(rows, "missed") == ["0.100", "0.500"]
    assert cells(rows, "missed / nearest's") == ["0.20", "1.00"]


@pytest.mark.parametrize(
    "nearest", [[], [(0.5, 0.9)], [(None, 0.0)], [(1.0, 1.0)]],
    ids=["absent", "careless", "silent", "perfect"],
)  # fmt: skip
def test_without_misses_to_compare_with_there_is_a_dash(nearest):
    rows = of_cutoffs([(1.0, 0.5)]) + of_cutoffs(nearest, method="nearest")
    assert cells(rows, "missed / nearest's")[0] == "–"


def test_a_method_that_is_never_precise_enough_has_a_row_of_dashes():
    header, table = operating_points(of_cutoffs([(None, 0.0), (0.4, 0.9)]), 0.5)
    assert table == [["V1", "hall", "pixels", "online", "0", *["–"] * 8, "0.900"]]
    assert header[:WORDS] == ("set", "camera", "features", "method")


def test_every_camera_and_method_has_one_row_of_the_header_s_length():
    rows = [
        row(camera=camera, method=method, seed=seed, cutoff=cutoff)
        for camera in ("hall", "couch")
        for method in ("nearest", "online")
        for seed in (0, 1)
        for cutoff in (1e-2, 1e-5)
    ]
    header, table = operating_points(rows)
    assert header == HEADER
    assert [len(cells) for cells in table] == [len(header)] * 4
    assert [(cells[1], cells[3]) for cells in table] == [
        ("hall", "nearest"), ("hall", "online"), ("couch", "nearest"), ("couch", "online"),
    ]  # fmt: skip


def test_nearest_is_that_of_the_same_strangers_and_features():
    rows = of_cutoffs([(1.0, 0.5)], method="nearest") + of_cutoffs([(1.0, 0.5)], strangers=9)
    assert cells(rows, "missed / nearest's") == ["1.00", "–"]


@pytest.mark.parametrize("rows", [[], [row(), row(n_g=100)]], ids=["none", "two"])
def test_the_table_is_of_one_size(rows):
    with pytest.raises(BadValue, match=r"for one n_g, got (no rows at all|100, 500); select"):
        operating_points(rows)
