"""The entries of a call, applied to the vertices before it, give the vertices after it."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.homes import QUANTIZERS, small_learner, stream
from onlooker.home.events import Event, change_of, digest, encode_changes
from onlooker.home.replay import VertexTable


def play(learner, seed, steps):
    """All verbs in some order; yields after each call that did something."""
    rng = np.random.default_rng(seed)
    for number, (x, name) in enumerate(stream(seed, steps)):
        known = learner.vertices()
        labeled = [row for row, label in enumerate(known.names) if label]
        verb = rng.random()
        if number < 2 or (verb < 0.15 and name):
            learner.teach(x, name or "person0")
        elif verb < 0.2 and labeled:
            learner.unteach(known.vectors[rng.choice(labeled)])
        elif verb < 0.25 and len(known.ids):
            learner.drop(int(rng.choice(known.ids)))
        elif verb < 0.27 and learner.names:
            learner.forget(learner.names[0])
        elif verb < 0.3:
            other = small_learner()
            for vector, label in list(stream(seed + number, 9))[:8]:
                other.teach(vector, f"guest of {label}")
                other.observe(vector + 0.1)
            learner.merge(other)
        else:
            learner.observe(x)
        yield number


@pytest.mark.parametrize("quantizer", QUANTIZERS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=15)
def test_replaying_the_entries_gives_the_same_learner(quantizer, seed):
    learner = small_learner(quantizer)
    table, vectors, names, radius = VertexTable(learner.state()), {}, (), 0.0
    for _ in play(learner, seed, 60):
        entries = learner.entries()
        vectors |= {entry.vertex: entry.vector for entry in entries if entry.vector is not None}
        changes = [change_of(entry) for entry in entries]
        if learner.names != names:
            changes.append(["names", list(learner.names)])
        if learner.radius != radius:
            changes.append(["radius", learner.radius])
        names, radius = learner.names, learner.radius
        table.apply(json.loads(encode_changes(changes)), 1)
    assert table.add_vectors(vectors) == []
    state = table.state(np.zeros(8, dtype=np.float32))
    again = small_learner(quantizer).restored(state)
    assert digest(again) == digest(learner)
    assert state.next_id == learner.state().next_id
    x = next(stream(seed, 1))[0]
    expected = learner.predict(x)
    found = again.predict(x)
    assert found.label == expected.label
    for name, score in expected.scores.items():
        assert found.scores[name] == pytest.approx(score, abs=1e-8)


def test_an_outlier_has_no_entries():
    learner = small_learner()
    learner.teach(np.zeros(8), "ana")
    learner.observe(np.full(8, 99.0))
    assert learner.entries() == ()


def test_the_vector_travels_only_with_a_vertex_that_stays():
    learner = small_learner(max_vertices=1)
    learner.teach(np.zeros(8), "ana")
    learner.observe(np.full(8, 0.2))
    assert [entry.vector is not None for entry in learner.entries()] == [True]
    learner.observe(np.full(8, 0.25))
    assert [(entry.kind, entry.vector) for entry in learner.entries()] == [
        ("new", None),
        ("merged", None),
    ]


def test_a_vertex_without_a_vector_is_left_out_and_reported():
    learner = small_learner()
    learner.teach(np.zeros(8), "ana")
    table = VertexTable(learner.state())
    table.apply([["new", 5, 2, "ben"], ["names", ["ana", "ben"]]], 1)
    assert table.add_vectors({}) == [5]
    assert table.state().names == ["ana"]
    assert table.state().next_id == 6


@pytest.mark.parametrize(
    "field", ["sequence", "time", "camera", "frame", "kind", "entries", "next_id"]
)
def test_every_field_of_an_event_is_under_its_crc(field):
    values = {
        "sequence": 7,
        "time": 1.5,
        "camera": "door",
        "frame": 3,
        "kind": "drop",
        "entries": "[]",
        "next_id": 4,
    }
    other = {**values, field: 8 if isinstance(values[field], (int, float)) else "x"}
    assert Event(**values).crc != Event(**other).crc


def test_the_digest_sees_everything():
    def learner(name="ana", vector=0.5, twice=False):
        one = small_learner()
        one.teach(np.zeros(8), name)
        one.observe(np.full(8, vector) * 0.2)
        if twice:
            one.observe(np.full(8, vector) * 0.2)
        return one

    words = [
        digest(learner()),
        digest(learner(name="ben")),
        digest(learner(vector=0.6)),
        digest(learner(twice=True)),
    ]
    excluded = learner()
    excluded.teach(np.full(8, 0.1), not_name="ana")
    words.append(digest(excluded))
    assert len(set(words)) == 5
    assert digest(learner()) == words[0]
