"""Section 3.1: doubling keeps n_g representatives, R apart, and each example within 2R of one."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from onlooker import Doubling, HeatKernel, OnlineHarmonicLearner

# Wide enough that every example is accepted: the algorithm itself is what is tested.
KERNEL = HeatKernel(40.0, 1e-6)

grids = st.tuples(st.integers(-9, 9), st.integers(-9, 9)).map(lambda p: (float(p[0]), float(p[1])))
planes = st.tuples(st.floats(-9, 9), st.floats(-9, 9))
streams = st.lists(grids, min_size=1, max_size=40) | st.lists(planes, min_size=1, max_size=40)
limits = st.integers(1, 7)


class Watched:
    """A learner, and for every example it was shown the vertex that represents it now."""

    def __init__(self, limit, label=(-20.0, 0.0)):
        self.learner = OnlineHarmonicLearner(
            KERNEL, sink=0.0, max_vertices=limit, quantizer=Doubling()
        )
        self.learner.teach(label, "ana")
        self.shown = [(np.array(label), 0)]

    def show(self, x, name=None):
        if name is None:
            vertex = self.learner.observe(x).vertex
        else:
            self.learner.teach(x, name)
            (vertex,) = {*self.learner.changes().new, *self.learner.changes().absorbed}
        self.shown.append((np.array(x), vertex))
        merged = self.learner.changes().merged
        self.shown = [(x, _follow(merged, vertex)) for x, vertex in self.shown]

    def representatives(self):
        vertices = self.learner.vertices()
        return dict(zip(vertices.ids.tolist(), vertices.vectors, strict=True))


def _follow(merged, vertex):
    while vertex in merged:
        vertex = merged[vertex]
    return vertex


@given(stream=streams, limit=limits)
def test_there_are_never_more_representatives_than_the_limit(stream, limit):
    watched = Watched(limit)
    for x in stream:
        watched.show(x)
        assert len(watched.learner) - 1 <= limit


@given(stream=streams, limit=limits)
def test_two_representatives_are_at_least_the_radius_apart(stream, limit):
    watched = Watched(limit)
    for x in stream:
        watched.show(x)
        places = watched.representatives().values()
        for a, b in itertools.combinations(places, 2):
            assert np.linalg.norm(a - b) >= watched.learner.radius * (1 - 1e-12)


@given(stream=streams, limit=limits)
def test_every_example_is_within_twice_the_radius_of_its_representative(stream, limit):
    watched = Watched(limit)
    for x in stream:
        watched.show(x)
        places = watched.representatives()
        for example, vertex in watched.shown:
            gap = np.linalg.norm(example - places[vertex])
            assert gap <= 2 * watched.learner.radius * (1 + 1e-12)


@given(
    stream=st.lists(st.tuples(grids, st.sampled_from([None, None, None, "ana"])), max_size=40),
    limit=limits,
)
def test_the_guarantee_survives_labels_at_any_time(stream, limit):
    """A new label may stand close to a representative; the representatives keep their distance."""
    watched = Watched(limit)
    for x, name in stream:
        watched.show(x, name)
        places = watched.representatives()
        names = watched.learner.vertices().names
        for example, vertex in watched.shown:
            assert np.linalg.norm(example - places[vertex]) <= 2 * watched.learner.radius
        free = [place for place, name in zip(places.values(), names, strict=True) if name is None]
        for a, b in itertools.combinations(free, 2):
            assert np.linalg.norm(a - b) >= watched.learner.radius * (1 - 1e-12)
        assert len(free) <= limit


@given(stream=streams, limit=limits)
def test_a_multiplicity_is_the_number_of_examples_represented(stream, limit):
    watched = Watched(limit)
    for x in stream:
        watched.show(x)
    vertices = watched.learner.vertices()
    counted = {
        vertex: sum(1 for _, owner in watched.shown if owner == vertex) for vertex in vertices.ids
    }
    assert vertices.multiplicities.tolist() == list(counted.values())


@given(stream=streams, limit=limits)
def test_the_radius_only_grows_and_only_by_doubling(stream, limit):
    watched = Watched(limit)
    for x in stream:
        before = watched.learner.radius
        watched.show(x)
        doubled = watched.learner.changes().doubled
        for earlier, later in itertools.pairwise([before, *doubled]):
            assert later == 2 * earlier or earlier == 0.0 < later
        assert watched.learner.radius == ([before, *doubled])[-1]


@given(stream=streams, limit=limits)
def test_representatives_are_examples_and_never_move(stream, limit):
    watched = Watched(limit)
    places = watched.representatives()
    for x in stream:
        watched.show(x)
        for vertex, place in watched.representatives().items():
            np.testing.assert_array_equal(place, places.setdefault(vertex, np.array(x)))
