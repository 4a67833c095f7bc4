"""Weeks of a household: the generator, what is counted, and the report of a small run."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.shades import one_by_one
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.baselines.self_training import SelfTraining
from onlooker.experiments import long_run as experiment
from onlooker.experiments.long_run import (
    CHECKED_FRAMES,
    LABEL_DAYS,
    LABELS,
    PEOPLE,
    QUANTILES,
    REAL,
    WEEKS,
    LongRunJob,
    Recorder,
    agreement,
    generated_distances,
    long_run,
    methods,
    model_of,
    quantiles,
    run,
    visits,
)
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.parallel import running_on
from onlooker.experiments.report.html import drawing
from onlooker.vision.scales import DEFAULT_SCALES, TRUST_RADII


def test_the_generators_distances_are_those_of_real_faces():
    found = {kind: quantiles(values) for kind, values in generated_distances().items()}
    middle = QUANTILES.index(50)
    walking = {what: values for (what, where), values in REAL.items() if where != "webcams"}
    for kind, real in walking.items():
        if kind == "another visit":  # filmed by day, within days
            kind = "another visit, that week by day"
        assert found[kind][middle] == pytest.approx(real[middle], abs=0.05), kind
    rarest, real_rarest = (table["the nearest stranger"][0] for table in (found, walking))
    assert rarest == pytest.approx(real_rarest, abs=0.03), "who looks alike is there too"


def test_the_stream_is_what_was_ordered():
    stream = list(visits(CHECKED_FRAMES, seed=3))
    assert sum(len(visit.vectors) for visit in stream) == CHECKED_FRAMES
    assert all(visit.known == (int(visit.person[1:]) < PEOPLE) for visit in stream)
    assert np.mean([visit.known for visit in stream]) == pytest.approx(0.6, abs=0.1)
    assert 0 <= stream[0].day < stream[-1].day < 7 * WEEKS
    np.testing.assert_allclose(np.linalg.norm(stream[0].vectors, axis=1), 1, rtol=1e-6)
    again = next(visits(CHECKED_FRAMES, seed=3))
    np.testing.assert_array_equal(again.vectors, stream[0].vectors)
    assert next(visits(CHECKED_FRAMES, seed=4)).vectors[0, 0] != again.vectors[0, 0]


class Taught:
    """Writes down what it is taught."""

    def __init__(self):
        self.labels = []
        self.model = model_of(replace(methods()[-2], n_g=10))

    def teach(self, x, name):
        self.labels.append(name)
        self.model.teach(x, name)

    def observe(self, x):
        return self.model.observe(x)


def test_labels_are_rare_and_the_same_for_all_methods(monkeypatch):
    models = [Taught(), Taught()]
    waiting = iter(models)
    monkeypatch.setattr(experiment, "model_of", lambda job: next(waiting))
    for job in (methods()[0], methods()[-1]):
        rows = run(replace(job, frames=3000, seed=0))
    assert models[0].labels == models[1].labels
    counts = [models[0].labels.count(f"p{who}") for who in range(PEOPLE)]
    assert max(counts) <= LABELS + 7 * WEEKS // LABEL_DAYS
    assert sum(count >= LABELS for count in counts) > PEOPLE // 2
    assert sum(row.frames for row in rows) == 3000 - sum(counts)


def test_contamination_counts_what_was_learned_under_a_wrong_name():
    kernel = HeatKernel(0.3, 1e-3)
    for model in (OnlineHarmonicLearner(kernel), SelfTraining(kernel)):
        recorder = Recorder(model)
        model.teach([0.0], "p0")
        assert recorder.contamination is None
        for x, truth in ((0.2, "p0"), (0.4, None), (0.5, "p0"), (0.6, "p1"), (9.0, None)):
            recorder.show([x], truth)
        assert recorder.contamination == 0.5
        assert (recorder.refused, recorder.score.strangers_named) == (1, 1)


def test_a_method_is_what_its_job_says():
    ours, guarded, *_, nearest, silent = (model_of(job) for job in methods())
    assert ours.kernel.cutoff == pytest.approx(DEFAULT_SCALES["sface"].cutoff)
    assert (ours.trust_radius, guarded.trust_radius) == (None, TRUST_RADII["sface"])
    vectors = next(visit.vectors for visit in visits(200, seed=0) if visit.known)
    for model in (nearest, silent):
        model.teach(vectors[0], "p0")
        assert model.observe(vectors[1]).label == "p0"
    assert len(silent.learner) == 1, "it learns nothing"


def a_row(truth, estimate):
    job = LongRunJob("learner", 0.9, None, frames=10, seed=0)
    row = Recorder(model_of(job)).row(job, 1.0, 10)
    return replace(row, contamination=truth, estimate=estimate)


def test_the_estimate_is_judged_by_correlation_and_by_small_truths():
    ends = [a_row(*pair) for pair in ((0.0, 0.0), (0.01, 0.04), (0.2, 0.2), (0.3, None))]
    said = agreement(ends)
    assert "3 of 4 runs, truths from 0.00 % to 20.00 %" in said
    assert "2 runs, 50% of them within one point, the farthest 3.00 % away" in said
    assert "cannot be compared" in agreement(ends[:1])


def test_a_small_run_has_a_row_for_every_moment_and_a_report(monkeypatch):
    monkeypatch.setattr(experiment, "LOOSER", (1, 1000))
    monkeypatch.setattr(experiment, "ESTIMATE_SEEDS", (1,))
    monkeypatch.setattr(experiment, "CHECKPOINTS", 4)
    monkeypatch.setattr(experiment, "CHECKED_FRAMES", 2000)
    with running_on(one_by_one):
        section, rows = long_run(Setup(seeds=1, frames=200, n_g=40))
    main = rows[: len(methods()) * 4]
    assert [row.seen for row in main] == [50, 100, 150, 200] * len(methods())
    assert len(rows) == len(main) + 2 * 2 * 2
    ours = [row for row in rows if row.method == "learner" and row.seen == 200]
    assert all(row.estimate is not None for row in ours)
    assert section.name == "long-run"
    assert "learner 0.91, radius 1.05: " in section.found
    for each in section.tables:
        assert each.rows
        assert all(len(row) == len(each.header) for row in each.rows)
    curves, scatter = section.figures
    assert [axes.get_title(loc="left") for axes in curves.axes] == [
        "contamination",
        "precision",
        "recall",
    ]
    assert drawing(scatter).count("<svg") == 1
