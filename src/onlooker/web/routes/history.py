"""What happened and who was seen: to look through, and as tables to take away."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from onlooker.home.album import Seen
from onlooker.home.events import Event
from onlooker.web import schemas
from onlooker.web.requests import call_home
from onlooker.web.responses import csv_of, problems
from onlooker.web.schemas import Name, Number
from onlooker.web.service import Service

Limit = Annotated[int, Query(ge=1, le=1000)]
Rows = Annotated[int | None, Query(ge=1, le=1_000_000)]
Before = Annotated[Number | None, Query(description="Only what came before this number.")]
Kind = Annotated[str | None, Query(max_length=40)]
Camera = Annotated[str | None, Query(max_length=64)]
Newest = Annotated[bool, Query(description="The newest first.")]
CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}}
}


def diary_routes(service: Service) -> APIRouter:
    """Events and sightings."""
    routes = APIRouter(tags=["events"])

    @routes.get("/events", responses=problems(422))
    async def events(
        after: Annotated[Number, Query()] = 0,
        before: Before = None,
        limit: Limit = 100,
        kind: Kind = None,
        camera: Camera = None,
        newest: Newest = False,
    ) -> list[schemas.Event]:
        """Changes after an event, the oldest first, or the newest."""
        options: dict[str, Any] = {"kind": kind, "camera": camera, "newest": newest}
        found = await call_home(
            service, lambda home: home.events(after, limit, before=before, **options)
        )
        return [as_event(event) for event in found]

    @routes.get("/events.csv", response_class=Response, responses={**problems(422), **CSV})
    async def events_table(
        after: Annotated[Number, Query()] = 0,
        before: Before = None,
        limit: Rows = None,
        kind: Kind = None,
        camera: Camera = None,
        newest: Newest = False,
    ) -> StreamingResponse:
        """The same as a table."""
        options: dict[str, Any] = {"kind": kind, "camera": camera, "newest": newest}

        async def page(last: Event | None, size: int) -> list[Event]:
            low = last.sequence if last and not newest else after
            high = last.sequence if last and newest else before
            return await call_home(
                service, lambda home: home.events(low, size, before=high, **options)
            )

        header = "sequence", "time", "kind", "camera", "frame", "changes"
        return csv_of("onlooker-events.csv", header, page, _event_cells, limit)

    @routes.get("/sightings", responses=problems(422))
    async def sightings(
        before: Before = None,
        limit: Limit = 100,
        name: Annotated[Name | None, Query()] = None,
        camera: Camera = None,
    ) -> list[schemas.SightingRow]:
        """The diary: who was seen where and when, the newest first."""
        found = await call_home(
            service,
            lambda home: home.album.diary(before=before, limit=limit, name=name, camera=camera),
        )
        return [schemas.SightingRow.model_validate(seen) for seen in found]

    @routes.get("/sightings.csv", response_class=Response, responses={**problems(422), **CSV})
    async def sightings_table(
        before: Before = None,
        limit: Rows = None,
        name: Annotated[Name | None, Query()] = None,
        camera: Camera = None,
    ) -> StreamingResponse:
        """The same as a table."""

        async def page(last: Seen | None, size: int) -> list[Seen]:
            high = last.number if last else before
            return await call_home(
                service,
                lambda home: home.album.diary(before=high, limit=size, name=name, camera=camera),
            )

        header = "number", "time", "camera", "frame", "name", "vertex"
        return csv_of("onlooker-sightings.csv", header, page, _seen_cells, limit)

    return routes


def as_event(event: Event) -> schemas.Event:
    """As it goes over the wire."""
    return schemas.Event(
        sequence=event.sequence,
        time=event.time,
        camera=event.camera,
        frame=event.frame,
        kind=event.kind,
        changes=event.changes,
    )


def _event_cells(event: Event) -> list[Any]:
    changes = json.dumps(event.changes, ensure_ascii=False)
    return [event.sequence, event.time, event.kind, event.camera, event.frame, changes]


def _seen_cells(seen: Seen) -> list[Any]:
    return [seen.number, seen.time, seen.camera, seen.frame, seen.name, seen.vertex]
