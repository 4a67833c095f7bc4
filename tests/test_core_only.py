"""Core and home run on numpy and scipy alone, and importing them loads nothing heavier."""

import subprocess
import sys
import venv
from pathlib import Path

import numpy
import scipy

SOURCE = Path(__file__).parents[1] / "src"

ONE_STEP_WITH_EVERYTHING_ELSE_BLOCKED = """
import sys

class NumpyAndScipyOnly:
    allowed = sys.stdlib_module_names | {"numpy", "scipy", "onlooker"}

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in self.allowed and not top.startswith("_sysconfigdata"):
            raise ModuleNotFoundError(f"{name} is not part of the core", name=name)

sys.meta_path.insert(0, NumpyAndScipyOnly())
sys.path.insert(0, sys.argv[1])

import numpy as np
from onlooker import HeatKernel, OnlineHarmonicLearner

learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
learner.teach(np.array([0.0, 0.0]), "ana")
print(learner.observe(np.array([0.1, 0.0])).label, learner.observe(np.array([9.0, 9.0])).label)
"""

MODULES_AFTER_IMPORT = """
import sys
sys.path.insert(0, sys.argv[1])
import onlooker
print(*sys.modules)
"""


def fresh_interpreter(program: str) -> str:
    """What the program prints in an interpreter that has seen neither this process nor its path."""
    run = subprocess.run(
        [sys.executable, "-I", "-c", program, str(SOURCE)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_one_step_with_numpy_and_scipy_only():
    assert fresh_interpreter(ONE_STEP_WITH_EVERYTHING_ELSE_BLOCKED).split() == ["ana", "None"]


def test_import_loads_nothing_heavy():
    loaded = {name.partition(".")[0] for name in fresh_interpreter(MODULES_AFTER_IMPORT).split()}
    assert "onlooker" in loaded
    heavy = {"cv2", "fastapi", "matplotlib", "ray", "rich", "river", "sklearn", "sqlite3", "typer"}
    assert loaded.isdisjoint(heavy)


HOME_WITHOUT_A_CAMERA = """
import sys, tempfile
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.home import Home
from onlooker.home.reopen import reopen

def new_learner():
    return OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))

with tempfile.TemporaryDirectory() as folder:
    with Home(folder, new_learner=new_learner) as home:
        home.teach([0.0, 0.0], "ana")
    with reopen(folder) as home:
        print(home.observe([0.1, 0.0], camera="door", frame=0).label, home.sequence)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_a_home_opens_in_an_environment_with_numpy_and_scipy_only(tmp_path):
    """A fresh environment in which nothing else is installed."""
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    python = tmp_path / "env" / "bin" / "python"
    query = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.check_output(query, text=True).strip())
    for module in (numpy, scipy):
        installed = Path(module.__file__).parents[1]
        for part in (module.__name__, f"{module.__name__}.libs"):
            if (installed / part).exists():
                (packages / part).symlink_to(installed / part)
    (packages / "onlooker.pth").write_text(f"{SOURCE}\n")
    run = subprocess.run(
        [str(python), "-I", "-c", HOME_WITHOUT_A_CAMERA], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    answer, loaded = run.stdout.splitlines()
    assert answer == "ana 2"
    assert {"numpy", "scipy", "onlooker"} <= set(loaded.split())
    missing = subprocess.run([str(python), "-I", "-c", "import cv2"], capture_output=True)
    assert missing.returncode == 1  # the environment is as empty as it should be
