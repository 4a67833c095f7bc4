"""Onlooker learns by watching: a few labels once, then the unlabeled stream alone."""

from onlooker.core.class_prior import ClassPrior
from onlooker.core.diagnosis import Diagnosis
from onlooker.core.errors import OnlookerError, ParameterWarning
from onlooker.core.harmonic import harmonic_solution, poisson_solution
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.quantizer import ClosestPair, ClosestSafePair, Doubling, LeastVariance
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
from onlooker.core.suggestion import Suggestion, suggest

__version__ = "0.1.0"

__all__ = [
    "Changes",
    "ClassPrior",
    "ClosestPair",
    "ClosestSafePair",
    "Cosine",
    "Diagnosis",
    "Doubling",
    "Ending",
    "Euclidean",
    "Explanation",
    "HeatKernel",
    "LeastVariance",
    "OnlineHarmonicLearner",
    "OnlookerError",
    "ParameterWarning",
    "Prediction",
    "Receipt",
    "Step",
    "Suggestion",
    "Vertices",
    "harmonic_solution",
    "poisson_solution",
    "suggest",
]
