"""`onlooker cluster`: many cameras at several sites, on one machine or on many.

First the commands, then how a site is shown: as a row of JSON, in a table, and to the page of
`onlooker serve --cluster`. The last is here because `web` and `cluster` do not import each other.
Whatever needs Ray or pydantic is imported when a command runs.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from onlooker.cli.history import FaceOption, PhotoArgument
from onlooker.cli.homes import warn_of_chains
from onlooker.cli.options import NameArgument
from onlooker.cli.output import (
    print_left_out,
    print_problem,
    print_problems,
    print_row,
    requires,
)
from onlooker.cli.ray import connection, requires_ray
from onlooker.cluster.messages import ClusterError
from onlooker.cluster.ray_cluster import LocalRay
from onlooker.core.errors import BadValue
from onlooker.core.files import OWNER_ONLY, replace_file
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.home.people import count_people
from onlooker.home.transfer import Export, to_bytes
from onlooker.video.image_files import read_picture

if TYPE_CHECKING:
    from onlooker.cluster.camera import RemoteCameraStatus
    from onlooker.cluster.config import Config
    from onlooker.cluster.coordinator import SiteStatus
    from onlooker.cluster.merging import MissingSite
    from onlooker.web.routes.sites import SiteRow

ConfigOption = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="Lists the sites and their cameras.")
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address", metavar="HOST:PORT", help="A running Ray. [one started on this machine]"
    ),
]
WatchOption = Annotated[bool, typer.Option("--watch", help="Update the table until Ctrl-C.")]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write the merged learner; see import."),
]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", min=0.1, help="Seconds to wait for the answer of a site.")
]
DEFAULT_CONFIG = Path("cluster.toml")
PAGE_TIMEOUT = 5.0
"""Seconds that the page waits for the state of the sites."""
SITE_COLUMNS = ("site", "state", "people", "faces", "event", "clock", "seen")
CAMERA_COLUMNS = ("camera", "site", "state", "frames/s", "faces", "dropped")

cluster = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@cluster.callback()
def about() -> None:
    """Sites with cameras: one learner each, and one view of all.

    Example: onlooker cluster up --config cluster.toml
    """


@cluster.command()
def up(config: ConfigOption = DEFAULT_CONFIG, address: AddressOption = None) -> None:
    """Start every site and camera of the configuration that does not run yet, in the background.

    Without an address a Ray is started on this machine, and ended by `down`. Ray's processes
    listen on every interface; a token in the folder of the cluster keeps others out.

    Example: onlooker cluster up --config cluster.toml
    """
    found = _read_config("cluster up", config)
    warn_of_chains(found.finder.kind, found.learner_config.kernel)
    with requires_ray("cluster up"):
        if address is None:
            print("onlooker: starting Ray on this machine", file=sys.stderr)
            address = LocalRay(found.folder).start(found.cpus)
        with connection(address), _progress_bar() as progress:
            from onlooker.cluster.fleet import start_cluster

            parts = sum(1 + len(site.cameras) for site in found.sites)
            task = progress.add_task("starting", total=parts)
            started = start_cluster(found, lambda _: progress.advance(task))
    print_left_out(started.forgotten)
    for state in started.statuses:
        print_row(**site_row(state))
    print(f"onlooker: running on the Ray at {address}", file=sys.stderr)


@cluster.command()
def status(
    config: ConfigOption = DEFAULT_CONFIG,
    address: AddressOption = None,
    watch: WatchOption = False,
) -> None:
    """Show the state of every site and camera: a table on a terminal, otherwise JSON Lines.

    The exit code is 1 if a site is away, or degraded because one of its cameras is failing.
    Alerts that could not be sent are reported.

    Example: onlooker cluster status --watch
    """
    with _connected("status", config, address):
        from onlooker.cluster.fleet import alert_problems, site_statuses

        console = Console()
        if not watch:
            seen = site_statuses(visit=True)
            if console.is_terminal:
                console.print(site_table(seen))
            for state in () if console.is_terminal else seen:
                print_row(**site_row(state))
            for problem in alert_problems():
                print_problem(problem)
            raise typer.Exit(int(any(state.health in ("away", "degraded") for state in seen)))
        with Live(console=console, auto_refresh=False) as live:
            while True:
                live.update(site_table(site_statuses()), refresh=True)
                time.sleep(1.0)


@cluster.command()
def merge(
    config: ConfigOption = DEFAULT_CONFIG,
    address: AddressOption = None,
    out: OutOption = None,
    timeout: TimeoutOption = 10.0,
) -> None:
    """Merge the learners of all sites; the exit code is 1 if a site did not answer.

    The file has no pictures; `onlooker import` makes a home of it.

    Example: onlooker cluster merge --out everything.onlooker
    """
    with _connected("merge", config, address):
        from onlooker.cluster.fleet import merged_view

        view = merged_view(timeout)
    print_problems(_missing_site(missing) for missing in view.missing)
    if view.learner is None:
        raise ClusterError("no site answered: there is nothing to merge")
    if out is not None:
        _write_export(out, view.learner)
    print_row(
        sites=list(view.sites),
        missing=[asdict(missing) for missing in view.missing],
        people=[asdict(known) for known in count_people(view.learner)],
        vertices=len(view.learner),
        state=None if out is None else str(out),
    )
    if view.missing:
        raise typer.Exit(1)


@cluster.command()
def forget(
    name: NameArgument, config: ConfigOption = DEFAULT_CONFIG, address: AddressOption = None
) -> None:
    """Delete a person at every site, with a receipt for each.

    A site that cannot be reached deletes the person before it serves again.

    Example: onlooker cluster forget ana
    """
    with _connected("forget", config, address):
        from onlooker.cluster.fleet import forget_everywhere

        receipts = forget_everywhere(name)
    for receipt in receipts:
        print_row(**asdict(receipt))
    if all(receipt.state == "unknown" for receipt in receipts):
        raise typer.Exit(1)


@cluster.command()
def find(
    photo: PhotoArgument,
    config: ConfigOption = DEFAULT_CONFIG,
    address: AddressOption = None,
    face: FaceOption = None,
    timeout: TimeoutOption = 10.0,
) -> None:
    """Was this face at any site before? One row for each site and person, the most likely first.

    The exit code is 1 if nobody was, or if a site did not answer.

    Example: onlooker cluster find visitor.jpg
    """
    with _connected("find", config, address) as found:
        from onlooker.cluster.fleet import find_everywhere

        vector = found.finder.for_photos().query_vector(read_picture(photo), face)
        answers = find_everywhere([site.name for site in found.sites], vector, timeout)
    rows = [
        (rank, -who.similarity, answer.site, who)
        for answer in answers
        for rank, who in enumerate(answer.seen)  # a site puts whom it names before all others
    ]
    for _, _, site, who in sorted(rows, key=lambda row: row[:2]):
        print_row(site=site, **asdict(who))
    missing = [answer for answer in answers if answer.problem]
    print_problems(f"without site {answer.site}: {answer.problem}" for answer in missing)
    if not rows:
        print_problem("nobody like that was here, as far as is stored")
    if missing or not rows:
        raise typer.Exit(1)


@cluster.command()
def down(config: ConfigOption = DEFAULT_CONFIG, address: AddressOption = None) -> None:
    """Stop the cameras, then the sites, then the Ray that `up` started.

    Example: onlooker cluster down
    """
    found = _read_config("cluster down", config)
    own = LocalRay(found.folder)
    if address is None and own.address is None:
        print_problem("no Ray of this cluster is running")
        return
    try:
        with _connected("down", config, address):
            from onlooker.cluster.fleet import stop_cluster

            print_row(closed=stop_cluster())
    finally:
        if address is None:
            own.stop()


@contextmanager
def _connected(command: str, config: Path, address: str | None) -> Iterator["Config"]:
    """The configuration, and a connection to the Ray that the cluster runs on."""
    found = _read_config(f"cluster {command}", config)
    with requires_ray(f"cluster {command}"), connection(address or _own_address(found, config)):
        yield found


def _read_config(command: str, path: Path) -> "Config":
    with requires(command, {"pydantic": "cluster"}):
        from onlooker.cluster.config import read_config
    if not path.exists():
        raise BadValue(f"there is no {path}; --config names the file that lists sites and cameras")
    return read_config(path)


def _own_address(config: "Config", path: Path) -> str:
    """The address of the Ray that `cluster up` started for a configuration."""
    own = LocalRay(config.folder)
    own.use()
    if own.address is None:
        raise ClusterError(
            f"no Ray runs for {path}; `onlooker cluster up` starts one, or give its address"
        )
    return own.address


def _progress_bar() -> Progress:
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _write_export(path: Path, learner: OnlineHarmonicLearner) -> None:
    """Write a learner as `onlooker export` does, for `onlooker import`."""
    try:
        replace_file(path, to_bytes(Export(learner, {})), mode=OWNER_ONLY)
    except OSError as error:
        raise BadValue(f"cannot write {path}: {error.strerror or error}") from error


def _missing_site(missing: "MissingSite") -> str:
    since = "it has never answered"
    if missing.age is not None:
        since = f"it last answered {missing.age:.0f} s ago"
    return f"without site {missing.site}: {missing.why}; {since}"


# ---- how a site is shown


def site_row(state: "SiteStatus") -> dict[str, Any]:
    """One site for a line of JSON."""
    report = state.report
    return {
        "site": state.site,
        "state": state.health,
        "event": report and report.event,
        "people": list(report.names) if report else [],
        "vertices": report and report.vertices,
        "examples": report and report.examples,
        "cameras": {camera.camera: _camera_row(camera, state) for camera in state.cameras},
        "again": report and report.duplicates,
        "gaps_refused": report and report.gaps,
        "clock_ahead": round(state.clock_skew, 3),
        "clock_error": round(state.clock_error, 3),
        "gap_before_open": report and report.downtime,
        "moves": state.restarts,
        "process": report and report.process,
        "node": report and report.node,
        "seen": state.last_seen,
        "problems": state.problems(),
    }


def _camera_row(camera: "RemoteCameraStatus", site: "SiteStatus") -> dict[str, Any]:
    """One camera for a line of JSON; examples: how many of its faces the site has."""
    now, report = camera.condition, site.report
    return {
        "state": now.state,
        "since": now.since,
        "problem": now.problem or None,
        "fps": round(now.fps, 1),
        "last_frame": now.last_frame,
        "frames": camera.counts.frames,
        "examples": report.last_numbers.get(camera.camera, 0) if report else None,
    }


def site_table(states: "Sequence[SiteStatus]") -> Group:
    """All sites, then all cameras, one row each, then what is wrong: for 80 columns and more."""
    sites, cameras = _short_table(SITE_COLUMNS), _short_table(CAMERA_COLUMNS)
    for state in states:
        report = state.report
        sites.add_row(
            state.site,
            Text(state.health, style="green" if state.health == "serving" else "bold red"),
            str(len(report.names)) if report else "-",
            str(report.vertices) if report else "-",
            str(report.event) if report else "-",
            f"{state.clock_skew:+.2f} s" if report else "-",
            f"{time.time() - state.last_seen:.0f} s ago" if state.last_seen else "never",
        )
        for camera in state.cameras:
            cameras.add_row(*_camera_cells(camera, state))
    wrong = [Text(f"{state.site}: {one}") for state in states for one in state.problems()]
    return Group(sites, *([cameras] if cameras.rows else []), *wrong)


def _short_table(columns: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, no_wrap=True)
    return table


def _camera_cells(camera: "RemoteCameraStatus", site: "SiteStatus") -> list[str]:
    """A camera: its state, its speed, how many of its faces the site has, and what was dropped."""
    now, faces = camera.condition, "-"
    if site.report is not None:
        faces = str(site.report.last_numbers.get(camera.camera, 0))
    words: str = now.state
    if now.state == "failing":
        words = f"failing for {max(0.0, time.time() - now.since):.0f} s"
    speed = f"{now.fps:.1f}" if now.state == "live" else "-"
    return [camera.camera, site.site, words, speed, faces, str(camera.sent.dropped)]


@contextmanager
def sites_of(where: str | None) -> Iterator[Callable[[], "list[SiteRow]"]]:
    """A function that returns the state of the sites; where is HOST:PORT of a Ray, or a TOML file.

    Without a cluster there are no sites.
    """
    if where is None:
        yield list
        return
    with requires_ray("--cluster"):
        path = Path(where)
        address = _own_address(_read_config("--cluster", path), path) if path.is_file() else where
        with connection(address):
            from onlooker.cluster.fleet import find_coordinator, site_statuses

            find_coordinator()  # a Ray that runs no cluster of ours is an error now

            def sites() -> "list[SiteRow]":
                try:
                    return [shown(state) for state in site_statuses(timeout=PAGE_TIMEOUT)]
                except ClusterError as error:
                    return [_unreachable(str(error))]

            yield sites


def shown(state: "SiteStatus") -> "SiteRow":
    """A site as the page shows it."""
    from onlooker.web.routes.sites import SiteRow

    report, problem = state.report, "; ".join(state.problems()) or None
    if report is None:
        return SiteRow(state.site, "missing", len(state.cameras), None, None, None, None, problem)
    return SiteRow(
        state.site,
        "missing" if state.state == "away" else "well" if state.health == "serving" else "degraded",
        len(state.cameras),
        report.vertices,
        len(report.names),
        report.examples,
        report.event,
        problem,
    )


def _unreachable(reason: str) -> "SiteRow":
    from onlooker.web.routes.sites import SiteRow

    return SiteRow("cluster", "missing", None, None, None, None, None, reason)
