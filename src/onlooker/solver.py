"""Where a random walk from one vertex ends: the harmonic solution for a single example.

The figure solves for every vertex and every name, and reads one row. That row is all we need, and
one *adjoint* solve gives it for all names. Notation of Section 3.1: similarities w, multiplicities
v, sink gamma; the graph is V W V. The walk starts at x (multiplicity m). Let

    g_i = w_xi v_i   (unlabeled i),    h_k = w_xk v_k   (labeled k),    c = sum g + sum h + gamma,
    A_ii = v_i (sum_j w_ij v_j + sum_k w_ik v_k + gamma),    A_ij = -v_i w_ij v_j,

the regularised Laplacian without x. With x it has one row more; the system that says "one walk
starts at x" has the right-hand side e_x, and eliminating x from it leaves

    (A + m diag(g) - m g g'/c) z = g / c,        z_x = (1/m + g'z) / c.

The walk ends at the labeled vertex k with probability sum_i z_i v_i w_ik v_k + z_x m h_k, and in
the sink with probability gamma (sum_i z_i v_i + z_x m). These add up to 1.

The matrix is scaled to ones on its diagonal (its entries there are the rates, A_ii + m g_i), so
that multiplicities of 1 and of 10^9 do not meet in one pivot.

Errors. If the residual of the full system is r, every probability is wrong by at most |r|_1: the
error is l_k' r, and the harmonic function l_k lies in [0, 1]. Rounding leaves a residual of about
n * 1e-16 times the expected number of steps of the walk, which for most walks is nothing. For long
walks (a degree of 10^3 beside a sink of 10^-11) it is everything: the leaks drown in the degrees.
There we compute r itself, from z = base + offsets: the common base passes through the differences
of the Laplacian and meets only the leaks, so nothing drowns; refine once; and where even that does
not bring |r|_1 down, solve by elimination without subtraction, right whatever the condition.

The exact probabilities add up to 1, so dividing by their total removes what error they share.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from onlooker.arrays import Floats, slots_where
from onlooker.harmonic import eliminate
from onlooker.inverse import Border, UpdatedInverse

TOLERANCE = 3e-9
"""No probability may be wrong by more: |r|_1 at which a solution is accepted."""

SURELY_REACHED = 1e-6
"""Names whose probabilities add up to less are solved for without iteration."""

EPSILON = float(np.finfo(np.float64).eps)


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
    """Where the walk ends: at each labeled vertex, and in the sink."""

    labels: Floats
    sink: float


def ends(walk: Walk, inverse: UpdatedInverse | None = None) -> Ends:
    """Where the walk ends, each probability to about 1e-9 or better.

    A large component comes in place, with multiplicity 0 for the slots outside it, and is solved
    with the help of its inverse.
    """
    if walk.multiplicity.all():
        return by_factorisation(walk) or by_elimination(walk)
    found = None if inverse is None else by_iteration(walk, inverse)
    return found or ends(compressed(walk))


def compressed(walk: Walk) -> Walk:
    """The same walk without the slots it cannot visit."""
    members = slots_where(walk.multiplicity > 0)
    return replace(
        walk,
        weights=walk.weights.take(members, axis=0).take(members, axis=1),
        multiplicity=walk.multiplicity[members],
        to_labels=walk.to_labels[members],
        start=walk.start[members],
    )


def by_iteration(walk: Walk, inverse: UpdatedInverse) -> Ends | None:
    """By conjugate gradients; None where they do not get there, or only to tiny probabilities."""
    v, m = walk.multiplicity, walk.start_multiplicity
    border = Border(walk.start * v, total_of_start(walk), m)
    rates = v * (walk.weights @ v + walk.to_labels.sum(axis=1) + walk.sink)
    z = inverse.solve(walk.weights, v, rates, border, TOLERANCE / 2)
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
    found = tally(walk, z, z_x)
    # Who is reached at all must not hang on rounding: see docs/choices.md on nobody.
    return found if found.labels.sum() > SURELY_REACHED else None


def by_factorisation(walk: Walk) -> Ends | None:
    """By Cholesky, refined if need be; None where that cannot promise the tolerance."""
    try:
        factor = Factor(walk)
    except np.linalg.LinAlgError:
        return None
    z, z_x = factor.solve(np.zeros(len(walk.start)), 1.0)
    steps = factor.rates @ z
    if 4 * EPSILON * (len(z) + 1) * steps > TOLERANCE:
        base = steps / factor.rates.sum()
        z -= base
        z_x -= base
        for _ in range(2):
            r, r_x, noise = residual(walk, base, z, z_x)
            if np.abs(r).sum() + abs(r_x) + noise <= TOLERANCE:
                break
            more, more_x = factor.solve(r, r_x)
            z += more
            z_x += more_x
        else:
            return None
        z += base
        z_x += base
    return tally(walk, z, z_x)


def tally(walk: Walk, z: Floats, z_x: float) -> Ends:
    """Where walks with these visits end; probabilities add up to 1."""
    visits, visits_x = z * walk.multiplicity, z_x * walk.start_multiplicity
    labels = visits @ walk.to_labels + visits_x * walk.start_to_labels
    sink = walk.sink * (visits.sum() + visits_x)
    total = labels.sum() + sink
    return Ends(labels / total, float(sink / total))


def total_of_start(walk: Walk) -> float:
    """c, what leaves x in all."""
    return float(walk.start @ walk.multiplicity + walk.start_to_labels.sum() + walk.sink)


class Factor:
    """The system without x, scaled to a unit diagonal and factorised."""

    def __init__(self, walk: Walk) -> None:
        v, m, start = walk.multiplicity, walk.start_multiplicity, walk.start
        self.c = total_of_start(walk)
        self.m, self.g = m, start * v
        self.rates = v * (walk.weights @ v + walk.to_labels.sum(axis=1) + walk.sink + m * start)
        self.scale = 1.0 / np.sqrt(self.rates)
        s, t = v * self.scale, self.g * self.scale
        system = walk.weights * -s
        system *= s[:, None]
        system -= np.multiply.outer(t * (m / self.c), t)
        system.ravel()[:: len(v) + 1] += 1.0
        # Symmetric, so that the transpose is the same matrix in the order LAPACK wants.
        self.cholesky, failed = dpotrf(system.T, lower=1, overwrite_a=1, clean=0)
        if failed:
            raise np.linalg.LinAlgError("not positive definite in floating point")

    def solve(self, r: Floats, r_x: float) -> tuple[Floats, float]:
        """The z and z_x whose (A z) is r, and r_x at x."""
        reduced = r + self.g * (r_x / self.c)
        if len(r):
            y, _ = dpotrs(self.cholesky, reduced * self.scale, lower=1, overwrite_b=1)
            reduced = y * self.scale
        return reduced, float((r_x / self.m + self.g @ reduced) / self.c)


def residual(walk: Walk, base: float, z: Floats, z_x: float) -> tuple[Floats, float, float]:
    """What is missing to A (base + z) = e_x, at the vertices and at x, and how noisy that is."""
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
    """The same without a subtraction anywhere: slower, and right to the last digits."""
    v = np.append(walk.multiplicity, walk.start_multiplicity)
    w = np.block([[walk.weights, walk.start[:, None]], [walk.start[None], np.zeros((1, 1))]])
    exits = np.vstack([walk.to_labels, walk.start_to_labels])
    exits = np.column_stack([exits, np.full(len(v), walk.sink)]) * v[:, None]
    found = eliminate(w * v * v[:, None], exits.sum(axis=1), exits)[-1]
    return Ends(found[:-1], float(found[-1]))
