"""The digits experiment: its protocol, and its command on a small part of the data."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

from onlooker.experiments.accuracy import AccuracyRow, AccuracyRun
from onlooker.experiments.digits import DIGITS, DigitsJob, digits_stream, main, run
from onlooker.experiments.parallel import spread
from onlooker.experiments.report.plots import windowed

EXAMPLES = 300
FIELDS = {"method", "n_g", "seed", "accuracy", "abstained", "vertices", "ms_per_step"}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The command run once: one seed, two budgets, a few digits."""
    folder = tmp_path_factory.mktemp("digits")
    status = main(
        ["--seeds", "1", "--examples", str(EXAMPLES), "--vertices", "20", "100"]
        + ["--json", str(folder / "digits.json"), "--plot"]
        + [str(folder / name) for name in ("digits.svg", "digits.png")]
    )
    assert status == 0
    return folder


@pytest.fixture(scope="module")
def rows(results):
    return json.loads((results / "digits.json").read_text(encoding="utf-8"))["rows"]


def test_every_method_has_a_complete_row(rows):
    assert [(row["method"], row["n_g"]) for row in rows] == [
        ("closest pair", 20),
        ("closest pair", 100),
        ("least variance", 20),
        ("least variance", 100),
        ("doubling", 20),
        ("doubling", 100),
        ("self-training", 20),
        ("self-training", 100),
        ("self-training, oldest", 20),
        ("self-training, oldest", 100),
        ("self-training, random", 20),
        ("self-training, random", 100),
        ("self-training, all", None),
        ("1-NN", None),
        ("offline exact", None),
        ("LabelSpreading", None),
    ]
    for row in rows:
        assert row.keys() == FIELDS
        assert 0 <= row["accuracy"] <= 1 - row["abstained"] <= 1
        assert row["ms_per_step"] > 0


def test_learners_stay_within_their_budget(rows):
    budgeted = [row for row in rows if row["n_g"]]
    assert len(budgeted) == 12
    for row in budgeted:
        assert row["vertices"] <= 40 + row["n_g"]


def test_everybody_does_better_than_chance(rows):
    for row in rows:
        assert row["accuracy"] > 0.5, row


def test_the_cutoff_leaves_nobody_out(rows):
    assert all(row["abstained"] == 0 for row in rows)


@pytest.mark.parametrize("method", ["closest pair", "doubling", "self-training, random"])
def test_a_seed_decides_everything_but_the_time(method):
    job = DigitsJob(method, 50, seed=3, examples=EXAMPLES)
    first, second = run(job), run(job)
    assert replace(first.row, ms_per_step=0) == replace(second.row, ms_per_step=0)
    np.testing.assert_array_equal(first.correct, second.correct)


def test_differences_are_paired_by_shuffle_and_come_with_their_interval(tmp_path, capsys):
    file = tmp_path / "digits.json"
    options = ["--first", "7", "--seeds", "3", "--examples", "150", "--vertices", "20"]
    assert main([*options, "--json", str(file)]) == 0
    found = json.loads(file.read_text(encoding="utf-8"))
    assert {row["seed"] for row in found["rows"]} == {7, 8, 9}
    by_seed = {
        method: np.array([row["accuracy"] for row in found["rows"] if row["method"] == method])
        for method in ("closest pair", "self-training, all")
    }
    gains = by_seed["closest pair"] - by_seed["self-training, all"]
    last = found["differences"][-1]
    assert last["other"] == "self-training, all"
    assert last["mean"] == pytest.approx(gains.mean())
    # Student's t for three shuffles: 4.303 standard errors on either side.
    assert last["high"] - last["low"] == pytest.approx(2 * 4.303 * gains.std(ddof=1) / 3**0.5, 1e-3)
    assert (last["better"], last["shuffles"]) == (int((gains > 0).sum()), 3)
    assert "against self-training, all" in capsys.readouterr().out


def test_watching_unlabeled_digits_helps():
    """Without a budget that binds the mean over seeds beats 1-NN, which does not watch."""
    seeds = range(5)
    watching = [
        run(DigitsJob("closest pair", DIGITS, seed, EXAMPLES)).row.accuracy for seed in seeds
    ]
    not_watching = [run(DigitsJob("1-NN", None, seed, EXAMPLES)).row.accuracy for seed in seeds]
    assert np.mean(watching) > np.mean(not_watching) + 0.01


def test_the_first_four_of_each_class_are_labeled_and_never_counted():
    stream, other = digits_stream(seed=0), digits_stream(seed=1)
    assert sorted(stream.names) == sorted(4 * "0123456789")
    assert len(stream.names) + len(stream.truth) == DIGITS
    assert not np.array_equal(stream.unlabeled, other.unlabeled)
    assert 0 <= stream.unlabeled.min() < stream.unlabeled.max() == 1


def test_the_figure_is_drawn_as_vectors_and_as_pixels(results):
    assert b"<svg" in (results / "digits.svg").read_bytes()
    assert (results / "digits.png").read_bytes().startswith(b"\x89PNG")


def test_curves_are_means_over_a_window_and_over_runs():
    row = AccuracyRow("doubling", 9, seed=0, accuracy=0.5, abstained=0, vertices=9, ms_per_step=1)
    runs = [
        AccuracyRun(row, np.array([True] * 8)),
        AccuracyRun(row, np.array([True] * 4 + [False] * 4)),
    ]
    steps, share = windowed(runs, window=2)
    assert steps.tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert share.tolist() == [1, 1, 1, 0.75, 0.5, 0.5, 0.5]


def test_the_table_is_plain_when_nobody_watches(capsys):
    assert main(["--seeds", "1", "--examples", "100", "--vertices", "10"]) == 0
    out, err = capsys.readouterr()
    assert "closest pair" in out
    assert "\x1b" not in out
    assert err == ""


def test_the_demo_explains_itself_and_says_where_the_figure_is(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["--demo", "--seeds", "1", "--examples", "100", "--vertices", "10"]) == 0
    out = capsys.readouterr().out
    assert "four of each digit" in out
    for name in ("digits.svg", "digits.png"):
        assert (tmp_path / "demo" / name).stat().st_size > 0
        assert os.path.join("demo", name) in out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--seeds", "0"], "'0' is not a whole number of at least 1"),
        (["--vertices", "many"], "'many' is not a whole number"),
        (["--json", "no/such/folder/digits.json"], "make no/such/folder first"),
        (["--plot", "digits.docx"], "the name must end in .svg"),
    ],
)
def test_wrong_arguments_are_refused_before_any_work(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def test_help_has_an_example(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "example: python -m onlooker.experiments.digits" in capsys.readouterr().out


def test_workers_use_one_thread_each_and_the_caller_is_left_alone(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    jobs = ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"]
    assert spread(os.getenv, jobs, what="asking", cost=len) == ["1", "1"]
    assert os.environ["OMP_NUM_THREADS"] == "7"


def test_a_figure_needs_all_methods(capsys):
    with pytest.raises(SystemExit):
        main(["--methods", "least variance", "--plot", "digits.svg"])
    assert "a figure shows all methods" in capsys.readouterr().err


def test_only_the_methods_that_are_asked_for(capsys):
    options = ["--seeds", "2", "--examples", "200", "--vertices", "20"]
    assert main([*options, "--methods", "closest pair", "least variance"]) == 0
    shown = capsys.readouterr().out
    assert "least variance" in shown
    assert "1-NN" not in shown
