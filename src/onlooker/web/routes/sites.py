"""Other sites that a cluster runs, as far as whoever started this service can tell."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool

from onlooker.web.responses import problems
from onlooker.web.schemas import Model


@dataclass(frozen=True, slots=True)
class SiteState:
    """How a site is.

    >>> SiteState("gate", "well", 2, 340, 8, 91_000, 5021).problem is None
    True
    """

    name: str
    state: Literal["well", "restarting", "missing"]
    cameras: int
    vertices: int
    people: int
    examples: int
    """What all vertices stand for."""
    sequence: int
    """Its newest event."""
    problem: str | None = None


Sites = Callable[[], list[SiteState]]


def no_sites() -> list[SiteState]:
    """Of a service that runs alone."""
    return []


class Site(Model):
    """How a site is."""

    name: str
    state: Literal["well", "restarting", "missing"]
    cameras: int
    vertices: int
    people: int
    examples: int
    sequence: int
    problem: str | None


def site_routes(sites: Sites) -> APIRouter:
    """What the command line says of other sites."""
    routes = APIRouter(tags=["health"])

    @routes.get("/sites", responses=problems())
    async def list_sites() -> list[Site]:
        """All sites of the cluster; none where there is no cluster."""
        return [Site.model_validate(site) for site in await run_in_threadpool(sites)]

    return routes
