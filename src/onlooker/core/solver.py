"""Where a random walk from one vertex ends: the harmonic solution for a single example.

The figure solves for every vertex and every name, and reads one row. That row is all we need, and
one *adjoint* solve gives it for all names. Notation of Section 3.1: similarities w, multiplicities
v, sink gamma; the graph is V W V. The walk starts at x, of multiplicity m, with similarities
s_i = w_xi to the unlabeled i and h_k = w_xk v_k to the labeled k, so that it leaves x at the rate

    c = sum_i s_i v_i + sum_k h_k + gamma,    and i at    q_i = sum_j w_ij v_j + sum_k w_ik v_k
                                                                + gamma + m s_i.

Let z solve A z = e_x, where A = L + gamma V is the regularised Laplacian of V W V with x in it, and
let u = V z: the visits. Eliminating x and dividing by V on both sides leaves a system made of
similarities alone,

    (diag(q / v) - W - (m/c) s s') u = s / c,        u_x = (1 + m s'u) / c,

symmetric and positive definite. The walk ends at the labeled vertex k with probability
sum_i u_i w_ik v_k + u_x h_k, and in the sink with probability gamma (sum_i u_i + u_x); these add up
to 1, and sum_i q_i u_i + c u_x is the number of steps it takes on average.

Errors. If the residual of the full system is r, every probability is wrong by at most |r|_1: the
error is l_k' r, and the harmonic function l_k lies in [0, 1]. Rounding leaves a residual of about
n * 1e-16 times the expected number of steps of the walk, which for most walks is negligible. For
long walks (a degree of 10^3 beside a sink of 10^-11) it is not: the leaks are lost in the sums that
form the degrees. There we compute r itself, from z = base + offsets: the common base cancels in the
differences of the Laplacian and is multiplied by the leaks only, so nothing is lost; refine once;
and where even that does not reduce |r|_1 enough, solve by elimination without subtraction, which is
right whatever the condition. (Cholesky needs no scaling here: its errors do not depend on the scale
of rows and columns.)

The exact probabilities add up to 1, so dividing by their total removes what error they share.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from onlooker.core.checks import Floats, slots_where
from onlooker.core.harmonic import eliminate
from onlooker.core.preconditioner import Border, Preconditioner

TOLERANCE = 3e-9
"""Largest |r|_1 at which a solution is accepted: no probability may be wrong by more."""

SURELY_REACHED = 1e-6
"""If the probabilities of all labels add up to less, the walk is not solved by iteration."""

EPSILON = float(np.finfo(np.float64).eps)


class Walk(NamedTuple):
    """A walk from x among n unlabeled vertices and L labeled ones."""

    weights: Floats
    """w_ij among the unlabeled, n x n, zero diagonal."""
    multiplicity: Floats
    """v_i."""
    to_labels: Floats
    """w_ik v_k, n x L."""
    start: Floats
    """s_i = w_xi."""
    start_to_labels: Floats
    """h_k = w_xk v_k."""
    start_multiplicity: float
    """m, x itself included."""
    sink: float
    """gamma."""


class Ends(NamedTuple):
    """Where the walk ends: at each labeled vertex, and in the sink."""

    labels: Floats
    sink: float


def ends(walk: Walk, preconditioner: Preconditioner | None = None) -> Ends:
    """Where the walk ends, each probability to about 1e-9 or better.

    A large component is given uncopied, with multiplicity 0 for the slots outside it, and is solved
    by iteration with its preconditioner.
    """
    if walk.multiplicity.all():
        return by_factorisation(walk) or by_elimination(walk)
    found = None if preconditioner is None else by_iteration(walk, preconditioner)
    return found or ends(compressed(walk))


def compressed(walk: Walk) -> Walk:
    """The same walk without the slots it cannot visit."""
    members = slots_where(walk.multiplicity > 0)
    return walk._replace(
        weights=walk.weights.take(members, axis=0).take(members, axis=1),
        multiplicity=walk.multiplicity[members],
        to_labels=walk.to_labels[members],
        start=walk.start[members],
    )


def by_iteration(walk: Walk, preconditioner: Preconditioner) -> Ends | None:
    """By conjugate gradients; None if they do not converge, or the labels are hardly reached."""
    v, m = walk.multiplicity, walk.start_multiplicity
    border = Border(walk.start * v, total_of_start(walk), m)
    rates = v * (walk.weights @ v + walk.to_labels.sum(axis=1) + walk.sink)
    z = preconditioner.solve(walk.weights, v, rates, border, TOLERANCE / 2)
    if z is None:
        return None
    z *= v > 0
    z_x = float((1 / m + border.g @ z) / border.c)
    steps = float((rates + m * border.g) @ z)
    if steps * EPSILON * np.sqrt(len(v)) > TOLERANCE / 16:
        base = steps / float((rates + m * border.g).sum())
        r, r_x, noise = residual(walk, base, z - base, z_x - base)
        if np.abs(r).sum() + abs(r_x) + noise > TOLERANCE:
            return None
    found = tally(walk, v * z, m * z_x)
    # Whether a label is reached at all must not depend on rounding: see docs/choices.md on nobody.
    return found if found.labels.sum() > SURELY_REACHED else None


def by_factorisation(walk: Walk) -> Ends | None:
    """By Cholesky, refined if need be; None where that does not guarantee the tolerance."""
    try:
        factor = Factor(walk)
    except np.linalg.LinAlgError:
        return None
    u, u_x = factor.visits(0.0, 1.0)
    steps = float(factor.q @ u + factor.c * u_x)
    if 4 * EPSILON * (len(u) + 1) * steps <= TOLERANCE:
        return tally(walk, u, u_x)
    v, m = walk.multiplicity, walk.start_multiplicity
    base = steps / float(factor.q @ v + factor.c * m)
    z, z_x = u / v - base, u_x / m - base
    for _ in range(2):
        r, r_x, noise = residual(walk, base, z, z_x)
        if np.abs(r).sum() + abs(r_x) + noise <= TOLERANCE:
            return tally(walk, v * (base + z), m * (base + z_x))
        u, u_x = factor.visits(r / v, r_x)
        z += u / v
        z_x += u_x / m
    return None


class Factor:
    """The system of a walk without x, factorised."""

    def __init__(self, walk: Walk) -> None:
        v, self.s, self.m = walk.multiplicity, walk.start, walk.start_multiplicity
        self.c = total_of_start(walk)
        self.q = walk.weights @ v + walk.to_labels.sum(axis=1) + (walk.sink + self.m * self.s)
        system = np.multiply.outer(self.s * (-self.m / self.c), self.s)
        system -= walk.weights
        system.ravel()[:: len(v) + 1] += self.q / v
        # Symmetric, so that the transpose is the same matrix in the order LAPACK wants.
        self.cholesky, failed = dpotrf(system.T, lower=1, overwrite_a=1, clean=0)
        if failed:
            raise np.linalg.LinAlgError("not positive definite in floating point")

    def visits(self, r: Floats | float, r_x: float) -> tuple[Floats, float]:
        """The u and u_x of A z = (V r, r_x)."""
        u = r + self.s * (r_x / self.c)
        if len(u):
            u, _ = dpotrs(self.cholesky, u, lower=1, overwrite_b=1)
        return u, float((r_x + self.m * (self.s @ u)) / self.c)


def tally(walk: Walk, u: Floats, u_x: float) -> Ends:
    """Where a walk with these visits ends; the probabilities add up to 1."""
    labels = u @ walk.to_labels + u_x * walk.start_to_labels
    sink = float(walk.sink * (u.sum() + u_x))
    total = float(labels.sum()) + sink
    return Ends(labels / total, sink / total)


def total_of_start(walk: Walk) -> float:
    """c, the rate at which walks leave x."""
    return float(walk.start @ walk.multiplicity + walk.start_to_labels.sum() + walk.sink)


def residual(walk: Walk, base: float, z: Floats, z_x: float) -> tuple[Floats, float, float]:
    """e_x - A (base + z) at the vertices and at x, and a bound on its rounding errors."""
    v, m, start = walk.multiplicity, walk.start_multiplicity, walk.start
    moved = z * v
    flow = (walk.weights @ v + m * start) * z - walk.weights @ moved - (m * z_x) * start
    flow_x = (start @ v) * z_x - start @ moved
    leak = (walk.to_labels.sum(axis=1) + walk.sink) * (base + z)
    leak_x = (walk.start_to_labels.sum() + walk.sink) * (base + z_x)
    rates = v * (walk.weights @ v + m * start)
    noise = 8 * EPSILON * float(rates @ np.abs(z) + m * (start @ v) * abs(z_x))
    return -v * (flow + leak), float(1.0 - m * (flow_x + leak_x)), noise


def by_elimination(walk: Walk) -> Ends:
    """By elimination without a single subtraction: slower, and right to the last digits."""
    v = np.append(walk.multiplicity, walk.start_multiplicity)
    w = np.block([[walk.weights, walk.start[:, None]], [walk.start[None], np.zeros((1, 1))]])
    exits = np.vstack([walk.to_labels, walk.start_to_labels])
    exits = np.column_stack([exits, np.full(len(v), walk.sink)]) * v[:, None]
    found = eliminate(w * v * v[:, None], exits.sum(axis=1), exits)[-1]
    return Ends(found[:-1], float(found[-1]))
