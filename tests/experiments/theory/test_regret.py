"""The decomposition of Section 3.2: its worked example, its inequality, its rows and its figure."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker import HeatKernel
from onlooker.core.harmonic import harmonic_solution, laplacian
from onlooker.experiments.theory import decomposition, regret
from onlooker.experiments.theory.compact import online_compact, weights
from onlooker.experiments.theory.decomposition import KERNEL, SignedStream
from onlooker.experiments.theory.regret import APART, LEARNER, METHODS, RegretJob, RegretRow
from onlooker.experiments.theory.regret_plot import draw
from oracle import LiteralLearner

small = st.integers(0, 1000)


@pytest.fixture(scope="module")
def rows():
    """A small run of every schedule."""
    return regret.run(2, streams=("moons",), lengths=(40, 80), labels=(), n_g=15)


def worked_example():
    """One dimension; the last is an outlier, whose y is 0. The first two are labeled."""
    vectors = np.array([[0.0], [3.5], [1.0], [2.5], [2.0], [9.0]])
    stream = SignedStream(vectors, np.array([1.0, -1.0, 1.0, -1.0, 1.0, 0.0]), 2)
    kernel = HeatKernel(bandwidth=1.0, cutoff=0.1)
    similar = weights(vectors, kernel)
    steps = [2, 3, 4, 5]
    lh, _ = online_compact(
        vectors, stream.signs[:2], steps, kernel=kernel, sink=0.1, n_g=9, radius=0.6
    )
    labels = stream.signs[:2]
    best = decomposition.offline(similar, stream, 0.1)
    lt = np.concatenate([labels, decomposition.online(similar, stream, 0.1, steps)])
    return np.concatenate([labels, lh]), lt, best, stream


def test_the_three_solutions_of_the_worked_example():
    lh, lt, best, _ = worked_example()
    assert best.round(4).tolist() == [1, -1, 0.2330, -0.3596, -0.1783, 0]
    assert lt.round(4).tolist() == [1, -1, 0.8585, -0.4473, -0.1783, 0]
    assert lh.round(4).tolist() == [1, -1, 0.8585, -0.4473, -0.5268, 0]


def test_the_terms_of_the_worked_example():
    lh, lt, best, stream = worked_example()
    found = decomposition.terms(lh, lt, best, stream.signs)
    in_order = [found[name] for name in ("total", "offline", "online", "quantization")]
    assert np.round(in_order, 4).tolist() == [0.4427, 0.3978, 0.0665, 0.0202]
    assert round(3 * sum(in_order[1:]), 4) == 1.4535
    assert round(4.5 * sum(in_order[1:]), 4) == 2.1803


def test_the_oracle_agrees_with_the_worked_example():
    lh, _, _, stream = worked_example()
    oracle = LiteralLearner(1.0, 0.1, 0.1, n_g=9, quantizer="doubling", radius=0.6)
    oracle.teach(stream.vectors[0], "+")
    oracle.teach(stream.vectors[1], "-")
    for x, score in zip(stream.vectors[2:], lh[2:], strict=True):
        said = oracle.observe(x).scores
        assert said["+"] - said["-"] == pytest.approx(score, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    seed=small,
    stream=st.sampled_from(sorted(decomposition.STREAMS)),
    schedule=st.sampled_from(sorted(regret.SCHEDULES)),
    n=st.integers(20, 60),
    n_l=st.integers(1, 12),
    n_g=st.integers(1, 20),
)
def test_the_inequality_holds_with_three_and_so_with_nine_halves(
    seed, stream, schedule, n, n_l, n_g
):
    for row in regret.measure(RegretJob(stream, schedule, n, n_l, n_g, seed)):
        whole = row.offline + row.online + row.quantization
        assert row.total <= 3 * whole * (1 + 1e-12) <= 4.5 * whole
        assert row.constant <= 3 * (1 + 1e-12)


@pytest.mark.parametrize("name", sorted(decomposition.STREAMS))
@pytest.mark.parametrize("sink", [10 * KERNEL.cutoff, 0.1])
def test_online_is_the_harmonic_solution_up_to_each_step(name, sink):
    stream = decomposition.STREAMS[name](3, 120, 6)
    similar = weights(stream.vectors, KERNEL)
    steps = [6, 7, 20, 60, 119]
    found = decomposition.online(similar, stream, sink, steps)
    for t, score in zip(steps, found, strict=True):
        upto = SignedStream(stream.vectors[: t + 1], stream.signs[: t + 1], 6)
        full = harmonic_solution(
            similar[: t + 1, : t + 1], upto.signs, np.arange(t + 1) < 6, sink=sink
        )
        assert score == pytest.approx(full[t], abs=1e-8)
    assert found[-1] == pytest.approx(decomposition.offline(similar, stream, sink)[-1], abs=1e-8)


def test_the_learner_is_measured_as_the_oracle_would():
    stream = decomposition.moons(2, 50, 4)
    scores, standing, skipped = decomposition.by_learner(stream, 0.1, 8)
    oracle = LiteralLearner(0.25, KERNEL.cutoff, 0.1, n_g=8, quantizer="doubling")
    for x, sign in zip(stream.vectors[:4], stream.signs[:4], strict=True):
        oracle.teach(x, f"{sign:+.0f}")
    for x, score in zip(stream.vectors[4:], scores[4:], strict=True):
        said = oracle.observe(x).scores
        assert said["+1"] - said["-1"] == pytest.approx(score, abs=1e-9)
    assert skipped == 0
    ends = {vertex.id: vertex.vector for vertex in oracle.vertices}
    np.testing.assert_array_equal(standing, [ends[each.vertex] for each in oracle.history])


@given(seed=small, n_l=st.integers(2, 20), stream=st.sampled_from(sorted(decomposition.STREAMS)))
@settings(max_examples=20, deadline=None)
def test_a_longer_stream_begins_like_a_shorter_one(seed, n_l, stream):
    make = decomposition.STREAMS[stream]
    short, long = make(seed, 30, n_l), make(seed, 70, n_l)
    np.testing.assert_array_equal(short.vectors, long.vectors[:30])
    np.testing.assert_array_equal(short.signs, long.signs[:30])
    assert set(long.signs[:n_l]) == {-1.0, 1.0} == set(long.signs)


def test_the_bound_on_quantization_is_that_of_the_laplacians():
    rng = np.random.default_rng(0)
    before, after = (weights(rng.normal(size=(9, 2)), KERNEL) for _ in range(2))
    difference = laplacian(after) - laplacian(before)
    expected = 3 * np.linalg.norm(difference, "fro") ** 2 / 0.5**4
    assert decomposition.quantization_bound(after - before, 3, 0.5) == pytest.approx(expected)


def test_soft_labels_are_missed_more_the_larger_the_sink():
    stream = decomposition.moons(0, 60, 6)
    similar = weights(stream.vectors, KERNEL)
    risks = [decomposition.labeled_risk(similar, stream, sink) for sink in (0.01, 1.0, 100.0)]
    assert 0 < risks[0] < risks[1] < risks[2] < 1
    assert risks[2] > 0.9


def test_rows_do_not_depend_on_the_workers_and_can_be_written(rows):
    again = [
        row
        for n in (40, 80)
        for seed in range(2)
        for row in regret.measure(RegretJob("moons", "1 n^1/4", n, regret.N_L, 15, seed))
    ]
    growing = [row for row in rows if row.schedule == "1 n^1/4"]
    assert growing == again
    assert [
        RegretRow(**each) for each in json.loads(json.dumps([asdict(row) for row in rows]))
    ] == rows
    assert {row.method for row in rows} == set(METHODS)
    assert all(row.skipped == 0 and row.zero == 1.0 for row in rows)


def test_a_growing_sink_takes_the_scores_with_it(rows):
    """Which is why falling T2 and T3 prove nothing: T1 goes where answering 0 is already."""

    def of(schedule):
        return [row for row in regret.over_n(rows, schedule, APART) if row.n == 80]

    for weak, strong in zip(of("0.1"), of("10 n^1/4"), strict=True):
        assert strong.strength < 0.01 < weak.strength
        assert strong.online < weak.online
        assert weak.offline < 0.9 < strong.offline < 1


def test_the_finding_says_what_was_found_and_warns(rows):
    said = regret.finding(rows)
    assert "held in 40 runs" in said
    assert "skipped 0 examples" in said
    assert "alone prove nothing" in said
    assert "as n^" not in regret.finding(rows[:2])
    assert "as n^" in regret.finding(regret.over_n(rows, "0.1", APART))


def test_the_first_term_is_told_against_the_number_of_labels(rows):
    constant = regret.over_n(rows, "0.1", LEARNER)[0]
    halved = [replace(constant, n=400, n_l=n_l, offline=1 / n_l) for n_l in (4, 8, 16)]
    assert "and n = 400, T1 goes as n_l^-1.00." in regret.finding(halved)


def test_the_table_has_a_line_for_each_setting(rows):
    header, lines = regret.table(rows)
    assert len(lines) == len(rows) // 2
    assert all(len(cells) == len(header) for cells in lines)
    assert {cells[4] for cells in lines} == {LEARNER, APART}


def test_the_figure_has_a_panel_for_each_schedule(rows, tmp_path):
    figure = draw([row for row in rows if row.schedule in ("0.1", "10 n^1/4")])
    assert [axes.get_title("left").count("gamma") for axes in figure.axes] == [1, 1, 0]
    path = tmp_path / "regret.svg"
    figure.savefig(path)
    assert path.stat().st_size > 1000
