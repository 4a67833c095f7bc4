"""A site as a Ray actor: restarted wherever there is room, with its state from the disk.

Ray must not repeat calls by itself (`max_task_retries=0`): its retries run out of order, and
examples were lost that way. Senders repeat, and sites refuse gaps. `max_pending_calls` bounds what
may wait in front of a site; a sender that meets the bound waits.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray
from ray.actor import ActorHandle
from ray.exceptions import (
    ActorDiedError,
    GetTimeoutError,
    PendingCallsLimitExceeded,
    RayError,
    RayTaskError,
)

from onlooker.cluster.codec import (
    decode_answer,
    decode_batch,
    encode_answer,
    encode_batch,
)
from onlooker.cluster.messages import (
    BatchAnswer,
    ClusterError,
    LearnerConfig,
    NumberedExample,
    SenderSession,
)
from onlooker.cluster.site import Site
from onlooker.cluster.transport import SiteUnavailable
from onlooker.core.errors import OnlookerError
from onlooker.home.database import HomeError
from onlooker.home.disk import HomeInUse
from onlooker.home.retention import RetentionPolicy

NAMESPACE = "onlooker"
PENDING_CALLS = 64
ANSWER_WITHIN = 30.0
"""Seconds after which a batch counts as lost, and is sent again."""
LOCK_PATIENCE = 15.0
"""Seconds that a site waits for the process that had its home before to be gone."""


@dataclass(frozen=True)
class SiteSpec:
    """All that it takes to open a site, wherever that is."""

    name: str
    folder: Path
    """On storage that every node it may run on can see, with locks that work."""
    learner_config: LearnerConfig
    retention: RetentionPolicy | None = None
    skew: float = 0.0
    """Seconds that its clock is wrong: for rehearsals."""
    patience: float = LOCK_PATIENCE


class SiteActor:
    """The verbs of `Site`, called from afar; what opening it refused is told to every caller."""

    def __init__(self, plan: SiteSpec) -> None:
        self._plan = plan
        self._site: Site | None = None
        self._refused: OnlookerError | None = None
        self._open(plan.patience)

    def call(self, verb: str, *arguments: Any) -> Any:
        """Any verb of the site."""
        answer = getattr(self._ready(), verb)(*arguments)
        if verb == "report":
            return replace(answer, node=ray.get_runtime_context().get_node_id())
        return answer

    def receive(self, parcel: bytes) -> bytes:
        """A batch from a camera, as `RayTransport` packs it."""
        return encode_answer(self._ready().receive(*decode_batch(parcel)))

    def _ready(self) -> Site:
        if self._site is None and isinstance(self._refused, HomeInUse):
            self._open(0.0)  # the lock is the fence: while another has it, this one does not serve
        if self._site is None:
            raise self._refused or ClusterError(f"site {self._plan.name} is closed")
        return self._site

    def _open(self, patience: float) -> None:
        plan = self._plan
        try:
            self._site = Site(
                plan.name,
                plan.folder,
                plan.learner_config,
                retention=plan.retention,
                clock=lambda: time.time() + plan.skew,
                patience=patience,
            )
            self._refused = None
        except OnlookerError as error:
            self._refused = error


def start_site(plan: SiteSpec, *, cpus: float = 1.0, detached: bool = True) -> ActorHandle[Any]:
    """Start a site somewhere in the cluster; one that runs already is found."""
    made: Any = (
        ray.remote(SiteActor)
        .options(
            name=actor_name(plan.name),
            namespace=NAMESPACE,
            get_if_exists=True,
            lifetime="detached" if detached else None,
            max_restarts=-1,
            max_task_retries=0,
            max_pending_calls=PENDING_CALLS,
            num_cpus=cpus,
            scheduling_strategy="SPREAD",
        )
        .remote(plan)
    )
    handle: ActorHandle[Any] = made
    return handle


def actor_name(site: str) -> str:
    """What Ray calls it."""
    return f"site {site}"


def find_site(site: str) -> ActorHandle[Any]:
    """A site that was started by somebody; SiteUnavailable if there is none."""
    try:
        found: ActorHandle[Any] = ray.get_actor(actor_name(site), NAMESPACE)
    except ValueError as error:
        raise SiteUnavailable(f"site {site} is not up") from error
    return found


class RayTransport:
    """A `Transport` to a site over Ray."""

    def __init__(self, site: str, handle: ActorHandle[Any] | None = None) -> None:
        self._site = site
        self._handle = handle or find_site(site)

    def open_session(self, sender: str) -> SenderSession:
        """Introduce a sender."""
        hello: SenderSession = result_of(
            self._handle.call.remote("open_session", sender), ANSWER_WITHIN
        )
        return hello

    def send(
        self, sender: str, session: int, batch: Sequence[NumberedExample], acknowledged: int
    ) -> Any:
        """Put a batch on its way."""
        try:
            parcel = encode_batch(sender, session, batch, acknowledged)
            return self._handle.receive.remote(parcel)
        except PendingCallsLimitExceeded as error:
            raise SiteUnavailable(f"site {self._site} has {PENDING_CALLS} calls waiting") from error
        except RayError as error:
            raise SiteUnavailable(brief(error)) from error

    def answer(self, sent: Any) -> BatchAnswer:
        """Wait for what the site says."""
        return decode_answer(result_of(sent, ANSWER_WITHIN))


def result_of(reference: Any, timeout: float) -> Any:
    """What a call came to: its result, an error of ours, or SiteUnavailable."""
    try:
        return ray.get(reference, timeout=timeout)
    except RayTaskError as error:
        cause = error.cause
        if isinstance(cause, HomeError):  # the disk may have room again later
            raise SiteUnavailable(str(cause)) from error
        if isinstance(cause, OnlookerError):
            raise cause from None
        raise ClusterError(f"a site failed: {brief(error)}") from error
    except GetTimeoutError as error:
        raise SiteUnavailable(f"no answer within {timeout:g} s") from error
    except ActorDiedError as error:
        raise SiteUnavailable(f"it is dead: {brief(error)}") from error
    except RayError as error:
        raise SiteUnavailable(brief(error)) from error


def brief(error: BaseException) -> str:
    """The one line of a Ray error that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if isinstance(error, RayTaskError) else lines[0] if lines else repr(error))[
        :200
    ]
