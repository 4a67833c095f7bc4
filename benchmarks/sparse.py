"""The harmonic solution on a graph of a million rows, beside the time that making the graph takes.

    pip install hnswlib
    scripts/bench sparse --json sparse.json              # minutes, and less than 4 GB
    scripts/bench sparse --rows 50000                    # seconds

Rows are drawn: four hidden numbers, uniform, are bent into 16 and blurred, so that all rows are one
part of the graph and each of the ten classes reaches everywhere; a class is where one of ten drawn
places is the nearest. Ten rows of each class have a label. hnswlib, an approximate index with
threads of its own, finds ten neighbours of every row; similarities are a heat kernel with the
bandwidth that `auto_bandwidth` would take, and links go both ways. `fit` is `HarmonicClassifier`
with that graph, which uses one thread. The error is against the same solve to a residual a thousand
times smaller; the bound beside it needs no other solve: all walks end somewhere, so no error is
larger than the residual divided by what leaks, at the vertex where that is most.
"""

import argparse
import json
import resource
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import scipy.sparse
from machine import machine
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from onlooker import HeatKernel
from onlooker.compat.sklearn import SIGMAS, HarmonicClassifier
from onlooker.core import multilevel

LENGTH, CLASSES, LABELS, HIDDEN, BLUR = 16, 10, 10, 4, 0.02
NEIGHBOURS, BREADTH, CUTOFF = 10, 50, 1e-5
"""Neighbours of a row, how many the index keeps in view while it looks, and the kernel's cutoff."""
CHECKED = 1000
"""Rows whose neighbours are looked up exactly too."""

Floats = NDArray[np.float64]


def rows_of(count: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Rows and their classes."""
    rng = np.random.default_rng(seed)
    hidden = rng.uniform(-1, 1, (count, HIDDEN))
    places = rng.uniform(-1, 1, (CLASSES, HIDDEN))
    gaps = np.stack([((hidden - place) ** 2).sum(axis=1) for place in places])
    bent = np.tanh(hidden @ rng.normal(size=(HIDDEN, LENGTH)) + rng.normal(size=LENGTH))
    bent += BLUR * rng.normal(size=bent.shape)
    return bent.astype(np.float32), gaps.argmin(axis=0)


def neighbours_of(rows: NDArray[np.float32], seed: int) -> tuple[Any, Any]:
    """Numbers and squared distances of the rows that an approximate index finds near each."""
    try:
        import hnswlib
    except ModuleNotFoundError:
        raise SystemExit("the graph needs an index: pip install hnswlib") from None
    index = hnswlib.Index(space="l2", dim=rows.shape[1])
    index.init_index(len(rows), random_seed=seed)
    index.add_items(rows)
    index.set_ef(BREADTH)
    return index.knn_query(rows, k=NEIGHBOURS + 1)  # and the row itself


def graph_of(numbers: Any, squared: Any) -> Any:
    """Similarities of neighbours; a link goes both ways."""
    bandwidth = float(np.sqrt(np.median(squared[:, -1]))) / SIGMAS
    weights = HeatKernel(bandwidth, CUTOFF).weights(squared.astype(float)).ravel()
    row, column = np.repeat(np.arange(len(numbers)), numbers.shape[1]), numbers.ravel().astype(int)
    kept = (weights > 0) & (row != column)
    shape = (len(numbers), len(numbers))
    graph = scipy.sparse.csr_array((weights[kept], (row[kept], column[kept])), shape=shape)
    return graph.maximum(graph.T)


def recall(rows: NDArray[np.float32], numbers: Any, seed: int) -> float:
    """The share of true neighbours among those found, for some rows."""
    some = np.random.default_rng(seed).choice(len(rows), min(CHECKED, len(rows)), replace=False)
    exact = NearestNeighbors(n_neighbors=NEIGHBOURS + 1, algorithm="brute").fit(rows)
    true = exact.kneighbors(rows[some], return_distance=False)
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(true, numbers[some], strict=True)]))


def clocked(call: Any) -> tuple[Any, dict[str, float]]:
    """What a call gives, and how long it takes by the clock and of all processors."""
    clock, processors = perf_counter(), process_time()
    given = call()
    taken = {"seconds": perf_counter() - clock, "cpu_seconds": process_time() - processors}
    return given, taken


def residual_bound(graph: Any, labeled: Any, classes: Any, found: Floats, sink: float) -> float:
    """How far the probabilities can be from the solution, read off the equations themselves."""
    free = np.flatnonzero(~labeled)
    inside, ends = graph[free][:, free], graph[free][:, np.flatnonzero(labeled)]
    leaks = ends.sum(axis=1) + sink
    diagonal = inside.sum(axis=1) + leaks
    bounds = []
    for each in range(CLASSES):
        x = found[free, each]
        residual = ends @ (classes[labeled] == each).astype(float) - (diagonal * x - inside @ x)
        bounds.append(abs(residual / leaks).max())
    return float(max(bounds))


def measure(count: int, seed: int) -> dict[str, Any]:
    """Everything, once."""
    rows, classes = rows_of(count, seed)
    rng = np.random.default_rng(seed + 1)
    labeled = np.zeros(count, dtype=bool)
    for each in range(CLASSES):
        members = np.flatnonzero(classes == each)
        labeled[rng.choice(members, min(LABELS, len(members)), replace=False)] = True
    (numbers, squared), index = clocked(lambda: neighbours_of(rows, seed))
    graph, weighing = clocked(lambda: graph_of(numbers, squared))
    model = HarmonicClassifier(graph="precomputed", cutoff=CUTOFF)
    _, fit = clocked(lambda: model.fit(graph, np.where(labeled, classes, -1)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    multilevel.RESIDUAL /= 1000
    tighter = clone(model).fit(graph, np.where(labeled, classes, -1))
    parts, part = scipy.sparse.csgraph.connected_components(graph)
    making = {key: index[key] + weighing[key] for key in index}
    return {
        "rows": count,
        "seed": seed,
        "links": int(graph.nnz),
        "parts": int(parts),
        "largest_part": int(np.bincount(part).max()),
        "recall": recall(rows, numbers, seed),
        "graph": making,
        "fit": fit,
        "fit_over_graph": fit["seconds"] / making["seconds"],
        "peak_gb": peak,
        "error": float(abs(tighter.probabilities_ - model.probabilities_).max()),
        "error_bound": residual_bound(graph, labeled, classes, model.probabilities_, model.sink_),
        "machine": machine(),
    }


def main() -> int:
    """Measure, print, and write JSON where wanted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where to write the result")
    options = parser.parse_args()
    if options.rows < CLASSES * LABELS * NEIGHBOURS:
        parser.error(f"--rows is at least {CLASSES * LABELS * NEIGHBOURS}")
    result = measure(options.rows, options.seed)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")
    for name, value in result.items():
        print(f"{name:18} {value}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
