"""The map of the graph: the strongest links, graph truly, measured once, and no camera waits."""

import time
import tracemalloc
from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers.services import API, FINDER, new_learner, scene, teach
from onlooker import HeatKernel, OnlineHarmonicLearner
from onlooker.home.people import VertexOwner, vertex_owners
from onlooker.vision.pixels import psi
from onlooker.vision.types import Frame
from onlooker.web.routes import map as map_routes
from onlooker.web.routes.map import LINKS, MOST, LinkStrengths, on_the_map


def rows(count, seed=0):
    """Faces of a kind in a few clusters that the kernel of pixels links."""
    rng, side = np.random.default_rng(seed), FINDER.features.side
    centers = rng.uniform(0.3, 0.7, size=(8, side * side))
    near = centers[rng.integers(8, size=count)] + rng.normal(0, 0.02, size=(count, side * side))
    return (near * np.sqrt(psi(side, FINDER.features.spread))).astype(np.float32)


def test_links_are_what_the_kernel_says():
    kernel, vectors = new_learner().kernel, rows(40)
    links = LinkStrengths().links(np.arange(len(vectors)), vectors, kernel)
    assert links
    for i, j, strength in links:
        assert i < j
        alike = kernel.similarity(vectors[i], vectors[j : j + 1])[0]
        distance = kernel.reach * (1 - strength)
        assert np.isclose(alike, np.exp(-(distance**2) / (2 * kernel.bandwidth**2)), rtol=1e-6)
        assert alike >= kernel.cutoff
    for at in range(40):
        mine = sorted((w for i, j, w in links if at in (i, j)), reverse=True)
        alike = np.sort(kernel.similarity(vectors[at], np.delete(vectors, at, axis=0)))[::-1]
        assert len(mine) >= min(LINKS, np.count_nonzero(alike))


def test_a_vertex_that_comes_or_goes_changes_only_its_own_links():
    kernel, vectors = new_learner().kernel, rows(30)
    strengths, ids = LinkStrengths(), np.arange(30)
    strengths.links(ids[:20], vectors[:20], kernel)
    places = [*range(5, 20), *range(25, 30)]
    again = strengths.links(ids[places], vectors[places], kernel)
    fresh = LinkStrengths().links(ids[places], vectors[places], kernel)
    assert [link[:2] for link in again] == [link[:2] for link in fresh]
    assert np.allclose([link[2] for link in again], [link[2] for link in fresh])
    assert strengths.links(ids[:0], vectors[:0], kernel) == []


def test_only_new_vertices_are_measured(monkeypatch):
    kernel, vectors, measured = new_learner().kernel, rows(50), []
    moments = type(kernel.distance).moments
    monkeypatch.setattr(
        type(kernel.distance),
        "moments",
        lambda self, rows: measured.append(len(rows)) or moments(self, rows),
    )
    strengths = LinkStrengths()
    for count in (45, 50, 50):
        strengths.links(np.arange(count), vectors[:count], kernel)
    assert measured == [45, 5]


def test_the_map_shows_who_is_known_and_is_not_sent_twice(client, service):
    teach(client, 1, "ana", [0])
    teach(client, 2, "ben", [0])
    for index in range(3):
        service.recognize(Frame("door", index, 0.0, scene(1, shift=1 + index)))
    answer = client.get(f"{API}/map")
    graph = answer.json()
    assert [vertex["name"] for vertex in graph["vertices"]].count("ana") == 4
    assert sum(vertex["labeled"] for vertex in graph["vertices"]) == 2
    assert all(vertex["picture"] for vertex in graph["vertices"] if vertex["labeled"])
    names = [vertex["name"] for vertex in graph["vertices"]]
    assert graph["links"]
    assert all(names[i] == names[j] and 0 < w <= 1 for i, j, w in graph["links"])
    kernel = new_learner().kernel
    assert graph["kernel"] == {"bandwidth": kernel.bandwidth, "cutoff": kernel.cutoff}
    same = client.get(f"{API}/map", headers={"if-none-match": answer.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")
    teach(client, 3, "cem", [0])
    other = client.get(f"{API}/map", headers={"if-none-match": answer.headers["etag"]})
    assert other.status_code == 200


def test_five_hundred_faces_do_not_make_a_camera_wait():
    kernel, vectors = new_learner().kernel, rows(500)
    assert FINDER.features.side**2 == vectors.shape[1]
    strengths = LinkStrengths()
    strengths.links(np.arange(499), vectors[:499], kernel)
    begun = time.perf_counter()
    strengths.links(np.arange(len(vectors)), vectors, kernel)
    assert time.perf_counter() - begun < 1.0
    assert map_routes.BATCH * 500 * 8 < 1 << 20


# ---- too many to be shown

owners = st.lists(
    st.tuples(st.sampled_from(["ana", "ben", None]), st.booleans(), st.integers(1, 9)), max_size=40
).map(lambda rows: [VertexOwner(at, *row) for at, row in enumerate(rows)])


@given(owners, st.integers(1, 40))
def test_of_too_many_vertices_everybody_is_on_the_map_with_the_most_important(owners, most):
    shown = on_the_map(owners, most)
    assert len(shown) == min(most, len(owners))
    assert shown == [owner for owner in owners if owner in shown]  # in the same order
    groups = {(owner.name, owner.labeled) for owner in owners}
    counts = {
        group: sum((owner.name, owner.labeled) == group for owner in shown) for group in groups
    }
    for owner in set(owners) - set(shown):
        group = owner.name, owner.labeled
        assert counts[group] >= max(counts.values()) - 1  # none gives way to a larger group
        ours = [other.examples for other in shown if (other.name, other.labeled) == group]
        assert owner.examples <= min(ours, default=9)


def map_peak(labels):
    """Bytes that the map of so many labeled faces takes at most, and the map."""
    learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    rng = np.random.default_rng(0)
    for number in range(labels):
        learner.teach(rng.uniform(size=3), f"person {number % 7}")
    album = SimpleNamespace(vertices=list)
    home = SimpleNamespace(learner=learner, sequence=1, album=album)
    owners = vertex_owners(learner)
    tracemalloc.start()
    try:
        made = map_routes._graph_map(map_routes._GraphCopy.of(home, owners), LinkStrengths())
        return tracemalloc.get_traced_memory()[1], made
    finally:
        tracemalloc.stop()


def test_the_map_of_many_labels_takes_gigabytes():
    full, at_the_limit = map_peak(MOST)
    more, sampled = map_peak(2 * MOST)
    assert (at_the_limit.left_out, sampled.left_out) == (0, MOST)
    assert len(sampled.vertices) == MOST
    assert len({vertex.name for vertex in sampled.vertices}) == 7
    assert more < 1.2 * full < 100e6
