"""A stranger who came to a name by way of halfway faces: one click takes all of it back."""

from contextlib import nullcontext

import numpy as np
import pytest

from helpers.homes import opened
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.core.errors import NotFound
from onlooker.core.quantizer import ClosestSafePair
from onlooker.home.events import digest
from onlooker.home.home import Home
from onlooker.home.retention import RetentionPolicy
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
    """Of all beginnings of the order of visits the longest with about the least conductance."""
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
    found = []
    for k in range(1, len(order) + 1):
        if z[list(inner).index(order[k - 1])] <= 0:
            break
        some = np.isin(np.arange(len(v)), order[:k])
        out = C[some][:, ~some].sum()
        volume = C[some].sum() + own[some].sum()
        rest = C[~some].sum() + own[~some].sum()
        if min(volume, rest) > 0:
            found.append((out / min(volume, rest), known.ids[order[:k]].tolist()))
    least = min(conductance for conductance, _ in found)
    return [group for conductance, group in found if conductance <= 2 * least][-1]


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


def test_a_cut_between_two_labels_of_a_person_leaves_both_and_their_faces(tmp_path):
    """A thin link between two sides of one person is found, shown, and costs no label."""
    learner = OnlineHarmonicLearner(HeatKernel(0.5, 1e-4))
    with opened(tmp_path, new_learner=lambda: learner) as home, StrangerBook(home) as book:
        for x in (0.0, 6.0):
            home.teach([x], "ana")
        for x in (0.5, 1.0, 1.5, 4.5, 5.0, 5.5, 3.0):
            home.observe([x], camera="door", frame=0)
        between = int(home.vertices().ids[-1])
        before = digest(home.learner)
        found = book.wrong(between, whole_group=True)
        assert home.vertices().names.count("ana") == 2
        assert names(home, [[0.2], [5.8]]) == ["ana", "ana"]
        assert names(home, [[3.0]]) == [None]
        home.undo(to=found.undo_to)
        book.undone(found.undo_to)
        assert digest(home.learner) == before


def filled(tmp_path, **retention):
    """A home whose budget is so small that halfway faces were merged into the victim's."""
    return Home(
        tmp_path / "home",
        new_learner=lambda: OnlineHarmonicLearner(
            HeatKernel(0.5, 1e-4), max_vertices=12, quantizer=ClosestSafePair()
        ),
        retention=RetentionPolicy(**retention),
    )


def morphed(home, rng, *, snapshots=False):
    """Faces of ana around 0, then some that move from 0 to 9; the vertex of the last."""
    with nullcontext() if snapshots else home.batch():
        for x in (-0.4, 0.4):
            home.teach([x], "ana")
        for x in rng.normal(0, 0.4, 25):
            home.observe([x], camera="door", frame=0)
        for x in np.linspace(1.2, 9, 60) + 0.05 * rng.normal(size=60):
            home.observe([x], camera="door", frame=1)
    return int(home.vertices().ids[home.vertices().vectors[:, 0].argmax()])


@pytest.mark.parametrize("seed", range(3))
def test_what_was_merged_into_faces_that_stay_is_taken_out(tmp_path, seed):
    rng = np.random.default_rng(seed)
    with filled(tmp_path) as home, StrangerBook(home) as book:
        vertex = morphed(home, rng)
        before = home.vertices()
        examples = dict(zip(before.ids.tolist(), before.multiplicities.tolist(), strict=True))
        was = digest(home.learner)
        found = book.wrong(vertex, whole_group=True)
        after = home.vertices()
        left = dict(zip(after.ids.tolist(), after.multiplicities.tolist(), strict=True))
        gone = {each: examples[each] - left.get(each, 0) for each in examples}
        dropped = sum(gone[each] for each in found.vertices)
        assert dropped == found.examples
        assert sum(gone.values()) == dropped + found.taken_out
        assert all(count >= 1 for count in left.values())
        assert found.complete
        assert sum(card.count for card in book.cards(hidden=True)) == dropped + found.taken_out
        home.undo(to=found.undo_to)
        book.undone(found.undo_to)
        assert digest(home.learner) == was
        assert book.cards() == []


def test_taking_out_is_replayed_and_not_done_twice(tmp_path):
    taken = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        with filled(tmp_path / str(seed)) as home:
            book = StrangerBook(home)
            vertex = morphed(home, rng)
            taken.append(book.wrong(vertex, whole_group=True).taken_out)
            known = digest(home.learner)
            at = home.sequence
            home.observe([0.1], camera="door", frame=2)
            assert digest(home._files.learner_after(at).learner()) == known
            parts, _ = home.merged_examples(since=0)
            known = dict(
                zip(home.vertices().ids.tolist(), home.vertices().multiplicities, strict=True)
            )
            for into, inside in parts.parts.items():
                assert sum(inside.values()) < known[into], "a vertex has one example of its own"
    assert max(taken) > 0, "nothing was merged, so this shows nothing"


def test_what_was_merged_before_history_begins_stays_and_that_is_said(tmp_path):
    rng = np.random.default_rng(0)
    with filled(tmp_path, snapshot_every=10, undo_days=1e-9) as home:
        book = StrangerBook(home)
        vertex = morphed(home, rng, snapshots=True)
        home.expire()
        found = book.wrong(vertex, whole_group=True)
        assert not found.complete
