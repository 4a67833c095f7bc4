"""`onlooker cluster`: many cameras at several sites, on one machine or on many.

What the commands of `onlooker cluster` take.

Sites for people: a row of JSON, a table, and what the page of the service shows.

Sites of a cluster for the page of the service: `web` and `cluster` do not know each other.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from onlooker.cli.homes import NameArgument, print_row, tell_left_out
from onlooker.cli.options import one_line
from onlooker.cli.ray import naming_the_extra, talking_to
from onlooker.cluster.config import Config, read_config
from onlooker.cluster.messages import ClusterError
from onlooker.cluster.ray_cluster import LocalRay

if TYPE_CHECKING:
    from onlooker.cluster.camera import CameraState
    from onlooker.cluster.coordinator import SiteStatus

if TYPE_CHECKING:
    from onlooker.cluster.merging import MissingSite

if TYPE_CHECKING:
    from onlooker.cluster.coordinator import SiteStatus
    from onlooker.web.routes.sites import SiteState as Shown


ConfigOption = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="Lists the sites and their cameras.")
]
AddressOption = Annotated[
    str | None,
    typer.Option("--address", metavar="HOST:PORT", help="Of a Ray. [one of its own, here]"),
]
WatchOption = Annotated[bool, typer.Option("--watch", help="A table that lives, until Ctrl-C.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Where the merged learner goes.")
]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", min=0.1, help="Seconds that a site may take to answer.")
]
DEFAULT = Path("cluster.toml")


HEADS = ("site", "state", "people", "vertices", "event", "cameras", "clock", "seen", "problems")


def site_row(state: "SiteStatus") -> dict[str, Any]:
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


def site_table(states: "Sequence[SiteStatus]", cameras: "Mapping[str, CameraState | str]") -> Table:
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


def _last(state: "SiteStatus") -> list[tuple[str, int]]:
    return sorted(state.report.last.items()) if state.report else []


def _camera(name: str, number: int, state: "CameraState | str | None") -> str:
    if state is None or isinstance(state, str):
        return f"{name} {number}"
    dropped = f", {state.sent.dropped} dropped" if state.sent.dropped else ""
    ended = ", ended" if state.ended else ""
    problem = f": {state.problem or state.counts.problem}"
    return f"{name} {number}{dropped}{ended}{problem if len(problem) > 2 else ''}"


cluster = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@cluster.callback()
def about() -> None:
    """Sites with cameras: a learner each, one view of all.

    Example: onlooker cluster up --config cluster.toml
    """


@contextmanager
def _cluster(command: str, config: Path, address: str | None) -> Iterator[Config]:
    """The configuration, and a connection to the Ray that the cluster runs on."""
    found = read_config(config)
    with naming_the_extra(f"cluster {command}"):
        if address is None:
            own = LocalRay(found.folder)
            address = own.address
            own.use()
        if address is None:
            raise ClusterError(
                f"no Ray runs for {config}; `onlooker cluster up` starts one, or give --address"
            )
        with talking_to(address):
            yield found


@cluster.command()
def up(config: ConfigOption = DEFAULT, address: AddressOption = None) -> None:
    """Start what the configuration lists and does not run yet; it goes on when this returns.

    Without an address a Ray is started on this machine, and ended by `down`. Ray's processes
    listen on every interface; a token in the folder of the cluster keeps others out.

    Example: onlooker cluster up --config cluster.toml
    """
    found = read_config(config)
    with naming_the_extra("cluster up"):
        if address is None:
            print("onlooker: starting Ray on this machine", file=sys.stderr)
            address = LocalRay(found.folder).start(found.cpus)
        with talking_to(address), _steps() as progress:
            from onlooker.cluster.fleet import start_cluster

            parts = sum(1 + len(site.cameras) for site in found.sites)
            task = progress.add_task("starting", total=parts)
            started = start_cluster(found, lambda _: progress.advance(task))
    tell_left_out(started.left_out)
    for state in started.states:
        print_row(**site_row(state))
    print(f"onlooker: up, on the Ray at {address}", file=sys.stderr)


def _steps() -> Progress:
    console = Console(stderr=True)
    shown = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(*shown, console=console, transient=True, disable=not console.is_terminal)


@cluster.command()
def status(
    config: ConfigOption = DEFAULT, address: AddressOption = None, watch: WatchOption = False
) -> None:
    """How every site is: a table on a terminal, otherwise JSON Lines.

    Example: onlooker cluster status --watch
    """
    with _cluster("status", config, address) as found:
        from onlooker.cluster.fleet import site_statuses
        from onlooker.cluster.ray_camera import camera_statuses

        cameras = [camera.name for site in found.sites for camera in site.cameras]
        console = Console()
        if not watch:
            seen = site_statuses(visit=True)
            if console.is_terminal:
                console.print(site_table(seen, camera_statuses(cameras)))
            for state in () if console.is_terminal else seen:
                print_row(**site_row(state))
            raise typer.Exit(int(any(state.state == "away" for state in seen)))
        with Live(console=console, auto_refresh=False) as live:
            while True:
                table = site_table(site_statuses(), camera_statuses(cameras))
                live.update(table, refresh=True)
                time.sleep(1.0)


@cluster.command()
def merge(
    config: ConfigOption = DEFAULT,
    address: AddressOption = None,
    out: OutOption = None,
    timeout: TimeoutOption = 10.0,
) -> None:
    """Merge what all sites know; a site that is missing is said, and makes the exit code 1.

    Example: onlooker cluster merge --out everything.state
    """
    with _cluster("merge", config, address):
        from onlooker.cluster.fleet import merged_view
        from onlooker.home.people import everybody

        view = merged_view(timeout)
    for missing in view.missing:
        print(f"onlooker: {one_line(_without(missing))}", file=sys.stderr)
    if view.learner is None:
        raise ClusterError("no site answered: there is nothing to merge")
    if out is not None:
        view.learner.save(out)
    print_row(
        sites=list(view.sites),
        missing=[asdict(missing) for missing in view.missing],
        people=[asdict(known) for known in everybody(view.learner)],
        vertices=len(view.learner),
        state=None if out is None else str(out),
    )
    if view.missing:
        raise typer.Exit(1)


def _without(missing: "MissingSite") -> str:
    since = "nobody remembers that it answered" if missing.age is None else ""
    since = since or f"it last answered {missing.age:.0f} s ago"
    return f"without site {missing.site}: {missing.why}; {since}"


@cluster.command()
def forget(
    name: NameArgument, config: ConfigOption = DEFAULT, address: AddressOption = None
) -> None:
    """Delete somebody at every site: a receipt each. A site that is away does it before it serves.

    Example: onlooker cluster forget ana
    """
    with _cluster("forget", config, address):
        from onlooker.cluster.fleet import forget_everywhere

        receipts = forget_everywhere(name)
    for receipt in receipts:
        print_row(**asdict(receipt))
    if all(receipt.state == "unknown" for receipt in receipts):
        raise typer.Exit(1)


@cluster.command()
def down(config: ConfigOption = DEFAULT, address: AddressOption = None) -> None:
    """End cameras and sites in order, and the Ray that `up` started.

    Example: onlooker cluster down
    """
    found = read_config(config)
    own = LocalRay(found.folder)
    if address is None and own.address is None:
        print("onlooker: nothing is up", file=sys.stderr)
        return
    try:
        with _cluster("down", config, address):
            from onlooker.cluster.fleet import stop_cluster

            print_row(closed=stop_cluster())
    finally:
        if address is None:
            own.stop()


ASK_WITHIN = 5.0
"""Seconds: a page does not wait longer for a cluster."""


@contextmanager
def sites_of(where: str | None) -> Iterator[Callable[[], "list[Shown]"]]:
    """How the sites are, whenever it is asked; where is HOST:PORT of a Ray, or a configuration."""
    if where is None:
        yield list
        return
    with naming_the_extra("--cluster"), talking_to(_address(where)):
        from onlooker.cluster.fleet import find_coordinator, site_statuses

        find_coordinator()  # a Ray without a cluster of ours is said now

        def view() -> "list[Shown]":
            try:
                return [shown(state) for state in site_statuses(timeout=ASK_WITHIN)]
            except ClusterError as error:
                return [_nobody(str(error))]

        yield view


def _address(where: str) -> str:
    if not Path(where).is_file():
        return where
    own = LocalRay(read_config(Path(where)).folder)
    own.use()
    if own.address is None:
        raise ClusterError(f"no Ray runs for {where}; `onlooker cluster up` starts one")
    return own.address


def shown(state: "SiteStatus") -> "Shown":
    """A site as the page has it."""
    from onlooker.web.routes.sites import SiteState as Shown

    report, said = state.report, "; ".join(state.problems()) or None
    if report is None:
        return Shown(state.site, "missing", 0, 0, 0, 0, 0, said)
    return Shown(
        state.site,
        "missing" if state.state == "away" else "well",
        len(report.last),
        report.vertices,
        len(report.names),
        report.examples,
        report.event,
        said,
    )


def _nobody(why: str) -> "Shown":
    from onlooker.web.routes.sites import SiteState as Shown

    return Shown("cluster", "missing", 0, 0, 0, 0, 0, why)
