"""The other sites of a cluster, as reported by the command that started this service."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool

from onlooker.web.responses import problems

SiteState = Literal["well", "degraded", "restarting", "missing"]


@dataclass(frozen=True, slots=True)
class SiteRow:
    """The state of a site.

    >>> SiteRow("gate", "well", 2, 340, 8, 91_000, 5021).problem is None
    True
    """

    name: str
    state: SiteState
    cameras: int | None
    """All that are configured; a site with one that is failing is degraded. This and the other
    numbers are null where they are not known: a site may not have answered yet."""
    vertices: int | None
    people: int | None
    examples: int | None
    """What all vertices stand for."""
    sequence: int | None
    """Its newest event."""
    problem: str | None = None


ListSites = Callable[[], list[SiteRow]]


def no_sites() -> list[SiteRow]:
    """The sites of a service that runs alone."""
    return []


def site_routes(list_sites: ListSites) -> APIRouter:
    """The sites."""
    routes = APIRouter(tags=["health"])

    @routes.get("/sites", responses=problems())
    async def sites() -> list[SiteRow]:
        """All sites of the cluster; none where there is no cluster."""
        return await run_in_threadpool(list_sites)

    return routes
