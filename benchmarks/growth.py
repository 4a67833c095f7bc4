"""Does a step get slower, wrong, or the process larger, as the stream goes on? A million steps.

    python benchmarks/growth.py --json growth.json
    python benchmarks/growth.py --steps 10000000 --minutes 60   # what fits into an hour of them

CPU time per step is divided by that of a matrix product made in turns with the steps, so that a
busy machine does not look like growth; memory is the resident set of the process; scores are
compared with the whole graph built and solved from nothing.
"""

import argparse
import json
from pathlib import Path
from time import monotonic, thread_time
from typing import Any

import numpy as np
import psutil
from references import spd_matrix
from rich.progress import track
from scipy.spatial.distance import cdist

from onlooker import HeatKernel, OnlineHarmonicLearner, harmonic_solution

LENGTH = 16
SAMPLE = 1000
"""Steps of a block, in which drift stands still; 32 blocks are a round of it."""
TURN = 50
"""Steps between two products."""
COMPARED = 100
"""Examples whose scores are compared with a fresh solution, ten times in a run."""


def spent(call: Any, *arguments: Any) -> float:
    """CPU seconds of one call."""
    before = thread_time()
    call(*arguments)
    return thread_time() - before


def fresh_scores(learner: OnlineHarmonicLearner, x: Any) -> dict[str, float]:
    """The scores of an example, from the whole graph with it in its place."""
    known = learner.vertices()
    vectors, counts = known.vectors.astype(float), known.multiplicities.astype(float)
    names = list(known.names)
    gaps = np.linalg.norm(vectors - x, axis=1)
    at = int(gaps.argmin())
    if gaps[at] < learner.radius:  # that vertex stands for it
        counts[at] += 1
    else:
        at, names = len(names), [*names, None]
        vectors, counts = np.vstack([vectors, x]), np.append(counts, 1.0)
    weights = learner.kernel.weights(cdist(vectors, vectors, "sqeuclidean"))
    labels = [[float(name == each) for each in learner.names] for name in names]
    labeled = [name is not None for name in names]
    scores = harmonic_solution(weights, labels, labeled, sink=learner.sink, multiplicity=counts)
    return dict(zip(learner.names, scores[at].tolist(), strict=True))


def difference(learner: OnlineHarmonicLearner, examples: Any) -> float:
    """The largest difference of any score from a fresh solution."""
    worst = 0.0
    for x in examples:
        found = learner.predict(x).scores
        fresh = fresh_scores(learner, x.astype(np.float32))
        worst = max(worst, *(abs(found[name] - fresh[name]) for name in fresh))
    return worst


def run(steps: int, vertices: int, minutes: float) -> dict[str, Any]:
    """Observe so many examples of four slowly drifting people, or what fits into some minutes."""
    rng, end = np.random.default_rng(0), monotonic() + 60 * minutes
    homes = rng.normal(size=(4, LENGTH))
    learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-6), max_vertices=vertices)
    for person, home in enumerate(homes):
        for _ in range(4):
            learner.teach(home + 0.1 * rng.normal(size=LENGTH), f"person{person}")
    product, column = spd_matrix(500), np.ones(500)
    process = psutil.Process()
    blocks = steps // SAMPLE
    step_seconds, product_seconds, memory, worst = [], [], [], 0.0
    for block in track(range(blocks), "observing"):
        drift = 0.3 * np.sin(2 * np.pi * block / 32 + np.arange(4))[:, None]
        people = rng.integers(4, size=SAMPLE)
        noise = 0.15 * rng.normal(size=(SAMPLE, LENGTH))
        examples = (homes + drift * np.roll(homes, 1, axis=0) / 4)[people] + noise
        products, times = [], []
        for start in range(0, SAMPLE, TURN):
            products.append(spent(lambda: [product @ column for _ in range(20)]))
            times += [spent(learner.observe, x) for x in examples[start : start + TURN]]
        step_seconds.append(float(np.median(times)))
        product_seconds.append(float(np.median(products)))
        memory.append(process.memory_info().rss)
        last = block == blocks - 1 or monotonic() > end
        if last or block % max(1, blocks // 10) == 0:
            worst = max(worst, difference(learner, examples[:COMPARED]))
        if last:
            break
    made = len(step_seconds)
    span = max(1, made // 10)
    warm = min(32, made // 10)  # a round of the drift: the budget is full, all vectors were seen
    first, tail = slice(warm, warm + span), slice(-span, None)
    ratio = np.array(step_seconds) / np.array(product_seconds)
    return {
        "steps": made * SAMPLE,
        "vertices": len(learner),
        "first_ms": 1e3 * float(np.median(step_seconds[first])),
        "last_ms": 1e3 * float(np.median(step_seconds[tail])),
        "growth_of_step": float(np.median(ratio[tail]) / np.median(ratio[first]) - 1),
        "growth_of_memory": float(np.median(memory[tail]) / np.median(memory[first]) - 1),
        "resident_mb": memory[-1] / 2**20,
        "largest_difference_of_a_score": worst,
    }


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=10**6)
    parser.add_argument("--vertices", type=int, default=500)
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="end then, with the steps made so far"
    )
    parser.add_argument("--json", type=Path, help="where to write the result")
    options = parser.parse_args()
    result = run(options.steps, options.vertices, options.minutes)
    text = json.dumps(result, indent=2)
    if options.json:
        options.json.write_text(text + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
