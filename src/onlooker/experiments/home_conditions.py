"""VN, condition by condition: what becomes of every frame, and why a face is missed.

A frame of somebody who is known ends in one of five ways: no face is found, the quality gate
refuses it, it gets the right name, a wrong one, or nobody's. Methods are compared at the setting
that a user of the features has, not at the best of a sweep. Only a frame's largest face counts.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from onlooker.experiments.datasets.simulated import HOME_SET
from onlooker.experiments.paper.methods import METHODS
from onlooker.experiments.paper.protocol import plan
from onlooker.experiments.paper.setup import CUTOFFS, Setup
from onlooker.experiments.paper.trial import Trial, material
from onlooker.experiments.parallel import spread
from onlooker.experiments.report.html import share
from onlooker.experiments.report.section import Section
from onlooker.vision.scales import DEFAULT_SCALES

CROWD = "crowd"
"""Still pictures of strangers, which belong to no camera and no condition."""
COMPARED = ("online", "nearest", "self-training")


@dataclass(frozen=True, slots=True)
class ConditionRow:
    """One condition, method and seed: a row of the raw results. Labeled frames do not count."""

    dataset: str
    set: str
    method: str
    features: str
    cutoff: float
    bandwidth: float
    n_g: int
    seed: int
    condition: str
    frames: int
    """Of people who are known; the next five add up to it."""
    undetected: int
    refused: int
    right: int
    wrong: int
    nobody: int
    refusals: str
    """The reasons of the gate, with their numbers."""
    stranger_frames: int
    """With a detected face of somebody who is not known."""
    strangers_named: int


def home_conditions(setup: Setup) -> tuple[Section, list[ConditionRow]]:
    """The simulated VN, or the sets of a dataset whose manifest has conditions."""
    if setup.data is None:
        setup = replace(setup, sets=(HOME_SET,))
    setup.prepare()
    chosen = setup.cutoffs if setup.cutoffs != CUTOFFS else (_default_cutoff(setup),)
    methods = [name for name in COMPARED if name in setup.methods]
    by_seed: dict[int, list[Trial]] = {}
    for trial in setup.trials(methods=methods, cutoffs=chosen[:1]):
        by_seed.setdefault(trial.protocol.seed, []).append(trial)
    jobs = list(by_seed.values())
    found = spread(rows_of_trials, jobs, what="conditions", cost=len)
    rows = [row for some in found for row in some]
    header = (
        "condition", "method", "frames", "not found", "refused", "nobody", "wrong", "right",
        "strangers named",
    )  # fmt: skip
    table = [
        (condition, method, *_shares_of(group))
        for (condition,), some in _grouped(
            [*rows, *(replace(row, condition="all") for row in rows)], lambda row: (row.condition,)
        )
        for (method,), group in _grouped(some, lambda row: (row.method,))
    ]
    paper = "Not in the paper: what cameras at home do to a known face (docs/simulation.md)."
    title = "Conditions at home"
    return Section("vn", title, paper, _finding(rows), header, table, words=2), rows


def rows_of_trials(trials: Sequence[Trial]) -> list[ConditionRow]:
    """The rows of several trials, which share what they read."""
    return [row for trial in trials for row in rows_by_condition(trial)]


def rows_by_condition(trial: Trial) -> list[ConditionRow]:
    """Run a trial on the largest faces: a row for each condition."""
    name, recording, crowd = material(
        trial.folder, trial.set, trial.finder, trial.protocol.strangers
    )
    steps = plan(recording, crowd, trial.protocol)
    steps = [replace(step, faces=step.faces[:1]) for step in steps]
    outcome = METHODS[trial.method](steps, trial.kernel, trial.n_g)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for step, names in zip(steps, outcome.names, strict=True):
        if step.labeled:
            continue
        count = counts[(step.condition or "none") if step.staged else CROWD]
        if step.person is None:
            count["stranger_frames"] += bool(step.faces)
            count["strangers_named"] += any(names)
            continue
        count["frames"] += 1
        count[_end(step.faces, names, step.person)] += 1
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for picture, faces in recording:
        if picture.person and faces and faces[0].refusal:
            reasons[picture.condition or "none"][faces[0].refusal.partition(":")[0]] += 1
    return [
        ConditionRow(
            dataset=name,
            set=trial.set,
            method=trial.method,
            features=trial.finder.kind,
            cutoff=trial.cutoff,
            bandwidth=trial.kernel.bandwidth,
            n_g=trial.n_g,
            seed=trial.protocol.seed,
            condition=condition,
            frames=count["frames"],
            undetected=count["undetected"],
            refused=count["refused"],
            right=count["right"],
            wrong=count["wrong"],
            nobody=count["nobody"],
            refusals=_words(reasons[condition]),
            stranger_frames=count["stranger_frames"],
            strangers_named=count["strangers_named"],
        )
        for condition, count in counts.items()
    ]


def _end(faces: Sequence[object], names: Sequence[str | None], person: str) -> str:
    """How a frame of somebody who is known ends.

    >>> _end(["vector"], ["ben"], "ana"), _end([None], [None], "ana"), _end([], [], "ana")
    ('wrong', 'refused', 'undetected')
    """
    if not faces:
        return "undetected"
    if faces[0] is None:
        return "refused"
    if names[0] is None:
        return "nobody"
    return "right" if names[0] == person else "wrong"


def _default_cutoff(setup: Setup) -> float:
    return DEFAULT_SCALES[setup.finder.kind].cutoff


def _shares_of(rows: Sequence[ConditionRow]) -> tuple[str, ...]:
    frames = sum(row.frames for row in rows)
    met = sum(row.stranger_frames for row in rows)
    named = sum(row.strangers_named for row in rows)
    ends = ("undetected", "refused", "nobody", "wrong", "right")
    return (
        str(frames),
        *(
            share(sum(getattr(row, end) for row in rows) / frames if frames else None)
            for end in ends
        ),
        f"{named} of {met}",
    )


def _finding(rows: Sequence[ConditionRow]) -> str:
    """Precision and recall of each method, and the causes of what the learner misses."""
    said = []
    for (method,), group in _grouped(rows, lambda row: (row.method,)):
        right, wrong, nobody, named, frames, unseen = (
            sum(getattr(row, field) for row in group)
            for field in ("right", "wrong", "nobody", "strangers_named", "frames", "undetected")
        )
        precision = right / max(1, right + wrong + named)
        said.append(
            f"{method}: precision {precision:.3f}, recall {right / max(1, frames - unseen):.3f} "
            f"of the frames with a detected face, {right / max(1, frames):.3f} of all frames; "
            f"wrong {wrong}, nobody {nobody}, strangers named {named}."
        )
    learner = [row for row in rows if row.method == rows[0].method]
    missed = Counter[str]()
    for row in learner:
        missed[row.condition] += row.frames - row.right
    total = max(1, missed.total())
    causes = ", ".join(f"{name} {number / total:.0%}" for name, number in missed.most_common(6))
    reasons = Counter[str]()
    for row in learner:
        for reason, number in _counted(row.refusals):
            reasons[reason] += number
    gate = _words(reasons) or "nothing"
    first = rows[0]
    return (
        f"{first.features}, bandwidth {first.bandwidth:g}, cutoff {first.cutoff:g}, "
        f"{len({row.seed for row in rows})} casts. {' '.join(said)} Of the {missed.total()} "
        f"frames that {first.method} misses: {causes}. The gate refused: {gate}."
    )


def _words(numbers: Counter[str]) -> str:
    """The reasons with their numbers, the most frequent first.

    >>> _words(Counter({"too small": 3}))
    'too small 3'
    """
    return ", ".join(f"{reason} {number}" for reason, number in numbers.most_common())


def _counted(words: str) -> list[tuple[str, int]]:
    """The inverse of `_words`.

    >>> _counted("too small 3, too blurred 1")
    [('too small', 3), ('too blurred', 1)]
    """
    parts = [part.rpartition(" ") for part in words.split(", ") if part]
    return [(reason, int(number)) for reason, _, number in parts]


def _grouped(
    rows: Iterable[ConditionRow], key: Callable[[ConditionRow], tuple[str, ...]]
) -> list[tuple[tuple[str, ...], list[ConditionRow]]]:
    """Rows with the same key together, in the order in which keys first appear."""
    groups: dict[tuple[str, ...], list[ConditionRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.items())
