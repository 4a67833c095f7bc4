"""What waits at a camera, shared by whoever puts it there and the thread that delivers it.

All that both of them touch is behind the one lock here: the queue, the length of the window, the
counts, and how the other one ended.
"""

import threading
from collections import deque

from onlooker.cluster.line import Sent
from onlooker.cluster.window import Window
from onlooker.cluster.wire import Answer, ClusterError, Example
from onlooker.core.checks import as_number


class Outbox:
    """A bounded queue, and behind it the window.

    >>> import numpy as np
    >>> outbox = Outbox("door", live=True, queue_size=2, window=Window(depth=1, batch_size=1))
    >>> for _ in range(3):
    ...     outbox.put(Example(0, np.zeros(2)))
    >>> outbox.fill()
    >>> outbox.acknowledge(Answer(1, None))
    True
    >>> len(outbox), outbox.sent.acknowledged, outbox.sent.dropped
    (1, 1, 1)
    """

    def __init__(self, camera: str, *, live: bool, queue_size: int, window: Window) -> None:
        as_number("queue_size", queue_size, least=1, whole=True)
        self.window = window
        """Whatever changes its length is done here; the rest is for the thread alone."""
        self._camera, self._live, self._queue_size = camera, live, queue_size
        self._changed = threading.Condition()
        self._queue: deque[Example] = deque()
        self._sent = Sent()
        self._error: Exception | None = None
        self._ending = False

    def __len__(self) -> int:
        with self._changed:
            return len(self._queue) + len(self.window)

    @property
    def sent(self) -> Sent:
        """The counts so far."""
        with self._changed:
            return self._sent

    # ---- for the camera

    def put(self, example: Example) -> None:
        """Queue an example; a recording waits for room, a live camera drops the oldest."""
        with self._changed:
            self._raise()
            if self._live and len(self._queue) >= self._queue_size:
                self._queue.popleft()
                self._sent += Sent(dropped=1)
            while len(self._queue) >= self._queue_size:
                self._changed.wait()
                self._raise()
            self._queue.append(example)
            self._changed.notify_all()

    def flush(self, timeout: float | None) -> Sent:
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

    def acknowledge(self, answer: Answer) -> bool:
        """An example is done with; False if it was before."""
        with self._changed:
            fresh = self.window.acknowledge(answer.number)
            if fresh:
                self._sent += Sent(acknowledged=1, refused=int(answer.refused is not None))
                self._changed.notify_all()
            return fresh

    def count(self, more: Sent) -> None:
        """Add to the counts."""
        with self._changed:
            self._sent += more
