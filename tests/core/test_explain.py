"""An explanation adds up to the scores, and its chains are the most probable ones."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.streams import state
from onlooker import ClosestPair, Doubling, HeatKernel, OnlineHarmonicLearner
from onlooker.core import walks

SIGMA, CUTOFF, SINK = 0.5, 1e-2, 0.05

places = st.tuples(st.floats(-2, 2, width=16), st.floats(-1, 1, width=16))


@st.composite
def small_learners(draw, most=4):
    """Two or three labels and a few vertices, some of them heavy."""
    learner = OnlineHarmonicLearner(
        HeatKernel(SIGMA, CUTOFF),
        sink=draw(st.sampled_from([0.0, SINK])),
        max_vertices=most,
        quantizer=draw(st.sampled_from([ClosestPair(), Doubling()])),
    )
    taught = draw(st.lists(places, min_size=1, max_size=3, unique=True))
    for number, x in enumerate(taught):
        learner.teach(x, ["ana", "ben"][number % 2])
    for x in draw(st.lists(places, min_size=1, max_size=8)):
        for _ in range(draw(st.integers(1, 3))):
            learner.observe(x)
    return learner


def weight(x, y):
    w = np.exp(-((np.asarray(x) - np.asarray(y)) ** 2).sum() / (2 * SIGMA**2))
    return float(w) if w >= CUTOFF else 0.0


def surroundings(learner, x):
    """Vertices by id, without the one that represents x; the multiplicity and vector of x."""
    vertices = learner.vertices()
    rows = {
        int(i): (vector, int(v), name)
        for i, vector, v, name in zip(
            vertices.ids, vertices.vectors, vertices.multiplicities, vertices.names, strict=True
        )
    }
    own = learner.predict(x).vertex
    place, count, _ = rows.pop(own, (np.asarray(x), 0, None))
    return rows, place, count + 1


def probability(learner, x, chain):
    """Of the walk that takes exactly this chain."""
    rows, place, count = surroundings(learner, x)
    everything = [*rows.values(), (place, count, None)]
    result, here = 1.0, place
    for vertex in chain:
        there, v, _ = rows[vertex]
        total = sum(
            weight(here, other) * m for other, m, _ in everything if not np.array_equal(here, other)
        )
        if total + learner.sink == 0:  # an island without a sink: nobody gets away from here
            return 0.0
        result *= weight(here, there) * v / (total + learner.sink)
        here = there
    return result


@given(learner=small_learners(), x=places)
def test_shares_add_up_to_the_scores_of_each_name(learner, x):
    explanation = learner.explain(x)
    assert explanation.prediction == learner.predict(x)
    for name, score in explanation.prediction.scores.items():
        shares = [ending.share for ending in explanation.endings if ending.name == name]
        assert sum(shares) == pytest.approx(score, abs=1e-9)
    shares = [ending.share for ending in explanation.endings]
    assert shares == sorted(shares, reverse=True)
    assert all(0 <= share <= 1 for share in shares)


@given(learner=small_learners(most=8), x=places)
def test_a_chain_leads_from_a_neighbour_of_x_step_by_step_to_the_label(learner, x):
    vertices = learner.vertices()
    place_of = dict(zip(vertices.ids.tolist(), vertices.vectors, strict=True))
    count_of = dict(zip(vertices.ids.tolist(), vertices.multiplicities.tolist(), strict=True))
    name_of = dict(zip(vertices.ids.tolist(), vertices.names, strict=True))
    own = learner.predict(x).vertex
    start = place_of.get(own, np.asarray(x))
    for ending in learner.explain(x).endings:
        ids = [step.vertex for step in ending.chain]
        assert len(set(ids)) == len(ids)
        assert ending.vertex == ids[-1]
        assert name_of[ids[-1]] == ending.name
        assert all(name_of[i] is None for i in ids[:-1])
        assert [step.multiplicity for step in ending.chain] == [count_of[i] for i in ids]
        if ids == [own]:  # x was taught: it ends where it begins
            continue
        assert own not in ids
        for here, there in itertools.pairwise([start, *(place_of[i] for i in ids)]):
            assert weight(here, there) > 0


@given(learner=small_learners(), x=places)
@settings(max_examples=150)
def test_no_other_chain_to_the_same_label_is_more_probable(learner, x):
    explanation = learner.explain(x)
    if explanation.prediction.scores.get(explanation.prediction.label) == 1.0:
        return  # taught, or absorbed by a label: there is no walk
    rows, _, _ = surroundings(learner, x)
    unlabeled = [i for i, (_, _, name) in rows.items() if name is None]
    for ending in explanation.endings:
        every_chain = (
            (*way, ending.vertex)
            for length in range(len(unlabeled) + 1)
            for way in itertools.permutations(unlabeled, length)
        )
        best = max(probability(learner, x, chain) for chain in every_chain)
        found = probability(learner, x, [step.vertex for step in ending.chain])
        assert found == pytest.approx(best, rel=1e-9)
        assert found > 0


@given(learner=small_learners(), x=places)
def test_every_label_that_the_walk_can_reach_is_among_the_endings(learner, x):
    explanation = learner.explain(x)
    named = {ending.name for ending in explanation.endings}
    assert named >= {name for name, score in explanation.prediction.scores.items() if score > 0}


@given(learner=small_learners(), x=places)
def test_explaining_leaves_no_trace(learner, x):
    before, changes = state(learner), learner.changes()
    learner.explain(x)
    assert state(learner) == before
    assert learner.changes() == changes


def chain_of_five(*, most=10):
    """ana at 0, ben at 4, and three vertices on the way, the middle one seen three times."""
    learner = OnlineHarmonicLearner(HeatKernel(SIGMA, CUTOFF), sink=0.0, max_vertices=most)
    learner.teach([0.0], "ana")
    learner.teach([4.0], "ben")
    for x in ([1.0], [2.0], [2.0], [2.0], [3.0]):
        learner.observe(x)
    return learner


def test_on_a_line_the_chain_walks_along_it():
    explanation = chain_of_five().explain([2.5])
    chains = {
        ending.name: [(step.vertex, step.multiplicity) for step in ending.chain]
        for ending in explanation.endings
    }
    assert chains["ben"] == [(4, 1), (1, 1)]
    assert chains["ana"] == [(3, 3), (2, 1), (0, 1)]


def test_an_explanation_of_a_taught_example_is_that_example():
    (ending,) = chain_of_five().explain([4.0]).endings
    assert (ending.name, ending.share) == ("ben", 1.0)
    assert [step.vertex for step in ending.chain] == [1]


def test_nobody_has_no_explanation():
    assert chain_of_five().explain([40.0]).endings == ()


@settings(max_examples=25)
@given(learner=small_learners(most=8), x=places, columns=st.sampled_from([1, 2]))
def test_chains_do_not_depend_on_how_many_labels_are_searched_together(learner, x, columns):
    whole = learner.explain(x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walks, "COLUMNS", columns)
        assert learner.explain(x) == whole


@pytest.mark.parametrize("seed", range(4))
def test_the_weakest_link_is_as_similar_as_its_ends_however_often_they_were_seen(seed):
    rng = np.random.default_rng(seed)
    learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    for place, times in zip((0.0, 0.7, 1.5, 2.2), rng.permutation([1, 2, 3, 4]), strict=True):
        for _ in range(times):
            learner.observe([place]) if place else learner.teach([place], "ana")
    known = learner.vertices()
    places = dict(zip(known.ids.tolist(), known.vectors, strict=True))
    assert sorted(known.multiplicities.tolist()) == [1, 2, 3, 4]
    for x in (0.1, 0.8, 1.6, 2.3, 3.1):
        link = learner.explain([x]).weakest_link
        ends = [[x] if end is None else places[end] for end in (link.start, link.end)]
        expected = learner.kernel.similarity(ends[0], [ends[1]])[0]
        assert link.similarity == pytest.approx(expected)


def test_a_learner_that_knows_nothing_asks_nothing():
    learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    assert learner.question_later([])() is None


def test_a_learned_face_that_is_taught_is_recorded_with_its_name():
    learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    learner.teach([0.0], "ana")
    learner.observe([0.2])
    learner.teach([0.2], "ana")
    assert [(entry.kind, entry.vertex, entry.name) for entry in learner.entries()] == [
        ("absorbed", 1, None),
        ("labeled", 1, "ana"),
    ]
