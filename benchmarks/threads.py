"""What threads cost: `fit` of 800 digits as numpy is installed, beside one thread.

    scripts/bench threads --json threads.json            # half a minute on a free machine

Each round starts two fresh interpreters in turns: one with no limit on threads in its environment,
one with libraries told to use one. A classifier is fitted once to warm up and five times timed, by
the clock and in seconds of all processors. Ratios are of medians over the rounds of medians.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from machine import THREADS, machine

CLASSIFIERS = ("OnlineHarmonicClassifier", "HarmonicClassifier")
PROGRAM = """
import json, sys
from statistics import median
from time import perf_counter, process_time
import numpy as np
from sklearn.datasets import load_digits
from onlooker.compat import sklearn
X, y = load_digits(return_X_y=True)
X, y = X[:800], np.where(np.arange(800) < 50, y[:800], -1)
model = getattr(sklearn, sys.argv[1])()
model.fit(X, y)
seconds = []
for _ in range(5):
    clock, processors = perf_counter(), process_time()
    model.fit(X, y)
    seconds.append([perf_counter() - clock, process_time() - processors])
print(json.dumps([median(each) for each in zip(*seconds)]))
"""


def fitted(classifier: str, limits: dict[str, str]) -> list[float]:
    """Seconds by the clock, and of all processors, in a fresh interpreter."""
    free = {name: value for name, value in os.environ.items() if name not in THREADS}
    command = [sys.executable, "-c", PROGRAM, classifier]
    shown = subprocess.run(
        command, env={**free, **limits}, check=True, capture_output=True, text=True
    )
    return [float(each) for each in json.loads(shown.stdout)]


def measure(classifier: str, rounds: int) -> dict[str, Any]:
    """One row."""
    one, default = [], []
    for _ in range(rounds):
        one.append(fitted(classifier, dict.fromkeys(THREADS, "1")))
        default.append(fitted(classifier, {}))
    row: dict[str, Any] = {"classifier": classifier, "rounds": rounds}
    for place, name in enumerate(("seconds", "cpu_seconds")):
        row[f"one_thread_{name}"] = median(each[place] for each in one)
        row[f"default_{name}"] = median(each[place] for each in default)
        row[f"{name}_ratio"] = row[f"default_{name}"] / row[f"one_thread_{name}"]
    return row


def main() -> int:
    """Measure, print, and write JSON where wanted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where to write the result")
    options = parser.parse_args()
    rows = [measure(classifier, options.rounds) for classifier in CLASSIFIERS]
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "machine": machine()}, indent=2) + "\n")
    for row in rows:
        clock, processors = row["seconds_ratio"], row["cpu_seconds_ratio"]
        print(f"{row['classifier']:26} {clock:.2f} by the clock, {processors:.2f} of processors")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
