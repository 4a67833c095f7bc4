"""The kinds of features, and the default bandwidth and cutoff of each.

Every command takes them from here. A module of its own, because the command line reads it before
OpenCV is needed.
"""

from typing import Literal, NamedTuple

FeatureKind = Literal["sface", "hog", "pixels", "embedding"]
"""SFace, the default; HOG and pixels, where there is no model; the paper's pixels; any other
embedding model."""
FEATURE_KINDS: tuple[FeatureKind, ...] = ("sface", "hog", "pixels", "embedding")


class Scale(NamedTuple):
    """The heat kernel's sigma and epsilon."""

    bandwidth: float
    cutoff: float


DEFAULT_SCALES: dict[FeatureKind, Scale] = {
    "sface": Scale(0.19, 4.8e-6),
    "hog": Scale(0.65, 1e-6),
    "pixels": Scale(0.025, 1e-8),
    "embedding": Scale(0.2, 1e-4),
}
"""The paper's sigma for pixels (Section 2.2); for an embedding, distances of unit vectors."""
