"""The records that travel between cameras, sites and the coordinator of a cluster."""

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
    """A site, a camera or the Ray cluster under them failed."""


class SenderReplaced(ClusterError):
    """A newer sender has connected for the same camera; this one must stop."""


# ---- from cameras to sites


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
    """The label of a labeled example; None for one to be observed."""
    frame: int = 0
    """The camera's frame number: for people to read, it orders nothing."""
    taken: float | None = None
    """The time by the camera's clock: for people to read, it orders nothing."""
    picture: bytes | None = None


@dataclass(frozen=True, slots=True)
class ExampleAnswer:
    """The result for one example; it is on the disk, or was refused for good."""

    number: int
    prediction: Prediction | None
    """None for a labeled example, and for one that was refused."""
    duplicate: bool = False
    """It had been delivered before, and was not counted twice."""
    refused: str | None = None
    """Why it cannot be used; sending it again would not help."""


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """A site's answer to a batch.

    >>> BatchAnswer((), event=12, expected=7).expected
    7
    """

    answers: tuple[ExampleAnswer, ...]
    event: int
    """The site's newest event: never smaller than the last time, or the site has lost data."""
    expected: int | None = None
    """After a gap in the numbers: nothing from this number on was taken. None: no gap."""


@dataclass(frozen=True, slots=True)
class SenderSession:
    """A site's answer to a sender that connects."""

    session: int
    """Higher than that of every earlier sender of the same camera."""
    last: int
    """The number of the last example that arrived from this camera."""
    event: int
    """The site's newest event."""


# ---- what a site has learned


@dataclass(frozen=True, slots=True)
class LearnerConfig:
    """The settings of a learner: two sites can be merged only if theirs are equal."""

    kernel: HeatKernel
    features: str
    max_vertices: int = 500
    sink: float | None = None
    quantizer: Quantizer | None = None
    trust_radius: float | None = None

    def learner(self) -> OnlineHarmonicLearner:
        """A new learner with these settings, which knows nobody."""
        return OnlineHarmonicLearner(
            self.kernel,
            sink=self.sink,
            max_vertices=self.max_vertices,
            quantizer=self.quantizer,
            features=self.features,
            trust_radius=self.trust_radius,
        )


@dataclass(frozen=True, slots=True, eq=False)
class SiteKnowledge:
    """All that one site has learned, or several sites after a merge."""

    sites: tuple[str, ...]
    learner_config: LearnerConfig
    """Its max_vertices is the budget of this state: after a merge, the sum over the sites."""
    state: State
    refused: tuple[NDArray[np.floating[Any]], ...] = ()
    """The newest examples that matched nobody here: another site may know who they are."""

    def learner(self) -> OnlineHarmonicLearner:
        """A learner in this state."""
        return self.learner_config.learner().restored(self.state)


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """A labeled example as one site passes it on to others."""

    name: str
    vector: NDArray[np.floating[Any]]

    @property
    def key(self) -> bytes:
        """A digest of name and vector: short, and equal for equal labels at every site."""
        digest = hashlib.blake2b(self.name.encode(), digest_size=16)
        digest.update(b"\0" + self.vector.dtype.str.encode())
        digest.update(np.ascontiguousarray(self.vector).data)
        return digest.digest()


@dataclass(frozen=True, slots=True)
class TaughtNames:
    """What a site did with labels from other sites."""

    site: str
    new: int
    """How many labels were new here, and were learned."""
    refused: tuple[str, ...] = ()
    """Why others were not learned."""


# ---- from sites to people


@dataclass(frozen=True, slots=True)
class SiteReceipt:
    """What forgetting a name did at one site.

    >>> SiteReceipt("north", "ana", "pending", why="it does not answer").state
    'pending'
    """

    site: str
    name: str
    state: str
    """done; unknown: nobody has that name there; pending: done before the site serves again."""
    forgotten: ForgetReceipt | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class SiteReport:
    """The state of a site, as it reports itself."""

    site: str
    event: int
    names: tuple[str, ...]
    vertices: int
    examples: int
    """The number of examples that all vertices stand for."""
    clock: float
    """The time by the site's clock, in seconds since the epoch."""
    process: int
    node: str
    opened: float
    """When this process opened the home, by the site's clock."""
    downtime: float | None
    """Seconds before that in which the site did not serve; None: closed in order, or new."""
    last_numbers: dict[str, int] = field(default_factory=dict)
    """The number of the newest example of each sender."""
    duplicates: int = 0
    """Examples that were delivered more than once."""
    gaps: int = 0
    """Batches that were refused because an example before them was missing."""
    read_only: str | None = None
    problems: tuple[str, ...] = ()
