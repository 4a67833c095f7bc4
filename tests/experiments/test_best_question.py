"""Ten answers to the best question against ten to any."""

import json

import pytest

from helpers.shades import one_by_one
from onlooker.experiments.best_question import POLICIES, main
from onlooker.experiments.parallel import running_on


def test_the_best_questions_help_more_than_any_and_any_more_than_none(tmp_path, capsys):
    path = tmp_path / "rows.json"
    arguments = ["--watched", "80", "--examples", "160", "--seeds", "4", "--json", str(path)]
    with running_on(one_by_one):
        assert main(arguments) == 0
    found = json.loads(path.read_text(encoding="utf-8"))
    mean = {
        policy: sum(row["accuracy"] for row in found["rows"] if row["method"] == policy) / 4
        for policy in POLICIES
    }
    assert mean["best"] > mean["random"] > mean["none"]
    assert found["difference"]["mean"] == pytest.approx(mean["best"] - mean["random"])
    assert "best, n_g = 300 against random" in capsys.readouterr().out
