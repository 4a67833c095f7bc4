"""How the service is, how much it knows, and numbers for machines."""

import dataclasses
import time

from fastapi import APIRouter, Response

import onlooker
from onlooker.home.home import Home
from onlooker.web import states
from onlooker.web.asking import asked
from onlooker.web.metrics import TYPE, metrics
from onlooker.web.replies import problems
from onlooker.web.station import Station
from onlooker.web.vitals import resident, used_and_free, versions
from onlooker.web.watching import CameraState
from onlooker.web.worker import Stopped


def health_routes(station: Station) -> APIRouter:
    """How it is."""
    routes = APIRouter(tags=["health"])

    @routes.get("/health", responses=problems())
    def health() -> states.Health:
        """Whether it can learn, what went wrong, how fast it is, and what it uses."""
        if not station.worker.alive:
            raise Stopped("the home is closed")
        return _health(station)

    @routes.get("/summary", responses=problems())
    async def summary() -> states.Summary:
        """How much is known, in a few numbers."""

        def act(home: Home) -> states.Summary:
            known = station.sight.stock.counted(home)
            return states.Summary(
                people=len(home.learner.names),
                labeled=known.labeled,
                learned=known.learned,
                vertices=len(home.learner),
                strangers=len(station.people.strangers(hidden=False)),
                sequence=home.sequence,
                radius=home.learner.radius,
                cameras=len(station.names),
            )

        return await asked(station, act)

    @routes.get(
        "/metrics",
        response_class=Response,
        responses={**problems(), 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def numbers() -> Response:
        """Numbers for Prometheus."""
        return Response(metrics(station), media_type=TYPE)

    return routes


def _health(station: Station) -> states.Health:
    """Without waiting for the home: who asks whether it is well wants to know at once."""
    home, facts, cameras = station.health, station.facts, station.camera_states
    used, free = used_and_free(facts.folder)
    well = home.read_only is None and not home.problems
    return states.Health(
        status="ok" if well else "degraded",
        **dataclasses.asdict(home) | {"problems": list(home.problems)},
        cameras_failing=[one.name for one in cameras if one.problem is not None],
        version=onlooker.__version__,
        cameras=[_camera(station, one) for one in cameras],
        vertices=facts.vertices,
        max_vertices=facts.max_vertices,
        memory=resident(),
        disk=states.Disk(home=used, free=free),
        retention=states.Retention(
            stranger_hours=facts.keeping.stranger_hours,
            sighting_days=facts.keeping.sighting_days,
            undo_days=facts.keeping.undo_days,
        ),
        versions=versions(),
        queue=station.worker.waiting,
        uptime=time.monotonic() - station.started,
    )


def _camera(station: Station, camera: CameraState) -> states.CameraHealth:
    speed = station.accounts.speed(camera.name)
    return states.CameraHealth(
        name=camera.name,
        state=camera.state,
        problem=camera.problem,
        fps=speed.fps,
        seconds=states.Stages(**speed.seconds),
        frames=camera.frames,
        dropped=camera.dropped,
        reconnects=camera.reconnects,
    )
