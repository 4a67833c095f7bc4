"""Health of the service, how much it knows, and metrics for Prometheus."""

import dataclasses
import platform
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import cv2
import numpy as np
import psutil
from fastapi import APIRouter, Response

import onlooker
from onlooker.home.database import SQLITE_VERSION
from onlooker.home.home import Home
from onlooker.video.decoding import CameraState
from onlooker.web.cameras import CameraStatus, Stopped
from onlooker.web.responses import problems
from onlooker.web.schemas import (
    Alive,
    CameraHealth,
    DiskUse,
    HealthReport,
    KnowledgeSummary,
    MeanSeconds,
    RetentionRow,
)
from onlooker.web.service import Service

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

MetricSample = tuple[dict[str, str], float]
"""Labels and a value."""


def health_routes(service: Service) -> APIRouter:
    """The state of the service."""
    routes = APIRouter(tags=["health"])
    people, recognizer, home_thread = service.people, service.recognizer, service.home_thread

    @routes.get("/alive", responses=problems())
    async def alive() -> Alive:
        """A sign of life without data, which needs no token; 503 if the home is closed."""
        if not home_thread.alive:
            raise Stopped("the home is closed")
        return Alive(status="ok")

    @routes.get("/health", responses=problems())
    def health() -> HealthReport:
        """Whether it can learn, what went wrong, how fast it is, and what it uses."""
        if not home_thread.alive:
            raise Stopped("the home is closed")
        return _health_report(service)

    @routes.get("/summary", responses=problems())
    async def summary() -> KnowledgeSummary:
        """How much is known, in a few numbers."""

        def job(home: Home) -> KnowledgeSummary:
            known = recognizer.known()
            return KnowledgeSummary(
                people=len(home.learner.names),
                labeled=known.labeled,
                learned=known.learned,
                vertices=len(home.learner),
                strangers=len(people.strangers(hidden=False)),
                sequence=home.sequence,
                radius=home.learner.radius,
                cameras=len(service.camera_names),
            )

        return await home_thread.call(job)

    @routes.get(
        "/metrics",
        response_class=Response,
        responses={**problems(), 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics() -> Response:
        """Metrics for Prometheus."""
        text = "".join(f"{text_line}\n" for text_line in _metrics(service))
        return Response(text, media_type=METRICS_TYPE)

    return routes


def _health_report(service: Service) -> HealthReport:
    """Nothing here waits for the home thread: a health check needs an answer at once."""
    health, home, cameras = service.health, service.home_info, service.camera_statuses
    failing = [camera.name for camera in cameras if camera.state == "failing"]
    well = health.read_only is None and not health.problems and not failing
    return HealthReport(
        status="ok" if well else "degraded",
        **dataclasses.asdict(health) | {"problems": list(health.problems)},
        cameras_failing=failing,
        version=onlooker.__version__,
        cameras=[_camera_health(service, camera) for camera in cameras],
        vertices=home.vertices,
        max_vertices=home.max_vertices,
        trust_radius=home.trust_radius,
        memory=psutil.Process().memory_info().rss,
        disk=_disk_use(home.folder),
        retention=RetentionRow(
            stranger_hours=home.retention.stranger_hours,
            question_hours=home.retention.question_hours,
            sighting_days=home.retention.sighting_days,
            undo_days=home.retention.undo_days,
        ),
        versions=_versions(),
        queue=service.home_thread.waiting,
        uptime=time.monotonic() - service.started,
    )


def _camera_health(service: Service, camera: CameraStatus) -> CameraHealth:
    return CameraHealth(
        name=camera.name,
        state=camera.state,
        since=camera.since,
        problem=camera.problem,
        last_frame=camera.last_frame,
        fps=camera.fps,
        seconds=MeanSeconds(**service.frame_stats.stage_seconds(camera.name)),
        frames=camera.frames,
        dropped=camera.dropped,
        reconnects=camera.reconnects,
    )


def _disk_use(folder: Path) -> DiskUse:
    used = 0
    for path in folder.rglob("*"):
        try:
            used += path.stat().st_size if path.is_file() else 0
        except OSError:  # deleted in the meantime
            continue
    try:
        free = psutil.disk_usage(str(folder)).free
    except OSError:
        free = 0
    return DiskUse(home=used, free=free)


@cache
def _versions() -> dict[str, str]:
    """What matters in the report of a problem."""
    return {
        "onlooker": onlooker.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "opencv": cv2.__version__,
        "sqlite": SQLITE_VERSION,
    }


def _metrics(service: Service) -> Iterator[str]:
    health, cameras, broadcast = service.health, service.camera_statuses, service.broadcast
    counts, seconds = service.frame_stats.totals()
    faces = [
        ({"camera": camera, "as": kind}, number)
        for (camera, kind), number in counts.items()
        if kind != "frames"
    ]
    frames: list[MetricSample] = [
        ({"camera": camera}, number)
        for (camera, kind), number in counts.items()
        if kind == "frames"
    ]
    up = [({"camera": one.name}, float(one.state == "live")) for one in cameras]
    states: list[MetricSample] = [
        ({"camera": one.name, "state": state}, float(one.state == state))
        for one in cameras
        for state in get_args(CameraState)
    ]
    fps = [({"camera": one.name}, one.fps) for one in cameras]
    last = [({"camera": one.name}, one.last_frame) for one in cameras if one.last_frame is not None]
    dropped = [({"camera": one.name}, one.dropped) for one in cameras]
    spent = [({"camera": camera}, number) for camera, number in seconds.items()]
    yield from _metric("frames_total", "counter", "Frames that were recognized.", frames)
    yield from _metric("frames_dropped_total", "counter", "Frames that were dropped.", dropped)
    yield from _metric("faces_total", "counter", "Faces by result.", faces)
    yield from _metric("frame_seconds_total", "counter", "Time from frame to result.", spent)
    yield from _metric("camera_up", "gauge", "Whether a camera delivers frames.", up)
    yield from _metric("camera_state", "gauge", "1 for the state that a camera is in.", states)
    yield from _metric("camera_fps", "gauge", "Frames per second.", fps)
    yield from _metric(
        "camera_last_frame_seconds", "gauge", "When the newest frame came, since 1970.", last
    )
    plain = {
        "events_total": ("counter", "Number of the newest event.", health.sequence),
        "read_only": ("gauge", "Whether nothing can be learned.", health.read_only is not None),
        "problems": ("gauge", "Problems in the health report.", len(health.problems)),
        "jobs_waiting": ("gauge", "Jobs that wait for the home.", service.home_thread.waiting),
        "listeners": ("gauge", "Live views and streams.", broadcast.listeners),
        "news_lost_total": ("counter", "Items that slow subscribers lost.", broadcast.lost),
    }
    for name, (kind, description, value) in plain.items():
        yield from _metric(name, kind, description, [({}, value)])


def _metric(
    name: str, kind: str, description: str, samples: Iterable[MetricSample]
) -> Iterator[str]:
    yield f"# HELP onlooker_{name} {description}"
    yield f"# TYPE onlooker_{name} {kind}"
    for labels, value in samples:
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"onlooker_{name}{{{inside}}} {float(value):.17g}"


def _escaped(text: str) -> str:
    r"""A label value with the escapes that Prometheus requires.

    >>> _escaped('a"b\n')
    'a\\"b\\n'
    """
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
