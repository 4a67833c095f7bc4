from typing import Any

class BaseEstimator:
    n_features_in_: int
    def __sklearn_tags__(self) -> Any: ...

class ClassifierMixin: ...
