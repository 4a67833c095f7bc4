"""Onlooker learns by watching: a few labels once, then the unlabeled stream alone."""

from onlooker.errors import OnlookerError
from onlooker.online import OnlineHarmonicLearner
from onlooker.quantizer import ClosestPair, Doubling
from onlooker.records import Changes, Ending, Explanation, Prediction, Receipt, Step, Vertices
from onlooker.similarity import Cosine, Euclidean, HeatKernel

__version__ = "0.1.0"

__all__ = [
    "Changes",
    "ClosestPair",
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
]
