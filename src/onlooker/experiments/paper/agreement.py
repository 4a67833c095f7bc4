"""Does the manifold-regularised SVM say what we say when its graph term dominates (Section 5.1)?

The paper: online manifold regularisation "may produce the same result when parameterized properly".
Both watch one stream; the weight of the SVM's graph term is raised, and we count how often the two
answers are the same.
"""

from collections.abc import Sequence

from onlooker import OnlineHarmonicLearner
from onlooker.baselines.manifold_svm import OnlineManifoldSVM
from onlooker.experiments.paper.methods import FaceNames, follow, nothing
from onlooker.experiments.paper.protocol import Step, plan
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.paper.trial import Trial, TrialRow, judge, material
from onlooker.experiments.parallel import spread
from onlooker.experiments.report.html import share
from onlooker.experiments.report.section import Section

WEIGHTS = (0.0, 0.1, 1.0, 10.0, 100.0, 1000.0)
CUTOFF = 1e-8
Job = tuple[Trial, float | None]


def agreement(setup: Setup) -> tuple[Section, list[TrialRow]]:
    """The first camera of the first set, its first order, one cutoff."""
    trial = setup.trials(methods=("manifold-svm",), cutoffs=(CUTOFF,), names=setup.names[:1])[0]
    jobs: list[Job] = [(trial, weight) for weight in (None, *WEIGHTS)]
    ours, *theirs = spread(answers, jobs, what="manifold", cost=lambda job: job[1] is not None)
    steps = _steps(trial)
    table = [("ours", "–", "–", *_judged(steps, ours))]
    same = {}
    for weight, said in zip(WEIGHTS, theirs, strict=True):
        pairs = [
            (mine, its)
            for step, mine, its in zip(steps, ours, said, strict=True)
            if mine and step.camera == steps[0].camera
        ]
        same[weight] = sum(mine == its for mine, its in pairs) / len(pairs)
        table.append(("manifold-svm", f"{weight:g}", share(same[weight]), *_judged(steps, said)))
    best = max(WEIGHTS, key=same.__getitem__)
    found = (
        f"On {trial.set}, {steps[0].camera}, at cutoff {CUTOFF:g}, the answers agree on "
        f"{same[0.0]:.1%} of the frames without the graph term, on {same[best]:.1%} with a weight "
        f"of {best:g}, the best tried, and on {same[WEIGHTS[-1]]:.1%} with {WEIGHTS[-1]:g}."
    )
    paper = (
        "Online manifold regularisation of SVMs may produce the same result when parameterized "
        "properly (5.1)."
    )
    header = ("method", "graph weight", "same answer", "precision", "recall")
    return Section("manifold", "Manifold regularisation", paper, found, header, table), []


def answers(job: Job) -> list[FaceNames]:
    """What the learner says of every step, or the SVM with a weight of its graph term."""
    trial, weight = job
    learner = (
        OnlineHarmonicLearner(trial.kernel, max_vertices=trial.n_g)
        if weight is None
        else OnlineManifoldSVM(trial.kernel, buffer=trial.n_g, graph_weight=weight, normalise=True)
    )
    return follow(learner, _steps(trial), nothing)[0]


def _steps(trial: Trial) -> list[Step]:
    _, recording, crowd = material(trial.folder, trial.set, trial.finder, trial.protocol.strangers)
    return plan(recording, crowd, trial.protocol)


def _judged(steps: Sequence[Step], said: Sequence[FaceNames]) -> tuple[str, str]:
    """Precision and recall at the first camera."""
    score = next(iter(judge(steps, said).values()))
    return share(score.precision), share(score.recall)
