from typing import Any, overload

from numpy.typing import ArrayLike, NDArray

def check_is_fitted(estimator: object) -> None: ...
def column_or_1d(y: ArrayLike) -> NDArray[Any]: ...
@overload
def validate_data(
    estimator: object,
    X: ArrayLike,
    *,
    dtype: object = ...,
    reset: bool = ...,
    accept_sparse: object = ...,
) -> NDArray[Any]: ...
@overload
def validate_data(
    estimator: object,
    X: ArrayLike,
    y: ArrayLike,
    *,
    dtype: object = ...,
    reset: bool = ...,
    accept_sparse: object = ...,
) -> tuple[NDArray[Any], NDArray[Any]]: ...
