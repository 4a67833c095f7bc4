"""How long one `observe` takes at full budget, beside references timed in the same run.

    scripts/bench                                     # everything, about ten minutes
    scripts/bench --vertices 500 --lengths 9216       # one row of the table
    scripts/bench --json step.json

Only accepted steps are counted: an outlier is cheap. Ratios are of medians; the machine may be
noisy, the ratios less so, since observe and references take turns.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from references import (
    PATIENCE,
    all_pairs,
    factorise,
    label_propagation,
    repeated,
    river_neighbours,
    seconds,
    spd_matrix,
)
from rich.console import Console
from rich.progress import track
from rich.table import Table
from streams import Crowd

from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.experiments.paper.references import literal_figure

Row = dict[str, Any]


def steady_learner(crowd: Crowd, vertices: int) -> OnlineHarmonicLearner:
    """A learner with four labels a person, watched until its budget has long been full."""
    learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.25, cutoff=1e-6), max_vertices=vertices)
    taught: dict[str, int] = {}
    for face, name in crowd.faces(8 * 34):
        if taught.setdefault(name, 0) < 4:
            learner.teach(face, name)
            taught[name] += 1
    batch = [face for face, _ in crowd.faces(vertices + max(vertices // 2, 200), start=1000)]
    for start in track(range(0, len(batch), 50), "warming up", console=Console(stderr=True)):
        learner.observe_many(batch[start : start + 50])
    return learner


def measure(vertices: int, length: int, graph: str, steps: int) -> Row:
    """One row: observe and the two yardsticks in turns, then the rivals."""
    crowd = Crowd(length, together=graph == "single")
    learner = steady_learner(crowd, vertices)
    stored = learner.vertices().vectors.copy()
    matrix = spd_matrix(vertices)
    accepted, looking, factoring = [], [], []
    faces = [face for face, _ in crowd.faces(steps, start=10**6)]
    for number, face in enumerate(faces):
        named: list[object] = []
        took = seconds(lambda x=face, out=named: out.append(learner.observe(x).label))
        if named[0] is not None:
            accepted.append(took)
        looking.append(seconds(lambda x=face: stored @ x))
        if number % (4 if vertices < 1000 else 10) == 0:
            factoring.append(seconds(lambda: factorise(matrix)))
    row: Row = {
        "vertices": vertices,
        "length": length,
        "graph": graph,
        "accepted": len(accepted),
        "steps": steps,
        "observe_ms": 1e3 * float(np.median(accepted)),
        "observe_p95_ms": 1e3 * float(np.percentile(accepted, 95)),
        "matvec_ms": 1e3 * float(np.median(looking)),
        "cho_factor_ms": 1e3 * float(np.median(factoring)),
    }
    row |= rivals(learner, faces[0])
    for name in ("matvec", "cho_factor"):
        row[f"observe_over_{name}"] = row["observe_ms"] / row[f"{name}_ms"]
    for name in ("literal", "label_propagation", "river_knn"):
        slow = row[f"{name}_ms"]
        row[f"{name}_over_observe"] = None if slow is None else slow / row["observe_ms"]
    return row


def rivals(learner: OnlineHarmonicLearner, face: Any) -> Row:
    """The slow references; those that would take too long are None."""
    size, length = learner.vertices().vectors.shape
    literal = 2e-9 * size**2 * length < PATIENCE
    river = 5e-7 * size * length < PATIENCE / 4
    return {
        "literal_ms": 1e3 * repeated(literal_figure(learner, face, all_pairs)) if literal else None,
        "label_propagation_ms": 1e3 * repeated(label_propagation(learner)),
        "river_knn_ms": 1e3 * repeated(river_neighbours(learner, face)) if river else None,
    }


def table(rows: list[Row]) -> Table:
    """The rows for a person."""
    shown = Table(title="observe at full budget, accepted steps, one BLAS thread")
    heads = [
        "vertices",
        "length",
        "graph",
        "observe",
        "p95",
        "matvec",
        "cho_factor",
        "LabelProp.",
        "literal",
        "river",
    ]
    for head in heads:
        shown.add_column(head, justify="left" if head == "graph" else "right")
    for row in rows:
        shown.add_row(
            str(row["vertices"]),
            str(row["length"]),
            row["graph"],
            f"{row['observe_ms']:.2f} ms",
            f"{row['observe_p95_ms']:.2f} ms",
            f"{row['observe_over_matvec']:.2f} of it",
            f"{row['observe_over_cho_factor']:.3f} of it",
            *(
                "-"
                if row[f"{name}_over_observe"] is None
                else f"{row[f'{name}_over_observe']:.0f} x"
                for name in ("label_propagation", "literal", "river_knn")
            ),
        )
    return shown


def main(arguments: list[str] | None = None) -> int:
    """Measure what was asked for; print a table, and write JSON where wanted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vertices", type=int, nargs="+", default=[100, 200, 500, 1000, 2000])
    parser.add_argument("--lengths", type=int, nargs="+", default=[128, 9216])
    parser.add_argument(
        "--graphs", nargs="+", choices=["many", "single"], default=["many", "single"]
    )
    parser.add_argument("--steps", type=int, default=300, help="timed steps (a third at 1000 up)")
    parser.add_argument("--json", type=Path, help="where to write the rows")
    options = parser.parse_args(arguments)
    rows = []
    for length in options.lengths:
        for vertices in options.vertices:
            for graph in options.graphs:
                steps = options.steps if vertices < 1000 else options.steps // 3
                print(f"{vertices} x {length}, {graph}", file=sys.stderr)
                rows.append(measure(vertices, length, graph, steps))
                if options.json:
                    options.json.write_text(json.dumps(rows, indent=2) + "\n")
    Console(width=130).print(table(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
