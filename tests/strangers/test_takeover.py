"""A stranger who came to a name by way of halfway faces: one click takes all of it back."""

import numpy as np
import pytest

from helpers.homes import opened
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.core.errors import NotFound
from onlooker.home.events import digest
from onlooker.strangers.book import StrangerBook
from onlooker.strangers.correction import group_of


def somebody(rng):
    x = rng.normal(size=128)
    return x / np.linalg.norm(x)


def faces(rng, person, count):
    """Faces of one person are 0.7 from each other, those of two people 1.5."""
    rows = person + 0.045 * rng.normal(size=(count, 128))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def taken_over(home, rng, frames=300):
    """Teach a victim and somebody else, then let a morph give the victim's name to a third."""
    victim, other, attacker = (somebody(rng) for _ in range(3))
    for name, person in (("victim", victim), ("other", other)):
        for face in faces(rng, person, 4):
            home.teach(face, name)
        for face in faces(rng, person, 60):
            home.observe(face, camera="door", frame=0)
    for share in np.linspace(0, 1, frames):
        [face] = faces(rng, (1 - share) * victim + share * attacker, 1)
        home.observe(face, camera="door", frame=1)
    return victim, other, attacker


def names(home, rows):
    return [home.predict(row).label for row in rows]


@pytest.mark.parametrize("seed", range(3))
def test_a_takeover_of_300_frames_is_healed_by_one_click(tmp_path, seed):
    rng = np.random.default_rng(seed)
    with opened(
        tmp_path, new_learner=lambda: OnlineHarmonicLearner(HeatKernel(0.19, 9.5e-6))
    ) as home:
        book = StrangerBook(home)
        victim, other, attacker = taken_over(home, rng)
        own = faces(rng, attacker, 40)
        assert set(names(home, own)) == {"victim"}, "nothing to heal"
        labeled = home.vertices().names.count("victim")
        before = digest(home.learner)
        seen = home.observe(own[0], camera="door", frame=2)
        correction = book.wrong(seen.vertex, whole_group=True)
        assert set(names(home, own)) == {None}
        for face in own:  # nor do they come to it again
            assert home.observe(face, camera="door", frame=3).label is None
        assert set(names(home, faces(rng, victim, 40))) == {"victim"}
        assert set(names(home, faces(rng, other, 40))) == {"other"}
        assert home.vertices().names.count("victim") == labeled
        home.undo(to=correction.undo_to - 1)
        book.undone(correction.undo_to - 1)
        assert digest(home.learner) == before


def literal_group(learner, vertex):
    """Of all beginnings of the order of visits the one with the least conductance, by hand."""
    known = learner.vertices()
    W = np.array([learner.kernel.similarity(x, known.vectors) for x in known.vectors])
    np.fill_diagonal(W, 0.0)
    v = known.multiplicities.astype(float)
    labeled = np.array([name is not None for name in known.names])
    W[np.ix_(labeled, labeled)] = 0.0
    C = W * v * v[:, None]
    inner = np.flatnonzero(~labeled)
    A = np.diag(C.sum(axis=1) + learner.sink * v) - C
    z = np.linalg.inv(A[np.ix_(inner, inner)])[:, list(known.ids[inner]).index(vertex)]
    z[known.ids[inner] == vertex] = np.inf
    order = inner[np.argsort(-z)]
    own = v * (v - 1)
    best, least = [], np.inf
    for k in range(1, len(order) + 1):
        if z[list(inner).index(order[k - 1])] <= 0:
            break
        some = np.isin(np.arange(len(v)), order[:k])
        out = C[some][:, ~some].sum()
        volume = C[some].sum() + own[some].sum()
        rest = C[~some].sum() + own[~some].sum()
        if min(volume, rest) > 0 and out / min(volume, rest) < least:
            best, least = known.ids[order[:k]].tolist(), out / min(volume, rest)
    return best


@pytest.mark.parametrize("seed", range(20))
def test_the_group_is_what_lies_beyond_the_narrowest_link(seed):
    rng = np.random.default_rng(seed)
    learner = OnlineHarmonicLearner(HeatKernel(0.5, 1e-4), max_vertices=12)
    learner.teach([0.0, 0.0], "ana")
    for x in np.vstack([rng.normal(0, 0.5, (12, 2)), rng.normal([3, 0], 0.6, (12, 2))]):
        learner.observe(x)
    unlabeled = [i for i, name in zip(*_columns(learner), strict=True) if name is None]
    vertex = int(rng.choice(unlabeled))
    assert group_of(learner, vertex) == literal_group(learner, vertex)


def _columns(learner):
    known = learner.vertices()
    return known.ids.tolist(), known.names


def test_a_labeled_face_is_a_group_by_itself():
    learner = OnlineHarmonicLearner(HeatKernel(0.5, 1e-4))
    learner.teach([0.0], "ana")
    learner.observe([0.5])
    assert group_of(learner, 0) == [0]
    with pytest.raises(NotFound):
        group_of(learner, 7)


def test_a_group_never_separates_a_persons_labels(tmp_path):
    """Labels on both sides of the narrowest link stay where they are."""
    learner = OnlineHarmonicLearner(HeatKernel(0.5, 1e-4))
    for x in (0.0, 4.0):
        learner.teach([x], "ana")
    for x in (0.5, 1.0, 1.5, 3.0, 3.5):
        learner.observe([x])
    known = dict(zip(*_columns(learner), strict=True))
    for vertex, name in known.items():
        if name is None:
            assert all(known[each] is None for each in group_of(learner, vertex))
