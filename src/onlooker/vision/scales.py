"""The default bandwidth and cutoff of each kind of features; every command takes them from here.

A module of its own, because the command line reads it before OpenCV is needed.
"""

from typing import NamedTuple


class Scale(NamedTuple):
    """The heat kernel's sigma and epsilon."""

    bandwidth: float
    cutoff: float


DEFAULT_SCALES = {"pixels": Scale(0.025, 1e-8), "embedding": Scale(0.2, 1e-4)}
"""The paper's sigma for pixels (Section 2.2); for an embedding, distances of unit vectors."""
