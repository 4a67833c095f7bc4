"""The harmonic function solution: Section 2.1 of the paper, and its compact form, Proposition 1.

A walker stands on a vertex of the graph W. At every step it moves from i to j with probability
w_ij / (d_i + gamma), or falls into a sink with probability gamma / (d_i + gamma), where d_i is the
sum of row i. Labeled vertices keep the walker. The score of vertex i for a name is the probability
that a walk from i ends at that name; what is missing to one ended in the sink.

Writing that sentence for every unlabeled vertex at once gives a linear system:

    (L_uu + gamma I) l_u = W_ul l_l        with the Laplacian L = D - W

and if vertex i represents v_i identical examples, W becomes V W V and gamma I becomes gamma V.

Everything here is exact and offline. The diagonal of the system is a sum (weights plus leaks), and
a sink of 1e-11 beside weights of 1e3 is lost in it; the answer would then be wrong in its first
digit. So weights and leaks are stored apart, every result is checked against the law that all walks
end somewhere, and what fails the check is solved again by `eliminate`, which never subtracts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from onlooker.core import multilevel
from onlooker.core.errors import BadValue

__all__ = ["eliminate", "harmonic_solution", "laplacian", "poisson_solution"]

Floats = NDArray[np.float64]
Weights = Any
"""A numpy array, or an array or matrix of scipy.sparse."""

LEAST_SINK = 1e-12
"""In place of a sink of 0, with which the system of a part that reaches no label is singular."""

LOST_MASS = 1e-10
"""A solution is trusted if no vertex has lost more of its walks than this."""

LARGE = 20_000
"""A sparse component with more vertices is solved by conjugate gradients (`multilevel`): factors
would be too large, and grow faster than the graph."""

MANY_LINKS = 6
"""If it has more links a vertex: what is nearly a chain has small factors, and takes many steps."""

BLOCK = 64
"""Vertices that `eliminate` takes out of the graph together."""


def laplacian(weights: Weights) -> Weights:
    """Graph Laplacian, L = D - W in Section 2.1; sparse if the weights are.

    Self-similarity does not matter: a walker that stays put has not moved.

    >>> laplacian(np.array([[1.0, 0.5], [0.5, 1.0]]))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    W = _without_diagonal(_checked_weights(weights))
    degrees = W.sum(axis=1)
    D = scipy.sparse.diags_array(degrees) if _is_sparse(W) else np.diag(degrees)
    return D - W


def harmonic_solution(
    weights: Weights,
    labels: ArrayLike,
    is_labeled: ArrayLike,
    *,
    sink: float,
    multiplicity: ArrayLike | None = None,
) -> Floats:
    """Scores of every vertex (regularised solution, Proposition 1), in the shape of the labels.

    On a chain with a label at one end and weights of 1, a sink of 1/2 takes a share of every step:
    (1/2) / (2 + 1/2) in the middle, (1/2) / (1 + 1/2) at the far end. So confidence drops with the
    number of hops from a label.

    >>> chain = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> first = np.array([True, False, False])
    >>> harmonic_solution(chain, [1.0, 0.0, 0.0], first, sink=0.0)
    array([1., 1., 1.])
    >>> harmonic_solution(chain, [1.0, 0.0, 0.0], first, sink=0.5).round(3)
    array([1.   , 0.545, 0.364])

    Labels may be signed, as in the paper, or one column per name; the signed answer is the
    difference of the two columns. Rows of unlabeled vertices are not read.

    >>> ends = np.array([True, False, True])
    >>> harmonic_solution(chain, [1.0, np.nan, -1.0], ends, sink=0.5)
    array([ 1.,  0., -1.])
    >>> harmonic_solution(chain, [[1, 0], [0, 0], [0, 1]], ends, sink=0.5)
    array([[1. , 0. ],
           [0.4, 0.4],
           [0. , 1. ]])

    An unlabeled vertex from which no walk can reach a label has score 0 for every name; this is
    decided by looking for a path, not by looking at numbers, and so it holds without a sink too.

    >>> island = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> harmonic_solution(island, [1.0, 0.0, 0.0], first, sink=0.0)
    array([1., 1., 0.])

    Dense weights cost a Cholesky factorisation per connected component of unlabeled vertices,
    sparse ones a sparse LU factorisation, which is the way to go for large graphs with few edges.
    A sparse component of more than 20,000 vertices with six links or more each is solved by
    conjugate gradients instead, for all names at once, to about 1e-8.
    Scores are right to about 1e-10 however small the sink is. A component whose factorisation
    cannot promise that is eliminated densely: n^3 operations and n^2 numbers for n vertices.
    """
    W = _checked_weights(weights)
    n = W.shape[0]
    labeled = _checked_mask(is_labeled, n)
    given = _checked_labels(labels, labeled)
    gamma = _at_least_zero("the sink", sink)
    if gamma.shape:
        raise BadValue(f"the sink must be one number, got {sink!r}; multiplicity scales it")
    v = _checked_multiplicity(multiplicity, n)

    scores = np.where(labeled[:, None], given, 0.0)
    free = np.flatnonzero(~labeled)
    V = scipy.sparse.diags_array(v).tocsr()
    W_hat = _without_diagonal(V @ W @ V)
    W_uu, W_ul = W_hat[free][:, free], W_hat[free][:, np.flatnonzero(labeled)]
    # l = p^1 - p^-1, and for many names the second half is zero: nothing here is negative.
    ends = W_ul @ np.hstack([given[labeled].clip(0, None), (-given[labeled]).clip(0, None)])
    label_leaks = np.asarray(W_ul.sum(axis=1), dtype=float)
    walks = absorbed(W_uu, ends, label_leaks, gamma * v[free])
    scores[free] = np.subtract(*np.hsplit(walks, 2))
    return scores.reshape(np.shape(labels))


def poisson_solution(
    weights: Weights,
    labels: ArrayLike,
    is_labeled: ArrayLike,
    *,
    multiplicity: ArrayLike | None = None,
) -> Floats:
    """Potentials of Poisson learning, in the shape of the labels: the largest names a vertex.

    A relative of the harmonic solution for very few labels (Calder, Cook, Thorpe and Slepcev,
    *Poisson Learning: Graph Based Semi-Supervised Learning At Very Low Label Rates*, 2020). With
    few labels nearly all walks are long, harmonic scores are nearly the same everywhere but in
    spikes at the labels, and one name may win everywhere. Here labels are no ends of walks but
    sources and sinks of a flow (equation 2.3 there):

        L u = sum_j (y_j - ybar) delta_j        with  sum_i d_i u_i = 0,

    ybar the mean of all labels y_j and d_i the sum of row i of W. Labels are not fixed: a labeled
    vertex may come out with another name. On a chain with a label at each end the flow is even:

    >>> chain = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> ends = np.array([True, False, True])
    >>> poisson_solution(chain, [[1, 0], [0, 0], [0, 1]], ends)
    array([[ 0.5, -0.5],
           [ 0. ,  0. ],
           [-0.5,  0.5]])

    A vertex of multiplicity v_i stands for v_i equal examples: W becomes V W V, and if it has a
    label, it is v_i labels. The equation needs a connected graph. Each component is solved by
    itself, with the mean of its own labels. Where these are all equal there is no flow, and every
    vertex has that label; where there is none, potentials are 0.

    >>> pairs = np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]])
    >>> poisson_solution(pairs, [[1, 0], [0, 0], [0, 0], [0, 0]], np.arange(4) < 1)
    array([[1., 0.],
           [1., 0.],
           [0., 0.],
           [0., 0.]])
    """
    W = _checked_weights(weights)
    labeled = _checked_mask(is_labeled, W.shape[0])
    given = _checked_labels(labels, labeled)
    v = _checked_multiplicity(multiplicity, W.shape[0])
    V = scipy.sparse.diags_array(v).tocsr()
    W_hat = V @ W @ V
    degrees = np.asarray(W_hat.sum(axis=1), dtype=float)  # with the diagonal: copies are linked
    W_hat = _without_diagonal(W_hat)
    potentials = np.zeros_like(given)
    for part in _components(W_hat, labeled):
        own = part[labeled[part]]
        if (given[own] == given[own[0]]).all():
            potentials[part] = given[own[0]]
            continue
        sources = np.where(labeled[:, None], given - np.average(given[own], 0, v[own]), 0.0)
        # L is singular: one vertex is held at 0, and afterwards all are shifted.
        held = part[degrees[part].argmax()]
        free = part[part != held]
        flows = v[free, None] * sources[free]
        leaks = np.asarray(W_hat[free][:, [held]].sum(axis=1), dtype=float)
        both = np.hstack([flows.clip(0, None), (-flows).clip(0, None)])
        solved = absorbed(W_hat[free][:, free], both, leaks, np.zeros(len(free)))
        potentials[free] = np.subtract(*np.hsplit(solved, 2))
        potentials[part] -= np.average(potentials[part], 0, degrees[part])
    return potentials.reshape(np.shape(labels))


def absorbed(weights: Weights, ends: Floats, label_leaks: Floats, sink_leaks: Floats) -> Floats:
    """The (n, k) probabilities that walks from n unlabeled vertices end in each of k classes.

    weights are between them (V W V, without a diagonal), ends from each into each class,
    label_leaks into everything labeled, sink_leaks into the sink. A walk that cannot reach a label
    ends in none.

    >>> chain = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> absorbed(chain, np.array([[1.0], [0.0]]), np.array([1.0, 0.0]), np.full(2, 0.5)).round(3)
    array([[0.545],
           [0.364]])
    """
    walks, leaks = np.zeros(ends.shape), label_leaks + sink_leaks
    for part in _components(weights, label_leaks > 0):
        own = np.flatnonzero(ends[part].any(axis=0))  # of many classes a part has links to a few
        inside = weights[part][:, part]
        walks[np.ix_(part, own)] = _absorption(inside, leaks[part], ends[np.ix_(part, own)])
    return walks


def eliminate(weights: ArrayLike, leaks: ArrayLike, ends: ArrayLike) -> Floats:
    """Solve the walk without a single subtraction (Grassmann, Taksar and Heyman, 1985).

    Taking vertex k out of the graph sends every walk that would step on it to wherever it goes
    next: the weight between i and j grows by w_ik w_kj / d_k, and the leak of i by its share of the
    leak of k. The pivot d_k is summed from what is left, never read from a stored diagonal, so all
    operations add, multiply or divide numbers that are not negative. Each loses at most a rounding
    error *relative to its result*: so does the answer, whatever the condition of the system.

    weights: (n, n), symmetric, between the vertices that the walk passes; the diagonal is ignored
    leaks: (n,), total weight into everything that keeps the walk (labels and sink)
    ends: (n, k), weight into each of k absorbing classes; not negative

    Returns the (n, k) probabilities to be absorbed there. Two vertices, joined by 1e9 and leaking
    one part in 1e12 to a label and three to the sink; a float64 diagonal cannot tell:

    >>> eliminate([[0, 1e9], [1e9, 0]], leaks=[4e-12, 0], ends=[[1e-12], [0]])
    array([[0.25],
           [0.25]])

    The system is symmetric, so the same function answers the adjoint question, where a walk from
    vertex t spends its time: with e_t for ends the answer is z = (L + S)^-1 e_t, and z_i times the
    weight from i into a label, summed over i, is the probability that the walk ends at that label.
    """
    rates = np.array(weights, dtype=float)
    leak = np.array(leaks, dtype=float)
    absorbed = np.array(ends, dtype=float)
    n = len(leak)
    leaving = np.ones(n)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        for k in range(start, stop):
            onward = rates[k, k + 1 :]
            # A walk that can go nowhere reaches nothing: any pivot says so.
            leaving[k] = onward.sum() + leak[k] or 1.0
            share = onward / leaving[k]
            # This writes the diagonal too (walks that come back at once); no pivot ever reads it.
            rates[k + 1 : stop, k + 1 :] += np.outer(share[: stop - k - 1], onward)
            leak[k + 1 :] += share * leak[k]
            absorbed[k + 1 :] += np.multiply.outer(share, absorbed[k])
        # The rest of the graph is updated for the whole block at once: one product, not many.
        rows = rates[start:stop, stop:]
        rates[stop:, stop:] += (rows / leaving[start:stop, None]).T @ rows
    for k in reversed(range(n)):
        absorbed[k] = (absorbed[k] + rates[k, k + 1 :] @ absorbed[k + 1 :]) / leaving[k]
    return absorbed


def green_function(weights: Floats, leaks: Floats) -> Floats:
    """G = (L + S)^-1, dense: a walk from i passes j with probability G_ij / G_jj.

    For explanations, where a few digits are enough. Every part must leak: see LEAST_SINK.
    """
    diagonal = weights.sum(axis=1) + leaks
    scale = diagonal**-0.5  # multiplicities may differ by many orders of magnitude
    system = np.eye(len(leaks)) - weights * scale * scale[:, None]
    return np.asarray(scipy.linalg.inv(system, check_finite=False) * scale * scale[:, None])


def _absorption(W: Weights, leaks: Floats, ends: Floats) -> Floats:
    """Probabilities on one connected component that leaks.

    All walks end somewhere, so for `ends = leaks` the solution is 1 on every vertex. That column,
    the mass, is solved together with the others. Rounding acts as a false leak, which takes nearly
    the same share of every column: dividing by the mass gives it back.
    """
    columns = np.column_stack([ends, leaks])
    if _is_sparse(W) and len(leaks) > LARGE and W.nnz > MANY_LINKS * len(leaks):
        iterated = multilevel.solve(W, leaks, columns)
        return np.asarray(iterated[:, :-1] / iterated[:, -1:])
    solved = _factorised(W, leaks, columns)
    if solved is None or not (abs(solved[:, -1] - 1) <= LOST_MASS).all():
        return eliminate(W.toarray() if _is_sparse(W) else W, leaks, ends)
    return np.asarray(solved[:, :-1] / solved[:, -1:])


def _factorised(W: Weights, leaks: Floats, ends: Floats) -> Floats | None:
    """Solve (D - W + S) x = ends, scaled to a unit diagonal; None if that fails."""
    scale = 1 / np.sqrt(W.sum(axis=1) + leaks)
    try:
        if not _is_sparse(W):
            system = np.eye(len(leaks)) - scale[:, None] * W * scale
            factor = scipy.linalg.cho_factor(system, overwrite_a=True)
            return np.asarray(
                scale[:, None] * scipy.linalg.cho_solve(factor, scale[:, None] * ends)
            )
        S = scipy.sparse.diags_array(scale)
        system = (scipy.sparse.eye_array(len(leaks)) - S @ W @ S).tocsc()
        lu = splu(system, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except (np.linalg.LinAlgError, RuntimeError):  # not positive definite; exactly singular
        return None
    solved = S @ lu.solve(S @ ends)
    for _ in range(3):  # dense elimination is slow for a large sparse component: refine first
        if (abs(solved[:, -1] - 1) <= LOST_MASS).all():
            break
        solved += S @ lu.solve(S @ _residual(W, leaks, ends, solved))
    return np.asarray(solved)


def _residual(W: Weights, leaks: Floats, ends: Floats, solved: Floats) -> Floats:
    """ends - (D - W + S) solved, where differences come first so that the leaks are not lost."""
    edges = W.tocoo()
    flow = edges.data[:, None] * (solved[edges.row] - solved[edges.col])
    outflow = [np.bincount(edges.row, column, len(leaks)) for column in flow.T]
    return np.asarray(ends - leaks[:, None] * solved - np.column_stack(outflow))


def _components(W_uu: Weights, touches_label: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """The connected components of unlabeled vertices from which some walk reaches a label."""
    if not touches_label.any():
        return []
    _, component = connected_components(scipy.sparse.csr_array(W_uu), directed=False)
    order = np.argsort(component, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(component[order])) + 1)
    return [part for part in parts if touches_label[part].any()]


def _is_sparse(weights: Weights) -> bool:
    return bool(scipy.sparse.issparse(weights))


def _without_diagonal(W: Weights) -> Weights:
    if _is_sparse(W):
        W = scipy.sparse.csr_array(W - scipy.sparse.diags_array(W.diagonal()))
        W.eliminate_zeros()  # a stored zero is not an edge
        return W
    W = W.copy()
    np.fill_diagonal(W, 0.0)
    return W


def _floats(what: str, values: ArrayLike) -> Floats:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise BadValue(f"{what} must be numbers, got {values!r}; convert them first") from error


def _at_least_zero(what: str, values: ArrayLike) -> Floats:
    numbers = _floats(what, values)
    wrong = numbers[~(np.isfinite(numbers) & (numbers >= 0))]
    if wrong.size:
        raise BadValue(f"{what} must be finite and not negative, got {wrong[0]}; take it out")
    return numbers


def _one_each(what: str, values: NDArray[Any], n: int) -> None:
    if values.shape != (n,):
        raise BadValue(f"{what} has shape {values.shape}; give one for each of the {n} vertices")


def _checked_weights(weights: Weights) -> Weights:
    """The weights as float64 (csr if sparse), checked, and symmetric to the last digit."""
    sparse = _is_sparse(weights)
    W: Weights = weights
    W = scipy.sparse.csr_array(W, dtype=float) if sparse else _floats("weights", W)
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise BadValue(f"weights must be square, got shape {W.shape}; give one row per vertex")
    _at_least_zero("a weight", W.data if sparse else W)
    excess = abs(W - W.T) - 1e-9 * (W + W.T)  # rounding is forgiven
    if W.shape[0] and excess.max() > 0:
        i, j = divmod(int(excess.argmax()), W.shape[0])
        raise BadValue(
            f"weights must be symmetric, but from {i} to {j} it is {W[i, j]} and back {W[j, i]}; "
            "take (W + W.T) / 2, or look for the mistake"
        )
    return (W + W.T) / 2


def _checked_multiplicity(multiplicity: ArrayLike | None, n: int) -> Floats:
    v = np.ones(n) if multiplicity is None else _at_least_zero("a multiplicity", multiplicity)
    _one_each("multiplicity", v, n)
    if not v.all():
        raise BadValue("a multiplicity must be above zero, got 0; leave out that vertex instead")
    return v


def _checked_mask(is_labeled: ArrayLike, n: int) -> NDArray[np.bool_]:
    mask = np.asarray(is_labeled)
    if mask.dtype != bool:
        raise BadValue(
            f"is_labeled must say True or False for each vertex, got {mask.dtype}; positions "
            "become a mask by np.isin(np.arange(n), positions)"
        )
    _one_each("is_labeled", mask, n)
    return mask


def _checked_labels(labels: ArrayLike, labeled: NDArray[np.bool_]) -> Floats:
    """The labels as a matrix, one column per name, zero where they are not read."""
    given = _floats("labels", labels)
    n = len(labeled)
    if given.ndim not in (1, 2) or len(given) != n:
        raise BadValue(
            f"labels have shape {given.shape}, but there are {n} vertices; give ({n},) for signed "
            f"labels or ({n}, k) for k names"
        )
    given = np.where(labeled[:, None], given[:, None] if given.ndim == 1 else given, 0.0)
    if not np.isfinite(given).all():
        wrong = given[~np.isfinite(given)][0]
        raise BadValue(f"a label must be finite, got {wrong}; is_labeled says which rows are read")
    return given
