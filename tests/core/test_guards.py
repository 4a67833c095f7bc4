"""Trust radius and negatives: what they promise, by example; the oracle has all the rest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.streams import pair_of_learners, state
from onlooker import HeatKernel, OnlineHarmonicLearner, OnlookerError
from onlooker.core import snapshot
from onlooker.core.errors import BadValue, LabelConflict, NotFound

KERNEL = HeatKernel(bandwidth=0.3, cutoff=1e-5)
"""Reaches 1.44."""


def a_learner(**options):
    learner = OnlineHarmonicLearner(KERNEL, **options)
    learner.teach([0.0], "ana")
    return learner


def walked(learner, upto, step=0.5):
    """The answers to a walk away from ana."""
    return [learner.observe([x]) for x in np.arange(step, upto + step / 2, step)]


def test_a_walk_beyond_the_radius_is_a_candidate_and_not_learned():
    learner = a_learner(trust_radius=2.0)
    answers = walked(learner, 6.0)
    assert [answer.label for answer in answers] == ["ana"] * 4 + [None] * 8
    assert answers[4].candidate == "ana"
    assert answers[4].vertex is None
    assert answers[4].support == "inferred"
    assert [answer.candidate for answer in answers[7:]] == [None] * 5, "nothing leads on from there"
    assert len(learner) == 5


def test_confirming_a_candidate_moves_the_radius_along():
    learner = a_learner(trust_radius=2.0)
    walked(learner, 3.0)
    learner.teach([3.0], "ana")
    assert [learner.observe([x]).label for x in (3.5, 4.0, 5.0, 5.5)] == ["ana"] * 3 + [None]


def test_the_radius_is_to_labels_of_the_same_name():
    learner = a_learner(trust_radius=1.0)
    learner.teach([4.0], "ben")
    learner.observe([0.9])
    answer = learner.predict([1.9])
    assert (answer.label, answer.candidate) == (None, "ana")


def test_who_is_taken_over_without_a_radius_is_not_with_one():
    """A halfway face between two people, then the other one's own face."""
    for radius, label in ((None, "ana"), (1.0, None)):
        learner = a_learner(trust_radius=radius)
        assert learner.observe([0.9]).label == "ana"
        assert learner.observe([1.8]).label == label


def test_a_radius_that_nothing_leaves_changes_nothing():
    free, wide = a_learner(), a_learner(trust_radius=9)
    assert walked(free, 5.0) == walked(wide, 5.0)
    assert state(free) == state(wide)


@pytest.mark.parametrize("radius", [-1.0, float("nan"), "far", True, [1.0]])
def test_a_radius_that_is_none_is_refused(radius):
    with pytest.raises(BadValue, match="trust_radius"):
        a_learner(trust_radius=radius)


def test_a_radius_smaller_than_the_gap_of_two_labels_is_one_around_each():
    learner = a_learner(trust_radius=0.5)
    learner.teach([1.2], "ana")
    assert [learner.predict([x]).label for x in (0.4, 0.6, 0.8)] == ["ana", None, "ana"]


def test_twins_share_the_walk_until_a_person_tells_them_apart():
    learner = OnlineHarmonicLearner(KERNEL)
    learner.teach([0.0], "ana")
    with pytest.raises(LabelConflict, match="cannot be 'twin' too"):
        learner.teach([0.0], "twin")
    learner.teach([1e-9], "twin")
    for x, nearer in ((0.5, "twin"), (-0.5, "ana")):
        found = learner.predict([x])
        assert (found.label, found.support) == (nearer, "direct")
        assert found.scores["ana"] == pytest.approx(found.scores["twin"])
    learner.teach([0.5], "ana")
    assert learner.predict([0.7]).label == "ana"
    assert learner.predict([0.7]).scores["ana"] > 0.9


def test_support_says_how_a_name_came_about():
    learner = a_learner()
    assert learner.observe([0.0]).support == "labeled"
    assert learner.observe([1.0]).support == "direct"
    assert learner.observe([2.0]).support == "inferred"
    assert learner.observe([9.0]).support is None


def test_after_not_ana_neither_the_face_nor_its_neighbours_are_ana():
    learner = a_learner()
    walked(learner, 6.0)
    learner.teach([4.0], not_name="ana")
    assert [learner.observe([x]).label for x in (4.0, 4.1, 5.0, 6.0)] == [None] * 4
    assert [learner.predict([x]).label for x in (0.2, 1.0)] == ["ana"] * 2


def test_not_ana_may_be_ben():
    learner = a_learner()
    learner.teach([3.0], "ben")
    learner.observe([1.0])
    learner.teach([1.5], not_name="ana")
    assert learner.predict([2.0]).label == "ben"
    assert learner.predict([0.3]).label == "ana"


def test_a_walk_passes_where_somebody_else_is_not():
    learner = a_learner()
    learner.teach([9.0], "ben")
    learner.teach([1.0], not_name="ben")
    assert learner.predict([2.0]).label == "ana", "the way to ana leads over this vertex"


def test_nobody_ends_every_walk():
    learner = a_learner()
    learner.teach([9.0], "ben")
    learner.teach([1.0], nobody=True)
    assert learner.predict([2.0]).label is None
    assert learner.predict([1.0]).label is None
    assert learner.predict([1.0]).sink == 1.0


def test_negatives_neither_count_nor_merge():
    learner = a_learner(max_vertices=2)
    for x in (5.0, 5.1, 5.2, 5.3):
        learner.teach([x], not_name="ana")
    walked(learner, 1.0, step=0.1)
    negatives = learner.vertices().negatives
    assert len(negatives) == 4
    assert all(names == {"ana"} for names in negatives.values())
    assert len(learner) == 1 + 2 + 4


def test_a_negative_goes_with_its_name():
    learner = a_learner()
    learner.teach([3.0], "ben")
    learner.teach([9.0], not_name="ana")
    learner.teach([8.0], not_name="ana")
    learner.teach([8.0], not_name="ben")
    learner.forget("ana")
    assert learner.vertices().vectors.ravel().tolist() == [3.0, 8.0]
    assert list(learner.vertices().negatives.values()) == [{"ben"}]


def test_a_negative_can_be_taken_back():
    learner = a_learner()
    before = learner.predict([0.9])
    learner.teach([1.0], not_name="ana")
    assert learner.predict([0.9]) != before
    learner.unteach([1.0])
    assert learner.vertices().negatives == {}
    assert learner.predict([0.9]).label == "ana"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"name": "ana"}, {"not_name": "ana"}),
        ({"not_name": "ana"}, {"name": "ana"}),
        ({"name": "ana"}, {"nobody": True}),
        ({"nobody": True}, {"name": "ana"}),
        ({"nobody": True}, {"name": "new"}),
    ],
)
def test_what_contradicts_itself_is_refused_and_changes_nothing(first, second):
    learner = a_learner()
    learner.teach([5.0], **first)
    before = state(learner)
    with pytest.raises(LabelConflict, match="unteach"):
        learner.teach([5.0], **second)
    assert state(learner) == before


def test_what_may_be_said_of_one_face_together():
    learner = a_learner()
    learner.teach([9.0], "ben")
    learner.teach([5.0], not_name="ana")
    learner.teach([5.0], "ben")
    learner.teach([9.0], not_name="ana")
    assert learner.predict([5.0]).label == "ben"
    assert set(learner.vertices().negatives) == {1, 2}


@pytest.mark.parametrize(
    "options",
    [{}, {"name": "ana", "not_name": "ana"}, {"not_name": "ana", "nobody": True}],
)
def test_one_thing_is_said_at_a_time(options):
    learner = a_learner()
    before = state(learner)
    with pytest.raises(BadValue, match="one of the three"):
        learner.teach([5.0], **options)
    assert state(learner) == before


def test_not_somebody_unknown_is_refused():
    with pytest.raises(NotFound, match="zoe"):
        a_learner().teach([5.0], not_name="zoe")


def test_a_file_of_an_earlier_version_has_neither(tmp_path):
    learner = a_learner(trust_radius=2.0)
    walked(learner, 3.0)
    learner.save(tmp_path / "new")
    file = snapshot.read(tmp_path / "new")
    header = {key: value for key, value in file.header.items() if key != "trust_radius"}
    arrays = {key: value for key, value in file.arrays.items() if key != "negatives"}
    snapshot.write(tmp_path / "old", header, arrays)
    loaded = OnlineHarmonicLearner.load(tmp_path / "old")
    assert loaded.trust_radius is None
    assert state(loaded) == state(learner)


def test_damaged_negatives_are_refused(tmp_path):
    learner = a_learner()
    learner.teach([5.0], not_name="ana")
    learner.save(tmp_path / "file")
    file = snapshot.read(tmp_path / "file")
    for rows in ([[7, 0]], [[1, 5]], [[1, -2]], [[0, 0]], [[0, -1]], [[1]], [1, 0]):
        arrays = {**file.arrays, "negatives": np.array(rows, dtype=np.int64)}
        snapshot.write(tmp_path / "bad", file.header, arrays)
        with pytest.raises(OnlookerError):
            OnlineHarmonicLearner.load(tmp_path / "bad")


coordinates = st.integers(-8, 8).map(lambda n: n / 2)


@given(
    taught=st.lists(st.tuples(coordinates, st.sampled_from(["ana", "ben"])), max_size=4),
    seen=st.lists(coordinates, max_size=12),
    far=st.floats(50, 90),
)
def test_negatives_elsewhere_change_no_answer(taught, seen, far):
    plain, guarded = (OnlineHarmonicLearner(KERNEL) for _ in range(2))
    for x, name in taught:
        for learner in (plain, guarded):
            if name not in learner.names or learner.predict([x]).support != "labeled":
                try:
                    learner.teach([x], name)
                except LabelConflict:
                    continue
    if guarded.names:
        guarded.teach([far], not_name=guarded.names[0])
        guarded.teach([-far], nobody=True)
    for x in seen:
        expected, found = plain.observe([x]), guarded.observe([x])
        assert found.label == expected.label
        # One column more is one term more in a sum, and 0: the last digit may differ.
        assert found.scores == pytest.approx(expected.scores, abs=1e-12)
        assert found.sink == pytest.approx(expected.sink, abs=1e-12)


def watched_pair(rng, trust_radius=None):
    """A learner and its model that know two people and have watched the space between them."""
    learner, model = pair_of_learners(
        sigma=0.4,
        epsilon=1e-4,
        gamma=1e-3,
        n_g=8,
        quantizer="closest",
        trust_radius=trust_radius,
    )
    for name, x in (("ana", 0.0), ("ben", 5.0)):
        learner.teach([x, 0.0], name)
        model.teach([x, 0.0], name)
    for x in rng.uniform([-1, -1], [6, 1], (25, 2)):
        learner.observe(x)
        model.observe(x)
    return learner, model


@pytest.mark.parametrize("seed", range(30))
def test_the_best_question_is_that_of_the_oracle(seed):
    rng = np.random.default_rng(seed)
    radius = [None, 1.3, 2.0][seed % 3]
    learner, model = watched_pair(rng, radius)
    withheld = rng.uniform([-1, -2], [6, 2], (rng.choice([0, 5]), 2))
    masses = rng.integers(1, 9, len(withheld)).tolist()
    question = learner.question(withheld, masses)
    for x, mass in zip(withheld, masses, strict=True):
        model._add(x, None).multiplicity = mass
    first_new = model.next_id - len(withheld)
    gains = {
        c.id: model.gain(c.id)
        for c in model.vertices
        if c.name is None and (c.id >= first_new or not len(withheld))
    }
    best = max(gains, key=gains.get)
    if question is None:
        assert gains[best] < 0.5
        return
    found = first_new + question.row if len(withheld) else question.vertex
    assert question.gain == pytest.approx(gains[best], rel=1e-6)
    assert gains[found] == pytest.approx(gains[best], rel=1e-6)
    assert question.candidate == model.best_name(found)
    assert state(learner) == state(learner.restored(learner.state())), "nothing was learned"


def test_an_answer_settles_what_is_exactly_the_trust_radius_away():
    """As a name is carried: within the radius, the bound included."""
    gains = []
    for radius in (1.0, 1.0 + 1e-9):
        learner = OnlineHarmonicLearner(HeatKernel(1.0, 1e-5), trust_radius=radius)
        learner.teach([0.0], "ana")
        gains.append(learner.question([[1.5], [2.5]]).gain)
    assert gains[0] == gains[1] > 1.5


def test_a_question_about_examples_is_never_about_a_vertex():
    learner = a_learner(trust_radius=1.0)
    for _ in range(50):
        learner.observe([0.9])
    learner.teach([1.7], "ben")
    assert learner.question().vertex == 1
    found = learner.question([[2.6], [-1.1]])
    assert found.vertex is None
    assert found.row in (0, 1)


def test_there_is_nothing_to_ask_where_everything_is_certain():
    learner = a_learner()
    assert learner.question() is None
    learner.observe([0.2])
    assert learner.question() is None
    assert OnlineHarmonicLearner(KERNEL).question() is None
    assert OnlineHarmonicLearner(KERNEL).question([[1.0, 2.0]]) is None


@pytest.mark.parametrize("masses", [[1], [1, 0], [1, 1, 1]])
def test_masses_that_do_not_fit_are_refused(masses):
    with pytest.raises(BadValue, match="mass"):
        a_learner().question([[1.0], [2.0]], masses)


def test_what_a_person_spoke_about_is_not_asked_again():
    learner = a_learner(trust_radius=0.5)
    question = learner.question([[1.0]])
    assert question.candidate == "ana"
    learner.teach([1.0], not_name="ana")
    assert learner.question([[1.0]]) is None


def test_an_explanation_says_how_far_the_label_is_and_what_hangs_by_what():
    learner = a_learner()
    for x in (1.0, 1.8, 3.2, 4.0):
        assert learner.observe([x]).label == "ana"
    found = learner.explain([4.2])
    steps = [step.vertex for step in found.endings[0].chain]
    assert found.hops == len(steps)
    assert (found.weakest_link.start, found.weakest_link.end) == (3, 2), "from 3.2 to 1.8"
    assert found.weakest_link.similarity == pytest.approx(KERNEL.similarity([3.2], [[1.8]])[0])
    assert found.bridge.share == pytest.approx(1.0)
    assert found.bridge.vertex in (1, 2, 3)
    assert learner.explain([0.0]).hops == 1
    assert learner.explain([0.0]).bridge is None
    assert learner.explain([50.0]).hops is None


@pytest.mark.parametrize("seed", range(30))
def test_the_bridge_is_that_of_the_oracle(seed):
    """The share of the walks to a name that pass a vertex: what is lost where it ends them."""
    rng = np.random.default_rng(seed)
    learner, model = watched_pair(rng)
    x = rng.uniform([-1, -1], [6, 1])
    found = learner.explain(x)
    if found.prediction.label is None:
        return
    model._place_and_answer(x)
    here, name = model.vertices[-1].id, found.prediction.label
    score = model.walk(here)[0][name]
    shares = {
        c.id: 1 - model.walk(here, [c.id])[0][name] / score
        for c in model.vertices
        if c.name is None and c.id != here
    }
    assert found.bridge.share == pytest.approx(max(shares.values()), abs=1e-6)
    assert shares[found.bridge.vertex] == pytest.approx(max(shares.values()), abs=1e-6)
