"""Runs of many seeds, summed up, and printed for people."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from rich import box
from rich.console import Console
from rich.table import Table

from onlooker.experiments.paper.stream import AccuracyRow


@dataclass(frozen=True, slots=True)
class AccuracySummary:
    """One method with one budget over all seeds: means, and the spread of the accuracy."""

    method: str
    n_g: int | None
    accuracy: float
    deviation: float | None
    """Standard deviation over the seeds (n - 1); None for a single seed."""
    abstained: float
    vertices: float
    ms_per_step: float


def summarise(rows: Sequence[AccuracyRow]) -> list[AccuracySummary]:
    """One summary per method and budget, in the order in which they first appear.

    >>> rows = [AccuracyRow("1-NN", None, seed, 0.8 + seed / 10, 0.0, 40, 0.1) for seed in (0, 1)]
    >>> [(round(each.accuracy, 2), round(each.deviation, 3)) for each in summarise(rows)]
    [(0.85, 0.071)]
    """
    groups: dict[tuple[str, int | None], list[AccuracyRow]] = {}
    for row in rows:
        groups.setdefault((row.method, row.n_g), []).append(row)
    return [
        AccuracySummary(
            method,
            n_g,
            accuracy=mean(row.accuracy for row in group),
            deviation=stdev(row.accuracy for row in group) if len(group) > 1 else None,
            abstained=mean(row.abstained for row in group),
            vertices=mean(row.vertices for row in group),
            ms_per_step=mean(row.ms_per_step for row in group),
        )
        for (method, n_g), group in groups.items()
    ]


def print_table(rows: Sequence[AccuracyRow]) -> None:
    """The summaries as a table on stdout."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method")
    for heading in ("n_g", "accuracy", "± sd", "nobody", "vertices", "ms/step"):
        table.add_column(heading, justify="right")
    previous = None
    for each in summarise(rows):
        if previous is not None and each.n_g is None and previous.n_g is not None:
            table.add_section()
        table.add_row(
            "" if previous is not None and each.method == previous.method else each.method,
            "–" if each.n_g is None else str(each.n_g),
            f"{each.accuracy:.3f}",
            "–" if each.deviation is None else f"{each.deviation:.3f}",
            f"{each.abstained:.1%}",
            f"{each.vertices:.0f}",
            f"{each.ms_per_step:.2f}",
        )
        previous = each
    Console().print(table)
