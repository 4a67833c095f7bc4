"""The small records that travel between cameras, sites and whoever asks about them."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlooker.core.errors import OnlookerError
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.quantizer import Quantizer
from onlooker.core.records import Prediction, State
from onlooker.core.similarity import HeatKernel
from onlooker.home.retention import ForgetReceipt


class ClusterError(OnlookerError):
    """Sites, cameras or the cluster under them do not do what they were asked to."""


class SenderReplaced(ClusterError):
    """A sender that speaks for a camera which has a newer sender."""


@dataclass(frozen=True, slots=True, eq=False)
class NumberedExample:
    """One vector on its way from a camera to its site.

    >>> NumberedExample(1, np.zeros(128, np.float32)).name is None
    True
    """

    number: int
    """Counts the sender's examples from 1, without gaps."""
    vector: NDArray[np.floating[Any]]
    name: str | None = None
    """Of a labeled example; None: to be observed."""
    frame: int = 0
    """As the camera counts: for people, it orders nothing."""
    taken: float | None = None
    """When, by the camera's clock: for people, it orders nothing."""
    picture: bytes | None = None


@dataclass(frozen=True, slots=True)
class ExampleAnswer:
    """What became of one example; it is on the disk, or never will be."""

    number: int
    prediction: Prediction | None
    """None of a labeled example, and of one that was refused."""
    again: bool = False
    """It had been delivered before, and was not counted twice."""
    refused: str | None = None
    """Why it cannot be used; sending it again would not help."""


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """What a site says to a batch.

    >>> BatchAnswer((), event=12, expected=7).expected
    7
    """

    answers: tuple[ExampleAnswer, ...]
    event: int
    """The site's newest event: never smaller than the last time, or the site has lost something."""
    expected: int | None = None
    """There was a gap: nothing from this number on was taken. None: there was none."""


@dataclass(frozen=True, slots=True)
class SenderSession:
    """What a site says to a new sender: which session it has, and what arrived before it."""

    session: int
    last: int
    event: int


@dataclass(frozen=True, slots=True)
class LearnerConfig:
    """All that two sites must share: how their learners compare and keep examples."""

    kernel: HeatKernel
    features: str
    max_vertices: int = 500
    sink: float | None = None
    quantizer: Quantizer | None = None

    def learner(self) -> OnlineHarmonicLearner:
        """One that knows nobody."""
        return OnlineHarmonicLearner(
            self.kernel,
            sink=self.sink,
            max_vertices=self.max_vertices,
            quantizer=self.quantizer,
            features=self.features,
        )


@dataclass(frozen=True, slots=True, eq=False)
class SiteKnowledge:
    """All that a site has learned, to be merged with what others have."""

    sites: tuple[str, ...]
    learner_config: LearnerConfig
    """With the budget of this state, which for several sites is the sum of theirs."""
    state: State
    refused: tuple[NDArray[np.floating[Any]], ...] = ()
    """Examples that were nobody known, the newest: another site may know who that is."""

    def learner(self) -> OnlineHarmonicLearner:
        """As a learner of its own."""
        return self.learner_config.learner().restored(self.state)


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """A labeled example as it is told to other sites."""

    name: str
    vector: NDArray[np.floating[Any]]

    @property
    def key(self) -> bytes:
        """Short, and the same for the same label at every site."""
        words = hashlib.blake2b(self.name.encode(), digest_size=16)
        words.update(b"\0" + self.vector.dtype.str.encode())
        words.update(np.ascontiguousarray(self.vector).data)
        return words.digest()


@dataclass(frozen=True, slots=True)
class TaughtNames:
    """What a site did with labels from elsewhere."""

    site: str
    new: int
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteReceipt:
    """What forgetting a name came to at one site.

    >>> SiteReceipt("north", "ana", "pending", why="it does not answer").state
    'pending'
    """

    site: str
    name: str
    state: str
    """done; unknown: nobody is called so there; pending: it will be, before the site serves."""
    forgotten: ForgetReceipt | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class SiteReport:
    """How a site is, in its own words."""

    site: str
    event: int
    names: tuple[str, ...]
    vertices: int
    examples: int
    """What all vertices stand for."""
    clock: float
    """What its clock said."""
    process: int
    node: str
    opened: float
    """When this life of it began, by its clock."""
    gap: float | None
    """Seconds before that in which nobody served; None: it was closed in order, or is new."""
    last: dict[str, int] = field(default_factory=dict)
    """The newest example of each sender."""
    again: int = 0
    """Examples that were delivered twice."""
    gaps: int = 0
    """Batches that were refused because something before them was missing."""
    read_only: str | None = None
    problems: tuple[str, ...] = ()
