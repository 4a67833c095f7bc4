"""How the service is, how much it knows, and numbers for machines.

Numbers for Prometheus, in its text form.

What the machine says of this process: memory, disk, versions.
"""

import dataclasses
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import cv2
import numpy as np
from fastapi import APIRouter, Response

import onlooker
from onlooker.home.database import VERSION
from onlooker.home.home import Home
from onlooker.web import schemas
from onlooker.web.cameras import CameraState
from onlooker.web.home_thread import Stopped
from onlooker.web.requests import call_home
from onlooker.web.responses import problems
from onlooker.web.service import Service

TYPE = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[dict[str, str], float]


def metrics(service: Service) -> str:
    """All of them, as they are now."""
    return "".join(line + "\n" for line in _lines(service))


def _lines(service: Service) -> Iterator[str]:
    health, states = service.health, service.camera_states
    counts, seconds = service.frame_stats.totals()
    faces = [
        ({"camera": camera, "as": kind}, number)
        for (camera, kind), number in counts.items()
        if kind != "frames"
    ]
    frames: list[Sample] = [
        ({"camera": camera}, n) for (camera, kind), n in counts.items() if kind == "frames"
    ]
    up = [({"camera": one.name}, float(one.state == "watching")) for one in states]
    dropped = [({"camera": one.name}, one.dropped) for one in states]
    spent = [({"camera": camera}, number) for camera, number in seconds.items()]
    yield from _metric("frames_total", "counter", "Frames looked at.", frames)
    yield from _metric("frames_dropped_total", "counter", "Frames given up to keep up.", dropped)
    yield from _metric("faces_total", "counter", "Faces by what became of them.", faces)
    yield from _metric("frame_seconds_total", "counter", "From a frame to its answer.", spent)
    yield from _metric("camera_up", "gauge", "Whether a camera gives frames.", up)
    plain = {
        "events_total": ("counter", "Number of the newest event.", health.sequence),
        "read_only": ("gauge", "Whether nothing can be learned.", health.read_only is not None),
        "problems": ("gauge", "What was found damaged or failed.", len(health.problems)),
        "jobs_waiting": ("gauge", "Work that waits for the home.", service.home_thread.waiting),
        "listeners": ("gauge", "Live views and streams.", service.broadcast.listeners),
        "news_lost_total": ("counter", "News that slow listeners missed.", service.broadcast.lost),
    }
    for name, (kind, words, value) in plain.items():
        yield from _metric(name, kind, words, [({}, value)])


def _metric(name: str, kind: str, words: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP onlooker_{name} {words}"
    yield f"# TYPE onlooker_{name} {kind}"
    for labels, value in samples:
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"onlooker_{name}{{{inside}}} {float(value):.17g}"


def _escaped(text: str) -> str:
    r"""A label as Prometheus wants it.

    >>> _escaped('a"b\n')
    'a\\"b\\n'
    """
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def resident() -> int:
    """Bytes of memory this process holds; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return _peak()


def _peak() -> int:
    """At most so many bytes were held at one time: the next best, where there is no /proc."""
    if sys.platform == "win32":
        return 0
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def used_and_free(folder: Path) -> tuple[int, int]:
    """Bytes of all files in a folder, and bytes that are free there."""
    used = 0
    for path in folder.rglob("*"):
        try:
            used += path.stat().st_size if path.is_file() else 0
        except OSError:  # it has just gone
            continue
    try:
        return used, shutil.disk_usage(folder).free
    except OSError:
        return used, 0


@cache
def versions() -> dict[str, str]:
    """Of what matters when somebody reports a problem."""
    return {
        "onlooker": onlooker.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "opencv": cv2.__version__,
        "sqlite": VERSION,
    }


def health_routes(service: Service) -> APIRouter:
    """How it is."""
    routes = APIRouter(tags=["health"])

    @routes.get("/health", responses=problems())
    def health() -> schemas.Health:
        """Whether it can learn, what went wrong, how fast it is, and what it uses."""
        if not service.home_thread.alive:
            raise Stopped("the home is closed")
        return _health(service)

    @routes.get("/summary", responses=problems())
    async def summary() -> schemas.Summary:
        """How much is known, in a few numbers."""

        def act(home: Home) -> schemas.Summary:
            known = service.recognizer.known()
            return schemas.Summary(
                people=len(home.learner.names),
                labeled=known.labeled,
                learned=known.learned,
                vertices=len(home.learner),
                strangers=len(service.people.strangers(hidden=False)),
                sequence=home.sequence,
                radius=home.learner.radius,
                cameras=len(service.names),
            )

        return await call_home(service, act)

    @routes.get(
        "/metrics",
        response_class=Response,
        responses={**problems(), 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def numbers() -> Response:
        """Numbers for Prometheus."""
        return Response(metrics(service), media_type=TYPE)

    return routes


def _health(service: Service) -> schemas.Health:
    """Without waiting for the home: who asks whether it is well wants to know at once."""
    home, facts, cameras = service.health, service.facts, service.camera_states
    used, free = used_and_free(facts.folder)
    well = home.read_only is None and not home.problems
    return schemas.Health(
        status="ok" if well else "degraded",
        **dataclasses.asdict(home) | {"problems": list(home.problems)},
        cameras_failing=[one.name for one in cameras if one.problem is not None],
        version=onlooker.__version__,
        cameras=[_camera(service, one) for one in cameras],
        vertices=facts.vertices,
        max_vertices=facts.max_vertices,
        memory=resident(),
        disk=schemas.Disk(home=used, free=free),
        retention=schemas.Retention(
            stranger_hours=facts.retention.stranger_hours,
            sighting_days=facts.retention.sighting_days,
            undo_days=facts.retention.undo_days,
        ),
        versions=versions(),
        queue=service.home_thread.waiting,
        uptime=time.monotonic() - service.started,
    )


def _camera(service: Service, camera: CameraState) -> schemas.CameraHealth:
    speed = service.frame_stats.speed(camera.name)
    return schemas.CameraHealth(
        name=camera.name,
        state=camera.state,
        problem=camera.problem,
        fps=speed.fps,
        seconds=schemas.Stages(**speed.seconds),
        frames=camera.frames,
        dropped=camera.dropped,
        reconnects=camera.reconnects,
    )
