"""A camera's loop as a Ray actor, at the machine that has the camera."""

from contextlib import suppress
from typing import Any

import ray

from onlooker.cluster.camera import CameraLoop, RemoteCameraStatus
from onlooker.cluster.config import CameraConfig, Config
from onlooker.cluster.messages import ClusterError
from onlooker.cluster.ray_site import NAMESPACE, RayTransport, result_of
from onlooker.cluster.transport import SiteUnavailable
from onlooker.vision.finder import FaceFinder


class CameraActor:
    """A camera's loop, where the camera is."""

    def __init__(self, camera: CameraConfig, site: str, finder: FaceFinder) -> None:
        self._loop = CameraLoop(camera, finder, lambda: RayTransport(site))

    def state(self) -> RemoteCameraStatus:
        """How far it is."""
        return self._loop.state()

    def end(self) -> RemoteCameraStatus:
        """Stop."""
        return self._loop.end()


def start_camera(config: Config, site: str, camera: CameraConfig) -> Any:
    """Start a camera where it is, or somewhere; one that runs already is found."""
    where = {} if camera.node is None else {"resources": {f"node:{camera.node}": 0.001}}
    options: dict[str, Any] = {
        "name": _camera_actor(camera.name),
        "namespace": NAMESPACE,
        "get_if_exists": True,
        "lifetime": "detached",
        "max_restarts": -1,
        "max_concurrency": 2,
        "num_cpus": config.camera_cpus,
        **where,
    }
    return ray.remote(CameraActor).options(**options).remote(camera, site, config.finder)


def _camera_actor(camera: str) -> str:
    return f"camera {camera}"


def camera_statuses(
    cameras: list[str], timeout: float = 5.0
) -> dict[str, RemoteCameraStatus | str]:
    """How each camera is; a text: why it cannot be told."""
    asked: dict[str, Any] = {}
    for camera in cameras:
        with suppress(ValueError):
            handle = ray.get_actor(_camera_actor(camera), NAMESPACE)
            asked[camera] = handle.state.remote()
    found: dict[str, RemoteCameraStatus | str] = dict.fromkeys(cameras, "not up")
    for camera, reference in asked.items():
        try:
            found[camera] = result_of(reference, timeout)
        except (SiteUnavailable, ClusterError) as error:
            found[camera] = str(error)
    return found
