"""What reading costs a home of many labels, in milliseconds of the processor.

    scripts/bench labels --labels 10000 --json labels.json    # a minute

Twenty people, 500 unlabeled vertices of 128 numbers. `owners` is what the list of people, the faces
of a person and the map are made of, at most once for each event; `copy` is what the best question
needs in the home's thread, `question` what it takes outside.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import machine, one_thread_each

from onlooker import ClosestSafePair, HeatKernel, OnlineHarmonicLearner

PEOPLE, NUMBERS, VERTICES, NOISE = 20, 128, 500, 0.35


def learner_of(labels: int) -> OnlineHarmonicLearner:
    """A learner that has seen everybody, and was taught that many labels."""
    rng = np.random.default_rng(0)
    kernel = HeatKernel(bandwidth=0.3, cutoff=1e-5)
    learner = OnlineHarmonicLearner(kernel, max_vertices=VERTICES, quantizer=ClosestSafePair())
    centers = rng.normal(size=(PEOPLE, NUMBERS))
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)

    def face(person: int) -> Any:
        x = centers[person] + NOISE * rng.normal(size=NUMBERS) / np.sqrt(NUMBERS)
        return (x / np.linalg.norm(x)).astype(np.float32)

    for person in range(PEOPLE):
        learner.teach(face(person), f"person {person}")
    for number in range(VERTICES):
        learner.observe(face(number % PEOPLE))
    for number in range(labels - PEOPLE):
        learner.teach(face(number % PEOPLE), f"person {number % PEOPLE}")
    return learner


def milliseconds(act: Callable[[], object]) -> float:
    """Of the processor, the least of three."""
    times = []
    for _ in range(3):
        begun = time.process_time()
        act()
        times.append(1e3 * (time.process_time() - begun))
    return min(times)


def measure(labels: int) -> dict[str, Any]:
    """Everything, once."""
    learner = learner_of(labels)
    known = learner.vertices()
    x = known.vectors[known.names.index(None)]
    near = [known.vectors[row] + 0.001 for row in range(10)]
    question = learner.question_later(near)
    return {
        "labels": labels,
        "vertices": len(learner),
        "ms": {
            "owners": milliseconds(learner.owners),
            "vertices, without vectors": milliseconds(lambda: learner.vertices(vectors=False)),
            "predict": milliseconds(lambda: learner.predict(x)),
            "explain": milliseconds(lambda: learner.explain(x)),
            "copy": milliseconds(learner.graph),
            "question": milliseconds(question),
        },
        "machine": machine(),
    }


def main() -> int:
    """Measure, print, and write JSON where wanted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=int, default=10_000)
    parser.add_argument("--json", type=Path, help="where to write the result")
    options = parser.parse_args()
    if options.labels < PEOPLE:
        parser.error(f"--labels is at least {PEOPLE}, one for each person")
    result = measure(options.labels)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")
    for what, ms in result["ms"].items():
        print(f"{what:28} {ms:8.1f} ms")
    return 0


if __name__ == "__main__":
    one_thread_each()
    raise SystemExit(main())
