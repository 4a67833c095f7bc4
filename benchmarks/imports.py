"""How long importing the core takes, beside importing numpy and the scipy modules that it names.

    scripts/bench imports --json imports.json            # half a minute

Fresh interpreters in turns. The modules are read from the import statements of the core; whatever
else they load is theirs. Bytecode is written once, as an installation does. Times are of the
processor, without that of starting the interpreter; ratios are of medians.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from machine import machine

CORE = Path(__file__).parents[1] / "src" / "onlooker" / "core"
PROGRAM = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"


def modules() -> list[str]:
    """Modules of numpy and scipy that the core imports."""
    named = set()
    for path in CORE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                named.add(node.module)
    return sorted(each for each in named if each.partition(".")[0] in ("numpy", "scipy"))


def seconds(names: list[str], bytecode: str) -> float:
    """Of the processor, to import these in a fresh interpreter."""
    command = [sys.executable, "-c", PROGRAM.format(", ".join(names))]
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
    return float(subprocess.check_output(command, env=environment, text=True))


def measure(rounds: int) -> dict[str, Any]:
    """Both in turns."""
    named = modules()
    theirs, ours = [], []
    with tempfile.TemporaryDirectory() as bytecode:
        seconds(["onlooker"], bytecode)
        for _ in range(rounds):
            theirs.append(seconds(named, bytecode))
            ours.append(seconds(["onlooker"], bytecode))
    return {
        "modules": named,
        "rounds": rounds,
        "numpy_and_scipy_seconds": median(theirs),
        "onlooker_seconds": median(ours),
        "ratio": median(ours) / median(theirs),
        "machine": machine(),
    }


def main() -> int:
    """Measure, print, and write JSON where wanted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, help="where to write the result")
    options = parser.parse_args()
    result = measure(options.rounds)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")
    ours, theirs = result["onlooker_seconds"], result["numpy_and_scipy_seconds"]
    print(f"core {ours:.3f} s, numpy and scipy {theirs:.3f} s: {result['ratio']:.2f} times")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
