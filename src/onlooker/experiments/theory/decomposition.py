"""The regret of Section 3.2 in three terms: offline, by being online, and by quantization.

For every unlabeled example x_t of a stream with labels y_t in {-1, +1}:

    l*_t       the offline solution on all n examples
    lt_t[t]    the online one on the first t, unquantized
    lh_t[t]    the quantized one, on at most n_g representatives

    total = mean (lh_t[t] - y_t)^2        T1 = mean (l*_t - y_t)^2
    T2 = mean (lt_t[t] - l*_t)^2          T3 = mean (lh_t[t] - lt_t[t])^2

and total <= 3 (T1 + T2 + T3) by Cauchy and Schwarz; the paper has 9/2. All solutions have hard
labels, as in the figure, and share sigma, epsilon and gamma_g. lh is measured twice:

    learner         OnlineHarmonicLearner with the paper's `Doubling`. An example within R of a
                    label is absorbed by the label, whose weight grows (the figure's reading).
    labels apart    the same graph and quantizer, but over unlabeled examples only; labels keep
                    weight 1 (the text: "we mainly focus on the quantization of unlabeled").

The learner would skip outliers, which the others keep; the cutoff is so small that there are none,
and `skipped` counts them (their score is 0).

The paper lets gamma_g grow as n^(1/4). That shrinks *every* score towards 0, and with them T2 and
T3 but not T1: so the size of the scores, mean l*^2, is measured too, and 0 as a constant answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy import special

from onlooker import Doubling, HeatKernel, OnlineHarmonicLearner
from onlooker.core.harmonic import harmonic_solution, laplacian
from onlooker.experiments.theory.compact import merged_into

Floats = NDArray[np.float64]

KERNEL = HeatKernel(bandwidth=0.25, cutoff=1e-12)
N_L = 10
PACE = 40
"""The number of examples after which the drifting clusters have moved by 1."""


@dataclass(frozen=True, slots=True, eq=False)
class SignedStream:
    """Examples with signs; the first n_l are labeled and known from the start."""

    vectors: Floats
    signs: Floats
    n_l: int


def moons(seed: int, n: int, n_l: int = N_L) -> SignedStream:
    """Two interleaved half circles; the first examples do not depend on how many follow."""
    u = np.random.default_rng(seed).random((n, 4))
    signs = _signs(u[:, 3], n_l)
    arc = np.column_stack([np.cos(np.pi * u[:, 2]), np.sin(np.pi * u[:, 2])])
    vectors = np.where(signs[:, None] > 0, arc, [1.0, 0.5] - arc)
    return SignedStream(vectors + 0.1 * special.ndtri(u[:, :2]), signs, n_l)


def drift(seed: int, n: int, n_l: int = N_L) -> SignedStream:
    """Two clusters that move, so that new examples lie in new places and degrees do not grow."""
    u = np.random.default_rng(seed).random((n, 3))
    signs = _signs(u[:, 2], n_l)
    centres = np.column_stack([np.arange(n) / PACE, 0.6 * signs])
    return SignedStream(centres + 0.25 * special.ndtri(u[:, :2]), signs, n_l)


STREAMS = {"moons": moons, "drift": drift}


def _signs(u: Floats, n_l: int) -> Floats:
    """Random signs, but alternating ones for the labels, so that both signs are labeled."""
    return np.where(np.where(np.arange(len(u)) < n_l, np.arange(len(u)) % 2, u) < 0.5, 1.0, -1.0)


def offline(similar: Floats, stream: SignedStream, sink: float) -> Floats:
    """l*, one solve for all examples."""
    labeled = np.arange(len(similar)) < stream.n_l
    return harmonic_solution(similar, stream.signs, labeled, sink=sink)


def online(similar: Floats, stream: SignedStream, sink: float, steps: Sequence[int]) -> Floats:
    """lt_t[t] at some steps: the last entry of the solution on the graph up to there.

    Every example changes the degrees of all before it, so no factor is reused between steps. As in
    `harmonic_solution`, dividing by the mass of all walks compensates for rounding.
    """
    n_l, scores = stream.n_l, []
    for t in steps:
        to_labels, among = similar[n_l : t + 1, :n_l], similar[n_l : t + 1, n_l : t + 1]
        leaks, system = to_labels.sum(axis=1) + sink, -among
        np.fill_diagonal(system, among.sum(axis=1) + leaks)
        ends = np.column_stack([to_labels @ stream.signs[:n_l], leaks])
        factor = scipy.linalg.cho_factor(system.T, overwrite_a=True, check_finite=False)
        score, mass = scipy.linalg.cho_solve(factor, ends, check_finite=False)[-1]
        scores.append(score / mass)
    return np.array(scores)


def by_learner(stream: SignedStream, sink: float, n_g: int) -> tuple[Floats, Floats, int]:
    """The learner's lh_t[t] at every step, what represents each example, and the skipped."""
    learner = OnlineHarmonicLearner(KERNEL, sink=sink, max_vertices=n_g, quantizer=Doubling())
    for x, sign in zip(stream.vectors, stream.signs[: stream.n_l], strict=False):
        learner.teach(x, f"{sign:+.0f}")
    scores, represented = stream.signs.copy(), stream.vectors.copy()
    places, merged = dict[int, int](), dict[int, int]()
    for t in range(stream.n_l, len(scores)):
        prediction = learner.observe(stream.vectors[t])
        scores[t] = prediction.scores.get("+1", 0.0) - prediction.scores.get("-1", 0.0)
        merged |= learner.changes().merged
        if prediction.vertex is not None:
            places[t] = prediction.vertex
    vertices = learner.vertices()
    where = dict(zip(vertices.ids.tolist(), vertices.vectors, strict=True))
    for t, vertex in places.items():
        represented[t] = where[merged_into(merged, vertex)]
    return scores, represented, len(scores) - stream.n_l - len(places)


def terms(lh: Floats, lt: Floats, best: Floats, y: Floats) -> dict[str, Any]:
    """The decomposition, from the three predictions at the same steps; best is l*.

    >>> one = np.array([1.0])
    >>> terms(0.0 * one, 0.5 * one, 0.8 * one, one)["total"]
    1.0
    """
    total, first, second, third = (
        float(np.mean(gap**2)) for gap in (lh - y, best - y, lt - best, lh - lt)
    )
    strength = float(np.mean(best**2))
    return {
        "total": total,
        "offline": first,
        "online": second,
        "quantization": third,
        "strength": strength,
        "online_share": second / strength if strength else 0.0,
        "quantization_share": third / strength if strength else 0.0,
        "sign_error": float(np.mean(lh * y <= 0)),
        "zero": float(np.mean(y**2)),
        "constant": total / ((first + second + third) or 1.0),
    }


def quantization_bound(change: Floats, n_l: int, sink: float) -> float:
    """n_l |Lq - L|_F^2 / gamma_g^4, from the change of the weights of all n examples."""
    squared = (change**2).sum() + (change.sum(axis=1) ** 2).sum()
    return float(n_l * squared / sink**4)


def labeled_risk(similar: Floats, stream: SignedStream, sink: float) -> float:
    """The first term of the final bound, without its 9/2, for labels that pull with weight 1."""
    pull = np.arange(len(similar)) < stream.n_l
    soft = laplacian(similar) + np.diag(sink + pull)
    fitted = scipy.linalg.solve(soft, pull * stream.signs, assume_a="pos")
    return float(np.mean((fitted - stream.signs)[: stream.n_l] ** 2))
