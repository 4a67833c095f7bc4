"""Large sparse systems: conjugate gradients with a multilevel preconditioner.

The system is that of `harmonic`, (D - W + S) x = b, with so many vertices that no factor fits. A
plain iteration carries a correction over one link a step, and needs hundreds of steps. So
corrections of whole aggregates of vertices are added (Bramble, Pasciak and Xu, 1990). Every vertex
joins the one that it has its strongest link to (a round of Boruvka's algorithm); these aggregates
are the vertices of a smaller graph, whose weights and leaks are sums; and so on until one is left.
With the diagonal D_l + S_l of level l, and P_l that says which vertex belongs to which aggregate,

    M = sum_l  P_l (D_l + S_l)^-1 P_l'        where P_0 = I

This M is symmetric and positive definite whatever the aggregates are, so they decide how many steps
are needed and not what is answered. It takes no further product with W.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from onlooker.core.checks import Floats
from onlooker.core.errors import BadValue

RESIDUAL = 1e-10
"""The iteration ends when the energy of the error, as M sees it, is below the square of this share
of what it was at first."""

MOST_STEPS = 20_000
"""The iteration gives up after this many."""

GOLDEN = 0.5 * (np.sqrt(5) - 1)
"""Multiples of it, modulo 1, are spread evenly: they decide between equal weights."""


def solve(weights: Any, leaks: Floats, ends: Floats) -> Floats:
    """The (n, k) solution of (D - W + S) x = ends, for one connected sparse graph that leaks.

    >>> chain = scipy.sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> solve(chain, np.array([1.5, 0.5]), np.array([[1.0], [0.0]])).round(3)
    array([[0.545],
           [0.364]])
    """
    levels, order = _levels(weights, leaks)
    W = weights[order][:, order]  # neighbours in the graph become neighbours in memory
    diagonal = (W.sum(axis=1) + leaks[order])[:, None]
    residual = ends[order]
    solved = np.zeros_like(residual)
    correction = _preconditioned(residual, diagonal, levels)
    direction = correction.copy()
    energies = np.einsum("ij,ij->j", residual, correction)
    limits = RESIDUAL**2 * energies
    for _ in range(MOST_STEPS):
        active = energies > limits
        if not active.any():
            break
        image = W @ direction
        np.subtract(diagonal * direction, image, out=image)
        curvatures = np.einsum("ij,ij->j", direction, image)
        step = np.where(active, energies / np.where(active, curvatures, 1), 0)
        image *= step
        residual -= image
        solved += np.multiply(direction, step, out=image)
        correction = _preconditioned(residual, diagonal, levels)
        before, energies = energies, np.einsum("ij,ij->j", residual, correction)
        direction *= np.where(active, energies / np.where(active, before, 1), 0)
        direction += correction
    else:
        raise BadValue(
            f"a part of {len(leaks)} vertices was not solved in {MOST_STEPS} steps: walks there "
            "hardly ever end; give a larger sink, or more labels"
        )
    answer = np.empty_like(solved)
    answer[order] = solved
    return answer


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """Aggregates of the vertices of the level before."""

    aggregate: NDArray[np.int32]
    """The aggregate of each vertex."""
    sums: Any
    """A sparse matrix that sums over the vertices of each aggregate."""
    diagonal: Floats
    """Of the graph of aggregates, as a column: weights to others, and leaks."""


def _levels(W: Any, leaks: Floats) -> tuple[list[_Level], NDArray[np.intp]]:
    """Ever larger aggregates, and an order of the vertices in which each of them is a run."""
    members, diagonals = [], []
    while W.shape[0] > 1:
        count, aggregate = connected_components(_strongest_links(W), directed=False)
        sums = _sums(aggregate, count)
        W, leaks = (sums @ W @ sums.T).tocsr(), sums @ leaks
        W.setdiag(0.0)  # links within an aggregate
        W.eliminate_zeros()
        members.append(aggregate)
        diagonals.append((W.sum(axis=1) + leaks)[:, None])
    place = np.zeros(1, dtype=np.intp)
    for aggregate in reversed(members):
        order = np.argsort(place[aggregate], kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
    if not members:
        return [], place
    members[0] = members[0][order]
    return [
        _Level(aggregate, _sums(aggregate, len(diagonal)), diagonal)
        for aggregate, diagonal in zip(members, diagonals, strict=True)
    ], order


def _sums(aggregate: NDArray[np.int32], count: int) -> Any:
    n = len(aggregate)
    return scipy.sparse.csr_array((np.ones(n), (aggregate, np.arange(n))), shape=(count, n))


def _strongest_links(W: Any) -> Any:
    """The strongest link of every vertex.

    Both ends see the same order of links, also among equal weights, so that these links are a
    forest. With any other choice among equals a ring or a grid would be one aggregate at once.
    """
    links = np.diff(W.indptr)
    row = np.repeat(np.arange(len(links)), links)
    strength = W.data * (1 + 1e-6 * ((row + W.indices) * GOLDEN % 1.0))
    chosen = strength == np.repeat(np.maximum.reduceat(strength, W.indptr[:-1]), links)
    pairs = (row[chosen], W.indices[chosen])
    return scipy.sparse.csr_array((strength[chosen], pairs), shape=W.shape)


def _preconditioned(residual: Floats, diagonal: Floats, levels: list[_Level]) -> Floats:
    """M times the residual: sums go up through the levels, corrections come down."""
    sums, corrections = residual, [residual / diagonal]
    for level in levels:
        sums = level.sums @ sums
        corrections.append(sums / level.diagonal)
    total = corrections.pop()
    for level in reversed(levels):
        total = total[level.aggregate]
        total += corrections.pop()
    return total
