"""river's own check list on the classifier, and what we promise beyond it."""

import copy
import pickle
from collections import Counter

import numpy as np
import pytest

pytest.importorskip("river")

from river import checks, compose, datasets, evaluate, metrics, neighbors, preprocessing

from onlooker import HeatKernel, OnlineHarmonicLearner, OnlookerError, suggest
from onlooker.compat.river import Coverage, HarmonicClassifier, SelectiveAccuracy
from onlooker.evaluation import prequential


def every_check():
    """river hands the same check out once per dataset; numbers tell them apart."""
    for params in HarmonicClassifier._unit_test_params():
        model = HarmonicClassifier(**params)
        times = Counter()
        for check in checks.yield_checks(model):
            times[check.__name__] += 1
            name = f"{check.__name__}-{times[check.__name__]}"
            label = "-".join([name, *(str(each) for each in params.values())])
            yield pytest.param(model, check, id=label)


@pytest.mark.parametrize(("model", "check"), list(every_check()))
def test_river_checks(model, check):
    """All of them, without an expected failure."""
    check(model.clone())


def taught(**params):
    model = HarmonicClassifier(**{"bandwidth": 0.3, "abstain": "none"} | params)
    model.learn_one({"x": 0.0}, "ana")
    model.learn_one({"x": 4.0}, "ben")
    return model


# ---- labels


@pytest.mark.parametrize(
    "labels", [(True, False), (1, 2), ("a", "b"), (1, "1"), ("", " "), (np.True_, np.False_)]
)
def test_labels_come_back_as_they_went_in(labels):
    model = HarmonicClassifier(bandwidth=0.3)
    for place, label in enumerate(labels):
        model.learn_one({"x": 4.0 * place + 1}, label)
    for place, label in enumerate(labels):
        answer = model.predict_one({"x": 4.0 * place + 1.1})
        assert (type(answer), answer) == (type(label), label)
        assert set(model.predict_proba_one({"x": 4.0 * place + 1.1})) == set(labels)


def test_nobody_is_none_and_an_empty_dictionary():
    fresh = HarmonicClassifier()
    for model, x in ((fresh, {"x": 0.0}), (fresh, {}), (taught(), {"x": 50.0})):
        assert model.predict_one(x) is None
        assert model.predict_proba_one(x) == {}


def test_a_label_needs_more_than_min_score():
    assert taught(sink=1.0).predict_one({"x": 0.8}) == "ana"
    assert taught(sink=1.0, min_score=0.5).predict_one({"x": 0.8}) is None


def test_the_latest_of_two_labels_counts():
    model = taught()
    model.learn_one({"x": 0.0}, "cyd")
    assert model.predict_proba_one({"x": 0.0}) == {"ben": 0.0, "cyd": 1.0, "ana": 0.0}


def test_unlabeled_steps_carry_a_name_further():
    model = taught()
    assert model.predict_one({"x": 2.0}) is None
    for x in (0.6, 1.2):
        model.learn_one({"x": x}, None)
    assert model.predict_one({"x": 2.0}) == "ana"
    model.learn_one({"x": 50.0})
    assert len(model.learner) == 4


def test_the_same_as_the_learner():
    rng = np.random.default_rng(0)
    model = HarmonicClassifier(0.5, cutoff=1e-3, max_vertices=20)
    learner = OnlineHarmonicLearner(HeatKernel(0.5, 1e-3), max_vertices=20)
    for step, row in enumerate(rng.normal(size=(200, 3))):
        x = dict(zip("abc", row.tolist(), strict=True))
        name = str(int(row[0] > 0)) if step % 10 == 0 else None
        expected = learner.predict(row) if learner.names else None
        if expected is not None and expected.label is not None:
            assert model.predict_proba_one(x) == pytest.approx(expected.scores)
            assert model.predict_one(x) == expected.label
        else:
            assert not any(model.predict_proba_one(x).values())
        model.learn_one(x, name)
        learner.observe(row) if name is None else learner.teach(row, name)
    assert len(model.learner) == len(learner)


# ---- features


def test_features_that_appear_late_were_zero_before():
    """Whatever features come when: as if all had been there from the start."""
    rng = np.random.default_rng(1)
    features = ["a", "b", 3, ("d", 4), "e", "f", "g", "h"]
    late = HarmonicClassifier(1.0, cutoff=1e-3, max_vertices=15)
    early = HarmonicClassifier(1.0, cutoff=1e-3, max_vertices=15)
    early.learn_one(dict.fromkeys(features, 1e3), "far away")
    late.learn_one({"a": 1e6}, "far away")
    for step in range(150):
        present = features[: 1 + step // 15]
        x = {f: rng.normal() for f in rng.permutation(np.array(present, dtype=object))}
        full = dict.fromkeys(features, 0.0) | x
        assert late.predict_proba_one(x) == pytest.approx(early.predict_proba_one(full))
        assert late.predict_one(x) == early.predict_one(full)
        y = bool(x["a"] > 0) if step % 5 == 0 else None
        late.learn_one(x, y)
        early.learn_one(full, y)
    counts = [np.sort(model.learner.vertices().multiplicities) for model in (late, early)]
    np.testing.assert_array_equal(*counts)


def test_an_unknown_feature_moves_an_example_away():
    model = taught()
    assert model.predict_one({"x": 0.0, "noise": 0.0}) == "ana"
    assert model.predict_one({"x": 0.0, "noise": 9.0, "hum": 9.0}) is None


def test_asking_and_nobody_leave_no_trace():
    model = taught()
    before = pickle.dumps(model)
    model.predict_one({"x": 0.1, "noise": 0.1})
    model.learn_one({"x": 0.1, "noise": 50.0}, None)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("value", ["red", "1.5", None, float("nan"), float("inf"), [1.0]])
def test_features_that_are_not_numbers_are_refused(value):
    model = taught()
    before = pickle.dumps(model)
    for call in (model.learn_one, model.predict_one):
        with pytest.raises(OnlookerError, match="'colour'"):
            call({"x": 0.0, "colour": value})
    assert pickle.dumps(model) == before


def test_an_example_too_large_to_measure_leaves_no_trace():
    model = taught()
    before = pickle.dumps(model)
    with pytest.raises(OnlookerError, match="too large"):
        model.learn_one({"x": 0.0, "z": 1e200}, "cyd")
    assert pickle.dumps(model) == before


def test_it_goes_on_after_everything_was_forgotten():
    model = taught()
    for name in ("ana", "ben"):
        model.learner.forget(name)
    model.learn_one({"p": 1.0, "q": 2.0, "r": 3.0, "s": 4.0, "t": 5.0}, "cyd")
    assert model.predict_one({"p": 1.1, "q": 2.0, "r": 3.0, "s": 4.0, "t": 5.0}) == "cyd"


# ---- among other tools


def test_in_progressive_validation():
    model = preprocessing.StandardScaler() | HarmonicClassifier(bandwidth=0.5)
    score = evaluate.progressive_val_score(
        datasets.ImageSegments().take(600), model, metrics.Accuracy()
    )
    assert score.get() > 0.8


def test_a_tenth_of_the_labels_through_a_pipeline():
    model = compose.Pipeline(preprocessing.StandardScaler(), HarmonicClassifier(bandwidth=0.5))
    accuracy = metrics.Accuracy()
    for step, (x, y) in enumerate(datasets.ImageSegments().take(1000)):
        if step >= 200:
            accuracy.update(y, model.predict_one(x))
        model.learn_one(x, y if step % 10 == 0 else None)
    assert accuracy.get() > 0.6


def test_a_copy_goes_on_by_itself():
    model = taught()
    twin = copy.deepcopy(model)
    twin.learn_one({"x": 0.6, "z": 0.1}, None)
    assert (len(model.learner), len(twin.learner)) == (2, 3)
    assert len(model.clone().learner) == 0


# ---- abstention, and what river makes of it


def tiny(**params):
    return preprocessing.StandardScaler() | HarmonicClassifier(bandwidth=1e-4, **params)


def test_a_bandwidth_of_a_ten_thousandth_does_not_score_100_percent():
    """river skips None; every row is scored unless somebody asks for None."""
    rows = list(datasets.Phishing().take(300))
    skipping = metrics.Accuracy()
    evaluate.progressive_val_score(rows, tiny(abstain="none"), skipping)
    scored = metrics.Accuracy()
    evaluate.progressive_val_score(rows, tiny(), scored)
    assert skipping.cm.total_weight < 0.2 * len(rows)
    assert scored.cm.total_weight >= len(rows) - 1  # the first comes before any label
    assert scored.get() < 0.95


@pytest.mark.parametrize(
    ("abstain", "answer"), [("none", None), ("prior", "ana"), ("nearest", "ben")]
)
def test_what_is_answered_for_nobody(abstain, answer):
    model = taught(abstain=abstain)
    model.learn_one({"x": 0.1}, "ana")
    far = {"x": 50.0}
    assert model.predict_one(far) == answer
    assert not any(model.predict_proba_one(far).values())
    assert model.predict_one({"x": 0.2}) == "ana"
    assert HarmonicClassifier(abstain=abstain).predict_one(far) is None


def test_an_unknown_answer_is_refused():
    with pytest.raises(OnlookerError, match="abstain"):
        HarmonicClassifier(abstain="majority")


def test_coverage_and_selective_accuracy_are_those_of_the_walks():
    rows = list(datasets.ImageSegments().take(400))
    model, counts = preprocessing.StandardScaler() | HarmonicClassifier(0.3), Counter()
    for x, y in rows:
        probabilities = model.predict_proba_one(x)
        if probabilities:
            reached = any(probabilities.values())
            counts["rows"] += 1
            counts["reached"] += reached
            counts["right"] += reached and model.predict_one(x) == y
            counts["right of all"] += model.predict_one(x) == y
        model.learn_one(x, y)
    found = evaluate.progressive_val_score(
        rows,
        preprocessing.StandardScaler() | HarmonicClassifier(0.3),
        metrics.Accuracy() + Coverage() + SelectiveAccuracy(),
    )
    assert 0 < counts["reached"] < counts["rows"]
    assert found.get() == [
        counts["right of all"] / counts["rows"],
        counts["reached"] / counts["rows"],
        counts["right"] / counts["reached"],
    ]


def test_a_metric_takes_an_answer_back():
    for metric in (Coverage(), SelectiveAccuracy()):
        metric.update("ana", {"ana": 0.5})
        metric.update("ana", {"ben": 0.5})
        metric.revert("ana", {"ben": 0.5})
        assert metric.get() == 1.0


@pytest.mark.parametrize("delay", [1, 50])
def test_labels_that_come_later(delay):
    """river hands every row twice: for an answer, and `delay` rows later with its label."""
    accuracy = metrics.Accuracy()
    evaluate.progressive_val_score(
        datasets.ImageSegments().take(500),
        preprocessing.StandardScaler() | HarmonicClassifier(0.5),
        accuracy,
        moment=None,
        delay=delay,
    )
    assert accuracy.get() > 0.7


# ---- bandwidth="auto"


def test_auto_is_the_suggestion_for_the_first_examples():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(250, 3)) + 8 * (np.arange(250) % 2)[:, None]
    model = HarmonicClassifier(cutoff=1e-4)
    for step, row in enumerate(rows):
        x = dict(zip("abc", row.tolist(), strict=True))
        model.learn_one(x, str(step % 2) if step < 10 else None)
    y = [str(step % 2) if step < 10 else None for step in range(200)]
    expected = suggest(rows[:200], y)
    assert model.learner.kernel.reach == pytest.approx(expected.kernel.reach)
    assert model._first is None
    again = HarmonicClassifier(bandwidth=model.learner.kernel.bandwidth, cutoff=1e-4)
    for step, row in enumerate(rows):
        again.learn_one(
            dict(zip("abc", row.tolist(), strict=True)), str(step % 2) if step < 10 else None
        )
    assert len(again.learner) == len(model.learner)


def test_auto_waits_until_examples_differ():
    model = HarmonicClassifier()
    for _ in range(250):
        model.learn_one({"x": 1.0}, "ana")
    assert model.predict_one({"x": 1.0}) == "ana"


# ---- prequential


def test_prequential_scores_every_row_and_counts_its_labels():
    rows = list(datasets.ImageSegments().take(600))
    model = preprocessing.StandardScaler() | HarmonicClassifier()
    score = prequential(rows, model, labeled=0.0, per_class=5)
    assert (score.rows, score.labeled) == (600, 5 * len({y for _, y in rows}))
    assert score.accuracy > 0.5
    assert score.selective_accuracy >= score.accuracy - 0.05
    assert 0 < score.coverage < 1


def test_prequential_with_labels_that_come_later():
    rows = [({"x": float(step % 7)}, step % 7 < 3) for step in range(300)]
    at_once = prequential(rows, HarmonicClassifier(0.3), labeled=0.2)
    later = prequential(rows, HarmonicClassifier(0.3), labeled=0.2, delay=100)
    never = prequential(rows, HarmonicClassifier(0.3), labeled=0.0)
    assert at_once.labeled == later.labeled > 30
    assert at_once.accuracy > later.accuracy > 0.5
    assert (never.labeled, never.right, never.coverage) == (0, 0, 0.0)


def test_prequential_leaves_out_unlabeled_rows_for_a_supervised_model():
    rows = [({"x": float(step % 2)}, step % 2) for step in range(100)]
    model = neighbors.KNNClassifier(n_neighbors=1)
    score = prequential(rows, model, labeled=0.0, per_class=2, unlabeled=False)
    assert (score.labeled, score.accuracy > 0.9) == (4, True)


def uneven(**params):
    model = HarmonicClassifier(bandwidth=0.5, **params)
    model.learn_one({"x": 0.0}, "ana")
    model.learn_one({"x": 4.0}, "ben")
    for x in np.linspace(0.2, 2.0, 10):
        model.learn_one({"x": x})
    return model


def test_a_class_prior_weighs_probabilities_by_the_masses_of_the_labels():
    plain, even = uneven(), uneven(class_prior="uniform")
    assert (plain.predict_one({"x": 2.9}), even.predict_one({"x": 2.9})) == ("ana", "ben")
    given = uneven(class_prior={"ana": 9, "ben": 1})
    assert given.predict_one({"x": 2.9}) == "ana"
    one, other = plain.predict_proba_one({"x": 2.9}), even.predict_proba_one({"x": 2.9})
    assert sum(one.values()) == pytest.approx(sum(other.values()))
    assert even.predict_proba_one({"x": 99.0}) == {"ben": 0.0, "ana": 0.0}


def test_a_label_that_a_class_prior_does_not_know_is_refused_before_it_is_learned():
    model = uneven(class_prior={"ana": 9, "ben": 1})
    with pytest.raises(OnlookerError, match="'cem'"):
        model.learn_one({"x": 9.0}, "cem")
    assert model.learner.names == ("ana", "ben")
    with pytest.raises(OnlookerError, match="class_prior"):
        HarmonicClassifier(class_prior="even")


def test_masses_are_those_of_the_bandwidth_that_was_chosen_last():
    """At a hundred examples it is chosen anew, and an answer before that must not matter."""
    rows = np.random.default_rng(3).normal(size=(100, 2)) + [[0, 0], [3, 0], [3, 0], [3, 0]] * 25
    quiet, curious = (HarmonicClassifier(class_prior="uniform") for _ in range(2))
    for at, (x, y) in enumerate(rows):
        for model in (quiet, curious):
            model.learn_one({"x": x, "y": y}, "ab"[int(x > 1.5)] if at < 8 else None)
        if at == 98:
            curious.predict_one({"x": 0.0, "y": 0.0})
    here = {"x": 1.5, "y": 0.5}
    assert curious.predict_proba_one(here) == quiet.predict_proba_one(here)
