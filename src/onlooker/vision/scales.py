"""The kinds of features, the default bandwidth and cutoff of each, and the quantizer of faces.

Every command takes them from here. A module of its own, because the command line reads it before
OpenCV is needed.
"""

from math import floor, log, sqrt
from typing import Literal, NamedTuple

from onlooker.core.quantizer import ClosestSafePair, Quantizer
from onlooker.core.similarity import HeatKernel
from onlooker.vision.calibration import MARGIN, SAFE

FeatureKind = Literal["sface", "hog", "pixels", "embedding"]
"""SFace, the default; HOG and pixels, where there is no model; the paper's pixels; any other
embedding model."""
FEATURE_KINDS: tuple[FeatureKind, ...] = ("sface", "hog", "pixels", "embedding")
COSTLY_FEATURES: tuple[FeatureKind, ...] = ("sface", "embedding")
"""A network for each face, several times the work of the detection. In a video these are measured
only where something is new (`vision/measuring.py`)."""


class Scale(NamedTuple):
    """The heat kernel's sigma and epsilon."""

    bandwidth: float
    cutoff: float

    @classmethod
    def of(cls, kernel: HeatKernel) -> "Scale":
        """That of a kernel."""
        return cls(kernel.bandwidth, kernel.cutoff)

    @property
    def reach(self) -> float:
        """The distance at which the similarity has fallen to the cutoff."""
        return self.bandwidth * sqrt(-2 * log(self.cutoff))

    def times(self, factor: float) -> "Scale":
        """The same bandwidth and a cutoff so many times larger."""
        return Scale(self.bandwidth, factor * self.cutoff)


DEFAULT_SCALES: dict[FeatureKind, Scale] = {
    "sface": Scale(0.19, 9.5e-6),
    "hog": Scale(0.65, 1.4e-5),
    "pixels": Scale(0.025, 1e-8),
    "embedding": Scale(0.2, 1e-4),
}
"""The paper's sigma for pixels (Section 2.2); for an embedding, distances of unit vectors.

SFace: `onlooker calibrate strangers/ --features sface` on GENKI-4K (4,000 pictures of different
people; 3,605 strangers after the gate and without duplicates). The margin decides: it is 50 times
the cliff. HOG: the same with `--features hog`, the cutoff of the rate of 0.001, which is 16 times
the cliff; the margin would ask for 4.3e-5.
"""

TRUSTED_SCALES: dict[FeatureKind, Scale] = {"sface": DEFAULT_SCALES["sface"].times(0.5)}
"""What a new home with a trust radius has instead, where that was measured: the radius stops what
the cutoff need not, so links may reach farther, and fewer faces are questions."""

TRUST_RADII: dict[FeatureKind, float | None] = {
    "sface": 1.05,
    "hog": 3.43,
    "pixels": 0.13,
    "embedding": None,
}
"""The trust radius that `auto` means; None: names are carried as far as a walk leads.

The reach of the cliff (CLIFFS), rounded down to two decimals: no farther than the distance up to
which chains of strangers are rare. So it follows from the same `onlooker calibrate`, and was not
chosen by what it costs.
"""


def trust_radius(
    setting: str | float | None, kind: FeatureKind, scale: Scale | None = None
) -> float | None:
    """The radius that a setting asks for: off, auto, a number, or None for the default.

    The default is auto where the price is known and small, which is SFace (docs/reproduction.md),
    and off for others: with pixels most faces would be questions. scale: what faces are compared
    by, if it is not the default.

    >>> [trust_radius(setting, "sface") for setting in ("off", "auto", 0.5, None)]
    [None, 1.05, 0.5, 1.05]
    >>> trust_radius(None, "pixels") is None
    True
    """
    if setting is None:
        setting = "auto" if kind in TRUSTED_SCALES else "off"
    if isinstance(setting, str):
        return auto_radius(kind, scale) if setting == "auto" else None
    return setting


def auto_radius(kind: FeatureKind, scale: Scale | None = None) -> float | None:
    """What `auto` means: TRUST_RADII, or less where links reach farther than is safe.

    There nothing else stops a stranger who is near to a label, so the radius ends where links would
    have to end (SAFE times the cliff's cutoff). A default that is beyond already stays as it is.

    >>> [auto_radius("sface", Scale(0.19, cutoff)) for cutoff in (9.5e-6, 1.9e-6, 9.5e-7, 1.9e-7)]
    [1.05, 1.05, 0.97, 0.97]
    """
    cliff = CLIFFS.get(kind)
    if scale is None or cliff is None:
        return TRUST_RADII[kind]
    safe = cliff.times(SAFE).reach
    if scale.reach <= max(safe, DEFAULT_SCALES[kind].reach) * (1 + 1e-9):
        return TRUST_RADII[kind]
    return floor(100 * safe) / 100


def new_scale(kind: FeatureKind, radius: float | None) -> Scale:
    """What a new home compares faces by, with that trust radius or without one.

    >>> [new_scale("sface", radius).cutoff for radius in (None, 1.05)]
    [9.5e-06, 4.75e-06]
    """
    default = DEFAULT_SCALES[kind]
    return default if radius is None else TRUSTED_SCALES.get(kind, default)


FACE_QUANTIZER: Quantizer = ClosestSafePair()
"""What new learners of faces merge by: somebody who has changed since the label is named through a
chain of vertices, and this cuts none (docs/choices.md, section 6). A home keeps its own."""

CLIFFS: dict[FeatureKind, Scale] = {
    "sface": Scale(0.19, 1.9e-7),
    "hog": Scale(0.65, 8.5e-7),
    "pixels": Scale(0.025, 3.0e-7),
}
"""Beyond these, chains name more than 1 % of strangers (see `onlooker.vision.calibration`).

From `onlooker calibrate` with the same 3,605 strangers. SFace: 0.02 % are named at five times the
cliff's cutoff, 33 % at a fifth. HOG: 0.04 % and 11 %. Pixels (`--features pixels`, bandwidth
0.025): 0.1 % and 3.4 %; the paper's 1e-8 is beyond.
"""


def safer_scale(kind: FeatureKind, scale: Scale) -> Scale | None:
    """What to use instead of a kernel that reaches beyond SAFE times the cliff's cutoff.

    None where it does not, and for features whose cliff is unknown. Reaches are compared, because a
    larger bandwidth links the same faces at a larger cutoff.

    >>> [bool(safer_scale("sface", Scale(0.19, cutoff))) for cutoff in (9.5e-6, 2e-6, 1e-6, 1e-8)]
    [False, False, True, True]
    >>> safer_scale("sface", Scale(0.38, 1e-3))
    Scale(bandwidth=0.19, cutoff=9.5e-06)
    """
    cliff = CLIFFS.get(kind)
    if cliff is None or scale.reach <= cliff.times(SAFE).reach:
        return None
    return cliff.times(MARGIN)
