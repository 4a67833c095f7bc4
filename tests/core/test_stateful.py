"""Hypothesis plays all verbs in any order; the oracle runs beside, and the laws hold throughout."""

import copy
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from helpers.streams import (
    QUANTIZERS,
    assert_same_answer,
    assert_same_state,
    pair_of_learners,
    state,
)
from onlooker import OnlineHarmonicLearner, OnlookerError
from oracle import Refused

# A small grid, so that examples meet at the same place and gaps are equal. No gap is the reach.
GRID = st.tuples(st.integers(0, 4), st.integers(0, 3)).map(lambda p: (float(p[0]), float(p[1])))
NAMES = st.sampled_from(["ana", "ben", "cleo"])


def both(found, expected):
    """Two calls: both refuse, or both answer."""
    try:
        wanted = expected()
    except Refused:
        with pytest.raises(OnlookerError):
            found()
        return None, None
    return found(), wanted


class Verbs(RuleBasedStateMachine):
    """Teach, exclude, unteach, observe, predict, explain, drop, forget, merge, save and load."""

    @initialize(
        quantizer=st.sampled_from(sorted(QUANTIZERS)),
        n_g=st.integers(1, 5),
        gamma=st.sampled_from([0.0, 1e-6, 1e-2, 5.0]),
        epsilon=st.sampled_from([1e-1, 1e-3]),
        min_score=st.sampled_from([0.0, 0.0, 0.4]),
        trust_radius=st.sampled_from([None, None, 1.2, 2.6]),  # between distances of the grid
    )
    def begin(self, **setting):
        self.setting = setting | {"sigma": 0.7}
        self.learner, self.model = pair_of_learners(**self.setting)
        self.absorbed = 0

    @rule(x=GRID, name=NAMES)
    def teach(self, x, name):
        before = state(self.learner)
        both(lambda: self.learner.teach(x, name), lambda: self.model.teach(x, name))
        self.absorbed += state(self.learner) != before

    @rule(x=GRID, name=NAMES | st.none())
    def exclude(self, x, name):
        before = state(self.learner)
        options = {"nobody": True} if name is None else {"not_name": name}
        both(lambda: self.learner.teach(x, **options), lambda: self.model.teach_not(x, name))
        self.absorbed += state(self.learner) != before

    @rule(x=GRID)
    def unteach(self, x):
        both(lambda: self.learner.unteach(x), lambda: self.model.unteach(x))

    @rule(x=GRID)
    def observe(self, x):
        before = state(self.learner)
        answer = self.learner.observe(x)
        assert_same_answer(answer, self.model.observe(x))
        self.absorbed += answer.label is not None
        assert (state(self.learner) == before) == (answer.label is None)

    @rule(rows=st.lists(GRID, min_size=1, max_size=6))
    def observe_many(self, rows):
        for answer, x in zip(self.learner.observe_many(rows), rows, strict=True):
            assert_same_answer(answer, self.model.observe(x))
            self.absorbed += answer.label is not None

    @rule(x=GRID)
    def predict(self, x):
        before = state(self.learner)
        assert_same_answer(self.learner.predict(x), self.model.predict(x))
        assert state(self.learner) == before

    @rule(x=GRID)
    def explain(self, x):
        before = state(self.learner)
        explanation = self.learner.explain(x)
        assert explanation.prediction == self.learner.predict(x)
        for name, score in explanation.prediction.scores.items():
            shares = [ending.share for ending in explanation.endings if ending.name == name]
            assert sum(shares) == pytest.approx(score, abs=1e-9)
        assert state(self.learner) == before

    @rule(place=st.integers(0, 8))
    def drop(self, place):
        ids = [c.id for c in self.model.vertices]
        vertex = ids[place] if place < len(ids) else 10**6
        self.absorbed -= sum(c.multiplicity for c in self.model.vertices if c.id == vertex)
        both(lambda: self.learner.drop(vertex), lambda: self.model.drop(vertex))

    @rule(name=NAMES)
    def forget(self, name):
        # Rounding decides a tie, and with it who goes.
        for c in [c for c in self.model.vertices if c.name is None]:
            best, second, *_ = sorted([*self.model.walk(c.id)[0].values(), 0, 0], reverse=True)
            assume(best == 0 or best - second > 1e-9)
        before = {c.id: c for c in copy.deepcopy(self.model.vertices)}
        receipt, _ = both(lambda: self.learner.forget(name), lambda: self.model.forget(name))
        if receipt is None:
            return
        gone = [c for i, c in before.items() if i not in {c.id for c in self.model.vertices}]
        assert receipt.labeled == sum(c.name == name for c in gone)
        assert receipt.unlabeled == sum(c.name is None for c in gone)
        assert receipt.multiplicity == sum(c.multiplicity for c in gone)
        left = {c.id for c in self.model.vertices if None not in c.not_names}
        assert set(receipt.unreachable) == left - self.model.reachable()
        self.absorbed -= receipt.multiplicity

    @rule(
        taught=st.lists(st.tuples(GRID, NAMES), max_size=3),
        excluded=st.lists(st.tuples(GRID, NAMES), max_size=2),
        seen=st.lists(GRID, max_size=6),
    )
    def merge(self, taught, excluded, seen):
        other, its_model = pair_of_learners(**self.setting)
        for x, name in taught:
            both(lambda x=x, n=name: other.teach(x, n), lambda x=x, n=name: its_model.teach(x, n))
        for x in seen:
            other.observe(x)
            its_model.observe(x)
        for x, name in excluded:
            both(
                lambda x=x, n=name: other.teach(x, not_name=n),
                lambda x=x, n=name: its_model.teach_not(x, n),
            )
        before, left_alone = state(self.learner), state(other)
        size = int(other.vertices().multiplicities.sum())
        try:
            self.model.merge(its_model)
        except Refused:
            with pytest.raises(OnlookerError):
                self.learner.merge(other)
            assert state(self.learner) == before
        else:
            self.learner.merge(other)
            self.absorbed += size
        assert state(other) == left_alone

    @precondition(lambda self: self.model.vertices)
    @rule()
    def merge_with_itself(self):
        self.learner.merge(self.learner)
        self.model.merge(self.model)
        self.absorbed *= 2

    @rule()
    def save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            self.learner.save(Path(folder, "learner"))
            loaded = OnlineHarmonicLearner.load(Path(folder, "learner"))
        assert state(loaded) == state(self.learner)
        self.learner = loaded

    @invariant()
    def the_oracle_is_in_the_same_state(self):
        assert_same_state(self.learner, self.model)

    @invariant()
    def the_budget_holds(self):
        vertices = self.learner.vertices()
        named = zip(vertices.ids.tolist(), vertices.names, strict=True)
        counted = [i for i, name in named if name is None and i not in vertices.negatives]
        assert len(counted) <= self.learner.max_vertices

    @invariant()
    def every_example_is_counted_once(self):
        assert self.learner.vertices().multiplicities.sum() == self.absorbed

    @invariant()
    def unlabeled_vertices_are_at_distinct_places(self):
        places = state(self.learner)["vectors"]
        assert len({tuple(place) for place in places}) == len(places)


Verbs.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestVerbs = Verbs.TestCase
