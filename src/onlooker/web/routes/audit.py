"""What was learned, checked without truth; and how well the people are told apart.

Both take seconds on a large home. They are computed on a copy, outside the home thread, so that
cameras do not wait: the audit in a thread of its own, one at a time.
"""

import logging
from dataclasses import asdict
from threading import Lock, Thread
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Query
from fastapi.concurrency import run_in_threadpool

from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import State
from onlooker.home.audit import TWICE, Audit, PersonAudit, audit
from onlooker.home.events import Event
from onlooker.home.home import Home
from onlooker.home.separation import separation
from onlooker.vision.finder import kind_of
from onlooker.vision.scales import Scale, auto_radius
from onlooker.web.people import id_of
from onlooker.web.responses import problems
from onlooker.web.schemas import AuditReport, AuditRow, NamedTwiceRow, PersonAuditRow, SeparationRow
from onlooker.web.service import Service

log = logging.getLogger(__name__)
Again = Annotated[bool, Query(description="Start a new audit if the home has changed since.")]


class HomeCopy(NamedTuple):
    """What both need of the home, copied in the home thread."""

    sequence: int
    settings: OnlineHarmonicLearner
    state: State
    refused: int
    twice: list[Event]
    pictured: list[int]

    def learner(self) -> OnlineHarmonicLearner:
        """The learner, made again outside the home thread: all distances are measured."""
        return self.settings.restored(self.state)


class Audits:
    """The newest audit that is finished, and the one that runs; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: AuditRow | None = None
        self._done: int | None = None
        self._of = 0

    def is_due(self, home: Home, *, again: bool) -> bool:
        """Whether there is none; or, if it is wanted again, none of the home as it is now.

        One that names somebody who was forgotten or renamed since is dropped, and so is one of a
        home in which nobody had a name yet.
        """
        with self._lock:
            found = self._found
            names = {*home.learner.names}
            if found and (
                {person.name for person in found.people} - names or (names and not found.people)
            ):
                found = self._found = None
            return found is None or (again and found.sequence != home.sequence)

    def report(self, newest: int) -> AuditReport:
        """How far it is."""
        with self._lock:
            of = None if self._done is None else self._of
            return AuditReport(newest=newest, done=self._done, of=of, audit=self._found)

    def start(self, copy: HomeCopy) -> None:
        """Start one, unless one runs already."""
        with self._lock:
            if self._done is not None:
                return
            self._done, self._of = 0, len(copy.state.names)
        Thread(target=self._run, args=(copy,), name="onlooker audit", daemon=True).start()

    def _run(self, copy: HomeCopy) -> None:
        found: AuditRow | None = None
        try:
            learner = copy.learner()
            made = audit(learner, refused=copy.refused, events=copy.twice, done=self._advance)
            found = _row(made, copy)
        except Exception:
            log.exception("the audit failed")
        finally:
            with self._lock:
                self._found, self._done = found or self._found, None

    def _advance(self) -> None:
        with self._lock:
            self._done = (self._done or 0) + 1


def audit_routes(service: Service) -> APIRouter:
    """The audit and the separation of people; nothing is changed."""
    routes, audits = APIRouter(tags=["questions"]), Audits()
    people, call = service.people, service.home_thread.call
    cached: dict[int, SeparationRow] = {}

    def copy_of(home: Home) -> HomeCopy:
        refused = sum(card.count for card in people.strangers(hidden=True))
        twice = home.events(limit=TWICE, kind="twice", newest=True)
        learner, pictured = home.learner, home.album.vertices()
        empty, state = learner.empty_copy(), learner.state()
        return HomeCopy(home.sequence, empty, state, refused, twice, pictured)

    @routes.get("/audit", responses=problems(422))
    async def audited(again: Again = False) -> AuditReport:
        """What was learned of whom, and how much of it may be wrong.

        The first request starts an audit, which takes seconds; ask again until `done` is null. The
        result stays until a new one is wanted.
        """

        def job(home: Home) -> int:
            if audits.is_due(home, again=again):
                audits.start(copy_of(home))
            return home.sequence

        return audits.report(await call(job))

    @routes.get("/separation", responses=problems(422))
    async def separated() -> SeparationRow:
        """How far the people are from each other, who is too alike, and which trust radius fits."""

        def job(home: Home) -> HomeCopy | SeparationRow:
            return cached.get(home.sequence) or copy_of(home)

        found = await call(job)
        if isinstance(found, HomeCopy):
            row = await run_in_threadpool(_separation, found)
            cached.clear()
            cached[found.sequence] = row
            return row
        return found

    return routes


def _separation(copy: HomeCopy) -> SeparationRow:
    learner = copy.learner()
    found = separation(
        learner, most=auto_radius(kind_of(learner.features), Scale.of(learner.kernel))
    )
    return SeparationRow.model_validate(found)


def _row(found: Audit, copy: HomeCopy) -> AuditRow:
    return AuditRow(
        sequence=copy.sequence,
        refused=copy.refused,
        named_unknown=found.named_unknown,
        contamination=found.contamination,
        people=[_person(person) for person in found.people],
        twice=[NamedTwiceRow.model_validate(pair) for pair in found.twice],
        pictured=copy.pictured,
    )


def _person(person: PersonAudit) -> PersonAuditRow:
    """A person for JSON, where keys are text: nobody is the empty name."""
    row = asdict(person)
    for key in ("hidden_labels", "hidden_person"):
        row[key] = {name or "": count for name, count in row[key].items()}
    return PersonAuditRow(id=id_of(person.name), **row)
