"""The function of largest margin on soft labels (Kveton, Valko, Rahimi and Huang 2010), exactly."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onlooker.baselines.examples import solved
from onlooker.core.checks import Floats, Slots, slots_where

SWEEPS = 200
"""At most this often over all coefficients; some ten are usual, and fewer from a good start."""

ENOUGH = 1e-6
"""A sweep that changes no coefficient by more, as a share of the largest allowed, is the last."""


def soft_labels(scores: Floats) -> Floats:
    """l_i^c = P_i^c - sum_{c' != c} P_i^c', from harmonic scores with one column a name.

    >>> soft_labels(np.array([[0.7, 0.2], [0.0, 1.0]]))
    array([[ 0.5, -0.5],
           [-1. ,  1. ]])
    """
    signed: Floats = 2.0 * scores - scores.sum(axis=1, keepdims=True)
    return signed


def max_margin(
    gram: ArrayLike,
    soft: ArrayLike,
    *,
    margin: float = 0.1,
    confidence: float = 1e-6,
    multiplicity: ArrayLike | None = None,
    start: ArrayLike | None = None,
) -> Floats:
    """The coefficients a of f = sum_i a_i K(x_i, .), in the shape of the soft labels l.

        f = argmin sum_{i: |l_i| >= conf} v_i max(0, 1 - sgn(l_i) f(x_i)) + gamma |f|_K^2

    gram is K between the examples, margin is gamma, v how many examples each stands for. Several
    columns of l are several problems. start: coefficients to begin with, for they are found step
    by step; any will do. Their sizes b_i = |a_i| lie in [0, v_i / (2 gamma)].

    Two examples of each sign on a line, with K(x, z) = x z + 1; f(x) = x / 2:

    >>> x = np.array([-2.0, -2.0, 2.0, 2.0])
    >>> a = max_margin(np.outer(x, x) + 1.0, [-1.0, -0.3, 0.3, 1.0])
    >>> [round(float((z * x + 1.0) @ a), 3) for z in (1.0, 2.0)]
    [0.5, 1.0]
    """
    signed = np.asarray(soft, dtype=np.float64)
    kernel = np.asarray(gram, dtype=np.float64)
    v = np.ones(len(kernel)) if multiplicity is None else np.asarray(multiplicity, np.float64)
    found = np.zeros_like(signed) if start is None else np.array(start, dtype=np.float64)
    columns = found.reshape(len(kernel), -1)
    for own, labels in zip(columns.T, signed.reshape(len(kernel), -1).T, strict=True):
        used = slots_where(is_confident(labels, confidence))
        y = np.sign(labels[used])
        bends = y[:, None] * kernel[np.ix_(used, used)] * y
        fitted = _fitted(bends, y * own[used], v[used] / (2.0 * margin), 0.5 / margin)
        own[:] = 0.0
        own[used] = y * fitted
    return found


def is_confident(soft: Floats, confidence: float) -> NDArray[np.bool_]:
    """Whose soft labels count: |l| >= conf, and never 0, which takes no side.

    >>> is_confident(np.array([-0.5, 0.0, 1e-9]), 1e-6)
    array([ True, False, False])
    """
    size = np.abs(soft)
    confident: NDArray[np.bool_] = (size >= confidence) & (size > 0.0)
    return confident


def _fitted(bends: Floats, start: Floats, largest: Floats, scale: float) -> Floats:
    """The b in [0, largest] of least b' B b / 2 - sum b, with B_ij = y_i K_ij y_j for bends.

    Sweeps find out who is at a bound. They would be slow to settle the others, for K of near
    examples is nearly singular: a leap does that at once.
    """
    b = np.clip(start, 0.0, largest)
    for _ in range(SWEEPS):
        wanting = 1.0 - bends @ b
        moves = np.clip(b + wanting / bends.diagonal(), 0.0, largest) - b
        moving = slots_where(np.abs(moves) > ENOUGH * max(scale, 1.0))
        if not len(moving):
            break
        _sweep(bends, b, wanting, largest, moving)
        _leap(bends, b, wanting, largest)
    return b


def _sweep(bends: Floats, b: Floats, wanting: Floats, largest: Floats, moving: Slots) -> None:
    """b_i <- b_i + (1 - y_i f(x_i)) / K_ii within its bounds, one after another."""
    steepness = bends.diagonal()
    for i in moving.tolist():
        was = b.item(i)
        b[i] = min(max(was + wanting.item(i) / steepness.item(i), 0.0), largest.item(i))
        wanting -= (b.item(i) - was) * bends[i]


def _leap(bends: Floats, b: Floats, wanting: Floats, largest: Floats) -> None:
    """Move all that are between their bounds to where none wants to, or until one is at a bound."""
    free = slots_where((b > 0.0) & (b < largest))
    if not len(free):
        return
    move = solved(bends[np.ix_(free, free)], wanting[free])
    bounds = np.where(move > 0.0, largest[free], 0.0)
    going = move != 0.0
    room = (bounds[going] - b[free][going]) / move[going]
    b[free] = np.clip(b[free] + min(1.0, room.min(initial=1.0)) * move, 0.0, largest[free])
