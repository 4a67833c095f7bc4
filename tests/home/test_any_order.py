"""All verbs, restarts and kills in any order, beside a learner that is never restarted."""

import copy
import tempfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from helpers.homes import (
    crash,
    opened,
    small_learner,
)
from onlooker.core.errors import LabelConflict, NotFound
from onlooker.home.events import digest
from onlooker.home.retention import RetentionPolicy

points = st.tuples(st.integers(0, 5), st.integers(0, 3)).map(
    lambda at: np.array([*at, 0, 0, 0, 0, 0, 0]) * 0.4
)


class AnyOrder(RuleBasedStateMachine):
    """A home beside a plain learner that is never restarted; copies stand for its history."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.home = self.open()
        self.plain = small_learner(max_vertices=4)
        self.states = {0: copy.deepcopy(self.plain)}

    def open(self):
        return opened(
            self.folder.name,
            new_learner=lambda: small_learner(max_vertices=4),
            retention=RetentionPolicy(snapshot_every=6),
        )

    def both(self, act):
        found = expected = None
        try:
            expected = act(self.plain)
        except (NotFound, LabelConflict) as error:
            with pytest.raises(type(error)):
                act(self.home)
        else:
            found = act(self.home)
        self.compare()
        return found, expected

    def compare(self):
        assert digest(self.home.learner) == digest(self.plain)
        self.states.setdefault(self.home.sequence, copy.deepcopy(self.plain))

    @rule(x=points)
    def observe(self, x):
        def act(one):
            return one.observe(x, camera="a", frame=0) if one is self.home else one.observe(x)

        found, expected = self.both(act)
        assert (found.label, found.vertex) == (expected.label, expected.vertex)

    @rule(x=points, name=st.sampled_from(["ana", "ben"]))
    def teach(self, x, name):
        self.both(lambda one: one.teach(x, name))

    @rule(x=points, name=st.sampled_from(["ana", "ben"]))
    def exclude(self, x, name):
        self.both(lambda one: one.teach(x, not_name=name))

    @rule(x=points)
    def nobody(self, x):
        self.both(lambda one: one.teach(x, nobody=True))

    @rule(x=points)
    def unteach(self, x):
        self.both(lambda one: one.unteach(x))

    @rule(vertex=st.integers(0, 20))
    def drop(self, vertex):
        self.both(lambda one: one.drop(vertex))

    @rule(name=st.sampled_from(["ana", "ben"]))
    def forget(self, name):
        found, _ = self.both(lambda one: one.forget(name))
        if found is not None:
            self.states = {self.home.sequence: copy.deepcopy(self.plain)}

    @precondition(lambda self: len(self.states) > 1)
    @rule(data=st.data())
    def undo(self, data):
        to = data.draw(st.sampled_from(sorted(self.states)))
        before = self.plain.next_id
        self.home.undo(to=to)
        state = self.states[to].state()
        self.plain = self.states[to].restored(replace(state, next_id=before))
        self.compare()

    @rule(kill=st.booleans())
    def restart(self, kill):
        crash(self.home) if kill else self.home.close()
        self.home = self.open()
        assert self.home.problems == ()
        self.compare()

    def teardown(self):
        self.home.close()
        self.folder.cleanup()


TestAnyOrder = AnyOrder.TestCase


TestAnyOrder.settings = settings(max_examples=20, stateful_step_count=20)
