"""A site as a Ray actor: restarted on any machine with room, with its state from the disk.

Ray must not repeat calls by itself (`max_task_retries=0`): its retries run out of order, and
examples were lost that way. Senders repeat, and sites refuse gaps. `max_pending_calls` bounds how
many calls wait in front of a site; a sender that meets the bound waits.
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

from onlooker.cluster.codec import decode_answer, decode_batch, encode_answer, encode_batch
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
PREFIX = "site "
"""What the names of site actors begin with."""
PENDING_CALLS = 64
ANSWER_WITHIN = 30.0
"""Seconds after which a batch counts as lost, and is sent again."""
LOCK_TIMEOUT = 15.0
"""Seconds that a new process waits for the one that had the home before to release it."""


@dataclass(frozen=True)
class SiteSpec:
    """Everything needed to open a site on any machine."""

    name: str
    folder: Path
    """On storage that every machine it may run on can see, with locks that work."""
    learner_config: LearnerConfig
    retention: RetentionPolicy | None = None
    clock_skew: float = 0.0
    """Seconds that its clock is wrong: for tests."""
    lock_timeout: float = LOCK_TIMEOUT


class SiteActor:
    """The methods of `Site`, called over Ray; if it could not be opened, each call raises why."""

    def __init__(self, spec: SiteSpec) -> None:
        self._spec = spec
        self._site: Site | None = None
        self._error: OnlookerError | None = None
        self._open(spec.lock_timeout)

    def call(self, method: str, *arguments: Any) -> Any:
        """Call any method of the site."""
        result = getattr(self._opened(), method)(*arguments)
        if method == "report":
            return replace(result, node=ray.get_runtime_context().get_node_id())
        return result

    def receive(self, encoded: bytes) -> bytes:
        """Take a batch from a camera, as `RayTransport` encodes it."""
        return encode_answer(self._opened().receive(*decode_batch(encoded)))

    def _opened(self) -> Site:
        if self._site is None and isinstance(self._error, HomeInUse):
            self._open(0.0)  # the lock makes sure that two processes never serve one home
        if self._site is None:
            raise self._error or ClusterError(f"site {self._spec.name} is closed")
        return self._site

    def _open(self, lock_timeout: float) -> None:
        spec = self._spec
        try:
            self._site = Site(
                spec.name,
                spec.folder,
                spec.learner_config,
                retention=spec.retention,
                clock=lambda: time.time() + spec.clock_skew,
                lock_timeout=lock_timeout,
            )
            self._error = None
        except OnlookerError as error:
            self._error = error


def start_site(spec: SiteSpec, *, cpus: float = 1.0, detached: bool = True) -> ActorHandle[Any]:
    """Start a site on any machine; returns the running actor if there is one."""
    created: Any = (
        ray.remote(SiteActor)
        .options(
            name=PREFIX + spec.name,
            namespace=NAMESPACE,
            get_if_exists=True,
            lifetime="detached" if detached else None,
            max_restarts=-1,
            max_task_retries=0,
            max_pending_calls=PENDING_CALLS,
            num_cpus=cpus,
            scheduling_strategy="SPREAD",
        )
        .remote(spec)
    )
    handle: ActorHandle[Any] = created
    return handle


def find_site(site: str) -> ActorHandle[Any]:
    """The actor of a site that was started before; SiteUnavailable if there is none."""
    try:
        found: ActorHandle[Any] = ray.get_actor(PREFIX + site, NAMESPACE)
    except ValueError as error:
        raise SiteUnavailable(f"site {site} is not up") from error
    return found


class RayTransport:
    """A `Transport` to a site over Ray."""

    def __init__(self, site: str, handle: ActorHandle[Any] | None = None) -> None:
        self._site = site
        self._handle = handle or find_site(site)

    def open_session(self, sender: str) -> SenderSession:
        """Register as the only sender of a camera."""
        call: Any = self._handle.call
        session: SenderSession = result_of(call.remote("open_session", sender), ANSWER_WITHIN)
        return session

    def send(
        self, sender: str, session: int, batch: Sequence[NumberedExample], acknowledged: int
    ) -> Any:
        """Start sending a batch."""
        try:
            encoded = encode_batch(sender, session, batch, acknowledged)
            return self._handle.receive.remote(encoded)
        except PendingCallsLimitExceeded as error:
            raise SiteUnavailable(f"site {self._site} has {PENDING_CALLS} calls waiting") from error
        except RayError as error:
            raise SiteUnavailable(short_message(error)) from error

    def answer(self, sent: Any) -> BatchAnswer:
        """Wait for the site's answer to a batch."""
        return decode_answer(result_of(sent, ANSWER_WITHIN))


def result_of(reference: Any, timeout: float) -> Any:
    """The result of a call; raises an error of ours, or SiteUnavailable."""
    try:
        return ray.get(reference, timeout=timeout)
    except RayTaskError as error:
        cause = error.cause
        if isinstance(cause, HomeError):  # the disk may have room again later
            raise SiteUnavailable(str(cause)) from error
        if isinstance(cause, OnlookerError):
            raise cause from None
        raise ClusterError(f"a site failed: {short_message(error)}") from error
    except GetTimeoutError as error:
        raise SiteUnavailable(f"no answer within {timeout:g} s") from error
    except ActorDiedError as error:
        raise SiteUnavailable(f"it is dead: {short_message(error)}") from error
    except RayError as error:
        raise SiteUnavailable(short_message(error)) from error


def short_message(error: BaseException) -> str:
    """The one row of Ray's message that names the cause: the last of a traceback, else the first.

    >>> short_message(RuntimeError("the actor died\\n  a long explanation"))
    'the actor died'
    """
    rows = [row.strip() for row in str(error).splitlines() if row.strip()]
    if not rows:
        return repr(error)[:200]
    return (rows[-1] if isinstance(error, RayTaskError) else rows[0])[:200]
