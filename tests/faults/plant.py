"""Plant bugs, one at a time, in a copy of the repository: the tests named in each must fail.

scripts/soak planted [NAME ...]

A patch in `planted/` begins with the tests that must find it. A bug that no test finds ends this
with an error; so does a patch that does not apply any more, which has to be made again.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).with_name("planted")
TESTS_FAILED = 1
"""What pytest returns; anything else is not a test that failed."""


def found(patch, copy):
    """Whether the tests that a patch names fail with it."""
    named = patch.read_text(encoding="utf-8").partition("\n")[0].removeprefix("Tests: ").split()
    apply = ["git", "apply", "--unsafe-paths", "--directory", copy]
    pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    subprocess.run([*apply, patch], check=True, cwd=copy)
    try:
        run = subprocess.run(
            [*pytest, *named],
            cwd=copy,
            env=os.environ | {"PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy / 'tests'}"},
            capture_output=True,
            text=True,
        )
        if run.returncode not in (0, TESTS_FAILED):
            raise SystemExit(f"{patch.stem}: the tests did not run:\n{run.stdout[-2000:]}")
        return run.returncode == TESTS_FAILED
    finally:
        subprocess.run([*apply, "-R", patch], check=True, cwd=copy)


def main():
    """Plant all bugs, or those named on the command line."""
    patches = [p for p in sorted(FOLDER.glob("*.patch")) if p.stem in (sys.argv[1:] or [p.stem])]
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "onlooker")
        copy.mkdir()
        for name in ("src", "tests"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        for patch in patches:
            is_found = found(patch, copy)
            print(f"{patch.stem}: {'found' if is_found else 'NOT FOUND'}", flush=True)
            missed += [] if is_found else [patch.stem]
    if missed:
        raise SystemExit(f"no test finds: {', '.join(missed)}")


if __name__ == "__main__":
    main()
