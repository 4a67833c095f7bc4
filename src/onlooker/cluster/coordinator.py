"""The rounds: somebody who visits all sites every few seconds, and forgets everywhere.

A round notes which sites answer, by how much their clocks differ, and tells every site the labels
that it lacks. It compares what is there, so that a round that was missed, or done twice, does no
harm. Coordinator and forgettings take turns: no label is carried past a forgetting.

How a site is, as somebody sees it who visits it every few seconds.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from onlooker.cluster.messages import Label, SiteReceipt, SiteReport
from onlooker.cluster.ray_site import find_site, result_of
from onlooker.cluster.site import PendingForgets
from onlooker.cluster.transport import SiteUnavailable
from onlooker.core.errors import OnlookerError

SKEW = 1.0
"""Seconds by which a clock may be wrong before it is called a problem."""


@dataclass(frozen=True, slots=True)
class SiteStatus:
    """How a site is, as the last round saw it.

    >>> SiteStatus("north", "away", why="no answer within 10 s").report is None
    True
    """

    site: str
    state: str
    """serving; read-only; away."""
    why: str = ""
    report: SiteReport | None = None
    """The last one, even of a site that is away."""
    seen: float | None = None
    """When it last answered, by the clock of the rounds."""
    skew: float = 0.0
    """How far its clock is ahead of that one, in seconds; the error is at most `give`."""
    give: float = 0.0
    moves: int = 0
    """How often it came back as another process."""
    away: float = 0.0
    """Seconds in which it did not answer, all times together."""
    refused: tuple[str, ...] = ()
    """Labels of other sites that contradict its own."""

    @property
    def skewed(self) -> bool:
        """Whether its clock is certainly wrong: times of its events cannot be compared."""
        return abs(self.skew) - self.give > SKEW

    def problems(self) -> list[str]:
        """All that a person should know, in words."""
        found = [] if self.state == "serving" else [self.why or self.state]
        if self.skewed:
            found.append(f"its clock is {self.skew:+.1f} s off")
        if self.report is not None:
            gap = self.report.gap
            if gap is not None:
                found.append(f"nobody served for {gap:.1f} s before it last opened")
            found += self.report.problems
        return found + list(self.refused)


def away(before: SiteStatus, why: str, every: float) -> SiteStatus:
    """After a round in which it did not answer, `every` seconds after the one before."""
    return replace(before, state="away", why=why, away=before.away + every)


def seen(before: SiteStatus, report: SiteReport, asked: float, now: float) -> SiteStatus:
    """After it reported, by now; asked is when."""
    was = before.report
    moved = was is not None and was.process != report.process
    return replace(
        before,
        state="serving" if report.read_only is None else "read-only",
        why=report.read_only or "",
        report=report,
        seen=now,
        skew=report.clock - (asked + now) / 2,
        give=(now - asked) / 2,
        moves=before.moves + moved,
    )


ANSWER_WITHIN = 10.0
FORGET_WITHIN = 60.0
"""Erasing all of history takes a while."""


class Coordinator:
    """Knows all sites by name; a thread makes a round every so many seconds."""

    def __init__(
        self,
        folders: Mapping[str, Path],
        every: float,
        *,
        find: Callable[[str], Any] = find_site,
        timeout: float = ANSWER_WITHIN,
    ) -> None:
        self._folders, self._every, self._find = dict(folders), every, find
        self._timeout = timeout
        self._states = {site: SiteStatus(site, "away", "not visited yet") for site in folders}
        self._turn = threading.Lock()
        self._ended = threading.Event()
        threading.Thread(target=self._go, name="rounds", daemon=True).start()

    def _go(self) -> None:
        while not self._ended.wait(self._every):
            with suppress(OnlookerError):  # what a site says against it is in its state
                self.visit()

    def states(self) -> list[SiteStatus]:
        """As the last round saw them."""
        return list(self._states.values())

    def visit(self) -> list[SiteStatus]:
        """One round, now: all sites at once, so that one which hangs holds up nobody."""
        with self._turn:
            self._look()
            self._tell_names()
            return self.states()

    def end(self) -> None:
        """No more rounds."""
        self._ended.set()
        with self._turn:
            pass

    # ---- how they are

    def _look(self) -> None:
        asked = time.time()
        for site, (report, now) in self._ask_all("report").items():
            before = self._states[site]
            if isinstance(report, Exception):
                self._states[site] = away(before, str(report), self._every)
            else:
                self._states[site] = seen(before, report, asked, now)

    def _ask_all(
        self, verb: str, sites: Iterable[str] | None = None
    ) -> dict[str, tuple[Any, float]]:
        """What each site says, or the error, and when; all within the time."""
        answers: dict[str, tuple[Any, float]] = {}
        waiting: dict[Any, str] = {}
        for site in self._folders if sites is None else sites:
            try:
                waiting[self._find(site).call.remote(verb)] = site
            except (SiteUnavailable, RayError) as error:
                answers[site] = error, time.time()
        deadline = time.monotonic() + self._timeout
        while waiting:
            left = max(0.0, deadline - time.monotonic())
            ready, _ = ray.wait(list(waiting), timeout=left)
            now = time.time()
            if not ready:
                late = SiteUnavailable(f"no answer within {self._timeout:g} s")
                return answers | dict.fromkeys(waiting.values(), (late, now))
            try:
                answers[waiting[ready[0]]] = result_of(ready[0], self._timeout), now
            except (SiteUnavailable, OnlookerError) as error:
                answers[waiting[ready[0]]] = error, now
            del waiting[ready[0]]
        return answers

    # ---- names

    def _tell_names(self) -> None:
        """Every site gets the labels that it lacks."""
        serving = [site for site, state in self._states.items() if state.state == "serving"]
        keys: dict[str, list[bytes]] = {
            site: answer
            for site, (answer, _) in self._ask_all("label_keys", serving).items()
            if not isinstance(answer, Exception)
        }
        everywhere = {key for some in keys.values() for key in some}
        for site, known in keys.items():
            lacking = everywhere - set(known)
            refused: list[str] = []
            for other, theirs in keys.items():
                wanted = [key for key in theirs if key in lacking]
                if wanted:
                    with suppress(SiteUnavailable, OnlookerError):  # the next round tries again
                        labels: list[Label] = self._ask(other, "labels", wanted)
                        taught = self._ask(site, "learn_labels", labels, f"site {other}")
                        refused += taught.refused
                        lacking -= set(wanted)
            self._note_refused(site, tuple(refused))

    def _note_refused(self, site: str, refused: tuple[str, ...]) -> None:
        self._states[site] = replace(self._states[site], refused=refused)

    def _ask(self, site: str, verb: str, *arguments: Any) -> Any:
        return result_of(self._find(site).call.remote(verb, *arguments), self._timeout)

    # ---- forgetting

    def forget(self, name: str) -> list[SiteReceipt]:
        """Forget a name at every site, with a receipt each; who is away does it before serving."""
        with self._turn:
            return [self._forget_at(site, name) for site in self._folders]

    def _forget_at(self, site: str, name: str) -> SiteReceipt:
        within = FORGET_WITHIN if self._states[site].state == "serving" else self._timeout
        try:
            receipt: SiteReceipt = result_of(self._find(site).call.remote("forget", name), within)
            return receipt
        except (SiteUnavailable, OnlookerError) as error:
            PendingForgets(self._folders[site]).add(name)
            return SiteReceipt(site, name, "pending", why=str(error))
