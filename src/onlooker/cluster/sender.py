"""From a camera to its site: numbered, in order, sent again until acknowledged.

The camera puts examples into a queue; a thread of the sender delivers them in batches. The queue
is bounded: a recording waits for room, a live camera drops the oldest examples and counts them.
Numbers are given when an example leaves the queue, so that a dropped one leaves no gap.

When a site is unavailable (killed, restarting, unreachable), everything that was not acknowledged
is sent again, in order, from the first; the site knows by the number what it has already. A site
that stays unavailable for longer than `give_up_after` is an error, raised by the next `put` or
`flush`.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlooker.cluster.messages import BatchAnswer, ClusterError, ExampleAnswer, NumberedExample
from onlooker.cluster.transport import SiteUnavailable, Transport
from onlooker.core.checks import as_number

PAUSES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Seconds to wait after the first, second ... failure in a row; the last one repeats."""


@dataclass(frozen=True, slots=True)
class SenderCounts:
    """What a sender has done so far.

    >>> SenderCounts(acknowledged=600, resent=13) + SenderCounts(acknowledged=1)
    SenderCounts(acknowledged=601, dropped=0, resent=13, refused=0, outages=0, outage_seconds=0.0)
    """

    acknowledged: int = 0
    """Examples that are safe at the site."""
    dropped: int = 0
    """Examples thrown away, oldest first, because the site was slower than a live camera."""
    resent: int = 0
    refused: int = 0
    """Examples that the site could not use, such as vectors of another length."""
    outages: int = 0
    """How often the site became unavailable."""
    outage_seconds: float = 0.0
    """How long it was unavailable, all outages together."""

    def __add__(self, more: "SenderCounts") -> "SenderCounts":
        return SenderCounts(
            self.acknowledged + more.acknowledged,
            self.dropped + more.dropped,
            self.resent + more.resent,
            self.refused + more.refused,
            self.outages + more.outages,
            self.outage_seconds + more.outage_seconds,
        )


class Sender:
    """Delivers the examples of one camera to its site."""

    def __init__(
        self,
        camera: str,
        connect: Callable[[], Transport],
        *,
        live: bool = False,
        queue_size: int = 64,
        batch_size: int = 16,
        depth: int = 2,
        give_up_after: float = 120.0,
        on_answer: Callable[[ExampleAnswer], object] | None = None,
    ) -> None:
        self.camera, self._give_up_after = camera, give_up_after
        self._connect, self._on_answer = connect, on_answer
        self._window = SendWindow(depth=depth, batch_size=batch_size)
        self._queue = SendQueue(camera, live=live, queue_size=queue_size, window=self._window)
        self._event = 0
        self._connected = threading.Event()
        self._first = 1
        self._thread = threading.Thread(target=self._run, name=f"send {camera}", daemon=True)
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
        """Queue an example; a recording waits for room, a live camera drops the oldest."""
        self._queue.put(NumberedExample(0, vector, name, frame, taken, picture))

    def wait_until_connected(self) -> int:
        """Wait for the site's first answer; returns the number that the first example will get.

        A recording that is read again after a crash leaves out the examples before that number.
        """
        while not self._connected.wait(0.1):
            self._queue.check()
        self._queue.check()
        return self._first

    def flush(self, timeout: float | None = None) -> SenderCounts:
        """Wait until everything is acknowledged."""
        return self._queue.flush(timeout)

    @property
    def counts(self) -> SenderCounts:
        """What was sent, dropped and refused so far."""
        return self._queue.counts

    def close(self, timeout: float | None = None) -> SenderCounts:
        """Deliver everything in the queue, and stop the thread."""
        try:
            return self.flush(timeout)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Stop the thread, whatever is still in the queue."""
        self._queue.end()
        self._thread.join()

    # ---- the thread

    def _run(self) -> None:
        try:
            self._deliver()
        except Exception as error:  # raised by the next put or flush
            self._queue.fail(error)
        self._connected.set()

    def _deliver(self) -> None:
        transport, session = self._open_session()
        outage: Outage | None = None
        while self._queue.wait_for_work():
            try:
                self._fill_window(transport, session)
                answer = transport.answer(self._window.oldest)
            except SiteUnavailable as error:
                if outage is None:
                    outage = Outage()
                    self._queue.count(SenderCounts(outages=1))
                self._window.rewind()
                self._pause(outage, error)
                continue
            if outage is not None:
                self._queue.count(SenderCounts(outage_seconds=outage.seconds))
                outage = None
            self._window.answered()
            self._process(answer)

    def _open_session(self) -> tuple[Transport, int]:
        outage = Outage()  # until the site answers for the first time
        while True:
            try:
                transport = self._connect()
                opened = transport.open_session(self.camera)
                break
            except SiteUnavailable as error:
                self._pause(outage, error)
        self._window.start_after(opened.last)
        self._first = opened.last + 1
        self._event = opened.event
        self._connected.set()
        return transport, opened.session

    def _fill_window(self, transport: Transport, session: int) -> None:
        """Send batches until as many are in flight as may be, or nothing is left to send."""
        window = self._window
        while window.may_send:
            self._queue.move_into_window()
            batch = window.next_batch()
            if not batch:
                return
            handle = transport.send(self.camera, session, batch, window.first - 1)
            self._queue.count(SenderCounts(resent=window.mark_sent(handle, batch)))

    def _process(self, answer: BatchAnswer) -> None:
        if answer.event < self._event:
            raise ClusterError(
                f"{self.camera}: the site was at event {self._event} and is at {answer.event} "
                "now: acknowledged examples are lost there; was its folder replaced by an old copy?"
            )
        self._event = answer.event
        for each in answer.answers:
            if self._queue.acknowledge(each) and self._on_answer is not None:
                self._on_answer(each)
        if answer.expected is not None:
            first = self._window.first
            if answer.expected < first:
                raise ClusterError(
                    f"{self.camera}: the site expects example {answer.expected}, but all before "
                    f"{first} were acknowledged; acknowledged examples are lost there"
                )
            self._window.rewind()

    def _pause(self, outage: "Outage", reason: SiteUnavailable) -> None:
        if outage.seconds > self._give_up_after:
            raise ClusterError(
                f"{self.camera}: its site has not answered for {self._give_up_after:g} s "
                f"({reason}); {len(self._queue)} examples were not acknowledged. "
                "See `onlooker cluster status`."
            )
        if self._queue.wait_for_end(outage.next_pause()):
            raise ClusterError(f"{self.camera}: stopped while its site was unavailable")


class SendQueue:
    """A bounded queue in front of the window, shared by the camera and the sender's thread.

    Everything that both of them touch is behind the one lock here: the queue, the length of the
    window, the counts, and the error that ended the thread.

    >>> window = SendWindow(depth=1, batch_size=1)
    >>> queue = SendQueue("door", live=True, queue_size=2, window=window)
    >>> for _ in range(3):
    ...     queue.put(NumberedExample(0, np.zeros(2)))
    >>> queue.move_into_window()
    >>> queue.acknowledge(ExampleAnswer(1, None))
    True
    >>> len(queue), queue.counts.acknowledged, queue.counts.dropped
    (1, 1, 1)
    """

    def __init__(self, camera: str, *, live: bool, queue_size: int, window: "SendWindow") -> None:
        as_number("queue_size", queue_size, least=1, whole=True)
        self._window = window
        self._camera, self._live, self._queue_size = camera, live, queue_size
        self._changed = threading.Condition()
        self._queue: deque[NumberedExample] = deque()
        self._counts = SenderCounts()
        self._error: Exception | None = None
        self._ending = False

    def __len__(self) -> int:
        with self._changed:
            return len(self._queue) + len(self._window)

    @property
    def counts(self) -> SenderCounts:
        """The counts so far."""
        with self._changed:
            return self._counts

    # ---- for the camera

    def put(self, example: NumberedExample) -> None:
        """Queue an example; a recording waits for room, a live camera drops the oldest."""
        with self._changed:
            self._raise()
            if self._live and len(self._queue) >= self._queue_size:
                self._queue.popleft()
                self._counts += SenderCounts(dropped=1)
            while len(self._queue) >= self._queue_size:
                self._changed.wait()
                self._raise()
            self._queue.append(example)
            self._changed.notify_all()

    def flush(self, timeout: float | None) -> SenderCounts:
        """Wait until everything is acknowledged."""
        with self._changed:
            done = self._changed.wait_for(lambda: self._error or not len(self), timeout)
            self._raise()
            if not done:
                raise ClusterError(f"{self._camera}: {len(self)} examples are not acknowledged yet")
            return self._counts

    def end(self) -> None:
        """Tell the thread to stop."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()

    def check(self) -> None:
        """Raise the error that ended the thread, if there was one."""
        with self._changed:
            self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    # ---- for the thread

    def fail(self, error: Exception) -> None:
        """Record the error that ends the thread: the next put or flush raises it."""
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def wait_for_work(self) -> bool:
        """Wait until something is not acknowledged; False: the thread is to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._ending or len(self))
            return not self._ending

    def wait_for_end(self, timeout: float) -> bool:
        """Pause, but stop pausing at once when the thread is to stop; whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: self._ending, timeout)

    def move_into_window(self) -> None:
        """From queue to window under the lock: an example in neither would end a flush too soon."""
        with self._changed:
            while self._queue and self._window.has_room:
                self._window.add(self._queue.popleft())
                self._changed.notify_all()

    def acknowledge(self, answer: ExampleAnswer) -> bool:
        """Remove an answered example; False if it was answered before."""
        with self._changed:
            fresh = self._window.acknowledge(answer.number)
            if fresh:
                refused = int(answer.refused is not None)
                self._counts += SenderCounts(acknowledged=1, refused=refused)
                self._changed.notify_all()
            return fresh

    def count(self, more: SenderCounts) -> None:
        """Add to the counts."""
        with self._changed:
            self._counts += more


class SendWindow:
    """The examples between the last acknowledged one and the newest that has a number.

    It has no lock: one thread changes it, and that thread holds the queue's lock for whatever
    changes the length, which others read. What is in flight, and where to continue, only that
    thread reads.

    >>> window = SendWindow(depth=2, batch_size=2)
    >>> window.start_after(10)
    >>> while window.has_room:
    ...     window.add(NumberedExample(0, np.zeros(2)))
    >>> [window.mark_sent("call", batch) for batch in iter(window.next_batch, [])]  # none resent
    [0, 0]
    >>> window.acknowledge(11), window.acknowledge(11), len(window)
    (True, False, 3)
    >>> window.rewind()
    >>> [example.number for example in window.next_batch()]  # the second batch comes after it
    [12, 13]
    >>> window.mark_sent("call", window.next_batch())
    2
    """

    def __init__(self, *, depth: int, batch_size: int) -> None:
        as_number("batch_size", batch_size, least=1, whole=True)
        as_number("depth", depth, least=1, whole=True)
        self._depth, self._batch_size = depth, batch_size
        self._examples: deque[NumberedExample] = deque()
        self._in_flight: deque[Any] = deque()
        self.start_after(0)

    def start_after(self, last: int) -> None:
        """Begin to number: the site has everything up to this one."""
        self._number = last
        self._next = last + 1
        """The first that is not in flight."""
        self._unsent = last + 1
        """The first that was never sent."""

    def __len__(self) -> int:
        return len(self._examples)

    @property
    def first(self) -> int:
        """The first number that is not acknowledged, whether it was given already or not."""
        return self._examples[0].number if self._examples else self._number + 1

    @property
    def has_room(self) -> bool:
        """Whether one more could be sent without waiting for an answer."""
        return len(self._examples) < self._depth * self._batch_size

    def add(self, example: NumberedExample) -> None:
        """Give an example the next number: from here on it must arrive."""
        self._number += 1
        self._examples.append(replace(example, number=self._number))

    @property
    def may_send(self) -> bool:
        """Whether fewer batches are in flight than may be."""
        return len(self._in_flight) < self._depth

    def next_batch(self) -> list[NumberedExample]:
        """What to send next, in order; empty if everything is in flight."""
        waiting = [example for example in self._examples if example.number >= self._next]
        return waiting[: self._batch_size]

    def mark_sent(self, handle: Any, batch: Sequence[NumberedExample]) -> int:
        """Note that a batch is in flight under this handle; returns how many were resent."""
        self._in_flight.append(handle)
        resent = sum(1 for example in batch if example.number < self._unsent)
        self._next = batch[-1].number + 1
        self._unsent = max(self._unsent, self._next)
        return resent

    @property
    def oldest(self) -> Any:
        """The handle of the batch that was sent first: sites answer in order."""
        return self._in_flight[0]

    def answered(self) -> None:
        """Note that the oldest batch is not in flight any more."""
        self._in_flight.popleft()

    def acknowledge(self, number: int) -> bool:
        """Remove the first example; False if it was removed before."""
        if not self._examples or self._examples[0].number != number:
            return False
        self._examples.popleft()
        return True

    def rewind(self) -> None:
        """Continue from the first that is not acknowledged: what else arrived is not known."""
        self._in_flight.clear()
        self._next = self.first


class Outage:
    """A time in which the site is unavailable, from now on.

    >>> outage = Outage()
    >>> [outage.next_pause() for _ in range(8)]
    [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 1.0, 1.0]
    """

    def __init__(self) -> None:
        self._since, self._failures = time.monotonic(), 0

    @property
    def seconds(self) -> float:
        """How long it has lasted."""
        return time.monotonic() - self._since

    def next_pause(self) -> float:
        """Seconds to wait after one more failure: short at first, long while a site restarts."""
        pause = PAUSES[min(self._failures, len(PAUSES) - 1)]
        self._failures += 1
        return pause
