"""Healing: after a takeover or a wrong name, what do clicks take back, and what do they cost?

A morph of 300 frames gives the victim's name to the attacker (see `takeover`; no guard), in a home.
Then the attacker walks by: whenever an ordinary face of theirs gets the victim's name, somebody
clicks "none of these is VICTIM": the group of that face goes. Afterwards other faces of both are
shown, without learning.

Nobody need attack for a stranger to get a name: a cutoff that is too loose is enough. So streams
are watched at looser cutoffs with everybody labeled but one person, and with one person alone. At
the first face of somebody unlabeled that gets a name, "not NAME" is said of it once, and the faces
of that stranger's card go with it, as on the page. What are the stranger's later frames called, and
what does the named person lose against the same stream without the objection?
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onlooker import OnlineHarmonicLearner
from onlooker.experiments.paper.methods import follow_steps
from onlooker.experiments.paper.protocol import Step, plan
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.paper.trial import Trial, material
from onlooker.experiments.parallel import spread
from onlooker.experiments.report.html import share
from onlooker.experiments.report.section import DataTable, Section
from onlooker.experiments.takeover import (
    AttackRow,
    attack_columns,
    blends_towards,
    faces_by_person,
    household,
    ordinary_vectors,
    places,
    takeover,
)
from onlooker.home.home import Home
from onlooker.strangers.book import StrangerBook
from onlooker.vision.scales import FACE_QUANTIZER
from onlooker.vision.types import Vector

FRAMES = 300
"""Of the morph."""
WALK = 60
"""Ordinary frames of the attacker afterwards, at most."""
LOOSER = (10, 50)
"""How many times looser the cutoffs are at which strangers are named; at the user's own none is."""


@dataclass(frozen=True, slots=True)
class HealingJob:
    """One person attacks another."""

    trial: Trial
    attacker: str
    victim: str


@dataclass(frozen=True, slots=True)
class HealingRow(AttackRow):
    """And what took it back; `taken` is counted before anybody clicked."""

    frames: int
    clicks: int
    removed: int
    """Stored faces that went with the clicks."""
    taken_out: int
    """Examples that were taken out of faces that stay."""
    named: int
    """The attacker's faces with any name after the clicks."""
    named_so: int
    """Of them with the victim's."""
    right_before: int
    """The victim's faces with the right name before the attack."""
    right_after: int
    """After the clicks."""
    labels_lost: int


def takeover_and_healing(setup: Setup) -> tuple[Section, list[Any]]:
    """The section of `takeover`, with tables of healing and of objections."""
    section, rows = takeover(setup)
    jobs = [
        HealingJob(trial, attacker, victim)
        for trial in setup.trials(methods=("online",), cutoffs=(setup.fixed_cutoff,))
        for attacker in faces_by_person(trial)
        for victim in faces_by_person(trial)
        if victim != attacker
    ]
    healed = spread(heal, jobs, what="healing", cost=lambda job: 0)
    found = spread(object_once, objection_jobs(setup), what="not NAME", cost=lambda job: 0)
    objected = [row for some in found for row in some]
    further = (*section.further, healing_table(healed), objection_table(objected))
    return replace(section, further=further), [*rows, *healed, *objected]


def heal(job: HealingJob) -> HealingRow:
    """Attack, click, and look."""
    trial, attacker, victim = job.trial, job.attacker, job.victim
    people = faces_by_person(trial)
    blends = blends_towards(trial, victim, attacker)
    theirs, own = people[attacker].held_out, people[victim].held_out
    before = household(trial, people, attacker, victim, None)
    with TemporaryDirectory() as folder:
        state = Path(folder, "state")
        before.save(state)
        home = Home(Path(folder, "home"), new_learner=before.empty_copy, adopt=state)
        with home, StrangerBook(home) as book:
            with home.batch():
                for number, place in enumerate(places(len(blends), FRAMES)):
                    vector = blends[place]
                    if vector is not None:
                        home.observe(vector, camera="door", frame=number)
            taken = sum(home.predict(x).label == victim for x in theirs)
            labels = home.vertices().names.count(victim)
            walked = ordinary_vectors(people[attacker], trial.protocol.labels)[:WALK]
            clicks, removed, taken_out = click(home, book, victim, walked)
            return HealingRow(
                **attack_columns(trial, attacker, victim), frames=FRAMES, faces=len(theirs),
                taken=taken, clicks=clicks, removed=removed, taken_out=taken_out,
                named=sum(home.predict(x).label is not None for x in theirs),
                named_so=sum(home.predict(x).label == victim for x in theirs),
                victim_faces=len(own),
                right_before=sum(before.predict(x).label == victim for x in own),
                right_after=sum(home.predict(x).label == victim for x in own),
                labels_lost=labels - home.vertices().names.count(victim),
            )  # fmt: skip


def click(
    home: Home, book: StrangerBook, victim: str, faces: Sequence[Vector]
) -> tuple[int, int, int]:
    """Show faces that are not the victim: clicks, stored faces removed, examples taken out."""
    clicks = removed = taken_out = 0
    for number, vector in enumerate(faces):
        seen = home.observe(vector, camera="door", frame=FRAMES + number)
        if seen.label != victim or seen.vertex is None:
            continue
        vertex, merged = seen.vertex, home.learner.changes().merged
        while vertex in merged:
            vertex = merged[vertex]
        correction = book.wrong(vertex, whole_group=True)
        clicks += 1
        removed += len(correction.vertices)
        taken_out += correction.taken_out
    return clicks, removed, taken_out


def healing_table(rows: Sequence[HealingRow]) -> DataTable:
    """A row for each set, of the attacks that succeeded."""
    header = (
        "set", "attacks", "succeeded", "clicks, mean", "clicks, most", "faces removed, mean",
        "attacker's faces named", "of them as the victim", "victim's recall before", "after",
        "labels lost",
    )  # fmt: skip
    table = []
    for name in dict.fromkeys(row.set for row in rows):
        tried = [row for row in rows if row.set == name]
        own = [row for row in tried if row.succeeded]
        cells = ("-",) * 8
        if own:
            right = sum(row.victim_faces for row in own) or 1
            cells = (
                f"{sum(row.clicks for row in own) / len(own):.2f}",
                str(max(row.clicks for row in own)),
                f"{sum(row.removed for row in own) / len(own):.0f}",
                f"{sum(row.named for row in own)} of {sum(row.faces for row in own)}",
                str(sum(row.named_so for row in own)),
                share(sum(row.right_before for row in own) / right),
                share(sum(row.right_after for row in own) / right),
                str(sum(row.labels_lost for row in own)),
            )
        table.append((name, str(len(tried)), str(len(own)), *cells))
    title = f"Healing after a morph of {FRAMES} frames, no guard, by clicks on the whole group"
    return DataTable(title, header, table, words=1)


# ---- one "not NAME"


@dataclass(frozen=True, slots=True)
class ObjectionJob:
    """A stream at a looser cutoff, and who is labeled in it."""

    trial: Trial
    looser: int
    labeled: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObjectionRow:
    """A stranger who got a name, and what one "not NAME" changed from then on."""

    dataset: str
    set: str
    features: str
    cutoff: float
    looser: int
    seed: int
    strangers: int
    labeled: str
    stranger: str
    name: str
    taught: int
    """Faces of the stranger that were said not to be this person, by the one objection."""
    later: int
    """Frames of the stranger afterwards, with a face that could be named."""
    named_without: int
    """Of them with any name, had nobody objected."""
    named_so: int
    """Of them with the name that was objected to."""
    named_others: int
    """Of them with other names."""
    known: int
    """Frames of the named person afterwards, with such a face and no label."""
    right_without: int
    right: int


def objection_jobs(setup: Setup) -> list[ObjectionJob]:
    """Everybody but one is labeled, and everybody alone, on every set that shows several people."""
    jobs = []
    for trial in setup.trials(methods=("online",), cutoffs=(setup.fixed_cutoff,)):
        people = tuple(faces_by_person(trial))
        all_but_one = [tuple(other for other in people if other != person) for person in people]
        alone = [(person,) for person in people]
        chosen = dict.fromkeys([*all_but_one, *alone]) if len(people) > 1 else {}
        jobs += [
            ObjectionJob(replace(trial, cutoff=trial.cutoff / looser), looser, labeled)
            for looser in LOOSER
            for labeled in chosen
        ]
    return jobs


def object_once(job: ObjectionJob) -> list[ObjectionRow]:
    """A row for each person who is not labeled and gets a name."""
    trial = job.trial
    name, recording, crowd = material(
        trial.folder, trial.set, trial.finder, trial.protocol.strangers
    )
    everybody = plan(recording, crowd, replace(trial.protocol, people=()))
    steps = [
        replace(step, faces=step.faces[:1], labeled=step.labeled and step.person in job.labeled)
        for step in everybody
    ]
    without = [names[0] if names else None for names in follow_steps(_new_learner(trial), steps)[0]]
    if not any(
        _objectionable(step, job.labeled, given) for step, given in zip(steps, without, strict=True)
    ):
        return []
    found, objections = _with_objections(trial, steps, job.labeled)
    rows = []
    for stranger, (at, said, taught) in objections.items():
        after = [
            place
            for place in range(at + 1, len(steps))
            if steps[place].faces and steps[place].faces[0] is not None and not steps[place].labeled
        ]
        theirs = [place for place in after if steps[place].person == stranger]
        own = [place for place in after if steps[place].person == said]
        if not theirs:
            continue
        rows.append(
            ObjectionRow(
                dataset=name, set=trial.set, features=trial.finder.kind, cutoff=trial.cutoff,
                looser=job.looser, seed=trial.protocol.seed, strangers=trial.protocol.strangers,
                labeled=",".join(job.labeled), stranger=stranger, name=said, taught=taught,
                later=len(theirs),
                named_without=sum(without[place] is not None for place in theirs),
                named_so=sum(found[place] == said for place in theirs),
                named_others=sum(found[place] not in (None, said) for place in theirs),
                known=len(own), right_without=sum(without[place] == said for place in own),
                right=sum(found[place] == said for place in own),
            )
        )  # fmt: skip
    return rows


def _new_learner(trial: Trial) -> OnlineHarmonicLearner:
    return OnlineHarmonicLearner(trial.kernel, max_vertices=trial.n_g, quantizer=FACE_QUANTIZER)


def _objectionable(step: Step, labeled: Iterable[str], given: str | None) -> bool:
    """Whether somebody who is not labeled was named."""
    return given is not None and step.person is not None and step.person not in labeled


Objections = dict[str, tuple[int, str, int]]
"""By stranger: at which step, the name, and of how many faces it was said."""


def _with_objections(
    trial: Trial, steps: Sequence[Step], labeled: tuple[str, ...]
) -> tuple[list[str | None], Objections]:
    """The names of a home in which everybody unlabeled is objected to once, at their first name."""
    found: list[str | None] = []
    objections: Objections = {}
    with (
        TemporaryDirectory() as folder,
        Home(folder, new_learner=lambda: _new_learner(trial)) as home,
        StrangerBook(home) as book,
    ):
        for at, step in enumerate(steps):
            vector = step.faces[0] if step.faces else None
            given = None
            if vector is not None and step.labeled and step.person is not None:
                home.teach(vector, step.person)
            elif vector is not None:
                given = home.observe(vector, camera=step.camera, frame=at).label
                if given is None:
                    book.observe(vector, camera=step.camera, frame=at)
            found.append(given)
            if vector is None or given is None or step.person is None:
                continue
            if step.person not in labeled and step.person not in objections:
                taught = book.exclude_face(vector, given)
                objections[step.person] = (at, given, taught)
    return found, objections


def objection_table(rows: Sequence[ObjectionRow]) -> DataTable:
    """A row for each stranger who was named, and all together."""
    header = (
        "set", "looser", "labeled", "stranger", "taken for", "faces said", "later frames",
        "named, no objection", "named so again", "named otherwise", "not named",
        "person's frames", "right, no objection", "right",
    )  # fmt: skip
    table = []
    for row in rows:
        named = row.named_so + row.named_others
        table.append(
            (
                row.set, f"{row.looser} times", row.labeled, row.stranger, row.name,
                str(row.taught), str(row.later), str(row.named_without), str(row.named_so),
                str(row.named_others), share(1 - named / row.later), str(row.known),
                str(row.right_without), str(row.right),
            )
        )  # fmt: skip
    title = (
        f'One "not NAME", said when a stranger is named for the first time: {_not_named(rows)}'
        if rows
        else 'One "not NAME": nobody who is not labeled was named, so there was nothing to say'
    )
    return DataTable(title, header, table, words=5)


def _not_named(rows: Sequence[ObjectionRow]) -> str:
    later, known = (sum(getattr(row, field) for row in rows) for field in ("later", "known"))
    so, others, right, without = (
        sum(getattr(row, field) for row in rows)
        for field in ("named_so", "named_others", "right", "right_without")
    )
    lost = f"{100 * (without - right) / known:.2f} points" if known else "nothing to lose"
    return (
        f"of {later} later frames {1 - (so + others) / later:.1%} get no name, "
        f"{1 - so / later:.1%} not that one; recall lost by the named person: {lost}"
    )
