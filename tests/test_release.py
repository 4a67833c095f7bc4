"""What would be released: wheel and sdist hold what they should, and what is in the wheel runs."""

import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import onlooker

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def run(*command, **options):
    """What the command prints; it must succeed."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist, built without a network."""
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """A folder into which the wheel alone was installed, and the environment to run it in."""
    folder = tmp_path_factory.mktemp("installed")
    quiet = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    run(sys.executable, "-m", "pip", "install", *quiet, "--prefix", folder, "--ignore-installed",
        built[0])  # fmt: skip
    (packages,) = folder.glob("lib*/python*/site-packages")
    return folder, {**os.environ, "PYTHONPATH": str(packages)}


def test_the_wheel_holds_the_package_and_nothing_else(built):
    names = zipfile.ZipFile(built[0]).namelist()
    assert {name.partition("/")[0] for name in names} == {
        "onlooker", f"onlooker-{onlooker.__version__}.dist-info",
    }  # fmt: skip
    assert {"onlooker/py.typed", "onlooker/web/static/index.html"} <= set(names)
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert sources <= set(names)


def test_the_sdist_holds_what_its_tests_and_its_site_need(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"pyproject.toml", "LICENSE", "README.md", "CITATION.cff", "mkdocs.yml"}
    needed |= {"tests/test_release.py", "docs/choices.md", "scripts/test", "src/onlooker/py.typed"}
    assert needed <= names


def test_the_command_runs_from_the_wheel(installed, tmp_path):
    folder, environment = installed
    where = run(sys.executable, "-c", "import onlooker; print(onlooker.__file__)",
                env=environment, cwd=tmp_path)  # fmt: skip
    assert Path(where.strip()).is_relative_to(folder)
    command = folder / "bin" / "onlooker"
    assert run(command, "--version", env=environment).strip() == onlooker.__version__


def test_a_shell_completes_commands_and_options(installed):
    command, environment = installed[0] / "bin" / "onlooker", installed[1]
    # typer asks the processes above it which shell it is in: there must be one that stays
    script = run("bash", "-c", '"$0" --show-completion; :', command, env=environment)
    assert "_ONLOOKER_COMPLETE=complete_bash" in script

    def completed(words):
        typed = {"_ONLOOKER_COMPLETE": "complete_bash", "COMP_WORDS": words}
        place = {"COMP_CWORD": str(len(words.split()) - 1)}
        return run(command, env={**environment, **typed, **place}).split()

    assert completed("onlooker wat") == ["watch"]
    assert "--trust-radius" in completed("onlooker watch --tr")


def test_the_papers_can_be_cited():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for number in ("2604.27562", "2604.27564"):
        assert f'value: "arXiv:{number}"' in text


# ---- with packages from elsewhere: scripts/test -m "slow and network" tests/test_release.py

CONSUMER = """\
import numpy as np
from onlooker import HeatKernel, OnlineHarmonicLearner, Prediction

learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
learner.teach(np.zeros(2), "ana")
seen: Prediction = learner.predict([0.1, 0.0])
name: str | None = learner.observe([0.1, 0.0]).label
"""
WRONG = CONSUMER + "count: int = learner.observe([0.1, 0.0]).label\nlearner.teach([0.0], 5)\n"


@pytest.fixture(scope="module")
def consumer(built, tmp_path_factory):
    """A function that makes an environment with the wheel, an extra and other requirements."""

    def made(*requirements, extra=""):
        folder = tmp_path_factory.mktemp("consumer")
        venv.create(folder, with_pip=True)
        python = folder / "bin" / "python"
        wheel = f"onlooker{f'[{extra}]' if extra else ''} @ {built[0].as_uri()}"
        run(python, "-m", "pip", "install", "--quiet", wheel, *requirements)
        return python

    return made


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_project_that_uses_it_is_checked(checker, consumer, tmp_path):
    """pyright takes its other half from the registry of npm, and runs it on the system's node."""
    python = consumer(checker)
    options = {"mypy": ["--strict"], "pyright": ["--pythonpath", python]}[checker]
    (tmp_path / "right.py").write_text(CONSUMER)
    (tmp_path / "wrong.py").write_text(WRONG)
    run(python, "-m", checker, *options, "right.py", cwd=tmp_path)
    found = subprocess.run(
        [python, "-m", checker, *options, "wrong.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert found.stdout.count("error:") == 2, found.stdout


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("extra", sorted(PROJECT["optional-dependencies"]))
def test_an_extra_alone_can_be_installed(extra, built):
    wheel = f"onlooker[{extra}] @ {built[0].as_uri()}"
    run(sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", wheel)


@pytest.mark.slow
@pytest.mark.network
def test_the_core_runs_with_the_lowest_versions(consumer):
    lowest = [each.replace(">=", "==") + ".*" for each in PROJECT["dependencies"]]
    python = consumer(*lowest, "pytest", "hypothesis", "mpmath")
    found = run(python, "-c", "import numpy, scipy; print(numpy.__version__, scipy.__version__)")
    assert found.startswith("2.0.")
    options = ["-q", "-p", "no:cacheprovider", "--override-ini=addopts=--import-mode=importlib"]
    run(
        python,
        "-m",
        "pytest",
        *options,
        "tests/core/test_laws.py",
        "tests/core/test_solver.py",
        cwd=ROOT,
    )
