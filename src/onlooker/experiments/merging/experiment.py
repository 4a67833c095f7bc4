"""Sites merged against one learner that saw everything, on faces (docs/merging.md).

A job divides one stream among the sites; they learn, are merged, and name the frames that were held
out. Nobody learns after the merge. Recalls are compared at the same precision, each learner with
the `min_score` and the cutoff that suit it best.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np

from onlooker import ClosestPair, Doubling, OnlineHarmonicLearner
from onlooker.core.quantizer import Quantizer
from onlooker.core.union import union
from onlooker.experiments.merging.plot import RecallPoint, recall_over_cutoffs
from onlooker.experiments.merging.sites import (
    DEALS,
    MERGES,
    SITES,
    UNIONS,
    Named,
    answers,
    dealt,
    judged,
    learned,
    recall_at,
)
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.paper.trial import Trial, first_camera
from onlooker.experiments.parallel import spread
from onlooker.experiments.report.html import share
from onlooker.experiments.report.section import Section
from onlooker.vision.scales import FACE_QUANTIZER

Scene = tuple[str, str, str, str]
"""Set, camera, method and deal."""
LEARNED = 0.75
"""The share of a stream that is learned from; the rest is held out."""
NAMED_FRAMES = 300
"""The most held-out frames that are named, evenly spread: large learners answer slowly."""
PRECISION = 0.995
ONE, SMALL = "one learner", "in one budget"
QUANTIZERS: dict[str, Quantizer] = {
    "online": FACE_QUANTIZER,
    "online-closest": ClosestPair(),
    "online-doubling": Doubling(),
}


@dataclass(frozen=True, slots=True)
class MergingJob:
    """One stream, divided among the sites in one way."""

    trial: Trial
    deal: str


@dataclass(frozen=True, slots=True)
class MergingRow:
    """One learner on the held-out frames: the one that saw everything, or a merged one."""

    dataset: str
    set: str
    camera: str
    features: str
    method: str
    """online, online-closest or online-doubling."""
    deal: str
    learner: str
    """The one learner, or the order in which the sites were united, or merged in its budget."""
    cutoff: float
    bandwidth: float
    seed: int
    n_g: int
    """The budget of the one learner and of every site."""
    view: int
    """The budget of this learner."""
    labels: int
    vertices: int
    examples: int
    """The examples that its vertices represent."""
    frames: int
    """Held-out frames with a face."""
    precision: float | None
    recall: float | None
    careful_recall: float
    """The most recall with at least PRECISION, over all values of min_score."""


def merging(setup: Setup) -> tuple[Section, list[MergingRow]]:
    """Every set at its first camera, every cutoff, seed and deal."""
    methods = [method for method in QUANTIZERS if method in setup.methods] or ["online"]
    jobs = [MergingJob(trial, deal) for trial in setup.trials(methods=methods) for deal in DEALS]
    done = spread(measure, jobs, what="merging", cost=lambda job: -job.trial.cutoff)
    rows = [row for some in done for row in some]
    paper = (
        "One learner goes from camera to camera (4.1). Of several learners the paper says nothing."
    )
    header, table = compared(rows)
    return (
        Section(
            "merging", "Merging sites", paper, finding(rows), header, table,
            (recall_over_cutoffs(points(rows)),), words=4,
        ),
        rows,
    )  # fmt: skip


def measure(job: MergingJob) -> list[MergingRow]:
    """The one learner; unions in three orders, one of them shrunk; plain merges in its budget."""
    trial = job.trial
    dataset, steps = first_camera(trial)
    begun = int(LEARNED * len(steps))
    held_out = steps[begun :: -(-(len(steps) - begun) // NAMED_FRAMES)]

    def make() -> OnlineHarmonicLearner:
        return OnlineHarmonicLearner(
            trial.kernel, max_vertices=trial.n_g, quantizer=QUANTIZERS[trial.method]
        )

    one, *sites = learned(make, dealt(steps[:begun], job.deal))
    united = {order: unite(sites) for order, unite in UNIONS.items()}
    learners = {ONE: one.learner} | {order: whole.learner for order, whole in united.items()}
    learners[SMALL] = union([united["in order"]], max_vertices=trial.n_g).learner
    learners |= {order: merge(make, sites) for order, merge in MERGES.items()}
    said: dict[bytes, list[Named]] = {}
    for learner in learners.values():
        if _digest(learner) not in said:  # orders often agree, and large learners answer slowly
            said[_digest(learner)] = answers(learner, held_out)
    return [
        _row(job, dataset, which, learner, held_out[0].camera, said[_digest(learner)])
        for which, learner in learners.items()
    ]


def _digest(learner: OnlineHarmonicLearner) -> bytes:
    """Equal for learners with equal vertices in the same order, which give the same answers."""
    state = learner.state()
    digest = hashlib.blake2b(repr((state.names, state.radius)).encode())
    for column in (state.ids, state.vectors, state.multiplicities, state.labels):
        digest.update(np.ascontiguousarray(column).data)
    return digest.digest()


def _row(
    job: MergingJob,
    dataset: str,
    which: str,
    learner: OnlineHarmonicLearner,
    camera: str,
    said: Sequence[Named],
) -> MergingRow:
    trial, vertices, score = job.trial, learner.vertices(), judged(said)
    return MergingRow(
        dataset=dataset, set=trial.set, camera=camera, features=trial.finder.kind,
        method=trial.method, deal=job.deal, learner=which, cutoff=trial.cutoff,
        bandwidth=trial.kernel.bandwidth, seed=trial.protocol.seed, n_g=trial.n_g,
        view=learner.max_vertices, labels=len(vertices.ids) - vertices.names.count(None),
        vertices=len(vertices.ids), examples=int(vertices.multiplicities.sum()),
        frames=score.frames, precision=score.precision, recall=score.recall,
        careful_recall=recall_at(said, PRECISION),
    )  # fmt: skip


def by_scene(rows: Iterable[MergingRow]) -> dict[Scene, list[MergingRow]]:
    """The rows that are compared with each other: of one set, camera, method and deal."""
    scenes: dict[Scene, list[MergingRow]] = {}
    for row in rows:
        scenes.setdefault((row.set, row.camera, row.method, row.deal), []).append(row)
    return scenes


def best(rows: Iterable[MergingRow], learner: str) -> tuple[float, float]:
    """The best mean recall over the seeds, and its cutoff; the tighter one on a tie."""
    found: dict[float, list[float]] = {}
    for row in rows:
        if row.learner == learner:
            found.setdefault(row.cutoff, []).append(row.careful_recall)
    return max((mean(recalls), cutoff) for cutoff, recalls in found.items())


def compared(rows: Sequence[MergingRow]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A row for each scene and learner, with its difference to the one that saw everything."""
    header = (
        "set", "camera", "method", "sites", "learner", "n_g", "vertices", "cutoff",
        "recall", "against one", "least favourable",
    )  # fmt: skip
    table: list[tuple[str, ...]] = []
    for scene, some in by_scene(rows).items():
        whole, _ = best(some, ONE)
        for learner in dict.fromkeys(row.learner for row in some):
            own = [row for row in some if row.learner == learner]
            recall, cutoff = best(some, learner)
            size = mean(row.vertices for row in own if row.cutoff == cutoff)
            table.append(
                (*scene, learner, str(own[0].view), f"{size:.0f}", f"{cutoff:g}", share(recall),
                 _points(recall - whole), _points(min(_gaps(some, learner))))
            )  # fmt: skip
    return header, table


def points(rows: Iterable[MergingRow]) -> list[RecallPoint]:
    """The points of the figure."""
    return [
        RecallPoint(f"{row.set}, {row.camera}\n{row.method}, {row.deal}", row.learner, row.cutoff,
              row.careful_recall)
        for row in rows
    ]  # fmt: skip


def finding(rows: Sequence[MergingRow]) -> str:
    """The differences to one learner and between orders, for unions and for plain merging."""
    scenes = list(by_scene(rows).values())
    lacks = {
        learner: min(best(some, learner)[0] - best(some, ONE)[0] for some in scenes)
        for learner in (*UNIONS, SMALL, *MERGES)
    }
    said = ", ".join(f"{learner} {_points(value)}" for learner, value in lacks.items())
    return (
        f"{SITES} sites, recall at a precision of {PRECISION:g}, each learner at its best cutoff, "
        f"in points against the learner that saw everything, where it is worst: {said}. Between "
        f"the orders at most {_apart(scenes, UNIONS):.1f} points, merged plainly "
        f"{_apart(scenes, MERGES):.1f}."
    )


def _apart(scenes: Iterable[Sequence[MergingRow]], orders: Iterable[str]) -> float:
    """Percentage points between the best and the worst order, where they differ most."""
    recalls = [[best(some, order)[0] for order in orders] for some in scenes]
    return 100 * max(max(some) - min(some) for some in recalls)


def _gaps(rows: Sequence[MergingRow], learner: str) -> list[float]:
    """Differences to the one learner at the same cutoff, means over the seeds."""
    gaps: dict[float, list[float]] = {}
    whole = {(row.cutoff, row.seed): row.careful_recall for row in rows if row.learner == ONE}
    for row in rows:
        if row.learner == learner:
            gap = row.careful_recall - whole[row.cutoff, row.seed]
            gaps.setdefault(row.cutoff, []).append(gap)
    return [mean(some) for some in gaps.values()]


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f}"
