"""The experiment on the regret: schedules of gamma_g, streams of growing length, many seeds.

What is measured is written down in `decomposition`.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from onlooker.experiments.compact import online_compact, weights
from onlooker.experiments.decomposition import (
    KERNEL,
    N_L,
    STREAMS,
    by_learner,
    labeled_risk,
    offline,
    online,
    quantization_bound,
    terms,
)
from onlooker.experiments.parallel import spread
from onlooker.experiments.slopes import binned_slope

SEEDS, N_G = 10, 50
LENGTHS = (100, 200, 400, 800)
LABELS = (4, 16, 64)
LABELS_LENGTH = 400
"""n where the number of labels n_l is varied."""

EVERY_STEP = 400
"""Longer streams are measured at some 100 steps evenly apart: a solve of lt costs t^3."""

SCHEDULES: dict[str, Callable[[int, int], float]] = {
    "10 ε": lambda n, n_l: 10 * KERNEL.cutoff,
    "0.1": lambda n, n_l: 0.1,
    "0.1 n^1/4": lambda n, n_l: 0.1 * n**0.25,
    "1 n^1/4": lambda n, n_l: n**0.25,
    "10 n^1/4": lambda n, n_l: 10 * n**0.25,
    "0.1 n_l^3/2": lambda n, n_l: 0.1 * n_l**1.5,
}
"""gamma_g, constant in a run; the last is what the paper asks for the first term to fall."""

GROWING, LABELING = tuple(SCHEDULES)[:5], ("0.1", "0.1 n_l^3/2")
LEARNER, APART = METHODS = ("learner", "labels apart")
TERMS = {"offline": "T1", "online": "T2", "quantization": "T3"}


@dataclass(frozen=True, slots=True)
class Job:
    """One stream under one schedule."""

    stream: str
    schedule: str
    n: int
    n_l: int
    n_g: int
    seed: int


@dataclass(frozen=True, slots=True)
class Row:
    """One run: a line of the raw results."""

    stream: str
    schedule: str
    n: int
    n_l: int
    n_g: int
    seed: int
    method: str
    sink: float
    """gamma_g."""
    steps: int
    """At how many steps it was measured."""
    skipped: int
    total: float
    offline: float
    """T1."""
    online: float
    """T2."""
    quantization: float
    """T3."""
    strength: float
    """mean l*^2: what is left of the scores."""
    online_share: float
    """T2 / mean l*^2."""
    quantization_share: float
    """T3 / mean l*^2."""
    sign_error: float
    """How often the sign of lh is not y."""
    zero: float
    """The error of answering 0 always."""
    constant: float
    """total / (T1 + T2 + T3): at most 3."""
    online_bound: float
    """4 n_l / (gamma_g + 1)^2, said to be above T2."""
    quantization_bound: float
    """n_l |Lq - L|_F^2 / gamma_g^4, said to be above T3."""
    labeled_risk: float
    """mean (l*_i - y_i)^2 over labeled i, with soft labels of weight 1; with hard ones it is 0."""
    online_slope: float | None
    """Of the single (lt_t[t] - l*_t)^2 in this run, which end at 0: lt_n[n] is l*_n."""
    quantization_slope: float | None


def measure(job: Job) -> list[Row]:
    """One line of the results for each method.

    >>> rows = measure(Job("moons", "0.1", n=60, n_l=4, n_g=20, seed=0))
    >>> [(row.method, row.steps, row.skipped, row.constant <= 3) for row in rows]
    [('learner', 56, 0, True), ('labels apart', 56, 0, True)]
    """
    stream = STREAMS[job.stream](job.seed, job.n, job.n_l)
    sink = SCHEDULES[job.schedule](job.n, job.n_l)
    stride = 1 if job.n <= EVERY_STEP else job.n // 100
    steps = np.arange(job.n - 1, job.n_l - 1, -stride)[::-1]
    similar = weights(stream.vectors, KERNEL)
    best = offline(similar, stream, sink)[steps]
    lt = online(similar, stream, sink, steps.tolist())
    scores, standing, skipped = by_learner(stream, sink, job.n_g)
    apart, standing_apart = online_compact(
        stream.vectors,
        stream.signs[: job.n_l],
        steps.tolist(),
        kernel=KERNEL,
        sink=sink,
        n_g=job.n_g,
    )
    settings: dict[str, Any] = {
        **asdict(job),
        "sink": sink,
        "steps": len(steps),
        "online_bound": 4 * job.n_l / (sink + 1) ** 2,
        "labeled_risk": labeled_risk(similar, stream, sink),
        "online_slope": binned_slope(steps + 1, (lt - best) ** 2),
    }
    return [
        Row(
            **settings,
            method=method,
            skipped=without,
            **terms(lh, lt, best, stream.signs[steps]),
            quantization_bound=quantization_bound(weights(stands, KERNEL) - similar, job.n_l, sink),
            quantization_slope=binned_slope(steps + 1, (lh - lt) ** 2),
        )
        for method, lh, stands, without in (
            (LEARNER, scores[steps], standing, skipped),
            (APART, apart, standing_apart, 0),
        )
    ]


def run(
    seeds: int = SEEDS,
    *,
    streams: Sequence[str] = tuple(STREAMS),
    lengths: Sequence[int] = LENGTHS,
    labels: Sequence[int] = LABELS,
    n_g: int = N_G,
) -> list[Row]:
    """Every schedule for every length with n_l fixed, then every n_l with the length fixed."""
    jobs = [
        Job(stream, schedule, n, N_L, n_g, seed)
        for stream in streams
        for schedule in GROWING
        for n in lengths
        for seed in range(seeds)
    ] + [
        Job(stream, schedule, LABELS_LENGTH, n_l, n_g, seed)
        for stream in streams
        for schedule in LABELING
        for n_l in labels
        for seed in range(seeds)
    ]
    pairs = spread(measure, jobs, what="regret", cost=lambda job: job.n)
    return [row for pair in pairs for row in pair]


def over_n(rows: Sequence[Row], schedule: str, method: str) -> list[Row]:
    """The rows of a schedule and a method in which the length was varied."""
    return [row for row in rows if (row.schedule, row.method, row.n_l) == (schedule, method, N_L)]
