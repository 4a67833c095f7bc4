"""A site in this process, without Ray: the same `Site`, owned by a thread."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self

from onlooker.cluster.messages import BatchAnswer, NumberedExample, SenderSession
from onlooker.cluster.site import Site
from onlooker.cluster.transport import SiteUnavailable
from onlooker.home.database import HomeError


class LocalSite:
    """Runs a site in one thread, which alone touches its home. It is a `Transport`."""

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
        """Answer every batch that was sent, then close the site."""
        try:
            self._thread.submit(self._site.close).result()
        finally:
            self._thread.shutdown()

    def call(self, method: str, *arguments: Any) -> Any:
        """Call any method of the site, in its thread."""
        return self._thread.submit(getattr(self._site, method), *arguments).result()

    def open_session(self, sender: str) -> SenderSession:
        """Register as the only sender of a camera."""
        session: SenderSession = _result(self._thread.submit(self._site.open_session, sender))
        return session

    def send(
        self, sender: str, session: int, batch: Sequence[NumberedExample], acknowledged: int
    ) -> Future[BatchAnswer]:
        """Queue a batch for the site's thread."""
        return self._thread.submit(self._site.receive, sender, session, batch, acknowledged)

    def answer(self, sent: Future[BatchAnswer]) -> BatchAnswer:
        """Wait for the site's answer to a batch."""
        answer: BatchAnswer = _result(sent)
        return answer


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except HomeError as error:  # the disk may have room again later
        raise SiteUnavailable(str(error)) from error
