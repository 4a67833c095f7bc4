"""Ten answers to the best question against ten to any: handwritten digits, one label a class.

    python -m onlooker.experiments.best_question --seeds 20

One digit of each class is taught, the next 800 are watched without labels, then a person says of
ten vertices which digit they are: those that `OnlineHarmonicLearner.question` returns, or any
(`random`). Accuracy is the share of right names among the digits that were not watched; nobody
counts as wrong. `none`: without answers.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from time import perf_counter

import numpy as np

from onlooker import OnlineHarmonicLearner
from onlooker.experiments.accuracy import (
    AccuracyRow,
    AccuracyRun,
    measure_accuracy,
    paired_difference,
    print_table,
)
from onlooker.experiments.digits import DIGITS, KERNEL, SINK, digits_stream
from onlooker.experiments.options import at_least, output_file
from onlooker.experiments.parallel import spread

POLICIES = ("best", "random", "none")
ANSWERS = 10
WATCHED = 800
N_G = 300
SEEDS = 20


@dataclass(frozen=True, slots=True)
class AnswersJob:
    """One way to ask, on one shuffle."""

    policy: str
    seed: int
    watched: int = WATCHED
    examples: int = DIGITS
    """Of the shuffle; what is neither taught nor watched is named."""


def run(job: AnswersJob) -> AccuracyRun:
    """Teach, watch, ask, and name the rest.

    >>> run(AnswersJob("none", seed=0, watched=20, examples=40)).row.vertices
    29
    """
    stream = digits_stream(job.seed, job.examples, labels_per_class=1)
    rng = np.random.default_rng([job.seed, 1])
    learner = OnlineHarmonicLearner(KERNEL, sink=SINK, max_vertices=N_G)
    began = perf_counter()
    for x, name in zip(stream.labeled, stream.names, strict=True):
        learner.teach(x, name)
    truth: dict[int, str] = {}
    for x, name in zip(stream.unlabeled[: job.watched], stream.truth, strict=False):
        learner.observe(x)
        truth |= dict.fromkeys(learner.changes().new, name)
    for _ in range(0 if job.policy == "none" else ANSWERS):
        vertex = _chosen(learner, job.policy, rng)
        if vertex is None:
            break
        known = learner.vertices()
        learner.teach(known.vectors[known.ids.tolist().index(vertex)], truth[vertex])
    answers = [learner.predict(x).label for x in stream.unlabeled[job.watched :]]
    return measure_accuracy(
        answers, stream.truth[job.watched :], method=job.policy, n_g=N_G, seed=job.seed,
        vertices=len(learner), seconds=perf_counter() - began,
    )  # fmt: skip


def _chosen(learner: OnlineHarmonicLearner, policy: str, rng: np.random.Generator) -> int | None:
    if policy == "best":
        question = learner.question()
        return None if question is None else question.vertex
    known = learner.vertices()
    unlabeled = [
        vertex for vertex, name in zip(known.ids.tolist(), known.names, strict=True) if name is None
    ]
    return int(rng.choice(unlabeled))


def _cost(job: AnswersJob) -> float:
    return -POLICIES.index(job.policy)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the experiment: exit code 0, 2 for a wrong argument, 130 after Ctrl-C."""
    command = argparse.ArgumentParser(
        prog="python -m onlooker.experiments.best_question",
        description="Ten answers to the best question against ten to any, on handwritten digits.",
        epilog="example: python -m onlooker.experiments.best_question --seeds 20",
    )
    option = partial(command.add_argument, metavar="N")
    option("--seeds", type=at_least(2), default=SEEDS, help=f"how many shuffles (default {SEEDS})")
    option("--watched", type=at_least(50), default=WATCHED, help=f"digits (default {WATCHED})")
    option("--examples", type=at_least(100), default=DIGITS, help="of each shuffle")
    option("--json", type=output_file, metavar="FILE", help="write one row per run")
    arguments = command.parse_args(argv)
    seeds = range(arguments.seeds)
    sizes = arguments.watched, arguments.examples
    jobs = [AnswersJob(policy, seed, *sizes) for policy in POLICIES for seed in seeds]
    try:
        rows: list[AccuracyRow] = [
            each.row for each in spread(run, jobs, what="questions", cost=_cost)
        ]
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    print_table(rows)
    gain = paired_difference(rows, ("best", N_G), ("random", N_G))
    print(gain)
    if arguments.json:
        found = {"rows": [asdict(row) for row in rows], "difference": asdict(gain)}
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(f"rows: {arguments.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
