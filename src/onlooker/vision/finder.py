"""Which detector and which features look at a picture: told by a few words, built where needed."""

from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any, Literal

from onlooker.core.errors import BadValue
from onlooker.core.similarity import Cosine, Distance, Euclidean
from onlooker.vision.detector import Detector, Haar, YuNet
from onlooker.vision.embedding import EmbeddingFeatures
from onlooker.vision.pixels import PixelFeatures
from onlooker.vision.quality import Gate


@dataclass(frozen=True)
class FaceFinder:
    """A description that travels between processes; the parts are built once, on first use.

    >>> FaceFinder().features.tag
    'pixels/96/1.5/0.35'
    """

    detector: Literal["yunet", "haar"] = "yunet"
    size: int | None = 320
    """Longer side in pixels at which faces are looked for; None looks at the picture as it is."""
    kind: Literal["pixels", "embedding"] = "pixels"
    model: str | None = None
    """Of an embedding: a name or a file."""
    min_size: float = 24

    def __post_init__(self) -> None:
        if self.detector not in ("yunet", "haar") or self.kind not in ("pixels", "embedding"):
            raise BadValue(
                "a detector is yunet or haar and features are pixels or embedding, "
                f"got {self.detector!r} and {self.kind!r}"
            )
        if self.kind == "embedding" and self.detector == "haar":
            raise BadValue("an embedding needs landmarks, which haar does not find: use yunet")

    def __reduce__(self) -> tuple[Any, ...]:
        return FaceFinder, astuple(self)  # the words travel, not what was built of them

    @cached_property
    def detect(self) -> Detector:
        """Finds the faces."""
        return YuNet(self.size) if self.detector == "yunet" else Haar(self.size)

    @cached_property
    def features(self) -> PixelFeatures | EmbeddingFeatures:
        """Turns a face into a vector."""
        return PixelFeatures() if self.kind == "pixels" else EmbeddingFeatures(self.model)

    @cached_property
    def judge(self) -> Gate:
        """Refuses poor faces."""
        return Gate(min_size=self.min_size)

    @property
    def tag(self) -> str:
        """All that decides what comes out."""
        return f"{self.detector}/{self.size}/{self.judge}/{self.features.tag}"


def face_distances() -> tuple[Distance, ...]:
    """Every distance that a learner of faces may use: what it takes to reopen its home."""
    return Euclidean(), Cosine(), PixelFeatures().distance
