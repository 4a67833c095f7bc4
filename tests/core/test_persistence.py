"""A loaded learner behaves as the saved one did; a file that cannot be true is refused."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.streams import QUANTIZERS, assert_same_answer, state
from onlooker import (
    ClosestPair,
    Cosine,
    Doubling,
    Euclidean,
    HeatKernel,
    OnlineHarmonicLearner,
    OnlookerError,
)
from onlooker.core import snapshot
from onlooker.core.errors import BadVector, Incompatible, SnapshotError, WrongVectorLength

COLUMNS = ("ids", "vectors", "multiplicities", "labels")


def reloaded(learner, **options):
    with tempfile.TemporaryDirectory() as folder:
        learner.save(Path(folder, "learner"))
        return OnlineHarmonicLearner.load(Path(folder, "learner"), **options)


def a_learner(**options):
    options = {"kernel": HeatKernel(0.5, 1e-3), "sink": 0.01} | options
    return OnlineHarmonicLearner(options.pop("kernel"), **options)


def small():
    """Two names and two unlabeled vertices."""
    learner = a_learner(features="plane")
    learner.teach([0.0, 0.0], "ana")
    learner.teach([2.0, 0.0], "ben")
    for x in ([0.5, 0.0], [1.5, 0.5], [0.5, 0.0]):
        learner.observe(x)
    return learner


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "learner"
    small().save(path)
    return path


# What comes back ---------------------------------------------------------------------------


@pytest.mark.parametrize("quantizer", QUANTIZERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("distance", [Euclidean(), Cosine()], ids=["euclidean", "cosine"])
@given(seed=st.integers(0, 10**6), dropped=st.booleans())
@settings(max_examples=12)
def test_the_loaded_learner_goes_on_as_the_saved_one(quantizer, dtype, distance, seed, dropped):
    """The same vertices and names for ever; scores but for the last digit.

    A component that fell apart is recorded late by the saved one and at once by the loaded one, so
    the same sums may be made in other blocks.
    """
    rng = np.random.default_rng(seed)
    learner = a_learner(
        kernel=HeatKernel(0.4, 1e-3, distance),
        max_vertices=int(rng.integers(2, 12)),
        quantizer=QUANTIZERS[quantizer](),
    )
    rows = (3.0 + rng.normal(size=(70, 3))).astype(dtype)
    for number, x in enumerate(rows[:4]):
        learner.teach(x, "ab"[number % 2])
    learner.observe_many(rows[4:40])
    if dropped:
        learner.drop(int(rng.choice(learner.vertices().ids[1:])))
        learner.observe(rows[40])
    loaded = reloaded(learner)
    assert state(loaded) == state(learner)
    for x in rows[41:]:
        assert_same_answer(loaded.observe(x), learner.observe(x), tolerance=1e-14)
        assert loaded.changes() == learner.changes()
    assert state(loaded) == state(learner)
    whys = zip(loaded.explain(rows[0]).endings, learner.explain(rows[0]).endings, strict=True)
    assert all(mine.chain == theirs.chain for mine, theirs in whys)


def test_the_order_of_the_slots_does_not_change_a_bit_of_an_answer():
    """A home that replays its events may put the same vertices into other slots."""
    rng = np.random.default_rng(3)
    learner = a_learner(max_vertices=12)
    learner.teach(rng.normal(size=2), "ana")
    learner.teach(rng.normal(size=2), "ben")
    learner.observe_many(0.5 * rng.normal(size=(300, 2)))  # merging frees slots for younger ones
    saved = learner.state()
    by_age = np.argsort(saved.ids)
    assert (by_age != np.arange(len(by_age))).any()
    columns = {name: getattr(saved, name)[by_age] for name in COLUMNS}
    other = learner.restored(replace(saved, **columns))
    for x in 0.5 * rng.normal(size=(30, 2)):
        assert other.predict(x) == learner.predict(x)


def test_every_parameter_comes_back():
    learner = a_learner(
        kernel=HeatKernel(0.3, 1e-7, Cosine()),
        sink=0.125,
        max_vertices=7,
        quantizer=Doubling(),
        min_score=0.25,
        features="digits/16",
    )
    loaded = reloaded(learner)
    for name in ("kernel", "sink", "max_vertices", "quantizer", "min_score", "features", "radius"):
        assert getattr(loaded, name) == getattr(learner, name)


def test_a_learner_that_has_seen_nothing_comes_back():
    loaded = reloaded(a_learner())
    assert len(loaded) == 0
    loaded.teach([1.0, 2.0, 3.0], "ana")
    assert loaded.predict([1.0, 2.0, 3.0]).label == "ana"


def test_a_learner_that_lost_everything_still_knows_the_length_of_its_vectors():
    learner = a_learner()
    learner.teach(np.zeros(3, dtype=np.float32), "ana")
    learner.drop(0)
    for one in (learner, reloaded(learner)):
        with pytest.raises(WrongVectorLength):
            one.teach([1.0], "ana")
        one.teach([1.0, 2.0, 3.0], "ana")
        assert one.vertices().ids.tolist() == [1]
        assert one.vertices().vectors.dtype == np.float32


def test_ids_are_not_used_twice_after_loading():
    learner = small()
    newest = int(learner.vertices().ids.max())
    learner.drop(newest)
    assert reloaded(learner).observe([0.25, 0.25]).vertex == newest + 1


@pytest.mark.parametrize("name", ["José", "名前", '"', "\ud800", "👩‍🌾"])
def test_any_name_comes_back(name):
    learner = a_learner()
    learner.teach([0.0], name)
    assert reloaded(learner).names == (name,)


def test_a_name_that_is_refused_now_comes_back_if_it_was_stored_before():
    learner = a_learner()
    learner.teach([0.0], "ab")
    stored = learner.restored(replace(learner.state(), names=["a\nb"]))
    assert reloaded(stored).names == ("a\nb",)


# What must be given -----------------------------------------------------------------------


@dataclass(frozen=True)
class Stretched(Euclidean):
    """A distance from outside the core."""

    factor: float = 2.0

    def squared(self, gap, own, others):
        return gap * self.factor**2


@dataclass(frozen=True)
class Patient(ClosestPair):
    """A quantizer from outside the core."""


def test_a_distance_from_outside_must_be_handed_in(tmp_path):
    learner = a_learner(kernel=HeatKernel(0.5, 1e-3, Stretched()))
    learner.teach([0.0], "ana")
    learner.observe([0.2])
    learner.save(tmp_path / "learner")
    with pytest.raises(SnapshotError, match=r"Stretched\(factor=2.0\).*distance="):
        OnlineHarmonicLearner.load(tmp_path / "learner")
    with pytest.raises(SnapshotError, match=r"Stretched\(factor=2.0\).*factor=3.0"):
        OnlineHarmonicLearner.load(tmp_path / "learner", distance=Stretched(3.0))
    loaded = OnlineHarmonicLearner.load(tmp_path / "learner", distance=Stretched())
    assert loaded.observe([0.4]) == learner.observe([0.4])


def test_a_quantizer_from_outside_must_be_handed_in(tmp_path):
    learner = a_learner(quantizer=Patient())
    learner.save(tmp_path / "learner")
    with pytest.raises(SnapshotError, match=r"Patient\(\)"):
        OnlineHarmonicLearner.load(tmp_path / "learner")
    loaded = OnlineHarmonicLearner.load(tmp_path / "learner", quantizer=Patient())
    assert loaded.quantizer == Patient()


def test_other_features_are_refused(saved):
    with pytest.raises(Incompatible, match=r"'plane'.*'faces'"):
        OnlineHarmonicLearner.load(saved, features="faces")
    assert OnlineHarmonicLearner.load(saved, features="plane").features == "plane"


# What is refused ---------------------------------------------------------------------------


@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=60)
def test_any_flipped_bit_is_an_error(where, bit):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "learner")
        small().save(path)
        content = bytearray(path.read_bytes())
        content[int(where * len(content))] ^= 1 << bit
        path.write_bytes(content)
        with pytest.raises(SnapshotError):
            OnlineHarmonicLearner.load(path)


@pytest.mark.parametrize("length", [0, 1, 30, 100, 400, -1])
def test_a_truncated_file_is_an_error(saved, length):
    saved.write_bytes(saved.read_bytes()[:length])
    with pytest.raises(SnapshotError):
        OnlineHarmonicLearner.load(saved)


def test_a_save_that_fails_leaves_the_old_file_alone(saved, monkeypatch):
    old = saved.read_bytes()
    learner = small()
    learner.observe([0.7, 0.7])

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OnlookerError, match="No space left"):
        learner.save(saved)
    assert saved.read_bytes() == old
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_file_that_is_refused_is_left_as_it_was(saved):
    damaged = saved.read_bytes()[:-3]
    saved.write_bytes(damaged)
    with pytest.raises(SnapshotError):
        OnlineHarmonicLearner.load(saved)
    assert saved.read_bytes() == damaged


def test_no_pickle_in_the_file(saved):
    assert b"pickle" not in saved.read_bytes()
    assert b'"bandwidth": 0.5' in saved.read_bytes()


def forged(path, *, header=None, arrays=None, without=()):
    """A well-signed file that says something else."""
    real = snapshot.read(path)
    edited = {k: v for k, v in (real.header | (header or {})).items() if k not in without}
    columns = {k: v for k, v in (real.arrays | (arrays or {})).items() if k not in without}
    snapshot.write(path, edited, columns)


HEADERS = {
    "of something else": {"what": "onlooker.Something"},
    "a negative bandwidth": {"bandwidth": -1.0},
    "a bandwidth in words": {"bandwidth": "wide"},
    "a cutoff of two": {"cutoff": 2.0},
    "a negative sink": {"sink": -1e-3},
    "no budget": {"max_vertices": 0},
    "half a vertex": {"max_vertices": 2.5},
    "a budget that is exceeded": {"max_vertices": 1},
    "a score of five": {"min_score": 5.0},
    "features without a name": {"features": 3},
    "a negative radius": {"radius": -1.0},
    "no radius": {"radius": None},
    "a distance that is a number": {"distance": 3},
    "an unknown quantizer": {"quantizer": "Tripling()"},
    "an id beyond the next": {"next_id": 2},
    "a next id that no counter holds": {"next_id": 2**63},
    "one name too few": {"names": ["ana"]},
    "one name too many": {"names": ["ana", "ben", "cleo"]},
    "a name twice": {"names": ["ana", "ana"]},
    "an empty name": {"names": ["ana", ""]},
    "a number for a name": {"names": ["ana", 3]},
    "names that are no list": {"names": "ab"},
}


@pytest.mark.parametrize("claim", HEADERS)
def test_a_well_signed_header_that_cannot_be_true_is_refused(saved, claim):
    forged(saved, header=HEADERS[claim])
    with pytest.raises(SnapshotError):
        OnlineHarmonicLearner.load(saved)


ARRAYS = {
    "an id twice": {"ids": np.array([0, 1, 2, 2])},
    "a negative id": {"ids": np.array([-1, 1, 2, 3])},
    "ids with a fraction": {"ids": np.array([0.0, 1.0, 2.0, 3.0])},
    "too few ids": {"ids": np.array([0, 1, 2])},
    "ids in two dimensions": {"ids": np.array([[0, 1], [2, 3]])},
    "a label nobody has": {"labels": np.array([0, 7, -1, -1])},
    "a label of a free slot": {"labels": np.array([0, 1, -2, -1])},
    "nobody with the second name": {"labels": np.array([0, 0, -1, -1])},
    "a multiplicity of zero": {"multiplicities": np.array([1, 1, 0, 1])},
    "a negative multiplicity": {"multiplicities": np.array([1, 1, -5, 1])},
    "half a multiplicity": {"multiplicities": np.array([1, 1, 0.5, 1])},
    "a vector that is not a number": {"vectors": np.array([[0, 0], [2, 0], [1, np.nan], [1, 1]])},
    "an infinite vector": {"vectors": np.array([[0, 0], [2, 0], [1, np.inf], [1, 1]])},
    "two vertices at one place": {"vectors": np.array([[0.0, 0], [2, 0], [1, 1], [1, 1]])},
    "vectors in three dimensions": {"vectors": np.zeros((4, 2, 1))},
    "vectors of length zero": {"vectors": np.zeros((4, 0))},
    "one vector too few": {"vectors": np.array([[0.0, 0], [2, 0], [1, 1]])},
    "truth values for vectors": {"vectors": np.eye(4, dtype=bool)},
}


@pytest.mark.parametrize("claim", ARRAYS)
def test_well_signed_arrays_that_cannot_be_true_are_refused(saved, claim):
    forged(saved, arrays=ARRAYS[claim])
    with pytest.raises(SnapshotError):
        OnlineHarmonicLearner.load(saved)


HEADER_PARTS = "what bandwidth cutoff distance sink max_vertices quantizer min_score features"
OTHER_PARTS = "radius next_id names ids labels multiplicities vectors"


@pytest.mark.parametrize("part", [*HEADER_PARTS.split(), *OTHER_PARTS.split()])
def test_a_well_signed_file_without_a_part_is_refused(saved, part):
    forged(saved, without=[part])
    with pytest.raises(SnapshotError):
        OnlineHarmonicLearner.load(saved)


def test_zeros_saved_as_directions_are_refused(saved):
    forged(saved, header={"distance": "Cosine()"})  # ana stands at the origin
    with pytest.raises(SnapshotError):
        OnlineHarmonicLearner.load(saved)


@pytest.mark.parametrize("change", [lambda x: x.astype(int), lambda x: x[:, :, None], np.ravel])
def test_a_state_whose_vectors_are_no_rows_of_numbers_is_refused(change):
    learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    learner.teach([0.0], "ana")
    state = learner.state()
    with pytest.raises(BadVector, match="vectors of shape"):
        learner.restored(replace(state, vectors=change(state.vectors)))
