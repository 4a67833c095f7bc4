"""Faces as the pixels of the paper, and the distance of two of them (Sections 2.2 and 4.1).

The distance is corrected for added and for multiplied light:

    d(x, y) = min { |x - y|,  |(x - mean x) - (y - mean y)|,  |x / mean x - y / mean y| }

in a norm weighted by psi, which counts the middle of the picture for more. Vectors carry the
weights already: `PixelFeatures` makes a face sqrt(psi) times its intensities, so that the weighted
norm is the plain one. Then all three terms follow from the squared gap g = |x - y|^2 and three
numbers of each face, the squared length N, the plain mean m and the weighted mean p of its
intensities, with D = m_x - m_y and a = 1 / m:

    g,    g - 2 D (p_x - p_y) + D^2,    (a_x - a_y) (a_x N_x - a_y N_y) + a_x a_y g,

each of which grows with g. It is not a metric: two steps of length zero can add up to a long one,
so the quantizer's guarantee is proved for other distances and only measured for this one.
"""

from dataclasses import dataclass
from functools import cache, cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from onlooker.core.checks import Floats, Rows
from onlooker.core.errors import BadVector, WrongVectorLength
from onlooker.core.similarity import squared_norms
from onlooker.core.sketch import Sketch, remainder
from onlooker.vision.types import FaceBox, Pixels, square_crop

DARKEST = 1e-3
"""Mean intensity (of 1) below which a picture is black: dividing by it would amplify noise."""
BLOCKS = 16
"""Block means on each side of the sketch of a face."""


@dataclass(frozen=True)
class PixelFeatures:
    """Grey, square, smoothed, histogram-equalised pixels, weighted by the root of psi.

    The steps are explained in docs/choices.md. The vectors belong with `distance`; with
    bandwidth 0.025 different strangers are less similar than 1e-6, as the paper says.

    >>> picture = np.arange(100 * 100 * 3, dtype=np.uint8).reshape(100, 100, 3)
    >>> PixelFeatures()(picture, FaceBox(10, 10, 60, 80)).shape
    (9216,)
    """

    side: int = 96
    blur: float = 1.5
    spread: float = 0.35

    @property
    def tag(self) -> str:
        """What the learner remembers of the features it was built with."""
        return f"pixels/{self.side}/{self.blur:g}/{self.spread:g}"

    @property
    def distance(self) -> "LightCorrected":
        """The distance these vectors are made for."""
        return LightCorrected(self.side, self.spread)

    def __call__(self, pixels: Pixels, box: FaceBox) -> NDArray[np.float32]:
        """The vector of the face in a box."""
        face = self.face(pixels, box).astype(np.float64) / 255.0
        vector: NDArray[np.float32] = (face.ravel() * self._roots).astype(np.float32)
        return vector

    def face(self, pixels: Pixels, box: FaceBox) -> NDArray[np.uint8]:
        """The prepared picture of the face, side x side: what the vector is made of."""
        crop = square_crop(pixels, box)
        grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY)
        small = cv2.resize(grey, (self.side, self.side), interpolation=cv2.INTER_AREA)
        smooth = cv2.GaussianBlur(small, (0, 0), self.blur)
        prepared: NDArray[np.uint8] = np.asarray(cv2.equalizeHist(smooth), dtype=np.uint8)
        return prepared

    @cached_property
    def _roots(self) -> NDArray[np.float64]:
        return np.sqrt(psi(self.side, self.spread))


@dataclass(frozen=True)
class LightCorrected:
    """The face distance for square pictures of one side, weighted by psi.

    >>> distance = LightCorrected(side=4)
    >>> face = np.linspace(0.2, 0.8, 16) * np.sqrt(psi(4, 0.35))
    >>> brighter = 1.5 * face
    >>> from onlooker.core.similarity import squared_distances
    >>> bool(squared_distances(distance, face, brighter[None])[0] < 1e-12)
    True
    """

    side: int = 96
    spread: float = 0.35

    def moments(self, rows: Rows) -> Floats:
        """Squared length, plain mean and weighted mean of the intensities."""
        roots = np.sqrt(psi(self.side, self.spread))
        if rows.shape[1] != len(roots):
            raise WrongVectorLength(rows.shape[1], len(roots))
        wide = rows.astype(np.float64, copy=False)
        means = wide @ (1.0 / (roots * len(roots)))
        if not (means > DARKEST).all():
            raise BadVector(
                f"a picture of mean intensity {float(means.min()):.3g} is black; correcting it for "
                "light would divide by nothing, so leave such pictures out"
            )
        return np.column_stack([squared_norms(wide), means, wide @ roots])

    def squared(self, gap: Floats, own: Floats, others: Floats) -> Floats:
        """The smallest of the three."""
        length, mean, weighted = own
        lengths, means, weights = others[:, 0], others[:, 1], others[:, 2]
        difference = mean - means
        added = gap - 2.0 * difference * (weighted - weights) + difference * difference
        a, b = 1.0 / mean, 1.0 / means
        multiplied = (a - b) * (a * length - b * lengths) + a * b * gap
        smallest = np.minimum(np.minimum(gap, added), multiplied)
        result: Floats = np.maximum(smallest, 0.0)
        return result

    def sketch(self, origin: Rows) -> Sketch:
        """Block means: they need no training, and 97 % of the distances of real faces end there."""
        return BlockMeans(origin, self.side, self.spread)


@dataclass(frozen=True, eq=False)
class BlockMeans:
    """The weighted means of blocks of pixels: an orthonormal basis that is cheap to apply."""

    origin: Rows
    side: int
    spread: float

    @property
    def width(self) -> int:
        """One number for each block, and one for what the blocks leave out."""
        return self._count**2 + 1

    @property
    def slack(self) -> float:
        """Blocks are summed in double precision; storing and comparing them is not."""
        return float((self.width + 64) * np.finfo(np.float32).eps)

    def project(self, rows: Rows) -> tuple[NDArray[np.float32], Floats]:
        """Block means of the rows, and |row - o|^2."""
        seen = rows.astype(np.float64) - self.origin
        norms = squared_norms(seen)
        blocks = _block_sums(seen * self._roots, self.side, self._count) / self._lengths
        sketches = np.empty((len(rows), self.width), dtype=np.float32)
        sketches[:, :-1] = blocks
        sketches[:, -1] = remainder(norms, sketches[:, :-1], self.slack)
        return sketches, norms

    @cached_property
    def _count(self) -> int:
        """Blocks on each side: at most BLOCKS, and a divisor of the side."""
        return max(n for n in range(1, min(BLOCKS, self.side) + 1) if self.side % n == 0)

    @cached_property
    def _roots(self) -> Floats:
        return np.sqrt(psi(self.side, self.spread))

    @cached_property
    def _lengths(self) -> Floats:
        """The length of each block's direction before it is made a unit vector."""
        weights = psi(self.side, self.spread)[None]
        lengths: Floats = np.sqrt(_block_sums(weights, self.side, self._count)[0])
        return lengths


@cache
def psi(side: int, spread: float) -> Floats:
    """Weights of the pixels: a centred Gaussian of that share of the side, adding up to one.

    >>> weights = psi(96, 0.35)
    >>> weights.shape, round(float(weights.sum()), 12)
    ((9216,), 1.0)
    """
    steps = (np.arange(side) + 0.5) / side - 0.5
    bell = np.exp(-0.5 * (steps / spread) ** 2)
    weights = np.outer(bell, bell).ravel()
    weights /= weights.sum()
    weights.flags.writeable = False
    return weights


def _block_sums(rows: Floats, side: int, count: int) -> Floats:
    step = side // count
    blocks = rows.reshape(len(rows), count, step, count, step)
    sums: Floats = blocks.sum(axis=(2, 4)).reshape(len(rows), -1)
    return sums
