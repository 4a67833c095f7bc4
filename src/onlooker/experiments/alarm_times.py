"""Do alarms come in time, and only then?

The attacks of `takeover` are repeated without any guard, with `AlarmWatch` beside the learner, and
after each the attacker goes on being seen: ordinary frames, which are learned. Of those that
succeed, the frames are counted from when the name was taken until an alarm about it.

**When is a name taken?** By an ordinary, unblended face of the attacker: that is what success means
in `takeover`. So it is *taken* by the first such face in the stream that gets it. During a morph no
such face is shown; from which frame on it *would be taken* is found by asking, after each frame
and without learning, for the names of the faces that `takeover` judges success by: from when at
least half of them get it. Both are counted.

Then the same learner watches whole streams in which nobody attacks: of the set, with everybody
labeled and with each person alone; and, beside simulated cameras, which are slow, twenty weeks of
`long_run`, whose vectors come from a generator. An alarm is false if the face that raised it shows
the person it is about.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.core.errors import BadValue
from onlooker.core.records import Prediction
from onlooker.experiments.long_run import stream
from onlooker.experiments.paper.protocol import Step, plan
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.paper.trial import Trial, material
from onlooker.experiments.parallel import spread
from onlooker.experiments.report.html import share
from onlooker.experiments.report.plots import GREY, STYLE
from onlooker.experiments.report.section import DataTable, Section
from onlooker.experiments.takeover import (
    ATTACKS,
    LENGTHS,
    SUCCESS,
    PersonFaces,
    TakeoverJob,
    before_attack,
    blends_towards,
    faces_by_person,
    in_turn,
    jobs_of_attackers,
    ordinary_vectors,
    places,
    taken_for,
)
from onlooker.home.alarms import Alarm, AlarmWatch
from onlooker.vision.scales import FACE_QUANTIZER
from onlooker.vision.types import Vector

IN_TIME = 20
"""Frames after the name was taken within which an alarm must come."""
AFTERWARDS = 40
"""Ordinary frames of the attacker after an attack."""
ATTACKED = 2
"""Seeds whose people are attacked, the last ones: the rule was chosen on the first. A weak test
with real frames: each person's come in one sequence. Other streams are watched with all seeds."""
LONG_SEEDS, LONG_FRAMES = range(31, 41), 100_000
"""Of the streams of `long_run` without an attack: the rule was chosen on seeds 0 to 5, 20 to 26 and
101 to 107."""


@dataclass(frozen=True, slots=True)
class AttackAlarmRow:
    """One attack that succeeded, and the alarm about it."""

    dataset: str
    set: str
    features: str
    cutoff: float
    seed: int
    attacker: str
    victim: str
    attack: str
    length: int
    alarm: str | None
    """The kind of the first alarm about the victim; None if there was none."""
    frames: int | None
    """From the first ordinary face with the name to the alarm; negative if that was first."""
    frames_from_possible: int | None
    """From the first frame after which at least half of the attacker's ordinary faces would get the
    name."""
    alarms: int
    """In all, during the attack and afterwards."""


@dataclass(frozen=True, slots=True)
class HonestAlarmRow:
    """One stream without an attack."""

    dataset: str
    set: str
    features: str
    cutoff: float
    seed: int
    people: str
    """Who is labeled; empty: everybody."""
    strangers: int
    shown: int
    accepted: int
    false_alarms: int
    right_alarms: int
    """Raised by a face of somebody else that was given the name."""
    kinds: str


class AttackFrame(NamedTuple):
    """One frame of an attack."""

    vector: Vector
    attacker: bool
    """An ordinary face of the attacker: neither a blend nor the victim's."""


class WatchedLearner:
    """A learner and its alarms."""

    def __init__(self, kernel: HeatKernel, n_g: int) -> None:
        self.learner = OnlineHarmonicLearner(kernel, max_vertices=n_g, quantizer=FACE_QUANTIZER)
        self.watch, self.shown, self.accepted = AlarmWatch(), 0, 0
        self.camera = ""
        """Where it is watching: attacks happen where the victim was seen."""

    def observe(self, x: ArrayLike) -> tuple[Prediction, Alarm | None]:
        """Learn from a face: its name, and the alarm that it raises."""
        prediction = self.learner.observe(x)
        self.shown += 1
        self.accepted += prediction.label is not None
        return prediction, self.watch.note(self.learner, x, prediction, self.camera)

    def follow(self, steps: Iterable[Step]) -> list[tuple[Alarm, str | None]]:
        """Watch a stream: the alarms, each with the person that the face shows."""
        raised = []
        for step in steps:
            self.camera = step.camera
            if step.labeled and step.person is not None and step.faces[0] is not None:
                self.learner.teach(step.faces[0], step.person)
                continue
            for vector in step.faces:
                if vector is not None:
                    _, alarm = self.observe(vector)
                    raised += [] if alarm is None else [(alarm, step.person)]
        return raised


def alarms(setup: Setup) -> tuple[Section, list[AttackAlarmRow | HonestAlarmRow]]:
    """Attacks that succeed and the alarms about them; streams without an attack."""
    trials = setup.trials(methods=("online",), cutoffs=(setup.fixed_cutoff,))
    attacked = [
        trial
        for trial in trials
        if trial.protocol.seed >= setup.seeds - ATTACKED and len(faces_by_person(trial)) > 1
    ]
    if not attacked:
        raise BadValue("alarms are about takeovers, which need two people at the first camera")
    jobs = jobs_of_attackers(attacked)
    by_attack = spread(alarms_of_attacker, jobs, what="attacks", cost=lambda job: 0)
    honest = spread(alarms_of_stream, streams(trials), what="streams", cost=lambda job: 0)
    if setup.data is None and setup.finder.kind == "sface":
        long = [LongStream(seed, trials[0].kernel, setup.n_g) for seed in LONG_SEEDS]
        honest += spread(alarms_of_long_run, long, what="long runs", cost=lambda job: 0)
    rows = [row for some in by_attack for row in some]
    header, table = attack_table(rows)
    section = Section(
        "alarms", "Alarms", "Nothing: it takes every face that a walk leads to for that person.",
        finding(rows, honest), header, table, (delay_figure(rows),) if rows else (), words=2,
        caption=f"Share of the takeovers with an alarm within {IN_TIME} frames, by their length",
        further=(honest_table(honest),),
    )  # fmt: skip
    return section, [*rows, *honest]


# ---- attacks


def alarms_of_attacker(job: TakeoverJob) -> list[AttackAlarmRow]:
    """A row for each attack of one person that succeeds."""
    people = faces_by_person(job.trial)
    return [
        row
        for victim in people
        if victim != job.attacker
        for row in _alarms_of_pair(job.trial, people, job.attacker, victim)
    ]


def _alarms_of_pair(
    trial: Trial, people: dict[str, PersonFaces], attacker: str, victim: str
) -> list[AttackAlarmRow]:
    before = WatchedLearner(trial.kernel, trial.n_g)
    before.follow(before_attack(trial, people, attacker, victim))
    theirs, own = (
        ordinary_vectors(people[name], trial.protocol.labels) for name in (attacker, victim)
    )
    afterwards = [AttackFrame(x, True) for x in islice(cycle(theirs), AFTERWARDS)]
    frames = attack_frames(own, theirs, blends_towards(trial, victim, attacker))
    rows = []
    for (attack, length), shown in frames.items():
        watched = deepcopy(before)
        wrong = theirs[0] if attack == "mislabeled" else None
        if wrong is not None:
            watched.learner.teach(wrong, victim)
        times = _AttackTimes(victim, people[attacker].held_out)
        times.show(watched, shown)
        if wrong is not None:
            watched.learner.unteach(wrong)
        if not times.would_be_taken(watched):
            continue
        times.show(watched, afterwards)
        rows.append(
            AttackAlarmRow(
                dataset=trial.folder.resolve().name, set=trial.set, features=trial.finder.kind,
                cutoff=trial.cutoff, seed=trial.protocol.seed, attacker=attacker, victim=victim,
                attack=attack, length=length, alarm=times.kind, frames=times.since(times.taken),
                frames_from_possible=times.since(times.possible), alarms=times.alarms,
            )
        )  # fmt: skip
    return rows


def attack_frames(
    own: Sequence[Vector], theirs: Sequence[Vector], blends: Sequence[Vector | None]
) -> dict[tuple[str, int], list[AttackFrame]]:
    """The frames of every attack and length, as in `takeover`."""
    frames: dict[tuple[str, int], list[AttackFrame]] = {}
    for length in LENGTHS:
        chosen = [blends[place] for place in places(len(blends), length)]
        frames["morph", length] = [AttackFrame(x, False) for x in chosen if x is not None]
        turns = islice(in_turn(own, theirs), length)
        frames["companions", length] = [AttackFrame(*face) for face in turns]
        watched = islice(cycle(theirs[1:]), length)
        frames["mislabeled", length] = [AttackFrame(x, True) for x in watched]
    return frames


class _AttackTimes:
    """When the name was taken, and when an alarm was raised."""

    def __init__(self, victim: str, faces: Sequence[Vector]) -> None:
        self.victim, self.faces, self.now, self.alarms = victim, faces, 0, 0
        self.possible: int | None = None
        self.taken: int | None = None
        self.raised: int | None = None
        self.kind: str | None = None

    def would_be_taken(self, watched: WatchedLearner) -> bool:
        """Whether the attack would succeed if it ended now."""
        faces, taken, _ = taken_for(watched.learner, self.victim, self.faces, objecting=False)
        return faces > 0 and taken >= SUCCESS * faces

    def show(self, watched: WatchedLearner, frames: Sequence[AttackFrame]) -> None:
        """Have the learner see some frames."""
        for frame in frames:
            self.now += 1
            prediction, alarm = watched.observe(frame.vector)
            if prediction.label == self.victim:  # otherwise nothing was learned under that name
                if self.possible is None and self.would_be_taken(watched):
                    self.possible = self.now
                if self.taken is None and frame.attacker:
                    self.taken = self.now
            self.alarms += alarm is not None
            if alarm is not None and self.raised is None and alarm.name == self.victim:
                self.raised, self.kind = self.now, alarm.kind

    def since(self, start: int | None) -> int | None:
        """Frames from then to the alarm."""
        return None if start is None or self.raised is None else self.raised - start


# ---- streams without an attack


def streams(trials: Sequence[Trial]) -> list[Trial]:
    """Every stream with everybody labeled, and with each person alone where there are several."""
    found = []
    for trial in trials:
        people = tuple(faces_by_person(trial))
        alone = [(person,) for person in people] if len(people) > 1 else []
        found += [
            replace(trial, protocol=replace(trial.protocol, people=chosen))
            for chosen in (trial.protocol.people, *alone)
        ]
    return found


def alarms_of_stream(trial: Trial) -> HonestAlarmRow:
    """Watch one stream from its beginning to its end."""
    name, recording, crowd = material(
        trial.folder, trial.set, trial.finder, trial.protocol.strangers
    )
    steps = plan(recording, crowd, trial.protocol)
    if not trial.every_face:
        steps = [replace(step, faces=step.faces[:1]) for step in steps]
    watched = WatchedLearner(trial.kernel, trial.n_g)
    return HonestAlarmRow(
        dataset=name, set=trial.set, features=trial.finder.kind, cutoff=trial.cutoff,
        seed=trial.protocol.seed, people=",".join(trial.protocol.people),
        strangers=trial.protocol.strangers, **_counts(watched, watched.follow(steps)),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class LongStream:
    """Twenty weeks of a household in which nobody attacks."""

    seed: int
    kernel: HeatKernel
    n_g: int
    frames: int = LONG_FRAMES

    def steps(self) -> Iterator[Step]:
        """As those of a recording."""
        for face in stream(self.frames, self.seed):
            yield Step(face.camera, face.person, (face.vector,), face.labeled)


def alarms_of_long_run(job: LongStream) -> HonestAlarmRow:
    """Watch a stream of the generator."""
    watched = WatchedLearner(job.kernel, job.n_g)
    return HonestAlarmRow(
        dataset="generated", set="long-run", features="sface", cutoff=job.kernel.cutoff,
        seed=job.seed, people="", strangers=0,
        **_counts(watched, watched.follow(job.steps())),
    )  # fmt: skip


def _counts(watched: WatchedLearner, raised: Sequence[tuple[Alarm, str | None]]) -> dict[str, Any]:
    false = sum(alarm.name == person for alarm, person in raised)
    return {
        "shown": watched.shown,
        "accepted": watched.accepted,
        "false_alarms": false,
        "right_alarms": len(raised) - false,
        "kinds": " ".join(f"{alarm.kind}:{alarm.name}" for alarm, _ in raised),
    }


# ---- what came out


def _in_time(rows: Sequence[AttackAlarmRow], *, from_possible: bool = False) -> float | None:
    if not rows:
        return None
    delays = [row.frames_from_possible if from_possible else row.frames for row in rows]
    return sum(delay is not None and delay <= IN_TIME for delay in delays) / len(rows)


def _by_set(rows: Sequence[AttackAlarmRow]) -> dict[tuple[str, str], list[AttackAlarmRow]]:
    sets = dict.fromkeys(row.set for row in rows)
    groups = {
        (name, attack): [row for row in rows if (row.set, row.attack) == (name, attack)]
        for name in sets
        for attack in ATTACKS
    }
    return {key: own for key, own in groups.items() if own}


def attack_table(rows: Sequence[AttackAlarmRow]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A row for each set and attack."""
    kinds = sorted({row.alarm for row in rows if row.alarm is not None})
    header = (
        "set", "attack", *map(str, LENGTHS), "all", "all, from when it would be", "takeovers",
        "more than one alarm", *kinds,
    )  # fmt: skip
    table = []
    for key, own in _by_set(rows).items():
        counts = Counter(row.alarm for row in own)
        by_length = [[row for row in own if row.length == length] for length in LENGTHS]
        table.append(
            (
                *key,
                *(share(_in_time(some)) for some in by_length),
                share(_in_time(own)),
                share(_in_time(own, from_possible=True)),
                str(len(own)),
                str(sum(row.alarms > 1 for row in own)),
                *(str(counts[kind]) for kind in kinds),
            )
        )
    return header, table


def honest_table(rows: Sequence[HonestAlarmRow]) -> DataTable:
    """A row for each set: how much was watched, and what was raised."""
    table = []
    for name in dict.fromkeys(row.set for row in rows):
        for who, alone in (("everybody", False), ("each alone", True)):
            own = [row for row in rows if row.set == name and bool(row.people) == alone]
            if own:
                sums = [
                    sum(getattr(row, field) for row in own)
                    for field in ("shown", "accepted", "false_alarms", "right_alarms")
                ]
                table.append((name, who, str(len(own)), *map(str, sums)))
    header = ("set", "labeled", "streams", "faces", "accepted", "false alarms", "right alarms")
    return DataTable("Streams in which nobody attacks", header, table, words=2)


def finding(rows: Sequence[AttackAlarmRow], honest: Sequence[HonestAlarmRow]) -> str:
    """The two shares, and the false alarms."""
    first = honest[0]
    said = [f"{first.features}, cutoff {first.cutoff:g}."]
    for name in dict.fromkeys(row.set for row in rows):
        own = [row for row in rows if row.set == name]
        said.append(
            f"{name}: of {len(own)} takeovers that succeed, {_in_time(own) or 0:.1%} raise an "
            f"alarm within {IN_TIME} frames after the name was taken, "
            f"{_in_time(own, from_possible=True) or 0:.1%} after it would have been."
        )
    false, shown = sum(row.false_alarms for row in honest), sum(row.shown for row in honest)
    everybody = [row for row in honest if not row.people]
    said.append(
        f"Without an attack: {sum(row.false_alarms for row in everybody)} false alarms in "
        f"{sum(row.shown for row in everybody)} faces with everybody labeled, {false} in {shown} "
        "with the streams in which each person is labeled alone."
    )
    return " ".join(said)


def delay_figure(rows: Sequence[AttackAlarmRow]) -> Figure:
    """For each set, the share of takeovers with an alarm so many frames after they succeeded."""
    sets = list(dict.fromkeys(row.set for row in rows))
    frames = np.arange(-20, AFTERWARDS + 1)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 2.6), layout="constrained")
        panels = figure.subplots(1, len(sets), sharey=True, squeeze=False)[0]
        for axes, name in zip(panels, sets, strict=True):
            own = [row for row in rows if row.set == name]
            for words, colour, delays in (
                ("after it was taken", "#0072B2", [row.frames for row in own]),
                ("after it would have been", "#D55E00", [row.frames_from_possible for row in own]),
            ):
                known = np.array([delay for delay in delays if delay is not None])
                reached = [(known <= frame).sum() / len(own) for frame in frames]
                axes.step(frames, reached, where="post", color=colour, lw=1.2, label=words)
            axes.axvline(IN_TIME, color=GREY, lw=0.5)
            axes.set_title(name)
            axes.set_xlabel("frames")
            axes.set_ylim(-0.04, 1.04)
        panels[0].set_ylabel("takeovers with an alarm")
        drawn, names = panels[0].get_legend_handles_labels()
        figure.legend(drawn, names, loc="outside lower center", ncols=2, frameon=False)
        figure.draw_without_rendering()
    return figure
