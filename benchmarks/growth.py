"""Does a step get slower, or the process larger, as the stream goes on? A million steps.

    python benchmarks/growth.py --json growth.json
    python benchmarks/growth.py --steps 100000        # a tenth of it, for a first look

Time per step is divided by a fixed piece of linear algebra timed alongside, so that a noisy
machine does not look like growth; memory is the resident set of the process.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from references import factorise, seconds, spd_matrix
from rich.progress import track

from onlooker import HeatKernel, OnlineHarmonicLearner

VERTICES = 200
LENGTH = 16
SAMPLE = 1000
"""Steps between two timings of the fixed kernel."""


def run(steps: int) -> dict[str, Any]:
    """Observe so many examples of four slowly drifting people."""
    rng = np.random.default_rng(0)
    homes = rng.normal(size=(4, LENGTH))
    learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-6), max_vertices=VERTICES)
    for person, home in enumerate(homes):
        for _ in range(4):
            learner.teach(home + 0.1 * rng.normal(size=LENGTH), f"person{person}")
    fixed = spd_matrix(100)
    process = psutil.Process()
    medians, kernels, memory = [], [], []
    for block in track(range(steps // SAMPLE), "observing"):
        drift = 0.3 * np.sin(block / 50 + np.arange(4))[:, None]
        people = rng.integers(4, size=SAMPLE)
        noise = 0.15 * rng.normal(size=(SAMPLE, LENGTH))
        examples = (homes + drift * np.roll(homes, 1, axis=0) / 4)[people] + noise
        times = [seconds(lambda x=example: learner.observe(x)) for example in examples]
        medians.append(float(np.median(times)))
        kernels.append(float(np.median([seconds(lambda: factorise(fixed)) for _ in range(50)])))
        memory.append(process.memory_info().rss)
    span = max(1, len(medians) // 10)
    first, last = slice(1, 1 + span), slice(-span, None)  # the first thousand fills the budget
    ratio = np.array(medians) / np.array(kernels)
    return {
        "steps": steps,
        "vertices": len(learner),
        "first_ms": 1e3 * float(np.median(medians[first])),
        "last_ms": 1e3 * float(np.median(medians[last])),
        "growth_of_step": float(np.median(ratio[last]) / np.median(ratio[first]) - 1),
        "growth_of_memory": float(np.median(memory[last]) / np.median(memory[first]) - 1),
        "resident_mb": memory[-1] / 2**20,
    }


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=10**6)
    parser.add_argument("--json", type=Path, help="where to write the result")
    options = parser.parse_args()
    result = run(options.steps)
    text = json.dumps(result, indent=2)
    if options.json:
        options.json.write_text(text + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
