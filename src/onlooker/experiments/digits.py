"""The accuracy experiment: handwritten digits, four labels a class, the rest an unlabeled stream.

    python -m onlooker.experiments.digits --json digits.json --plot digits.svg

scikit-learn's digits, divided by 16, shuffled by a seed. The first four of each class in that order
are taught; every other example is named and then learned from without its label. Accuracy is the
share of right names among these, and nobody counts as wrong. 1-NN sees the labels only.
"class prior" methods are told that all digits are equally frequent.
Self-training is nearest neighbour that enrols what it names, within the same budget (closest pair,
oldest or random out) or without one ("all"). The offline solution and LabelSpreading see all
examples at once, which no stream allows.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import sklearn
from sklearn.datasets import load_digits

import onlooker
from onlooker import ClosestPair, Doubling, HeatKernel, LeastVariance, OnlineHarmonicLearner
from onlooker.baselines.self_training import Eviction, SelfTraining
from onlooker.core.quantizer import Quantizer
from onlooker.experiments.accuracy import (
    AccuracyRow,
    AccuracyRun,
    LearnerWithPrior,
    PairedDifference,
    StreamLearner,
    answers_of,
    measure_accuracy,
    paired_difference,
    print_table,
)
from onlooker.experiments.options import at_least, figure_file, output_file
from onlooker.experiments.paper.references import (
    SPREADING,
    LabeledStream,
    NearestLabeled,
    label_spreading,
    offline_exact,
)
from onlooker.experiments.parallel import spread
from onlooker.experiments.report.plots import save_figure

DIGITS = 1797
LABELS_PER_CLASS = 4
SINK = 1e-6
KERNEL = HeatKernel(bandwidth=float(np.sqrt(0.1)), cutoff=1e-20)
"""The cutoff is so small that every digit is similar to some labeled one from the first step on
(the least such similarity is 4e-19 over the seeds 0 to 4). So the answer is never nobody, and the
comparison with methods that always give a name is fair."""

QUANTIZERS: dict[str, Quantizer] = {
    "closest pair": ClosestPair(),
    "least variance": LeastVariance(),
    "doubling": Doubling(),
}
SINKS = {"least variance": 1e-3}
"""Of those that need another one: vertices of many examples have strong links, along which walks
wander from class to class. Chosen on the shuffles 1000 to 1011."""
SELF_TRAINING: dict[str, Eviction] = {
    "self-training": "closest",
    "self-training, oldest": "oldest",
    "self-training, random": "random",
}
EVERYTHING = "self-training, all"
CLASS_PRIOR = {f"{name}, class prior": name for name in ("closest pair", "least variance")}
"""The same learners, told that all digits are equally frequent (`onlooker.ClassPrior`)."""
OFFLINE = {
    "offline exact": lambda stream: offline_exact(stream, KERNEL, SINK),
    "LabelSpreading": lambda stream: label_spreading(stream, KERNEL),
}
METHODS = (*QUANTIZERS, *CLASS_PRIOR, *SELF_TRAINING, EVERYTHING, "1-NN", *OFFLINE)

SEEDS = 5
BUDGETS = (50, 100, 300)
DEMO_SEEDS = 3
DEMO_FILES = (Path("demo/digits.svg"), Path("demo/digits.png"))
DEMO = """\
1797 handwritten digits arrive one by one, in random order. A person has labeled
40 of them, four of each digit; the others carry no label. The learner names
each digit as it arrives, then learns from it without its true name. Of the
unlabeled digits it stores at most n_g; each represents those merged into it, by
closest pair (the default) or by doubling (as in the paper). It is compared with
1-NN, which knows the 40 labeled digits only, with self-training, a nearest
neighbour that stores what it names under that name (as many digits, or all), and
with two methods that see all digits at once.

accuracy: right names among the unlabeled digits; sd: over {seeds} random orders;
nobody: no name given; vertices: digits stored at the end, labeled ones included;
ms/step: milliseconds to name and learn one digit.
"""


@dataclass(frozen=True, slots=True)
class DigitsJob:
    """One method on one shuffle, of which the first `examples` are used."""

    method: str
    n_g: int | None
    seed: int
    examples: int = DIGITS


class StoredExamples(StreamLearner, Protocol):
    """A learner that says how many examples it stores."""

    def __len__(self) -> int: ...


def digits_stream(
    seed: int, examples: int = DIGITS, labels_per_class: int = LABELS_PER_CLASS
) -> LabeledStream:
    """The first examples of the digits in an order given by the seed.

    >>> stream = digits_stream(seed=0)
    >>> len(stream.labeled), len(stream.unlabeled)
    (40, 1757)
    """
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.data))[:examples]
    vectors, classes = digits.data[order] / 16, digits.target[order]
    labeled = np.zeros(len(order), dtype=bool)
    for each in np.unique(classes):
        labeled[np.flatnonzero(classes == each)[:labels_per_class]] = True
    names = classes.astype(str)
    return LabeledStream(
        vectors[labeled], names[labeled].tolist(), vectors[~labeled], names[~labeled].tolist()
    )


def run(job: DigitsJob) -> AccuracyRun:
    """Run one job.

    >>> run(DigitsJob("1-NN", None, seed=0, examples=300)).row.vertices
    40
    """
    stream = digits_stream(job.seed, job.examples)
    began = perf_counter()
    if job.method in OFFLINE:
        answers = OFFLINE[job.method](stream)
        vertices = len(stream.labeled) + len(stream.unlabeled)
    else:
        learner = _learner(job)
        answers = answers_of(learner, stream)
        vertices = len(learner)
    return measure_accuracy(
        answers,
        stream.truth,
        method=job.method,
        n_g=job.n_g,
        seed=job.seed,
        vertices=vertices,
        seconds=perf_counter() - began,
    )


def _learner(job: DigitsJob) -> StoredExamples:
    if job.method == "1-NN":
        return NearestLabeled()
    if job.method == EVERYTHING:
        return SelfTraining(KERNEL)
    if job.method in SELF_TRAINING:
        evict = SELF_TRAINING[job.method]
        return SelfTraining(KERNEL, max_examples=job.n_g, evict=evict, seed=job.seed)
    method = CLASS_PRIOR.get(job.method, job.method)
    learner = OnlineHarmonicLearner(
        KERNEL,
        sink=SINKS.get(method, SINK),
        max_vertices=job.n_g or DIGITS,
        quantizer=QUANTIZERS[method],
    )
    return LearnerWithPrior(learner) if job.method in CLASS_PRIOR else learner


def run_all(
    seeds: Sequence[int],
    budgets: Sequence[int],
    examples: int,
    chosen: Sequence[str] | None = None,
) -> list[AccuracyRun]:
    """The methods chosen, with every budget on every shuffle, in order of the table.

    Unless chosen: all but those that are told how frequent the classes are.
    """
    names = chosen or [name for name in METHODS if name not in CLASS_PRIOR]
    bounded = (*QUANTIZERS, *CLASS_PRIOR, *SELF_TRAINING)
    methods: list[tuple[str, int | None]] = [(name, n_g) for name in bounded for n_g in budgets]
    methods += [(name, None) for name in (EVERYTHING, "1-NN", *OFFLINE)]
    methods = [method for method in methods if method[0] in names]
    jobs = [DigitsJob(*method, seed, examples) for method in methods for seed in seeds]
    return spread(run, jobs, what="digits", cost=lambda job: job.n_g or 0)


def differences(rows: Sequence[AccuracyRow], budgets: Sequence[int]) -> list[PairedDifference]:
    """Our learner against self-training: with each budget, and with the largest against all."""
    ours = "closest pair"
    pairs: list[tuple[tuple[str, int | None], tuple[str, int | None]]] = [
        ((ours, n_g), (other, n_g)) for n_g in budgets for other in SELF_TRAINING
    ]
    pairs += [(("least variance", n_g), (ours, n_g)) for n_g in budgets]
    pairs += [
        ((with_prior, n_g), (name, n_g))
        for with_prior, name in CLASS_PRIOR.items()
        for n_g in budgets
    ]
    pairs.append(((ours, max(budgets)), (EVERYTHING, None)))
    found = {(row.method, row.n_g) for row in rows}
    return [paired_difference(rows, *pair) for pair in pairs if found.issuperset(pair)]


def settings(examples: int) -> dict[str, Any]:
    """What a reader needs to get the same rows again."""
    return {
        "data": "sklearn.datasets.load_digits / 16",
        "examples": examples,
        "labels_per_class": LABELS_PER_CLASS,
        "kernel": repr(KERNEL),
        "sink": SINK,
        "sinks": SINKS,
        "label_spreading": SPREADING,
        "versions": {each.__name__: each.__version__ for each in (onlooker, np, sklearn)},
    }


def parser() -> argparse.ArgumentParser:
    """The command line."""
    command = argparse.ArgumentParser(
        prog="python -m onlooker.experiments.digits",
        description="Accuracy on a stream of handwritten digits with four labels a class.",
        epilog="example: python -m onlooker.experiments.digits --seeds 5 --vertices 50 100 300 "
        "--json digits.json --plot digits.svg",
    )
    option = partial(command.add_argument, metavar="N")
    option("--seeds", type=at_least(1), help=f"how many shuffles (default {SEEDS})")
    option("--first", type=at_least(0), default=0, help="the number of the first shuffle")
    default = " ".join(map(str, BUDGETS))
    option("--vertices", type=at_least(1), nargs="+", help=f"budgets n_g (default {default})")
    option(
        "--examples", type=at_least(100), default=DIGITS, help="only the first N of each shuffle"
    )
    command.add_argument(
        "--methods", nargs="+", choices=METHODS, metavar="METHOD",
        help=f"only these, of: {', '.join(METHODS)} (default: all without a class prior)",
    )  # fmt: skip
    option("--json", type=output_file, metavar="FILE", help="write one row per run")
    option("--plot", type=figure_file, metavar="FILE", nargs="+", help="draw the figure")
    command.add_argument(
        "--demo",
        action="store_true",
        help=f"explain it, with {DEMO_SEEDS} seeds and the figure in {DEMO_FILES[0].parent}/",
    )
    return command


def main(argv: Sequence[str] | None = None) -> int:
    """Run the experiment: exit code 0, 2 for a wrong argument, 130 after Ctrl-C."""
    command = parser()
    arguments = command.parse_args(argv)
    seeds = arguments.seeds or (DEMO_SEEDS if arguments.demo else SEEDS)
    figures = arguments.plot or (DEMO_FILES if arguments.demo else ())
    if arguments.methods and figures:
        command.error("a figure shows all methods: leave out --methods, or --plot and --demo")
    if arguments.demo:
        print(DEMO.format(seeds=seeds), flush=True)
    try:
        budgets = arguments.vertices or BUDGETS
        shuffles = range(arguments.first, arguments.first + seeds)
        runs = run_all(shuffles, budgets, arguments.examples, arguments.methods)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    rows = [each.row for each in runs]
    print_table(rows)
    compared = differences(rows, budgets) if seeds > 1 else []
    print(*compared, sep="\n")
    if arguments.json:
        found = {
            "settings": settings(arguments.examples),
            "rows": [asdict(row) for row in rows],
            "differences": [asdict(each) for each in compared],
        }
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(f"rows: {arguments.json}")
    for path in figures:
        path.parent.mkdir(exist_ok=True)
        save_figure(runs, path)
        print(f"figure: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
