"""Where a random walk from one vertex ends: the harmonic solution for a single example.

The figure solves for every vertex and every name, and reads one row. That row is all we need, and
one *adjoint* solve gives it for all names. Notation of Section 3.1: similarities w, multiplicities
v, sink gamma; the graph is V W V. The walk starts at x (multiplicity m). Let

    g_i = w_xi v_i   (unlabeled i),    h_k = w_xk v_k   (labeled k),    c = sum g + sum h + gamma,
    A_ii = v_i (sum_j w_ij v_j + sum_k w_ik v_k + gamma),    A_ij = -v_i w_ij v_j,

the regularised Laplacian without x. Adding x and eliminating it again, (A z)_x = 1 becomes

    (A + m diag(g) - m g g'/c) z = g / c,        Z = (1 + m g'z) / c,

and the walk ends at the labeled vertex k with probability sum_i z_i v_i w_ik v_k + Z h_k, and in
the sink with probability gamma (sum_i z_i v_i + Z). These add up to 1.

Scaled. With q_i the bracket of A_ii plus m w_xi and s_i = sqrt(v_i / q_i), dividing row and column
i by sqrt(v_i q_i) leaves ones on the diagonal and -w_ij s_i s_j - (m/c) t_i t_j off it, where
t_i = w_xi s_i. The right-hand side is t/c, and the solution y gives z_i v_i = y_i s_i.

Errors. If the residual of the system is r, every probability is wrong by at most |r|_1: the error
is l_k' r, and the harmonic function l_k lies in [0, 1]. And since the exact probabilities add up
to 1, dividing by the computed total removes the error that is common to all of them, which is
nearly all of it. Where the total is off, or the factorisation fails, the walk is solved once more
by elimination without subtraction, which is accurate whatever the condition.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from onlooker.arrays import Floats
from onlooker.harmonic import eliminate

TRUSTED_TOTAL = 1e-9
"""How far from 1 the probabilities may add up before the walk is solved again."""


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """A walk from x among n unlabeled vertices and L labeled ones."""

    weights: Floats
    """w_ij among the unlabeled, n x n, zero diagonal."""
    multiplicity: Floats
    """v_i."""
    to_labels: Floats
    """w_ik v_k, n x L."""
    start: Floats
    """w_xi."""
    start_to_labels: Floats
    """h_k = w_xk v_k."""
    start_multiplicity: float
    """m, x itself included."""
    sink: float
    """gamma."""


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Where the walk ends: at each labeled vertex, and in the sink; and the visits z_i v_i, Z."""

    labels: Floats
    sink: float


def ends(walk: Walk) -> Ends:
    """Where the walk ends, exactly."""
    visits = by_factorisation(walk)
    if visits is not None:
        found = tally(walk, *visits)
        total = found.labels.sum() + found.sink
        if abs(total - 1.0) <= TRUSTED_TOTAL:
            return Ends(found.labels / total, float(found.sink / total))
    return by_elimination(walk)


def by_factorisation(walk: Walk) -> tuple[Floats, float] | None:
    """Visits (z_i v_i, Z) by Cholesky of the scaled system; None if it is not positive definite."""
    v, m = walk.multiplicity, walk.start_multiplicity
    c = walk.start @ v + walk.start_to_labels.sum() + walk.sink
    if not len(v):  # straight from x to labels and sink
        return v, 1.0 / c
    q = walk.weights @ v + walk.to_labels.sum(axis=1) + walk.sink + m * walk.start
    s = np.sqrt(v / q)
    t = walk.start * s
    system = walk.weights * -s
    system *= s[:, None]
    system -= np.multiply.outer(t * (m / c), t)
    np.einsum("ii->i", system)[:] += 1.0
    # The matrix is symmetric: its transpose is the same one in the order LAPACK wants.
    factor, failed = dpotrf(system.T, lower=1, overwrite_a=1, clean=0)
    if failed:
        return None
    y, _ = dpotrs(factor, t / c, lower=1)
    visits = y * s
    return visits, (1.0 + m * (walk.start @ visits)) / c


def tally(walk: Walk, visits: Floats, start_visits: float) -> Ends:
    """Where walks with these visits end."""
    labels = visits @ walk.to_labels + start_visits * walk.start_to_labels
    return Ends(labels, float(walk.sink * (visits.sum() + start_visits)))


def by_elimination(walk: Walk) -> Ends:
    """The same without a subtraction anywhere."""
    v = np.append(walk.multiplicity, walk.start_multiplicity)
    w = np.block([[walk.weights, walk.start[:, None]], [walk.start[None], np.zeros((1, 1))]])
    exits = np.vstack([walk.to_labels, walk.start_to_labels])
    exits = np.column_stack([exits, np.full(len(v), walk.sink)]) * v[:, None]
    found = eliminate(w * v * v[:, None], exits.sum(axis=1), exits)[-1]
    return Ends(found[:-1], float(found[-1]))
