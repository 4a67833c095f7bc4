"""One person: when they were seen, and all that is known of them in a file."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.concurrency import run_in_threadpool

from onlooker.home.home import Home
from onlooker.home.transfer import Portrait, packed, portrait
from onlooker.web import states
from onlooker.web.asking import asked
from onlooker.web.people_routes import Person
from onlooker.web.replies import problems
from onlooker.web.station import Station

FILE = "application/octet-stream"
_FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {FILE: {"schema": {"type": "string", "format": "binary"}}}}
}
Hours = Annotated[float, Query(gt=0, le=8784, description="How far back.")]
Buckets = Annotated[int, Query(ge=1, le=500, description="Into how many parts.")]


def person_routes(station: Station) -> APIRouter:
    """What a page about a person shows."""
    routes, people = APIRouter(tags=["people"]), station.people

    @routes.get("/people/{person}/history", responses=problems(404, 422))
    async def history(person: Person, hours: Hours = 24.0, buckets: Buckets = 48) -> states.History:
        """How often they were sighted: lines of the diary, the oldest first."""

        def act(home: Home) -> states.History:
            until = time.time()
            since = until - hours * 3600
            counts = home.album.history(people.name(home, person), since, until, buckets)
            return states.History(since=since, to=until, counts=counts)

        return await asked(station, act)

    @routes.get(
        "/people/{person}/export",
        response_class=Response,
        responses={**problems(404, 422), **_FILE},
    )
    async def export(person: Person) -> Response:
        """Their faces and pictures in one file, for `onlooker import`. It holds faces."""

        def act(home: Home) -> Portrait:
            vertices = [face.vertex for face in people.faces(home, person)]
            return portrait(home, people.name(home, person), vertices)

        found = await asked(station, act)
        data = await run_in_threadpool(lambda: packed(found.parcel()))
        name = f'attachment; filename="onlooker-{person}.onlooker"'
        return Response(data, media_type=FILE, headers={"content-disposition": name})

    return routes
