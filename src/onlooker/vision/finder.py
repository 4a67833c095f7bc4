"""A picture in, measured faces out: the one place where faces are detected, judged and measured.

A face is found by the detector, refused by the gate where it is too poor, and turned into a vector
by the features. Which parts do that is described in a few words, so that a finder can be sent to
another process; the parts themselves (networks, working memory of OpenCV) are built there, on first
use.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

from onlooker.core.errors import BadValue
from onlooker.core.similarity import Cosine, Distance, Euclidean
from onlooker.vision.alignment import CannotAlign
from onlooker.vision.detector import Detector, Haar, PhotoDetector, YuNet
from onlooker.vision.embedding import CPU, EmbeddingFeatures
from onlooker.vision.hog import HogFeatures
from onlooker.vision.pixels import PixelFeatures
from onlooker.vision.quality import Gate
from onlooker.vision.scales import COSTLY_FEATURES, FEATURE_KINDS, FeatureKind
from onlooker.vision.sface import SFaceFeatures
from onlooker.vision.types import FaceBox, MeasuredFace, Pixels, Refusal, Vector

GATES: dict[FeatureKind, Gate] = {
    "sface": Gate(min_size=16, min_contrast=2, min_sharpness=0),
    "hog": Gate(min_contrast=2),
    "pixels": Gate(),
    "embedding": Gate(min_size=16, min_contrast=2, min_sharpness=0),
}
"""What is too poor depends on the features: an embedding bears smaller, flatter and more blurred
faces than pixels do. On webcams with 800 strangers the gate for pixels costs SFace a point of
recall, and one person labeled in a dark room four (0.961 instead of 0.997), at the same
precision."""


class Judge(Protocol):
    """Decides whether a face is good enough to be measured."""

    def __call__(self, pixels: Pixels, box: FaceBox, /) -> Refusal | None:
        """Why not, or None."""


class Features(Protocol):
    """From a face to a vector; the tag tells features apart."""

    @property
    def tag(self) -> str:
        """What the learner remembers of the features it was built with."""

    @property
    def distance(self) -> Distance:
        """The distance these vectors are made for."""

    def __call__(self, pixels: Pixels, box: FaceBox, /) -> Vector:
        """The vector of the face in a box."""


class FinderParts(NamedTuple):
    """What a finder works with, ready to use."""

    detect: Detector
    features: Features
    judge: Judge


@dataclass(frozen=True)
class FaceFinder:
    """Finds, judges and measures the faces of a picture.

    The fields are a description, which can be pickled and compared; `detect`, `features` and
    `judge` are built from it on first use. Ready `parts` take their place where they are given,
    and must be able to travel themselves if the finder is to.

    >>> import numpy as np
    >>> finder = FaceFinder(detector="haar", size=None, kind="pixels")
    >>> finder.faces(np.zeros((480, 640, 3), np.uint8)), finder.features.tag
    ([], 'pixels/96/1.5/0.35')
    """

    detector: Literal["yunet", "haar"] = "yunet"
    size: int | None = 320
    """Longer side, in pixels, at which faces are detected; None leaves the picture as it is."""
    kind: FeatureKind = "sface"
    model: str | None = None
    """Of the kind "embedding": a name or a file."""
    provider: str = CPU
    """Of the kind "embedding": what onnxruntime computes on, such as cuda."""
    min_size: float | None = None
    """Shorter side, in pixels, of the smallest face that is measured; None is the gate's own."""
    parts: FinderParts | None = None
    photos: bool = False
    """Whether YuNet also looks for small faces, and in pictures that were cut to a face."""

    def __post_init__(self) -> None:
        if self.detector not in ("yunet", "haar") or self.kind not in FEATURE_KINDS:
            raise BadValue(
                f"a detector is yunet or haar and features are {', '.join(FEATURE_KINDS)}, "
                f"got {self.detector!r} and {self.kind!r}"
            )
        if self.kind in ("sface", "embedding") and self.detector == "haar":
            raise BadValue("an embedding needs landmarks, which haar does not find: use yunet")

    def __reduce__(self) -> tuple[Any, ...]:
        # The description travels, not what was built from it.
        words = self.detector, self.size, self.kind, self.model, self.provider, self.min_size
        return FaceFinder, (*words, self.parts, self.photos)

    def faces(self, pixels: Pixels) -> list[MeasuredFace]:
        """Every face in a picture, the largest first."""
        return [self.measure(pixels, box) for box in self.detect(pixels)]

    def measure(self, pixels: Pixels, box: FaceBox) -> MeasuredFace:
        """The face in a box: its vector, or why it has none."""
        refusal = self.judge(pixels, box)
        if refusal is not None:
            return MeasuredFace(pixels, box, refusal, None)
        try:
            return MeasuredFace(pixels, box, None, self.features(pixels, box))
        except CannotAlign as error:
            return MeasuredFace(pixels, box, error.refusal, None)

    def for_photos(self) -> "FaceFinder":
        """A finder with parts of its own for photos, unless ready ones were given."""
        return replace(self, photos=True)

    def query_vector(
        self, pixels: Pixels, which: int | None = None, *, boxes: Sequence[FaceBox] | None = None
    ) -> Vector:
        """The face that a question is about: the only one, or one of several, from 1 on the left.

        `boxes` are those of the picture from the left, where they are known already.

        >>> import numpy as np
        >>> finder = FaceFinder(detector="haar", kind="pixels")
        >>> finder.query_vector(np.zeros((480, 640, 3), np.uint8))
        Traceback (most recent call last):
        ...
        onlooker.core.errors.BadValue: there is no face in the picture; choose another
        """
        boxes = from_the_left(self.detect(pixels)) if boxes is None else boxes
        if not boxes:
            raise BadValue("there is no face in the picture; choose another")
        if which is None and len(boxes) > 1:
            raise BadValue(
                f"there are {len(boxes)} faces in the picture; choose one with --face, from 1 on "
                f"the left to {len(boxes)}"
            )
        if which is not None and not 1 <= which <= len(boxes):
            raise BadValue(
                f"there is no face {which} in the picture, they are numbered from 1 on the left "
                f"to {len(boxes)}"
            )
        face = self.measure(pixels, boxes[0 if which is None else which - 1])
        if face.vector is None:
            raise BadValue(f"the face cannot be used, {face.refusal}; choose a better picture")
        return face.vector

    @property
    def costly(self) -> bool:
        """Whether measuring takes longer than finding; ready parts are described by `kind` too."""
        return self.kind in COSTLY_FEATURES

    @cached_property
    def detect(self) -> Detector:
        """Finds the boxes of faces."""
        if self.parts is not None:
            return self.parts.detect
        if self.photos and self.detector == "yunet":
            return PhotoDetector(self.size)
        return YuNet(self.size) if self.detector == "yunet" else Haar(self.size)

    @cached_property
    def features(self) -> Features:
        """Turns a face into a vector."""
        if self.parts is not None:
            return self.parts.features
        match self.kind:
            case "sface":
                return SFaceFeatures()
            case "hog":
                return HogFeatures()
            case "pixels":
                return PixelFeatures()
            case "embedding":
                return EmbeddingFeatures(self.model, provider=self.provider)

    @cached_property
    def judge(self) -> Judge:
        """Refuses poor faces."""
        if self.parts is not None:
            return self.parts.judge
        gate = GATES[self.kind]
        return gate if self.min_size is None else replace(gate, min_size=self.min_size)

    @property
    def tag(self) -> str:
        """All that decides which faces and vectors come out."""
        photos = "/photos" if self.photos else ""
        return f"{self.detector}/{self.size}{photos}/{self.judge}/{self.features.tag}"


def from_the_left(boxes: Iterable[FaceBox]) -> list[FaceBox]:
    """Boxes in the order in which people count them.

    >>> [box.left for box in from_the_left([FaceBox(9, 0, 1, 1), FaceBox(2, 5, 1, 1)])]
    [2, 9]
    """
    return sorted(boxes, key=lambda box: box.left)


def kind_of(tag: str) -> FeatureKind:
    """The kind of features with this tag; an embedding unless it is one of ours.

    >>> kind_of(SFaceFeatures.tag), kind_of("pixels/96/1.5/0.35"), kind_of("arcface/0123456789ab")
    ('sface', 'pixels', 'embedding')
    """
    ours: dict[str, FeatureKind] = {
        SFaceFeatures.tag: "sface",
        HogFeatures().tag: "hog",
        PixelFeatures().tag: "pixels",
    }
    return ours.get(tag, "embedding")


def face_distances() -> tuple[Distance, ...]:
    """Every distance that a learner of faces may use: what it takes to reopen its home."""
    return Euclidean(), Cosine(), PixelFeatures().distance
