"""From a camera to its site: numbered, in order, sent again until acknowledged.

Whoever has examples puts them; a thread of the sender's own delivers them in batches. What waits
is bounded: a recording waits for room, a live camera loses the oldest and counts them. Numbers are
given when an example leaves the queue, so that what was dropped leaves no gap.

When a site is lost (killed, restarting, out of reach), all that was not acknowledged is sent
again, in order, from the first; the site knows by the number what it has already. A site that
stays away longer than `give_up_after` is an error, told to whoever puts or flushes next.
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlooker.cluster.line import Line, Lost, Outage, Sent
from onlooker.cluster.outbox import Outbox
from onlooker.cluster.window import Window
from onlooker.cluster.wire import Answer, ClusterError, Delivery, Example


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
        self.camera, self._give_up_after = camera, give_up_after
        self._make_line, self._on_answer = line, on_answer
        self._window = Window(depth=depth, batch_size=batch_size)
        self._outbox = Outbox(camera, live=live, queue_size=queue_size, window=self._window)
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
        self._outbox.put(Example(0, vector, name, frame, taken, picture))

    def wait_until_known(self) -> int:
        """Until the site has answered once: the number of the first example that is put.

        Whoever repeats a recording after a crash leaves out the examples before that one.
        """
        while not self._greeted.wait(0.1):
            self._outbox.check()
        self._outbox.check()
        return self.first

    def flush(self, timeout: float | None = None) -> Sent:
        """Wait until everything is acknowledged."""
        return self._outbox.flush(timeout)

    @property
    def sent(self) -> Sent:
        """What it has done so far."""
        return self._outbox.sent

    def close(self, timeout: float | None = None) -> Sent:
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
            except Lost as lost:
                if outage is None:
                    outage = Outage()
                    self._outbox.count(Sent(lost=1))
                self._window.again()
                self._pause(outage, lost)
                continue
            if outage is not None:
                self._outbox.count(Sent(away=outage.seconds))
                outage = None
            self._window.answered()
            self._take(delivery)

    def _greet(self) -> tuple[Line, int]:
        outage = Outage()  # until it answers for the first time
        while True:
            try:
                line = self._make_line()
                hello = line.hello(self.camera)
                break
            except Lost as lost:
                self._pause(outage, lost)
        self._window.go_on_after(hello.last)
        self.first = hello.last + 1
        self._event = hello.event
        self._greeted.set()
        return line, hello.session

    def _send_what_fits(self, line: Line, session: int) -> None:
        window = self._window
        while window.may_send:
            self._outbox.fill()
            batch = window.next_batch()
            if not batch:
                return
            sent = line.send(self.camera, session, batch, window.first - 1)
            self._outbox.count(Sent(resent=window.left(sent, batch)))

    def _take(self, delivery: Delivery) -> None:
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

    def _pause(self, outage: Outage, lost: Lost) -> None:
        if outage.seconds > self._give_up_after:
            waiting = len(self._outbox)
            raise ClusterError(
                f"{self.camera}: its site has not answered for {self._give_up_after:g} s ({lost}); "
                f"{waiting} examples were not acknowledged. See `onlooker cluster status`."
            )
        if self._outbox.wait_for_end(outage.next_pause()):
            raise ClusterError(f"{self.camera}: ended before its site came back")
