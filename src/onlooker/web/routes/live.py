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
from onlooker.web.schemas import Problem
from onlooker.web.service import RESULTS, Service, live

BOUNDARY = "onlooker-frame"
REPEAT_EVERY = 10.0
"""Seconds without a new picture before the last is repeated, to notice closed connections."""
MAX_FRAME = 2 << 20
"""Bytes of one picture from a browser."""
TOO_LARGE, TRY_LATER, NO_CAMERA = 1009, 1013, 4404
"""Codes with which a WebSocket is closed."""


def live_routes(service: Service) -> APIRouter:
    """Streams for the page and for other viewers."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/live/{camera}.mjpeg")
    async def mjpeg(camera: Annotated[str, Path(max_length=64)]) -> Response:
        service.latest(camera)
        media_type = f"multipart/x-mixed-replace; boundary={BOUNDARY}"
        return StreamingResponse(_mjpeg_parts(service, camera), media_type=media_type)

    @routes.websocket("/api/v1/live")
    async def results(socket: WebSocket) -> None:
        await socket.accept()
        with service.broadcast.listen(RESULTS) as subscription:
            async with _until_disconnected(socket, subscription):
                async for result in subscription:
                    await socket.send_text(result.message())

    @routes.websocket("/api/v1/live/{camera}")
    async def views(socket: WebSocket, camera: str) -> None:
        await socket.accept()
        try:
            service.latest(camera)
        except NotFound as error:
            await socket.send_text(Problem(detail=str(error)).model_dump_json())
            await socket.close(NO_CAMERA)
            return
        with service.broadcast.listen(live(camera), size=1) as subscription:
            async with _until_disconnected(socket, subscription):
                await _send_views(socket, service.views.newest(camera), subscription)

    @routes.websocket("/api/v1/browser/{camera}")
    async def browser(socket: WebSocket, camera: str) -> None:
        await socket.accept()
        try:
            with service.browser_camera(camera):
                await _recognize_frames(socket, service, camera)
        except WebSocketDisconnect:
            pass
        except OnlookerError as error:
            await socket.send_text(Problem(detail=str(error)).model_dump_json())
            await socket.close(TRY_LATER)

    return routes


async def _recognize_frames(socket: WebSocket, service: Service, camera: str) -> None:
    """Receive pictures and send results; a picture that cannot be decoded gets a problem."""
    start, index = time.monotonic(), 0
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
        frame = Frame(camera, index, time.monotonic() - start, pixels)
        result = await run_in_threadpool(service.recognize, frame)
        index += 1
        await socket.send_text(result.message())


async def _send_views(
    socket: WebSocket, first: FrameView | None, subscription: Subscription
) -> None:
    """Send each result followed by the very frame it belongs to; a slow client misses some."""
    view = first
    while not subscription.closed:
        if view is not None:
            jpeg = await run_in_threadpool(view.plain)
            await socket.send_text(view.result.message())
            await socket.send_bytes(jpeg)
        view = await subscription.take(60.0)


@asynccontextmanager
async def _until_disconnected(socket: WebSocket, subscription: Subscription) -> AsyncIterator[None]:
    """Close the subscription when the client disconnects, and the socket when it ends."""
    disconnected = asyncio.create_task(_close_when_disconnected(socket, subscription))
    try:
        yield
        if not disconnected.done():
            await socket.close(1001)
    except (WebSocketDisconnect, RuntimeError):
        pass  # the client disconnected while something was sent
    finally:
        disconnected.cancel()


async def _close_when_disconnected(socket: WebSocket, subscription: Subscription) -> None:
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
    subscription.close()


async def _mjpeg_parts(service: Service, camera: str) -> AsyncIterator[bytes]:
    """Each new picture; the last one again when there is none for a while."""
    with service.broadcast.listen(live(camera), size=1) as subscription, suppress(NotFound):
        view = service.latest(camera)
        while not subscription.closed:
            if view is not None:
                yield _mjpeg_part(await run_in_threadpool(view.drawn))
            view = await subscription.take(REPEAT_EVERY) or service.latest(camera)


def _mjpeg_part(jpeg: bytes) -> bytes:
    head = f"--{BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}\r\n\r\n"
    return head.encode("ascii") + jpeg + b"\r\n"
