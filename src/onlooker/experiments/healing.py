"""Healing: after a takeover, how many clicks take it back, and what do they cost the victim?

A morph of 300 frames gives the victim's name to the attacker (see `takeover`; no guard), in a home.
Then the attacker walks by: whenever an ordinary face of theirs gets the victim's name, somebody
clicks "none of these is VICTIM": the group of that face goes. Afterwards other faces of both are
shown, without learning.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.paper.trial import Trial
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
from onlooker.vision.types import Vector

FRAMES = 300
"""Of the morph."""
WALK = 60
"""Ordinary frames of the attacker afterwards, at most."""


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
    right_before: int
    """The victim's faces with the right name before the attack."""
    right_after: int
    """After the clicks."""
    labels_lost: int


def takeover_and_healing(setup: Setup) -> tuple[Section, list[Any]]:
    """The section of `takeover`, with a table of healing."""
    section, rows = takeover(setup)
    jobs = [
        HealingJob(trial, attacker, victim)
        for trial in setup.trials(methods=("online",), cutoffs=(setup.fixed_cutoff,))
        for attacker in faces_by_person(trial)
        for victim in faces_by_person(trial)
        if victim != attacker
    ]
    healed = spread(heal, jobs, what="healing", cost=lambda job: 0)
    further = (*section.further, healing_table(healed))
    return replace(section, further=further), [*rows, *healed]


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
        "attacker's faces named", "victim's recall before", "after", "labels lost",
    )  # fmt: skip
    table = []
    for name in dict.fromkeys(row.set for row in rows):
        tried = [row for row in rows if row.set == name]
        own = [row for row in tried if row.succeeded]
        cells = ("-",) * 7
        if own:
            right = sum(row.victim_faces for row in own) or 1
            cells = (
                f"{sum(row.clicks for row in own) / len(own):.2f}",
                str(max(row.clicks for row in own)),
                f"{sum(row.removed for row in own) / len(own):.0f}",
                f"{sum(row.named for row in own)} of {sum(row.faces for row in own)}",
                share(sum(row.right_before for row in own) / right),
                share(sum(row.right_after for row in own) / right),
                str(sum(row.labels_lost for row in own)),
            )
        table.append((name, str(len(tried)), str(len(own)), *cells))
    title = f"Healing after a morph of {FRAMES} frames, no guard, by clicks on the whole group"
    return DataTable(title, header, table, words=1)
