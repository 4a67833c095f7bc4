"""What a correction changes: our learner, which stores no guess as a label, and self-training.

A person (the subject) is labeled wrongly, late or not at all while a stream is watched. After half
of it somebody says so, once; then the stream goes on. The same faces of the subject, the last ones
before the correction, are shown again without learning: before it, at once after it, and a hundred
frames later. `later` are the answers to the subject's faces in the second half as they come.

Both methods are corrected in the same way: labels are taken back and taught, nothing else. A second
run goes on without the correction; the difference is what the correction cost the other person.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from statistics import mean
from textwrap import fill
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from onlooker import HeatKernel
from onlooker.core.errors import BadValue
from onlooker.core.similarity import squared_distances_of_all
from onlooker.experiments.corrigible import CORRIGIBLE, Corrigible
from onlooker.experiments.digits import KERNEL, SINK, DigitsJob, digits_stream
from onlooker.experiments.paper.figures import style_of
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.paper.trial import Trial, first_camera
from onlooker.experiments.parallel import spread
from onlooker.experiments.report.html import share
from onlooker.experiments.report.plots import STYLE
from onlooker.experiments.report.section import Section

SHOWN_AGAIN = 100
"""The last faces of a person before the correction; all of them where there are fewer."""
FRAMES_AFTER = 100
LEAST_FACES = 15
"""In each half of a stream, of a person who is to be corrected."""
AS_GOOD = 0.005
"""A rival is as good as the learner where it answers at most this share less as wanted."""
DIGITS_SHOWN, DIGITS_STORED = 900, 300
Vector = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is wrong with the labels of the subject, and what is said about it."""

    title: str
    labels: int
    """How many of the subject's labels are taught in the beginning."""
    wrongly: bool
    """Whether they are taught under the name of the other person."""
    correction: Literal["relabel", "teach", "take back"]
    """Relabel what was taught, teach the newest face, or take all labels back."""
    alike: bool = False
    """The subject is made to look like the other person."""


ALL = 1_000_000
SCENARIOS = {
    "mistake": Scenario("one face under another name", 1, True, "relabel"),
    "late": Scenario("a label that comes late", 0, False, "teach"),
    "taken back": Scenario("labels taken back", ALL, False, "take back"),
    "alike": Scenario("two who look alike", 0, False, "teach", alike=True),
    "split": Scenario("one name for two, split", ALL, True, "relabel"),
}


@dataclass(frozen=True, slots=True, eq=False)
class StreamItem:
    """One face of a stream, or one digit."""

    vector: Vector
    person: str | None
    """None for a stranger."""
    labeled: bool = False


@dataclass(frozen=True, slots=True)
class CorrectionJob:
    """One method in one scenario on one stream: the first camera of a set, or digits."""

    source: Trial | DigitsJob
    scenario: str


@dataclass(frozen=True, slots=True)
class CorrectionOutcome:
    """How often the subject was answered as the correction wants it, and what the other lost.

    Wanted is the subject's name; where all labels are taken back, any answer but it.
    """

    before: float
    at_once: float
    after: float
    """A hundred frames after the correction; before and at_once: the same faces."""
    later: float
    later_as_other: float
    """The share of the same answers that are the other person's name."""
    later_faces: int
    other_before: float
    other_after: float
    other_later: float
    other_lost: float
    """Of the other person's later faces, without the correction minus with it."""
    strangers_named: int
    """In the second half."""


@dataclass(frozen=True, slots=True)
class CorrectionRow:
    """One method in one scenario on one stream."""

    dataset: str
    set: str
    features: str
    scenario: str
    method: str
    cutoff: float
    n_g: int
    seed: int
    subject: str
    other: str
    outcome: CorrectionOutcome


def correction(setup: Setup) -> tuple[Section, list[CorrectionRow]]:
    """Every scenario, on every set that shows several people, and on digits."""
    methods = [name for name in CORRIGIBLE if name in setup.methods]
    if not methods:
        raise BadValue(f"corrections are compared for {', '.join(CORRIGIBLE)}")
    trials = setup.trials(
        methods=methods, cutoffs=(setup.fixed_cutoff,), names=_sets_of_several(setup)
    )
    digits = [
        DigitsJob(method, min(setup.n_g, DIGITS_STORED), seed, DIGITS_SHOWN)
        for method in methods
        for seed in range(setup.seeds)
    ]
    sources: list[Trial | DigitsJob] = [*trials, *digits]
    jobs = [CorrectionJob(source, name) for name in SCENARIOS for source in sources]
    rows = spread(measure, jobs, what="correction", cost=lambda job: job.source.method == "online")
    header, table = correction_table(rows)
    paper = (
        "Nothing. But only labels are labels in the solution (2.1): what is inferred is never "
        "written down, so it follows from the labels of today."
    )
    section = Section(
        "correction", "Corrections", paper, finding(rows), header, table,
        (moments_figure(rows),), words=3,
    )  # fmt: skip
    return section, rows


def _sets_of_several(setup: Setup) -> list[str]:
    """The sets with at least two named people at the first camera."""
    found = []
    for name in setup.names:
        pictures = setup.dataset.recording(name)
        first = [each.person for each in pictures if each.camera == pictures[0].camera]
        if len(set(first) - {None}) > 1:
            found.append(name)
    if not found:
        raise BadValue("corrections need a set with two named people at its first camera")
    return found


def measure(job: CorrectionJob) -> CorrectionRow:
    """Run one job."""
    source, scenario = job.source, SCENARIOS[job.scenario]
    if isinstance(source, DigitsJob):
        dataset, name, features = "digits", "digits", "digits"
        kernel, sink, seed = KERNEL, SINK, source.seed
        items = _digits(source)
    else:
        dataset, steps = first_camera(source)
        name, features = source.set, source.finder.kind
        kernel, sink, seed = source.kernel, None, source.protocol.seed
        items = [
            StreamItem(step.faces[0], step.person, step.labeled)
            for step in steps
            if step.faces and step.faces[0] is not None
        ]
    n_g = source.n_g or 1
    subject, other = chosen_pair(items, seed)
    if scenario.alike:
        items = made_alike(items, subject, other, kernel)
    model = CORRIGIBLE[source.method](kernel, n_g, sink)
    return CorrectionRow(
        dataset=dataset, set=name, features=features, scenario=job.scenario, method=source.method,
        cutoff=kernel.cutoff, n_g=n_g, seed=seed, subject=subject, other=other,
        outcome=corrected(model, items, scenario, subject, other),
    )  # fmt: skip


def corrected(
    model: Corrigible, items: Sequence[StreamItem], scenario: Scenario, subject: str, other: str
) -> CorrectionOutcome:
    """Watch half of the stream, correct, and watch the rest; and the rest without correcting."""
    first, second = items[: len(items) // 2], items[len(items) // 2 :]
    taught = watch(model, first, scenario, subject, other)
    own, others = (
        [each.vector for each in first if each.person == person and not each.labeled][-SHOWN_AGAIN:]
        for person in (subject, other)
    )
    before, other_before = _named(model, own), _named(model, others)
    uncorrected = deepcopy(model)
    correct(model, scenario, taught, own[-1], subject)
    at_once = _named(model, own)
    answers = [model.observe(each.vector).label for each in second[:FRAMES_AFTER]]
    after, other_after = _named(model, own), _named(model, others)
    answers += [model.observe(each.vector).label for each in second[FRAMES_AFTER:]]
    without = [uncorrected.observe(each.vector).label for each in second]

    def wanted(given: Sequence[str | None]) -> float:
        taken_back = scenario.correction == "take back"
        return mean((name == subject) != taken_back for name in given)

    def of(person: str | None, given: Sequence[str | None]) -> list[str | None]:
        return [name for name, each in zip(given, second, strict=True) if each.person == person]

    def right(given: Sequence[str | None]) -> float:
        return mean(name == other for name in given)

    later, other_later = of(subject, answers), right(of(other, answers))
    return CorrectionOutcome(
        before=wanted(before), at_once=wanted(at_once), after=wanted(after), later=wanted(later),
        later_as_other=right(later), later_faces=len(later), other_before=right(other_before),
        other_after=right(other_after), other_later=other_later,
        other_lost=right(of(other, without)) - other_later,
        strangers_named=sum(name is not None for name in of(None, answers)),
    )  # fmt: skip


def _digits(job: DigitsJob) -> list[StreamItem]:
    stream = digits_stream(job.seed, job.examples)
    labeled = zip(stream.labeled, stream.names, strict=True)
    return [
        *(StreamItem(x, name, labeled=True) for x, name in labeled),
        *(StreamItem(x, name) for x, name in zip(stream.unlabeled, stream.truth, strict=True)),
    ]


def chosen_pair(items: Sequence[StreamItem], seed: int) -> tuple[str, str]:
    """The subject and the other person, at random among those who are seen often in both halves."""
    half = len(items) // 2
    often = [
        {name for name in people if people.count(name) >= LEAST_FACES}
        for people in (
            [each.person for each in part if not each.labeled]
            for part in (items[:half], items[half:])
        )
    ]
    people = sorted(name for name in often[0] & often[1] if name is not None)
    if len(people) < 2:
        raise BadValue(
            f"corrections need two people with {LEAST_FACES} faces in each half of the stream, "
            f"there are {len(people)}; record or simulate more frames"
        )
    subject, other = np.random.default_rng([seed, 1]).permutation(len(people))[:2]
    return people[subject], people[other]


def made_alike(
    items: Sequence[StreamItem], subject: str, other: str, kernel: HeatKernel
) -> list[StreamItem]:
    """Move the subject's vectors towards the other's until half of them are within the cutoff.

    They are moved along the difference of the two means, so that the subject varies as before. The
    first half of the stream decides how far, in tenths of the difference.
    """
    first = items[: len(items) // 2]
    own, others = (
        np.array([each.vector for each in first if each.person == person], np.float64)
        for person in (subject, other)
    )
    difference = others.mean(axis=0) - own.mean(axis=0)
    for tenths in range(11):
        moved = own + tenths / 10 * difference
        both = squared_distances_of_all(kernel.distance, np.vstack([moved, others]))
        linked = (kernel.weights(both)[: len(own), len(own) :] > 0).any(axis=1)
        if linked.mean() >= 0.5:
            break
    shift = tenths / 10 * difference
    return [
        StreamItem((each.vector + shift).astype(each.vector.dtype), each.person, each.labeled)
        if each.person == subject
        else each
        for each in items
    ]


def watch(
    model: Corrigible, items: Sequence[StreamItem], scenario: Scenario, subject: str, other: str
) -> list[Vector]:
    """Teach and observe as the scenario wants it; the faces of the subject that were taught."""
    taught: list[Vector] = []
    for each in items:
        if not each.labeled:
            model.observe(each.vector)
        elif each.person is not None and each.person != subject:
            model.teach(each.vector, each.person)
        elif len(taught) < scenario.labels:
            model.teach(each.vector, other if scenario.wrongly else subject)
            taught.append(each.vector)
    return taught


def correct(
    model: Corrigible, scenario: Scenario, taught: Sequence[Vector], newest: Vector, subject: str
) -> None:
    """What somebody says after half of the stream."""
    if scenario.correction == "teach":
        model.teach(newest, subject)
        return
    for vector in taught:
        model.unteach(vector)
        if scenario.correction == "relabel":
            model.teach(vector, subject)


def _named(model: Corrigible, vectors: Sequence[Vector]) -> list[str | None]:
    return [model.predict(vector).label for vector in vectors]


Group = tuple[str, str, str]
"""Set, scenario and method."""


def _groups(rows: Sequence[CorrectionRow]) -> dict[Group, list[CorrectionOutcome]]:
    """The outcomes of all seeds, set by set."""
    groups: dict[Group, list[CorrectionOutcome]] = {}
    for row in rows:
        groups.setdefault((row.set, row.scenario, row.method), []).append(row.outcome)
    order = list(dict.fromkeys(row.set for row in rows))
    return dict(sorted(groups.items(), key=lambda item: order.index(item[0][0])))


def correction_table(
    rows: Sequence[CorrectionRow],
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Means over the seeds; of `later` also the worst and the best seed."""
    header = (
        "set", "scenario", "method", "before", "at once", "100 frames after", "later",
        "later: worst to best", "called the other", "the other lost", "strangers named",
    )  # fmt: skip
    table = [
        (
            *key,
            *(share(mean(getattr(each, what) for each in group)) for what in MOMENTS),
            f"{min(each.later for each in group):.3f} to {max(each.later for each in group):.3f}",
            share(mean(each.later_as_other for each in group)),
            share(mean(each.other_lost for each in group)),
            str(sum(each.strangers_named for each in group)),
        )
        for key, group in _groups(rows).items()
    ]
    return header, table


MOMENTS = {"before": "before", "at_once": "at once", "after": "100\nafter", "later": "later"}


def finding(rows: Sequence[CorrectionRow]) -> str:
    """For each set: the first scenario in a sentence, and where a rival is as good."""
    groups = _groups(rows)
    parts = []
    for name in dict.fromkeys(row.set for row in rows):
        later = {
            method: {
                scenario: mean(each.later for each in groups[name, scenario, method])
                for scenario in SCENARIOS
            }
            for method in dict.fromkeys(row.method for row in rows)
        }
        if "online" not in later:
            continue
        ours, rivals = later.pop("online"), later
        lost = mean(each.other_lost for each in groups[name, "mistake", "online"])
        said = [f"{method} {values['mistake']:.3f}" for method, values in rivals.items()]
        parts.append(
            f"{name}: of the later faces of somebody who was taught under another name and then "
            f"corrected, the learner names {ours['mistake']:.3f} rightly, {', '.join(said)}; the "
            f"other person loses {100 * lost:.1f} points of ours."
        )
        for method, values in rivals.items():
            as_good = [each for each in ours if values[each] >= ours[each] - AS_GOOD]
            parts.append(f"As good with {method}: {', '.join(as_good) or 'no scenario'}.")
    orders = len({row.seed for row in rows})
    return " ".join([*parts, f"Means over {orders} orders."])


def moments_figure(rows: Sequence[CorrectionRow]) -> Figure:
    """A panel for each set and scenario; bands reach from the worst order to the best."""
    groups = _groups(rows)
    sets = list(dict.fromkeys(name for name, _, _ in groups))
    methods = list(dict.fromkeys(method for _, _, method in groups))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 0.7 + 1.5 * len(sets)), layout="constrained")
        panels = figure.subplots(len(sets), len(SCENARIOS), sharey=True, squeeze=False)
        for axes, scenario in zip(panels[0], SCENARIOS.values(), strict=True):
            axes.set_title(fill(scenario.title, 17), fontsize=7)
        for row, name in zip(panels, sets, strict=True):
            row[0].set_ylabel(f"{name}\nanswered as wanted", fontsize=7)
            for axes, key in zip(row, SCENARIOS, strict=True):
                for method in methods:
                    group = groups.get((name, key, method), [])
                    if not group:
                        continue
                    values = np.array([[getattr(each, what) for what in MOMENTS] for each in group])
                    own, places = style_of(method), np.arange(len(MOMENTS))
                    axes.fill_between(
                        places, values.min(axis=0), values.max(axis=0), color=own.colour,
                        alpha=0.1, lw=0,
                    )  # fmt: skip
                    axes.plot(
                        places, values.mean(axis=0), color=own.colour, ls=own.dash, lw=1.2,
                        marker=own.marker, markersize=3.6, label=own.name,
                        markerfacecolor=own.colour if own.filled else "white",
                    )  # fmt: skip
                axes.set_xticks(range(len(MOMENTS)), MOMENTS.values(), fontsize=5.5)
                axes.set_ylim(-0.04, 1.04)
        lines, names = panels[0][0].get_legend_handles_labels()
        figure.legend(lines, names, loc="outside lower center", ncols=5, frameon=False, fontsize=7)
        figure.draw_without_rendering()
    return figure
