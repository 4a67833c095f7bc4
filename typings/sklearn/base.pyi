class BaseEstimator:
    n_features_in_: int

class ClassifierMixin: ...
