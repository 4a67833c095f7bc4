"""Proposition 1 in numbers, and the compact solution on a stream."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from onlooker import HeatKernel
from onlooker.core.harmonic import harmonic_solution
from onlooker.experiments.theory.compact import (
    SINKS,
    CompactJob,
    CompactRow,
    finding,
    measure,
    merged_into,
    online_compact,
    run,
    table,
    weights,
)


@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("copies", [1, 3, 20])
def test_the_compact_solution_is_the_full_one(copies, sink):
    for seed in range(3):
        row = measure(CompactJob(vertices=20, copies=copies, sink=sink, seed=seed))
        assert row.difference < 1e-10
        assert 20 <= row.examples <= 20 * copies


def test_rows_do_not_depend_on_the_workers_and_can_be_written():
    rows = run(2, sizes=(10,), copies=(1, 4))
    assert rows == [
        measure(CompactJob(10, copies, sink, seed))
        for copies in (1, 4)
        for sink in SINKS
        for seed in range(2)
    ]
    assert [
        CompactRow(**each) for each in json.loads(json.dumps([asdict(row) for row in rows]))
    ] == rows
    header, lines = table(rows)
    assert [cells[:2] for cells in lines] == [("10", "1"), ("10", "4")]
    assert all(len(cells) == len(header) for cells in lines)
    assert "12 random graphs" in finding(rows)


def test_without_a_budget_nothing_is_quantized():
    """lh is lt, and everybody stands for himself."""
    kernel = HeatKernel(bandwidth=0.5, cutoff=1e-5)
    points = np.random.default_rng(0).normal(size=(30, 2))
    signs = np.array([1.0, -1.0, 1.0])
    lh, standing = online_compact(points, signs, [10, 29], kernel=kernel, sink=0.1, n_g=30)
    np.testing.assert_array_equal(standing, points)
    given = np.concatenate([signs, np.zeros(27)])
    for score, t in zip(lh, [10, 29], strict=True):
        full = harmonic_solution(
            weights(points[: t + 1], kernel), given[: t + 1], given[: t + 1] != 0, sink=0.1
        )
        assert score == pytest.approx(full[t], abs=1e-12)


def test_with_a_budget_few_stand_for_many_and_labels_for_themselves():
    kernel = HeatKernel(bandwidth=0.5, cutoff=1e-5)
    points = np.random.default_rng(1).normal(size=(200, 2))
    signs = np.array([1.0, -1.0])
    _, standing = online_compact(points, signs, [], kernel=kernel, sink=0.1, n_g=20)
    np.testing.assert_array_equal(standing[:2], points[:2])
    assert len(np.unique(standing[2:], axis=0)) <= 20


def test_a_merge_is_merged_intoed_to_its_end():
    assert merged_into({3: 2, 2: 7}, 3) == 7
    assert merged_into({}, 3) == 3
