"""From datasets to rows, sections and a page: small, but with everything that runs in the large."""

import json
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from onlooker.cli.reproduce import report, with_strangers, work
from onlooker.core.errors import BadValue
from onlooker.experiments.paper import results_cache
from onlooker.experiments.paper.methods import COMPARED
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.paper.trial import TrialRow
from onlooker.experiments.reproduce import EXPERIMENTS, literal_ms
from onlooker.vision.scales import DEFAULT_SCALES

FIXED = DEFAULT_SCALES["sface"].cutoff
COLUMNS = (
    "dataset", "set", "camera", "method", "features", "cutoff", "bandwidth", "sink", "n_g", "seed",
    "detector", "strangers", "precision", "recall", "detection_rate", "contamination", "frames",
    "ms_per_frame",
)  # fmt: skip


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def setup(cache):
    small = Setup(seeds=2, frames=96, cutoffs=(1e-5, FIXED), n_g=40)
    small.prepare()
    return small


@pytest.fixture(scope="module")
def rows(setup):
    return EXPERIMENTS["results"](setup)[1]


def test_there_is_a_row_for_every_set_camera_method_cutoff_and_seed(setup, rows):
    assert tuple(field.name for field in fields(TrialRow))[: len(COLUMNS)] == COLUMNS
    cameras = {"V1+V2": {"camera1", "camera2"}, "VO": {"cubicle", "couch", "conference"}}
    expected = {
        (name, camera, method, cutoff, seed)
        for name, places in cameras.items()
        for camera in places
        for method in COMPARED
        for cutoff in setup.cutoffs
        for seed in (0, 1)
    }
    found = [(row.set, row.camera, row.method, row.cutoff, row.seed) for row in rows]
    assert set(found) == expected
    assert len(found) == len(expected)


def test_the_same_again_is_read_and_not_worked_out(setup, rows, monkeypatch):
    monkeypatch.setattr(
        results_cache, "spread", lambda *given, **named: pytest.fail("worked out again")
    )
    assert EXPERIMENTS["results"](setup)[1] == rows


def test_an_interrupted_sweep_goes_on_and_gives_the_same_rows(setup, rows):
    """All but the time: what was lost is worked out again, what was kept is as it was."""
    trials = setup.trials(methods=("online",))
    lost = results_cache.cache_file(trials[-1])
    before = lost.read_text(encoding="utf-8")
    lost.unlink()
    again = results_cache.rows_of(trials, what="again")
    ours = [row for row in rows if row.method == "online"]
    assert [replace(row, ms_per_frame=0) for row in again] == [
        replace(row, ms_per_frame=0) for row in ours
    ]
    assert [row["recall"] for row in json.loads(before)] == [
        row["recall"] for row in json.loads(lost.read_text(encoding="utf-8"))
    ]
    assert not list(lost.parent.glob(".onlooker-*.tmp"))


def test_other_code_or_another_trial_is_kept_elsewhere(setup, monkeypatch):
    one, other = setup.trials(methods=("online",))[:2]
    before = results_cache.cache_file(one)
    assert results_cache.cache_file(other) != before
    assert results_cache.cache_file(replace(one, bandwidth=0.03)) != before
    monkeypatch.setattr(results_cache, "fingerprint", lambda: "another")
    assert results_cache.cache_file(one) != before


LONG = ("merging", "quantizers", "graph-size", "single-face", "trust-price")
OWN_TESTS = ("correction", "takeover", "long-run", "alarms")
SHORT = [name for name in EXPERIMENTS if name not in OWN_TESTS]
"""Films of 96 frames show everybody once, before or after a correction or an attack: these have
their own tests."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=pytest.mark.slow) if each in LONG else each for each in SHORT],
)
def test_every_result_has_the_papers_words_and_ours(setup, rows, name):
    fast = replace(setup, methods=("online", "nearest"))
    section, _ = EXPERIMENTS[name](fast)
    assert section.name == name
    assert section.paper
    assert section.found
    assert all(len(row) == len(section.header) for row in section.rows)
    assert section.rows


def test_the_page_stands_alone(setup, rows):
    sections, found = work(["sudden-changes", "compact"], replace(setup, methods=("online",)))
    page = report(sections, setup)
    assert 'id="sudden-changes"' in page
    assert page.count("<svg") == 2
    assert not re.search(r'(src|href)="(?!data:|#)', page), "it must load nothing from elsewhere"
    assert json.loads(json.dumps(found)) == found


def test_the_fixed_setting_comes_first_and_the_best_of_the_sweep_after_it(setup, rows):
    section, _ = EXPERIMENTS["results"](setup)
    first, best = section.tables
    cutoff = first.header.index("cutoff")
    assert {row[cutoff] for row in first.rows} == {f"{setup.fixed_cutoff:g}"}
    assert {row[3] for row in first.rows} == set(COMPARED)
    assert "precision of at least 0.995" in best.caption
    assert section.found.index("fixed cutoff") < section.found.index("At a precision of at least")
    page = report([section], setup)
    assert page.index("cutoff that a user has") < page.index("<svg") < page.index("suits it best")


def test_strangers_are_there_unless_somebody_asks_for_none(setup):
    assert with_strangers(setup, ["results"]).strangers == len(setup.dataset.crowd) == 32
    assert with_strangers(setup, ["compact"]).strangers == 0


def test_the_literal_figure_costs_more_the_larger_the_graph(setup, rows):
    trial = setup.trials(methods=("online",), cutoffs=(1e-5,))[0]
    assert literal_ms(trial, 200) > literal_ms(trial, 5) > 0


def test_what_cannot_be_run_is_refused_before_the_long_work(setup):
    with pytest.raises(BadValue, match="no method magic"):
        replace(setup, methods=("magic",))
    with pytest.raises(BadValue, match="no set 'V9'"):
        replace(setup, sets=("V9",)).prepare()
    with pytest.raises(BadValue, match="not on the first camera: eve"):
        replace(setup, people=("eve",)).prepare()
    with pytest.raises(BadValue, match="strangers were asked for"):
        replace(setup, strangers=10**6).prepare()
    with pytest.raises(BadValue, match=r"cannot read .*manifest\.csv"):
        replace(setup, data=Path("nowhere")).prepare()
