"""The core runs on numpy and scipy alone, and importing it loads nothing heavier."""

import subprocess
import sys
from pathlib import Path

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
