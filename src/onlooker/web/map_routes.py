"""The graph for people to look at."""

from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Header, Response
from fastapi.concurrency import run_in_threadpool

from onlooker.core.records import Vertices
from onlooker.core.similarity import HeatKernel
from onlooker.home.home import Home
from onlooker.web import states
from onlooker.web.asking import asked
from onlooker.web.chart import Chart
from onlooker.web.people import Row
from onlooker.web.replies import problems
from onlooker.web.station import Station

TAG = Annotated[str | None, Header(max_length=200)]


class _Copy(NamedTuple):
    """What the map is made of, once the thread that owns the home has let go of it."""

    sequence: int
    kernel: HeatKernel
    known: Vertices
    rows: list[Row]
    pictured: set[int]


def map_routes(station: Station) -> APIRouter:
    """One map, whose distances are remembered."""
    routes, people, chart = APIRouter(tags=["people"]), station.people, Chart()
    unchanged: dict[int | str, dict[str, Any]] = {304: {"description": "Nothing has changed."}}

    @routes.get("/map", response_model=states.Map, responses={**problems(422), **unchanged})
    async def draw(response: Response, if_none_match: TAG = None) -> object:
        """Every vertex, and each one's strongest links. The ETag is the newest event."""

        def act(home: Home) -> _Copy | None:
            if if_none_match == _tag(home.sequence):
                return None
            known = home.vertices()
            rows, pictured = people.everything(home), set(home.album.vertices())
            return _Copy(home.sequence, home.learner.kernel, known, rows, pictured)

        copy = await asked(station, act)
        if copy is None:
            return Response(status_code=304, headers={"etag": if_none_match or ""})
        response.headers["etag"] = _tag(copy.sequence)
        return await run_in_threadpool(_drawn, copy, chart)

    return routes


def _tag(sequence: int) -> str:
    return f'"{sequence}"'


def _drawn(copy: _Copy, chart: Chart) -> states.Map:
    return states.Map(
        sequence=copy.sequence,
        kernel=states.Kernel(bandwidth=copy.kernel.bandwidth, cutoff=copy.kernel.cutoff),
        vertices=[
            states.MapVertex(
                vertex=row.vertex,
                name=row.name,
                labeled=row.labeled,
                examples=row.examples,
                picture=row.vertex in copy.pictured,
            )
            for row in copy.rows
        ],
        links=chart.links(copy.known, copy.kernel),
    )
