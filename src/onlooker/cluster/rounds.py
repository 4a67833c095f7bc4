"""The rounds: somebody who visits all sites every few seconds, and forgets everywhere.

A round notes which sites answer, by how much their clocks differ, and tells every site the labels
that it lacks. It compares what is there, so that a round that was missed, or done twice, does no
harm. Rounds and forgettings take turns: no label is carried past a forgetting.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from onlooker.cluster.actor import find_site, told
from onlooker.cluster.line import Lost
from onlooker.cluster.pending import Pending
from onlooker.cluster.site_state import SiteState, away, seen
from onlooker.cluster.wire import Label, SiteReceipt
from onlooker.core.errors import OnlookerError

ANSWER_WITHIN = 10.0
FORGET_WITHIN = 60.0
"""Erasing all of history takes a while."""


class Rounds:
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
        self._states = {site: SiteState(site, "away", "not visited yet") for site in folders}
        self._turn = threading.Lock()
        self._ended = threading.Event()
        threading.Thread(target=self._go, name="rounds", daemon=True).start()

    def _go(self) -> None:
        while not self._ended.wait(self._every):
            with suppress(OnlookerError):  # what a site says against it is in its state
                self.visit()

    def states(self) -> list[SiteState]:
        """As the last round saw them."""
        return list(self._states.values())

    def visit(self) -> list[SiteState]:
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
            except (Lost, RayError) as error:
                answers[site] = error, time.time()
        deadline = time.monotonic() + self._timeout
        while waiting:
            left = max(0.0, deadline - time.monotonic())
            ready, _ = ray.wait(list(waiting), timeout=left)
            now = time.time()
            if not ready:
                late = Lost(f"no answer within {self._timeout:g} s")
                return answers | dict.fromkeys(waiting.values(), (late, now))
            try:
                answers[waiting[ready[0]]] = told(ready[0], self._timeout), now
            except (Lost, OnlookerError) as error:
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
                    with suppress(Lost, OnlookerError):  # the next round tries again
                        labels: list[Label] = self._ask(other, "labels", wanted)
                        taught = self._ask(site, "learn_labels", labels, f"site {other}")
                        refused += taught.refused
                        lacking -= set(wanted)
            self._note_refused(site, tuple(refused))

    def _note_refused(self, site: str, refused: tuple[str, ...]) -> None:
        self._states[site] = replace(self._states[site], refused=refused)

    def _ask(self, site: str, verb: str, *arguments: Any) -> Any:
        return told(self._find(site).call.remote(verb, *arguments), self._timeout)

    # ---- forgetting

    def forget(self, name: str) -> list[SiteReceipt]:
        """Forget a name at every site, with a receipt each; who is away does it before serving."""
        with self._turn:
            return [self._forget_at(site, name) for site in self._folders]

    def _forget_at(self, site: str, name: str) -> SiteReceipt:
        within = FORGET_WITHIN if self._states[site].state == "serving" else self._timeout
        try:
            receipt: SiteReceipt = told(self._find(site).call.remote("forget", name), within)
            return receipt
        except (Lost, OnlookerError) as error:
            Pending(self._folders[site]).add(name)
            return SiteReceipt(site, name, "pending", why=str(error))
