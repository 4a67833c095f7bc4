"""The results of the paper, a function for each: from the runs to a section of the report.

Sections 4 and 5 on faces (`EXPERIMENTS`, which take a setup), and Section 3 in numbers (`THEORY`,
which take a number of seeds).
"""

from collections.abc import Callable, Sequence
from statistics import mean, median
from time import perf_counter
from typing import Any

import numpy as np

from onlooker import OnlineHarmonicLearner
from onlooker.baselines.manifold_svm import OnlineManifoldSVM
from onlooker.core.similarity import squared_distances_of_all
from onlooker.experiments.alarm_times import alarms
from onlooker.experiments.correction import correction
from onlooker.experiments.datasets.facebank import find_faces
from onlooker.experiments.healing import takeover_and_healing
from onlooker.experiments.home_conditions import home_conditions
from onlooker.experiments.long_run import long_run
from onlooker.experiments.merging.experiment import merging
from onlooker.experiments.paper.curves import (
    WORDS,
    at_fixed_cutoff,
    fixed_points,
    operating_points,
)
from onlooker.experiments.paper.figures import by_size, over_cutoffs, precision_recall
from onlooker.experiments.paper.methods import (
    LEARNERS,
    FaceNames,
    follow_steps,
    unlabeled_faces,
)
from onlooker.experiments.paper.protocol import Step, plan
from onlooker.experiments.paper.references import literal_figure
from onlooker.experiments.paper.results_cache import rows_of
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.paper.trial import Trial, TrialRow, material, scores_by_camera
from onlooker.experiments.parallel import spread
from onlooker.experiments.report.html import share
from onlooker.experiments.report.section import DataTable, Section
from onlooker.experiments.single_face import single_face
from onlooker.experiments.theory import compact, regret
from onlooker.experiments.theory.regret_plot import draw
from onlooker.experiments.trust_price import trust_price
from onlooker.vision.scales import DEFAULT_SCALES, FACE_QUANTIZER

Result = tuple[Section, list[TrialRow]]
PRECISION = 0.995
"""Methods are compared at this precision."""
SIZES = (10, 25, 50, 100, 200, 300, 500)
CONSERVATIVE = 1e-5
UNBOUNDED = 1_000_000
LITERAL_RUNS = 3
GRAPH_WEIGHTS = (0.0, 0.1, 1.0, 10.0, 100.0, 1000.0)
AGREEMENT_CUTOFF = 1e-8
AgreementJob = tuple[Trial, float | None]
"""A trial, and the weight of the SVM's graph term; None for our learner."""


def results(setup: Setup) -> Result:
    """The comparison figure: precision and recall over the cutoff."""
    rows = rows_of(setup.trials(cutoffs=_with_fixed(setup)), what="results")
    paper = (
        "On V1 and V2 the learner reaches 95 % precision at 90 % recall (epsilon = 1e-8); at equal "
        "recall its precision is typically 10 percent higher than the nearest-neighbour "
        "classifier's. Boosting with weak learners everywhere is similar, with weak learners in "
        "the first and last quarters only it is worse (4.2, 4.3)."
    )
    return _compared("results", "Face recognition", paper, rows, setup.fixed_cutoff), rows


def sudden_changes(setup: Setup) -> Result:
    """VO place by place; on real frames, one labeled person among strangers."""
    trials = []
    for name in setup.names:
        first = setup.dataset.recording(name)[0].camera
        people = dict.fromkeys(
            each.person
            for each in setup.dataset.recording(name)
            if each.person and each.camera == first
        )
        if setup.data is None and len(people) > 1:
            continue  # V1 and V2 have eight labeled people; VO is the set with sudden changes
        alone = setup.people or tuple(person for person in people if person)[:1]
        if setup.data is None:
            alone = ()  # each simulated dataset has another person
        trials += setup.trials(names=[name], people=alone, cutoffs=_with_fixed(setup))
    rows = rows_of(trials, what="sudden changes")
    paper = (
        "100 percent precision at 95 percent recall on VO, half of which are other people (4.3)."
    )
    section = _compared("sudden-changes", "Sudden changes", paper, rows, setup.fixed_cutoff, 1.0)
    return section, rows


def _with_fixed(setup: Setup) -> tuple[float, ...]:
    """The cutoffs of the sweep, and the one that a user has, from tight to loose."""
    return tuple(sorted({*setup.cutoffs, setup.fixed_cutoff}, reverse=True))


def _compared(
    name: str,
    title: str,
    paper: str,
    rows: Sequence[TrialRow],
    fixed: float,
    precision: float = PRECISION,
) -> Section:
    """Every method at the fixed cutoff, and after the curves at the cutoff that suits it best."""
    header, table = fixed_points(rows, fixed)
    best = DataTable(
        f"Each method at the cutoff that suits it best: the most recall at a precision of at least "
        f"{precision:g}. It takes the truth to choose that cutoff.",
        *operating_points(rows, precision),
        words=WORDS,
    )
    return Section(
        name,
        title,
        paper,
        f"{at_fixed_cutoff(rows, fixed)} {_recalls(rows, precision)}",
        header,
        table,
        (precision_recall(rows), over_cutoffs(rows)),
        words=WORDS,
        caption=f"Every method at the cutoff that a user has: {fixed:g}",
        further=(best,),
    )


def graph_size(setup: Setup) -> Result:
    """The trade-off figure: recall and time against n_g, with the literal computation beside."""
    trials = setup.trials(methods=("online",), cutoffs=(CONSERVATIVE,), sizes=SIZES)
    rows = rows_of(trials, what="graph size")
    literal = {n_g: literal_ms(trials[0], n_g) for n_g in SIZES}
    ours = {n_g: mean(row.ms_per_frame for row in rows if row.n_g == n_g) for n_g in SIZES}
    recall = {n_g: mean(row.recall or 0.0 for row in rows if row.n_g == n_g) for n_g in SIZES}
    table = [
        (str(n_g), share(recall[n_g]), f"{ours[n_g]:.2f}", f"{literal[n_g]:.2f}") for n_g in SIZES
    ]
    gained = (recall[200] - recall[SIZES[0]]) / max(recall[SIZES[-1]] - recall[SIZES[0]], 1e-9)
    found = (
        f"Of the recall gained between {SIZES[0]} and {SIZES[-1]} vertices, {gained:.0%} is there "
        f"at 200. The literal computation takes {literal[SIZES[-1]] / ours[SIZES[-1]]:.0f} times "
        f"as long as ours at {SIZES[-1]}, {literal[SIZES[0]] / ours[SIZES[0]]:.1f} times at "
        f"{SIZES[0]}."
    )
    paper = (
        "At epsilon = 1e-5 the time grows superlinearly with n_g, the recall improves, and most of "
        "it comes from the first 200 vertices (4.4)."
    )
    header = ("n_g", "recall", "ours, ms a frame", "literal, ms a frame")
    figures = (by_size(rows, literal),)
    return Section("graph-size", "Size of the graph", paper, found, header, table, figures), rows


def literal_ms(trial: Trial, n_g: int) -> float:
    """Milliseconds of a literal step on a graph that the stream has filled: the median of a few."""
    steps = _steps(trial)
    learner = OnlineHarmonicLearner(trial.kernel, max_vertices=n_g, quantizer=FACE_QUANTIZER)
    follow_steps(learner, steps)
    times = []
    for x in unlabeled_faces(steps)[-LITERAL_RUNS:]:
        step = literal_figure(learner, x)
        began = perf_counter()
        step()
        times.append(1000 * (perf_counter() - began))
    return median(times)


def strangers(setup: Setup) -> Result:
    """The similarity of different strangers at the paper's sigma."""
    faces = [some[0].vector for some in find_faces(setup.dataset.crowd, setup.finder) if some]
    vectors = np.array([vector for vector in faces if vector is not None])
    bandwidth = setup.bandwidth or DEFAULT_SCALES[setup.finder.kind].bandwidth
    squared = squared_distances_of_all(setup.finder.features.distance, vectors)
    pairs = np.sqrt(squared[np.triu_indices(len(vectors), 1)])
    different = pairs[pairs > 0.02 * np.median(pairs)]
    alike = np.exp(-0.5 * (different / bandwidth) ** 2)
    above = int(np.count_nonzero(alike > 1e-6))
    table = [
        ("strangers", str(len(vectors))),
        ("pairs", str(len(pairs))),
        ("the same picture twice", str(len(pairs) - len(different))),
        ("sigma", f"{bandwidth:g}"),
        ("largest similarity", f"{alike.max():.2g}"),
        ("pairs above 1e-6", f"{above} ({above / len(different):.2g} of them)"),
        ("median distance", f"{np.median(different):.3f}"),
    ]
    paper = (
        "At sigma = 0.025 the similarity of any two different faces of GENKI is at most 1e-6 (2.2)."
    )
    found = (
        f"Of {len(different)} pairs of different pictures, {above} are more alike than 1e-6; the "
        f"largest similarity is {alike.max():.2g}. Some of them may be one person twice."
    )
    return Section("strangers", "Strangers", paper, found, ("what", "value"), table), []


def quantizers(setup: Setup) -> Result:
    """The ways to merge against a graph that keeps everything."""
    cutoffs = [cutoff for cutoff in setup.cutoffs if cutoff <= 1e-5][:3] or setup.cutoffs[:1]
    bounded = setup.trials(methods=LEARNERS, cutoffs=cutoffs, sizes=(50, 100, 200, 500))
    free = setup.trials(methods=("online",), cutoffs=cutoffs, sizes=(UNBOUNDED,))
    rows = rows_of(bounded + free, what="quantizers")
    groups: dict[tuple[str, str, float, str, int], list[TrialRow]] = {}
    for row in rows:
        key = (row.set, row.camera, row.cutoff, row.method, row.n_g)
        groups.setdefault(key, []).append(row)
    table = [
        (
            name, camera, "unbounded" if n_g == UNBOUNDED else method, f"{cutoff:g}",
            "–" if n_g == UNBOUNDED else str(n_g), _mean([row.precision for row in group]),
            _mean([row.recall for row in group]), _mean([row.contamination for row in group]),
            f"{mean(row.ms_per_frame for row in group):.2f}",
        )
        for (name, camera, cutoff, method, n_g), group in sorted(groups.items())
    ]  # fmt: skip
    recalls = {
        what: mean(row.recall or 0.0 for row in rows if (row.method, row.n_g) == what)
        for what in (*((method, 500) for method in LEARNERS), ("online", UNBOUNDED))
    }
    safe, pair, double, everything = recalls.values()
    found = (
        f"Mean recall over sets, cutoffs and seeds at 500 vertices: closest safe pair {safe:.3f}, "
        f"closest pair {pair:.3f}, doubling {double:.3f}; a graph that keeps everything "
        f"{everything:.3f}."
    )
    paper = "Doubling keeps representatives that cover all examples within 2R (3.1)."
    header = (
        "set", "camera", "quantizer", "cutoff", "n_g", "precision", "recall", "contamination", "ms",
    )  # fmt: skip
    return Section("quantizers", "Quantizers", paper, found, header, table, words=3), rows


def agreement(setup: Setup) -> Result:
    """Does the manifold-regularised SVM agree with us when its graph term dominates (5.1)?

    Both watch one stream: the first camera of the first set, in its first order, at one cutoff. The
    weight of the SVM's graph term is raised, and we count how often the two answers are the same.
    """
    trial = setup.trials(
        methods=("manifold-svm",), cutoffs=(AGREEMENT_CUTOFF,), names=setup.names[:1]
    )[0]
    jobs: list[AgreementJob] = [(trial, weight) for weight in (None, *GRAPH_WEIGHTS)]
    ours, *theirs = spread(answers, jobs, what="manifold", cost=lambda job: job[1] is not None)
    steps = _steps(trial)
    table = [("ours", "–", "–", *_judged(steps, ours))]
    same = {}
    for weight, given in zip(GRAPH_WEIGHTS, theirs, strict=True):
        pairs = [
            (mine, its)
            for step, mine, its in zip(steps, ours, given, strict=True)
            if mine and step.camera == steps[0].camera
        ]
        same[weight] = sum(mine == its for mine, its in pairs) / len(pairs)
        table.append(("manifold-svm", f"{weight:g}", share(same[weight]), *_judged(steps, given)))
    best, largest = max(GRAPH_WEIGHTS, key=same.__getitem__), GRAPH_WEIGHTS[-1]
    found = (
        f"On {trial.set}, {steps[0].camera}, at cutoff {AGREEMENT_CUTOFF:g}, the answers agree on "
        f"{same[0.0]:.1%} of the frames without the graph term, on {same[best]:.1%} with a weight "
        f"of {best:g}, the best tried, and on {same[largest]:.1%} with {largest:g}."
    )
    paper = (
        "Online manifold regularisation of SVMs may produce the same result when parameterized "
        "properly (5.1)."
    )
    header = ("method", "graph weight", "same answer", "precision", "recall")
    return Section("manifold", "Manifold regularisation", paper, found, header, table), []


def answers(job: AgreementJob) -> list[FaceNames]:
    """The names given at every step, by our learner or by the SVM with that graph weight."""
    trial, weight = job
    learner = (
        OnlineHarmonicLearner(trial.kernel, max_vertices=trial.n_g, quantizer=FACE_QUANTIZER)
        if weight is None
        else OnlineManifoldSVM(trial.kernel, buffer=trial.n_g, graph_weight=weight, normalise=True)
    )
    return follow_steps(learner, _steps(trial))[0]


def proposition_1(seeds: int) -> tuple[Section, list[Any]]:
    """The compact solution against the full one."""
    rows = compact.run(seeds)
    header, table = compact.table(rows)
    paper = "The solution on W^ = V W V with gamma_g V is the one on W (Proposition 1)."
    found = compact.finding(rows)
    return Section("compact", "Proposition 1", paper, found, header, table), list(rows)


def three_terms(seeds: int) -> tuple[Section, list[Any]]:
    """The three terms of the regret: offline, online and quantization."""
    rows = regret.run(seeds)
    header, table = regret.table(rows)
    paper = (
        "The regret splits into three terms, with a constant of 9/2; with gamma_g growing as "
        "n^(1/4) the online and the quantization term fall as n^(-1/2) (3.2)."
    )
    figures = [
        draw([row for row in rows if row.stream == stream])
        for stream in dict.fromkeys(row.stream for row in rows)
    ]
    found = regret.finding(rows)
    return Section("regret", "Regret", paper, found, header, table, figures), list(rows)


EXPERIMENTS: dict[str, Callable[[Setup], tuple[Section, list[Any]]]] = {
    "results": results,
    "sudden-changes": sudden_changes,
    "graph-size": graph_size,
    "strangers": strangers,
    "quantizers": quantizers,
    "manifold": agreement,
    "correction": correction,
    "single-face": single_face,
    "takeover": takeover_and_healing,
    "trust-price": trust_price,
    "long-run": long_run,
    "alarms": alarms,
    "merging": merging,
    "vn": home_conditions,
}
OWN_SETS = ("vn", "long-run")
"""Experiments that choose the sets they need, and prepare those themselves."""
OWN_VECTORS = ("long-run",)
"""Experiments that make their vectors, and read frames only to compare, where some are given."""

THEORY: dict[str, Callable[[int], tuple[Section, list[Any]]]] = {
    "compact": proposition_1,
    "regret": three_terms,
}


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return share(mean(known) if known else None)


def _recalls(rows: Sequence[TrialRow], precision: float = PRECISION) -> str:
    """The recall of the learner at each camera, as a sentence."""
    header, table = operating_points(rows, precision)
    at = {name: place for place, name in enumerate(header)}
    said = []
    for row in table:
        if row[at["method"]] == "online":
            where = f"{row[at['set']]} {row[at['camera']]}"
            reached = f"recall {row[at['recall']]} (cutoff {row[at['cutoff']]})"
            said.append(f"{where}: {'never' if row[at['recall']] == '–' else reached}")
    return f"At a precision of at least {precision:g}, the learner: " + "; ".join(said) + "."


def _steps(trial: Trial) -> list[Step]:
    _, recording, crowd = material(trial.folder, trial.set, trial.finder, trial.protocol.strangers)
    return plan(recording, crowd, trial.protocol)


def _judged(steps: Sequence[Step], given: Sequence[FaceNames]) -> tuple[str, str]:
    """Precision and recall at the first camera."""
    score = next(iter(scores_by_camera(steps, given).values()))
    return share(score.precision), share(score.recall)
