"""Sites for people: a row of JSON, a table, and what the page of the service shows."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from onlooker.cluster.camera import CameraState
    from onlooker.cluster.site_state import SiteState

HEADS = ("site", "state", "people", "vertices", "event", "cameras", "clock", "seen", "problems")


def site_row(state: "SiteState") -> dict[str, Any]:
    """One site for a line of JSON."""
    report = state.report
    return {
        "site": state.site,
        "state": state.state,
        "event": report and report.event,
        "people": list(report.names) if report else [],
        "vertices": report and report.vertices,
        "examples": report and report.examples,
        "cameras": report.last if report else {},
        "again": report and report.again,
        "gaps_refused": report and report.gaps,
        "clock_ahead": round(state.skew, 3),
        "clock_error": round(state.give, 3),
        "gap_before_open": report and report.gap,
        "moves": state.moves,
        "process": report and report.process,
        "node": report and report.node,
        "seen": state.seen,
        "problems": state.problems(),
    }


def site_table(states: "Sequence[SiteState]", cameras: "Mapping[str, CameraState | str]") -> Table:
    """All sites, a line each; cameras with what they have sent."""
    table = Table()
    for head in HEADS:
        table.add_column(head)
    for state in states:
        report = state.report
        sent = [_camera(name, number, cameras.get(name)) for name, number in _last(state)]
        good = state.state == "serving"
        table.add_row(
            state.site,
            Text(state.state, style="green" if good else "bold red"),
            str(len(report.names)) if report else "-",
            str(report.vertices) if report else "-",
            str(report.event) if report else "-",
            "\n".join(sent) or "-",
            f"{state.skew:+.2f} s" if report else "-",
            f"{time.time() - state.seen:.0f} s ago" if state.seen else "never",
            Text("\n".join(state.problems())),
        )
    return table


def _last(state: "SiteState") -> list[tuple[str, int]]:
    return sorted(state.report.last.items()) if state.report else []


def _camera(name: str, number: int, state: "CameraState | str | None") -> str:
    if state is None or isinstance(state, str):
        return f"{name} {number}"
    dropped = f", {state.sent.dropped} dropped" if state.sent.dropped else ""
    ended = ", ended" if state.ended else ""
    problem = f": {state.problem or state.counts.problem}"
    return f"{name} {number}{dropped}{ended}{problem if len(problem) > 2 else ''}"
