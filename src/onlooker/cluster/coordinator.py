"""The coordinator: visits all sites every few seconds, spreads labels, and forgets everywhere.

It asks the cameras every second how they are; a site with a camera that is failing is degraded, and
its home has an event of it. Alerts about cameras are sent from here, where all of them are known.

A visit records which sites answer and by how much their clocks differ, and gives every site the
labels that it lacks. It compares what is there, so a visit that was missed, or made twice, does no
harm. Visits and forgetting exclude each other: no label is passed on after it was forgotten.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from onlooker.alerts.channels import Alerts
from onlooker.cluster.camera import RemoteCameraStatus
from onlooker.cluster.messages import Label, SiteReceipt, SiteReport
from onlooker.cluster.ray_camera import camera_statuses
from onlooker.cluster.ray_site import find_site, result_of
from onlooker.cluster.site import PendingForgets
from onlooker.cluster.transport import SiteUnavailable
from onlooker.core.errors import OnlookerError
from onlooker.video.live import CameraChange, FailureWatch

MAX_SKEW = 1.0
"""Seconds by which a clock may be wrong before that is a problem."""
ANSWER_WITHIN = 10.0
"""Seconds in which a site must answer to count as serving."""
FORGET_WITHIN = 60.0
"""Seconds for a forgetting, which rewrites the site's database."""
CAMERAS_EVERY = 1.0
"""Seconds between two questions to the cameras."""
MAX_UNREPORTED = 1000
"""Changes of cameras that wait for a site that is away."""


@dataclass(frozen=True, slots=True)
class SiteStatus:
    """The state of a site, as seen from outside at the last visit.

    >>> SiteStatus("north", "away", why="no answer within 10 s").report is None
    True
    """

    site: str
    state: str
    """serving; read-only; away."""
    why: str = ""
    report: SiteReport | None = None
    """The last report, even of a site that is away."""
    last_seen: float | None = None
    """When it last answered, by the coordinator's clock."""
    clock_skew: float = 0.0
    """Seconds by which its clock is ahead of the coordinator's; wrong by at most `clock_error`."""
    clock_error: float = 0.0
    restarts: int = 0
    """How often it came back as another process."""
    seconds_away: float = 0.0
    """How long it did not answer, all times together."""
    refused_labels: tuple[str, ...] = ()
    """Labels of other sites that contradict its own."""
    cameras: tuple[RemoteCameraStatus, ...] = ()
    """All that are configured, also those that do not run."""

    @property
    def health(self) -> str:
        """Its state, but degraded if it serves and one of its cameras is failing."""
        failing = any(camera.condition.state == "failing" for camera in self.cameras)
        return "degraded" if failing and self.state == "serving" else self.state

    @property
    def skewed(self) -> bool:
        """Whether its clock is certainly wrong: then the times of its events cannot be compared."""
        return abs(self.clock_skew) - self.clock_error > MAX_SKEW

    def problems(self) -> list[str]:
        """Everything that needs a person's attention, one sentence each."""
        found = [] if self.state == "serving" else [self.why or self.state]
        if self.skewed:
            found.append(f"its clock is {self.clock_skew:+.1f} s off")
        if self.report is not None:
            if self.report.downtime is not None:
                found.append(f"it was down for {self.report.downtime:.1f} s before it last opened")
            found += self.report.problems
        for camera in self.cameras:
            if camera.condition.state == "failing":
                found.append(f"camera {camera.camera} is failing: {camera.condition.problem}")
        return found + list(self.refused_labels)

    def after_silence(self, why: str, seconds: float) -> "SiteStatus":
        """The status after a visit without an answer, so many seconds after the last visit."""
        return replace(self, state="away", why=why, seconds_away=self.seconds_away + seconds)

    def after_report(self, report: SiteReport, called: float, now: float) -> "SiteStatus":
        """The status after a report that was called for at one time and had arrived at another."""
        restarted = self.report is not None and self.report.process != report.process
        return replace(
            self,
            state="serving" if report.read_only is None else "read-only",
            why=report.read_only or "",
            report=report,
            last_seen=now,
            clock_skew=report.clock - (called + now) / 2,
            clock_error=(now - called) / 2,
            restarts=self.restarts + restarted,
        )


class Coordinator:
    """Knows all sites by name, and visits them from a thread at a fixed interval."""

    def __init__(
        self,
        folders: Mapping[str, Path],
        interval: float,
        *,
        find: Callable[[str], Any] = find_site,
        ask_cameras: Callable[[Iterable[str]], list[RemoteCameraStatus]] = camera_statuses,
        alerts: Callable[[], Alerts] = Alerts,
        identity: str = "",
        timeout: float = ANSWER_WITHIN,
    ) -> None:
        self._alerts = alerts()  # here: threads do not travel to the process of the coordinator
        self._alerts.begin(identity)
        self._folders, self._interval, self._find = dict(folders), interval, find
        self.timeout = timeout
        """Seconds in which a site must answer."""
        self._statuses = {site: SiteStatus(site, "away", "not visited yet") for site in folders}
        self._turn = threading.Lock()
        """Held for a visit, and for a forgetting."""
        self._status_lock = threading.Lock()
        """Held while a status is replaced."""
        self._ask_cameras, self._cameras_turn = ask_cameras, threading.Lock()
        self._cameras: dict[str, list[str]] = {}
        self._failures: dict[str, FailureWatch] = {}
        self._unreported: list[tuple[str, CameraChange]] = []
        """What a site that was away has not recorded yet."""
        self._ended = threading.Event()
        threading.Thread(target=self._run, name="coordinator", daemon=True).start()
        threading.Thread(target=self._run_cameras, name="cameras", daemon=True).start()

    def _run(self) -> None:
        while not self._ended.wait(self._interval):
            with suppress(OnlookerError):  # a site's error is in its status
                self.visit()

    def _run_cameras(self) -> None:
        while not self._ended.wait(CAMERAS_EVERY):
            with suppress(OnlookerError, RayError):  # tried again a second later
                self._collect_cameras()

    def watch_cameras(self, cameras: Mapping[str, Sequence[str]]) -> list[SiteStatus]:
        """Ask these cameras from now on, by site; they have been started."""
        with self._cameras_turn:
            self._cameras = {site: list(names) for site, names in cameras.items()}
            known = self._failures  # `cluster up` again: what fails already is no news
            self._failures = {site: known.get(site) or FailureWatch() for site in cameras}
        self._collect_cameras()
        return self.statuses()

    def statuses(self) -> list[SiteStatus]:
        """All sites, as of the last visit."""
        return list(self._statuses.values())

    def visit(self) -> list[SiteStatus]:
        """Visit all sites now and at once, so that one that hangs does not delay the others."""
        with self._turn:
            self._collect_reports()
            self._spread_labels()
        self._collect_cameras()
        return self.statuses()

    def look(self) -> list[SiteStatus]:
        """Visit all sites without spreading labels: nothing changes at any site."""
        with self._turn:
            self._collect_reports()
            return self.statuses()

    def end(self) -> None:
        """Stop visiting; a visit that has begun is finished first."""
        self._ended.set()
        with self._turn:
            pass
        self._alerts.close()

    def alert_problems(self) -> list[str]:
        """What is wrong with the alerts, without secrets."""
        return self._alerts.problems()

    def forget(self, name: str) -> list[SiteReceipt]:
        """Forget a name at every site, a receipt each.

        A site that is away does it before it serves again.
        """
        with self._turn:
            return [self._forget_at(site, name) for site in self._folders]

    # ---- cameras

    def _collect_cameras(self) -> None:
        """Ask every camera how it is, and have its site record what has changed."""
        with self._cameras_turn:
            names = [name for cameras in self._cameras.values() for name in cameras]
            if not names:
                return
            found = {status.camera: status for status in self._ask_cameras(names)}
            for site, cameras in self._cameras.items():
                before = {status.camera: status for status in self._statuses[site].cameras}
                now = tuple(_since(before.get(name), found[name]) for name in cameras)
                with self._status_lock:
                    self._statuses[site] = replace(self._statuses[site], cameras=now)
                conditions = {status.camera: status.condition for status in now}
                changes = self._failures[site].changes(conditions)
                for change in changes:
                    self._alerts.camera(change, site=site)
                self._unreported += [(site, change) for change in changes]
            unreported, self._unreported = self._unreported[-MAX_UNREPORTED:], []
            for site, change in unreported:
                reported = False
                if self._statuses[site].state != "away":
                    with suppress(SiteUnavailable, OnlookerError):
                        fields = change.camera, change.state, change.problem
                        self._call(site, "record_camera", *fields)
                        reported = True
                if not reported:
                    self._unreported.append((site, change))

    # ---- reports

    def _collect_reports(self) -> None:
        called = time.time()
        for site, (report, now) in self._call_all("report").items():
            with self._status_lock:
                before = self._statuses[site]
                if isinstance(report, Exception):
                    self._statuses[site] = before.after_silence(str(report), self._interval)
                else:
                    self._statuses[site] = before.after_report(report, called, now)

    def _call_all(
        self, method: str, sites: Iterable[str] | None = None
    ) -> dict[str, tuple[Any, float]]:
        """What each site returned or the error, and when; all within the timeout."""
        results: dict[str, tuple[Any, float]] = {}
        waiting: dict[Any, str] = {}
        for site in self._folders if sites is None else sites:
            try:
                waiting[self._find(site).call.remote(method)] = site
            except (SiteUnavailable, RayError) as error:
                results[site] = error, time.time()
        deadline = time.monotonic() + self.timeout
        while waiting:
            ready, _ = ray.wait(list(waiting), timeout=max(0.0, deadline - time.monotonic()))
            now = time.time()
            if not ready:
                late = SiteUnavailable(f"no answer within {self.timeout:g} s")
                return results | dict.fromkeys(waiting.values(), (late, now))
            site = waiting.pop(ready[0])
            try:
                results[site] = result_of(ready[0], self.timeout), now
            except (SiteUnavailable, OnlookerError) as error:
                results[site] = error, now
        return results

    # ---- labels

    def _spread_labels(self) -> None:
        """Give every site the labels that it lacks."""
        serving = [site for site, status in self._statuses.items() if status.state == "serving"]
        keys: dict[str, list[bytes]] = {
            site: answer
            for site, (answer, _) in self._call_all("label_keys", serving).items()
            if not isinstance(answer, Exception)
        }
        everywhere = {key for each in keys.values() for key in each}
        for site, known in keys.items():
            lacking = everywhere - set(known)
            refused: list[str] = []
            for other, theirs in keys.items():
                wanted = [key for key in theirs if key in lacking]
                if wanted:
                    with suppress(SiteUnavailable, OnlookerError):  # the next visit tries again
                        labels: list[Label] = self._call(other, "labels", wanted)
                        taught = self._call(site, "learn_labels", labels, f"site {other}")
                        refused += taught.refused
                        lacking -= set(wanted)
            with self._status_lock:
                self._statuses[site] = replace(self._statuses[site], refused_labels=tuple(refused))

    def _call(self, site: str, method: str, *arguments: Any) -> Any:
        return result_of(self._find(site).call.remote(method, *arguments), self.timeout)

    # ---- forgetting

    def _forget_at(self, site: str, name: str) -> SiteReceipt:
        serving = self._statuses[site].state == "serving"
        timeout = FORGET_WITHIN if serving else self.timeout
        try:
            receipt: SiteReceipt = result_of(self._find(site).call.remote("forget", name), timeout)
            return receipt
        except (SiteUnavailable, OnlookerError) as error:
            PendingForgets(self._folders[site]).add(name)
            return SiteReceipt(site, name, "pending", why=str(error))


def _since(before: RemoteCameraStatus | None, now: RemoteCameraStatus) -> RemoteCameraStatus:
    """The status, failing since it was first seen to be: a process that is gone cannot say."""
    if before is None or {before.condition.state, now.condition.state} != {"failing"}:
        return now
    return replace(now, condition=replace(now.condition, since=before.condition.since))
