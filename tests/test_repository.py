"""Facts that several files state agree, and the public names are in order."""

import os
import re
import subprocess
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import onlooker

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(
    [path for path in (ROOT / "scripts").iterdir() if not path.name.startswith((".", "_"))]
    + [ROOT / ".ci" / "run"]
)


def test_one_version_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d[^\]]*)\]", changelog, flags=re.MULTILINE)
    assert newest, "CHANGELOG.md has no entry of the form '## [1.2.3] - date'"
    assert project["version"] == onlooker.__version__ == newest[1]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_executable_and_sound(script):
    assert os.access(script, os.X_OK), f"{script.name} has no run bit"
    subprocess.run(["bash", "-n", script], check=True)


@pytest.mark.parametrize("script", ["bench", "check", "demo", "docs", "test"])
def test_scripts_explain_themselves(script, tmp_path):
    """From any folder, and before anything is installed."""
    run = subprocess.run(
        [ROOT / "scripts" / script, "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"  scripts/{script}" in run.stdout
    assert "#" not in run.stdout


def test_public_names_are_sorted_and_complete():
    public = {
        name
        for name, value in vars(onlooker).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    listed = [name for name in onlooker.__all__ if name != "__version__"]
    assert listed == sorted(public)


def test_names_of_the_design_are_public():
    fixed = {"ClosestPair", "Doubling", "HeatKernel", "OnlineHarmonicLearner", "Prediction"}
    assert fixed <= set(onlooker.__all__)


@pytest.mark.parametrize("name", [name for name in onlooker.__all__ if name != "__version__"])
def test_public_names_have_an_example(name):
    assert ">>>" in (getattr(onlooker, name).__doc__ or ""), f"{name} needs a docstring with >>>"
