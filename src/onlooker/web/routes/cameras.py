"""Events, undo, cameras, health and metrics."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from onlooker.core.errors import OnlookerError
from onlooker.home.home import Home
from onlooker.web import schemas
from onlooker.web.home_thread import Stopped
from onlooker.web.requests import call_home
from onlooker.web.responses import problems
from onlooker.web.routes.history import as_event
from onlooker.web.schemas import LARGEST, Number
from onlooker.web.service import EVENTS, Service

HEARTBEAT = 15.0
"""Seconds between two signs of life of a stream of events."""
CameraName = Annotated[str, Path(max_length=64)]


def event_routes(service: Service) -> APIRouter:
    """What happened, as a list and as it happens."""
    routes = APIRouter(tags=["events"])

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
        return StreamingResponse(_stream(service, begin), media_type="text/event-stream")

    @routes.post("/undo", responses=problems(404, 422))
    async def undo(wish: schemas.Undo) -> schemas.Sequence:
        """Know again what was known after an event. That is an event too."""

        def act(home: Home) -> schemas.Sequence:
            service.deeds.undo(home, wish.to)
            return schemas.Sequence(sequence=home.sequence)

        return await call_home(service, act)

    return routes


def camera_routes(service: Service) -> APIRouter:
    """Cameras that are watched."""
    routes = APIRouter(tags=["cameras"])

    @routes.get("/cameras", responses=problems())
    async def list_cameras() -> list[schemas.Camera]:
        """All cameras, and how they are."""
        return [schemas.Camera.model_validate(state) for state in service.camera_states]

    @routes.post("/cameras", status_code=201, responses=problems(409, 422))
    async def add_camera(new: schemas.NewCamera) -> schemas.Camera:
        """Watch a camera: its number, its address, or a recording in a permitted folder."""
        state = await run_in_threadpool(service.cameras.add, new.source, new.name)
        return schemas.Camera.model_validate(state)

    @routes.delete("/cameras/{name}", status_code=204, responses=problems(404, 422))
    async def remove_camera(name: CameraName) -> None:
        """Stop watching it."""
        await run_in_threadpool(service.remove_camera, name)

    return routes


async def _stream(service: Service, after: int) -> AsyncIterator[str]:
    with service.broadcast.listen(EVENTS, size=1) as news:
        yield ": welcome\n\n"
        while not news.closed:
            try:
                found = await call_home(service, partial(Home.events, after=after, limit=100))
            except Stopped:
                return
            except OnlookerError:  # too busy, or a disk that fails: the next turn may be better
                await asyncio.sleep(1.0)
                continue
            for event in found:
                after = event.sequence
                data = as_event(event).model_dump_json()
                yield f"id: {after}\nevent: {event.kind}\ndata: {data}\n\n"
            if not found and await news.take(HEARTBEAT) is None:
                yield ": still here\n\n"
