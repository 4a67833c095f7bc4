"""What `onlooker reproduce` does, apart from the command: it needs the extra `experiments`."""

import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import scipy
from rich.console import Console

import onlooker
from onlooker.experiments import theory
from onlooker.experiments.page import document, paragraphs, table
from onlooker.experiments.reproduce import EXPERIMENTS
from onlooker.experiments.section import Section
from onlooker.experiments.setup import Setup

INTRODUCTION = """\
Every result of Section 4 of Kveton, Philipose, Valko and Huang, Online Semi-Supervised Perception:
Real-Time Learning without Explicit Feedback (2010), and the decomposition of its Section 3.2,
worked out again. V1, V2 and VO themselves were never published: these are other recordings or
simulated cameras, so the curves can be compared with the paper's, the numbers cannot.
"""


def work(wanted: Sequence[str], setup: Setup) -> tuple[list[Section], list[dict[str, Any]]]:
    """Every result that is wanted, shown as it comes; all rows as JSON has them."""
    console, sections, rows = Console(), [], []
    if any(each in EXPERIMENTS for each in wanted):
        setup.prepare()
    for each in wanted:
        if each in EXPERIMENTS:
            section, found = EXPERIMENTS[each](setup)
        else:
            section, found = theory.EXPERIMENTS[each](max(setup.seeds, 10))
        section.show(console)
        sections.append(section)
        # Of everything at once, the rows are those of faces, each once: results share trials.
        if each in EXPERIMENTS or len(wanted) == 1:
            rows += [row for row in map(asdict, found) if row not in rows]
    return sections, rows


def report(sections: list[Section], setup: Setup) -> str:
    """The report: sections, and what one needs to get the same again."""
    facts = {
        "command": " ".join(["onlooker", *sys.argv[1:]]),
        "data": "simulated cameras" if setup.data is None else setup.dataset.name,
        "features": setup.eyes.features.tag,
        "detector": f"{setup.eyes.detector}, {setup.eyes.size}",
        "seeds": f"0 to {setup.seeds - 1}",
        "versions": f"onlooker {onlooker.__version__}, numpy {np.__version__}, scipy "
        f"{scipy.__version__}, Python {platform.python_version()}",
    }
    parts = [paragraphs(INTRODUCTION), *(section.html() for section in sections)]
    made = table(("made with", ""), list(facts.items()), words=2)
    return document("Onlooker: the paper again", [*parts, "<h2>Parameters</h2>", made])
