"""One stream dealt to sites, learned, merged, and asked about: the rows of a job.

Nobody learns after the merge; everybody names the frames that were held out.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from onlooker import ClosestPair, Doubling, OnlineHarmonicLearner
from onlooker.core.union import union
from onlooker.experiments.merging.sites import (
    MERGES,
    UNIONS,
    Named,
    answers,
    dealt,
    judged,
    learned,
    recall_at,
)
from onlooker.experiments.paper.protocol import Step, plan
from onlooker.experiments.paper.trial import Trial, material

LEARNED = 0.75
"""The share of a stream that is learned from; the rest is held out."""
NAMED_AT_MOST = 300
"""At most so many held-out frames are named, spread evenly: large views answer slowly."""
PRECISION = 0.995
ONE, SMALL = "one learner", "in one budget"
QUANTIZERS: dict[str, ClosestPair | Doubling] = {
    "online": ClosestPair(),
    "online-doubling": Doubling(),
}


@dataclass(frozen=True, slots=True)
class MergingJob:
    """One stream, dealt in one way."""

    trial: Trial
    deal: str


@dataclass(frozen=True, slots=True)
class MergingRow:
    """One learner on what was held out: the one that saw everything, or a merged view."""

    dataset: str
    set: str
    camera: str
    features: str
    method: str
    """online or online-doubling."""
    deal: str
    learner: str
    """The one learner, or the order in which sites were united, or merged in its budget."""
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
    """What its vertices stand for."""
    frames: int
    """Held out, with a face."""
    precision: float | None
    recall: float | None
    careful_recall: float
    """The most recall at PRECISION or better, over all values of min_score."""


def measure(job: MergingJob) -> list[MergingRow]:
    """The one learner; unions in three orders, one of them shrunk; plain merges in its budget."""
    trial = job.trial
    dataset, steps = first_camera(trial)
    begun = int(LEARNED * len(steps))
    held_out = steps[begun :: -(-(len(steps) - begun) // NAMED_AT_MOST)]

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
        if _digest(learner) not in said:  # orders often agree, and large views answer slowly
            said[_digest(learner)] = answers(learner, held_out)
    return [
        _row(job, dataset, which, learner, held_out[0].camera, said[_digest(learner)])
        for which, learner in learners.items()
    ]


def _digest(learner: OnlineHarmonicLearner) -> bytes:
    """The same for learners with the same vertices of the same ages, which answer alike."""
    state = learner.state()
    digest = hashlib.blake2b(repr((state.names, state.radius)).encode())
    for column in (state.ids, state.vectors, state.multiplicities, state.labels):
        digest.update(np.ascontiguousarray(column).data)
    return digest.digest()


def first_camera(trial: Trial) -> tuple[str, list[Step]]:
    """The dataset's name, and what is seen where the labels are given."""
    dataset, recording, crowd = material(
        trial.folder, trial.set, trial.finder, trial.protocol.strangers
    )
    here = [found for found in recording if found[0].camera == recording[0][0].camera]
    steps = plan(here, crowd, trial.protocol)
    if not trial.every_face:
        steps = [replace(step, faces=step.faces[:1]) for step in steps]
    return dataset, steps


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
