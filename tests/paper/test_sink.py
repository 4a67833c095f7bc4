"""Section 2.1: regularisation is a sink, which takes gamma / (d_i + gamma) of every step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker.core.harmonic import harmonic_solution

POSITIVE = st.floats(1e-6, 1e6)


def chain(weights):
    """Vertices in a row; the first one is labeled."""
    W = np.diag(np.asarray(weights, dtype=float), 1)
    return W + W.T


def from_the_first(W, **options):
    labels = np.eye(len(W))[0]
    return harmonic_solution(W, labels, labels == 1, **options)


@given(weight=POSITIVE, sink=POSITIVE)
def test_one_step_ends_in_the_sink_with_probability_gamma_over_d_plus_gamma(weight, sink):
    _, score = from_the_first(chain([weight]), sink=sink)
    assert 1 - score == pytest.approx(sink / (weight + sink), abs=1e-12)


@given(weights=st.lists(POSITIVE, min_size=2, max_size=6), sink=POSITIVE)
def test_on_a_chain_the_steps_multiply(weights, sink):
    """Seen from the far end: what leaks behind a vertex is its sink and, through the next edge,
    what leaks behind that (two conductances in a row)."""
    forward, leak = [], sink
    for weight in reversed(weights):
        forward.insert(0, weight / (weight + leak))
        leak = sink + weight * leak / (weight + leak)
    scores = from_the_first(chain(weights), sink=sink)
    np.testing.assert_allclose(scores[1:], np.cumprod(forward), atol=1e-9)


@given(weights=st.lists(POSITIVE, min_size=1, max_size=6), sink=st.floats(1e-3, 1e3))
def test_confidence_drops_with_the_number_of_hops(weights, sink):
    scores = from_the_first(chain(weights), sink=sink)
    assert (np.diff(scores) <= 1e-12).all()
    step_is_felt = sink / (np.asarray(weights) + sink) > 1e-6
    # Rounding cannot hide a drop unless what is left of the walk is itself below it.
    assert (np.diff(scores) < 0)[step_is_felt & (scores[:-1] > 1e-6)].all()


def test_without_a_sink_there_is_no_drop():
    np.testing.assert_allclose(from_the_first(chain([1, 0.01, 3, 1e-6]), sink=0), 1, atol=1e-12)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_a_sink_of_zero_gives_the_ordinary_solution(seed):
    W = np.random.default_rng(seed).random((7, 7))
    W = W + W.T
    labels = np.array([1, -1, 0, 0, 0, 0, 0])
    labeled = labels != 0
    L = np.diag(W.sum(axis=1)) - W
    ordinary = np.linalg.solve(L[2:, 2:], W[2:, :2] @ [1, -1])
    np.testing.assert_allclose(
        harmonic_solution(W, labels, labeled, sink=0)[2:], ordinary, atol=1e-12
    )
    nearly = harmonic_solution(W, labels, labeled, sink=1e-9)[2:]
    np.testing.assert_allclose(nearly, ordinary, atol=1e-7)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_an_endless_sink_takes_all_confidence(seed):
    W = np.random.default_rng(seed).random((7, 7))
    W = W + W.T
    labels = np.array([1, 1, 0, 0, 0, 0, 0])
    sinks = [0.0, 1.0, 1e2, 1e4, 1e8]
    scores = np.array([harmonic_solution(W, labels, labels == 1, sink=s)[2:] for s in sinks])
    assert (np.diff(scores, axis=0) < 0).all()
    assert scores[-1].max() < 1e-6
    assert (scores[-1] > 0).all()
