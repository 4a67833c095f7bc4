"""`onlooker bench peers`: every method sees the same stream, and whoever wins is named."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from onlooker.cli.app import app
from onlooker.experiments.peer_packages import CAPYMOA, GRAPH_LEARNING, Package
from onlooker.experiments.peers import (
    OURS,
    STREAMS,
    PeerJob,
    PeerRow,
    markdown_row,
    methods_found,
    peer_stream,
    relatives,
    run_peer,
    winners,
)


def test_a_package_that_is_not_there_is_a_line_that_says_what_to_install(monkeypatch):
    absent = Package("no_such_package", "Other", "pip install other")
    assert absent.missing == "Other is not compared: pip install other"
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    without_java = Package("numpy", "Other", "pip install other", java=True)
    assert (
        without_java.missing
        == "Other is not compared: it needs Java, install a runtime of version 17"
    )
    assert Package("numpy", "Other", "pip install other").missing is None


@pytest.mark.parametrize("stream", STREAMS)
def test_five_labels_a_class_and_nothing_else_is_labeled(stream):
    shown = peer_stream(stream, seed=3, examples=200)
    assert set(np.unique(shown.names, return_counts=True)[1]) <= {1, 2, 3, 4, 5}
    assert len(shown.labeled) + len(shown.unlabeled) == 200
    again = peer_stream(stream, seed=3, examples=200)
    assert np.array_equal(shown.unlabeled, again.unlabeled)
    assert set(shown.truth) <= set(shown.names)


@pytest.mark.parametrize("method", methods_found())
def test_a_method_answers_and_is_measured(method):
    found = run_peer(PeerJob("Bananas", method, seed=0, examples=120))
    assert 0.3 * found.coverage < found.accuracy <= found.coverage <= 1.0  # nobody is not right
    assert found.ms_per_step > 0
    memory = run_peer(PeerJob("Bananas", method, seed=0, examples=120, memory=True))
    assert memory.megabytes > 0


def test_where_a_peer_wins_it_is_said():
    rows = [
        PeerRow("digits", OURS, "stream", 0.8, 0.9, 1.0, 1.0),
        PeerRow("digits", "river kNN, 1 neighbour", "stream", 0.85, 1.0, 1.0, 1.0),
    ]
    (sentence,) = winners(rows)
    assert sentence.startswith("digits: river kNN, 1 neighbour wins")
    assert f"{OURS} has 0.800" in sentence


def test_one_table_of_all(tmp_path):
    arguments = ["bench", "peers", "--seeds", "1", "--examples", "60", "--streams", "Bananas"]
    files = [tmp_path / "peers.json", tmp_path / "peers.svg", tmp_path / "peers.pdf"]
    options = ["--json", str(files[0]), "--plot", str(files[1]), "--plot", str(files[2])]
    ran = CliRunner().invoke(app, [*arguments, *options])
    assert ran.exit_code == 0, ran.output
    rows = json.loads(files[0].read_text())
    assert [row["method"] for row in rows] == methods_found()
    assert "wins" in ran.output
    for package in (GRAPH_LEARNING, CAPYMOA):  # rows, or a line that says what to install
        rows_of = [row for row in rows if row["method"].startswith(package.name)]
        assert len(rows_of) == (2 if package.missing is None else 0)
        assert (f"{package.name} is not compared: " in ran.output) == (not rows_of)
    assert all(file.stat().st_size > 1000 for file in files)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--streams", "faces"], "no stream is called 'faces'; there are digits"),
        (["--plot", "peers.doc"], "the name must end in"),
        (["--json", "no/such/folder/peers.json"], "make no/such/folder first"),
    ],
)
def test_a_wrong_argument_is_one_line(options, problem):
    ran = CliRunner().invoke(app, ["bench", "peers", *options])
    assert ran.exit_code == 1
    assert problem in ran.output
    assert "Traceback" not in ran.output


def test_the_page_has_the_rows_that_were_measured_and_says_who_wins():
    root = Path(__file__).parents[2]
    page = (root / "docs" / "peers.md").read_text(encoding="utf-8")
    found = json.loads((root / "benchmarks" / "results" / "peers.json").read_text(encoding="utf-8"))
    rows = [PeerRow(**row) for row in found]
    assert [
        row for row in page.splitlines() if row.startswith(tuple(f"| {s}" for s in STREAMS))
    ] == [markdown_row(row) for row in rows]
    assert "\n".join(relatives(rows)) in page
    for sentence in winners(rows):
        assert f"- {sentence}." in page.replace("\n  ", " ")
