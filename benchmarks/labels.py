"""What reading costs a home of many labels, in milliseconds of the processor.

    scripts/bench labels --labels 10000 --json labels.json    # a minute

Twenty people, 500 unlabeled vertices of 128 numbers. `owners` is what the list of people, the faces
of a person and the map are made of, at most once for each event; `copy` is what the best question
needs in the home's thread, `question` and `map` what they take outside. Ratios are to one
product of a vector with a table of all vertices and labels, timed in the same run: an answer that
takes many passes over it stops the cameras. Fails if a ratio is above its limit, or the map takes
more memory than it may.
"""

import argparse
import json
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import machine, one_thread_each

from onlooker import ClosestSafePair, HeatKernel, OnlineHarmonicLearner
from onlooker.home.people import vertex_owners
from onlooker.web.routes.map import LinkStrengths, on_the_map

PEOPLE, NUMBERS, VERTICES, NOISE = 20, 128, 500, 0.35
NEGATIVES = 20
LIMITS = {
    "predict": 20.0,
    "explain": 150.0,
    "predict, 20 negatives": 130.0,
    "explain, 20 negatives": 270.0,
}
"""Of the time of the product; between what it took before labels were summed up and after."""
MAP_MEGABYTES = 100.0


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


def graph_map(learner: OnlineHarmonicLearner) -> None:
    """What `GET /map` computes, from the start."""
    shown = on_the_map(vertex_owners(learner))
    vectors = np.stack([learner.vector(owner.vertex) for owner in shown])
    ids = np.array([owner.vertex for owner in shown], np.int64)
    LinkStrengths().links(ids, vectors, learner.kernel)


def map_megabytes(learner: OnlineHarmonicLearner) -> float:
    """What that takes at most."""
    tracemalloc.start()
    graph_map(learner)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def measure(labels: int) -> dict[str, Any]:
    """Everything, once."""
    learner = learner_of(labels)
    known = learner.vertices()
    x = known.vectors[known.names.index(None)]
    near = [known.vectors[row] + 0.001 for row in range(10)]
    question = learner.question_later(near)
    visits, table = np.ones(VERTICES), np.ones((VERTICES, labels))
    product = milliseconds(lambda: visits @ table)
    ms = {
        "owners": milliseconds(learner.owners),
        "vertices, without vectors": milliseconds(lambda: learner.vertices(vectors=False)),
        "predict": milliseconds(lambda: learner.predict(x)),
        "explain": milliseconds(lambda: learner.explain(x)),
        "copy": milliseconds(learner.graph),
        "question": milliseconds(question),
        "map": milliseconds(lambda: graph_map(learner)),
    }
    unlabeled = [row for row, name in enumerate(known.names) if name is None]
    for number, row in enumerate(unlabeled[1 : 1 + NEGATIVES]):
        learner.teach(known.vectors[row], not_name=f"person {number % PEOPLE}")
    ms["predict, 20 negatives"] = milliseconds(lambda: learner.predict(x))
    ms["explain, 20 negatives"] = milliseconds(lambda: learner.explain(x))
    return {
        "labels": labels,
        "vertices": len(learner),
        "ms": ms,
        "product_ms": product,
        "ratios": {what: ms[what] / product for what in LIMITS},
        "map_megabytes": map_megabytes(learner),
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
        ratio = result["ratios"].get(what)
        times = "" if ratio is None else f"{ratio:8.1f} products, limit {LIMITS[what]:g}"
        print(f"{what:28} {ms:8.1f} ms{times}")
    print(f"{'memory of the map':28} {result['map_megabytes']:8.1f} MB, limit {MAP_MEGABYTES:g}")
    slow = any(result["ratios"][what] > limit for what, limit in LIMITS.items())
    return int(slow or result["map_megabytes"] > MAP_MEGABYTES)


if __name__ == "__main__":
    one_thread_each()
    raise SystemExit(main())
