"""The paper's Section 4 on faces: a function for each result, from trials to a section."""

from collections.abc import Callable, Sequence
from statistics import mean, median
from typing import Any

import numpy as np

from onlooker import OnlineHarmonicLearner
from onlooker.core.similarity import squared_distances_of_all
from onlooker.experiments.datasets.facebank import find_faces
from onlooker.experiments.merging.experiment import merging
from onlooker.experiments.paper.agreement import agreement
from onlooker.experiments.paper.curves import WORDS, operating_points
from onlooker.experiments.paper.curves_plot import over_cutoffs, precision_recall
from onlooker.experiments.paper.literal import literal_figure
from onlooker.experiments.paper.methods import follow, nothing, shown
from onlooker.experiments.paper.protocol import plan
from onlooker.experiments.paper.results_cache import rows_of
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.paper.sizes_plot import by_size
from onlooker.experiments.paper.stream import Stopwatch
from onlooker.experiments.paper.trial import BANDWIDTHS, Trial, TrialRow, material
from onlooker.experiments.report.html import share
from onlooker.experiments.report.section import Section

Result = tuple[Section, list[TrialRow]]
PRECISION = 0.995
"""Methods are compared at this precision."""
SIZES = (10, 25, 50, 100, 200, 300, 500)
CONSERVATIVE = 1e-5
UNBOUNDED = 1_000_000
LITERAL_RUNS = 3


def results(setup: Setup) -> Result:
    """The comparison figure: precision and recall over the cutoff."""
    rows = rows_of(setup.trials(), what="results")
    header, table = operating_points(rows, PRECISION)
    paper = (
        "On V1 and V2 the learner reaches 95 % precision at 90 % recall (epsilon = 1e-8); at equal "
        "recall its precision is typically 10 percent higher than the nearest-neighbour "
        "classifier's. Boosting with weak learners everywhere is similar, with weak learners in "
        "the first and last quarters only it is worse (4.2, 4.3)."
    )
    return (
        Section(
            "results",
            "Face recognition",
            paper,
            _misses(rows),
            header,
            table,
            (precision_recall(rows), over_cutoffs(rows)),
            words=WORDS,
        ),
        rows,
    )


def sudden_changes(setup: Setup) -> Result:
    """VO place by place; of real frames, one person among all the others as strangers."""
    trials = []
    for name in setup.names:
        first = setup.dataset.recording(name)[0].camera
        people = dict.fromkeys(
            each.person
            for each in setup.dataset.recording(name)
            if each.person and each.camera == first
        )
        if setup.data is None and len(people) > 1:
            continue  # V1 and V2 know eight people; VO is the one with changes
        alone = setup.people or tuple(person for person in people if person)[:1]
        if setup.data is None:
            alone = ()  # every simulated cast has somebody else
        trials += setup.trials(names=[name], people=alone)
    rows = rows_of(trials, what="sudden changes")
    header, table = operating_points(rows, 1.0)
    named = sum(row.strangers_named for row in rows if row.method == "online")
    paper = (
        "100 percent precision at 95 percent recall on VO, half of which are other people (4.3)."
    )
    found = f"{_misses(rows, 1.0)} Strangers named by the learner over all cutoffs: {named}."
    return (
        Section(
            "sudden-changes", "Sudden changes", paper, found, header, table,
            (precision_recall(rows), over_cutoffs(rows)), words=WORDS,
        ),
        rows,
    )  # fmt: skip


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
    """The figure's own step on a graph that the stream has filled: median of a few."""
    _, recording, crowd = material(trial.folder, trial.set, trial.finder, trial.protocol.strangers)
    steps = plan(recording, crowd, trial.protocol)
    learner = OnlineHarmonicLearner(trial.kernel, max_vertices=n_g)
    follow(learner, steps, nothing)
    times = []
    for x in shown(steps)[-LITERAL_RUNS:]:
        step = literal_figure(learner, x)
        watch = Stopwatch()
        step()
        times.append(1000 * watch.seconds())
    return median(times)


def strangers(setup: Setup) -> Result:
    """How alike different strangers are at the paper's sigma."""
    faces = [some[0].vector for some in find_faces(setup.dataset.crowd, setup.finder) if some]
    vectors = np.array([vector for vector in faces if vector is not None])
    bandwidth = setup.bandwidth or BANDWIDTHS[setup.finder.kind]
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
    """Doubling and closest pair against a graph that keeps everything."""
    cutoffs = [cutoff for cutoff in setup.cutoffs if cutoff <= 1e-5][:3] or setup.cutoffs[:1]
    bounded = setup.trials(
        methods=("online", "online-doubling"), cutoffs=cutoffs, sizes=(50, 100, 200, 500)
    )
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
        for what in (("online", 500), ("online-doubling", 500), ("online", UNBOUNDED))
    }
    pair, double, everything = recalls.values()
    found = (
        f"Mean recall over sets, cutoffs and seeds at 500 vertices: closest pair {pair:.3f}, "
        f"doubling {double:.3f}; a graph that keeps everything {everything:.3f}."
    )
    paper = "Doubling keeps representatives that cover all examples within 2R (3.1)."
    header = (
        "set", "camera", "quantizer", "cutoff", "n_g", "precision", "recall", "contamination", "ms",
    )  # fmt: skip
    return Section("quantizers", "Quantizers", paper, found, header, table, words=3), rows


EXPERIMENTS: dict[str, Callable[[Setup], tuple[Section, list[Any]]]] = {
    "results": results,
    "sudden-changes": sudden_changes,
    "graph-size": graph_size,
    "strangers": strangers,
    "quantizers": quantizers,
    "manifold": agreement,
    "merging": merging,
}


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return share(mean(known) if known else None)


def _misses(rows: Sequence[TrialRow], precision: float = PRECISION) -> str:
    """The learner against nearest neighbour, camera by camera, in words."""
    header, table = operating_points(rows, precision)
    at = {name: place for place, name in enumerate(header)}
    said = []
    for row in table:
        if row[at["method"]] == "online":
            where = f"{row[at['set']]} {row[at['camera']]}"
            reached = f"recall {row[at['recall']]} (cutoff {row[at['cutoff']]})"
            said.append(f"{where}: {'never' if row[at['recall']] == '–' else reached}")
    return f"At a precision of at least {precision:g}, the learner: " + "; ".join(said) + "."
