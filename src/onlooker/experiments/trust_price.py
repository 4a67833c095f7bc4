"""What the trust radius costs: recall against the number of faces that somebody confirms.

A stream is watched with the radius on. Faces beyond it are withheld, with the name that the walk
gives as their candidate. At most once in 20 faces somebody is asked whether one of them is who
the walk says, and answers truly: yes teaches the name, no teaches "not NAME". Of
each person so many faces are confirmed at most. `best` asks what `OnlineHarmonicLearner.question`
returns; its rivals take the newest candidate (`newest`) or any (`random`), or do not wait until a
face is withheld: `early` takes the newest that is, or that has a name but is nearly as far from its
labels. `cards` asks as the page of a home does, about a stranger's card: a yes teaches the faces of
the card, up to four that differ, and the learned faces that are shown with it
(`onlooker.strangers.confirming`); whoever answers leaves out those that are somebody else. It has
the cutoff of a new home with a trust radius. The same is done with looser cutoffs, where without
the radius strangers are named.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any, Literal, NamedTuple

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from onlooker import OnlineHarmonicLearner
from onlooker.core.errors import BadValue
from onlooker.core.records import Prediction
from onlooker.evaluation import Score
from onlooker.experiments.paper.methods import FaceNames, follow_steps
from onlooker.experiments.paper.protocol import Step, plan
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.paper.trial import Trial, material, scores_by_camera
from onlooker.experiments.parallel import spread
from onlooker.experiments.report.html import share
from onlooker.experiments.report.plots import GREY, STYLE
from onlooker.experiments.report.section import DataTable, Section
from onlooker.strangers.confirming import faces_to_confirm
from onlooker.strangers.strangers import Strangers
from onlooker.vision.scales import FACE_QUANTIZER, TRUST_RADII, Scale, auto_radius
from onlooker.vision.types import Vector

Policy = Literal["best", "newest", "random", "early", "cards"]
CONFIRMED = (0, 1, 2, 5, 10, 20)
"""Faces of a person that are confirmed, at most."""
RIVALS_AT = (5, 10)
"""The rivals of the best question are tried with so many."""
EARLY = 0.98
"""Of the radius: beyond it a named face is a question, too, if questions are put early."""
EVERY = 20
"""Faces between two questions, at least."""
POOL = 100
"""Withheld faces that a question may be about: the newest."""
LOOSER = (5, 10, 50)
"""How many times smaller cutoffs are tried, with LOOSER_AT confirmed faces."""
LOOSER_AT = 10


@dataclass(frozen=True, slots=True)
class PriceJob:
    """One stream, with or without the radius, and what is confirmed."""

    trial: Trial
    radius: float | None
    confirmed: int
    policy: Policy = "best"


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One camera of one such stream."""

    dataset: str
    set: str
    camera: str
    people: str
    """Those who are labeled, where they were chosen."""
    features: str
    cutoff: float
    bandwidth: float
    n_g: int
    seed: int
    strangers: int
    trust_radius: float | None
    policy: str
    confirmed: int
    mean_recall: float | None
    """The mean over people."""
    recall: float | None
    precision: float | None
    strangers_named: int
    frames: int
    confirmations: int
    """Questions that were answered with yes, over all people and cameras."""
    faces_taught: int
    """By these answers: one by each, but by one about a card up to ten."""
    refusals: int
    """Questions that were answered with no."""


class WithheldFace(NamedTuple):
    """A face beyond the radius, or nearly (`early`): whose name the walk gives, and who it is."""

    vector: Vector
    candidate: str
    person: str | None


class QuestionedLearner:
    """A learner with the trust radius, and somebody who answers its questions truly."""

    def __init__(
        self, learner: OnlineHarmonicLearner, policy: Policy, most: int, seed: int = 0
    ) -> None:
        self.learner, self.policy, self.most = learner, policy, most
        self.confirmations, self.refusals, self.faces_taught = Counter[str](), 0, 0
        self._withheld: list[WithheldFace] = []
        self._rng = np.random.default_rng([seed, 2])
        self._newest: Any = None
        self._since = EVERY

    def teach(self, x: Any, name: str) -> None:
        """A labeled example."""
        self.learner.teach(x, name)

    def observe(self, x: Any) -> Prediction:
        """Name a face, and learn it unless it is beyond the radius."""
        self._newest = x
        return self.learner.observe(x)

    def note(self, prediction: Prediction, truth: str | None) -> None:
        """After every observe: store what was withheld, and ask if it is time."""
        self._store(prediction, truth)
        self._since += 1
        if self._since >= EVERY and self.most and self._ask():
            self._since = 0

    def _store(self, prediction: Prediction, truth: str | None) -> None:
        candidate = self._candidate(self._newest, prediction)
        if candidate is not None:
            self._withheld.append(WithheldFace(self._newest, candidate, truth))
            del self._withheld[:-POOL]

    def _ask(self) -> bool:
        """Put a question, if there is one, and learn from the answer."""
        face = self._chosen()
        if face is None:
            return False
        name = face.candidate
        self._teach(name, [face.vector], yes=face.person == name)
        withheld, self._withheld = self._withheld, []
        for each in withheld:  # what has a name by now, or no candidate, is no question any more
            candidate: str | None = each.candidate
            if candidate == name:
                candidate = self._candidate(each.vector, self.learner.predict(each.vector))
            if candidate is not None:
                self._withheld.append(each._replace(candidate=candidate))
        return True

    def _teach(self, name: str, faces: Sequence[Any], *, yes: bool) -> None:
        """Learn the answer to "is this NAME?" from the faces that it is about."""
        for face in faces:
            if yes:
                self.learner.teach(face, name)
            else:
                self.learner.teach(face, not_name=name)
        self.confirmations[name] += yes
        self.refusals += not yes
        self.faces_taught += len(faces) if yes else 0

    def _candidate(self, x: Any, prediction: Prediction) -> str | None:
        """Whose name is in question: the learner's candidate, or early the name itself."""
        name, radius = prediction.label, self.learner.trust_radius
        if name is None or radius is None or self.policy != "early":
            return prediction.candidate
        return name if self.learner.label_distance(x, name) > EARLY * radius else None

    def _chosen(self) -> WithheldFace | None:
        allowed = [each for each in self._withheld if self._may_confirm(each.candidate)]
        if not allowed:
            return None
        if self.policy == "random":
            return allowed[int(self._rng.integers(len(allowed)))]
        if self.policy in ("newest", "early"):
            return allowed[-1]
        question = self.learner.question([each.vector for each in allowed])
        if question is None or question.row is None:
            return None
        return allowed[question.row]

    def _may_confirm(self, name: str) -> bool:
        return self.confirmations[name] < self.most


class CardLearner(QuestionedLearner):
    """The same, asked as the page of a home asks: about the cards of strangers."""

    def __init__(
        self, learner: OnlineHarmonicLearner, policy: Policy, most: int, seed: int = 0
    ) -> None:
        super().__init__(learner, policy, most, seed)
        self._strangers = Strangers(learner.kernel)
        self._people: dict[bytes, str | None] = {}
        self._frame = 0

    def _store(self, prediction: Prediction, truth: str | None) -> None:
        self._frame += 1
        self._people[_key(self._newest)] = truth
        if prediction.label is None:
            self._strangers.see(
                self._newest,
                time=float(self._frame),
                camera=None,
                frame=self._frame,
                candidate=prediction.candidate,
            )

    def _ask(self) -> bool:
        cards = [
            card
            for card in self._strangers.questions()
            if card.candidate is not None and self._may_confirm(card.candidate)
        ]
        if not cards:
            return False
        best = self.learner.question(
            [card.faces[0].vector for card in cards], [card.count for card in cards]
        )
        card = cards[best.row if best is not None and best.row is not None else 0]
        name = card.candidate or ""
        faces = [face.vector for face in card.faces]
        own = self._shown_of(name, faces)
        if own:  # a person leaves out the faces that are somebody else's
            self._teach(name, [*own, *self._shown_of(name, self._learned(name, faces))], yes=True)
            self._strangers.remove(card.number)
        else:
            self._teach(name, faces, yes=False)
            self._strangers.exclude(card.number, name)
        return True

    def _shown_of(self, name: str, faces: Sequence[Vector]) -> list[Vector]:
        """Those of the faces shown that are this person's."""
        return [face for face in faces if self._people.get(_key(face)) == name]

    def _learned(self, name: str, faces: Sequence[Vector]) -> list[Vector]:
        """The learned faces that are shown with a question."""
        learner, radius = self.learner, self.learner.trust_radius
        if radius is None:
            return []
        known, owners = learner.vertices(), learner.owners()
        chosen = faces_to_confirm(name, faces, known, owners, learner.kernel, radius)
        return [learner.vector(vertex) for vertex in chosen]


def _key(vector: Any) -> bytes:
    return np.asarray(vector, dtype=np.float64).tobytes()


def trust_price(setup: Setup) -> tuple[Section, list[PriceRow]]:
    """Recall against confirmed faces, and the radius beyond the cliff, on every set."""
    radius = TRUST_RADII[setup.finder.kind]
    if radius is None:
        raise BadValue(f"no trust radius is known for {setup.finder.kind}; see `calibrate`")
    jobs, fixed = [], setup.fixed_cutoff
    rivals: tuple[Policy, ...] = ("newest", "random", "early")
    for trial in setup.trials(methods=("online",), cutoffs=(fixed,)):
        jobs.append(PriceJob(trial, None, 0))
        jobs += [PriceJob(trial, radius, most) for most in CONFIRMED]
        jobs += [PriceJob(trial, radius, most, rival) for rival in rivals for most in RIVALS_AT]
        home = trial.with_radius(radius)
        jobs += [PriceJob(home, radius, most, "cards") for most in CONFIRMED]
        for factor in LOOSER:
            loose = replace(trial, cutoff=trial.cutoff / factor)
            guard = auto_radius(setup.finder.kind, Scale.of(loose.kernel))
            jobs += [PriceJob(loose, None, 0), PriceJob(loose, guard, LOOSER_AT)]
    found = spread(price_of, jobs, what="trust radius", cost=lambda job: -job.trial.cutoff)
    rows = [row for some in found for row in some]
    compared = [row for row in rows if row.cutoff == fixed or row.policy == "cards"]
    looser = DataTable(
        "Looser cutoffs",
        *price_table([row for row in rows if row.cutoff != fixed and row.policy != "cards"]),
        words=3,
    )
    paper = "Nothing: it has no bound on how far a name is carried."
    section = Section(
        "trust-price", "What the trust radius costs", paper, finding(rows, fixed),
        *price_table(compared), (price_figure(compared),), words=3,
        caption="At the cutoff of a home, which is smaller with the radius (cards) than without",
        further=(looser,),
    )  # fmt: skip
    return section, rows


def price_of(job: PriceJob) -> list[PriceRow]:
    """Watch one stream: a row for each camera."""
    trial = job.trial
    name, recording, crowd = material(
        trial.folder, trial.set, trial.finder, trial.protocol.strangers
    )
    steps = plan(recording, crowd, trial.protocol)
    if not trial.every_face:
        steps = [replace(step, faces=step.faces[:1]) for step in steps]
    learner = OnlineHarmonicLearner(
        trial.kernel, max_vertices=trial.n_g, quantizer=FACE_QUANTIZER, trust_radius=job.radius
    )
    kind = CardLearner if job.policy == "cards" else QuestionedLearner
    model = kind(learner, job.policy, job.confirmed, trial.protocol.seed)
    given, _ = follow_steps(model, steps, model.note)
    return [
        PriceRow(
            dataset=name, set=trial.set, camera=camera, people=",".join(trial.protocol.people),
            features=trial.finder.kind, cutoff=trial.cutoff, bandwidth=trial.kernel.bandwidth,
            n_g=trial.n_g, seed=trial.protocol.seed, strangers=trial.protocol.strangers,
            trust_radius=job.radius, policy=job.policy, confirmed=job.confirmed,
            mean_recall=mean_over_people(steps, given, camera), recall=score.recall,
            precision=score.precision, strangers_named=score.strangers_named, frames=score.frames,
            confirmations=model.confirmations.total(), refusals=model.refusals,
            faces_taught=model.faces_taught,
        )
        for camera, score in scores_by_camera(steps, given).items()
    ]  # fmt: skip


def mean_over_people(
    steps: Sequence[Step], given: Sequence[FaceNames], camera: str
) -> float | None:
    """The recall of each known person at a camera, and the mean of them."""
    scores: dict[str, Score] = {}
    for step, names in zip(steps, given, strict=True):
        if step.camera == camera and step.person is not None and names and not step.labeled:
            scores.setdefault(step.person, Score()).count(names, step.person)
    return mean(score.recall or 0.0 for score in scores.values()) if scores else None


Scene = tuple[str, str]
"""Set and camera."""


def _scenes(rows: Sequence[PriceRow]) -> dict[Scene, list[PriceRow]]:
    scenes: dict[Scene, list[PriceRow]] = {}
    for row in rows:
        scenes.setdefault((row.set, row.camera), []).append(row)
    return scenes


def price_table(rows: Sequence[PriceRow]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Means over the seeds, of each set and camera; strangers and answers are sums."""
    header = (
        "set", "camera", "question", "cutoff", "confirmed at most", "mean over people", "recall",
        "precision", "strangers named", "frames", "yes", "no", "faces taught",
    )  # fmt: skip
    groups: dict[tuple[str, str, str, float, int], list[PriceRow]] = {}
    for (name, camera), some in _scenes(rows).items():
        for row in some:
            policy = "no radius" if row.trust_radius is None else row.policy
            groups.setdefault((name, camera, policy, row.cutoff, row.confirmed), []).append(row)
    table = [
        (
            name,
            camera,
            policy,
            f"{cutoff:.2g}",
            "–" if policy == "no radius" else str(most),
            *(_mean(group, field) for field in ("mean_recall", "recall", "precision")),
            str(sum(row.strangers_named for row in group)),
            str(sum(row.frames for row in group)),
            str(sum(row.confirmations for row in group)),
            str(sum(row.refusals for row in group)),
            str(sum(row.faces_taught for row in group)),
        )
        for (name, camera, policy, cutoff, most), group in groups.items()
    ]
    return header, table


def _mean(rows: Sequence[PriceRow], field: str) -> str:
    return share(_mean_of(rows, field))


def _mean_of(rows: Sequence[PriceRow], field: str) -> float | None:
    values = [getattr(row, field) for row in rows]
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def finding(rows: Sequence[PriceRow], fixed: float) -> str:
    """The points lost with the radius, camera by camera, and what is named beyond the cliff."""
    radius = next(row.trust_radius for row in rows if row.trust_radius is not None)
    said = [f"Trust radius {radius:g}, {rows[0].features}, mean over people."]
    for (name, camera), some in _scenes(rows).items():
        own = [row for row in some if row.cutoff == fixed or row.policy == "cards"]
        without = _mean_of([row for row in own if row.trust_radius is None], "mean_recall")
        if without is None:
            continue
        faces, cards = (
            ", ".join(
                f"{most}: {_mean(_confirmed(own, most, policy), 'mean_recall')}"
                for most in dict.fromkeys(row.confirmed for row in own if row.policy == policy)
            )
            for policy in ("best", "cards")
        )
        named = sum(row.strangers_named for row in own if row.trust_radius is not None)
        loose = [row for row in some if row not in own]
        beyond = {
            guarded: sum(
                row.strangers_named for row in loose if (row.trust_radius is not None) == guarded
            )
            for guarded in (True, False)
        }
        said.append(
            f"{name} {camera}: {without:.3f} without the radius; with it, by answers about cards, "
            f"{cards}; by single faces confirmed, {faces}; strangers named {named}. At looser "
            f"cutoffs {beyond[True]} strangers named, {beyond[False]} without the radius."
        )
    return " ".join(said)


def _confirmed(rows: Sequence[PriceRow], most: int, policy: str) -> list[PriceRow]:
    return [
        row
        for row in rows
        if row.trust_radius is not None and (row.confirmed, row.policy) == (most, policy)
    ]


POLICY_STYLES: dict[Policy, tuple[str, str, str]] = {
    "best": ("#0072B2", "D", "-"),
    "newest": ("#D55E00", "s", ""),
    "random": ("black", "x", ""),
    "early": ("#009E73", "^", ""),
    "cards": ("#CC79A7", "v", "--"),
}
"""Colour, marker and dash."""


def price_figure(rows: Sequence[PriceRow]) -> Figure:
    """A panel for each camera: the mean recall against confirmed faces, and without the radius."""
    scenes = {scene: own for scene, own in _scenes(rows).items() if _mean_of(own, "mean_recall")}
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(2.4 * max(2, len(scenes)), 2.7), layout="constrained")
        panels = figure.subplots(1, max(1, len(scenes)), sharey=True, squeeze=False)[0]
        for axes, ((name, camera), own) in zip(panels, scenes.items(), strict=False):
            counts = sorted({row.confirmed for row in own})
            without = _mean_of([row for row in own if row.trust_radius is None], "mean_recall")
            if without is not None:
                axes.axhline(without, color=GREY, lw=0.9, ls=(0, (5, 2)), label="no radius")
            for policy, (colour, marker, dash) in POLICY_STYLES.items():
                points = [
                    (place, value)
                    for place, most in enumerate(counts)
                    if (value := _mean_of(_confirmed(own, most, policy), "mean_recall")) is not None
                ]
                if points:
                    axes.plot(
                        *zip(*points, strict=True), color=colour, marker=marker, ls=dash or "none",
                        lw=1.2, markersize=4, label=policy,
                    )  # fmt: skip
            axes.set_xticks(range(len(counts)), list(map(str, counts)))
            axes.set_title(f"{name}, {camera}")
            axes.set_xlabel("answers about a person, at most")
        panels[0].set_ylabel("recall, mean over people")
        panels[0].set_ylim(top=1.01)
        drawn, names = panels[0].get_legend_handles_labels()
        figure.legend(drawn, names, loc="outside lower center", ncols=4, frameon=False)
        figure.draw_without_rendering()
    return figure
