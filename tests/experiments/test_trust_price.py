"""What the trust radius costs: who is asked about, and what the answers do."""

import numpy as np
import pytest

from helpers.shades import one_by_one, shade_finder, write_shades
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.core.errors import BadValue
from onlooker.experiments.paper.setup import Setup
from onlooker.experiments.parallel import running_on
from onlooker.experiments.report.html import drawing
from onlooker.experiments.trust_price import (
    CONFIRMED,
    EVERY,
    LOOSER,
    RIVALS_AT,
    CardLearner,
    QuestionedLearner,
    trust_price,
)
from onlooker.vision.finder import FaceFinder

KERNEL, RADIUS = HeatKernel(0.19, 9.5e-6), 1.05
POLICIES = ("best", "newest", "random", "early", "cards")


def drifting(count, *, to=6.0):
    """Somebody who changes step by step, ever farther from the label at 0."""
    return np.linspace(0.0, to, count)[:, None]


def watched(policy, most, faces, people):
    """The model after a stream, and the names that it gave."""
    learner = OnlineHarmonicLearner(KERNEL, trust_radius=RADIUS)
    model = (CardLearner if policy == "cards" else QuestionedLearner)(learner, policy, most)
    model.teach([0.0], "ana")
    names = []
    for x, person in zip(faces, people, strict=True):
        prediction = model.observe(x)
        model.note(prediction, person)
        names.append(prediction.label)
    return model, names


@pytest.mark.parametrize("policy", POLICIES)
def test_confirmed_faces_carry_the_name_on_and_no_more_than_allowed(policy):
    right = {}
    for most in (0, 1, 3, 20):
        faces = drifting(200)
        model, names = watched(policy, most, faces, ["ana"] * len(faces))
        assert model.confirmations.total() <= most
        assert model.refusals == 0
        labeled = sum(name is not None for name in model.learner.vertices().names)
        assert labeled == 1 + model.faces_taught
        assert model.faces_taught == model.confirmations.total() or policy == "cards"
        right[most] = names.count("ana")
    assert right[0] < right[1] < right[3] < right[20]
    assert right[0] == 35, "up to 1.05 of 6.0"
    assert right[20] > 100


@pytest.mark.parametrize("policy", POLICIES)
def test_a_stranger_who_is_asked_about_is_not_named_whatever_comes(policy):
    """She comes along ana's chain: the first answer is no, and the name ends there."""
    faces = drifting(200)
    people = ["ana" if x[0] <= 0.6 else None for x in faces]
    model, names = watched(policy, 20, faces, people)
    denied = len(model.learner.vertices().negatives)
    assert 0 < model.refusals <= denied <= model.refusals * (4 if policy == "cards" else 1)
    beyond = [name for name, x in zip(names, faces, strict=True) if x[0] > RADIUS]
    assert set(beyond) == {None}


def test_who_is_confirmed_before_the_radius_is_never_withheld_and_costs_no_more_than_needed():
    """A slow change: early, there is always a named face to ask about before one is withheld."""
    faces = drifting(2000)
    right = {}
    for policy in ("newest", "early"):
        model, names = watched(policy, 20, faces, ["ana"] * len(faces))
        right[policy] = names.count("ana")
        assert model.confirmations.total() <= 7, "one each 0.98 of the radius, not at every chance"
    assert right["early"] == len(faces) > right["newest"]


def test_the_faces_of_a_card_that_are_somebody_else_are_not_taught():
    """A person is shown the faces, and leaves out those that are not NAME."""
    faces = drifting(200, to=20.0)  # ten are withheld between two questions
    people = ["ana" if at % 2 else "ben" for at in range(len(faces))]
    model, _ = watched("cards", 20, faces, people)
    vertices = model.learner.vertices()
    place = {float(x[0]): person for x, person in zip(faces, people, strict=True)}
    taught = [
        float(vector[0])
        for vector, name in zip(vertices.vectors, vertices.names, strict=True)
        if name is not None and vector[0] > 0
    ]
    assert len(taught) == model.faces_taught > model.confirmations.total()
    assert {place[x] for x in taught} == {"ana"}


def test_a_yes_about_a_card_confirms_learned_faces_too_and_only_those_who_they_are():
    """She has been seen from two other sides, the last time it was ben, and then changes."""
    sides = [[0.0, y] for side in (1, -1) for y in side * np.linspace(0.05, 1.0, 40)]
    faces = np.array([*sides, *([x, 0.0] for x in np.linspace(0.0, 4.0, 160))])
    people = ["ben" if y <= -0.9 else "ana" for _, y in faces]
    learner = OnlineHarmonicLearner(KERNEL, trust_radius=RADIUS)
    model = CardLearner(learner, "cards", 1)
    learner.teach([0.0, 0.0], "ana")
    for x, person in zip(faces, people, strict=True):
        model.note(model.observe(x), person)
    known = learner.vertices()
    labeled = [
        tuple(row.tolist())
        for row, name in zip(known.vectors, known.names, strict=True)
        if name is not None and row.any()
    ]
    assert len(labeled) == model.faces_taught >= 2
    assert (0.0, 1.0) in labeled
    assert any(x > RADIUS for x, _ in labeled)
    who = dict(zip(map(tuple, faces.tolist()), people, strict=True))
    assert {who[place] for place in labeled} == {"ana"}


def test_questions_keep_their_distance():
    learner = OnlineHarmonicLearner(KERNEL, trust_radius=RADIUS)
    model = QuestionedLearner(learner, "newest", 20)
    model.teach([0.0], "ana")
    answers = []
    for x in drifting(120, to=10.0):
        model.note(model.observe(x), "ana")
        answers.append(model.confirmations.total())
    steps = [at for at in range(1, len(answers)) if answers[at] > answers[at - 1]]
    assert len(steps) > 3
    assert min(np.diff(steps)) >= EVERY


def test_the_whole_experiment_on_shades(tmp_path, monkeypatch):
    """Everybody becomes lighter by 3.6 in the end, more than three times the radius."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = write_shades(tmp_path, ("ana", "ben"), 37)
    with running_on(one_by_one):
        section, rows = trust_price(Setup(data=folder, seeds=1, finder=shade_finder()))
    assert len(rows) == 1 + 2 * len(CONFIRMED) + 3 * len(RIVALS_AT) + 2 * len(LOOSER)
    recall = {
        (row.trust_radius, row.policy, row.confirmed): row.mean_recall
        for row in rows
        if row.cutoff == (4.75e-6 if row.policy == "cards" else 9.5e-6)
    }
    assert recall[None, "best", 0] == 1.0
    assert recall[RADIUS, "best", 0] < recall[RADIUS, "best", 2] <= recall[RADIUS, "cards", 2] <= 1
    assert {row.precision for row in rows} == {1.0}
    assert section.name == "trust-price"
    assert (
        "door camera1: 1.000 without the radius; with it, by answers about cards, 0: "
        in section.found
    )
    (figure,) = section.figures
    assert drawing(figure).count("<svg") == 1
    for each in section.tables:
        assert all(len(row) == len(each.header) for row in each.rows)


def test_features_without_a_radius_are_refused():
    with pytest.raises(BadValue, match="no trust radius is known for embedding"):
        trust_price(Setup(finder=FaceFinder(kind="embedding", model="arcface")))
