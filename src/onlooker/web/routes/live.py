"""Live: pictures as MJPEG, results over a WebSocket, and frames from a browser's own camera."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated

from fastapi import APIRouter, Path, Response, WebSocket, WebSocketDisconnect
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from onlooker.core.errors import NotFound, OnlookerError
from onlooker.vision.types import Frame
from onlooker.web.broadcast import Subscription
from onlooker.web.frames import FrameView
from onlooker.web.requests import decoded
from onlooker.web.schemas import Problem, Result
from onlooker.web.service import RESULTS, Service, live

BOUNDARY = "onlooker-frame"
HEARTBEAT = 10.0
"""Seconds after which a picture is sent again."""
MAX_FRAME = 2 << 20
"""Bytes of one picture from a browser."""
TOO_LARGE, NOT_NOW, NO_CAMERA = 1009, 1013, 4404
CameraName = Annotated[str, Path(max_length=64)]


def live_routes(service: Service) -> APIRouter:
    """What a page shows while it happens."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/live/{camera}.mjpeg")
    async def mjpeg(camera: CameraName) -> Response:
        service.latest(camera)
        kind = f"multipart/x-mixed-replace; boundary={BOUNDARY}"
        return StreamingResponse(_pictures(service, camera), media_type=kind)

    @routes.websocket("/api/v1/live")
    async def results(socket: WebSocket) -> None:
        await socket.accept()
        with service.broadcast.listen(RESULTS) as news:
            async with _until_they_leave(socket, news):
                async for one in news:
                    await socket.send_text(Result.of(one).model_dump_json())

    @routes.websocket("/api/v1/live/{camera}")
    async def view(socket: WebSocket, camera: str) -> None:
        await socket.accept()
        try:
            service.latest(camera)
        except NotFound as error:
            await socket.send_text(Problem(detail=str(error)).model_dump_json())
            await socket.close(NO_CAMERA)
            return
        with service.broadcast.listen(live(camera), size=1) as news:
            async with _until_they_leave(socket, news):
                await _show(socket, service.views.newest(camera), news)

    @routes.websocket("/api/v1/browser/{camera}")
    async def browser(socket: WebSocket, camera: str) -> None:
        await socket.accept()
        try:
            with service.guest(camera):
                await _frames_of(socket, service, camera)
        except WebSocketDisconnect:
            pass
        except OnlookerError as error:
            await socket.send_text(Problem(detail=str(error)).model_dump_json())
            await socket.close(NOT_NOW)

    return routes


async def _frames_of(socket: WebSocket, service: Service, camera: str) -> None:
    """Picture in, result out; a picture that cannot be used is told and skipped."""
    begun, number = time.monotonic(), 0
    while True:
        data = await socket.receive_bytes()
        if len(data) > MAX_FRAME:
            await socket.close(TOO_LARGE, "a picture is too large")
            return
        try:
            pixels = await run_in_threadpool(decoded, data)
        except OnlookerError as error:
            await socket.send_text(Problem(detail=str(error)).model_dump_json())
            continue
        frame = Frame(camera, number, time.monotonic() - begun, pixels)
        result = Result.of(await run_in_threadpool(service.look, frame))
        number += 1
        await socket.send_text(result.model_dump_json())


async def _show(socket: WebSocket, first: FrameView | None, news: Subscription) -> None:
    """What was seen in a frame, and at once that very frame; who is slow misses some."""
    view = first
    while not news.closed:
        if view is not None:
            jpeg = await run_in_threadpool(view.plain)
            await socket.send_text(Result.of(view.result).model_dump_json())
            await socket.send_bytes(jpeg)
        view = await news.take(60.0)


@asynccontextmanager
async def _until_they_leave(socket: WebSocket, news: Subscription) -> AsyncIterator[None]:
    """For what is sent to somebody: their leaving ends the news, the end of the news is told."""
    leaving = asyncio.create_task(_left(socket, news))
    try:
        yield
        if not leaving.done():
            await socket.close(1001)
    except (WebSocketDisconnect, RuntimeError):
        pass  # they left
    finally:
        leaving.cancel()


async def _left(socket: WebSocket, news: Subscription) -> None:
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
    news.close()


async def _pictures(service: Service, camera: str) -> AsyncIterator[bytes]:
    """The newest picture as it comes, and the old one again when none does: is anybody there?"""
    with service.broadcast.listen(live(camera), size=1) as news, suppress(NotFound):
        view = service.latest(camera)
        while not news.closed:
            if view is not None:
                yield _part(await run_in_threadpool(view.drawn))
            view = await news.take(HEARTBEAT) or service.latest(camera)


def _part(jpeg: bytes) -> bytes:
    head = f"--{BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}\r\n\r\n"
    return head.encode("ascii") + jpeg + b"\r\n"
