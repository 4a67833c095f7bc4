"""Events and sightings: as lists, as CSV files, as a live stream; a face found again; undo."""

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from onlooker.core.errors import NotFound, OnlookerError
from onlooker.home.alarms import Alarm
from onlooker.home.album import PNG, StoredSighting
from onlooker.home.events import Event
from onlooker.home.home import Home
from onlooker.home.transfer import SIGHTING_COLUMNS, sighting_cells
from onlooker.web.cameras import Stopped
from onlooker.web.requests import UPLOAD, uploaded_picture
from onlooker.web.responses import csv_response, png_or, problems
from onlooker.web.schemas import (
    LARGEST,
    AlarmFaces,
    BoxRow,
    EventRow,
    FaceHistory,
    Name,
    NewestEvent,
    Number,
    SeenBeforeRow,
    SightingRow,
    UndoPreviewRow,
    UndoRequest,
)
from onlooker.web.service import EVENTS, Service

HEARTBEAT = 15.0
"""Seconds without events after which a stream sends a comment, so that proxies keep it open."""

Limit = Annotated[int, Query(ge=1, le=1000)]
CsvLimit = Annotated[int | None, Query(ge=1, le=1_000_000)]
Before = Annotated[Number | None, Query(description="Only what came before this number.")]
EventKind = Annotated[str | None, Query(max_length=40)]
CameraQuery = Annotated[str | None, Query(max_length=64)]
OnlyStrangers = Annotated[bool | None, Query(description="Only strangers; or only people.")]
WhichFace = Annotated[
    int | None, Query(ge=1, le=1000, description="Which face of several, from 1 on the left.")
]
Newest = Annotated[bool, Query(description="The newest first.")]
CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}}
}


def event_routes(service: Service) -> APIRouter:
    """The event log: what changed, and the way back."""
    routes, call = APIRouter(tags=["events"]), service.home_thread.call

    @routes.get("/events", responses=problems(422))
    async def events(
        after: Annotated[Number, Query()] = 0,
        before: Before = None,
        limit: Limit = 100,
        kind: EventKind = None,
        camera: CameraQuery = None,
        newest: Newest = False,
    ) -> list[EventRow]:
        """Changes after an event, the oldest first, or the newest."""
        options: dict[str, Any] = {"kind": kind, "camera": camera, "newest": newest}
        return await call(partial(_event_rows, after=after, limit=limit, before=before, **options))

    @routes.get("/events.csv", response_class=Response, responses={**problems(422), **CSV})
    async def events_csv(
        after: Annotated[Number, Query()] = 0,
        before: Before = None,
        limit: CsvLimit = None,
        kind: EventKind = None,
        camera: CameraQuery = None,
        newest: Newest = False,
    ) -> StreamingResponse:
        """The same as a CSV file."""
        options: dict[str, Any] = {"kind": kind, "camera": camera, "newest": newest}

        async def read_rows(last: Event | None, size: int) -> list[Event]:
            low = last.sequence if last and not newest else after
            high = last.sequence if last and newest else before
            return await call(lambda home: home.events(low, size, before=high, **options))

        header = "sequence", "time", "kind", "camera", "frame", "changes"
        return csv_response("onlooker-events.csv", header, read_rows, _event_cells, limit)

    @routes.get(
        "/events/stream",
        response_class=StreamingResponse,
        responses={**problems(422), 200: {"content": {"text/event-stream": {}}}},
    )
    async def stream(
        after: Annotated[Number | None, Query()] = None,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> StreamingResponse:
        """The same as server-sent events: those after an event, or from now on."""
        begin = after
        if last_event_id is not None and last_event_id.isascii() and last_event_id.isdigit():
            begin = min(int(last_event_id[:16]), LARGEST)
        if begin is None:
            begin = service.health.sequence
        return StreamingResponse(_event_stream(service, begin), media_type="text/event-stream")

    @routes.get("/undo", responses=problems(404, 422))
    async def undo_preview(to: Annotated[Number, Query()]) -> UndoPreviewRow:
        """What returning to an event would take back; nothing is changed."""
        return await call(lambda home: service.people.undo_preview(home, to))

    @routes.post("/undo", responses=problems(404, 422))
    async def undo(wanted: UndoRequest) -> NewestEvent:
        """Return to what was known after an event. That is an event too."""

        def job(home: Home) -> NewestEvent:
            service.people.undo(home, wanted.to)
            return NewestEvent(sequence=home.sequence)

        return await call(job)

    return routes


def sighting_routes(service: Service) -> APIRouter:
    """Who was seen when and where."""
    routes, call = APIRouter(tags=["events"]), service.home_thread.call

    @routes.get("/sightings", responses=problems(422))
    async def sightings(
        before: Before = None,
        limit: Limit = 100,
        name: Annotated[Name | None, Query()] = None,
        camera: CameraQuery = None,
        strangers: OnlyStrangers = None,
    ) -> list[SightingRow]:
        """Who was seen where and when, the newest first."""
        found = await call(
            lambda home: home.album.newest_sightings(
                before=before, limit=limit, name=name, camera=camera, strangers=strangers
            )
        )
        return [SightingRow.model_validate(seen) for seen in found]

    @routes.get("/sightings.csv", response_class=Response, responses={**problems(422), **CSV})
    async def sightings_csv(
        before: Before = None,
        limit: CsvLimit = None,
        name: Annotated[Name | None, Query()] = None,
        camera: CameraQuery = None,
        strangers: OnlyStrangers = None,
    ) -> StreamingResponse:
        """The same as a CSV file."""

        async def read_rows(last: StoredSighting | None, size: int) -> list[StoredSighting]:
            high = last.number if last else before
            return await call(
                lambda home: home.album.newest_sightings(
                    before=high, limit=size, name=name, camera=camera, strangers=strangers
                )
            )

        name_of_file = "onlooker-sightings.csv"
        return csv_response(name_of_file, SIGHTING_COLUMNS, read_rows, sighting_cells, limit)

    @routes.get(
        "/sightings/{number}/picture",
        response_class=Response,
        responses=png_or(404, 422, jpeg=True),
    )
    async def picture(number: Annotated[Number, Path()]) -> Response:
        """The face of a sighting."""
        content = await call(lambda home: home.album.sighting_picture(number))
        if content is None:
            raise NotFound(f"there is no picture of sighting {number}")
        kind = "png" if content.startswith(PNG) else "jpeg"
        return Response(content, media_type=f"image/{kind}")

    @routes.post("/sightings/find", responses=problems(422), openapi_extra=UPLOAD)
    async def find(request: Request, face: WhichFace = None) -> FaceHistory:
        """Was this face here before? Nothing is learned from the picture, and it is not stored.

        Of a picture with several faces only they are given, unless one is chosen.
        """
        pixels = await uploaded_picture(request)
        boxes, vector = await run_in_threadpool(service.photos.query, pixels, face)
        rows = [BoxRow.model_validate(box) for box in boxes]
        if vector is None:
            return FaceHistory(faces=rows, face=None, seen=[])
        seen = await call(lambda home: home.find_face(vector))
        found = [SeenBeforeRow.model_validate(who) for who in seen]
        return FaceHistory(faces=rows, face=face or 1, seen=found)

    return routes


async def _event_stream(service: Service, after: int) -> AsyncIterator[str]:
    with service.broadcast.listen(EVENTS, size=1) as subscription:
        yield ": welcome\n\n"
        while not subscription.closed:
            try:
                found = await service.home_thread.call(partial(_event_rows, after=after, limit=100))
            except Stopped:
                return
            except OnlookerError:  # too busy, or a failing disk: try again
                await asyncio.sleep(1.0)
                continue
            for event in found:
                after = event.sequence
                yield f"id: {after}\nevent: {event.kind}\ndata: {event.model_dump_json()}\n\n"
            if not found and await subscription.take(HEARTBEAT) is None:
                yield ": still here\n\n"


def _event_rows(home: Home, **wanted: Any) -> list[EventRow]:
    """Events as they are sent; an alarm comes with the faces that caused it."""
    rows = [EventRow.model_validate(event) for event in home.events(**wanted)]
    pictured = set(home.album.vertices()) if any(row.kind == "alarm" for row in rows) else set()
    for row in rows:
        if row.kind == "alarm":
            alarm = Alarm.of(row.changes[0])
            row.alarm = AlarmFaces(
                kind=alarm.kind,
                name=alarm.name,
                words=alarm.words,
                vertices=list(alarm.vertices),
                bridge=alarm.bridge,
                pictures=[vertex for vertex in alarm.vertices if vertex in pictured],
            )
    return rows


def _event_cells(event: Event) -> list[Any]:
    changes = json.dumps(event.changes, ensure_ascii=False)
    return [event.sequence, event.time, event.kind, event.camera, event.frame, changes]
