"""The arrays that go around, by name, and what numpy lacks to handle them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Where we compute."""

Rows = NDArray[np.floating[Any]]
"""Vectors as they arrived, float32 or float64."""

Slots = NDArray[np.intp]
"""Places of vertices in tables that never move."""


def slots_where(mask: NDArray[np.bool_]) -> Slots:
    """The slots for which it holds, in order: np.flatnonzero at a third of its price."""
    return mask.nonzero()[0]


def opened(array: NDArray[Any], extra: int, value: float, at: int | None = None) -> NDArray[Any]:
    """The array with extra rows of one value at a place; at the end unless one is given.

    >>> opened(np.arange(3), 2, 9, at=1)
    array([0, 9, 9, 1, 2])
    """
    place = len(array) if at is None else at
    filling = np.full((extra, *array.shape[1:]), value, dtype=array.dtype)
    return np.concatenate([array[:place], filling, array[place:]])
