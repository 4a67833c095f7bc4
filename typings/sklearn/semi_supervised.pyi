from collections.abc import Callable
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray

class LabelSpreading:
    transduction_: NDArray[Any]
    label_distributions_: NDArray[Any]
    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] = ...,
        *,
        gamma: float = ...,
        alpha: float = ...,
        max_iter: float = ...,
    ) -> None: ...
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self: ...

class LabelPropagation(LabelSpreading):
    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] = ...,
        *,
        gamma: float = ...,
        max_iter: float = ...,
    ) -> None: ...

class SelfTrainingClassifier:
    def __init__(self, estimator: Any) -> None: ...
