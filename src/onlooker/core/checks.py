"""Names for the arrays of the core, and checks of arguments.

Arguments are checked once, where they enter; the code inside relies on that.
"""

import re
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onlooker.core.errors import BadName, BadValue, BadVector, WrongVectorLength

Floats = NDArray[np.float64]
"""What is computed."""

Rows = NDArray[np.floating[Any]]
"""Vectors as they arrived, float32 or float64."""

Slots = NDArray[np.intp]
"""Positions in tables; a vertex keeps its slot as long as it stays labeled or unlabeled."""

TOO_LONG = 1e38
"""Squared length from which on sums overflow in single precision."""


def slots_where(mask: NDArray[np.bool_]) -> Slots:
    """The positions of True, in order: np.flatnonzero in a third of its time."""
    return mask.nonzero()[0]


def insert_rows(
    array: NDArray[Any], extra: int, value: float, at: int | None = None
) -> NDArray[Any]:
    """A copy with extra rows of one value inserted at a position, by default at the end.

    >>> insert_rows(np.arange(3), 2, 9, at=1)
    array([0, 9, 9, 1, 2])
    """
    position = len(array) if at is None else at
    filling = np.full((extra, *array.shape[1:]), value, dtype=array.dtype)
    return np.concatenate([array[:position], filling, array[position:]])


def as_vector(x: ArrayLike, *, like: Rows | None = None) -> Rows:
    """One example as a row of finite numbers: float32 stays, everything else becomes float64.

    >>> as_vector([1, 2])
    array([1., 2.])
    """
    if like is not None and type(x) is np.ndarray and _needs_no_conversion(x, like):
        return x
    vector = _numbers(x)
    if vector.ndim != 1:
        raise BadVector(f"an example is one row of numbers, got an array of shape {vector.shape}")
    row: Rows = as_rows(vector[None], like=like)[0]
    return row


def _needs_no_conversion(x: NDArray[Any], like: Rows) -> bool:
    """The quick check that most vectors pass; others are converted, or refused with a reason."""
    fits = x.dtype == like.dtype and x.shape == like.shape[1:]
    return fits and bool(np.dot(x, x) < TOO_LONG)


def as_rows(rows: ArrayLike, *, like: Rows | None = None) -> Rows:
    """Examples, one per row, checked as `as_vector` does; `like` gives the length and type."""
    array = _numbers(rows)
    if array.ndim != 2:
        raise BadVector(f"examples are rows of a table, got an array of shape {array.shape}")
    if array.shape[1] == 0:
        raise BadVector("an example needs at least one number, got an empty one")
    if like is not None and array.shape[1] != like.shape[-1]:
        raise WrongVectorLength(array.shape[1], like.shape[-1])
    narrow = (array if like is None else like).dtype == np.float32
    with np.errstate(over="ignore", invalid="ignore"):
        array = array.astype(np.float32 if narrow else np.float64, copy=False)
        measurable = np.vecdot(array, array) < TOO_LONG
    if not measurable.all():
        _refuse(array[~measurable][0])
    return array


_UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\U000e0000-\U000e007f]"
)
"""Characters that control a terminal or the direction of text, or are not shown: what is shown
could be another name, and a row of a log or a table would not end where it ends."""
_BLANK = re.compile(r"[\s\u034f\u115f\u1160\u200c\u200d\u2800\u3164\ufe00-\ufe0f\uffa0]*")
"""Characters that show nothing by themselves; inside a name, some scripts need them."""


def as_name(name: object, *, stored: bool = False) -> str:
    """A name for a class; one that was stored by an earlier version may hold any character.

    >>> as_name("ana")
    'ana'
    """
    if not isinstance(name, str):
        raise BadName(f"a name must be a string, got {name!r}; str() makes one")
    if not name.strip() or (not stored and _BLANK.fullmatch(name)):
        raise BadName(f"a name must not be empty, got {name!r}")
    if not stored and (found := _UNPRINTABLE.search(name)):
        raise BadName(
            f"a name must be readable text, got {name[:80]!r} with U+{ord(found[0]):04X}; "
            "leave that character out"
        )
    return name


def is_number(value: object, *, whole: bool = False) -> TypeGuard[float]:
    """Whether a parameter is a real number (and not a bool)."""
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    return isinstance(value, kinds) and not isinstance(value, bool)


def as_number(
    what: str, value: object, *, least: float, below: float = np.inf, whole: bool = False
) -> float:
    """A parameter in [least, below).

    >>> as_number("sink", -1, least=0)
    Traceback (most recent call last):
    ...
    onlooker.core.errors.BadValue: sink must be a number of at least 0, got -1
    """
    if is_number(value, whole=whole) and least <= value < below:
        return value
    kind = "whole number" if whole else "number"
    limit = "" if below == np.inf else f" and below {below:g}"
    raise BadValue(f"{what} must be a {kind} of at least {least:g}{limit}, got {value!r}")


def _numbers(values: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise BadVector(f"an example must be a row of numbers: {error}") from error
    if array.dtype.kind not in "fiu":
        shown = repr(values)
        raise BadVector(
            f"an example must be a row of real numbers, got {shown[:60]} of type {array.dtype}"
        )
    return array


def _refuse(vector: Rows) -> None:
    bad = np.flatnonzero(~np.isfinite(vector))
    if len(bad):
        raise BadVector(
            f"number {bad[0]} of this example is {vector[bad[0]]}; leave such examples out, "
            "or correct what computes them"
        )
    raise BadVector(
        f"this example holds numbers up to {np.abs(vector).max():g}, too large to measure "
        "distances with; scale the features down"
    )
