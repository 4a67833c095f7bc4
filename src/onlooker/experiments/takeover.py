"""Takeover: can somebody who was never labeled get the name of somebody who was?

Everybody at the first camera but one person, the attacker, is labeled with four faces, and half of
the frames of somebody (the victim) are watched among strangers. Then the victim is attacked in one
of three ways: `morph`, blends that go from the victim's face to the attacker's; `companions`,
ordinary frames of the two in turn; `mislabeled`, a face of the attacker that is taught under the
victim's name, ordinary frames of the attacker, and the label taken back. `no attack` is what the
attacker is called anyway.

Afterwards faces of the attacker that were not part of it are shown, unblended and without learning.
The attack succeeds if at least half of them get the victim's name; a candidate is no name. All
ordered pairs of people are tried, with every guard: the trust radius, one "not VICTIM" after the
first ordinary face of the attacker that is taken for the victim, and both.
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import combinations, cycle, islice, pairwise
from statistics import mean
from typing import Any, NamedTuple

import matplotlib
from matplotlib.figure import Figure

from onlooker import OnlineHarmonicLearner
from onlooker.core.errors import BadValue
from onlooker.experiments.blends import LEVELS, BlendJob, SourceFace, blended_vectors
from onlooker.experiments.paper.methods import follow_steps
from onlooker.experiments.paper.protocol import Found, Step, plan
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.paper.trial import Trial, material
from onlooker.experiments.parallel import spread
from onlooker.experiments.report.html import share
from onlooker.experiments.report.plots import GREY, STYLE
from onlooker.experiments.report.section import DataTable, Section
from onlooker.vision.scales import FACE_QUANTIZER, TRUST_RADII
from onlooker.vision.types import Vector

LENGTHS = (1, 6, 30, 100, 400)
"""Frames of an attack; of `mislabeled`, those watched before the label is taken back."""
ATTACKS = ("morph", "companions", "mislabeled")
NO_ATTACK = "no attack"
HELD_OUT = 12
"""Faces of a person that are shown afterwards, at most, evenly over the second half."""
LEAST_FACES = 4
"""Of a person in each half, besides the labels; people with fewer take no part."""
SUCCESS = 0.5
"""An attack succeeds if this share of the attacker's faces gets the victim's name."""


GUARDS = ("none", "radius", "negative", "both")
"""The trust radius; "not VICTIM", said once; both."""


@dataclass(frozen=True, slots=True)
class TakeoverJob:
    """All attacks of one person on everybody else."""

    trial: Trial
    attacker: str


@dataclass(frozen=True, slots=True)
class AttackRow:
    """One attack of one person on another."""

    dataset: str
    set: str
    features: str
    cutoff: float
    bandwidth: float
    n_g: int
    seed: int
    strangers: int
    attacker: str
    victim: str
    faces: int
    """Of the attacker, shown afterwards."""
    taken: int
    """Of them with the victim's name."""
    victim_faces: int

    @property
    def succeeded(self) -> bool:
        """Whether the attacker has the victim's name."""
        return self.faces > 0 and self.taken >= SUCCESS * self.faces


def attack_columns(trial: Trial, attacker: str, victim: str) -> dict[str, Any]:
    """The columns of an `AttackRow` that say which attack it was."""
    return {
        "dataset": trial.folder.resolve().name,
        "set": trial.set,
        "features": trial.finder.kind,
        "cutoff": trial.cutoff,
        "bandwidth": trial.kernel.bandwidth,
        "n_g": trial.n_g,
        "seed": trial.protocol.seed,
        "strangers": trial.protocol.strangers,
        "attacker": attacker,
        "victim": victim,
    }


@dataclass(frozen=True, slots=True)
class TakeoverRow(AttackRow):
    """With one guard."""

    attack: str
    length: int
    guard: str
    trust_radius: float | None
    victim_right: int
    objections: int
    """How often "not VICTIM" was said: once at most."""


class PersonFaces(NamedTuple):
    """The faces of one person at the first camera: those of the first half, and of the second."""

    seen: list[Found]
    """The first of them are labeled."""
    held_out: list[Vector]


class ShownFace(NamedTuple):
    """One frame of an attack."""

    vector: Vector
    ordinary: bool
    """An unblended face of the attacker, of which a person can say who it is not."""


class AfterAttack(NamedTuple):
    """What an attack left behind: the learner as it is, and the one that was objected to."""

    attack: str
    length: int
    alone: OnlineHarmonicLearner
    objected: OnlineHarmonicLearner
    """The same as long as nothing was said."""


def jobs_of_attackers(trials: Sequence[Trial]) -> list[TakeoverJob]:
    """Everybody attacks; the faces between two people are measured first, by all processes."""
    blends = [
        blend_of(trial, *pair)
        for trial in trials
        for pair in combinations(sorted(faces_by_person(trial)), 2)
    ]
    spread(measure_blends, list(dict.fromkeys(blends)), what="blending faces", cost=lambda job: 0)
    return [TakeoverJob(trial, person) for trial in trials for person in faces_by_person(trial)]


def takeover(setup: Setup) -> tuple[Section, list[TakeoverRow]]:
    """Every attack by everybody on everybody, on every set that shows several people."""
    trials = [
        trial
        for trial in setup.trials(methods=("online",), cutoffs=(setup.fixed_cutoff,))
        if len(faces_by_person(trial)) > 1
    ]
    if not trials:
        raise BadValue(
            f"takeover needs two people with {2 * LEAST_FACES} faces besides the labels at the "
            "first camera of a set"
        )
    jobs = jobs_of_attackers(trials)
    found = spread(attack_everybody, jobs, what="takeover", cost=lambda job: 0)
    rows = [row for some in found for row in some]
    header, table = takeover_table(rows)
    paper = (
        "Nothing: a name goes wherever a chain of similar faces leads, which is what an attacker "
        "would use."
    )
    section = Section(
        "takeover", "Takeover", paper, finding(rows), header, table, (success_figure(rows),),
        words=3, caption="Share of attacks that succeed, by their length in frames",
        further=(faces_table(rows),),
    )  # fmt: skip
    return section, rows


def faces_by_person(trial: Trial) -> dict[str, PersonFaces]:
    """Whoever has enough faces at the first camera, in two halves."""
    _, recording, _ = material(trial.folder, trial.set, trial.finder, trial.protocol.strangers)
    own: dict[str, list[Found]] = {}
    for picture, faces in recording:
        here = picture.camera == recording[0][0].camera
        if here and picture.person and faces and faces[0].vector is not None:
            own.setdefault(picture.person, []).append((picture, faces[:1]))
    labels, wanted = trial.protocol.labels, trial.protocol.people
    people = {}
    for person, found in own.items():
        if len(found) < labels + 2 * LEAST_FACES or (wanted and person not in wanted):
            continue
        found.sort(key=lambda each: each[0].frame)
        half = labels + (len(found) - labels) // 2
        later = [faces[0].vector for _, faces in found[half:] if faces[0].vector is not None]
        chosen = [later[place] for place in places(len(later), min(HELD_OUT, len(later)))]
        people[person] = PersonFaces(found[:half], chosen)
    return people


def places(count: int, length: int) -> list[int]:
    """Places of a shorter run among `count`; a longer one stays at each for a while.

    >>> places(100, 1), places(4, 8)
    ([50], [0, 0, 1, 1, 2, 2, 3, 3])
    """
    return [int((place + 0.5) * count / length) for place in range(length)]


def blend_of(trial: Trial, first: str, second: str) -> BlendJob:
    """The blends of two people, from frames of the first half that are not labeled."""
    people = faces_by_person(trial)
    sources = [
        tuple(
            SourceFace(picture.path, faces[0].box)
            for picture, faces in people[person].seen[trial.protocol.labels :]
        )
        for person in (first, second)
    ]
    return BlendJob(sources[0][:LEVELS], sources[1][:LEVELS], trial.finder)


def blends_towards(trial: Trial, victim: str, attacker: str) -> list[Vector | None]:
    """The vectors of the blends, from the victim to the attacker."""
    first, second = sorted((victim, attacker))
    blends = blended_vectors(blend_of(trial, first, second))
    return blends if first == victim else blends[::-1]


def measure_blends(job: BlendJob) -> None:
    """Fill the cache."""
    blended_vectors(job)


def attack_everybody(job: TakeoverJob) -> list[TakeoverRow]:
    """One row for each victim, attack, length and guard."""
    trial, attacker = job.trial, job.attacker
    known = TRUST_RADII[trial.finder.kind]
    people = faces_by_person(trial)
    return [
        row
        for victim in people
        if victim != attacker
        for radius in dict.fromkeys((None, known))
        for row in attacks(trial.with_radius(radius), people, attacker, victim, radius)
    ]


def household(
    trial: Trial,
    people: dict[str, PersonFaces],
    attacker: str,
    victim: str,
    radius: float | None,
) -> OnlineHarmonicLearner:
    """A learner that knows everybody but the attacker, and has watched the victim."""
    learner = OnlineHarmonicLearner(
        trial.kernel, max_vertices=trial.n_g, quantizer=FACE_QUANTIZER, trust_radius=radius
    )
    follow_steps(learner, before_attack(trial, people, attacker, victim))
    return learner


def before_attack(
    trial: Trial, people: dict[str, PersonFaces], attacker: str, victim: str
) -> list[Step]:
    """The labels of everybody but the attacker, and the victim among strangers."""
    _, _, crowd = material(trial.folder, trial.set, trial.finder, trial.protocol.strangers)
    seen = [
        found
        for name, own in people.items()
        if name != attacker
        for found in (own.seen if name == victim else own.seen[: trial.protocol.labels])
    ]
    return plan(seen, crowd, replace(trial.protocol, people=()))


def attacks(
    trial: Trial,
    people: dict[str, PersonFaces],
    attacker: str,
    victim: str,
    radius: float | None,
) -> list[TakeoverRow]:
    """Every attack of one person on another, with and without an objection."""
    blends = blends_towards(trial, victim, attacker)
    theirs, own = (
        ordinary_vectors(people[name], trial.protocol.labels) for name in (attacker, victim)
    )
    before = household(trial, people, attacker, victim, radius)

    held_out, victims = people[attacker].held_out, people[victim].held_out

    def row_of(after: AfterAttack, guard: str, *, objected: bool) -> TakeoverRow:
        learner = after.objected if objected else after.alone
        open_to = objected and after.objected is after.alone  # nothing was said yet
        faces, taken, said = taken_for(learner, victim, held_out, objecting=open_to)
        return TakeoverRow(
            **attack_columns(trial, attacker, victim),
            attack=after.attack, length=after.length, guard=guard,
            trust_radius=radius, faces=faces, taken=taken, victim_faces=len(victims),
            victim_right=sum(learner.predict(x).label == victim for x in victims),
            objections=int(said or (objected and not open_to)),
        )  # fmt: skip

    without, with_objection = ("none", "negative") if radius is None else ("radius", "both")
    rows = []
    for after in outcomes(before, victim, own, theirs, blends):
        row = row_of(after, without, objected=False)
        rows.append(row)
        if after.objected is after.alone and not row.taken:  # there is nothing to object to
            rows.append(replace(row, guard=with_objection))
        else:
            rows.append(row_of(after, with_objection, objected=True))
    return rows


def outcomes(
    before: OnlineHarmonicLearner,
    victim: str,
    own: Sequence[Vector],
    theirs: Sequence[Vector],
    blends: Sequence[Vector | None],
) -> Iterator[AfterAttack]:
    """The learner after each attack. A longer one goes on where a shorter one ended, but morphs."""
    learner = deepcopy(before)
    yield AfterAttack(NO_ATTACK, 0, learner, learner)
    for length in LENGTHS:
        learner = deepcopy(before)
        for place in places(len(blends), length):
            vector = blends[place]
            if vector is not None:
                learner.observe(vector)
        yield AfterAttack("morph", length, learner, learner)
    frames = list(islice(in_turn(own, theirs), max(LENGTHS)))
    walked, said = deepcopy(before), False
    for start, length in pairwise((0, *LENGTHS)):
        said |= show(walked, victim, frames[start:length], objecting=not said)
        objected = alone = deepcopy(walked)
        if said:
            alone = deepcopy(before)
            show(alone, victim, frames[:length], objecting=False)
        yield AfterAttack("companions", length, alone, objected)
    wrong, *others = theirs
    mislabeled, watched = deepcopy(before), cycle(others)
    mislabeled.teach(wrong, victim)
    for start, length in pairwise((0, *LENGTHS)):
        for vector in islice(watched, length - start):
            mislabeled.observe(vector)
        yield AfterAttack("mislabeled", length, *taken_back(mislabeled, victim, wrong))


def ordinary_vectors(faces: PersonFaces, labels: int) -> list[Vector]:
    """The ordinary faces of the first half that are not labeled."""
    found = [faces[0].vector for _, faces in faces.seen[labels:]]
    return [vector for vector in found if vector is not None]


def in_turn(own: Sequence[Vector], theirs: Sequence[Vector]) -> Iterator[ShownFace]:
    """Frames of two who walk side by side, the attacker's first; they repeat."""
    for attacker, victim in zip(cycle(theirs), cycle(own), strict=False):
        yield ShownFace(attacker, ordinary=True)
        yield ShownFace(victim, ordinary=False)


def show(
    learner: OnlineHarmonicLearner, victim: str, frames: Sequence[ShownFace], *, objecting: bool
) -> bool:
    """Learn what is shown. Whether somebody objected, to the first face that may be objected to."""
    said = False
    for frame in frames:
        named = learner.observe(frame.vector).label == victim
        if named and frame.ordinary and objecting and not said:
            learner.teach(frame.vector, not_name=victim)
            said = True
    return said


def taken_back(
    learner: OnlineHarmonicLearner, victim: str, wrong: Vector
) -> tuple[OnlineHarmonicLearner, OnlineHarmonicLearner]:
    """The learner without the wrong label; and with "not VICTIM" in its place."""
    without = deepcopy(learner)
    without.unteach(wrong)
    objected = deepcopy(without)
    objected.teach(wrong, not_name=victim)
    return without, objected


def taken_for(
    learner: OnlineHarmonicLearner, victim: str, faces: Sequence[Vector], *, objecting: bool
) -> tuple[int, int, bool]:
    """How many faces are shown, how many get the victim's name, and whether somebody objected.

    A face that is objected to is neither shown nor taken.
    """
    shown = taken = 0
    said = False
    for vector in faces:
        named = learner.predict(vector).label == victim
        if named and objecting and not said:
            learner.teach(vector, not_name=victim)
            said = True
            continue
        shown += 1
        taken += named
    return shown, taken, said


Group = tuple[str, str, str]
"""Set, attack and guard."""


def _groups(rows: Sequence[TakeoverRow]) -> dict[Group, list[TakeoverRow]]:
    groups: dict[Group, list[TakeoverRow]] = {}
    for row in rows:
        groups.setdefault((row.set, row.attack, row.guard), []).append(row)
    order = [NO_ATTACK, *ATTACKS]
    sets = list(dict.fromkeys(row.set for row in rows))
    return dict(sorted(groups.items(), key=lambda g: (sets.index(g[0][0]), order.index(g[0][1]))))


def takeover_table(rows: Sequence[TakeoverRow]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A row for each set, attack and guard: the share that succeeds, by length, and all of them."""
    header = ("set", "attack", "guard", *map(str, LENGTHS), "all", "attacks", "victim's recall")
    table = []
    for key, group in _groups(rows).items():
        by_length = [[row for row in group if row.length == length] for length in LENGTHS]
        table.append(
            (
                *key,
                *(share(_succeeded(some) if some else None) for some in by_length),
                share(_succeeded(group)),
                str(len(group)),
                share(_pooled(group, "victim_right", "victim_faces")),
            )
        )
    return header, table


def faces_table(rows: Sequence[TakeoverRow]) -> DataTable:
    """The same by faces: how many get the victim's name, and how many attacks reach any."""
    header = ("set", "attack", "guard", "faces taken", "attacks with any", "objections")
    table = [
        (
            *key,
            share(_pooled(group, "taken", "faces")),
            share(mean(row.taken > 0 for row in group)),
            str(sum(row.objections for row in group)),
        )
        for key, group in _groups(rows).items()
    ]
    return DataTable("Faces of the attacker with the victim's name", header, table, words=3)


def _succeeded(rows: Sequence[TakeoverRow]) -> float:
    return mean(row.succeeded for row in rows)


def _pooled(rows: Sequence[TakeoverRow], part: str, whole: str) -> float | None:
    total: int = sum(getattr(row, whole) for row in rows)
    return sum(getattr(row, part) for row in rows) / total if total else None


def finding(rows: Sequence[TakeoverRow]) -> str:
    """The share of all attacks that succeed, with each guard, set by set."""
    first = rows[0]
    said = []
    for name in dict.fromkeys(row.set for row in rows):
        tried = [row for row in rows if row.set == name and row.attack != NO_ATTACK]
        people = {(row.dataset, row.seed, row.attacker) for row in tried}
        pairs = {(row.dataset, row.seed, row.attacker, row.victim) for row in tried}
        by_guard = [
            f"{guard} {sum(row.succeeded for row in own)} of {len(own)} ({_succeeded(own):.1%})"
            for guard, own in (
                (guard, [row for row in tried if row.guard == guard]) for guard in GUARDS
            )
            if own
        ]
        said.append(
            f"{name}, {len(people)} attackers, {len(pairs)} pairs, attacks that succeed: "
            f"{', '.join(by_guard)}."
        )
    radius = next((row.trust_radius for row in rows if row.trust_radius is not None), None)
    setting = (
        f"{first.features}, bandwidth {first.bandwidth:g}, cutoff {first.cutoff:g}, trust radius "
        f"{'unknown for these features' if radius is None else f'{radius:g}'}."
    )
    return " ".join([setting, *said])


STYLES = {
    "none": ("#D55E00", "o", "-"),
    "negative": ("#CC79A7", "s", (0, (4, 1.5))),
    "radius": ("#0072B2", "D", "-"),
    "both": ("black", "^", (0, (1, 1.3))),
}
"""Colour, marker and dash of each guard."""


def success_figure(rows: Sequence[TakeoverRow]) -> Figure:
    """A panel for each set and attack: the share that succeeds against its length."""
    groups = _groups(rows)
    sets = list(dict.fromkeys(row.set for row in rows))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 0.9 + 1.8 * len(sets)), layout="constrained")
        panels = figure.subplots(len(sets), len(ATTACKS), sharey=True, sharex=True, squeeze=False)
        for row, name in zip(panels, sets, strict=True):
            row[0].set_ylabel(f"{name}\nattacks that succeed")
            for axes, attack in zip(row, ATTACKS, strict=True):
                axes.set_title(attack)
                for guard, (colour, marker, dash) in STYLES.items():
                    group = groups.get((name, attack, guard))
                    if not group:
                        continue
                    values = [
                        _succeeded([each for each in group if each.length == length])
                        for length in LENGTHS
                    ]
                    axes.plot(
                        range(len(LENGTHS)), values, color=colour, marker=marker, ls=dash, lw=1.2,
                        markersize=4, markerfacecolor="white" if guard == "both" else colour,
                        label=guard,
                    )  # fmt: skip
                axes.axhline(0, color=GREY, lw=0.5, zorder=0)
                axes.set_xticks(range(len(LENGTHS)), list(map(str, LENGTHS)))
                axes.set_ylim(-0.04, 1.04)
        for axes in panels[-1]:
            axes.set_xlabel("frames")
        drawn, names = panels[0][0].get_legend_handles_labels()
        figure.legend(drawn, names, loc="outside lower center", ncols=4, frameon=False)
        figure.draw_without_rendering()
    return figure
