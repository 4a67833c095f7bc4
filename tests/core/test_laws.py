"""Laws that hold for every stream, found out by Hypothesis."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.streams import QUANTIZERS, state
from onlooker import (
    ClosestPair,
    ClosestSafePair,
    Cosine,
    Doubling,
    Euclidean,
    HeatKernel,
    OnlineHarmonicLearner,
)
from onlooker.core import learner, sketch, vectors
from onlooker.core.errors import LabelConflict
from onlooker.core.vectors import Vectors

quantizers = st.sampled_from([ClosestPair(), ClosestSafePair(), Doubling()])
coordinates = st.integers(-6, 6).map(lambda n: n / 2) | st.floats(-3, 3, width=32)
points = st.tuples(coordinates, coordinates)
names = st.sampled_from(["ana", "ben", "cleo"])
taught = st.tuples(points, names)
seen = st.tuples(points, st.none())
streams = st.lists(seen | seen | seen | taught, min_size=1, max_size=40)
settings_of_learners = st.fixed_dictionaries(
    {
        "quantizer": quantizers,
        "max_vertices": st.integers(1, 6),
        "sink": st.sampled_from([None, 0.0, 1e-6, 0.1, 10.0]),
        "min_score": st.sampled_from([0.0, 0.0, 0.3]),
    }
)


def new_learner(**options):
    return OnlineHarmonicLearner(HeatKernel(0.5, 1e-3), **options)


def feed(learner, stream):
    """Play a stream; the answers of the unlabeled steps. A second name at one place is left out."""
    answers = []
    for x, name in stream:
        if name is None:
            answers.append(learner.observe(x))
        else:
            try:
                learner.teach(x, name)
            except LabelConflict:
                continue
    return answers


def fed(stream, **options):
    learner = new_learner(**options)
    feed(learner, stream)
    return learner


@given(stream=streams, options=settings_of_learners, x=points)
def test_predict_says_what_observe_would_and_leaves_no_trace(stream, options, x):
    learner = fed(stream, **options)
    before, changes = state(learner), learner.changes()
    foretold = learner.predict(x)
    learner.explain(x)
    assert state(learner) == before
    assert learner.changes() == changes
    assert learner.observe(x) == foretold


@given(stream=streams, options=settings_of_learners, x=points)
def test_nobody_leaves_no_trace(stream, options, x):
    learner = fed(stream, **options)
    before = state(learner)
    answer = learner.observe(x)
    if answer.label is None:
        assert state(learner) == before
        assert answer.vertex is None
        assert learner.changes() == type(learner.changes())()
    else:
        assert state(learner) != before


@given(stream=streams, options=settings_of_learners, x=points)
def test_later_answers_do_not_depend_on_who_was_nobody(stream, options, x):
    with_strangers, without = fed(stream, **options), fed(stream, **options)
    for far in ((50.0, 50.0), (-90.0, 3.0)):
        assert with_strangers.observe(far).label is None
    assert with_strangers.observe(x) == without.observe(x)
    assert state(with_strangers) == state(without)


@given(stream=streams, options=settings_of_learners)
def test_at_most_max_vertices_are_unlabeled_after_every_call(stream, options):
    learner = new_learner(**options)
    for event in stream:
        feed(learner, [event])
        assert learner.vertices().names.count(None) <= options["max_vertices"]
    for x in learner.vertices().vectors[[name is not None for name in learner.vertices().names]]:
        learner.unteach(x)
        assert learner.vertices().names.count(None) <= options["max_vertices"]


@given(stream=streams, options=settings_of_learners)
def test_multiplicities_add_up_to_the_examples_absorbed(stream, options):
    learner = new_learner(**options)
    absorbed = 0
    for x, name in stream:
        if name is None:
            absorbed += learner.observe(x).label is not None
        else:
            size = state(learner)
            feed(learner, [(x, name)])
            absorbed += state(learner) != size
    assert learner.vertices().multiplicities.sum() == absorbed


@given(stream=streams, options=settings_of_learners)
def test_scores_are_probabilities_and_the_sink_takes_the_rest(stream, options):
    learner = new_learner(**options)
    for answer in feed(learner, stream):
        assert all(0 <= score <= 1 for score in answer.scores.values())
        assert 0 <= answer.sink <= 1
        assert sum(answer.scores.values()) + answer.sink == pytest.approx(1, abs=1e-9)
        assert type(answer.sink) is float
        assert all(type(score) is float for score in answer.scores.values())
        best, second = sorted([0.0, 0.0, *answer.scores.values()], reverse=True)[:2]
        assert answer.confidence == best - second
        if answer.label is not None:
            assert answer.scores[answer.label] == best > options["min_score"]


@given(stream=streams, options=settings_of_learners)
def test_taught_examples_keep_their_place_and_their_name(stream, options):
    learner = new_learner(**options)
    given_names = {}
    for x, name in stream:
        feed(learner, [(x, name)])
        if name is not None:
            given_names.setdefault(tuple(np.asarray(x, dtype=float) + 0.0), name)
        vertices = learner.vertices()
        labeled = {
            tuple(vector + 0.0): label
            for vector, label in zip(vertices.vectors, vertices.names, strict=True)
            if label is not None
        }
        assert labeled == given_names
    for x, name in given_names.items():
        assert learner.predict(x).label == name
        assert learner.predict(x).scores[name] == 1.0


@given(stream=streams, options=settings_of_learners, x=points)
def test_permuting_names_permutes_scores(stream, options, x):
    other = {"ana": "ben", "ben": "cleo", "cleo": "ana", None: None}
    first = fed(stream, **options).predict(x)
    second = fed([(x, other[name]) for x, name in stream], **options).predict(x)
    assert {other[name]: score for name, score in first.scores.items()} == second.scores
    assert (other[first.label], first.sink) == (second.label, second.sink)


@pytest.mark.parametrize("first", ["ana", "ben"])
def test_a_tie_goes_to_the_name_taught_first_with_confidence_zero(first):
    learner = new_learner()
    second = "ben" if first == "ana" else "ana"
    learner.teach([1.0, 0.0], first)
    learner.teach([-1.0, 0.0], second)
    for x in ([0.0, 0.0], [0.0, 0.75], [0.0, -0.75]):
        assert learner.predict(x).label == first
        assert learner.predict(x).confidence == 0.0
        assert learner.observe(x).confidence == pytest.approx(0.0, abs=1e-15)


@given(stream=st.lists(seen, max_size=10), options=settings_of_learners)
def test_before_any_label_everybody_is_nobody(stream, options):
    learner = new_learner(**options)
    for answer in [*feed(learner, stream), learner.predict((0.0, 0.0))]:
        assert (answer.label, dict(answer.scores), answer.sink, answer.vertex) == (
            None,
            {},
            1,
            None,
        )
    assert len(learner) == 0
    assert learner.explain((0.0, 0.0)).endings == ()


@given(stream=streams, options=settings_of_learners, x=points, times=st.integers(1, 5))
def test_duplicates_are_absorbed(stream, options, x, times):
    learner = fed(stream, **(options | {"max_vertices": 50}))
    first = learner.observe(x)
    size = len(learner)
    for _ in range(times):
        assert learner.observe(x).vertex == first.vertex
        assert len(learner) == size


# Batches -----------------------------------------------------------------------------------


def blobs(rng, count, length, dtype):
    """Two clouds around the labels, some strangers, some repeats; about 0.5 between neighbours."""
    centres = rng.choice([-1.0, 1.0], size=(count, 1)) * np.ones(length) / np.sqrt(length)
    rows = centres + rng.normal(size=(count, length)) * (0.35 / np.sqrt(length))
    rows[rng.random(count) < 0.05] += 30.0
    repeated = np.flatnonzero(rng.random(count) < 0.1)[1:]
    rows[repeated] = rows[rng.integers(0, repeated)]
    return rows.astype(dtype)


def batch_learner(length, dtype, quantizer, distance=None, max_vertices=20):
    learner = OnlineHarmonicLearner(
        HeatKernel(0.2, 1e-4, distance or Euclidean()),
        max_vertices=max_vertices,
        quantizer=QUANTIZERS[quantizer](),
    )
    for sign, name in ((1.0, "ana"), (-1.0, "ben")):
        learner.teach(np.full(length, sign / np.sqrt(length), dtype=dtype), name)
    return learner


@pytest.mark.parametrize("quantizer", QUANTIZERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [2, 700])
@pytest.mark.parametrize("count", [1, learner.BLOCK, learner.BLOCK + 1, 3 * learner.BLOCK - 1])
def test_observe_many_is_a_loop_of_observe(count, length, dtype, quantizer):
    rows = blobs(np.random.default_rng(count), count, length, dtype)
    one, many = (batch_learner(length, dtype, quantizer) for _ in range(2))
    assert [one.observe(x) for x in rows] == many.observe_many(rows)
    assert state(one) == state(many)
    assert one.changes() == many.changes()


@given(stream=streams, options=settings_of_learners, rows=st.lists(points, max_size=90))
@settings(max_examples=50)
def test_observe_many_is_a_loop_of_observe_on_any_stream(stream, options, rows):
    one, many = fed(stream, **options), fed(stream, **options)
    assert [one.observe(x) for x in rows] == many.observe_many(np.reshape(rows, (-1, 2)))
    assert state(one) == state(many)


@pytest.mark.parametrize("length", [3, 600])
def test_observe_many_is_a_loop_of_observe_for_directions(length):
    rows = blobs(np.random.default_rng(1), 150, length, "float64")
    one, many = (batch_learner(length, "float64", "closest", Cosine()) for _ in range(2))
    assert [one.observe(x) for x in rows] == many.observe_many(rows)
    assert state(one) == state(many)


@pytest.mark.parametrize(("dtype", "expected"), [("float32", "float32"), ("float64", "float64")])
def test_vectors_keep_the_type_of_the_first_one(dtype, expected):
    learner = batch_learner(4, dtype, "closest")
    rows = blobs(np.random.default_rng(2), 40, 4, "float64")
    learner.observe_many(rows[:20])
    learner.observe(rows[21].astype("float32"))
    learner.teach(rows[22].tolist(), "ana")
    assert learner.vertices().vectors.dtype == expected


# Sketches ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batched", [False, True])
def test_the_sketch_never_changes_an_answer(monkeypatch, dtype, batched):
    rows = many_places(np.random.default_rng(3), 260, 700, dtype)

    def answers(learner):
        if batched:
            return learner.observe_many(rows)
        return [learner.observe(x) for x in rows]

    def taught():
        learner = OnlineHarmonicLearner(HeatKernel(0.2, 1e-4), max_vertices=60)
        for row, name in zip(rows[:20], "abcdefghijklmnopqrst", strict=True):
            learner.teach(row, name)
        return learner

    learned = []
    plain_learn = sketch.learn
    monkeypatch.setattr(sketch, "learn", lambda found: learned.append(1) or plain_learn(found))
    monkeypatch.setattr(vectors, "PATIENCE", 0.05)
    sketched = taught()
    with_sketch = answers(sketched)
    assert learned, "no sketch was learned: this test would compare nothing"
    monkeypatch.setattr(vectors, "LONG", 10**9)
    plain = taught()
    assert answers(plain) == with_sketch
    assert state(plain) == state(sketched)


def many_places(rng, count, length, dtype):
    """Clouds at equal distances of each other, which lengths alone cannot tell apart.

    Far from the origin, where single precision has few digits left for the differences.
    """
    centres = 100.0 + rng.normal(size=(9, length)) * (1.5 / np.sqrt(length))
    rows = centres[rng.integers(9, size=count)]
    return (rows + rng.normal(size=rows.shape) * (0.35 / np.sqrt(length))).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["whole", "lengths_only", "learned"])
@given(
    seed=st.integers(0, 10**6),
    length=st.sampled_from([1, 3, 40, 600]),
    offset=st.sampled_from([0.0, 1.0, 1e3, 1e6]),
    spread=st.sampled_from([1e-6, 1e-3, 1.0]),
)
@settings(max_examples=40)
def test_a_bound_from_sketches_never_exceeds_the_gap(kind, dtype, seed, length, offset, spread):
    rng = np.random.default_rng(seed)
    rows = (offset + rng.normal(size=(30, length))).astype(dtype)
    rows[10:] = rows[rng.integers(0, 10, size=20)] + (
        spread * rng.normal(size=(20, length))
    ).astype(dtype)
    # Learned from some of the rows, used on all of them: a sketch goes out of date.
    chosen = sketch.learn(rows[:8]) if kind == "learned" else getattr(sketch, kind)(rows[0].copy())
    held = Vectors(Euclidean(), length, np.dtype(dtype))
    held._use(chosen)
    sketches, norms = chosen.project(rows)
    bounds = held._bounds(sketches, norms[:, None], sketches, norms)
    wide = rows.astype(np.float64)
    gaps = ((wide[:, None] - wide) ** 2).sum(axis=2)
    assert (bounds <= gaps).all()


@given(seed=st.integers(0, 10**6), spread=st.sampled_from([1e-6, 1e-3, 0.1, 1.0]))
@settings(max_examples=30)
def test_a_search_finds_what_measuring_everything_finds(seed, spread):
    rng = np.random.default_rng(seed)
    rows = (5 + rng.normal(size=(12, 520)) * 0.02).astype("float32")
    rows[6:] = rows[:6] + (spread * rng.normal(size=(6, 520)) / 23).astype("float32")
    rows = np.unique(rows, axis=0)  # the smallest spread may round to none
    reach = float(rng.uniform(0.5, 2.0) * (spread + 1e-9))
    learner = OnlineHarmonicLearner(HeatKernel(reach, float(np.exp(-0.5))), sink=0.0)
    for number, row in enumerate(rows):
        learner.teach(row, str(number))
    for row in rows:
        x = (row + np.float32(1e-7) * rng.normal(size=520)).astype("float32")
        gaps = np.sqrt(((rows.astype(np.float64) - x) ** 2).sum(axis=1))
        scores = learner.predict(x).scores
        found = [number for number in range(len(rows)) if scores[str(number)] > 0]
        # All 520 differences may round to none; then it is that example, and no other counts.
        assert found == np.flatnonzero(gaps <= (reach if gaps.min() > 0 else 0)).tolist()


@given(stream=streams, options=settings_of_learners)
def test_records_that_were_handed_out_do_not_change(stream, options):
    learner = fed(stream, **options)
    vertices = learner.vertices()
    copied = copy.deepcopy(vertices)
    feed(learner, stream)
    np.testing.assert_array_equal(vertices.vectors, copied.vectors)
    np.testing.assert_array_equal(vertices.multiplicities, copied.multiplicities)
    for column in (vertices.ids, vertices.vectors, vertices.multiplicities):
        assert not column.flags.writeable


@given(stream=streams, options=settings_of_learners, x=points)
def test_what_was_handed_in_can_be_changed_afterwards(stream, options, x):
    learner = fed(stream, **options)
    mine = np.array(x)
    learner.observe(mine)
    before = state(learner)
    mine += 1.0
    assert state(learner) == before


def test_entries_say_in_order_what_changes_say_by_kind():
    """What a home repeats without solving: merges with where to, negatives with all names."""
    learner = OnlineHarmonicLearner(HeatKernel(0.5, 1e-3), max_vertices=2)
    learner.teach([0.0], "ana")
    learner.teach([5.0], "ben")
    learner.teach([0.4], not_name="ben")
    (entry,) = (each for each in learner.entries() if each.kind == "negatives")
    assert entry.not_names == ("ben",)
    merged = {}
    for x in (0.7, 1.1, 1.5, 1.9, 2.3):
        learner.observe([x])
        entries, changes = learner.entries(), learner.changes()
        found = {each.vertex: each.into for each in entries if each.kind == "merged"}
        assert found == changes.merged
        assert tuple(each.vertex for each in entries if each.kind == "new") == changes.new
        merged |= found
    assert len(merged) == 3
    learner.teach([0.4], nobody=True)
    (entry,) = (each for each in learner.entries() if each.kind == "negatives")
    assert set(entry.not_names) == {"ben", None}


def test_a_block_of_which_nobody_is_known_changes_nothing_since_the_call_before():
    learner = OnlineHarmonicLearner(HeatKernel(0.5, 1e-3))
    learner.teach([0.0], "ana")
    learner.forget("ana")
    assert learner.entries() != ()
    assert [seen.label for seen in learner.observe_many([[0.0], [1.0]])] == [None, None]
    assert learner.entries() == ()
