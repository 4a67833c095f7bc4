"""How far known people are from each other: who is too alike, which radius, what to say of whom."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.home.separation import separation

KERNEL = HeatKernel(bandwidth=0.3, cutoff=1e-5)  # its reach is 1.44


def a_learner(*taught, observed=(), **options):
    learner = OnlineHarmonicLearner(KERNEL, **options)
    for x, name in taught:
        learner.teach([x], name)
    for x in observed:
        learner.observe([x])
    return learner


def test_the_nearest_faces_of_two_people_are_found_labeled_or_learned():
    learner = a_learner((0.0, "ana"), (9.0, "ben"), observed=(1.0, 2.0, 8.0))
    found = separation(learner)
    (pair,) = found.pairs
    assert (pair.nearest.distance, pair.nearest.first, pair.nearest.second) == (6.0, 3, 4)
    assert (pair.near_label.distance, pair.near_label.first, pair.near_label.second) == (7.0, 3, 1)
    ana, ben = found.people
    assert ana.learned == pytest.approx((1.0, 2.0))
    assert ben.learned == pytest.approx((1.0,))
    assert ana.beyond(1.5) == 1
    assert pair.alike is None
    assert found.too_alike == ()


def test_the_proposed_radius_ends_before_the_nearest_face_of_somebody_else():
    learner = a_learner((0.0, "ana"), (9.0, "ben"), observed=(1.0, 2.0, 8.0))
    assert separation(learner).proposed == 6.99
    assert separation(learner, most=1.05).proposed == 1.05, "strangers allow no more"


def test_a_face_within_the_trust_radius_of_another_persons_label_is_named():
    taught = (0.0, "ana"), (9.0, "ben")
    wide = a_learner(*taught, observed=(8.0, 7.0), trust_radius=7.5)
    assert separation(wide).pairs[0].alike == "radius"
    assert separation(wide).proposed == 6.99
    narrow = a_learner(*taught, observed=(8.0, 7.0), trust_radius=3.0)
    assert separation(narrow).pairs[0].alike is None


def test_twins_are_too_alike_for_any_radius_and_bound_none():
    found = separation(a_learner((0.0, "ana"), (1e-9, "twin"), (5.0, "ben")))
    twins = found.pairs[0]
    assert {twins.first, twins.second} == {"ana", "twin"}
    assert twins.alike == "labels"
    assert found.proposed == 4.99


def test_faces_exactly_as_far_apart_as_the_reach_are_not_linked():
    """Nor does any walk go from the one to the other."""
    reach = KERNEL.reach
    labels = a_learner((0.0, "ana"), (reach, "ben"))
    (pair,) = separation(labels).pairs
    assert (pair.nearest.distance, pair.alike) == (reach, None)
    assert labels.predict([1e-9]).scores["ben"] > 0 == labels.predict([-1e-9]).scores["ben"]
    learned = a_learner((-1.0, "ana"), (reach + 1.0, "ben"), observed=(0.0, reach))
    (pair,) = separation(learned).pairs
    assert (pair.nearest.distance, pair.alike, pair.doubt) == (reach, None, None)


def test_not_is_proposed_where_most_walks_go_to_somebody_else_until_it_was_said():
    learner = a_learner((0.0, "ana"), (4.0, "ben"), observed=(1.0, 1.9, 3.1))
    pair = separation(learner).pairs[0]
    assert pair.alike == "faces"
    face = pair.doubt
    x = learner.vertices().vectors[list(learner.vertices().ids).index(face.vertex)]
    assert learner.predict(x).label == face.name
    before = learner.predict(x).scores[face.not_name]
    assert before == pytest.approx(face.share)
    learner.teach(x, not_name=face.not_name)
    again = separation(learner).pairs[0].doubt
    assert again is None or again.vertex != face.vertex
    assert learner.predict(x).scores[face.not_name] == 0


def test_a_home_with_nobody_or_one_person_has_no_pairs():
    nobody = separation(a_learner(), most=1.0)
    assert (nobody.people, nobody.pairs, nobody.proposed) == ((), (), 1.0)
    one = separation(a_learner((0.0, "ana"), (0.5, "ana")))
    assert one.pairs == ()
    assert one.people[0].widest == 0.5
    assert one.proposed is None


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.sampled_from(["ana", "ben", "cem", None])), max_size=20
    )
)
def test_no_label_has_a_face_of_an_unlinked_person_within_the_proposed_radius(stream):
    learner = OnlineHarmonicLearner(KERNEL)
    taken = set()
    for place, name in stream:
        if place in taken:
            continue
        taken.add(place)
        x = [place / 4]
        learner.observe(x) if name is None else learner.teach(x, name)
    found = separation(learner)
    known, carried = learner.vertices(), learner.owners()
    near = (pair for pair in found.pairs if pair.nearest.distance < found.reach)
    linked = {frozenset((pair.first, pair.second)) for pair in near}
    rows = [
        (known.vectors[n, 0], carried[v], known.names[n]) for n, v in enumerate(known.ids.tolist())
    ]
    for x, owner, label in rows:
        for y, other, _ in rows:
            if label and other and owner != other and {owner, other} not in linked:
                assert abs(x - y) > found.proposed
    for pair in found.pairs:
        gaps = [abs(x - y) for x, one, _ in rows for y, two, _ in rows
                if (one, two) == (pair.first, pair.second)]  # fmt: skip
        assert pair.nearest.distance == pytest.approx(np.min(gaps))
