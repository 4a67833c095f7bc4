"""Sites of a cluster for the page of the service: `web` and `cluster` do not know each other."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from onlooker.cli.engines import naming_the_extra, talking_to
from onlooker.cluster.config_file import read_config
from onlooker.cluster.engine import LocalRay
from onlooker.cluster.wire import ClusterError

if TYPE_CHECKING:
    from onlooker.cluster.site_state import SiteState
    from onlooker.web.routes.sites import SiteState as Shown

ASK_WITHIN = 5.0
"""Seconds: a page does not wait longer for a cluster."""


@contextmanager
def sites_of(where: str | None) -> Iterator[Callable[[], "list[Shown]"]]:
    """How the sites are, whenever it is asked; where is HOST:PORT of a Ray, or a configuration."""
    if where is None:
        yield list
        return
    with naming_the_extra("--cluster"), talking_to(_address(where)):
        from onlooker.cluster.fleet import find_rounds, states

        find_rounds()  # a Ray without a cluster of ours is said now

        def view() -> "list[Shown]":
            try:
                return [shown(state) for state in states(timeout=ASK_WITHIN)]
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


def shown(state: "SiteState") -> "Shown":
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
