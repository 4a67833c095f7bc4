"""Onlooker learns by watching: a few labels once, then the unlabeled stream alone."""

from onlooker.core.errors import OnlookerError
from onlooker.core.harmonic import harmonic_solution
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.quantizer import ClosestPair, ClosestSafePair, Doubling
from onlooker.core.records import (
    Changes,
    Ending,
    Explanation,
    Prediction,
    Receipt,
    Step,
    Vertices,
)
from onlooker.core.similarity import Cosine, Euclidean, HeatKernel

__version__ = "0.1.0"

__all__ = [
    "Changes",
    "ClosestPair",
    "ClosestSafePair",
    "Cosine",
    "Doubling",
    "Ending",
    "Euclidean",
    "Explanation",
    "HeatKernel",
    "OnlineHarmonicLearner",
    "OnlookerError",
    "Prediction",
    "Receipt",
    "Step",
    "Vertices",
    "harmonic_solution",
]
