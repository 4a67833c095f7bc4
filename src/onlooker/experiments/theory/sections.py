"""Section 3 of the paper in numbers: Proposition 1 and the regret, as sections of the report."""

from collections.abc import Callable
from typing import Any

from onlooker.experiments.report.section import Section
from onlooker.experiments.theory import compact, regret
from onlooker.experiments.theory.regret_plot import draw

Result = tuple[Section, list[Any]]


def proposition_1(seeds: int) -> Result:
    """The compact solution against the full one."""
    rows = compact.run(seeds)
    header, table = compact.table(rows)
    paper = "The solution on W^ = V W V with gamma_g V is the one on W (Proposition 1)."
    found = compact.finding(rows)
    return Section("compact", "Proposition 1", paper, found, header, table), list(rows)


def three_terms(seeds: int) -> Result:
    """What is lost offline, by being online, and by quantization."""
    rows = regret.run(seeds)
    header, table = regret.table(rows)
    paper = (
        "The regret splits into three terms, with a constant of 9/2; with gamma_g growing as "
        "n^(1/4) the online and the quantization term fall as n^(-1/2) (3.2)."
    )
    figures = [
        draw([row for row in rows if row.stream == stream])
        for stream in dict.fromkeys(row.stream for row in rows)
    ]
    found = regret.finding(rows)
    return Section("regret", "Regret", paper, found, header, table, figures), list(rows)


EXPERIMENTS: dict[str, Callable[[int], Result]] = {"compact": proposition_1, "regret": three_terms}
