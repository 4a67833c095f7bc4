"""What the rows of the regret say: a table, and sentences with the numbers in them."""

from collections.abc import Sequence
from statistics import mean

from onlooker.experiments.regret import (
    APART,
    GROWING,
    LABELING,
    LABELS_LENGTH,
    LEARNER,
    METHODS,
    TERMS,
    Row,
    over_n,
)
from onlooker.experiments.slopes import trend

COLUMNS = {
    "total": "total",
    **TERMS,
    "strength": "mean l*²",
    "online_share": "T2 / l*²",
    "quantization_share": "T3 / l*²",
    "sign_error": "wrong sign",
    "zero": "always 0",
    "online_bound": "T2 bound",
    "quantization_bound": "T3 bound",
}


def table(rows: Sequence[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Means over the seeds: a header, and a line for each stream, schedule, size and method."""
    groups: dict[tuple[str, str, int, int, str], list[Row]] = {}
    for row in rows:
        key = (row.stream, row.schedule, row.n, row.n_l, row.method)
        groups.setdefault(key, []).append(row)
    lines = [
        (*map(str, key), *(f"{mean(getattr(row, each) for row in group):.3g}" for each in COLUMNS))
        for key, group in groups.items()
    ]
    return ("stream", "γ_g", "n", "n_l", "lh", *COLUMNS.values()), lines


def finding(rows: Sequence[Row]) -> str:
    """What the rows say, in sentences; of several streams, one after the other."""
    said = []
    for stream in dict.fromkeys(row.stream for row in rows):
        same = [row for row in rows if row.stream == stream]
        said.append(f"Stream {stream}, {len({row.seed for row in same})} seeds.")
        said += [_on_the_inequality(same), *_on_growth(same), *_on_shrinking(same)]
        said += [*_on_the_bounds(same), *_on_labels(same)]
    return " ".join(said)


def _on_the_inequality(rows: Sequence[Row]) -> str:
    worst, skipped = max(row.constant for row in rows), sum(row.skipped for row in rows)
    holds = "held" if worst <= 3 else "FAILED"
    return (
        f"total <= 3 (T1 + T2 + T3) {holds} in {len(rows)} runs, and with it the paper's 9/2; the "
        f"largest constant needed was {worst:.2f}. The learner skipped {skipped} examples."
    )


def _on_growth(rows: Sequence[Row]) -> list[str]:
    said = []
    for schedule in GROWING:
        for method in METHODS:
            found = {
                name: trend(over_n(rows, schedule, method), term) for term, name in TERMS.items()
            }
            told = ", ".join(f"{name} as n^{each}" for name, each in found.items() if each)
            if told:
                said.append(f"With γ_g = {schedule} ({method}) {told}.")
    if said:
        said.append(
            "The paper bounds T2 and T3 by terms that fall as n^-0.50 with γ_g = c n^1/4; what "
            "lies far below a bound need not fall with it."
        )
    return [*said, *_on_absorbing_labels(rows, "1 n^1/4")]


def _on_absorbing_labels(rows: Sequence[Row], schedule: str) -> list[str]:
    same = [over_n(rows, schedule, method) for method in METHODS]
    if not all(same):
        return []
    n = max(row.n for row in same[0])
    third = [mean(row.quantization for row in each if row.n == n) for each in same]
    total = [mean(row.total for row in each if row.n == n) for each in same]
    return [
        "The learner's labels absorb: examples within R take their ±1 and add to their weight, "
        f"whatever γ_g is. With γ_g = {schedule} and n = {n} its T3 is {third[0]:.2g} and total "
        f"{total[0]:.2f}; with labels apart {third[1]:.2g} and {total[1]:.2f}."
    ]


def _on_shrinking(rows: Sequence[Row]) -> list[str]:
    said = []
    for schedule in GROWING[2:]:
        same = over_n(rows, schedule, APART)
        ends = [[row for row in same if row.n == n] for n in sorted({row.n for row in same})]
        if len(ends) > 1:
            first, last = (mean(row.strength for row in ends[place]) for place in (0, -1))
            rest = mean(row.offline for row in ends[-1])
            said.append(
                f"With γ_g = {schedule} mean l*² goes from {first:.2g} to {last:.2g} and T1 to "
                f"{rest:.2f}; answering 0 always costs {ends[-1][0].zero:.2f}."
            )
    warning = "A growing γ_g shrinks every score, so falling T2 and T3 alone prove nothing."
    return [*said, warning]


def _on_the_bounds(rows: Sequence[Row]) -> list[str]:
    second = sum(row.online <= row.online_bound for row in rows)
    said = [f"T2 was below 4 n_l / (γ_g + 1)² in {second} of {len(rows)} runs."]
    for method in METHODS:
        same = [row for row in rows if row.method == method]
        third = sum(row.quantization <= row.quantization_bound for row in same)
        said.append(f"T3 ({method}) was below n_l |Lq - L|² / γ_g⁴ in {third} of {len(same)} runs.")
    growth = trend(over_n(rows, "1 n^1/4", APART), "quantization_bound")
    if growth:
        said.append(f"That bound itself goes as n^{growth} with γ_g = 1 n^1/4: |Lq - L| grows.")
    telling = sum(max(row.online_bound, row.quantization_bound) < 1 for row in rows)
    risk = [row.labeled_risk for row in rows]
    said.append(
        f"Both bounds were below 1, the cost of always 0, in {telling} runs. The bound's risk on "
        f"labeled examples is 0 with hard labels and {min(risk):.2f} to {max(risk):.2f} with soft "
        "ones, which the paper multiplies by 9/2."
    )
    return said


def _on_labels(rows: Sequence[Row]) -> list[str]:
    said = []
    for schedule in LABELING:
        same = [row for row in rows if row.schedule == schedule and row.n == LABELS_LENGTH]
        found = trend([row for row in same if row.method == LEARNER], "offline", by="n_l")
        if found:
            said.append(f"With γ_g = {schedule} and n = {LABELS_LENGTH}, T1 goes as n_l^{found}.")
    return said
