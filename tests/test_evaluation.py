"""Frames are scored as in the paper, and what was learned is traced back to whose faces it is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.streams import QUANTIZERS
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.evaluation import Provenance, Score

WHO = ("ana", "ben", None)
frames = st.lists(
    st.tuples(st.lists(st.sampled_from(WHO), max_size=3), st.sampled_from(WHO)), max_size=30
)


# ---- scores


@given(frames)
def test_a_score_is_what_counting_by_hand_gives(shown):
    score = Score()
    for said, truth in shown:
        score.count(said, truth)
    named = [(set(said) - {None}, truth) for said, truth in shown if set(said) - {None}]
    right = sum(truth is not None and names == {truth} for names, truth in named)
    known = sum(truth is not None for _, truth in shown)
    assert score.frames == len(shown)
    assert (score.named, score.right, score.known) == (len(named), right, known)
    assert score.missed == known - right
    assert score.strangers_named == sum(truth is None for _, truth in named)
    assert score.precision == (right / len(named) if named else None)
    assert score.recall == (right / known if known else None)
    assert len(score.hits) == known
    assert sum(score.hits) == right


@given(frames, st.sampled_from(("ana", "ben")))
def test_two_names_on_one_frame_are_wrong_whoever_is_in_it(shown, truth):
    score = Score()
    for said, true in shown:
        score.count(said, true)
    before = score.right
    score.count(["ana", "ben"], truth)
    assert score.right == before
    assert not score.hits[-1]


def test_the_same_name_twice_is_one_name():
    score = Score()
    score.count(["ana", None, "ana"], "ana")
    assert score.precision == score.recall == 1


@given(frames)
def test_a_named_stranger_costs_precision_and_not_recall(shown):
    score = Score()
    for said, truth in shown:
        score.count(said, truth)
    precision, recall, strangers = score.precision, score.recall, score.strangers_named
    score.count(["ana"], None)
    assert score.recall == recall
    assert score.strangers_named == strangers + 1
    assert score.precision is not None
    assert score.precision == 0 if not precision else score.precision < precision


@given(st.lists(st.sampled_from(WHO)))
def test_where_nothing_was_named_precision_is_none(truths):
    score = Score()
    for truth in truths:
        score.count([None], truth)
    assert score.precision is None
    assert score.recall == (0 if any(truths) else None)


# ---- provenance


def traced(learner, answers):
    """Each accepted example, and the vertex that stands for it now: one id for each, no counting.

    `answers` yields the answer of every observe, right after it.
    """
    where = []
    for answer, truth in answers:
        if answer.vertex is not None:
            where.append([answer.vertex, truth])
            for gone, into in learner.changes().merged.items():
                for example in where:
                    if example[0] == gone:
                        example[0] = into
    return where


def wrong_hands(learner, where):
    """How many of them are at a vertex that is called after somebody else."""
    vertices = learner.vertices()
    called = {
        int(vertex): learner.predict(vector).label
        for vertex, vector in zip(vertices.ids, vertices.vectors, strict=True)
    }
    return sum(called[vertex] not in (None, truth) for vertex, truth in where)


def watched(learner, origin, rows, truths):
    for x, truth in zip(rows, truths, strict=True):
        answer = learner.observe(x)
        origin.note(answer, truth)
        yield answer, truth


@pytest.mark.parametrize("quantizer", QUANTIZERS)
@given(seed=st.integers(0, 2**32), budget=st.integers(1, 8))
@settings(max_examples=40)
def test_contamination_is_what_following_every_example_gives(quantizer, seed, budget):
    rng = np.random.default_rng(seed)
    learner = OnlineHarmonicLearner(
        HeatKernel(0.3, 1e-3), max_vertices=budget, quantizer=QUANTIZERS[quantizer]()
    )
    learner.teach([0.0, 0.0], "ana")
    learner.teach([1.5, 0.0], "ben")
    origin = Provenance(learner)
    rows = rng.normal((0.7, 0.0), 1.0, (40, 2)).round(1)  # some of them twice at one place
    truths = [WHO[which] for which in rng.integers(3, size=len(rows))]
    where = traced(learner, watched(learner, origin, rows, truths))
    assert origin.contamination() == (wrong_hands(learner, where) / len(where) if where else None)
    multiplicities = learner.vertices().multiplicities.sum()
    assert multiplicities == len(where) + 2, "the oracle must not lose an example"


@pytest.mark.parametrize("quantizer", QUANTIZERS)
def test_every_accepted_example_is_kept_through_all_merges(quantizer):
    """Whoever is nobody we know is in the wrong hands: then the share is all of them."""
    rng = np.random.default_rng(5)
    learner = OnlineHarmonicLearner(
        HeatKernel(1.0, 1e-9), max_vertices=5, quantizer=QUANTIZERS[quantizer]()
    )
    learner.teach([0.0], "ana")
    origin = Provenance(learner)
    accepted = 0
    for x in rng.uniform(-3, 3, 200):
        answer = learner.observe([x])
        origin.note(answer, "eve")
        accepted += answer.vertex is not None
        assert learner.vertices().multiplicities.sum() == accepted + 1
    assert len(learner) <= 6
    assert accepted == 200
    assert origin.contamination() == 1.0


@pytest.mark.parametrize("quantizer", QUANTIZERS)
def test_a_clean_stream_is_clean(quantizer):
    rng = np.random.default_rng(2)
    learner = OnlineHarmonicLearner(
        HeatKernel(0.3, 1e-3), max_vertices=6, quantizer=QUANTIZERS[quantizer]()
    )
    learner.teach([0.0], "ana")
    learner.teach([50.0], "ben")
    origin = Provenance(learner)
    for _ in range(60):
        who, middle = (("ana", 0.0), ("ben", 50.0), (None, 500.0))[rng.integers(3)]
        origin.note(learner.observe([middle + rng.uniform(-0.3, 0.3)]), who)
    assert origin.contamination() == 0


def test_nothing_accepted_is_no_contamination_at_all():
    learner = OnlineHarmonicLearner(HeatKernel(0.3, 1e-3))
    origin = Provenance(learner)
    assert origin.contamination() is None
    learner.teach([0.0], "ana")
    origin.note(learner.observe([99.0]), "ben")
    assert origin.contamination() is None


def test_a_vertex_that_lost_its_way_to_every_label_is_in_nobodys_hands():
    learner = OnlineHarmonicLearner(HeatKernel(0.3, 1e-3))
    learner.teach([0.0], "ana")
    learner.teach([0.2], "ben")
    origin = Provenance(learner)
    origin.note(learner.observe([-0.1]), "ben")
    assert origin.contamination() == 1
    learner.unteach([0.0])
    learner.unteach([0.2])
    assert origin.contamination() == 0
