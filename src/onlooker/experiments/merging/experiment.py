"""Sites merged against one learner that saw everything, on faces (docs/merging.md).

Recalls are compared at the same precision, each learner with the `min_score` and the cutoff that
suit it best.
"""

from collections.abc import Iterable, Sequence
from statistics import mean

from onlooker.experiments.merging.jobs import (
    ONE,
    PRECISION,
    QUANTIZERS,
    SMALL,
    MergingJob,
    MergingRow,
    measure,
)
from onlooker.experiments.merging.plot import RecallPoint, recall_over_cutoffs
from onlooker.experiments.merging.sites import DEALS, MERGES, SITES, UNIONS
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.parallel import spread
from onlooker.experiments.report.html import share
from onlooker.experiments.report.section import Section

Scene = tuple[str, str, str, str]


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


def by_scene(rows: Iterable[MergingRow]) -> dict[Scene, list[MergingRow]]:
    """The rows that are compared with each other: of one set, camera, method and deal."""
    scenes: dict[Scene, list[MergingRow]] = {}
    for row in rows:
        scenes.setdefault((row.set, row.camera, row.method, row.deal), []).append(row)
    return scenes


def best(rows: Iterable[MergingRow], learner: str) -> tuple[float, float]:
    """Recall and cutoff of a learner where its mean over the seeds is best; tight ones first."""
    found: dict[float, list[float]] = {}
    for row in rows:
        if row.learner == learner:
            found.setdefault(row.cutoff, []).append(row.careful_recall)
    return max((mean(recalls), cutoff) for cutoff, recalls in found.items())


def compared(rows: Sequence[MergingRow]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A line a scene and learner, with what it lacks to the one that saw everything."""
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
    """For the figure."""
    return [
        RecallPoint(f"{row.set}, {row.camera}\n{row.method}, {row.deal}", row.learner, row.cutoff,
              row.careful_recall)
        for row in rows
    ]  # fmt: skip


def finding(rows: Sequence[MergingRow]) -> str:
    """The two promises: against one learner, and between orders; and what plain merging does."""
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
    """Points between the best and the worst order, in the scene where they differ most."""
    recalls = [[best(some, order)[0] for order in orders] for some in scenes]
    return 100 * max(max(some) - min(some) for some in recalls)


def _gaps(rows: Sequence[MergingRow], learner: str) -> list[float]:
    """Against the one learner at the same cutoff, mean over the seeds."""
    gaps: dict[float, list[float]] = {}
    whole = {(row.cutoff, row.seed): row.careful_recall for row in rows if row.learner == ONE}
    for row in rows:
        if row.learner == learner:
            gap = row.careful_recall - whole[row.cutoff, row.seed]
            gaps.setdefault(row.cutoff, []).append(gap)
    return [mean(some) for some in gaps.values()]


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f}"
