"""The cameras: list, add, remove."""

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.concurrency import run_in_threadpool

from onlooker.web.cameras import CameraStatus
from onlooker.web.responses import problems
from onlooker.web.schemas import NewCamera
from onlooker.web.service import Service


def camera_routes(service: Service) -> APIRouter:
    """Cameras that are watched."""
    routes = APIRouter(tags=["cameras"])

    @routes.get("/cameras", responses=problems())
    async def list_cameras() -> list[CameraStatus]:
        """All cameras with their state."""
        return service.camera_statuses

    @routes.post("/cameras", status_code=201, responses=problems(409, 422))
    async def add_camera(new: NewCamera) -> CameraStatus:
        """Watch a camera: its number, its address, or a recording in a permitted folder."""
        return await run_in_threadpool(service.cameras.add, new.source, new.name)

    @routes.delete("/cameras/{name}", status_code=204, responses=problems(404, 422))
    async def remove_camera(name: Annotated[str, Path(max_length=64)]) -> None:
        """Stop watching it."""
        await run_in_threadpool(service.remove_camera, name)

    return routes
