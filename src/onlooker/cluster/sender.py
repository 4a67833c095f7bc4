"""From a camera to its site: numbered, in order, sent again until acknowledged.

Whoever has examples puts them; a thread of the sender's own delivers them in batches. What waits
is bounded: a recording waits for room, a live camera loses the oldest and counts them. Numbers are
given when an example leaves the queue, so that what was dropped leaves no gap.

When a site is lost (killed, restarting, out of reach), all that was not acknowledged is sent
again, in order, from the first; the site knows by the number what it has already. A site that
stays away longer than `give_up_after` is an error, told to whoever puts or flushes next.

What waits at a camera, shared by whoever puts it there and the thread that delivers it.

All that both of them touch is behind the one lock here: the queue, the length of the window, the
counts, and how the other one ended.

What a sender has numbered and its site has not acknowledged.

It has no lock: one thread changes it, and that thread holds the sender's lock for whatever changes
the length, which others ask for. What is on its way, and from where to go on, no other asks for.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlooker.cluster.messages import BatchAnswer, ClusterError, ExampleAnswer, NumberedExample
from onlooker.cluster.transport import Outage, SenderCounts, SiteUnavailable, Transport
from onlooker.core.checks import as_number


class SendWindow:
    """The examples between the last acknowledged one and the newest that has a number.

    >>> import numpy as np
    >>> window = SendWindow(depth=2, batch_size=2)
    >>> window.go_on_after(10)
    >>> while window.has_room:
    ...     window.add(NumberedExample(0, np.zeros(2)))
    >>> [window.left("call", batch) for batch in iter(window.next_batch, [])]  # none again
    [0, 0]
    >>> window.acknowledge(11), window.acknowledge(11), len(window)
    (True, False, 3)
    >>> window.again()
    >>> [example.number for example in window.next_batch()]  # the second batch waits its turn
    [12, 13]
    >>> window.left("call", window.next_batch())
    2
    """

    def __init__(self, *, depth: int, batch_size: int) -> None:
        as_number("batch_size", batch_size, least=1, whole=True)
        as_number("depth", depth, least=1, whole=True)
        self._depth, self._batch_size = depth, batch_size
        self._examples: deque[NumberedExample] = deque()
        self._on_the_way: deque[Any] = deque()
        self.go_on_after(0)

    def go_on_after(self, last: int) -> None:
        """Begin to number: the site has everything up to this one."""
        self._number = last
        self._next = last + 1
        """The first that is not on its way."""
        self._unsent = last + 1
        """The first that never was."""

    def __len__(self) -> int:
        return len(self._examples)

    @property
    def first(self) -> int:
        """The first number that is not acknowledged, be it given already or not."""
        return self._examples[0].number if self._examples else self._number + 1

    @property
    def has_room(self) -> bool:
        """Whether one more could leave without waiting for an answer."""
        return len(self._examples) < self._depth * self._batch_size

    def add(self, example: NumberedExample) -> None:
        """Give an example the next number: from here on it must arrive."""
        self._number += 1
        self._examples.append(replace(example, number=self._number))

    # ---- on the way

    @property
    def may_send(self) -> bool:
        """Whether fewer batches are on their way than may be."""
        return len(self._on_the_way) < self._depth

    def next_batch(self) -> list[NumberedExample]:
        """What to send next, in order; nothing if all of it is on its way."""
        waiting = [example for example in self._examples if example.number >= self._next]
        return waiting[: self._batch_size]

    def left(self, sent: Any, batch: Sequence[NumberedExample]) -> int:
        """A batch is on its way, and `sent` stands for it; says how many were so before."""
        self._on_the_way.append(sent)
        again = sum(1 for example in batch if example.number < self._unsent)
        self._next = batch[-1].number + 1
        self._unsent = max(self._unsent, self._next)
        return again

    @property
    def oldest(self) -> Any:
        """What stands for the batch that left first: sites answer in order."""
        return self._on_the_way[0]

    def answered(self) -> None:
        """The oldest batch is not on its way any more."""
        self._on_the_way.popleft()

    def acknowledge(self, number: int) -> bool:
        """Let go of the first example; False if it was let go of before."""
        if not self._examples or self._examples[0].number != number:
            return False
        self._examples.popleft()
        return True

    def again(self) -> None:
        """Nobody knows what arrived: go on from the first that is not acknowledged."""
        self._on_the_way.clear()
        self._next = self.first


class SendQueue:
    """A bounded queue, and behind it the window.

    >>> import numpy as np
    >>> window = SendWindow(depth=1, batch_size=1)
    >>> outbox = SendQueue("door", live=True, queue_size=2, window=window)
    >>> for _ in range(3):
    ...     outbox.put(NumberedExample(0, np.zeros(2)))
    >>> outbox.fill()
    >>> outbox.acknowledge(ExampleAnswer(1, None))
    True
    >>> len(outbox), outbox.sent.acknowledged, outbox.sent.dropped
    (1, 1, 1)
    """

    def __init__(self, camera: str, *, live: bool, queue_size: int, window: SendWindow) -> None:
        as_number("queue_size", queue_size, least=1, whole=True)
        self.window = window
        """Whatever changes its length is done here; the rest is for the thread alone."""
        self._camera, self._live, self._queue_size = camera, live, queue_size
        self._changed = threading.Condition()
        self._queue: deque[NumberedExample] = deque()
        self._sent = SenderCounts()
        self._error: Exception | None = None
        self._ending = False

    def __len__(self) -> int:
        with self._changed:
            return len(self._queue) + len(self.window)

    @property
    def sent(self) -> SenderCounts:
        """The counts so far."""
        with self._changed:
            return self._sent

    # ---- for the camera

    def put(self, example: NumberedExample) -> None:
        """Queue an example; a recording waits for room, a live camera drops the oldest."""
        with self._changed:
            self._raise()
            if self._live and len(self._queue) >= self._queue_size:
                self._queue.popleft()
                self._sent += SenderCounts(dropped=1)
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
            return self._sent

    def end(self) -> None:
        """Nothing is to be delivered any more."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()

    def check(self) -> None:
        """Raise what the thread ended with, if it did."""
        with self._changed:
            self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    # ---- for the thread

    def fail(self, error: Exception) -> None:
        """The thread ends with this: told to whoever puts or flushes next."""
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def wait_for_work(self) -> bool:
        """Until something is not acknowledged; False: it is to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._ending or len(self))
            return not self._ending

    def wait_for_end(self, timeout: float) -> bool:
        """A pause that does not keep anybody who wants to end."""
        with self._changed:
            return self._changed.wait_for(lambda: self._ending, timeout)

    def fill(self) -> None:
        """From the queue into the window: at no time in neither, or a flush would end too soon."""
        with self._changed:
            while self._queue and self.window.has_room:
                self.window.add(self._queue.popleft())
                self._changed.notify_all()

    def acknowledge(self, answer: ExampleAnswer) -> bool:
        """An example is done with; False if it was before."""
        with self._changed:
            fresh = self.window.acknowledge(answer.number)
            if fresh:
                self._sent += SenderCounts(acknowledged=1, refused=int(answer.refused is not None))
                self._changed.notify_all()
            return fresh

    def count(self, more: SenderCounts) -> None:
        """Add to the counts."""
        with self._changed:
            self._sent += more


class Sender:
    """Delivers the examples of one camera."""

    def __init__(
        self,
        camera: str,
        line: Callable[[], Transport],
        *,
        live: bool = False,
        queue_size: int = 64,
        batch_size: int = 16,
        depth: int = 2,
        give_up_after: float = 120.0,
        on_answer: Callable[[ExampleAnswer], object] | None = None,
    ) -> None:
        self.camera, self._give_up_after = camera, give_up_after
        self._make_line, self._on_answer = line, on_answer
        self._window = SendWindow(depth=depth, batch_size=batch_size)
        self._outbox = SendQueue(camera, live=live, queue_size=queue_size, window=self._window)
        self._event = 0
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
        self._outbox.put(NumberedExample(0, vector, name, frame, taken, picture))

    def wait_until_known(self) -> int:
        """Until the site has answered once: the number of the first example that is put.

        Whoever repeats a recording after a crash leaves out the examples before that one.
        """
        while not self._greeted.wait(0.1):
            self._outbox.check()
        self._outbox.check()
        return self.first

    def flush(self, timeout: float | None = None) -> SenderCounts:
        """Wait until everything is acknowledged."""
        return self._outbox.flush(timeout)

    @property
    def sent(self) -> SenderCounts:
        """What it has done so far."""
        return self._outbox.sent

    def close(self, timeout: float | None = None) -> SenderCounts:
        """Deliver what is left, and end."""
        try:
            return self.flush(timeout)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """End, whatever is left."""
        self._outbox.end()
        self._thread.join()

    # ---- the thread

    def _run(self) -> None:
        try:
            self._deliver()
        except Exception as error:  # told to whoever puts next
            self._outbox.fail(error)
        self._greeted.set()

    def _deliver(self) -> None:
        line, session = self._greet()
        outage: Outage | None = None
        while self._outbox.wait_for_work():
            try:
                self._send_what_fits(line, session)
                delivery = line.answer(self._window.oldest)
            except SiteUnavailable as lost:
                if outage is None:
                    outage = Outage()
                    self._outbox.count(SenderCounts(lost=1))
                self._window.again()
                self._pause(outage, lost)
                continue
            if outage is not None:
                self._outbox.count(SenderCounts(away=outage.seconds))
                outage = None
            self._window.answered()
            self._take(delivery)

    def _greet(self) -> tuple[Transport, int]:
        outage = Outage()  # until it answers for the first time
        while True:
            try:
                line = self._make_line()
                hello = line.open_session(self.camera)
                break
            except SiteUnavailable as lost:
                self._pause(outage, lost)
        self._window.go_on_after(hello.last)
        self.first = hello.last + 1
        self._event = hello.event
        self._greeted.set()
        return line, hello.session

    def _send_what_fits(self, line: Transport, session: int) -> None:
        window = self._window
        while window.may_send:
            self._outbox.fill()
            batch = window.next_batch()
            if not batch:
                return
            sent = line.send(self.camera, session, batch, window.first - 1)
            self._outbox.count(SenderCounts(resent=window.left(sent, batch)))

    def _take(self, delivery: BatchAnswer) -> None:
        if delivery.event < self._event:
            raise ClusterError(
                f"{self.camera}: the site was at event {self._event} and is at {delivery.event} "
                "now: acknowledged examples are lost there; was its folder replaced by an old copy?"
            )
        self._event = delivery.event
        for answer in delivery.answers:
            if self._outbox.acknowledge(answer) and self._on_answer is not None:
                self._on_answer(answer)
        if delivery.expected is not None:
            first = self._window.first
            if delivery.expected < first:
                raise ClusterError(
                    f"{self.camera}: the site expects example {delivery.expected}, but all before "
                    f"{first} were acknowledged; acknowledged examples are lost there"
                )
            self._window.again()

    def _pause(self, outage: Outage, lost: SiteUnavailable) -> None:
        if outage.seconds > self._give_up_after:
            waiting = len(self._outbox)
            raise ClusterError(
                f"{self.camera}: its site has not answered for {self._give_up_after:g} s ({lost}); "
                f"{waiting} examples were not acknowledged. See `onlooker cluster status`."
            )
        if self._outbox.wait_for_end(outage.next_pause()):
            raise ClusterError(f"{self.camera}: ended before its site came back")
