"""Self-training: a nearest neighbour that enrols what it names."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.baselines.nearest import NearestNeighbour
from onlooker.baselines.self_training import SelfTraining
from onlooker.core.errors import BadValue, NotFound

KERNEL = HeatKernel(0.5, 1e-3)
places = st.integers(-20, 20).map(lambda number: number / 5)
labels = st.lists(
    st.tuples(places, st.sampled_from("abc")),
    min_size=1,
    max_size=6,
    unique_by=lambda each: each[0],
)
walks = st.lists(places, max_size=25)
EVICTIONS = ("closest", "oldest", "random")


class Literal:
    """The same as plain lists: every similarity anew at every step."""

    def __init__(self, limit, evict):
        self.limit, self.evict, self.stored = limit, evict, []  # place, name, taught; by age

    def similarity(self, x, y):
        w = np.exp(-((x - y) ** 2) / (2 * 0.5**2))
        return w if w >= 1e-3 else 0.0

    def sums(self, x):
        totals = {}
        for place, name, _ in self.stored:
            totals[name] = totals.get(name, 0.0) + self.similarity(x, place)
        return totals

    def enrol(self, x, name):
        if any(place == x for place, _, _ in self.stored):
            return
        self.stored.append((x, name, False))
        guesses = [each for each in self.stored if not each[2]]
        if len(guesses) > self.limit:
            self.stored.remove(guesses[0] if self.evict == "oldest" else self.closest())

    def closest(self):
        pairs = [
            (self.similarity(one[0], two[0]), one, two)
            for at, two in enumerate(self.stored)
            for one in self.stored[:at]
            if not (one[2] and two[2])
        ]
        _, one, two = max(pairs, key=lambda pair: pair[0])
        return one if two[2] else two


@pytest.mark.parametrize("evict", ["closest", "oldest"])
@given(labeled=labels, walk=walks, limit=st.integers(1, 5))
def test_it_is_the_equation_over_labels_and_earlier_answers(evict, labeled, walk, limit):
    """Gaps are irregular, so that no two pairs are equally close: ties are not specified."""
    bent = {x: x + 0.001 * x**2 + 0.0003 * x**3 for x in [*walk, *(place for place, _ in labeled)]}
    model = SelfTraining(KERNEL, max_examples=limit, evict=evict)
    literal = Literal(limit, evict)
    for place, name in labeled:
        model.teach([bent[place]], name)
        literal.stored.append((bent[place], name, True))
    for x in walk:
        sums, answer = literal.sums(bent[x]), model.observe([bent[x]])
        best = max(sums.values())
        assert (answer.label is None) == (best == 0)
        if answer.label is not None:
            assert sums[answer.label] == pytest.approx(best)
            shares = {name: total / sum(sums.values()) for name, total in sums.items()}
            assert dict(answer.scores) == pytest.approx(shares, abs=1e-9)
            literal.enrol(bent[x], answer.label)
        assert len(model) == len(literal.stored)


@given(labeled=labels, walk=walks)
def test_without_enrolling_it_is_the_nearest_neighbour(labeled, walk):
    model, nearest = SelfTraining(KERNEL, max_examples=0), NearestNeighbour(KERNEL)
    for place, name in labeled:
        model.teach([place], name)
        nearest.teach([place], name)
    for x in walk:
        assert model.observe([x]) == nearest.observe([x])
    assert len(model) == len(nearest)


@pytest.mark.parametrize("evict", EVICTIONS)
@given(labeled=labels, walk=walks, limit=st.integers(0, 4))
def test_the_budget_holds_and_labels_never_go(evict, labeled, walk, limit):
    model = SelfTraining(KERNEL, max_examples=limit, evict=evict)
    for place, name in labeled:
        model.teach([place], name)
    for x in walk:
        model.observe([x])
        assert len(model) <= len(labeled) + limit
    for place, _ in labeled:
        model.unteach([place])  # raises where there is no label
    assert len(model) <= limit


@given(labeled=labels, walk=walks, taught=st.tuples(places, st.sampled_from("xy")))
def test_a_label_taught_and_taken_back_changes_nothing_but_a_guess_at_its_place(
    labeled, walk, taught
):
    model, twin = SelfTraining(KERNEL), SelfTraining(KERNEL)
    for place, name in labeled:
        model.teach([place], name)
        twin.teach([place], name)
    for x in walk:
        model.observe([x])
        twin.observe([x])
    place, name = taught
    if place in [*walk, *(place for place, _ in labeled)]:
        return
    model.teach([place], name)
    assert model.predict([place]).label is not None
    model.unteach([place])
    assert model.names == twin.names
    for x in (place, *walk):
        assert model.predict([x]).label == twin.predict([x]).label


def test_it_follows_somebody_who_drifts_away():
    model, nearest = SelfTraining(KERNEL), NearestNeighbour(KERNEL)
    for each in (model, nearest):
        each.teach([0.0], "ana")
    assert {model.observe([x]).label for x in np.arange(0.0, 9.0, 0.2)} == {"ana"}
    assert nearest.predict([8.8]).label is None


@pytest.mark.parametrize("evict", EVICTIONS)
def test_a_guess_that_was_written_down_stays_where_ours_is_corrected(evict):
    """ben is taught as ana, watched, then corrected: only the learner takes back what followed."""
    ours = OnlineHarmonicLearner(KERNEL, max_vertices=30)
    theirs = SelfTraining(KERNEL, max_examples=30, evict=evict)
    said = []
    for model in (ours, theirs):
        model.teach([0.0], "ana")
        model.teach([9.0], "ana")  # a mistake: this is ben
        for x in np.arange(9.2, 12.0, 0.2):
            assert model.observe([x]).label == "ana"
        model.unteach([9.0])
        model.teach([9.0], "ben")
        said.append(model.predict([12.0]).label)
    assert said == ["ben", "ana"]


def test_a_label_replaces_the_guess_at_its_place():
    model = SelfTraining(KERNEL)
    model.teach([0.0], "ana")
    model.observe([1.0])
    model.teach([1.0], "ben")
    assert len(model) == 2
    assert model.predict([1.0]).label == "ben"


def test_a_stricter_threshold_enrols_less_and_names_as_much():
    model = SelfTraining(KERNEL, enrol_cutoff=0.5)
    model.teach([0.0], "ana")
    assert model.observe([1.0]).label == "ana"  # similar by 0.14
    assert (len(model), model.enrolled) == (1, 0)
    assert model.observe([0.3]).label == "ana"  # similar by 0.84
    assert (len(model), model.enrolled) == (2, 1)


def test_a_name_lives_as_long_as_an_example_carries_it():
    model = SelfTraining(KERNEL, max_examples=1, evict="oldest")
    model.teach([0.0], "ana")
    model.teach([9.0], "ben")
    model.observe([9.5])
    model.unteach([9.0])
    assert model.names == ("ana", "ben")
    model.observe([0.5])  # the guess about ben has to go
    assert model.names == ("ana",)
    assert model.predict([9.5]).label is None


def test_only_labels_can_be_taken_back():
    model = SelfTraining(KERNEL)
    model.teach([0.0], "ana")
    model.observe([0.5])
    for place in (0.5, 7.0):
        with pytest.raises(NotFound, match="no labeled example"):
            model.unteach([place])
    assert len(model) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_examples": -1}, "max_examples"),
        ({"max_examples": 2.5}, "max_examples"),
        ({"evict": "worst"}, "closest, oldest, random, got 'worst'"),
        ({"enrol_cutoff": 1e-6}, "enrol_cutoff"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(settings, message):
    with pytest.raises(BadValue, match=message):
        SelfTraining(KERNEL, **settings)
