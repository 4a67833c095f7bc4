"""Bad input is an OnlookerError that names the value, and the learner is as it was."""

import re

import numpy as np
import pytest

from helpers.streams import state
from onlooker import Cosine, HeatKernel, OnlineHarmonicLearner, OnlookerError
from onlooker.core import errors, snapshot
from onlooker.core.learner import BLOCK

KERNEL = HeatKernel(0.5, 1e-3)


def a_learner(dtype="float64"):
    learner = OnlineHarmonicLearner(KERNEL, sink=0.01, max_vertices=3)
    learner.teach(np.array([1.0, 0.0], dtype=dtype), "ana")
    learner.teach(np.array([3.0, 0.0], dtype=dtype), "ben")
    for x in ([1.25, 0.0], [2.75, 0.25], [1.0, 0.5]):
        learner.observe(x)
    return learner


def directions():
    """A learner for which the length of a vector means nothing, except zero."""
    learner = OnlineHarmonicLearner(HeatKernel(0.5, 1e-3, Cosine()), sink=0.01, max_vertices=3)
    learner.teach([1.0, 0.0], "ana")
    learner.teach([0.0, 1.0], "ben")
    return learner


VECTORS = {
    "too long": ([1.0, 2.0, 3.0], "3"),
    "too short": ([1.0], "1"),
    "not a number": ([np.nan, 0.0], "nan"),
    "infinite": ([0.0, np.inf], "inf"),
    "minus infinite": ([-np.inf, 0.0], "-inf"),
    "too large to measure": ([1e200, 0.0], "1e+200"),
    "empty": ([], "empty"),
    "a word": ("ana", "ana"),
    "words": (["1", "2"], "'1'"),
    "nothing": (None, "None"),
    "truth values": ([True, False], "True"),
    "complex": ([1 + 2j, 0], "1+2j"),
    "a dictionary": ({"x": 1.0}, "'x'"),
    "ragged": ([[1.0], [1.0, 2.0]], "numbers"),
    "numbers beyond float": ([10**400, 0], "numbers"),
    "dates": (np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"), "2020-01-01"),
}
VERBS = {
    "observe": lambda learner, x: learner.observe(x),
    "predict": lambda learner, x: learner.predict(x),
    "explain": lambda learner, x: learner.explain(x),
    "teach": lambda learner, x: learner.teach(x, "ana"),
    "unteach": lambda learner, x: learner.unteach(x),
}


@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_bad_vector_is_refused_by_every_verb(verb, kind):
    x, value = VECTORS[kind]
    learner = a_learner()
    before, changes = state(learner), learner.changes()
    with pytest.raises(OnlookerError, match=re.escape(value)):
        VERBS[verb](learner, x)
    assert state(learner) == before
    assert learner.changes() == changes


@pytest.mark.parametrize("kind", sorted(set(VECTORS) - {"too long", "too short"}))
@pytest.mark.parametrize("verb", VERBS)
def test_a_bad_vector_is_refused_before_the_first_label(verb, kind):
    x, value = VECTORS[kind]
    learner = OnlineHarmonicLearner(KERNEL)
    with pytest.raises(OnlookerError, match=re.escape(value)):
        VERBS[verb](learner, x)
    assert len(learner) == 0
    learner.teach([1.0, 2.0, 3.0], "ana")  # no length was learned from the bad one
    assert len(learner) == 1


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("x", [5.0, [[1.0, 0.0]], np.zeros((1, 2, 1))], ids=["0-d", "2-d", "3-d"])
def test_an_example_is_one_row(verb, x):
    learner = a_learner()
    before = state(learner)
    with pytest.raises(OnlookerError, match=re.escape(str(np.shape(x)))):
        VERBS[verb](learner, x)
    assert state(learner) == before


@pytest.mark.parametrize(
    "kind", sorted(set(VECTORS) - {"a dictionary", "a word", "nothing", "truth values"})
)
def test_one_bad_row_refuses_the_whole_batch(kind):
    x, _ = VECTORS[kind]
    learner = a_learner()
    before = state(learner)
    with pytest.raises(OnlookerError):
        learner.observe_many([[1.1, 0.1], x])
    assert state(learner) == before


def test_one_bad_row_refuses_the_blocks_before_it_too():
    """The direction of zeros is found out by the distance, not by the checks in front."""
    learner = directions()
    rows = np.random.default_rng(1).normal(size=(BLOCK + 20, 2)) + 1.5
    rows[BLOCK + 10] = 0.0
    before = state(learner)
    with pytest.raises(OnlookerError, match="zero"):
        learner.observe_many(rows)
    assert state(learner) == before


@pytest.mark.parametrize("verb", VERBS)
def test_zeros_have_no_direction(verb):
    learner = directions()
    before = state(learner)
    with pytest.raises(OnlookerError, match="zero"):
        VERBS[verb](learner, [0.0, 0.0])
    assert state(learner) == before


@pytest.mark.parametrize("rows", [[1.0, 2.0], 3.0, np.zeros((2, 2, 2)), np.zeros((2, 0))])
def test_a_batch_is_a_table(rows):
    learner = a_learner()
    before = state(learner)
    with pytest.raises(OnlookerError):
        learner.observe_many(rows)
    assert state(learner) == before


def test_a_batch_of_no_rows_is_no_step():
    learner = a_learner()
    before = state(learner)
    assert learner.observe_many(np.zeros((0, 2))) == []
    assert state(learner) == before


@pytest.mark.parametrize("verb", VERBS)
def test_a_number_that_single_precision_cannot_hold_is_refused(verb):
    learner = a_learner(dtype="float32")
    before = state(learner)
    with pytest.raises(OnlookerError):
        VERBS[verb](learner, [1e60, 0.0])
    assert state(learner) == before


@pytest.mark.parametrize(
    "name", ["ana\0", "\x1b[2Jana", "ana\nben", "\u202eana", "a\u2066b", "\x85x", "a\u2028b"]
)
def test_a_name_with_characters_that_control_the_output_is_refused(name):
    with pytest.raises(OnlookerError, match=r"U\+[0-9A-F]{4}") as error:
        a_learner().teach([5.0, 5.0], name)
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    "name", ["ana\u200b", "\ufeffana", "an\xada", "ana\U000e0041", "\u2060ana"]
)
def test_a_name_that_looks_like_another_because_a_character_is_not_shown_is_refused(name):
    learner = a_learner()
    with pytest.raises(OnlookerError, match=r"U\+[0-9A-F]{4}"):
        learner.teach([5.0, 5.0], name)
    learner.teach([5.0, 5.0], "می\u200cگل 👩\u200d🌾 ❤\ufe0f")  # these need theirs


@pytest.mark.parametrize("name", ["\u200d", "\u3164", "\u2800 \u2800", "\ufe0f", "\u034f"])
def test_a_name_that_shows_nothing_is_refused(name):
    with pytest.raises(OnlookerError, match="must not be empty"):
        a_learner().teach([5.0, 5.0], name)


@pytest.mark.parametrize("name", ["", "  ", "\n", None, 3, b"ana", ["ana"], True, 1.5, ("ana",)])
def test_a_bad_name_is_refused(name):
    learner = a_learner()
    before, changes = state(learner), learner.changes()
    with pytest.raises(OnlookerError, match=re.escape(repr(name))):
        learner.teach([5.0, 5.0], name)
    assert state(learner) == before
    assert learner.changes() == changes


def test_a_bad_name_does_not_fix_the_length_of_vectors():
    learner = OnlineHarmonicLearner(KERNEL)
    with pytest.raises(OnlookerError):
        learner.teach([5.0, 5.0], "")
    learner.teach([5.0], "ana")
    assert learner.names == ("ana",)


def test_two_names_at_one_place_are_refused_with_both_names():
    learner = a_learner()
    before, changes = state(learner), learner.changes()
    with pytest.raises(OnlookerError, match=r"'ana'.*'ben'") as caught:
        learner.teach([1.0, 0.0], "ben")
    assert "unteach" in str(caught.value)
    with pytest.raises(OnlookerError, match=r"'ana'.*'cleo'"):
        learner.teach([1.0, 0.0], "cleo")
    assert state(learner) == before
    assert learner.names == ("ana", "ben")
    assert learner.changes() == changes


@pytest.mark.parametrize("cutoff", [0, 0.0, 1, 1.0, -1e-5, 2.0, np.nan, np.inf, "1e-5", None, True])
def test_a_cutoff_outside_zero_and_one_is_refused(cutoff):
    with pytest.raises(OnlookerError, match=re.escape(repr(cutoff))):
        HeatKernel(0.5, cutoff)


@pytest.mark.parametrize("bandwidth", [0, 0.0, -0.3, np.nan, np.inf, "wide", None, True])
def test_a_bandwidth_that_is_not_positive_is_refused(bandwidth):
    with pytest.raises(OnlookerError, match=re.escape(repr(bandwidth))):
        HeatKernel(bandwidth, 1e-3)


@pytest.mark.parametrize("bandwidth", [1e-300, 1e-170, 1e-100, 1e100, 1e170, 1e300])
def test_a_bandwidth_is_refused_at_once_or_works(bandwidth):
    try:
        kernel = HeatKernel(bandwidth, 1e-3)
    except OnlookerError:
        return
    learner = OnlineHarmonicLearner(kernel)
    learner.teach([0.0], "ana")
    assert learner.observe([0.0]).label == "ana"
    assert learner.observe([bandwidth / 2]).label == "ana"


@pytest.mark.parametrize("sink", [-1, -1e-9, np.nan, np.inf, -np.inf, "0.1", True, [0.1]])
def test_a_sink_that_is_not_a_number_of_at_least_zero_is_refused(sink):
    with pytest.raises(OnlookerError, match=re.escape(repr(sink))):
        OnlineHarmonicLearner(KERNEL, sink=sink)


@pytest.mark.parametrize("budget", [0, -1, 1.5, 2.0, np.nan, np.inf, "500", None, True])
def test_a_budget_below_one_or_not_whole_is_refused(budget):
    with pytest.raises(OnlookerError, match=re.escape(repr(budget))):
        OnlineHarmonicLearner(KERNEL, max_vertices=budget)


@pytest.mark.parametrize("score", [-0.1, 1, 1.5, np.nan, "0", None, False])
def test_a_least_score_outside_zero_and_one_is_refused(score):
    with pytest.raises(OnlookerError, match=re.escape(repr(score))):
        OnlineHarmonicLearner(KERNEL, min_score=score)


@pytest.mark.parametrize("kernel", [None, 0.3, "gaussian", HeatKernel])
def test_a_kernel_of_another_kind_is_refused(kernel):
    with pytest.raises(OnlookerError, match=re.escape(repr(kernel))):
        OnlineHarmonicLearner(kernel)


@pytest.mark.parametrize("quantizer", ["doubling", 3, object])
def test_a_quantizer_of_another_kind_is_refused(quantizer):
    with pytest.raises(OnlookerError, match=re.escape(repr(quantizer))):
        OnlineHarmonicLearner(KERNEL, quantizer=quantizer)


@pytest.mark.parametrize("features", [None, 3, b"faces", ["faces"]])
def test_features_are_a_string(features):
    with pytest.raises(OnlookerError, match=re.escape(repr(features))):
        OnlineHarmonicLearner(KERNEL, features=features)


@pytest.mark.parametrize("distance", ["euclidean", None, 3, np.linalg.norm])
def test_a_distance_of_another_kind_is_refused(distance):
    with pytest.raises(OnlookerError, match=re.escape(repr(distance))):
        HeatKernel(0.5, 1e-3, distance)


@pytest.mark.parametrize("vertex", [99, -1, -2, 2**70, "ana", None, 1.5, True, [0]])
def test_a_vertex_that_is_not_there_cannot_be_dropped(vertex):
    learner = a_learner()
    before, changes = state(learner), learner.changes()
    with pytest.raises(OnlookerError, match=re.escape(repr(vertex))):
        learner.drop(vertex)
    assert state(learner) == before
    assert learner.changes() == changes


@pytest.mark.parametrize("name", ["cleo", "", None, 3, ["ana"]])
def test_a_name_that_nobody_has_cannot_be_forgotten(name):
    learner = a_learner()
    before = state(learner)
    with pytest.raises(OnlookerError, match=re.escape(repr(name))):
        learner.forget(name)
    assert state(learner) == before


@pytest.mark.parametrize("x", [[1.25, 0.0], [8.0, 8.0]], ids=["unlabeled", "nothing there"])
def test_a_label_that_was_not_given_cannot_be_taken_back(x):
    learner = a_learner()
    before, changes = state(learner), learner.changes()
    with pytest.raises(OnlookerError):
        learner.unteach(x)
    assert state(learner) == before
    assert learner.changes() == changes


def test_nothing_can_be_taken_back_from_a_learner_that_knows_nothing():
    learner = OnlineHarmonicLearner(KERNEL)
    with pytest.raises(OnlookerError):
        learner.unteach([0.0])
    learner.teach([0.0, 0.0], "ana")
    assert len(learner) == 1


def test_a_damaged_snapshot_is_refused_with_its_path(tmp_path):
    path = tmp_path / "door.onlooker"
    a_learner().save(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(OnlookerError, match=r"door\.onlooker"):
        OnlineHarmonicLearner.load(path)
    with pytest.raises(OnlookerError, match="nowhere"):
        OnlineHarmonicLearner.load(tmp_path / "nowhere")
    snapshot.write(path, {}, {})
    with pytest.raises(OnlookerError, match=r"door\.onlooker"):
        OnlineHarmonicLearner.load(path)


def test_a_good_example_works_after_all_that():
    learner = a_learner()
    for x, _ in VECTORS.values():
        with pytest.raises(OnlookerError):
            learner.observe(x)
    assert learner.observe([1.1, 0.1]).label == "ana"


@pytest.mark.parametrize("has", ["pyproject.toml", "src"])
def test_a_folder_that_is_half_a_clone_is_not_offered_for_installing(tmp_path, monkeypatch, has):
    (tmp_path / has).mkdir() if has == "src" else (tmp_path / has).touch()
    monkeypatch.setattr(errors, "_SOURCE", tmp_path)
    assert str(tmp_path) not in errors.install_command("web")
