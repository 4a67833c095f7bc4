"""What the guards cost: one `observe` with a trust radius, and with negatives, beside one without.

    scripts/bench guards                              # about two minutes
    scripts/bench guards --json guards.json

The same faces go to learners with the same labels, in turns, so the ratios do not depend on what
else the machine does. The radius is one that nothing leaves: all learn the same. The reference has
neither, but support is part of every answer.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from references import seconds
from rich.console import Console
from rich.table import Table
from step import steady_learner
from streams import Crowd, Vectors

from onlooker import OnlineHarmonicLearner

Row = dict[str, Any]


def accepted_step(learner: OnlineHarmonicLearner, x: Vectors) -> float | None:
    """How long one observe took; None for an outlier, which is cheap."""
    named: list[str | None] = []
    took = seconds(lambda: named.append(learner.observe(x).label))
    return None if named[0] is None else took


def measure(vertices: int, length: int, graph: str, steps: int) -> Row:
    """One row: medians of accepted steps, and their ratios."""
    crowd = Crowd(length, together=graph == "single")
    plain = steady_learner(crowd, vertices)
    empty, state = plain.empty_copy(trust_radius=1e6), plain.state()
    radius, negative = empty.restored(state), empty.restored(state)
    (face, name), *_ = crowd.faces(1, start=5 * 10**6)
    other = next(each for each in negative.names if each != name)
    negative.teach(face, not_name=other if graph == "single" else name)
    learners = {"plain": plain, "radius": radius, "negative": negative}
    times: dict[str, list[float]] = {key: [] for key in learners}
    for number, (x, _) in enumerate(crowd.faces(steps, start=10**6)):
        order = list(learners)[number % 3 :] + list(learners)[: number % 3]
        took = {key: accepted_step(learners[key], x) for key in order}
        for key, value in took.items():
            if value is not None and None not in took.values():
                times[key].append(value)
    row: Row = {"vertices": vertices, "length": length, "graph": graph}
    row |= {f"{key}_ms": 1e3 * float(np.median(values)) for key, values in times.items()}
    for key in ("radius", "negative"):
        pairs = np.array(times[key]) / np.array(times["plain"])
        row[f"{key}_ratio"] = float(np.median(pairs))
    return row | {"accepted": len(times["plain"])}


def main() -> None:
    """Measure and print; optionally write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vertices", type=int, default=500)
    parser.add_argument("--lengths", type=int, nargs="+", default=[128, 9216])
    parser.add_argument("--graphs", nargs="+", default=["many", "single"])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = [
        measure(options.vertices, length, graph, options.steps)
        for length in options.lengths
        for graph in (options.graphs if length < 1000 else options.graphs[:1])
    ]
    table = Table("length", "graph", "plain", "trust radius", "and a negative", "accepted")
    for row in rows:
        table.add_row(
            str(row["length"]),
            row["graph"],
            f"{row['plain_ms']:.2f} ms",
            f"{row['radius_ms']:.2f} ms, {row['radius_ratio']:.2f} times",
            f"{row['negative_ms']:.2f} ms, {row['negative_ratio']:.2f} times",
            str(row["accepted"]),
        )
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
