"""A camera loop as a Ray actor, on the machine that the camera is attached to."""

import time
from collections.abc import Iterable
from typing import Any

import ray

from onlooker.cluster.camera import CameraLoop, RemoteCameraStatus
from onlooker.cluster.config import CameraConfig, Config
from onlooker.cluster.messages import ClusterError
from onlooker.cluster.ray_site import NAMESPACE, RayTransport, result_of
from onlooker.cluster.transport import SiteUnavailable
from onlooker.vision.finder import FaceFinder

PREFIX = "camera "
"""What the names of camera actors begin with."""


class CameraActor:
    """Runs a camera loop."""

    def __init__(self, camera: CameraConfig, site: str, finder: FaceFinder) -> None:
        self._loop = CameraLoop(camera, finder, lambda: RayTransport(site))

    def state(self) -> RemoteCameraStatus:
        """Frames read and faces sent so far."""
        return self._loop.state()

    def end(self) -> RemoteCameraStatus:
        """Stop reading, and deliver what was read."""
        return self._loop.end()


def start_camera(config: Config, site: str, camera: CameraConfig) -> Any:
    """Start a camera on its machine, or on any; returns the running actor if there is one."""
    placement = {} if camera.node is None else {"resources": {f"node:{camera.node}": 0.001}}
    options: dict[str, Any] = {
        "name": PREFIX + camera.name,
        "namespace": NAMESPACE,
        "get_if_exists": True,
        "lifetime": "detached",
        "max_restarts": -1,
        "max_concurrency": 2,
        "num_cpus": config.camera_cpus,
        **placement,
    }
    return ray.remote(CameraActor).options(**options).remote(camera, site, config.finder)


def camera_statuses(cameras: Iterable[str], timeout: float = 3.0) -> list[RemoteCameraStatus]:
    """The status of each camera; one that does not answer within the timeout is failing."""
    found: list[RemoteCameraStatus] = []
    called: list[tuple[str, Any]] = []
    for camera in cameras:
        try:
            called.append((camera, ray.get_actor(PREFIX + camera, NAMESPACE).state.remote()))
        except ValueError:
            found.append(RemoteCameraStatus.unknown(camera, "its process does not run"))
    deadline = time.monotonic() + timeout
    for camera, reference in called:
        try:
            found.append(result_of(reference, max(0.0, deadline - time.monotonic())))
        except (SiteUnavailable, ClusterError) as error:
            why = f"its process does not answer: {error}"
            found.append(RemoteCameraStatus.unknown(camera, why))
    return found
