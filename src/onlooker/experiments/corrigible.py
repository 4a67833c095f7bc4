"""The methods whose labels can be corrected, by name.

A module of its own, because the demo needs them and must work without scikit-learn, which the
experiments around them use.
"""

from collections.abc import Callable
from typing import Any, Protocol

from onlooker import ClosestPair, Doubling, HeatKernel, OnlineHarmonicLearner
from onlooker.baselines.self_training import SelfTraining
from onlooker.core.records import Prediction
from onlooker.vision.scales import FACE_QUANTIZER


class Corrigible(Protocol):
    """A method whose labels can be taken back."""

    def teach(self, x: Any, name: str, /) -> None:
        """A labeled example."""

    def unteach(self, x: Any, /) -> None:
        """Take the label at this place back."""

    def observe(self, x: Any, /) -> Prediction:
        """Name an example, then learn from it."""

    def predict(self, x: Any, /) -> Prediction:
        """Name an example, leaving no trace."""


Make = Callable[[HeatKernel, int, float | None], Corrigible]
"""From the kernel, n_g and the sink."""
CORRIGIBLE: dict[str, Make] = {
    "online": lambda kernel, n_g, sink: OnlineHarmonicLearner(
        kernel, max_vertices=n_g, sink=sink, quantizer=FACE_QUANTIZER
    ),
    "online-closest": lambda kernel, n_g, sink: OnlineHarmonicLearner(
        kernel, max_vertices=n_g, sink=sink, quantizer=ClosestPair()
    ),
    "online-doubling": lambda kernel, n_g, sink: OnlineHarmonicLearner(
        kernel, max_vertices=n_g, sink=sink, quantizer=Doubling()
    ),
    "self-training": lambda kernel, n_g, _: SelfTraining(kernel, max_examples=n_g),
    "self-training-strict": lambda kernel, n_g, _: SelfTraining(
        kernel, max_examples=n_g, enrol_cutoff=kernel.cutoff**0.5
    ),
    "self-training-oldest": lambda kernel, n_g, _: SelfTraining(
        kernel, max_examples=n_g, evict="oldest"
    ),
    "self-training-random": lambda kernel, n_g, _: SelfTraining(
        kernel, max_examples=n_g, evict="random"
    ),
    "nearest": lambda kernel, n_g, _: SelfTraining(kernel, max_examples=0),
}
