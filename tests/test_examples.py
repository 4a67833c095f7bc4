"""Every example runs, and shows what its text says."""

import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("agg")

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_textures_are_followed_while_they_change():
    shown = runpy.run_path(str(EXAMPLES / "textures.py"))
    assert shown["accuracy"] > 0.95
    assert shown["accuracy"] > shown["of_nearest"] + 0.2
    assert shown["why"].hops > 10


def test_machines_are_followed_while_they_warm_up():
    shown = runpy.run_path(str(EXAMPLES / "machines.py"))
    assert shown["accuracy"] > 0.95
    assert shown["accuracy"] > shown["of_nearest"] + 0.2


def test_voices_say_what_to_install(tmp_path):
    """aeon is no part of any extra."""
    ran = subprocess.run(
        [sys.executable, EXAMPLES / "voices.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 1
    assert ran.stderr.strip() == (
        "voices.py needs the recordings in aeon: pip install --no-deps aeon"
    )


@pytest.mark.slow
@pytest.mark.network
def test_voices_are_told_apart(tmp_path, monkeypatch):
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path, "aeon"]
    subprocess.run([sys.executable, *install], check=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    shown = runpy.run_path(str(EXAMPLES / "voices.py"))
    assert shown["of_answered"] > shown["of_nearest_there"] > 0.8
    assert shown["filled"] > shown["of_nearest"]
