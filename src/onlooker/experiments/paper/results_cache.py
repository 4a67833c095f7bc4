"""A cache on disk of the rows of trials, so that an interrupted sweep continues.

A file is named after everything that its rows depend on: the trial, the dataset, and the code.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

import onlooker
from onlooker.core.files import replace_file
from onlooker.experiments.datasets.manifest import read_dataset
from onlooker.experiments.paper.trial import Trial, TrialRow, run
from onlooker.experiments.parallel import spread
from onlooker.vision.models import cache_folder

UNUSED = ("cli", "web", "cluster", "alerts", "strangers", "home", "recognition", "compat")
"""Parts of the package that no row depends on."""


def rows_of(trials: Sequence[Trial], *, what: str) -> list[TrialRow]:
    """The rows of all trials in order; those that are missing are computed on all cores."""
    todo = [trial for trial in dict.fromkeys(trials) if not cache_file(trial).exists()]
    if todo:
        cache_file(todo[0]).parent.mkdir(parents=True, exist_ok=True)
        spread(run_and_store, todo, what=what, cost=lambda trial: trial.n_g - trial.cutoff)
    return [
        TrialRow(**row)
        for trial in trials
        for row in json.loads(cache_file(trial).read_text("utf-8"))
    ]


def run_and_store(trial: Trial) -> None:
    """Compute the rows of one trial and write them as a whole."""
    text = json.dumps([asdict(row) for row in run(trial)])
    replace_file(cache_file(trial), text.encode())


def cache_file(trial: Trial) -> Path:
    """The file of the rows of a trial, whether it exists or not."""
    settings = asdict(trial)
    settings["folder"] = _digest(trial.folder)
    settings["finder"] = trial.finder.tag
    text = json.dumps([fingerprint(), settings], sort_keys=True)
    return cache_folder().parent / "rows" / f"{hashlib.sha256(text.encode()).hexdigest()}.json"


@cache
def fingerprint() -> str:
    """A digest of all code that rows depend on: they are computed again when it changes."""
    package = Path(onlooker.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        if file.relative_to(package).parts[0] not in UNUSED:
            digest.update(file.read_bytes())
    return digest.hexdigest()


@cache
def _digest(folder: Path) -> str:
    return read_dataset(folder).digest
