"""An audit: what hiding labels and people shows, and what it says about strangers."""

import json

import numpy as np
import pytest

from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.home.audit import audit
from onlooker.home.events import Event


def a_learner(**options):
    learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5), **options)
    for x, name in ((0.0, "ana"), (0.5, "ana"), (5.0, "ben")):
        learner.teach([x], name)
    return learner


def test_a_label_that_others_support_keeps_its_name_when_it_is_hidden():
    ana, ben = audit(a_learner(), refused=0).people
    assert ana.hidden_labels == {"ana": 2}
    assert ben.hidden_labels == {None: 1}, "nobody else says ben"


def test_a_face_under_the_wrong_name_is_found_by_hiding_its_label():
    learner = a_learner()
    learner.teach([0.2], "ben")
    _, ben = audit(learner, refused=0).people
    assert ben.hidden_labels == {None: 1, "ana": 1}
    assert (ben.most_alike, ben.gap) == ("ana", pytest.approx(0.2))


def test_hiding_a_person_shows_who_else_would_get_their_faces():
    learner = a_learner()
    for x in (1.0, 2.0, 3.0, 4.0):
        learner.observe([x])
    found = audit(learner, refused=10)
    ana, ben = found.people
    assert ana.examples + ben.examples == 7
    assert ana.hidden_person[None] + ana.hidden_person["ben"] == ana.examples
    assert found.named_unknown == (ana.named_others + ben.named_others) / 7


def two_apart(refused):
    """Labels at 0, 0.5, 2.4 and 2.9; one learned face is near, two hang on a step of 1.9."""
    learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-20))
    for x, name in ((0.0, "ana"), (0.5, "ana"), (2.4, "ben"), (2.9, "ben")):
        learner.teach([x], name)
    for x in (0.2, -1.9, -2.3):
        assert learner.observe([x]).label == "ana"
    return audit(learner, refused=refused)


def test_who_hangs_on_a_step_as_long_as_between_two_people_is_counted():
    found = two_apart(refused=0)
    assert found.contamination == pytest.approx(2 / 7), "the face behind it too"
    assert 1.8 < found.longest_link < 1.9


def test_the_more_faces_were_seen_the_shorter_a_step_of_a_stranger_may_be():
    few, many = (two_apart(refused).longest_link for refused in (0, 10_000))
    assert many < few < 2.15, "the mean distance between two people"


def test_the_farthest_faces_have_their_chain():
    learner = a_learner()
    for x in (1.5, 2.5, -1.0):
        learner.observe([x])
    far = audit(learner, refused=0).people[0].farthest
    assert [face.distance for face in far] == pytest.approx([2.0, 1.0, 1.0])
    assert far[0].hops == 2
    assert far[0].weakest_link.similarity < 1


def test_an_audit_of_nobody_or_of_one_person_says_so():
    empty = OnlineHarmonicLearner(HeatKernel(0.3, 1e-5))
    assert audit(empty, refused=3).people == ()
    assert audit(empty, refused=3).named_unknown == 0.0, "there is nobody to name a stranger after"
    alone = OnlineHarmonicLearner(HeatKernel(0.3, 1e-5))
    alone.teach([0.0], "ana")
    found = audit(alone, refused=3)
    assert found.contamination is None, "there is nobody to hide who would be taken for another"
    assert found.people[0].most_alike is None


def test_who_waits_for_an_audit_hears_of_each_person():
    heard = []
    audit(a_learner(), refused=0, done=lambda: heard.append(1))
    assert heard == [1, 1]


def test_two_faces_of_a_frame_are_listed_until_a_person_settles_it():
    learner = a_learner()
    learner.observe([1.0])
    carried = learner.owners()
    mine = [vertex for vertex, name in carried.items() if name == "ana"]
    events = [
        Event(number, 5.0, "door", number, "twice", json.dumps([["twice", *pair, "ana"]]))
        for number, pair in ((9, mine[1:3]), (8, mine[1:3]), (7, [mine[0], 2]), (6, [mine[0], 99]))
    ]
    (pair,) = audit(learner, refused=0, events=events).twice
    assert (pair.name, pair.frame, [pair.surer, pair.other]) == ("ana", 9, mine[1:3])
    learner.drop(mine[2])
    assert audit(learner, refused=0, events=events).twice == ()


def test_hiding_a_label_at_full_budget_merges_nothing():
    learner = a_learner(max_vertices=2)
    for x in (1.0, 1.2, 4.8):
        learner.observe([x])
    assert audit(learner, refused=0).people[0].hidden_labels == {"ana": 2}


def test_the_estimate_follows_the_truth():
    """Six people and 120 strangers who come by once, at ever looser cutoffs."""
    runs = np.array([contaminated(cutoff) for cutoff in np.geomspace(1e-3, 1e-7, 7)])
    truths, estimates = runs.T
    assert np.corrcoef(truths, estimates)[0, 1] > 0.8
    assert max(truths) > 0.1
    for truth, estimate in zip(truths, estimates, strict=True):
        assert estimate == pytest.approx(truth, abs=0.01 if truth < 0.02 else 0.03)


def contaminated(cutoff):
    """The share of named faces with a wrong name, and its estimate."""
    rng = np.random.default_rng(1)
    people, strangers = (rng.normal(size=(count, 24)) for count in (6, 120))
    crowd = [*((row, f"p{n}") for n, row in enumerate(people)), *((row, None) for row in strangers)]

    def face(row):
        x = row / np.linalg.norm(row) + 0.11 * rng.normal(size=24)
        return x / np.linalg.norm(x)

    learner = OnlineHarmonicLearner(HeatKernel(0.19, cutoff))
    for row, name in crowd[:6]:
        for _ in range(4):
            learner.teach(face(row), name)
    stream = [pair for pair in crowd for _ in range(40 if pair[1] else 1)]
    answers = [
        (learner.observe(face(stream[at][0])).label, stream[at][1])
        for at in rng.permutation(len(stream))
    ]
    named = [(label, name) for label, name in answers if label is not None]
    wrong = sum(label != name for label, name in named)
    return wrong / len(named), audit(learner, refused=len(answers) - len(named)).contamination
