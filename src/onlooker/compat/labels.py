"""Labels in the manner of scikit-learn: arrays of strings or numbers, where -1 marks none."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from onlooker.core.errors import BadValue

Labels = NDArray[Any]


def read_labels(y: Labels) -> tuple[Labels, NDArray[np.bool_]]:
    """The labels as an array of one kind, and which rows have one.

    numpy turns `["ana", -1]` into strings and an array of objects keeps both; either way -1 marks
    a row without a label, and "-1" is not the name of a class.

    >>> read_labels(np.array(["ana", -1, "-1"], dtype=object))
    (array(['ana', '-1', '-1'], dtype='<U3'), array([ True, False, False]))
    >>> read_labels(np.array([3, -1]))
    (array([ 3, -1]), array([ True, False]))
    """
    if y.dtype.kind not in "biuf":
        items = [-1 if item in (-1, "-1") else item for item in y.tolist()]
        strings = [item for item in items if isinstance(item, str)]
        others = [item for item in items if item != -1 and not isinstance(item, str)]
        if strings and others:
            raise BadValue(
                f"labels are strings or numbers, not both: {strings[0]!r}, {others[0]!r}; "
                "a row without a label is marked -1"
            )
        y = np.array([str(item) for item in items] if strings else items)
    check_classification_targets(y)
    return y, y != ("-1" if _are_strings(y) else -1)


def need_a_label(labeled: NDArray[np.bool_]) -> None:
    """Refuse a table without a single label."""
    if not labeled.any():
        raise BadValue(
            f"none of the {len(labeled)} rows has a label, so no class is known (-1 marks a row "
            "without one); label a few"
        )


def union(parts: list[Labels]) -> Labels:
    """All classes of several arrays, sorted.

    >>> union([np.array([], dtype=int), np.array(["ben"]), np.array(["ana", "ben"])])
    array(['ana', 'ben'], dtype='<U3')
    """
    parts = [part for part in parts if len(part)]
    example = {_are_strings(part): part[0].item() for part in parts}
    if len(example) > 1:
        raise BadValue(
            f"classes are strings or numbers, not both: {example[True]!r}, {example[False]!r}"
        )
    return np.unique(np.concatenate(parts)) if parts else np.array([], dtype=int)


def all_nobody(rows: int, outlier_label: Any, classes: Labels) -> Labels:
    """An array that says nobody in every row, and has room for every class.

    >>> all_nobody(1, -1, np.array(["ana"])), all_nobody(1, -1, np.array([3, 7]))
    (array(['-1'], dtype='<U3'), array([-1]))
    """
    if outlier_label is None:
        return np.full(rows, None, dtype=object)
    if not len(classes):
        return np.full(rows, outlier_label)
    if _are_strings(classes) and outlier_label == -1:
        outlier_label = "-1"
    if isinstance(outlier_label, str) != _are_strings(classes):
        raise BadValue(
            f"outlier_label is {outlier_label!r}, but classes are like {classes[0].item()!r}; "
            "give one of their kind, or None"
        )
    kind = np.result_type(classes, np.min_scalar_type(outlier_label))
    return np.full(rows, outlier_label, dtype=kind)


def _are_strings(labels: Labels) -> bool:
    return labels.dtype.kind == "U"
