"""scikit-learn's own checks on both classifiers, and what we promise beyond them."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

pytest.importorskip("sklearn")

from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_classifiers_classes, parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

from onlooker import (
    ClosestPair,
    ClosestSafePair,
    Doubling,
    HeatKernel,
    OnlineHarmonicLearner,
    OnlookerError,
)
from onlooker.compat import sklearn as module
from onlooker.compat.sklearn import HarmonicClassifier, OnlineHarmonicClassifier, auto_bandwidth
from onlooker.core.harmonic import harmonic_solution, poisson_solution

EXPECTED_FAILURES = {
    "check_classifiers_classes": (
        "fits labels -1 and 1 and wants two classes, but -1 marks a row without a label; "
        "scikit-learn exempts its own three semi-supervised classifiers by name"
    ),
}

CLASSIFIERS = [
    HarmonicClassifier(),
    HarmonicClassifier(solution="poisson"),
    OnlineHarmonicClassifier(),
    OnlineHarmonicClassifier(quantizer="doubling", max_vertices=20),
]
either = pytest.mark.parametrize("kind", [HarmonicClassifier, OnlineHarmonicClassifier])

ROWS = np.array([[0.0], [4.0], [0.5], [1.0], [4.5], [0.2]])
SPARSELY = np.array(["ana", "ben", "-1", "-1", "-1", "-1"])


@parametrize_with_checks(CLASSIFIERS, expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_the_failed_check_passes_with_the_exemption(classifier):
    """The name is all that scikit-learn goes by."""
    check_classifiers_classes("LabelPropagation", classifier)


# ---- labels


@either
@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([7, 3, -1, -1, -1, -1], [3, 7]),
        ([7.0, 3.0, -1.0, -1.0, -1.0, -1.0], [3.0, 7.0]),
        (["b", "a", -1, -1, -1, -1], ["a", "b"]),
        (np.array(["b", "a", -1, -1, -1, -1], dtype=object), ["a", "b"]),
        (np.array([-1, -1, "b", "a", "-1", -1], dtype=object), ["a", "b"]),
        (np.array([7, 3, -1, -1, -1, -1], dtype=object), [3, 7]),
        ([True, False, True, True, False, True], [False, True]),
        (np.array([200, 0, 200, 200, 0, 200], dtype=np.uint8), [0, 200]),
        (["", " ", -1, -1, -1, -1], ["", " "]),
    ],
)
def test_every_kind_of_label(kind, y, classes):
    model = kind(bandwidth=0.3).fit(ROWS, y)
    assert model.classes_.tolist() == classes
    labeled = [i for i, label in enumerate(y) if label not in (-1, "-1")]
    assert model.predict(ROWS)[labeled].tolist() == [y[i] for i in labeled]


@either
@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.array(["a", 1, 1, 1, 1, 1], dtype=object), "not both"),
        ([0.5, 1.5, 2.5, 3.5, 4.5, 5.5], "continuous"),
        ([-1] * 6, "has a label"),
    ],
)
def test_labels_that_make_no_sense_are_refused(kind, y, words):
    with pytest.raises(ValueError, match=words):
        kind(bandwidth=0.3).fit(ROWS, y)


# ---- nobody


@either
@pytest.mark.parametrize(
    ("y", "outlier_label", "nobody"),
    [
        ([0, 1, 0, 0, 1, 0], -1, -1),
        ([0, 1, 0, 0, 1, 0], 99, 99),
        ([0, 1, 0, 0, 1, 0], None, None),
        (SPARSELY, -1, "-1"),
        (SPARSELY, "nobody I know", "nobody I know"),
        (SPARSELY, None, None),
    ],
)
def test_nobody_is_the_outlier_label(kind, y, outlier_label, nobody):
    model = kind(bandwidth=0.3, outlier_label=outlier_label).fit(ROWS, y)
    known, unknown = model.predict([[0.1], [50.0]]).tolist()
    assert (known, unknown) == (y[0], nobody)
    assert not model.predict_proba([[50.0]]).any()


@either
@pytest.mark.parametrize(("y", "outlier_label"), [([0, 1] * 3, "nobody"), (SPARSELY, 5)])
def test_an_outlier_label_of_another_kind_is_refused(kind, y, outlier_label):
    with pytest.raises(OnlookerError, match="of their kind"):
        kind(bandwidth=0.3, outlier_label=outlier_label).fit(ROWS, y)


@either
def test_answers_for_nobody_are_unlabeled_rows_again(kind):
    model = kind(bandwidth=0.3).fit(ROWS, SPARSELY)
    rows = np.array([[0.1], [50.0], [4.1]])
    again = kind(bandwidth=0.3).fit(rows, model.predict(rows))
    assert again.classes_.tolist() == ["ana", "ben"]


@either
def test_a_class_needs_more_than_min_score(kind):
    trusting = kind(bandwidth=0.3, sink=0.1).fit(ROWS, SPARSELY)
    probability = trusting.predict_proba([[1.6]]).max()
    assert trusting.predict([[1.6]]) == "ana"
    strict = clone(trusting).set_params(min_score=probability).fit(ROWS, SPARSELY)
    assert strict.predict([[1.6]]) == "-1"


@either
def test_rows_sum_to_one_less_the_sink(kind):
    model = kind(bandwidth=0.3, sink=0.1).fit(ROWS, SPARSELY)
    sums = model.predict_proba([[0.0], [1.0], [1.6], [50.0]]).sum(axis=1)
    assert sums[0] == 1.0
    assert 1.0 > sums[1] > sums[2] > sums[3] == 0.0


# ---- offline


@given(seed=st.integers(0, 2**32 - 1), labeled=st.integers(1, 10), sink=st.floats(0, 1))
def test_training_rows_get_the_harmonic_solution(seed, labeled, sink):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(20, 2))
    y = np.where(np.arange(20) < labeled, rng.integers(0, 3, 20), -1)
    model = HarmonicClassifier(bandwidth=0.4, cutoff=1e-3, sink=sink).fit(rows, y)
    kernel = HeatKernel(0.4, 1e-3)
    weights = np.array([kernel.similarity(row, rows) for row in rows])
    expected = harmonic_solution(weights, y[:, None] == model.classes_, y >= 0, sink=sink)
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-9)


def test_a_new_row_gets_the_average_of_its_neighbours():
    model = HarmonicClassifier(bandwidth=0.3, sink=0.1).fit(ROWS, SPARSELY)
    weights = HeatKernel(0.3, 1e-5).similarity([1.3], ROWS)
    expected = weights @ model.predict_proba(ROWS) / (weights.sum() + 0.1)
    np.testing.assert_allclose(model.predict_proba([[1.3]])[0], expected)


def test_rows_at_the_same_place_count_as_often_as_they_come():
    """Proposition 1, for rows that come again as they were."""
    twice = np.r_[np.arange(6), np.arange(6)]
    kernel = HeatKernel(0.3, 1e-5)
    rows, y = ROWS[twice], SPARSELY[twice]
    weights = np.array([kernel.similarity(row, rows) for row in rows])
    model = HarmonicClassifier(bandwidth=0.3, sink=0.1).fit(rows, y)
    labels = y[:, None] == model.classes_
    expected = harmonic_solution(weights, labels, y != "-1", sink=0.1)
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-9)


def test_contradicting_labels_share_their_place():
    model = HarmonicClassifier(bandwidth=0.3).fit([[0.0], [0.0], [0.0], [1.0]], [0, 1, 1, 0])
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[1 / 3, 2 / 3]])


def test_sparse_and_dense_graphs_agree(monkeypatch):
    rows, y = make_moons(200, noise=0.1, random_state=0)
    y = np.where(np.arange(200) < 10, y, -1)
    answers = []
    for share in (0.0, 2.0):
        monkeypatch.setattr(module, "SPARSE", share)
        answers.append(HarmonicClassifier().fit(rows, y).predict_proba(rows + 0.01))
    np.testing.assert_allclose(*answers, atol=1e-9)


# ---- online


@given(
    seed=st.integers(0, 2**32 - 1),
    cuts=st.lists(st.integers(1, 29), max_size=4, unique=True).map(sorted),
    quantizer=st.sampled_from(["closest-pair", "doubling", ClosestPair()]),
)
def test_the_same_as_the_learner_however_the_rows_are_cut(seed, cuts, quantizer):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(30, 2)).round(1)
    y = np.where(rng.random(30) < 0.3, rng.integers(0, 3, 30), -1)
    learner = OnlineHarmonicLearner(
        HeatKernel(0.4, 1e-3), max_vertices=5, quantizer=module.as_quantizer(quantizer)
    )
    model = OnlineHarmonicClassifier(
        bandwidth=0.4, cutoff=1e-3, max_vertices=5, quantizer=quantizer
    )
    for part, labels in zip(np.split(rows, cuts), np.split(y, cuts), strict=True):
        model.partial_fit(part, labels)
    for row, label in zip(rows, y, strict=True):
        if label >= 0:
            module.teach_latest(learner, row, str(label))
        else:
            learner.observe(row)
    for row, answer, p in zip(rows, model.predict(rows), model.predict_proba(rows), strict=True):
        seen = learner.predict(row)
        table = dict(zip(map(str, model.classes_), p.tolist(), strict=True))
        assert {name: table.pop(name) for name in seen.scores} == seen.scores
        assert not any(table.values())
        assert (answer >= 0) == (seen.label is not None)


def test_without_y_no_row_has_a_label():
    model = OnlineHarmonicClassifier(bandwidth=0.3).partial_fit(ROWS[:2], [0, 1])
    marked = copy.deepcopy(model).partial_fit(ROWS[2:], [-1] * 4)
    model.partial_fit(ROWS[2:])
    assert len(model.learner_) == len(marked.learner_) == 6
    np.testing.assert_array_equal(model.predict_proba(ROWS), marked.predict_proba(ROWS))


def test_before_any_label_everybody_is_nobody():
    rows = np.hstack([ROWS, ROWS])
    model = OnlineHarmonicClassifier(bandwidth=0.3).partial_fit(rows)
    assert model.predict(rows).tolist() == [-1] * 6
    assert model.predict_proba(rows).shape == (6, 0)
    model.partial_fit([[0.0, 0.0]], ["ana"])
    assert model.predict([[0.1, 0.0]]).tolist() == ["ana"]


def test_classes_may_be_announced_and_may_grow():
    model = OnlineHarmonicClassifier(bandwidth=0.3)
    model.partial_fit([[0.0]], ["mia"], classes=["mia", "zoe"])
    assert model.classes_.tolist() == ["mia", "zoe"]
    assert model.predict_proba([[0.0]]).tolist() == [[1.0, 0.0]]
    model.partial_fit([[4.0]], ["ana"])
    assert model.classes_.tolist() == ["ana", "mia", "zoe"]
    assert model.predict_proba([[0.0], [4.0]]).tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    model.learner_.forget("mia")
    assert model.predict_proba([[0.0]]).tolist() == [[0.0, 0.0, 0.0]]


def test_fit_forgets_what_partial_fit_has_learned():
    model = OnlineHarmonicClassifier(bandwidth=0.3).partial_fit([[0.0]], ["ana"])
    model.fit([[4.0], [5.0]], [1, 2])
    assert model.classes_.tolist() == [1, 2]
    assert model.predict([[0.0]]).tolist() == [-1]


def test_the_latest_of_two_labels_counts():
    model = OnlineHarmonicClassifier(bandwidth=0.3).fit([[0.0], [0.0], [1.0]], [0, 1, 0])
    assert model.predict([[0.0]]).tolist() == [1]


@pytest.mark.parametrize(
    ("rows", "y"),
    [
        ([[1.0], [np.nan]], ["ana", "ben"]),
        ([[1.0], [1e200]], ["ana", "ben"]),
        ([[1.0], [2.0]], [1, 2]),
        ([[1.0], [2.0]], [0.5, 0.7]),
        ([[1.0, 2.0]], ["ana"]),
    ],
)
def test_a_batch_that_is_refused_leaves_no_trace(rows, y):
    model = OnlineHarmonicClassifier(bandwidth=0.3).partial_fit(ROWS, SPARSELY)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"."):  # scikit-learn's words or ours
        model.partial_fit(rows, y)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_goes_on_by_itself(duplicate):
    model = OnlineHarmonicClassifier(bandwidth=0.3).partial_fit(ROWS[:3], SPARSELY[:3])
    twin = duplicate(model)
    twin.partial_fit(ROWS[3:])
    assert (len(model.learner_), len(twin.learner_)) == (3, 6)
    model.partial_fit(ROWS[3:])
    np.testing.assert_array_equal(model.predict_proba(ROWS), twin.predict_proba(ROWS))


WRONG = [
    {"bandwidth": 0.0},
    {"bandwidth": "scale"},
    {"cutoff": 1.0},
    {"sink": -1.0},
    {"min_score": 1.0},
]
WRONG_ONLINE = [{"quantizer": "tripling"}, {"max_vertices": 0}]


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [(HarmonicClassifier, wrong) for wrong in WRONG]
    + [(OnlineHarmonicClassifier, wrong) for wrong in WRONG + WRONG_ONLINE],
)
def test_parameters_are_refused_when_fitting(kind, wrong):
    with pytest.raises(OnlookerError, match=next(iter(wrong))):
        kind(**{"bandwidth": 0.3, **wrong}).fit(ROWS, SPARSELY)


# ---- among other tools


@either
def test_in_a_pipeline_and_a_grid_search(kind):
    rows, y = load_iris(return_X_y=True)
    hidden = np.where(np.arange(150) % 5 < 2, y, -1)
    pipeline = make_pipeline(StandardScaler(), kind())
    name = kind.__name__.lower()
    grid = {f"{name}__bandwidth": [0.01, 0.3, 30.0], f"{name}__cutoff": [1e-5]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(rows, hidden)
    assert search.best_params_[f"{name}__bandwidth"] == 0.3
    assert search.best_estimator_.predict(rows).tolist().count(-1) < 15
    assert cross_val_score(pipeline, rows, y, cv=5, scoring="accuracy").mean() > 0.85


@either
def test_score_leaves_out_rows_without_a_label(kind):
    model = kind(bandwidth=0.3).fit(ROWS, SPARSELY)
    rows = [[0.0], [4.0], [4.0], [50.0]]
    assert model.score(rows, ["ana", "ana", "-1", "-1"]) == 0.5
    assert model.score(rows, ["ana", "ana", "-1", "-1"], sample_weight=[3, 1, 1, 1]) == 0.75
    with pytest.raises(ValueError, match="has a label"):
        model.score(rows, [-1] * 4)


def test_feature_names_are_kept_in_mind():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(ROWS, columns=["x"])
    model = OnlineHarmonicClassifier(bandwidth=0.3).fit(table, SPARSELY)
    assert model.feature_names_in_.tolist() == ["x"]


# ---- the bandwidth nobody gave


@either
def test_defaults_are_useful_on_digits(kind):
    """Draws of 1000 digits range from 0.80 to 0.97; a bandwidth too large gives 0.1."""
    rows, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    rows, y = rows[order][:1000] / 16, y[order][:1000]
    first = np.concatenate([np.flatnonzero(y == digit)[:4] for digit in range(10)])
    labels_first = np.r_[first, np.setdiff1d(np.arange(len(y)), first)]
    rows, y = rows[labels_first], y[labels_first]
    model = kind().fit(rows, np.where(np.arange(len(y)) < 40, y, -1))
    accuracy = np.mean(model.predict(rows)[40:] == y[40:])
    assert accuracy > 0.7


def test_auto_bandwidth_scales_with_the_rows_and_ignores_repetition():
    rows = np.random.default_rng(0).normal(size=(700, 3))
    assert auto_bandwidth(7 * rows) == pytest.approx(7 * auto_bandwidth(rows))
    assert auto_bandwidth(np.repeat(rows, 3, axis=0)) == pytest.approx(auto_bandwidth(rows))


@either
@pytest.mark.parametrize("rows", [[[1.0]], [[1.0], [1.0]]])
def test_auto_bandwidth_needs_two_places(kind, rows):
    with pytest.raises(ValueError, match="give a number"):
        kind().fit(rows, [0] * len(rows))


# ---- rows without a label, said in other ways


@either
@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, pd.NaT, -1])
def test_whatever_marks_a_row_without_a_label(kind, missing):
    """Names stay strings: nobody has to call an unlabeled row "-1"."""
    y = ["ana", "ben", *[missing] * 4]
    expected = kind(bandwidth=0.3).fit(ROWS, SPARSELY)
    for target in (y, np.array(y, dtype=object), pd.Series(y, dtype=object)):
        model = kind(bandwidth=0.3).fit(ROWS, target)
        assert model.classes_.tolist() == ["ana", "ben"]
        np.testing.assert_array_equal(model.predict(ROWS), expected.predict(ROWS))
        assert model.score(ROWS, target) == 1.0


@either
def test_numbers_with_missing_ones(kind):
    for target in (
        np.array([3.0, 7.0, *[np.nan] * 4]),
        pd.Series([3, 7, *[pd.NA] * 4], dtype="Int64"),
        pd.Series(["3", "7", *[pd.NA] * 4], dtype="string"),
    ):
        model = kind(bandwidth=0.3).fit(ROWS, target)
        assert [float(label) for label in model.classes_] == [3.0, 7.0]
        assert [float(label) for label in model.predict([[0.4], [4.4]])] == [3.0, 7.0]


def test_partial_fit_takes_them_too():
    model = OnlineHarmonicClassifier(bandwidth=0.3)
    model.partial_fit(ROWS[:3], ["ana", "ben", None]).partial_fit(ROWS[3:], [np.nan] * 3)
    assert model.predict([[1.2]]).tolist() == ["ana"]
    assert len(model.learner_) == 6


# ---- among other tools


@either
def test_weights_are_routed_to_the_score(kind):
    """Of the rows that are scored, a third has the wrong label."""
    rows = np.repeat(ROWS, 4, axis=0) + 0.01 * np.arange(24)[:, None]
    y = (rows[:, 0] > 2).astype(int)
    wrong = np.arange(24) % 3 == 0
    rows, y = np.vstack([rows, rows]), np.concatenate([y, np.where(wrong, 1 - y, y)])
    folds = [(np.arange(24), np.arange(24, 48))]
    with config_context(enable_metadata_routing=True):
        model = kind(bandwidth=0.3).set_score_request(sample_weight=True)
        for weight, score in ((np.ones(24), 2 / 3), (1.0 - wrong, 1.0), (1.0 * wrong, 0.0)):
            params = {"sample_weight": np.concatenate([np.ones(24), weight])}
            found = cross_validate(model, rows, y, cv=folds, params=params)
            assert found["test_score"] == pytest.approx([score])
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            cross_validate(kind(bandwidth=0.3), rows, y, cv=folds, params=params)


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def two_threads():
    """Two threads of linear algebra, also where the environment says one."""
    with threadpool_limits(limits=2, user_api="blas"):
        if set(blas_threads()) != {2}:
            pytest.skip("the number of threads cannot be set here")
        yield blas_threads()


def record_threads(monkeypatch, owner, name):
    """The threads of linear algebra whenever that function is called."""
    found, function = [], getattr(owner, name)

    def wrapped(*arguments, **options):
        found.append(blas_threads())
        return function(*arguments, **options)

    monkeypatch.setattr(owner, name, wrapped)
    return found


def test_the_online_classifier_waits_for_threads_of_linear_algebra(monkeypatch, two_threads):
    learned = record_threads(monkeypatch, OnlineHarmonicLearner, "observe_many")
    predicted = record_threads(monkeypatch, OnlineHarmonicLearner, "predict")
    limited = record_threads(monkeypatch, module, "one_thread")
    model = OnlineHarmonicClassifier(bandwidth=0.3).fit(ROWS, SPARSELY)
    model.predict(np.repeat(ROWS, 5, axis=0))
    assert {1} == {count for counts in learned + predicted for count in counts}
    assert limited == [two_threads] * 2, "once for a call, whatever number of rows it has"
    assert blas_threads() == two_threads, "as many as before, afterwards"


@pytest.mark.parametrize("graph", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("solution", ["harmonic", "poisson"])
def test_a_small_exact_fit_waits_for_threads_of_linear_algebra(
    monkeypatch, two_threads, solution, graph
):
    solved = record_threads(monkeypatch, module, f"{solution}_solution")
    model = HarmonicClassifier(graph="precomputed", solution=solution)
    model.fit(graph(HeatKernel(0.3, 1e-5).weights(cdist(ROWS, ROWS) ** 2)), SPARSELY)
    assert {1} == set(solved[0])
    assert blas_threads() == two_threads


def test_an_exact_prediction_waits_for_threads_of_linear_algebra(monkeypatch, two_threads):
    walked = record_threads(monkeypatch, HarmonicClassifier, "_walk_from")
    HarmonicClassifier(bandwidth=0.3).fit(ROWS, SPARSELY).predict(ROWS)
    assert {1} == set(walked[0])
    assert blas_threads() == two_threads


def test_a_large_dense_solve_has_the_threads_that_there_are(monkeypatch, two_threads):
    monkeypatch.setattr(module, "MOST_ON_ONE_THREAD", len(ROWS) - 1)
    solved = record_threads(monkeypatch, module, "harmonic_solution")
    HarmonicClassifier(bandwidth=0.3).fit(ROWS, SPARSELY)
    assert solved == [two_threads]


def test_libraries_are_searched_once_and_not_in_every_fit(monkeypatch):
    HarmonicClassifier(bandwidth=0.3).fit(ROWS, SPARSELY)
    monkeypatch.delattr(module, "ThreadpoolController")
    HarmonicClassifier(bandwidth=0.3).fit(ROWS, SPARSELY).predict(ROWS)


def as_skops_stores_it(model):
    """What skops loads of what it wrote, and the types in it that it does not know."""
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    data = io.dumps(model)
    return io.loads(data, trusted=module.TRUSTED), io.get_untrusted_types(data=data)


class Unknown(Doubling):
    """A quantizer of somebody else."""


STORED = [
    HarmonicClassifier(bandwidth=0.3),
    HarmonicClassifier(graph="precomputed"),
    *(OnlineHarmonicClassifier(bandwidth=0.3, quantizer=each)
      for each in ("doubling", ClosestPair(), ClosestSafePair(), Doubling())),
    make_pipeline(StandardScaler(), OnlineHarmonicClassifier(bandwidth=0.3)),
]  # fmt: skip


@pytest.mark.parametrize("y", [SPARSELY, [7, 3, -1, -1, -1, -1], [True, False, -1, -1, -1, -1]])
@pytest.mark.parametrize("model", STORED, ids=repr)
def test_skops_stores_a_classifier_without_pickle(model, y):
    rows = np.exp(-((ROWS - ROWS.T) ** 2)) if model.__sklearn_tags__().input_tags.pairwise else ROWS
    model = clone(model).fit(rows, y)
    twin, untrusted = as_skops_stores_it(model)
    assert set(untrusted) <= set(module.TRUSTED)
    np.testing.assert_array_equal(twin.predict_proba(rows), model.predict_proba(rows))
    np.testing.assert_array_equal(twin.predict(rows), model.predict(rows))


def test_a_classifier_from_skops_goes_on_learning():
    model = OnlineHarmonicClassifier(bandwidth=0.3).partial_fit(ROWS[:3], SPARSELY[:3])
    twin, _ = as_skops_stores_it(model)
    for each in (model, twin):
        each.partial_fit(ROWS[3:]).partial_fit([[99.0]], ["cyd"])
    assert twin.classes_.tolist() == ["ana", "ben", "cyd"]
    np.testing.assert_array_equal(twin.predict_proba(ROWS), model.predict_proba(ROWS))


def test_skops_refuses_a_type_that_is_not_in_the_list():
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    data = io.dumps(OnlineHarmonicClassifier(bandwidth=0.3, quantizer=Unknown()))
    with pytest.raises(io.exceptions.UntrustedTypesFoundException, match="Unknown"):
        io.loads(data, trusted=module.TRUSTED)


@pytest.mark.parametrize("library", ["sklearn", "river"])
def test_a_missing_library_is_named_with_its_extra(library):
    program = f"import sys\nsys.modules[{library!r}] = None\nimport onlooker.compat.{library}\n"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 1
    last = run.stderr.strip().splitlines()[-1]
    assert f"[{library}]" in last
    assert "pip install" in last


# ---- the graph is given


def test_a_given_graph_is_the_same_as_the_one_made_from_rows():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(np.arange(60) < 8, np.arange(60) % 2, -1)
    ours = HarmonicClassifier(bandwidth=0.4).fit(rows, y)
    graph = ours.kernel_.weights(cdist(rows, rows, "sqeuclidean"))
    new = np.random.default_rng(1).normal(size=(9, 2))
    links = ours.kernel_.weights(cdist(new, rows, "sqeuclidean"))
    for form in (np.array, scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array):
        model = HarmonicClassifier(graph="precomputed", sink=ours.sink_).fit(form(graph), y)
        order = np.lexsort(rows.T[::-1])
        np.testing.assert_allclose(model.probabilities_[order], ours.probabilities_, atol=1e-9)
        np.testing.assert_allclose(model.predict_proba(form(links)), ours.predict_proba(new))
        assert model.__sklearn_tags__().input_tags.pairwise


def test_a_graph_that_is_none_is_refused():
    y = ["ana", "ben", None]
    for graph, said in ((np.ones((3, 2)), "square"), (np.triu(np.ones((3, 3))), "symmetric")):
        with pytest.raises(OnlookerError, match=said):
            HarmonicClassifier(graph="precomputed").fit(graph, y)
    with pytest.raises(OnlookerError, match="graph must be"):
        HarmonicClassifier(graph="knn").fit(np.eye(3), y)


# ---- Poisson learning


def test_poisson_potentials_name_training_rows_and_are_averaged_for_new_ones():
    """At a row without a label the potential is the weighted mean of its neighbours."""
    X = np.random.default_rng(3).normal(size=(40, 2))
    y = np.array([0, 1, 0, 2, *[-1] * 36])
    model = HarmonicClassifier(bandwidth=0.5, cutoff=1e-9, solution="poisson").fit(X, y)
    W = HeatKernel(0.5, 1e-9).weights(cdist(X, X, "sqeuclidean"))
    potentials = poisson_solution(W, np.eye(3)[y], y >= 0)
    assert (model.predict(X) == potentials.argmax(axis=1)).all()
    new = np.array([[0.3, -0.2]])
    w = HeatKernel(0.5, 1e-9).weights(cdist(new, X, "sqeuclidean"))
    shares = (w @ potentials).clip(0, None)
    np.testing.assert_allclose(model.predict_proba(new), shares / shares.sum(), atol=1e-9)
    given = HarmonicClassifier(graph="precomputed", solution="poisson").fit(W, y)
    np.testing.assert_allclose(given.predict_proba(w), shares / shares.sum(), atol=1e-9)


def test_poisson_knows_nobody_too():
    model = HarmonicClassifier(bandwidth=0.3, solution="poisson").fit(ROWS, SPARSELY)
    assert model.predict([[99.0]]).tolist() == ["-1"]
    assert model.predict(ROWS).tolist() == ["ana", "ben", "ana", "ana", "ben", "ana"]


def test_an_unknown_solution_is_refused():
    with pytest.raises(OnlookerError, match="'harmonic' or 'poisson', got 'laplace'"):
        HarmonicClassifier(solution="laplace").fit(ROWS, SPARSELY)


def uneven(kind, **options):
    """Many rows beside one label, few beside the other."""
    X = np.r_[0.0, 4.0, np.linspace(0.2, 2.0, 10), 1.6, 1.8, 2.0][:, None]
    y = ["ana", "ben", *[-1] * 13]
    return kind(bandwidth=0.5, **options).fit(X, y)


@either
def test_a_class_prior_weighs_probabilities_by_the_masses_of_the_classes(kind):
    plain, even = uneven(kind), uneven(kind, class_prior="uniform")
    rows = [[2.9], [0.5], [99.0]]
    assert plain.predict(rows).tolist() == ["ana", "ana", "-1"]
    assert even.predict(rows).tolist() == ["ben", "ana", "-1"]
    probabilities, weighed = plain.predict_proba(rows), even.predict_proba(rows)
    np.testing.assert_allclose(weighed.sum(axis=1), probabilities.sum(axis=1))
    if kind is OnlineHarmonicClassifier:
        masses = np.array(list(plain.learner_.masses().values()))
    else:
        masses = plain.multiplicities_ @ plain.probabilities_
    ratio = (probabilities[:2] / masses) / weighed[:2]
    np.testing.assert_allclose(ratio[:, 0], ratio[:, 1])


@either
def test_shares_of_classes_may_be_given_and_are_stored(kind):
    given = uneven(kind, class_prior={"ana": 9, "ben": 1})
    assert given.predict([[2.9]]).tolist() == ["ana"]
    again = pickle.loads(pickle.dumps(uneven(kind, class_prior="uniform")))
    assert again.predict([[2.9]]).tolist() == ["ben"]


@either
@pytest.mark.parametrize("wrong", ["even", 3, {"ana": 1}, {"ana": 1, "ben": 0}])
def test_a_class_prior_that_makes_no_sense_is_refused_when_fitting(kind, wrong):
    with pytest.raises(OnlookerError, match=r"class_prior|share"):
        uneven(kind, class_prior=wrong)


def test_a_class_that_a_prior_does_not_know_leaves_no_trace():
    model = uneven(OnlineHarmonicClassifier, class_prior={"ana": 1, "ben": 1})
    with pytest.raises(OnlookerError, match="'cem'"):
        model.partial_fit([[9.0]], ["cem"])
    assert model.classes_.tolist() == ["ana", "ben"]


def test_poisson_learning_has_no_probabilities_to_weigh():
    with pytest.raises(OnlookerError, match="poisson"):
        uneven(HarmonicClassifier, class_prior="uniform", solution="poisson")


@either
def test_digits_are_named_better_by_who_knows_that_they_are_equally_frequent(kind):
    stream = load_digits()
    order = np.random.default_rng(5).permutation(len(stream.data))[:900]
    X, truth = stream.data[order] / 16, stream.target[order]
    first = np.concatenate([np.flatnonzero(truth == each)[:4] for each in range(10)])
    rest = np.setdiff1d(np.arange(len(X)), first)
    y = np.r_[truth[first], np.full(len(rest), -1)]
    rows = X[np.r_[first, rest]]
    options = {"bandwidth": 0.3162, "cutoff": 1e-20, "sink": 1e-6}
    plain, even = (
        kind(**options, class_prior=prior).fit(rows, y).score(X[rest], truth[rest])
        for prior in (None, "uniform")
    )
    assert even > plain
