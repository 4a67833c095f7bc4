"""A whole cluster: start it from a configuration, find it again by name, query it, stop it.

Sites, cameras and the coordinator are detached actors: they outlive the command that starts them.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import ray
from numpy.typing import NDArray
from ray.exceptions import RayError

from onlooker.cluster.config import Config
from onlooker.cluster.coordinator import Coordinator, SiteStatus
from onlooker.cluster.enrolment import labels_of, taught_faces
from onlooker.cluster.merging import ANSWER_WITHIN, MergedView, merge_sites
from onlooker.cluster.messages import ClusterError, SiteReceipt, SiteReport
from onlooker.cluster.ray_camera import PREFIX as CAMERA_PREFIX
from onlooker.cluster.ray_camera import start_camera
from onlooker.cluster.ray_site import NAMESPACE, SiteSpec, find_site, result_of, start_site
from onlooker.cluster.ray_site import PREFIX as SITE_PREFIX
from onlooker.cluster.transport import SiteUnavailable
from onlooker.core.errors import OnlookerError
from onlooker.home.album import SeenBefore

OPEN_WITHIN = 120.0
"""Seconds for a site to open its home: wait for the lock of the process before, then replay."""
FORGET_WITHIN = 600.0
END_WITHIN = 30.0
COORDINATOR = "coordinator"
OnStep = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class StartedCluster:
    """The result of starting a cluster."""

    statuses: list[SiteStatus]
    forgotten: list[str]
    """In the folder of people, but forgotten since they were taught: not taught again."""


def start_cluster(config: Config, on_step: OnStep = lambda _: None) -> StartedCluster:
    """Start everything that does not run yet; every site serves when this returns."""
    labels = labels_of(config)  # a bad picture is found before anything runs
    config.alerts()  # and so is an address that no alert can be sent to
    sites = {
        site.name: start_site(
            SiteSpec(site.name, site.folder, config.learner_config), cpus=config.site_cpus
        )
        for site in config.sites
    }
    known: set[str] = set()
    for name, handle in sites.items():
        known.update(_wait_until_serving(name, handle).names)
        on_step(f"site {name}")
    with taught_faces(config.folder) as taught:
        new, forgotten = taught.untaught(labels, known)
        for handle in sites.values() if new else ():
            _call(handle.call.remote("learn_labels", new, "people"), OPEN_WITHIN)
        taught.add(new)
        identity = taught.identity
    coordinator = _start_coordinator(config, identity)
    _call(coordinator.visit.remote(), OPEN_WITHIN)
    for site in config.sites:
        for camera in site.cameras:
            _call(start_camera(config, site.name, camera).state.remote(), OPEN_WITHIN)
            on_step(f"camera {camera.name}")
    cameras = {site.name: [camera.name for camera in site.cameras] for site in config.sites}
    statuses: list[SiteStatus] = _call(coordinator.watch_cameras.remote(cameras), OPEN_WITHIN)
    return StartedCluster(statuses, forgotten)


def stop_cluster(on_step: OnStep = lambda _: None) -> int:
    """Stop coordinator, cameras and sites, in this order; returns how many sites were closed."""
    _end(COORDINATOR, "end")  # first: a camera that is stopped is not failing
    for name in _actor_names(CAMERA_PREFIX):
        _end(name, "end")
        on_step(name)
    closed = 0
    for name in _actor_names(SITE_PREFIX):
        closed += _end(name, "call", "close")
        on_step(name)
    return closed


def find_coordinator() -> Any:
    """The coordinator of the cluster that this process is connected to."""
    try:
        return ray.get_actor(COORDINATOR, NAMESPACE)
    except ValueError as error:
        raise ClusterError(
            "no cluster of Onlooker runs on this Ray; `onlooker cluster up` starts one"
        ) from error


def site_statuses(*, visit: bool = False, timeout: float = 60.0) -> list[SiteStatus]:
    """All sites, as of the coordinator's last visit, or of one that it makes now."""
    coordinator = find_coordinator()
    called = coordinator.visit.remote() if visit else coordinator.statuses.remote()
    statuses: list[SiteStatus] = _call(called, timeout)
    return statuses


def alert_problems(timeout: float = 60.0) -> list[str]:
    """What is wrong with the alerts of the coordinator."""
    problems: list[str] = _call(find_coordinator().alert_problems.remote(), timeout)
    return problems


def forget_everywhere(name: str) -> list[SiteReceipt]:
    """Forget a name at every site: one receipt each."""
    receipts: list[SiteReceipt] = _call(find_coordinator().forget.remote(name), FORGET_WITHIN)
    return receipts


def merged_view(timeout: float = ANSWER_WITHIN) -> MergedView:
    """What all sites know together, and which of them are missing."""
    statuses = site_statuses()
    sites: dict[str, Any] = {}
    for status in statuses:
        with suppress(SiteUnavailable):  # then it is listed as missing
            sites[status.site] = find_site(status.site)
    last_seen = {status.site: status.last_seen for status in statuses}
    return merge_sites(sites, timeout=timeout, last_seen=last_seen)


@dataclass(frozen=True, slots=True)
class FoundAtSite:
    """Somebody who looks like a face, at one site.

    >>> FoundAtSite("north", (), "no answer within 10 s").problem
    'no answer within 10 s'
    """

    site: str
    seen: tuple[SeenBefore, ...]
    problem: str = ""
    """Why the site did not answer."""


def find_everywhere(
    sites: Iterable[str],
    vector: NDArray[Any],
    timeout: float = ANSWER_WITHIN,
    *,
    find: Callable[[str], Any] = find_site,
) -> list[FoundAtSite]:
    """Was this face at any of these sites? One answer of each; all look at the same time."""
    called: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for site in sites:
        try:
            called[site] = find(site).call.remote("find_face", vector)
        except (SiteUnavailable, RayError) as error:
            problems[site] = str(error)
    found = []
    for site, reference in called.items():
        try:
            found.append(FoundAtSite(site, tuple(result_of(reference, timeout))))
        except (SiteUnavailable, OnlookerError) as error:
            problems[site] = str(error)
    return found + [FoundAtSite(site, (), problem) for site, problem in problems.items()]


def _wait_until_serving(site: str, handle: Any) -> SiteReport:
    try:
        report: SiteReport = result_of(handle.call.remote("report"), OPEN_WITHIN)
    except SiteUnavailable as error:
        raise ClusterError(f"site {site} does not serve: {error}") from error
    return report


def _start_coordinator(config: Config, identity: str) -> Any:
    folders = {site.name: site.folder for site in config.sites}
    # On the head node, which lives as long as the cluster: a restart would lose the statuses.
    options: dict[str, Any] = {
        "name": COORDINATOR,
        "namespace": NAMESPACE,
        "get_if_exists": True,
        "lifetime": "detached",
        "max_restarts": -1,
        "max_concurrency": 4,
        "num_cpus": 0,
        "resources": {"node:__internal_head__": 0.001},
    }
    channels = {"alerts": config.alerts, "identity": identity}
    return (
        ray.remote(Coordinator).options(**options).remote(folders, config.names_every, **channels)
    )


def _actor_names(prefix: str) -> list[str]:
    listed = ray.util.list_named_actors(all_namespaces=True)
    names = [each["name"] for each in listed if each["namespace"] == NAMESPACE]
    return sorted(name for name in names if name.startswith(prefix))


def _end(name: str, method: str, *arguments: Any) -> bool:
    """Call an actor's method to end it in order, then remove it; whether the call succeeded."""
    try:
        handle: Any = ray.get_actor(name, NAMESPACE)
    except ValueError:
        return False
    try:
        result_of(getattr(handle, method).remote(*arguments), END_WITHIN)
        return True
    except (SiteUnavailable, ClusterError):
        return False
    finally:
        with suppress(RayError):
            ray.kill(handle, no_restart=True)


def _call(reference: Any, timeout: float) -> Any:
    try:
        return result_of(reference, timeout)
    except SiteUnavailable as error:
        raise ClusterError(f"the cluster does not answer: {error}") from error
