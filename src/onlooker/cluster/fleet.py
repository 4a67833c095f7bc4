"""All of a cluster: started from a configuration, found again by name, asked, stopped.

Sites, cameras and rounds are detached actors: they outlive the command that starts them.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError

from onlooker.cluster.config import Config
from onlooker.cluster.coordinator import Coordinator, SiteStatus
from onlooker.cluster.enrolment import labels_of, noted, untaught
from onlooker.cluster.merging import ANSWER_WITHIN, MergedView, merge_sites
from onlooker.cluster.messages import ClusterError, SiteReceipt, SiteReport
from onlooker.cluster.ray_camera import start_camera
from onlooker.cluster.ray_site import NAMESPACE, SiteSpec, find_site, result_of, start_site
from onlooker.cluster.transport import SiteUnavailable
from onlooker.home.taught import Register

OPEN_WITHIN = 120.0
"""Seconds for a site to open its home: the lock of a life before, and the journal since then."""
ROUNDS = "rounds"
Step = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class StartedCluster:
    """What came of starting a cluster."""

    states: list[SiteStatus]
    left_out: list[str]
    """In the folder of people, but forgotten since they were taught: not taught again."""


def start_cluster(config: Config, step: Step = lambda _: None) -> StartedCluster:
    """Start everything that does not run yet; every site serves when this returns."""
    labels = labels_of(config)  # what is wrong with a picture is found before anything runs
    sites = {
        site.name: start_site(
            SiteSpec(site.name, site.folder, config.learner_config), cpus=config.site_cpus
        )
        for site in config.sites
    }
    known = {name for site, handle in sites.items() for name in _serving(site, handle, step).names}
    config.folder.mkdir(parents=True, exist_ok=True)
    register = Register(config.folder)
    left_out, new = untaught(labels, known, register)
    for handle in sites.values() if new else ():
        _asked(handle.call.remote("learn_labels", new, "people"), OPEN_WITHIN)
    noted(new, register)
    rounds = _rounds(config)
    states: list[SiteStatus] = _asked(rounds.visit.remote(), OPEN_WITHIN)
    for site in config.sites:
        for camera in site.cameras:
            handle = start_camera(config, site.name, camera)
            _asked(handle.state.remote(), OPEN_WITHIN)
            step(f"camera {camera.name}")
    return StartedCluster(states, left_out)


def _serving(site: str, handle: Any, step: Step) -> SiteReport:
    """Wait until a site serves."""
    try:
        report: SiteReport = result_of(handle.call.remote("report"), OPEN_WITHIN)
    except SiteUnavailable as error:
        raise ClusterError(f"site {site} does not serve: {error}") from error
    step(f"site {site}")
    return report


def _rounds(config: Config) -> Any:
    folders = {site.name: site.folder for site in config.sites}
    # The head node lives as long as the cluster does, and rounds remember what they saw.
    made = (
        ray.remote(Coordinator)
        .options(
            name=ROUNDS,
            namespace=NAMESPACE,
            get_if_exists=True,
            lifetime="detached",
            max_restarts=-1,
            max_concurrency=4,
            num_cpus=0,
            resources={"node:__internal_head__": 0.001},
        )
        .remote(folders, config.names_every)
    )
    return made


def find_coordinator() -> Any:
    """The rounds of the cluster that this process is connected to."""
    try:
        return ray.get_actor(ROUNDS, NAMESPACE)
    except ValueError as error:
        raise ClusterError(
            "no cluster of Onlooker runs on this Ray; `onlooker cluster up` starts one"
        ) from error


def site_statuses(*, visit: bool = False, timeout: float = 60.0) -> list[SiteStatus]:
    """All sites, as the last round saw them, or as one sees them now."""
    rounds = find_coordinator()
    asked = rounds.visit.remote() if visit else rounds.states.remote()
    found: list[SiteStatus] = _asked(asked, timeout)
    return found


def forget_everywhere(name: str) -> list[SiteReceipt]:
    """Forget a name at every site: one receipt each."""
    receipts: list[SiteReceipt] = _asked(find_coordinator().forget.remote(name), 600.0)
    return receipts


def merged_view(timeout: float = ANSWER_WITHIN) -> MergedView:
    """What all sites know together, and which of them are missing."""
    known = site_statuses()
    sites: dict[str, Any] = {}
    for state in known:
        with suppress(SiteUnavailable):  # then it is among the missing
            sites[state.site] = find_site(state.site)
    seen = {state.site: state.seen for state in known}
    return merge_sites(sites, timeout=timeout, seen=seen)


def stop_cluster(step: Step = lambda _: None) -> int:
    """End cameras, rounds and sites in order: how many sites were closed in order."""
    names = [name for name in _actors() if name.startswith("camera ")]
    for name in names:
        _end(name, "end")
        step(name)
    _end(ROUNDS, "end")
    closed = 0
    for name in [each for each in _actors() if each.startswith("site ")]:
        closed += _end(name, "call", "close")
        step(name)
    return closed


def _actors() -> list[str]:
    listed = ray.util.list_named_actors(all_namespaces=True)
    return sorted(each["name"] for each in listed if each["namespace"] == NAMESPACE)


def _end(name: str, verb: str, *arguments: Any) -> bool:
    """Ask an actor to end, then take it away for good: whether it did as asked."""
    try:
        handle: Any = ray.get_actor(name, NAMESPACE)
    except ValueError:
        return False
    try:
        result_of(getattr(handle, verb).remote(*arguments), 30.0)
        return True
    except (SiteUnavailable, ClusterError):
        return False
    finally:
        with suppress(RayError):
            ray.kill(handle, no_restart=True)


def _asked(reference: Any, timeout: float) -> Any:
    try:
        return result_of(reference, timeout)
    except SiteUnavailable as error:
        raise ClusterError(f"the cluster does not answer: {error}") from error
