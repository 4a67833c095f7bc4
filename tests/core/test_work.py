"""How much work is done and how much memory taken, counted: it changes no answer, only the time."""

import inspect

import numpy as np
import pytest

from onlooker import Euclidean, HeatKernel, OnlineHarmonicLearner
from onlooker.core import sketch
from onlooker.core.components import Components
from onlooker.core.graph import UNLABELED, Graph
from onlooker.core.similarity import LONG
from onlooker.core.vectors import Vectors


def test_a_learner_has_500_vertices_unless_told_otherwise():
    """The paper's n_g, which the figures of the README are for."""
    assert OnlineHarmonicLearner(HeatKernel(1.0, 1e-3)).max_vertices == 500
    assert inspect.signature(OnlineHarmonicLearner).parameters["max_vertices"].default == 500


# ---- the inverse that follows the graph


@pytest.fixture
def component():
    """A learner with a single component that is large enough to be iterated."""
    learner = OnlineHarmonicLearner(HeatKernel(0.4, 1e-3), max_vertices=450)
    learner.teach(np.full(3, -1.0), "a")
    learner.teach(np.full(3, 1.0), "b")
    learner.observe_many(np.random.default_rng(1).normal(size=(480, 3)))
    assert learner._preconditioner._inverse is not None
    return learner


def inverse_of(learner):
    lower = np.tril(learner._preconditioner._inverse)
    return lower + np.tril(lower, -1).T


def assert_only_of_vertices(learner):
    graph, inverse = learner._graph, inverse_of(learner)
    free = graph.label[: len(inverse)] != UNLABELED
    assert free.any()
    assert not inverse[free].any()


def test_the_inverse_has_rows_of_vertices_only_after_every_merge(component):
    for x in np.random.default_rng(5).normal(size=(20, 3)):
        component.observe(x)
        assert_only_of_vertices(component)


def test_the_inverse_has_no_row_of_a_vertex_that_was_forgotten(component):
    component.observe(np.zeros(3))
    before = np.count_nonzero(inverse_of(component).any(axis=1))
    for vertex in component.vertices().ids[100:110].tolist():
        component.drop(vertex)
    assert_only_of_vertices(component)
    assert np.count_nonzero(inverse_of(component).any(axis=1)) == before - 10


def test_the_inverse_has_a_whole_row_of_a_new_vertex(component):
    """Not only its diagonal, from which the next walks would have to find the rest."""
    for vertex in component.vertices().ids[100:110].tolist():
        component.drop(vertex)
    added = 0
    for x in np.random.default_rng(6).normal(size=(10, 3)):
        component.observe(x)
        for vertex in component.changes().new:
            row = inverse_of(component)[component._graph.slot_of(vertex)]
            assert np.count_nonzero(row) > 300
            added += 1
    assert added >= 5


# ---- room


def test_room_for_labels_grows_by_half_and_by_four_at_least():
    """So n labels are copied a few times each, and a household of five has room for eight."""
    graph, rooms = Graph(HeatKernel(1.0, 1e-3), 2, np.float64, 14), []
    for labeled in range(1, 31):
        graph.reserve(0, labeled)
        room = len(graph.ids) - graph.rows
        if room not in rooms:
            rooms.append(room)
            assert labeled == 1 or labeled == rooms[-2] + 1  # no sooner than needed
    assert rooms == [4, 8, 12, 18, 27, 40]


def test_tables_of_components_are_as_long_as_there_are_slots():
    components = Components()
    for slots in (3, 8, 20):
        components.grow(slots)
        assert len(components._of) == len(components._departures) == slots


# ---- what is measured


@pytest.fixture
def measured(monkeypatch):
    """The slots to which a distance was measured, as they come."""
    found = []
    original = Vectors.measure

    def measure(self, query, slots):
        found.extend(slots.tolist())
        return original(self, query, slots)

    monkeypatch.setattr(Vectors, "measure", measure)
    return found


def test_what_lies_behind_the_reach_of_the_kernel_is_not_measured(measured):
    kernel = HeatKernel(1.0, 1e-3)
    learner = OnlineHarmonicLearner(kernel)
    learner.teach([0.0, 0.0], "ana")
    for way in (-1.0, 1.0):
        learner.teach([1.5 * kernel.reach * way, 0.0], "ben")
    measured.clear()
    learner.predict([0.1, 0.0])
    assert len(measured) == 1


def test_what_lies_behind_the_radius_is_not_measured_when_vertices_are_merged(measured):
    """Doubling asks for the nearest older vertex closer than the radius."""
    graph = Graph(HeatKernel(1.0, 1e-3), 2, np.float64, 14)
    graph.reserve(4, 1)
    for at in (0.0, 1.0, 1.5, 5.0):
        query = graph.query(np.array([at, 0.0]))
        graph.add(query, graph.neighbours(query))
    measured.clear()
    slot = graph.slot_of(2)
    assert graph.nearest_elder(slot, 0.9) == graph.slot_of(1)
    assert sorted(measured) == [graph.slot_of(1), slot]


def test_an_empty_store_chooses_its_origin_again():
    """Bounds are tightest from nearby: not from a vector that is long gone."""
    vectors = Vectors(Euclidean(), LONG, np.float64)
    vectors.grow(0, 3)
    for round_, value in enumerate((1.0, 5.0, 9.0)):
        for slot in range(round_ + 1):
            vectors.put(slot, vectors.query(np.full(LONG, value + slot)))
        np.testing.assert_array_equal(vectors._sketch.origin, np.full(LONG, value))
        for slot in range(round_ + 1):
            vectors.free(slot)


def test_a_sketch_of_rows_on_a_line_has_one_direction_and_bounds_them_exactly():
    """Wherever the line is: the direction to it from zero says nothing."""
    along = np.random.default_rng(3).normal(size=200)
    along /= np.linalg.norm(along)
    rows = 40.0 + np.linspace(-1, 1, 30)[:, None] * along
    learned = sketch.learn(rows)
    assert learned.width == 2  # and the length of what is orthogonal to it
    sketches, _ = learned.project(rows)
    gaps = np.linalg.norm(sketches[:-1, 0] - sketches[1:, 0]) ** 2
    assert gaps == pytest.approx(29 * (2 / 29) ** 2, rel=1e-3)
    whole = np.linalg.norm(sketches[0].astype(float) - sketches[-1])
    assert whole == pytest.approx(2.0, rel=1e-3)
