"""What all commands share: errors in one line, exit codes, help, and what is imported."""

import json
import subprocess
import sys
import tomllib
from functools import partial
from importlib import metadata

import pytest

from helpers.bombs import png_of_overlapping_notes
from helpers.commands import error_of, onlooker
from helpers.pointers import ROOT
from onlooker.core import errors
from onlooker.core.errors import install_command

COMMANDS = (
    "demo", "watch", "serve", "login", "enroll", "people list", "people rename", "people merge",
    "people forget", "strangers list", "strangers name", "strangers ignore", "audit", "events",
    "explain",
    "undo", "export", "import", "backup", "restore", "calibrate", "dataset simulate",
    "dataset record", "dataset check",
    "models", "models list", "models get", "models verify", "reproduce", "doctor",
)  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["watch", "FRAMES", "--home", "h"], "nobody is known"),
        (["watch", "FRAMES", "--home", "h", "--people", "none"], "none is not a folder"),
        (["watch", "FRAMES", "--home", "PICTURE", "--people", "PEOPLE"], "0.png"),
        (["watch", "FRAMES", "--home", "h", "--state", "PEOPLE"], "folder"),
        (["watch", "FRAMES", "--home", "h", "--cutoff", "2"], "cutoff must be"),
        (["watch", "FRAMES", "--home", "h", "--vertices", "0"], "vertices must be"),
        (["watch", "FRAMES", "--home", "h", "--features", "embedding"], "ONLOOKER_EMBEDDING"),
        (
            ["watch", "FRAMES", "--home", "h", "--features", "embedding", "--detector", "haar"],
            "landmarks",
        ),
        (["enroll", "ana", "none.png", "--home", "h"], "none.png"),
        (["models", "get", "none"], "no model is called 'none'"),
        (["models", "verify"], "models get sface"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_errors_are_one_line(pictures, arguments, words):
    places = {"FRAMES": str(pictures / "frames"), "PEOPLE": str(pictures / "people")}
    places["PICTURE"] = str(pictures / "people" / "ana" / "0.png")
    assert words in error_of(onlooker(*[places.get(word, word) for word in arguments]))


@pytest.mark.parametrize(
    "arguments",
    [
        ["watch"],
        ["watch", "frames"],
        ["watch", "frames", "--home", "h", "--features", "smells"],
        ["watch", "a.mp4", "--home", "h", "--save", "a.mp4"],
        ["enroll", "--home", "h"],
        ["enroll", "ana", "--home", "h"],
        ["enroll", "ana", "a.png"],
        ["enroll", "ana", "a.png", "--people", "people", "--home", "h"],
        ["unknown"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_exit_code_2(arguments):
    result = onlooker(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Usage: " in result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command):
    result = onlooker(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"Example: onlooker {command}" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("command", "wrong", "right"),
    [
        ("import", "[off]", "[that of the file]"),
        ("restore", "made if absent", "The home to make."),
        ("demo", "those of the home", "[sface]"),
        ("reproduce", "those of the home", "[sface]"),
    ],
)
def test_help_named_defaults_that_do_not_hold(command, wrong, right):
    text = " ".join(onlooker(command, "--help").stdout.split())
    assert wrong not in text
    assert right in text


def test_only_reproduce_needs_scikit_learn():
    script = "import sys; sys.modules['sklearn'] = None; from onlooker.cli import main; main()"
    run = partial(subprocess.run, capture_output=True, text=True, check=False)
    assert run([sys.executable, "-c", script, "doctor"]).returncode == 0
    refused = run([sys.executable, "-c", script, "reproduce", "compact"])
    assert refused.returncode == 2
    assert refused.stderr == (
        "onlooker: reproduce needs sklearn, which is not installed: "
        f"{install_command('experiments')}\n"
    )


def test_the_hint_to_install_works_from_a_clone():
    """Onlooker is in no registry: `pip install "onlooker[web]"` brought nothing."""
    assert install_command("web") == f'pip install -e "{ROOT}[web]"'
    assert (
        "web"
        in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    )


def test_the_demo_of_a_fresh_machine_needs_no_scikit_learn():
    script = "import sys; sys.modules['sklearn'] = None; import onlooker.experiments.demo"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("module", ["typer", "cv2"])
def test_what_is_not_installed_is_told_in_one_line(module):
    script = f"import sys; sys.modules[{module!r}] = None; from onlooker.cli import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", script, "doctor"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert run.stdout == ""
    assert len(run.stderr.splitlines()) == 1
    assert install_command("faces") in run.stderr


def test_help_does_not_import_what_only_some_commands_need():
    """Each of these takes longer to import than everything else together."""
    heavy = ("fastapi", "matplotlib", "onnxruntime", "pydantic", "ray", "sklearn", "uvicorn")
    script = f"import sys, onlooker.cli.app; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_a_picture_with_hundreds_of_odd_notes_does_not_fill_the_log(tmp_path):
    """Each was a warning of two lines; in a process of its own, because tests make them errors."""
    picture = tmp_path / "odd.png"
    picture.write_bytes(png_of_overlapping_notes(300, 1 << 16))
    command = "from onlooker.cli.app import app; app()"
    result = subprocess.run(
        [sys.executable, "-c", command, "enroll", "ana", picture, "--home", tmp_path / "home"],
        capture_output=True,
        text=True,
    )
    assert "shows no face" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_the_hint_to_install_works_where_pip_was_given_the_clone(tmp_path, monkeypatch):
    """The README installs `".[web]"`, and the hint was `pip install "onlooker[mqtt]"`."""
    wheel = tmp_path / "onlooker-0.1.0-py3-none-any.whl"
    wheel.touch()
    origin = json.dumps({"url": wheel.as_uri(), "archive_info": {}})
    monkeypatch.setattr(errors, "_SOURCE", tmp_path)
    monkeypatch.setattr(metadata.PathDistribution, "read_text", lambda *_: origin)
    assert install_command("web") == f'pip install "{wheel}[web]"'
    wheel.unlink()
    assert install_command("web") == 'pip install "onlooker[web]"'


def test_no_sentence_of_the_list_of_commands_is_cut_off():
    for group in ("", "people", "strangers", "history", "dataset", "models", "cluster"):
        listed = onlooker(*group.split(), "--help").stdout.partition("\nCommands:\n")[2]
        assert listed, group
        assert "..." not in listed, group
