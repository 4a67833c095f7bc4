"""Large components: conjugate gradients with a preconditioner that learns from its iterations.

A single component of hundreds of vertices is expensive to factorise at every step, yet it hardly
changes from one step to the next. So the preconditioner is an explicit approximation M of A^-1,
stored between steps. Any symmetric positive definite M gives right answers, because the true
residual decides when to stop; a good one gives them in about ten iterations. M is updated when the
graph changes, and stays positive definite:

Iteration. For the system A' z = b of one walk (solver.py: A' = A + m diag(g) - m g g'/c, b = g/c),
conjugate gradients in Lanczos form: residuals r_1 ~ b, r_2, ... are made M-orthonormal, each to
all before it (else a converged direction comes twice). With y_k = M r_k as columns of Y,
T = Y'A'Y is tridiagonal, and z = Y T^-1 Y'b.

Learning. M = Y Y' + rest, where rest >= 0 and rest r_k = 0. With T = S diag(theta) S', theta are
the eigenvalues of M A' in the space that the iteration spanned: 1 where M is exact. The corrected
M + sum_s (1/theta_s - 1) (YS)_s (YS)_s' is exact where M was found wrong, and positive definite:
the factors 1 of Y Y' become 1/theta_s.
(A rank-one secant update corrects one direction only, and made M indefinite after merges.)

Border. When x becomes a vertex, A' + g g'/c gets a row -g and a corner c; the inverse of that is
(A'^-1, A'^-1 b; b'A'^-1, 1/c + b'A'^-1 b). With M for A'^-1 it is positive definite whatever M is:
its Schur complement is 1/c.

Merging j into i makes two potentials equal: with e = e_i - e_j and u = M e, M - u u'/(e'u) is M
less its projection onto e; then row j is dropped. Grounding j (merged into a label, or labeled) is
the same with e = e_j. Removing j drops its row: a principal submatrix. Changed multiplicities and
labels that were taken back need no update: the next iterations learn them.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dasum, dsymv, dsyr, dsyrk
from scipy.linalg.lapack import dpotrf, dpotri

from onlooker.core.checks import Floats, slots_where

ITERATIONS = 40
"""At this number M is computed anew; if it was new, the caller has to solve in another way."""

WORTHWHILE = 0.1
"""Eigenvalues of M A' closer to 1 than this are not corrected."""

RESTARTS = 3
"""Restarts from the true residual, in case it differs from the recursively updated one."""

IDLE = 100
"""Changes without a solve after which updating M costs more than computing it anew."""


@dataclass(frozen=True, slots=True, eq=False)
class Border:
    """What x adds to the system A of one walk: its weights g, their total c, its multiplicity m."""

    g: Floats
    c: float
    m: float


@dataclass(frozen=True, slots=True, eq=False)
class _Trace:
    """What the last solve found: the border, and the eigenvalues and eigenvectors of T."""

    border: Border
    theta: Floats
    s: Floats


class Preconditioner:
    """M over all slots: its lower triangle in Fortran order, zero for slots it has no vertex of."""

    def __init__(self) -> None:
        self._inverse: Floats | None = None
        self._trace: _Trace | None = None
        self._border: Border | None = None
        self._residuals: Floats = np.zeros((ITERATIONS, 0))
        self._directions: Floats = np.zeros((ITERATIONS, 0))
        self._idle = 0

    def solve(
        self, weights: Floats, v: Floats, rates: Floats, border: Border, tolerance: float
    ) -> Floats | None:
        """z with |residual|_1 <= tolerance, or None if it was not found.

        weights is symmetric; v and g are zero outside the unlabeled vertices of the component;
        rates_i = A_ii.
        """
        self._trace = self._border = None
        self._idle = 0
        weights = weights.T  # the same matrix in the order BLAS wants
        if self._inverse is not None and len(self._inverse) == len(v):
            diagonal = np.einsum("ii->i", self._inverse)
            unknown = (v > 0) & (diagonal == 0)
            diagonal[unknown] = 1 / rates[unknown]
            z = self._iterate(self._inverse, weights, v, rates, border, tolerance)
            if z is not None:
                return z
        self._inverse = _inverted(weights, v, rates)
        if self._inverse is None:
            return None
        if self._residuals.shape[1] != len(v):
            self._residuals = np.zeros((ITERATIONS, len(v)))
            self._directions = np.zeros((ITERATIONS, len(v)))
        z = self._iterate(self._inverse, weights, v, rates, border, tolerance)
        if z is None:
            self._inverse = self._trace = None
        return z

    def learn(self) -> None:
        """Correct M in the directions in which the last solve found it wrong."""
        trace, self._trace = self._trace, None
        if trace is None or self._inverse is None:
            return
        factors = 1 / trace.theta - 1
        for sign in (1.0, -1.0):
            wrong = slots_where(sign * factors > WORTHWHILE)
            if len(wrong):
                mixed = trace.s[:, wrong] * np.sqrt(np.abs(factors[wrong]))
                found = mixed.T @ self._directions[: len(factors)]
                self._inverse = dsyrk(sign, found.T, 1.0, self._inverse, lower=1, overwrite_c=1)
        self._border = trace.border

    def added(self, slot: int) -> None:
        """The example of the last solve has become the unlabeled vertex of a slot."""
        border, self._border = self._border, None
        if border is None or self._inverse is None or slot >= len(self._inverse):
            return
        b = border.g / border.c
        row = _product(self._inverse, b)
        row[slot] = 1 / border.c + b @ row
        _write(self._inverse, slot, row)

    def merged(self, survivor: int, gone: int) -> None:
        """Two unlabeled vertices became one."""
        if self._inverse is not None and max(survivor, gone) < len(self._inverse):
            mine, theirs = _read(self._inverse, survivor), _read(self._inverse, gone)
            known = mine[survivor] > 0 and theirs[gone] > 0
            u = mine - theirs
            self._drop(self._inverse, gone, u, float(u[survivor] - u[gone]) if known else 0.0)

    def grounded(self, slot: int) -> None:
        """An unlabeled vertex was merged into a labeled one, or was labeled itself."""
        if self._inverse is not None and slot < len(self._inverse):
            u = _read(self._inverse, slot)
            self._drop(self._inverse, slot, u, float(u[slot]))

    def removed(self, slot: int) -> None:
        """A vertex was removed with all its edges."""
        if self._inverse is not None and slot < len(self._inverse):
            self._drop(self._inverse, slot, np.zeros(len(self._inverse)), 0.0)

    def _drop(self, inverse: Floats, slot: int, u: Floats, length: float) -> None:
        """Subtract the projection onto e, where u = M e and length = e'u; then clear the slot."""
        self._trace = self._border = None
        self._idle += 1
        if self._idle > IDLE:
            self._inverse = None
            return
        if length > 0:
            inverse = dsyr(-1 / length, u, lower=1, a=inverse, overwrite_a=1)
        _write(inverse, slot, np.zeros_like(u))
        self._inverse = inverse

    def _iterate(
        self,
        inverse: Floats,
        weights: Floats,
        v: Floats,
        rates: Floats,
        border: Border,
        tolerance: float,
    ) -> Floats | None:
        residuals, directions = self._residuals, self._directions
        g, c, m = border.g, border.c, border.m
        b, diagonal = g / c, rates + m * g
        spent, z, r = 0, np.zeros_like(b), b
        for _ in range(RESTARTS):
            main: list[float] = []  # the diagonal of T
            beside: list[float] = []  # the norm of r_1, then the off-diagonal of T
            pivot, last = np.inf, -1.0  # of eliminating T, and the last number of T^-1 Y'r
            while abs(last) * dasum(r) > 0.7 * tolerance:  # r is the residual up to this factor
                if spent == ITERATIONS:
                    return None
                spent, k = spent + 1, len(main)
                y = _product(inverse, r)
                square = float(r @ y)
                if not 0 < square < np.inf:
                    return None
                beside.append(square**0.5)
                np.multiply(r, 1 / beside[k], out=residuals[k])
                y = np.multiply(y, 1 / beside[k], out=directions[k])
                r = diagonal * y
                r -= v * _product(weights, v * y)
                r -= b * float(m * (g @ y))
                along = directions[: k + 1] @ r
                r -= along @ residuals[: k + 1]
                main.append(float(along[k]))
                pivot = main[k] - square / pivot
                if not 0 < pivot < np.inf:
                    return None
                last *= -beside[k] / pivot
            if main:
                theta, s = np.linalg.eigh(np.diag(main) + np.diag(beside[1:], -1))
                if not theta[0] > 0:
                    return None
                z = z + (s @ (s[0] * (beside[0] / theta))) @ directions[: len(main)]
                self._trace = _Trace(border, theta, s)
            r = b - (diagonal * z - v * _product(weights, v * z) - b * float(m * (g @ z)))
            if dasum(r) <= tolerance:
                return z
        return None


def _inverted(weights: Floats, v: Floats, rates: Floats) -> Floats | None:
    """The inverse of A, zero where v is; None if A is not positive definite in floating point."""
    members = slots_where(v > 0)
    if not len(members) or not (rates[members] > 0).all():
        return None
    scale = rates[members] ** -0.5
    s = v[members] * scale
    grid = np.ix_(members, members)
    system = weights.T[grid].T
    system *= s
    system *= -s[:, None]
    np.einsum("ii->i", system)[:] = 1.0
    system, failed = dpotrf(system, lower=1, overwrite_a=1)
    if not failed:
        system, failed = dpotri(system, lower=1, overwrite_c=1)
    if failed or not np.isfinite(system.trace()):
        return None
    system *= scale
    system *= scale[:, None]
    inverse = np.zeros((len(v), len(v)), order="F")
    inverse.T[grid] = system.T
    return inverse


def _product(matrix: Floats, x: Floats) -> Floats:
    """The product with a symmetric matrix in Fortran order; only its lower triangle is read."""
    result: Floats = dsymv(1.0, matrix, x, lower=1)
    return result


def _read(inverse: Floats, slot: int) -> Floats:
    return np.concatenate((inverse[slot, :slot], inverse[slot:, slot]))


def _write(inverse: Floats, slot: int, row: Floats) -> None:
    inverse[slot, :slot] = row[:slot]
    inverse[slot:, slot] = row[slot:]
