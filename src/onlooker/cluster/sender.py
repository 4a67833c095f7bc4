"""From a camera to its site: numbered, in order, sent again until acknowledged.

Whoever has examples puts them; a thread of the sender's own delivers them in batches. What waits
is bounded: a recording waits for room, a live camera loses the oldest and counts them. Numbers are
given when an example leaves the queue, so that what was dropped leaves no gap.

When a site is lost (killed, restarting, out of reach), all that was not acknowledged is sent
again, in order, from the first; the site knows by the number what it has already. A site that
stays away longer than `give_up_after` is an error, told to whoever puts or flushes next.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onlooker.checks import as_number
from onlooker.cluster.wire import Answer, ClusterError, Delivery, Example, Hello

PAUSES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Seconds before an attempt after the first, second ... failure in a row."""


class Lost(Exception):
    """The site did not answer; whether it took the batch is not known."""


class Line(Protocol):
    """A way to a site: `cluster/actor.py` has one over Ray, `cluster/local.py` one without."""

    def hello(self, sender: str) -> Hello:
        """Introduce a sender, or raise Lost."""

    def send(self, sender: str, session: int, batch: Sequence[Example], acknowledged: int) -> Any:
        """Send a batch, or raise Lost; what it gives is for `answer`."""

    def answer(self, sent: Any) -> Delivery:
        """Wait for what the site says, or raise Lost."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What a sender has done so far.

    >>> Sent(acknowledged=600, resent=13).resent
    13
    """

    acknowledged: int = 0
    """Examples that are safe at the site."""
    dropped: int = 0
    """Thrown away, oldest first, because the site was slower than the camera (live only)."""
    resent: int = 0
    refused: int = 0
    """Examples that the site could not use, such as vectors of another length."""
    lost: int = 0
    """How often the site went away."""
    away: float = 0.0
    """Seconds until it came back, all times together."""


class Sender:
    """Delivers the examples of one camera."""

    def __init__(
        self,
        camera: str,
        line: Callable[[], Line],
        *,
        live: bool = False,
        queue_size: int = 64,
        batch_size: int = 16,
        depth: int = 2,
        give_up_after: float = 120.0,
        on_answer: Callable[[Answer], object] | None = None,
    ) -> None:
        for what, value in (
            ("queue_size", queue_size),
            ("batch_size", batch_size),
            ("depth", depth),
        ):
            as_number(what, value, least=1, whole=True)
        self.camera, self._live, self._give_up_after = camera, live, give_up_after
        self._make_line, self._on_answer = line, on_answer
        self._queue_size, self._batch_size, self._depth = queue_size, batch_size, depth
        self._changed = threading.Condition()
        self._queue: deque[Example] = deque()
        self._window: deque[Example] = deque()
        """Numbered, and not acknowledged yet."""
        self._on_the_way: deque[tuple[Any, int]] = deque()
        self._number = self._unsent = 0
        self._sent = Sent()
        self._event = 0
        self._error: Exception | None = None
        self._ending = False
        self._greeted = threading.Event()
        self.first = 1
        """The number that the first example gets: known after `wait_until_known`."""
        self._thread = threading.Thread(target=self._run, name=f"to {camera}", daemon=True)
        self._thread.start()

    # ---- for the camera

    def put(
        self,
        vector: NDArray[np.floating[Any]],
        *,
        name: str | None = None,
        frame: int = 0,
        taken: float | None = None,
        picture: bytes | None = None,
    ) -> None:
        """Hand over an example; a recording waits for room, a live camera drops the oldest."""
        example = Example(0, vector, name, frame, taken, picture)
        with self._changed:
            self._raise()
            if self._live and len(self._queue) >= self._queue_size:
                self._queue.popleft()
                self._sent = replace(self._sent, dropped=self._sent.dropped + 1)
            while len(self._queue) >= self._queue_size:
                self._changed.wait()
                self._raise()
            self._queue.append(example)
            self._changed.notify_all()

    def wait_until_known(self) -> int:
        """Until the site has answered once: the number of the first example that is put.

        Whoever repeats a recording after a crash leaves out the examples before that one.
        """
        while not self._greeted.wait(0.1):
            with self._changed:
                self._raise()
        with self._changed:
            self._raise()
        return self.first

    def flush(self, timeout: float | None = None) -> Sent:
        """Wait until everything is acknowledged."""
        with self._changed:
            done = self._changed.wait_for(
                lambda: self._error or not (self._queue or self._window), timeout
            )
            self._raise()
            if not done:
                waiting = len(self._queue) + len(self._window)
                raise ClusterError(f"{self.camera}: {waiting} examples are not acknowledged yet")
            return self._sent

    @property
    def sent(self) -> Sent:
        """What it has done so far."""
        with self._changed:
            return self._sent

    def close(self, timeout: float | None = None) -> Sent:
        """Deliver what is left, and end."""
        try:
            return self.flush(timeout)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """End, whatever is left."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        self._thread.join()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    # ---- the thread

    def _run(self) -> None:
        try:
            self._deliver()
        except Exception as error:  # told to whoever puts next
            with self._changed:
                self._error = error
                self._changed.notify_all()
        self._greeted.set()

    def _deliver(self) -> None:
        line, session = self._greet()
        failures, away_since = 0, 0.0
        while self._wait_for_work():
            try:
                self._send_what_fits(line, session)
                delivery = line.answer(self._on_the_way[0][0])
            except Lost as lost:
                now = time.monotonic()
                if not failures:
                    away_since = now
                    with self._changed:
                        self._sent = replace(self._sent, lost=self._sent.lost + 1)
                self._again_from(self._window[0].number)
                self._pause(failures, away_since, lost)
                failures += 1
                continue
            if failures:
                with self._changed:
                    away = self._sent.away + time.monotonic() - away_since
                    self._sent = replace(self._sent, away=away)
                failures = 0
            self._on_the_way.popleft()
            self._take(delivery)

    def _greet(self) -> tuple[Line, int]:
        failures, since = 0, time.monotonic()
        while True:
            try:
                line = self._make_line()
                hello = line.hello(self.camera)
                break
            except Lost as lost:
                self._pause(failures, since, lost)
                failures += 1
        self._number = hello.last
        self._unsent = self.first = hello.last + 1
        self._event = hello.event
        self._greeted.set()
        return line, hello.session

    def _wait_for_work(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._ending or self._queue or self._window)
            return not self._ending

    def _send_what_fits(self, line: Line, session: int) -> None:
        while len(self._on_the_way) < self._depth:
            batch = self._next_batch()
            if not batch:
                return
            acknowledged = self._window[0].number - 1
            sent = line.send(self.camera, session, batch, acknowledged)
            self._on_the_way.append((sent, batch[-1].number))
            again = sum(1 for example in batch if example.number < self._unsent)
            with self._changed:
                self._sent = replace(self._sent, resent=self._sent.resent + again)
            self._next = batch[-1].number + 1
            self._unsent = max(self._unsent, self._next)

    _next = 0
    """The first of the window that is not on its way; those before _unsent were before."""

    def _next_batch(self) -> list[Example]:
        with self._changed:
            while self._queue and len(self._window) < self._depth * self._batch_size:
                self._number += 1
                self._window.append(replace(self._queue.popleft(), number=self._number))
                self._changed.notify_all()
            waiting = [example for example in self._window if example.number >= self._next]
        return waiting[: self._batch_size]

    def _again_from(self, number: int) -> None:
        self._on_the_way.clear()
        self._next = number

    def _take(self, delivery: Delivery) -> None:
        if delivery.event < self._event:
            raise ClusterError(
                f"{self.camera}: the site was at event {self._event} and is at {delivery.event} "
                "now: acknowledged examples are lost there; was its folder replaced by an old copy?"
            )
        self._event = delivery.event
        for answer in delivery.answers:
            self._acknowledge(answer)
        if delivery.expected is not None:
            first = self._window[0].number if self._window else self._number + 1
            if delivery.expected < first:
                raise ClusterError(
                    f"{self.camera}: the site expects example {delivery.expected}, but all before "
                    f"{first} were acknowledged; acknowledged examples are lost there"
                )
            self._again_from(first)

    def _acknowledge(self, answer: Answer) -> None:
        with self._changed:
            if not self._window or self._window[0].number != answer.number:
                return  # it was acknowledged before
            self._window.popleft()
            self._sent = replace(
                self._sent,
                acknowledged=self._sent.acknowledged + 1,
                refused=self._sent.refused + (answer.refused is not None),
            )
            self._changed.notify_all()
        if self._on_answer is not None:
            self._on_answer(answer)

    def _pause(self, failures: int, since: float, lost: Lost) -> None:
        if time.monotonic() - since > self._give_up_after:
            waiting = len(self._queue) + len(self._window)
            raise ClusterError(
                f"{self.camera}: its site has not answered for {self._give_up_after:g} s ({lost}); "
                f"{waiting} examples were not acknowledged. See `onlooker cluster status`."
            )
        with self._changed:
            self._changed.wait_for(lambda: self._ending, PAUSES[min(failures, len(PAUSES) - 1)])
            if self._ending:
                raise ClusterError(f"{self.camera}: ended before its site came back")
