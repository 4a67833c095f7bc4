"""Run the blocks of the pages in docs/start, and nothing else, each page in a fresh environment.

Blocks marked `bash` run in one shell, in the order of the page, in an empty folder; where the first
`python` block stands, all examples of the page are run as doctests. `pip install onlooker` finds a
wheel that was built from this folder.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import venv
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = {page.stem: page for page in sorted((ROOT / "docs" / "start").glob("*.md"))}
BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def script_of(page: Path) -> str:
    """The blocks of a page as one shell script."""
    rows, tested = ["set -euo pipefail"], False
    for kind, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "bash":
            rows.append(block)
        elif not tested:
            rows.append(f"python -m doctest {shlex.quote(str(page))}")
            tested = True
    return "\n".join(rows) + "\n"


def wheel_in(folder: Path) -> Path:
    """Build the wheel of this folder into another."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder]
    subprocess.run([*command, ROOT], check=True)
    (wheel,) = folder.glob("onlooker-*.whl")
    return wheel


def run(page: Path, wheels: Path, folder: Path) -> int:
    """The exit code of a page's blocks in a new environment in the folder."""
    venv.create(folder / "environment", with_pip=True)
    binaries = folder / "environment" / "bin"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_QUIET": "1",
    }
    (folder / "empty").mkdir()
    shell = subprocess.Popen(
        ["bash", "-c", script_of(page)],
        cwd=folder / "empty",
        env=environment,
        start_new_session=True,
    )
    try:
        return shell.wait()
    finally:  # a block may have left a service behind
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGTERM)


def main(names: list[str]) -> int:
    """Exit code 0 if all blocks ran, 1 if some failed, 2 for a page that does not exist."""
    unknown = [name for name in names if name not in PAGES]
    if unknown:
        print(f"no such page: {unknown[0]}; there are {', '.join(PAGES)}", file=sys.stderr)
        return 2
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder, "wheels")
        wheels.mkdir()
        wheel_in(wheels)
        for name in names or PAGES:
            place = Path(folder, name)
            place.mkdir()
            print(f"== {name}", flush=True)
            if run(PAGES[name], wheels, place):
                failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all blocks ran", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
