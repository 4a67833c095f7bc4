"""Where settings come from, and what `onlooker doctor` says of them."""

import os
import re
from importlib.metadata import PackageNotFoundError

import pytest

from helpers.commands import error_of, onlooker
from helpers.homes import opened
from onlooker.cli.settings import ALL_SETTINGS, example_file, load_settings
from onlooker.core.errors import install_command
from onlooker.home.retention import RetentionPolicy
from onlooker.vision.scales import DEFAULT_SCALES


def test_doctor_says_what_is_in_force_and_why(tmp_path, monkeypatch):
    (tmp_path / "onlooker.toml").write_text("vertices = 200\ncutoff = 1e-6\n")
    monkeypatch.setenv("ONLOOKER_CUTOFF", "1e-7")
    result = onlooker("doctor")
    assert result.exit_code == 0, result.output
    lines = {row[9:24].strip(): row[26:] for row in result.stdout.splitlines()}
    assert lines["vertices"] == "200 (onlooker.toml)"
    assert lines["cutoff"] == "1e-07 (ONLOOKER_CUTOFF)"
    assert lines["bandwidth"] == "0.19 (default of sface)"
    assert "checksum correct" in lines["detector file"]
    assert {"onlooker", "python", "numpy", "scipy", "opencv", "av", "onnxruntime"} <= lines.keys()


def test_doctor_misses_the_embedding_that_was_asked_for(monkeypatch):
    monkeypatch.setenv("ONLOOKER_FEATURES", "embedding")
    result = onlooker("doctor")
    assert result.exit_code == 1
    assert "MISSING  embedding file" in result.stdout


def test_the_example_of_the_settings_is_complete_and_right(tmp_path):
    assert onlooker("doctor", "--example-settings").stdout == example_file()
    lines = [row[2:] for row in example_file().splitlines() if " = " in row]
    assert len(lines) == len(ALL_SETTINGS)
    (tmp_path / "onlooker.toml").write_text("\n".join(lines))
    samples = {"people": "people", "state": "door.onlooker", "home": "home", "model": "sface"}
    samples |= {"min_size": 16, "trust_radius": "auto", **DEFAULT_SCALES["sface"]._asdict()}
    assert load_settings({}).values == {
        **load_settings({"ONLOOKER_SETTINGS": os.devnull}).values,
        **samples,
    }


def test_two_faces_in_a_frame_are_two_people_unless_told_otherwise():
    assert load_settings({})["one_each"] is True
    assert load_settings({"ONLOOKER_ONE_EACH": "0"})["one_each"] is False
    assert load_settings({}, one_each=False)["one_each"] is False


@pytest.mark.parametrize(
    "text", ["vertices = 'many'", "colour = 1", "cutoff = [", "one_each = 3", "model = ''"]
)
def test_bad_settings_name_the_file(tmp_path, text):
    (tmp_path / "onlooker.toml").write_text(text)
    assert "onlooker.toml" in error_of(onlooker("doctor"))


def test_a_setting_of_an_earlier_version_names_what_replaces_it(tmp_path):
    (tmp_path / "onlooker.toml").write_text("save_every = 5\n")
    text = error_of(onlooker("doctor"))
    assert "save_every" in text
    assert "a home stores every change at once" in text


def test_doctor_says_missing_where_something_is_missing_and_how_to_get_it(monkeypatch):
    """It said "ok  onnxruntime  not installed"."""

    def version(package):
        if package in ("onnxruntime", "fastapi"):
            raise PackageNotFoundError(package)
        return "1.0"

    monkeypatch.setattr("onlooker.cli.doctor.version", version)
    result = onlooker("doctor")
    assert result.exit_code == 0, result.output
    marks = {row[9:24].strip(): (row[:7].strip(), row[26:]) for row in result.stdout.splitlines()}
    for name, extra in (("onnxruntime", "embedding"), ("fastapi", "web")):
        mark, text = marks[name]
        assert mark == "missing"
        assert install_command(extra) in text
    for mark, text in marks.values():
        assert mark != "ok" or "not installed" not in text
    monkeypatch.setenv("ONLOOKER_FEATURES", "embedding")
    needed = onlooker("doctor")
    assert needed.exit_code == 1
    assert "MISSING  onnxruntime" in needed.stdout


def test_the_ballast_is_explained_where_it_is_seen(tmp_path):
    with opened(tmp_path / "h", retention=RetentionPolicy(ballast_megabytes=0.1)) as home:
        home.expire()
    assert "space reserved" in (tmp_path / "h" / "README.txt").read_text()
    text = onlooker("doctor", "--home", "h").stdout
    names = {row[9:24].strip() for row in text.splitlines()}
    assert {path.name for path in (tmp_path / "h").iterdir()} <= names
    assert re.search(r"ballast +0\.1 MB, space reserved", text)
    assert "nothing is not a home" in onlooker("doctor", "--home", "nothing").stdout
