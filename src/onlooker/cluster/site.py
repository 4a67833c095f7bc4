"""A site: one learner with its home, and the cameras that send to it. No Ray here.

`ray_site.py` runs a site as an actor; `LocalSite` runs one in a thread of this process.

Senders number their examples. The next number is taken, an earlier one is answered again without
being counted twice, and a gap is refused. With each batch a sender says up to which number it has
acknowledgements: what was acknowledged is in the journal, or left no trace because it matched
nobody, so a site that was killed continues from there. Examples are on the disk before the answer.
"""

import json
import os
import time
import uuid
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onlooker.cluster.messages import (
    BatchAnswer,
    ClusterError,
    ExampleAnswer,
    Label,
    LearnerConfig,
    NumberedExample,
    SenderReplaced,
    SenderSession,
    SiteKnowledge,
    SiteReceipt,
    SiteReport,
    TaughtNames,
)
from onlooker.cluster.transport import SiteUnavailable
from onlooker.core.errors import BadValue, Incompatible, NotFound, OnlookerError
from onlooker.core.files import remove_temporary_files, replace_file, sync_folder
from onlooker.core.quantizer import ClosestPair, ClosestSafePair, Quantizer
from onlooker.core.records import Explanation, Prediction
from onlooker.core.union import REFUSED
from onlooker.home.album import SeenBefore
from onlooker.home.database import HomeError
from onlooker.home.disk import HomeInUse
from onlooker.home.home import Home
from onlooker.home.retention import RetentionPolicy

HEARTBEAT_SECONDS = 5.0
"""Between two notes on the disk that the site serves: how exactly a downtime is known."""
REPEATABLE_ANSWERS = 64
"""Answers per sender that are stored to be repeated exactly; older ones are computed again."""

VISIT_SECONDS = 60.0
"""Who was not seen at a camera for so long comes again."""
STRANGERS_AT_ONCE = 16
"""Faces without a name that are remembered at a camera, to tell whether the next is one of them."""
EXPIRE_SECONDS = 600.0
"""Between two times that expired sightings are deleted."""

CLOSEST: tuple[Quantizer, ...] = (ClosestPair(), ClosestSafePair())
"""Homes with these can be merged; one that was made before faces had the second keeps the first."""


class Site:
    """One learner with its home.

    >>> import tempfile
    >>> import numpy as np
    >>> from onlooker import HeatKernel
    >>> config = LearnerConfig(HeatKernel(bandwidth=0.3, cutoff=1e-5), features="points")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     site = Site("north", folder, config)
    ...     session = site.open_session("door").session
    ...     first = NumberedExample(1, np.zeros(2), "ana")
    ...     second = NumberedExample(2, np.full(2, 0.1))
    ...     print(site.receive("door", session, [second], 0).expected)
    ...     print(site.receive("door", session, [first, second], 0).answers[1].prediction.label)
    ...     site.close()
    1
    ana
    """

    def __init__(
        self,
        name: str,
        folder: str | PathLike[str],
        learner_config: LearnerConfig,
        *,
        retention: RetentionPolicy | None = None,
        clock: Callable[[], float] = time.time,
        lock_timeout: float = 0.0,
    ) -> None:
        self.name, self.learner_config, self._clock = name, learner_config, clock
        self._pending = PendingForgets(Path(folder))
        self.home = _open_home(Path(folder), learner_config, retention, clock, lock_timeout)
        try:
            _refuse_other_settings(self.home, learner_config, name)
            self._heartbeat = Heartbeat(self.home, clock)
            self._inbox = Inbox(self.home, name)
            self._visits = Visits(self.home, clock)
            self._pending.remove_unfinished()
            self.carry_out_pending()
            self._heartbeat.beat()
        except BaseException:
            self.home.close()
            raise

    def close(self) -> None:
        """Write a snapshot, and record that the site was closed in order."""
        self._heartbeat.end()
        self.home.close()

    # ---- from cameras

    def open_session(self, sender: str) -> SenderSession:
        """Register a new sender for a camera; batches of an earlier one are refused from now on."""
        return self._inbox.open_session(sender)

    def receive(
        self, sender: str, session: int, examples: Sequence[NumberedExample], acknowledged: int
    ) -> BatchAnswer:
        """Learn from everything that continues the sender's numbers, in one transaction."""
        self._inbox.check_session(sender, session)
        self.carry_out_pending()
        try:
            return self._inbox.receive(
                sender, examples, acknowledged, partial(self._visits.record, sender, examples)
            )
        except HomeError:
            self._visits.clear()  # nothing of the batch is on the disk, and it comes again
            raise

    def record_camera(self, camera: str, state: str, problem: str) -> None:
        """Record that a camera began to fail, or that this is over."""
        self.home.record_camera(camera, state, problem)

    # ---- reading

    def predict(self, x: ArrayLike) -> Prediction:
        """Who this is, without learning."""
        self.carry_out_pending()
        return self.home.predict(x)

    def explain(self, x: ArrayLike) -> Explanation:
        """Which labeled examples the walk from x ends at."""
        self.carry_out_pending()
        return self.home.explain(x)

    def find_face(self, x: ArrayLike) -> list[SeenBefore]:
        """Was this face here before? Everybody whose sightings it is linked to."""
        self.carry_out_pending()
        return self.home.find_face(x)

    def snapshot(self) -> SiteKnowledge:
        """Everything that was learned."""
        self.carry_out_pending()
        state = self.home.learner.state()
        return SiteKnowledge((self.name,), self.learner_config, state, self._inbox.refused)

    def report(self) -> SiteReport:
        """The state of the site. Every few seconds this also records that the site serves."""
        self.carry_out_pending()
        self._heartbeat.beat()
        self._visits.expire()
        health = self.home.health()
        return SiteReport(
            self.name,
            health.sequence,
            self.home.learner.names,
            len(self.home.learner),
            int(self.home.vertices().multiplicities.sum()),
            self._clock(),
            os.getpid(),
            "",
            self._heartbeat.opened,
            self._heartbeat.downtime,
            self._inbox.last_numbers,
            self._inbox.duplicates,
            self._inbox.gaps,
            health.read_only,
            health.problems,
        )

    # ---- names

    def labels(self, keys: Collection[bytes] | None = None) -> list[Label]:
        """Every labeled example, or those with these keys."""
        self.carry_out_pending()
        known = self.home.vertices()
        named = zip(known.names, known.vectors, strict=True)
        labels = [Label(name, vector) for name, vector in named if name is not None]
        return [label for label in labels if keys is None or label.key in keys]

    def label_keys(self) -> list[bytes]:
        """The keys of every labeled example: small enough to be fetched every few seconds."""
        return [label.key for label in self.labels()]

    def learn_labels(self, labels: Sequence[Label], origin: str) -> TaughtNames:
        """Learn labels of other sites; those that are known here already are skipped."""
        here = set(self.label_keys())
        new, refused = 0, []
        for label in labels:
            if label.key not in here:
                try:
                    self.home.teach(label.vector, label.name, camera=origin)
                    here.add(label.key)
                    new += 1
                except HomeError:
                    raise
                except OnlookerError as error:
                    refused.append(str(error))
        return TaughtNames(self.name, new, tuple(refused))

    def forget(self, name: str) -> SiteReceipt:
        """Delete a name with all of its history; the receipt says what was deleted."""
        self.carry_out_pending()
        return self._forget(name)

    def _forget(self, name: str) -> SiteReceipt:
        self._inbox.drop_answers()
        self._visits.clear()
        try:
            return SiteReceipt(self.name, name, "done", self.home.forget(name))
        except NotFound as error:
            return SiteReceipt(self.name, name, "unknown", why=str(error))

    def carry_out_pending(self) -> list[SiteReceipt]:
        """Forget the names that were to be forgotten while the site was away, before all else."""
        receipts = []
        for path, name in self._pending.names():
            receipts.append(self._forget(name))
            self._pending.remove(path)
        return receipts


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


class Inbox:
    """The numbers of all senders of a site, and the answers they got.

    The number of a sender's last example is committed together with that example, so one that was
    learned but not acknowledged is recognised when it comes again, also after a restart.

    >>> import tempfile
    >>> import numpy as np
    >>> from onlooker import HeatKernel
    >>> config = LearnerConfig(HeatKernel(bandwidth=0.3, cutoff=1e-5), features="points")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Home(folder, new_learner=config.learner) as home:
    ...         inbox = Inbox(home, "north")
    ...         session = inbox.open_session("door").session
    ...         ana = NumberedExample(1, np.zeros(2), "ana")
    ...         inbox.check_session("door", session)
    ...         replies = [inbox.receive("door", [ana], 0, len) for _ in range(2)]
    >>> [reply.answers[0].duplicate for reply in replies], inbox.duplicates, inbox.last_numbers
    ([False, True], 1, {'door': 1})
    """

    def __init__(self, home: Home, site: str) -> None:
        self._home, self._site = home, site
        self._last = home.numbers("last")
        self._sessions = home.numbers("session")
        self._answers: dict[str, deque[ExampleAnswer]] = {}
        self._refused: deque[NDArray[Any]] = deque(maxlen=REFUSED)
        self.duplicates = self.gaps = 0

    @property
    def last_numbers(self) -> dict[str, int]:
        """The number of the newest example of each sender."""
        return dict(self._last)

    @property
    def refused(self) -> tuple[NDArray[Any], ...]:
        """The newest examples that matched nobody."""
        return tuple(self._refused)

    def open_session(self, sender: str) -> SenderSession:
        """Register a new sender for a camera."""
        if not sender or not sender.isprintable():
            raise BadValue(f"a sender needs a printable name, got {sender!r}")
        session = self._sessions.get(sender, 0) + 1
        self._home.set_number(f"session {sender}", session)
        self._sessions[sender] = session
        return SenderSession(session, self._last.get(sender, 0), self._home.sequence)

    def check_session(self, sender: str, session: int) -> None:
        """Refuse a sender that was replaced by a newer one."""
        if session != self._sessions.get(sender):
            raise SenderReplaced(
                f"{sender!r} has another sender at site {self._site}; only the newest one counts"
            )

    def receive(
        self,
        sender: str,
        examples: Sequence[NumberedExample],
        acknowledged: int,
        record: Callable[[Sequence[ExampleAnswer]], object],
    ) -> BatchAnswer:
        """Learn from everything that continues the sender's numbers, in one transaction.

        It includes what `record` writes, which is called with the answers.
        """
        numbers = [example.number for example in examples]
        if not all(0 <= each < 1 << 63 for each in (*numbers, *(one.frame for one in examples))):
            raise ClusterError(
                f"{sender!r} sends a number or a frame below 0 or from 2^63 on, and these are not "
                "stored; restart its camera, which then counts from where the site is"
            )
        if numbers and not 0 <= acknowledged < min(numbers):
            raise ClusterError(
                f"{sender!r} says that it has answers up to {acknowledged} and sends "
                f"{min(numbers)} again; one of the two is wrong"
            )
        last = max(self._last.get(sender, 0), acknowledged if numbers else 0)
        answers: list[ExampleAnswer] = []
        expected, before = None, self._home.sequence
        with self._home.batch():
            for example in examples:
                if example.number > last + 1:
                    expected, self.gaps = last + 1, self.gaps + 1
                    break
                answer = self._learn if example.number == last + 1 else self._repeat
                answers.append(answer(sender, example))
                last = max(last, example.number)
            record(answers)
            if self._home.sequence > before:  # outliers alone write nothing
                self._home.set_number(f"last {sender}", last)
        # After the commit: if it had failed, nothing of the batch would have happened.
        self._last[sender] = last
        stored = self._answers.setdefault(sender, deque(maxlen=REPEATABLE_ANSWERS))
        stored.extend(answer for answer in answers if not answer.duplicate)
        self._refused.extend(_matched_nobody(examples, answers))
        self.duplicates += sum(answer.duplicate for answer in answers)
        return BatchAnswer(tuple(answers), self._home.sequence, expected)

    def drop_answers(self) -> None:
        """Delete everything that may hold a name or a face; the numbers stay."""
        for answers in self._answers.values():
            answers.clear()
        self._refused.clear()  # whose faces these are is not known

    def _learn(self, sender: str, example: NumberedExample) -> ExampleAnswer:
        home, x, frame, picture = self._home, example.vector, example.frame, example.picture
        prediction: Prediction | None = None
        try:
            if example.name is None:
                prediction = home.observe(x, camera=sender, frame=frame, picture=picture)
            else:
                home.teach(x, example.name, camera=sender, frame=frame, picture=picture)
        except HomeError:
            raise  # the disk's fault, not the example's: the sender will send it again
        except OnlookerError as error:
            return ExampleAnswer(example.number, None, refused=str(error))
        return ExampleAnswer(example.number, prediction)

    def _repeat(self, sender: str, example: NumberedExample) -> ExampleAnswer:
        for known in self._answers.get(sender, ()):
            if known.number == example.number:
                return ExampleAnswer(known.number, known.prediction, True, known.refused)
        if example.name is not None:
            return ExampleAnswer(example.number, None, duplicate=True)
        try:
            prediction = self._home.predict(example.vector)
        except OnlookerError as error:
            return ExampleAnswer(example.number, None, duplicate=True, refused=str(error))
        return ExampleAnswer(example.number, prediction, duplicate=True)


class Visits:
    """Who was at which camera: a sighting of each visit, with its face.

    Cameras send faces one by one, and nobody follows them here. So a person is recorded again when
    they were not seen at this camera for VISIT_SECONDS, and so is a face without a name that is
    linked to none of the latest there. Vectors only: pictures do not travel.

    >>> import tempfile
    >>> import numpy as np
    >>> from onlooker import HeatKernel
    >>> config = LearnerConfig(HeatKernel(bandwidth=0.3, cutoff=1e-5), features="points")
    >>> now = [1000.0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Home(folder, new_learner=config.learner, clock=lambda: now[0]) as home:
    ...         visits = Visits(home, lambda: now[0])
    ...         for _ in range(3):
    ...             visits.see("door", 0, "ana", np.zeros(2))
    ...             now[0] += 40
    ...         print(len(home.album.sightings()))
    ...         now[0] += 40
    ...         visits.see("door", 0, "ana", np.zeros(2))
    ...         print(len(home.album.sightings()))
    1
    2
    """

    def __init__(self, home: Home, clock: Callable[[], float]) -> None:
        self._home, self._clock = home, clock
        self._last: dict[tuple[str, str], float] = {}
        self._unnamed: dict[str, deque[tuple[float, NDArray[Any]]]] = {}
        self._expired = -inf

    def record(
        self,
        sender: str,
        examples: Sequence[NumberedExample],
        answers: Sequence[ExampleAnswer],
    ) -> None:
        """Record the visits of a batch; what was sent again is not counted twice."""
        for example, each in zip(examples, answers, strict=False):  # a gap ends the answers
            if each.prediction is not None and not each.duplicate:
                self.see(sender, example.frame, each.prediction.label, example.vector)

    def see(self, camera: str, frame: int, name: str | None, x: NDArray[Any]) -> None:
        """One face."""
        now = self._clock()
        if name is None:
            visit_goes_on = self._is_known_stranger(camera, x, now)
        else:
            last = self._last.get((camera, name))
            visit_goes_on = last is not None and 0 <= now - last < VISIT_SECONDS
            self._last[camera, name] = now
        if not visit_goes_on:
            self._home.record_sighting(camera=camera, frame=frame, name=name, vector=x)

    def _is_known_stranger(self, camera: str, x: NDArray[Any], now: float) -> bool:
        """Whether a face is linked to one of a moment ago; it is remembered in place of that."""
        recent = self._unnamed.setdefault(camera, deque(maxlen=STRANGERS_AT_ONCE))
        while recent and not 0 <= now - recent[0][0] < VISIT_SECONDS:
            recent.popleft()
        if recent and recent[0][1].shape != x.shape:  # a site that knows nobody takes any length
            recent.clear()
        rows = np.array([row for _, row in recent])
        near = self._home.learner.kernel.similarity(x, rows).nonzero()[0] if recent else ()
        for place in reversed(near):
            del recent[int(place)]
        recent.append((now, x))
        return len(near) > 0

    def expire(self) -> None:
        """Delete the sightings that have expired, now and then."""
        now = self._clock()
        if not 0 <= now - self._expired < EXPIRE_SECONDS:
            self._expired = now
            with suppress(HomeError):  # the report says that nothing can be written
                self._home.expire()

    def clear(self) -> None:
        """Drop names and faces from memory."""
        self._last.clear()
        self._unnamed.clear()


class Heartbeat:
    """Records on the disk that the site serves, to measure downtime; by the site's clock.

    >>> import tempfile
    >>> from onlooker import HeatKernel
    >>> config = LearnerConfig(HeatKernel(bandwidth=0.3, cutoff=1e-5), features="points")
    >>> now = [1000.0]
    >>> clock = lambda: now[0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Home(folder, new_learner=config.learner, clock=clock) as home:
    ...         Heartbeat(home, clock).beat()
    ...         now[0] = 1040.0
    ...         print(Heartbeat(home, clock).downtime)  # the first one did not end
    ...         Heartbeat(home, clock).end()
    ...         print(Heartbeat(home, clock).downtime)
    40.0
    None
    """

    def __init__(self, home: Home, clock: Callable[[], float]) -> None:
        self._home, self._clock, self._last_beat = home, clock, 0.0
        self.opened = clock()
        self.downtime = self._measure_downtime()
        """Seconds since the last sign of the process before, if that was not closed in order."""

    def beat(self) -> None:
        """Record that the site serves, unless that was done a moment ago."""
        now = self._clock()
        if abs(now - self._last_beat) >= HEARTBEAT_SECONDS:
            self._last_beat = now
            with suppress(HomeError):  # the report says that nothing can be written
                self._home.set_number("alive", int(now))

    def end(self) -> None:
        """Record that the site was closed in order."""
        with suppress(HomeError):  # then the next start reports a downtime
            self._home.set_number("alive", None)

    def _measure_downtime(self) -> float | None:
        alive = self._home.number("alive")
        if alive is None:
            return None
        newest = self._home.events(self._home.sequence - 1, 1)
        written = newest[0].time if newest else 0.0
        return max(0.0, self._clock() - max(alive, written))


class PendingForgets:
    """The names that a site must forget before it serves again, as files in its folder.

    They are written while the site does not answer, and need no lock: each is a file of its own
    under a random name, there as a whole or not at all.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "forget"

    def add(self, name: str) -> None:
        """Have a name forgotten; on the disk on return."""
        path = self._folder / f"{uuid.uuid4().hex}.json"
        content = json.dumps({"forget": name}).encode()
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                replace_file(path, content)
            except FileNotFoundError:  # a site that starts has removed the unfinished file
                replace_file(path, content)
            sync_folder(self._folder)  # a second time: here a failure must be an error
            sync_folder(self._folder.parent)
        except OSError as error:
            raise ClusterError(
                f"cannot record in {self._folder} that a name is to be forgotten: {error.strerror}"
            ) from error

    def remove_unfinished(self) -> None:
        """Delete what a process left that was killed while it recorded a name."""
        remove_temporary_files(self._folder)

    def names(self) -> list[tuple[Path, str]]:
        """The names to forget, each with the file that says so."""
        if not self._folder.is_dir():
            return []
        found = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                found.append((path, str(json.loads(path.read_text("utf-8"))["forget"])))
            except (ValueError, KeyError, TypeError, OSError) as error:
                raise ClusterError(
                    f"{path} says whom to forget, but cannot be read ({error}); the site does not "
                    "serve until the file is repaired or deleted"
                ) from error
        return found

    def remove(self, path: Path) -> None:
        """Delete the file of a name that has been forgotten."""
        path.unlink(missing_ok=True)
        sync_folder(self._folder)


def _open_home(
    folder: Path,
    learner_config: LearnerConfig,
    retention: RetentionPolicy | None,
    clock: Callable[[], float],
    lock_timeout: float,
) -> Home:
    """Open the home; a process that has just been killed may still hold its lock for a while."""
    deadline = time.monotonic() + lock_timeout
    while True:
        try:
            return Home(
                folder, new_learner=learner_config.learner, retention=retention, clock=clock
            )
        except HomeInUse:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.1)


def _refuse_other_settings(home: Home, learner_config: LearnerConfig, site: str) -> None:
    """A home with other settings could not be merged with those of the other sites."""
    wanted = learner_config.learner()
    for setting in ("features", "kernel", "sink", "max_vertices", "quantizer", "trust_radius"):
        here, configured = getattr(home.learner, setting), getattr(wanted, setting)
        if here != configured and not (here in CLOSEST and configured in CLOSEST):
            raise Incompatible(
                f"the home of site {site} was made with {setting} {here!r}, the configuration says "
                f"{configured!r}; all sites must agree: change the configuration, or give the site "
                "another folder"
            )


def _matched_nobody(
    examples: Sequence[NumberedExample], answers: Sequence[ExampleAnswer]
) -> Iterator[NDArray[Any]]:
    """The vectors that were new and matched nobody."""
    for example, answer in zip(examples, answers, strict=False):  # a gap ends the answers
        prediction = answer.prediction
        if prediction is not None and prediction.label is None and not answer.duplicate:
            yield example.vector


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except HomeError as error:  # the disk may have room again later
        raise SiteUnavailable(str(error)) from error
