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
        self.mentioned = set()

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
        self.mention(name, lambda one: one.teach(x, name))

    @rule(x=points, name=st.sampled_from(["ana", "ben"]))
    def exclude(self, x, name):
        self.mention(name, lambda one: one.teach(x, not_name=name))

    def mention(self, name, act):
        before = self.home.sequence
        self.both(act)
        if self.home.sequence > before:
            self.mentioned.add(name)

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
        """A home also forgets who is mentioned in its history alone, and all ever named so."""
        if name not in self.mentioned:
            self.both(lambda one: one.forget(name))  # neither knows the name
            return
        labeled = {v for v, given in zip(*self.labels(), strict=True) if given is not None}
        ever_named_so = self.home.vectors_of(name).keys() - labeled
        self.home.forget(name)
        if name in self.plain.names:
            self.plain.forget(name)
        for vertex in sorted(ever_named_so & set(self.labels()[0])):
            self.plain.drop(vertex)
        self.compare()
        self.mentioned.discard(name)
        self.states = {self.home.sequence: copy.deepcopy(self.plain)}

    def labels(self):
        """The vertices of the plain learner, and the name that a person gave each."""
        known = self.plain.vertices()
        return known.ids.tolist(), known.names

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
