"""Weeks of a household: does what a learner taught itself stay clean?

Twenty people, a thousand strangers, three cameras, twenty weeks. Four faces of each of the twenty
are labeled at their first visit, and one more every four weeks; all methods get the same labels.
There are no pictures: vectors come from a stated generator, whose distances stand beside those of
real SFace vectors in the report. It was adjusted to those, before any method had seen it.

**The generator.** A face is the direction of a sum of vectors of 128 numbers, with these squared
lengths; their directions are random, a new one for each person unless stated otherwise.

    identity    1       of it 0.14 is common to everybody and 0.45 to a family of four; it turns by
                        0.2 to 0.7 radians over the weeks, towards a direction of its own
    camera      0.15    for each camera; of it 0.3 common to everybody
    darkness    to 1.5  by the hour, the season and the weather; of it 0.15 common to everybody
    visit       0.15    new for every visit
    pose        0.18    moves from frame to frame (an autoregression), by visit more or less
    noise       0.08    new for every frame, more or less; 3 % of the frames are blurred: 1

A stranger is made as everybody else is: about sixty of them are of a family with known people. Six
visits of ten are by known people; some strangers come far more often than others.

**Contamination** is the share of the learned examples that carry the name of somebody else. It is
what `onlooker audit` estimates without knowing the truth: the same is run at looser cutoffs, where
many strangers are named, and the two are compared.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, inf
from statistics import mean
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.signal import lfilter

from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.baselines.nearest import NearestNeighbour
from onlooker.baselines.self_training import SelfTraining
from onlooker.core.checks import Floats
from onlooker.core.errors import BadValue
from onlooker.core.records import Prediction
from onlooker.evaluation import Provenance, Score
from onlooker.experiments.paper.methods import Baseline
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.paper.trial import material
from onlooker.experiments.parallel import spread
from onlooker.experiments.report.html import share
from onlooker.experiments.report.plots import GREY, STYLE
from onlooker.experiments.report.section import DataTable, Section
from onlooker.home.audit import audit
from onlooker.vision.scales import DEFAULT_SCALES, FACE_QUANTIZER, TRUST_RADII
from onlooker.vision.types import Vector

FRAMES = 20_000
"""Unless a number is given."""
PEOPLE, STRANGERS, CAMERAS, WEEKS = 20, 1000, 3, 20
DAYS = 7 * WEEKS
KNOWN_VISITS = 0.6
VISIT_FRAMES, SHORTEST, LONGEST = 40, 4, 200
"""Of a visit: on average, at least and at most."""
LABELS, LABEL_DAYS = 4, 28
"""Labels at the first visit, and days between further ones."""

LENGTH = 128
COMMON, FAMILY, FAMILY_SIZE = 0.14, 0.45, 4
TURN = (0.2, 0.7)
CAMERA, CAMERA_COMMON = 0.15, 0.3
DARKNESS, DARKNESS_COMMON = 1.5, 0.15
VISIT = 0.15
POSE, POSE_SPREAD, POSE_STEADY = 0.18, 0.6, 0.97
NOISE, NOISE_SPREAD = 0.08, 0.6
BLURRED, BLUR = 0.03, 1.0

CHECKPOINTS = 40
PUBLISHED = 1.128
"""The distance up to which two faces are one person, as the makers of SFace published it."""
LOOSER = (1, 30, 100, 150, 200, 300, 500, 1000, 1500)
"""How many times looser the cutoffs are at which the estimate is compared with the truth."""
ESTIMATE_SEEDS = (1, 2)
ESTIMATE_FRAMES = 6_000
"""At most: a stream of an estimate is not longer than those of the comparison."""


class Visit(NamedTuple):
    """Some frames of one person in a row."""

    person: str
    known: bool
    day: float
    vectors: Floats
    camera: str = ""


class SeenFace(NamedTuple):
    """One frame of a stream."""

    vector: Vector
    person: str | None
    """Who it is; None for a stranger."""
    labeled: bool
    day: float
    camera: str


class Cast:
    """Everybody's directions: the known people first, then strangers."""

    def __init__(self, seed: int) -> None:
        rng, everybody = np.random.default_rng([seed, 3]), PEOPLE + STRANGERS
        family = rng.permutation(everybody) // FAMILY_SIZE
        families = directions(rng, -(-everybody // FAMILY_SIZE))[family]
        self.identity = (
            np.sqrt(COMMON) * directions(rng)
            + np.sqrt(FAMILY) * families
            + np.sqrt(1 - COMMON - FAMILY) * directions(rng, everybody)
        )
        self.changed = directions(rng, everybody)
        self.turn = rng.uniform(*TURN, everybody)

        def partly(common: float, shared: Floats, own: Floats) -> Floats:
            mixed: Floats = np.sqrt(common) * shared + np.sqrt(1 - common) * own
            return mixed

        cameras = directions(rng, CAMERAS), directions(rng, everybody, CAMERAS)
        self.camera = partly(CAMERA_COMMON, *cameras)
        self.dark = partly(DARKNESS_COMMON, directions(rng), directions(rng, everybody))

    def visit(self, who: int, day: float, length: int, rng: np.random.Generator) -> Visit:
        """Some frames of one person at one of the cameras."""
        angle = self.turn[who] * day / DAYS
        sun = np.cos(2 * np.pi * (day % 1 - 13 / 24)) - 0.3 * np.sin(2 * np.pi * day / 365)
        weather = 0.15 * rng.normal() + np.linspace(0, 0.05 * rng.normal(), length)
        darkness = DARKNESS * np.clip(0.35 - sun + weather, 0, 1)
        camera = int(rng.integers(CAMERAS))
        steady = (
            np.cos(angle) * self.identity[who]
            + np.sin(angle) * self.changed[who]
            + np.sqrt(CAMERA) * self.camera[who, camera]
            + np.sqrt(VISIT) * directions(rng)
        )
        pose = POSE * np.exp(POSE_SPREAD * rng.normal())
        noise = NOISE * np.exp(NOISE_SPREAD * rng.normal(size=length))
        noise[rng.random(length) < BLURRED] = BLUR
        steps = rng.normal(size=(length, LENGTH))
        steps[1:] *= np.sqrt(1 - POSE_STEADY**2)
        moved = lfilter([1.0], [1.0, -POSE_STEADY], steps, axis=0)
        vectors = (
            steady
            + np.sqrt(darkness)[:, None] * self.dark[who]
            + np.sqrt(pose / LENGTH) * moved
            + np.sqrt(noise / LENGTH)[:, None] * rng.normal(size=(length, LENGTH))
        )
        unit = (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype(np.float32)
        return Visit(f"p{who}", who < PEOPLE, day, unit, f"camera{camera}")


def directions(rng: np.random.Generator, *shape: int) -> Floats:
    """Random unit vectors."""
    vectors = rng.normal(size=(*shape, LENGTH))
    unit: Floats = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit


def visits(frames: int, seed: int) -> Iterator[Visit]:
    """So many frames in all, over the weeks, between six and eleven at night.

    >>> found = list(visits(1000, seed=0))
    >>> sum(len(visit.vectors) for visit in found), found[0].day < found[-1].day
    (1000, True)
    """
    cast, rng = Cast(seed), np.random.default_rng([seed, 4])
    lengths, missing = list[int](), frames
    while missing > 0:
        drawn = SHORTEST + int(rng.exponential(VISIT_FRAMES - SHORTEST))
        lengths.append(min(drawn, LONGEST, missing))
        missing -= lengths[-1]
    days = np.sort(rng.integers(0, DAYS, len(lengths)) + rng.uniform(6, 23, len(lengths)) / 24)
    often = 1 / (np.arange(STRANGERS) + 10.0)
    for day, length in zip(days.tolist(), lengths, strict=True):
        known = rng.random() < KNOWN_VISITS
        who = int(
            rng.integers(PEOPLE) if known else PEOPLE + rng.choice(STRANGERS, p=often / often.sum())
        )
        yield cast.visit(who, day, length, rng)


def stream(frames: int, seed: int) -> Iterator[SeenFace]:
    """The frames one by one: the first of somebody's first visit are labeled, then rarely one.

    >>> faces = [face for face in stream(1000, seed=0) if face.person is not None]
    >>> [face.labeled for face in faces if face.person == faces[0].person][:6]
    [True, True, True, True, False, False]
    """
    labeled: dict[str, float] = {}
    for visit in visits(frames, seed):
        person, labels = visit.person if visit.known else None, 0
        if person is not None and visit.day >= labeled.get(person, -inf) + LABEL_DAYS:
            labels = 1 if person in labeled else LABELS
            labeled[person] = visit.day
        for place, vector in enumerate(visit.vectors):
            yield SeenFace(vector, person, place < labels, visit.day, visit.camera)


class NoLearning:
    """A learner that is shown unlabeled faces and learns nothing from them."""

    def __init__(self, learner: OnlineHarmonicLearner) -> None:
        self.learner = learner

    def teach(self, x: Any, name: str) -> None:
        """A labeled example."""
        self.learner.teach(x, name)

    def observe(self, x: Any) -> Prediction:
        """The name alone."""
        return self.learner.predict(x)


@dataclass(frozen=True, slots=True)
class LongRunJob:
    """One method on one stream."""

    method: str
    reach: float
    """The distance up to which two faces are linked."""
    trust_radius: float | None
    frames: int
    seed: int
    n_g: int = 500
    checkpoints: int = CHECKPOINTS

    @property
    def kernel(self) -> HeatKernel:
        """The user's bandwidth, and the cutoff with that reach."""
        bandwidth = DEFAULT_SCALES["sface"].bandwidth
        return HeatKernel(bandwidth, exp(-0.5 * (self.reach / bandwidth) ** 2))


@dataclass(frozen=True, slots=True)
class LongRunRow:
    """One method up to one moment; the counts are those since the moment before."""

    method: str
    reach: float
    trust_radius: float | None
    n_g: int
    seed: int
    all_frames: int
    day: float
    seen: int
    """Frames so far."""
    contamination: float | None
    """Of all that was learned so far; None if that is nothing."""
    estimate: float | None
    """What an audit makes of it, at the end."""
    frames: int
    """Without labeled ones."""
    known: int
    named: int
    right: int
    strangers_named: int


class Recorder:
    """Counts what a method answers, and whose faces it learned."""

    def __init__(self, model: Baseline) -> None:
        self.model, self.score, self.refused = model, Score(), 0
        self.origin = Provenance(model) if isinstance(model, OnlineHarmonicLearner) else None
        self.enrolled = self.wrong = 0

    def show(self, vector: Vector, truth: str | None) -> None:
        """One unlabeled face."""
        prediction = self.model.observe(vector)
        self.score.count([prediction.label], truth)
        self.refused += prediction.label is None
        if self.origin is not None:
            self.origin.note(prediction, truth)
        elif isinstance(self.model, SelfTraining) and self.model.enrolled > self.enrolled:
            self.enrolled += 1
            self.wrong += prediction.label != truth

    @property
    def contamination(self) -> float | None:
        """The share of what was learned that carries the name of somebody else."""
        if self.origin is not None:
            return self.origin.contamination()
        return self.wrong / self.enrolled if self.enrolled else None

    def row(self, job: LongRunJob, day: float, seen: int) -> LongRunRow:
        """What was counted since the last row."""
        score, self.score = self.score, Score()
        return LongRunRow(
            method=job.method, reach=job.reach, trust_radius=job.trust_radius, n_g=job.n_g,
            seed=job.seed, all_frames=job.frames, day=day, seen=seen,
            contamination=self.contamination, estimate=None, frames=score.frames,
            known=score.known, named=score.named, right=score.right,
            strangers_named=score.strangers_named,
        )  # fmt: skip

    def estimate(self) -> float | None:
        """What an audit says about it."""
        if not isinstance(self.model, OnlineHarmonicLearner):
            return None
        return audit(self.model, refused=self.refused).contamination


def model_of(job: LongRunJob) -> Baseline:
    """A method that has seen nothing."""
    if job.method == "self-training":
        return SelfTraining(job.kernel, max_examples=job.n_g)
    if job.method == "nearest neighbour":
        return NearestNeighbour(job.kernel)
    learner = OnlineHarmonicLearner(
        job.kernel,
        max_vertices=job.n_g,
        quantizer=FACE_QUANTIZER,
        trust_radius=job.trust_radius,
    )
    return NoLearning(learner) if job.method == "no learning" else learner


def run(job: LongRunJob) -> list[LongRunRow]:
    """Follow the stream: a row for each checkpoint."""
    recorder, rows = Recorder(model_of(job)), list[LongRunRow]()
    moments = [job.frames * (at + 1) // job.checkpoints for at in range(job.checkpoints)]
    for seen, face in enumerate(stream(job.frames, job.seed), start=1):
        if face.labeled and face.person is not None:
            recorder.model.teach(face.vector, face.person)
        else:
            recorder.show(face.vector, face.person)
        if seen == moments[len(rows)]:
            rows.append(recorder.row(job, face.day, seen))
    rows[-1] = replace(rows[-1], estimate=recorder.estimate())
    return rows


def long_run(setup: Setup) -> tuple[Section, list[LongRunRow]]:
    """Every method over the weeks, and the estimate of contamination against the truth."""
    frames = setup.frames or FRAMES
    jobs = [
        replace(job, seed=seed, n_g=setup.n_g, frames=frames, checkpoints=CHECKPOINTS)
        for seed in range(setup.seeds)
        for job in methods()
    ]
    compared = [
        replace(job, n_g=setup.n_g, frames=min(frames, ESTIMATE_FRAMES), checkpoints=2)
        for job in estimated()
    ]
    found = spread(run, [*jobs, *compared], what="long run", cost=lambda job: job.frames)
    curves, ends = found[: len(jobs)], [rows[-1] for rows in found[len(jobs) :]]
    header, table = method_table(curves)
    section = Section(
        "long-run", "Weeks of a household", PAPER, finding(curves, ends), header, table,
        (curves_figure(curves), estimate_figure(ends)), words=3,
        caption=f"{frames} frames over {WEEKS} weeks",
        further=(estimate_table(ends), distance_table(setup)),
    )  # fmt: skip
    return section, [row for rows in found for row in rows]


PAPER = (
    "Nothing: it follows a stream for minutes, and says that outliers must leave no trace (3.3)."
)
UNSET = LongRunJob("", 0.0, None, frames=0, seed=0)


def methods() -> list[LongRunJob]:
    """What is compared: ours as a user has it, and what could be used in its place."""
    reach, radius = DEFAULT_SCALES["sface"].reach, TRUST_RADII["sface"]
    return [
        replace(UNSET, method="learner", reach=reach),
        replace(UNSET, method="learner", reach=reach, trust_radius=radius),
        *(replace(UNSET, method="self-training", reach=far) for far in (0.8, reach, PUBLISHED)),
        replace(UNSET, method="nearest neighbour", reach=PUBLISHED),
        replace(UNSET, method="no learning", reach=reach),
    ]


def estimated() -> list[LongRunJob]:
    """Our learner at ever looser cutoffs, with and without the radius."""
    scale, radius = DEFAULT_SCALES["sface"], TRUST_RADII["sface"]
    return [
        replace(UNSET, method="learner", reach=reach, trust_radius=guard, seed=seed)
        for reach in (scale.times(1 / factor).reach for factor in LOOSER)
        for guard in (None, radius)
        for seed in ESTIMATE_SEEDS
    ]


Curves = Sequence[Sequence[LongRunRow]]
"""The rows of each run, in order."""


def _name(row: LongRunRow) -> str:
    guard = "" if row.trust_radius is None else f", radius {row.trust_radius:g}"
    return f"{row.method} {row.reach:.2f}{guard}"


def _by_method(curves: Curves) -> dict[str, list[Sequence[LongRunRow]]]:
    groups: dict[str, list[Sequence[LongRunRow]]] = {}
    for rows in curves:
        groups.setdefault(_name(rows[0]), []).append(rows)
    return groups


def _ratio(rows: Sequence[LongRunRow], part: str, whole: str) -> float | None:
    total: int = sum(getattr(row, whole) for row in rows)
    return sum(getattr(row, part) for row in rows) / total if total else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def method_table(curves: Curves) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Means over the seeds; strangers' frames are counted together."""
    header = (
        "method", "links up to", "trust radius", "contamination, half-way", "end", "precision",
        "last half", "recall", "last half", "strangers' frames named",
    )  # fmt: skip
    table = []
    for group in _by_method(curves).values():
        first, every = group[0][0], [row for rows in group for row in rows]
        late = [row for rows in group for row in rows[len(rows) // 2 :]]
        table.append(
            (
                first.method,
                f"{first.reach:.3f}",
                "–" if first.trust_radius is None else f"{first.trust_radius:g}",
                percent(_mean([rows[len(rows) // 2 - 1].contamination for rows in group])),
                percent(_mean([rows[-1].contamination for rows in group])),
                *(share(_ratio(some, "right", "named")) for some in (every, late)),
                *(share(_ratio(some, "right", "known")) for some in (every, late)),
                str(sum(row.strangers_named for row in every)),
            )
        )
    return header, table


def percent(value: float | None) -> str:
    """A small share, with two decimals.

    >>> percent(0.0123), percent(None)
    ('1.23 %', '–')
    """
    return "–" if value is None else f"{value:.2%}".replace("%", " %")


def finding(curves: Curves, ends: Sequence[LongRunRow]) -> str:
    """Contamination at the end of each method, whether it still rises, and the estimate."""
    said = []
    for name, group in _by_method(curves).items():
        end = _mean([rows[-1].contamination for rows in group])
        if end is not None:
            half = _mean([rows[len(rows) // 2 - 1].contamination for rows in group])
            said.append(f"{name}: {percent(half)} half-way, {percent(end)} at the end")
    return f"Contamination. {'; '.join(said)}. {agreement(ends)}"


def agreement(ends: Sequence[LongRunRow]) -> str:
    """How well the estimate of an audit follows the truth, as a sentence."""
    pairs = [(row.contamination or 0.0, row.estimate) for row in ends if row.estimate is not None]
    truths, estimates = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    if len(pairs) < 2 or not np.ptp(truths) or not np.ptp(estimates):
        return "The estimate cannot be compared: the truth is the same everywhere."
    small = np.abs(estimates - truths)[truths < SMALL]
    within = f"{np.mean(small <= ONE_POINT):.0%} of them within one point" if len(small) else "none"
    return (
        f"The estimate of an audit, {len(pairs)} of {len(ends)} runs, truths from "
        f"{percent(truths.min())} to {percent(truths.max())}: correlation "
        f"{np.corrcoef(truths, estimates)[0, 1]:.2f}; truth below {SMALL:.0%}: {len(small)} runs, "
        f"{within}, the farthest {percent(small.max(initial=0.0))} away."
    )


SMALL, ONE_POINT = 0.02, 0.01


def estimate_table(ends: Sequence[LongRunRow]) -> DataTable:
    """A row for each run."""
    header = ("links up to", "trust radius", "seed", "contamination", "estimate", "recall")
    table = [
        (
            f"{row.reach:.3f}",
            "–" if row.trust_radius is None else f"{row.trust_radius:g}",
            str(row.seed),
            percent(row.contamination),
            percent(row.estimate),
            share(_ratio([row], "right", "known")),
        )
        for row in ends
    ]
    caption = f"Contamination and its estimate by an audit, {ends[0].all_frames} frames"
    return DataTable(caption, header, table, words=0)


QUANTILES = (1, 5, 25, 50, 75, 95, 99)
LATER, THINNED = 30, 5
"""Frames between two of one visit; of all pairs, every so many frames are used."""
CROWD = 1000
CHECKED_FRAMES = 8_000

REAL: dict[tuple[str, str], tuple[float, ...]] = {
    ("next frame", "two-cameras"): (0.162, 0.2, 0.263, 0.318, 0.392, 0.556, 0.695),
    ("next frame", "webcams"): (0.186, 0.217, 0.275, 0.338, 0.464, 0.973, 1.189),
    ("30 frames later", "two-cameras"): (0.255, 0.294, 0.368, 0.435, 0.541, 0.727, 0.831),
    ("30 frames later", "webcams"): (0.31, 0.351, 0.508, 0.649, 0.829, 1.134, 1.258),
    ("the same visit", "two-cameras"): (0.242, 0.293, 0.38, 0.455, 0.585, 0.772, 0.867),
    ("the same visit", "webcams"): (0.337, 0.418, 0.607, 0.742, 0.893, 1.205, 1.352),
    ("another visit", "two-cameras"): (0.621, 0.66, 0.741, 0.797, 0.904, 0.993, 1.068),
    ("two people", "two-cameras"): (1.193, 1.236, 1.307, 1.356, 1.401, 1.464, 1.502),
    ("two people", "webcams"): (1.17, 1.218, 1.305, 1.367, 1.426, 1.493, 1.525),
    ("two strangers", "strangers"): (1.165, 1.222, 1.298, 1.347, 1.395, 1.46, 1.504),
    ("the nearest stranger", "strangers"): (0.98, 1.02, 1.074, 1.104, 1.134, 1.169, 1.19),
}
"""The quantiles of real SFace vectors, as `--data DIR` measures them: nine people who walk by two
cameras, five in front of webcams (one of them from the dark into light), a thousand strangers."""


def distances(tracks: Sequence[Visit], crowd: Floats) -> dict[str, Floats]:
    """Distances between frames of one visit, of one person, of two people, and of strangers."""
    vectors = [np.asarray(track.vectors, dtype=np.float64) for track in tracks]
    found: dict[str, list[Floats]] = {}
    for name, lag in (("next frame", 1), (f"{LATER} frames later", LATER)):
        found[name] = [np.linalg.norm(rows[lag:] - rows[:-lag], axis=1) for rows in vectors]
    thin = [rows[::THINNED] for rows in vectors]
    for one, rows in enumerate(thin):
        same = pairwise_distances(rows, rows)[np.triu_indices(len(rows), 1)]
        found.setdefault("the same visit", []).append(same)
        for other in range(one):
            own = tracks[one].person == tracks[other].person
            kind = "another visit" if own else "two people"
            found.setdefault(kind, []).append(pairwise_distances(rows, thin[other]).ravel())
    if len(crowd) > 1:
        apart = pairwise_distances(crowd, crowd)
        found["two strangers"] = [apart[np.triu_indices(len(crowd), 1)]]
        apart[apart < SAME_PICTURE] = inf  # itself among them
        found["the nearest stranger"] = [apart.min(axis=1)]
    joined = {kind: np.concatenate(parts) for kind, parts in found.items()}
    return {kind: values for kind, values in joined.items() if len(values)}


SAME_PICTURE = 0.3
"""Collections of strangers have pictures twice; strangers are farther apart than this."""


def pairwise_distances(rows: Floats, others: Floats) -> Floats:
    """Of unit vectors."""
    gaps: Floats = np.sqrt(np.maximum(2 - 2 * rows @ others.T, 0.0))
    return gaps


def generated_distances() -> dict[str, Floats]:
    """The same of the generator; other visits also by day in one week, as in real recordings."""
    shown = [visit for visit in visits(CHECKED_FRAMES, seed=0) if visit.known]
    cast, rng = Cast(0), np.random.default_rng(0)
    times = rng.integers(0, DAYS, STRANGERS) + rng.uniform(6, 23, STRANGERS) / 24
    crowd = [cast.visit(PEOPLE + n, day, 1, rng).vectors[0] for n, day in enumerate(times.tolist())]
    hours = np.array([10.0, 12.0, 14.0]) / 24
    week = [
        cast.visit(who, day, VISIT_FRAMES, rng)
        for who in range(PEOPLE)
        for day in rng.integers(0, 7, len(hours)) + hours
    ]
    by_day = distances(week, np.zeros((0, LENGTH)))["another visit"]
    found = distances(shown, np.array(crowd, dtype=np.float64))
    return {**found, "another visit, that week by day": by_day}


def real_distances(setup: Setup) -> dict[tuple[str, str], tuple[float, ...]]:
    """Of the frames of each set, and of its strangers."""
    if setup.finder.kind != "sface":
        raise BadValue(f"long-run compares SFace vectors, not those of {setup.finder.kind}")
    measured = {}
    for name in setup.names:
        _, recording, crowd = material(setup.folders[0], name, setup.finder, setup.strangers)
        tracks: dict[tuple[str, str], list[tuple[int, Any]]] = {}
        for picture, faces in recording:
            if picture.person and faces and faces[0].vector is not None:
                own = tracks.setdefault((picture.camera, picture.person), [])
                own.append((picture.frame, faces[0].vector))
        shown = [
            Visit(person, True, 0.0, np.array([v for _, v in sorted(own, key=lambda at: at[0])]))
            for (_, person), own in tracks.items()
        ]
        some = [faces[0].vector for _, faces in crowd if faces and faces[0].vector is not None]
        known = np.array(some[:CROWD], dtype=np.float64).reshape(-1, LENGTH)
        for kind, values in distances(shown, known).items():
            source = "strangers" if "stranger" in kind else name
            measured[kind, source] = quantiles(values)
    return measured


def quantiles(values: Floats) -> tuple[float, ...]:
    """Rounded to three decimals.

    >>> quantiles(np.arange(101.0))
    (1.0, 5.0, 25.0, 50.0, 75.0, 95.0, 99.0)
    """
    return tuple(round(float(value), 3) for value in np.percentile(values, QUANTILES))


def distance_table(setup: Setup) -> DataTable:
    """The generator's distances beside real ones."""
    real = REAL if setup.data is None else real_distances(setup)
    table = []
    for kind, values in generated_distances().items():
        sources = {"generator": quantiles(values)}
        sources |= {where: found for (what, where), found in real.items() if kind.startswith(what)}
        for source, found in sources.items():
            table.append((kind, source, *(f"{value:.3f}" for value in found)))
    header = ("distance", "of", *(f"{level} %" for level in QUANTILES))
    return DataTable("Distances of the generator and of real SFace vectors", header, table, words=2)


COLOURS = ("#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#7B3294", "black", GREY)


def curves_figure(curves: Curves) -> Figure:
    """Contamination, precision and recall over the weeks, the mean over the seeds."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.1), layout="constrained")
        dirty, exact, found = figure.subplots(1, 3)
        for colour, (name, group) in zip(COLOURS, _by_method(curves).items(), strict=False):
            ours = name.startswith("learner")
            style = {"color": colour, "lw": 1.6 if ours else 1.0, "label": name, "zorder": 2 + ours}
            weeks = [row.day / 7 for row in group[0]]
            moments = list(zip(*group, strict=True))
            values = [_mean([row.contamination for row in rows]) for rows in moments]
            if any(value is not None for value in values):
                _draw(dirty, weeks, values, style)
            _draw(exact, weeks, [_ratio(rows, "right", "named") for rows in moments], style)
            _draw(found, weeks, [_ratio(rows, "right", "known") for rows in moments], style)
        dirty.set_title("contamination")
        dirty.set_yscale("symlog", linthresh=ONE_POINT / 10)
        dirty.axhline(ONE_POINT, color=GREY, lw=0.6, ls=(0, (2, 2)))
        exact.set_title("precision")
        found.set_title("recall")
        for axes in (dirty, exact, found):
            axes.set_xlabel("weeks")
        drawn, names = found.get_legend_handles_labels()
        figure.legend(drawn, names, loc="outside lower center", ncols=3, frameon=False)
        figure.draw_without_rendering()
    return figure


def _draw(
    axes: Axes, weeks: Sequence[float], values: Sequence[float | None], style: dict[str, Any]
) -> None:
    axes.plot(weeks, [np.nan if value is None else value for value in values], **style)


def estimate_figure(ends: Sequence[LongRunRow]) -> Figure:
    """The estimate against the truth, a point for each run."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(3.4, 3.1), layout="constrained")
        axes = figure.subplots()
        for guarded, colour, marker in ((False, "#D55E00", "o"), (True, "#0072B2", "D")):
            points = [
                (row.contamination or 0.0, row.estimate)
                for row in ends
                if row.estimate is not None and (row.trust_radius is not None) == guarded
            ]
            truths, estimates = np.array(points).reshape(-1, 2).T
            label = "trust radius" if guarded else "no radius"
            axes.plot(truths, estimates, marker, color=colour, ms=3.5, mew=0, label=label)
        axes.axline((0, 0), slope=1, color=GREY, lw=0.6, ls=(0, (2, 2)))
        axes.set_xlabel("contamination")
        axes.set_ylabel("estimate of an audit")
        axes.legend(frameon=False)
        figure.draw_without_rendering()
    return figure
