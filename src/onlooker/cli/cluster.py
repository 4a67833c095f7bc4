"""`onlooker cluster`: many cameras at several sites, on one machine or on many."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from onlooker.cli.cluster_options import (
    DEFAULT,
    AddressOption,
    ConfigOption,
    OutOption,
    TimeoutOption,
    WatchOption,
)
from onlooker.cli.engines import naming_the_extra, talking_to
from onlooker.cli.opening import NameArgument, print_row, tell_left_out
from onlooker.cli.options import one_line
from onlooker.cli.site_table import site_row, site_table
from onlooker.cluster.config import Config
from onlooker.cluster.config_file import read_config
from onlooker.cluster.engine import LocalRay
from onlooker.cluster.wire import ClusterError

if TYPE_CHECKING:
    from onlooker.cluster.merged import Missing

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
            from onlooker.cluster.fleet import bring_up

            parts = sum(1 + len(site.cameras) for site in found.sites)
            task = progress.add_task("starting", total=parts)
            started = bring_up(found, lambda _: progress.advance(task))
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
        from onlooker.cluster.camera_actor import camera_states
        from onlooker.cluster.fleet import states

        cameras = [camera.name for site in found.sites for camera in site.cameras]
        console = Console()
        if not watch:
            seen = states(visit=True)
            if console.is_terminal:
                console.print(site_table(seen, camera_states(cameras)))
            for state in () if console.is_terminal else seen:
                print_row(**site_row(state))
            raise typer.Exit(int(any(state.state == "away" for state in seen)))
        with Live(console=console, auto_refresh=False) as live:
            while True:
                table = site_table(states(), camera_states(cameras))
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


def _without(missing: "Missing") -> str:
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
            from onlooker.cluster.fleet import bring_down

            print_row(closed=bring_down())
    finally:
        if address is None:
            own.stop()
