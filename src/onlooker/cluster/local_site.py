"""A site on one machine without Ray: the same site, owned by a thread of this process."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self

from onlooker.cluster.messages import BatchAnswer, NumberedExample, SenderSession
from onlooker.cluster.site import Site
from onlooker.cluster.transport import SiteUnavailable
from onlooker.home.database import HomeError


class LocalSite:
    """Runs a site in a thread of its own, which alone touches its home. A `Transport`."""

    def __init__(self, open_site: Callable[[], Site]) -> None:
        self._thread = ThreadPoolExecutor(1, "site")
        try:
            self._site = self._thread.submit(open_site).result()
        except BaseException:
            self._thread.shutdown()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let what was sent be answered, and close the site."""
        try:
            self._thread.submit(self._site.close).result()
        finally:
            self._thread.shutdown()

    def ask(self, verb: str, *arguments: Any) -> Any:
        """Any verb of the site, in its thread."""
        return self._thread.submit(getattr(self._site, verb), *arguments).result()

    def open_session(self, sender: str) -> SenderSession:
        """Introduce a sender."""
        hello: SenderSession = self._result(self._thread.submit(self._site.open_session, sender))
        return hello

    def send(
        self, sender: str, session: int, batch: Sequence[NumberedExample], acknowledged: int
    ) -> Future[BatchAnswer]:
        """Put a batch in the site's queue."""
        return self._thread.submit(self._site.receive, sender, session, batch, acknowledged)

    def answer(self, sent: Future[BatchAnswer]) -> BatchAnswer:
        """Wait for its turn."""
        delivery: BatchAnswer = self._result(sent)
        return delivery

    def _result(self, future: Future[Any]) -> Any:
        try:
            return future.result()
        except HomeError as error:  # the disk may have room again later
            raise SiteUnavailable(str(error)) from error
