"""docs/merging.md, statement by statement: what is kept when learners of several sites are merged.

Section 3.1 quantizes one stream. Here several streams are quantized apart and their graphs joined,
in every order and as every tree, beside one learner that saw everything.
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.streams import state
from onlooker import ClosestPair, Doubling, HeatKernel, OnlineHarmonicLearner
from onlooker.core.errors import BadValue, Incompatible, LabelConflict, WrongVectorLength
from onlooker.core.records import State
from onlooker.core.union import UnionSummary, union
from oracle import walk_gth

WIDE = HeatKernel(40.0, 1e-6)
"""Everything on the grid is accepted: what is merged is the matter."""
NARROW = HeatKernel(0.5, 1e-3)
"""Reaches less than two steps of the grid: sites refuse what they have no label for."""
SINK = 0.01
ROUNDING = 1 + 1e-9

places = st.tuples(st.integers(-9, 9), st.integers(-9, 9)).map(lambda p: (p[0] / 2, p[1] / 2))
lines = st.integers(-40, 40).map(lambda p: (p / 4,))
quantizers = st.sampled_from([ClosestPair(), Doubling()])


def name_at(x):
    """One name a place, so that sites never contradict each other."""
    return "ana" if x[0] <= 0 else "ben"


class Site:
    """A learner, and for every example its place, the vertex that represents it, and its moves."""

    def __init__(self, number, quantizer, limit, kernel=WIDE):
        self.learner = OnlineHarmonicLearner(
            kernel, sink=SINK, max_vertices=limit, quantizer=quantizer
        )
        self.number = number
        self.shown = {}
        """Example to place and vertex; an example is a site and a number."""
        self.moves = Counter()
        self.steps = []
        """The length of every move."""
        self.places = {}
        """Of every vertex there ever was."""
        self.merges = 0
        """How many merges the example that went through most of them went through."""
        self.doubled_in_each = True

    def show(self, x, *, taught=False):
        key = (self.number, len(self.shown))
        if taught:
            self.learner.teach(x, name_at(x))
            (vertex,) = {*self.learner.changes().new, *self.learner.changes().absorbed} or set(
                self.learner.changes().labeled
            )
        else:
            vertex = self.learner.observe(x).vertex
            assert vertex is not None, "the kernel is meant to reach everywhere"
        self.places.setdefault(vertex, x)
        self.shown[key] = (x, vertex)
        self._follow()

    def take(self, other):
        """Merge; where every vertex goes is worked out from the places, as docs/choices.md says."""
        here = {self.places[int(vertex)]: int(vertex) for vertex in self.learner.vertices().ids}
        theirs, fresh = other.learner.vertices(), self.learner.next_id
        goes = {}
        for row in sorted(range(len(theirs.ids)), key=lambda row: theirs.names[row] is None):
            place = tuple(theirs.vectors[row].tolist())
            if place not in here:
                here[place], fresh = fresh, fresh + 1
            goes[int(theirs.ids[row])] = here[place]
            self.places[here[place]] = place
        self.learner.merge(other.learner)
        self.shown |= {key: (x, goes[vertex]) for key, (x, vertex) in other.shown.items()}
        self.moves |= other.moves
        self.steps += other.steps
        self.merges = max(self.merges, other.merges) + 1
        doubled = bool(self.learner.changes().doubled)
        self.doubled_in_each = self.doubled_in_each and other.doubled_in_each and doubled
        self._follow()

    def _follow(self):
        merged = self.learner.changes().merged
        for gone, survivor in merged.items():
            self.steps.append(math.dist(self.places[gone], self.places[survivor]))
        for key, (x, vertex) in self.shown.items():
            while vertex in merged:
                vertex = merged[vertex]
                self.moves[key] += 1
            self.shown[key] = (x, vertex)

    def displacement(self):
        """The largest distance of an example to the vertex that represents it."""
        assert {vertex for _, vertex in self.shown.values()} == set(
            self.learner.vertices().ids.tolist()
        )
        return max(math.dist(x, self.places[vertex]) for x, vertex in self.shown.values())


@st.composite
def streams(draw, points=places, most=10):
    """For a few sites: a label, and then examples, some of them labeled."""
    one = st.lists(st.tuples(points, st.sampled_from([False, False, False, True])), max_size=most)
    return draw(st.lists(st.tuples(points, one), min_size=2, max_size=4))


def watched(streams, quantizer, limit):
    sites = []
    for number, (label, stream) in enumerate(streams):
        site = Site(number, quantizer, limit)
        site.show(label, taught=True)
        for x, taught in stream:
            site.show(x, taught=taught)
        sites.append(site)
    return sites


def as_a_tree(sites, data):
    """Merge pairs, any two at a time, until one is left: every order and every tree."""
    sites = list(sites)
    while len(sites) > 1:
        pairs = list(itertools.permutations(range(len(sites)), 2))
        into, given_away = data.draw(st.sampled_from(pairs), label="merge")
        sites[into].take(sites[given_away])
        del sites[given_away]
    return sites[0]


def graph(learner):
    """The vertices without their ids: place to multiplicity and name."""
    vertices = learner.vertices()
    rows = zip(
        vertices.vectors.tolist(), vertices.multiplicities.tolist(), vertices.names, strict=True
    )
    return {tuple(place): (count, name) for place, count, name in rows}


def labels(learner):
    return {(place, name) for place, (_, name) in graph(learner).items() if name is not None}


# 1. What is kept whatever the order --------------------------------------------------------


@given(streams=streams(), quantizer=quantizers, limit=st.integers(1, 6), data=st.data())
def test_examples_and_labels_are_kept_by_every_tree(streams, quantizer, limit, data):
    sites = watched(streams, quantizer, limit)
    examples = sum(len(site.shown) for site in sites)
    taught = set().union(*(labels(site.learner) for site in sites))
    root = as_a_tree(sites, data)
    found = graph(root.learner)
    assert sum(count for count, _ in found.values()) == examples == len(root.shown)
    assert labels(root.learner) == taught
    assert set(root.learner.names) == {name for _, name in taught}
    assert sum(name is None for _, name in found.values()) <= limit
    counted = Counter(vertex for _, vertex in root.shown.values())
    vertices = root.learner.vertices()
    assert dict(zip(vertices.ids.tolist(), vertices.multiplicities.tolist(), strict=True)) == dict(
        counted
    )


@given(
    taught=st.lists(
        st.lists(st.tuples(lines, st.sampled_from(["ana", "ben"])), max_size=3),
        min_size=2,
        max_size=4,
    ),
    data=st.data(),
)
def test_a_conflict_is_refused_by_every_tree_or_by_none(taught, data):
    """And a learner that refuses does not change."""
    learners = []
    for labeled in taught:
        learner = OnlineHarmonicLearner(NARROW, sink=SINK)
        for x, name in {x: (x, name) for x, name in labeled}.values():
            learner.teach(x, name)
        learners.append(learner)
    everything = set().union(*map(labels, learners))
    conflict = len({place for place, _ in everything}) < len(everything)
    refused = False
    while len(learners) > 1 and not refused:
        pairs = list(itertools.permutations(range(len(learners)), 2))
        into, away = data.draw(st.sampled_from(pairs))
        before = state(learners[into])
        try:
            learners[into].merge(learners[away])
        except LabelConflict:
            refused = True
            assert state(learners[into]) == before
        else:
            del learners[away]
    assert refused == conflict


# 2. How far from its vertex an example can be ----------------------------------------------


@given(streams=streams(), limit=st.integers(1, 6), data=st.data())
def test_doubling_each_merge_costs_at_most_one_radius(streams, limit, data):
    """At most (2 + h) R after h merges, and at most 3 R where each of them doubled.

    Representatives are R apart, of each other and, at that moment, of the labels too.
    """
    root = as_a_tree(watched(streams, Doubling(), limit), data)
    bound = 3 if root.doubled_in_each else 2 + root.merges
    assert root.displacement() <= bound * root.learner.radius * ROUNDING
    found = graph(root.learner)
    for first, second in itertools.combinations(found, 2):
        if found[first][1] is None or found[second][1] is None:
            assert math.dist(first, second) * ROUNDING >= root.learner.radius


@given(streams=streams(), limit=st.integers(1, 6), data=st.data())
def test_doubling_merged_into_the_largest_radius_costs_two_radii_however_many(streams, limit, data):
    sites = watched(streams, Doubling(), limit)
    root, *others = sorted(sites, key=lambda site: -site.learner.radius)
    for other in data.draw(st.permutations(others)):
        root.take(other)
        assert root.displacement() <= 4 * root.learner.radius * ROUNDING


def with_radius(places, radius, *, label=None):
    """A learner that has doubled up to a radius and keeps vertices at these places of a line."""
    learner = OnlineHarmonicLearner(WIDE, sink=SINK, quantizer=Doubling())
    rows = [*places, *([] if label is None else [label])]
    count = len(rows)
    return learner.restored(
        State(
            np.arange(count),
            np.array(rows).reshape(-1, 1),
            np.ones(count, dtype=np.int64),
            np.array([-1] * len(places) + [0] * (count - len(places))),
            names=[] if label is None else ["ana"],
            radius=radius,
            next_id=count,
        )
    )


def test_doubling_a_deep_tree_does_carry_examples_further_than_a_chain():
    """So the depth in the bound is no weakness of the proof: each level moved it by 0.9 R."""
    chain = [with_radius([0.9 * at], 1.0) for at in range(4)]
    first, second, third, fourth = chain
    third.merge(fourth)
    second.merge(third)
    first.merge(second)
    assert graph(first) == {(0.0,): (4, None)}
    star = [with_radius([0.9 * at], 1.0) for at in range(4)]
    for other in star[1:]:
        star[0].merge(other)
    assert graph(star[0]) == {(0.0,): (2, None), (1.8,): (2, None)}


@given(streams=streams(), limit=st.integers(1, 6), data=st.data())
def test_closest_pair_an_example_moves_once_per_doubling_of_its_company(streams, limit, data):
    """The lighter goes, so its representative at least doubles; into a label it goes once."""
    root = as_a_tree(watched(streams, ClosestPair(), limit), data)
    most = math.floor(math.log2(len(root.shown))) + 1
    assert max(root.moves.values(), default=0) <= most
    assert root.displacement() <= most * max(root.steps, default=0.0) * ROUNDING


def optimal_diameter(points, centres):
    """Of the best partition of points on a line into that many intervals: the longest, exactly."""
    points = sorted(set(points))

    def needed(length):
        used, end = 0, -math.inf
        for point in points:
            if point > end:
                used, end = used + 1, point + length
        return used

    lengths = sorted({b - a for a, b in itertools.combinations_with_replacement(points, 2)})
    return next(length for length in lengths if needed(length) <= centres) if points else 0.0


@given(streams=streams(lines), quantizer=quantizers, limit=st.integers(1, 4), data=st.data())
def test_radii_and_moves_stay_within_a_multiple_of_the_best_possible(
    streams, quantizer, limit, data
):
    """R at most 4, a closest pair at most 2 optimal radii of the budget's best clustering."""
    sites = watched(streams, quantizer, limit)
    unlabeled = [x[0] for _, stream in streams for x, taught in stream if not taught]
    root = as_a_tree(sites, data)
    diameter = optimal_diameter(unlabeled, limit)
    if isinstance(quantizer, Doubling):
        assert root.learner.radius <= 2 * diameter * ROUNDING
    else:
        assert max(root.steps, default=0.0) <= diameter * ROUNDING


@given(streams=streams(), limit=st.integers(1, 6), data=st.data())
def test_two_orders_put_an_example_at_places_that_are_not_far_apart(streams, limit, data):
    one, other = (as_a_tree(watched(streams, Doubling(), limit), data) for _ in range(2))
    reach = (4 + one.merges + other.merges) * max(one.learner.radius, other.learner.radius)
    for key, (_, vertex) in one.shown.items():
        there = other.places[other.shown[key][1]]
        assert math.dist(one.places[vertex], there) <= reach * ROUNDING


# 3. Within the budget nothing is lost but what was refused before ---------------------------


@st.composite
def one_clock(draw):
    """Events of a few sites in order of time: site, place, and whether it is labeled."""
    event = st.tuples(st.integers(0, 2), places, st.sampled_from([False, False, True]))
    return draw(st.lists(event, max_size=25))


class Sites:
    """Three sites and beside them one learner that sees everything, none short of room."""

    def __init__(self, events):
        self.one, *self.sites = (OnlineHarmonicLearner(NARROW, sink=SINK) for _ in range(4))
        self.accepted, self.refused = [], Counter()
        for number, x, taught in events:
            if taught:
                self.sites[number].teach(x, name_at(x))
                self.one.teach(x, name_at(x))
                self.accepted.append(x)
                continue
            at_the_site = self.sites[number].observe(x).label is not None
            at_the_one = self.one.observe(x).label is not None
            assert at_the_one or not at_the_site, "who sees more accepts no less"
            if at_the_site:
                self.accepted.append(x)
            elif at_the_one:
                self.refused[x] += 1

    def merged(self, data):
        learners = list(self.sites)
        for _ in range(2):
            pairs = list(itertools.permutations(range(len(learners)), 2))
            into, away = data.draw(st.sampled_from(pairs), label="merge")
            learners[into].merge(learners[away])
            del learners[away]
        return learners[0]


@given(events=one_clock(), data=st.data())
def test_the_merged_graph_is_that_of_one_learner_less_what_sites_refused(events, data):
    """With the same examples it is the same graph: places, multiplicities, labels."""
    sites = Sites(events)
    found, whole = graph(sites.merged(data)), graph(sites.one)
    left = {
        place: (count - sites.refused[place], name)
        for place, (count, name) in whole.items()
        if count > sites.refused[place]
    }
    assert found == left
    if not sites.refused:
        assert found == whole


@given(events=one_clock(), x=places, data=st.data())
def test_who_the_merged_learner_names_one_learner_names_too(events, x, data):
    sites = Sites(events)
    merged = sites.merged(data)
    if merged.predict(x).label is not None:
        assert sites.one.predict(x).label is not None


@given(events=one_clock(), x=places, data=st.data())
def test_the_merged_solution_is_that_of_all_accepted_examples(events, x, data):
    """Proposition 1, on the graph in which every example of every site is a vertex."""
    sites = Sites(events)
    merged = sites.merged(data)
    taught = dict(labels(merged))
    vertices = [x, *sites.accepted]
    gaps = np.array([[math.dist(a, b) for b in vertices] for a in vertices])
    heat = np.exp(-(gaps**2) / (2 * NARROW.bandwidth**2))
    heat[heat < NARROW.cutoff] = 0.0
    ends, sink = walk_gth(heat, [1] * len(vertices), [p in taught for p in vertices], SINK, 0)
    scores = Counter()
    for place, share in zip(vertices, ends, strict=True):
        if share:
            scores[taught[place]] += share
    answer = merged.predict(x)
    assert answer.sink == pytest.approx(sink, abs=1e-8)
    for name, score in answer.scores.items():
        assert score == pytest.approx(scores[name], abs=1e-8)


def test_what_a_site_refused_before_the_merge_is_lost():
    """ben came by at the first site, where nobody had told his name yet."""
    first, second, one = (OnlineHarmonicLearner(NARROW, sink=SINK) for _ in range(3))
    for x, name, at in (
        (0.0, "ana", first), (5.0, "ben", second), (5.5, None, first), (6.0, None, first),
    ):  # fmt: skip
        for learner in (at, one):
            learner.teach([x], name) if name else learner.observe([x])
    first.merge(second)
    assert graph(first) == {(0.0,): (1, "ana"), (5.0,): (1, "ben")}
    assert len(one) == 4
    assert one.predict([7.5]).label == "ben"
    assert first.predict([7.5]).label is None


@given(streams=streams(), limit=st.integers(1, 3), data=st.data())
def test_a_view_with_room_for_all_sites_loses_nothing_of_them(streams, limit, data):
    """Closest pair merges for the budget alone: sum the budgets up, and the order is no matter."""
    sites = [site.learner for site in watched(streams, ClosestPair(), limit)]
    views = []
    for _ in range(2):
        view = OnlineHarmonicLearner(WIDE, sink=SINK, max_vertices=limit * len(sites))
        for learner in data.draw(st.permutations(sites)):
            view.merge(learner)
        views.append(graph(view))
    assert views[0] == views[1]
    assert set(views[0]) == set().union(*(graph(learner) for learner in sites))


# 4. Unions: everything at once, what was refused again, and one shrinking at the end ----------


class RefusingSites:
    """Three sites that keep what they refuse, and beside them one learner that sees everything."""

    def __init__(self, events, *, quantizer=None, limit=500):
        self.one, *self.sites = (
            OnlineHarmonicLearner(NARROW, sink=SINK, quantizer=quantizer, max_vertices=limit)
            for _ in range(4)
        )
        self.refused = [[], [], []]
        for number, x, taught in events:
            if taught:
                self.sites[number].teach(x, name_at(x))
                self.one.teach(x, name_at(x))
                continue
            self.one.observe(x)
            if self.sites[number].observe(x).label is None:
                self.refused[number].append(np.array(x))

    @property
    def parts(self):
        rows = zip(self.sites, self.refused, strict=True)
        return [UnionSummary(learner, tuple(refused)) for learner, refused in rows]


def united_as_a_tree(parts, data):
    """Any two or three at a time, in any order, until one is left."""
    parts = list(parts)
    while len(parts) > 1:
        groups = [g for size in (2, 3) for g in itertools.permutations(range(len(parts)), size)]
        some = data.draw(st.sampled_from(groups), label="unite")
        whole = union([parts[at] for at in some])
        parts = [part for at, part in enumerate(parts) if at not in some] + [whole]
    return parts[0]


def counted(learner):
    return int(learner.vertices().multiplicities.sum())


def listed(refused):
    return sorted(tuple(x.tolist()) for x in refused)


@given(events=one_clock(), data=st.data())
def test_unions_of_every_order_and_tree_are_the_same_graph(events, data):
    three = RefusingSites(events)
    flat = union(three.parts)
    nested = united_as_a_tree(three.parts, data)
    assert graph(nested.learner) == graph(flat.learner)
    assert nested.learner.names == flat.learner.names
    assert listed(nested.refused) == listed(flat.refused)


@given(events=one_clock())
def test_a_union_accepts_who_has_a_path_to_a_label_through_vertices_and_refused(events):
    """Worked out without a learner: what the labels reach, step by step."""
    three = RefusingSites(events)
    vertices = set().union(*map(graph, three.sites))
    labeled = {place for site in three.sites for place, _ in labels(site)}
    refused = [tuple(x.tolist()) for some in three.refused for x in some]
    reached, edge = set(), labeled
    while edge:
        reached |= edge
        edge = {
            x for x in {*vertices, *refused} - reached
            if any(_similar(x, other) for other in edge)
        }  # fmt: skip
    whole = union(three.parts)
    assert set(graph(whole.learner)) == {*vertices, *(x for x in refused if x in reached)}
    assert listed(whole.refused) == sorted(x for x in refused if x not in reached)


def _similar(x, other):
    return math.exp(-(math.dist(x, other) ** 2) / (2 * NARROW.bandwidth**2)) >= NARROW.cutoff


@given(events=one_clock(), x=places)
def test_a_union_holds_all_that_one_learner_would_have_learned(events, x):
    """And perhaps more: whom it would accept now, and refused when they came."""
    three = RefusingSites(events)
    whole = union(three.parts).learner
    found = graph(whole)
    for place, (count, name) in graph(three.one).items():
        assert found[place][0] >= count
        assert found[place][1] == name
    if three.one.predict(x).label is not None:
        assert whole.predict(x).label is not None


@given(
    events=one_clock(), quantizer=quantizers, limit=st.integers(1, 4),
    room=st.none() | st.integers(1, 6),
)  # fmt: skip
def test_a_union_counts_every_example_keeps_every_label_and_leaves_its_parts_alone(
    events, quantizer, limit, room
):
    three = RefusingSites(events, quantizer=quantizer, limit=limit)
    before = [state(site) for site in three.sites]
    parts = three.parts
    whole = union(parts, max_vertices=room)
    assert [state(site) for site in three.sites] == before
    accepted = sum(len(part.refused) for part in parts) - len(whole.refused)
    assert counted(whole.learner) == sum(map(counted, three.sites)) + accepted
    assert labels(whole.learner) == set().union(*map(labels, three.sites))
    assert whole.learner.max_vertices == (3 * limit if room is None else room)
    assert whole.learner.vertices().names.count(None) <= whole.learner.max_vertices
    assert whole.learner.quantizer == quantizer


@given(
    events=one_clock(), limit=st.integers(1, 4), room=st.none() | st.integers(1, 6), data=st.data()
)
def test_shrunk_once_the_order_of_the_parts_does_not_show_in_a_bit(events, limit, room, data):
    parts = RefusingSites(events, limit=limit).parts
    one = union(parts, max_vertices=room)
    other = union(data.draw(st.permutations(parts)), max_vertices=room)
    assert state(one.learner) == state(other.learner)
    assert [x.tobytes() for x in one.refused] == [x.tobytes() for x in other.refused]


@given(streams=streams(), limit=st.integers(1, 6), data=st.data())
def test_doubling_a_union_of_any_number_of_sites_costs_one_radius(streams, limit, data):
    """It is settled once, so that every example is within 3 R; one by one, each merge costs R."""
    sites = watched(streams, Doubling(), limit)
    whole = union(
        [UnionSummary(site.learner) for site in data.draw(st.permutations(sites))]
    ).learner
    found = graph(whole)
    for site in sites:
        for x, _ in site.shown.values():
            assert min(math.dist(x, place) for place in found) <= 3 * whole.radius * ROUNDING
    for first, second in itertools.combinations(found, 2):
        if found[first][1] is None or found[second][1] is None:
            assert math.dist(first, second) * ROUNDING >= whole.radius


def test_what_a_site_refused_and_kept_is_not_lost():
    """The same ben as above; this time the first site had stored what it refused."""
    three = RefusingSites(
        [(0, (0.0,), True), (1, (5.0,), True), (0, (5.5,), False), (0, (6.0,), False)]
    )
    whole = union(three.parts)
    assert graph(whole.learner) == graph(three.one)
    assert whole.learner.predict([7.5]).label == "ben"
    assert whole.refused == ()


def test_a_chain_that_comes_backwards_is_accepted_pass_by_pass():
    learner = OnlineHarmonicLearner(NARROW, sink=SINK)
    learner.teach([0.0], "ana")
    backwards = tuple(np.array([float(at)]) for at in range(9, 0, -1))
    whole = union([UnionSummary(learner, backwards)])
    assert sorted(place for (place,) in graph(whole.learner)) == list(range(10))


def test_sites_that_contradict_each_other_are_refused_and_left_alone():
    first, second = (OnlineHarmonicLearner(NARROW, sink=SINK) for _ in range(2))
    first.teach([0.0], "ana")
    second.teach([0.0], "ben")
    before = state(first), state(second)
    with pytest.raises(LabelConflict, match=r"'ana'.*'ben'"):
        union([UnionSummary(first), UnionSummary(second)])
    assert (state(first), state(second)) == before


def test_what_cannot_be_united_is_refused_in_words():
    learner = OnlineHarmonicLearner(NARROW, sink=SINK)
    learner.teach([0.0], "ana")
    with pytest.raises(BadValue, match="nothing to unite"):
        union([])
    with pytest.raises(BadValue, match="max_vertices"):
        union([UnionSummary(learner)], max_vertices=0)
    with pytest.raises(WrongVectorLength):
        union([UnionSummary(learner, (np.zeros(2),))])
    for other in (
        OnlineHarmonicLearner(NARROW, sink=SINK, quantizer=Doubling()),
        OnlineHarmonicLearner(NARROW, sink=SINK, min_score=0.5),
        OnlineHarmonicLearner(WIDE, sink=SINK),
    ):
        with pytest.raises(Incompatible, match=r"quantizer|min_score|kernel"):
            union([UnionSummary(learner), UnionSummary(other)])


def test_who_knows_nobody_yet_brings_what_it_refused():
    """Of single precision, too: an empty learner does not say of what kind its vectors will be."""
    fresh, taught = (OnlineHarmonicLearner(NARROW, sink=SINK) for _ in range(2))
    taught.teach(np.array([0.0], np.float32), "ana")
    seen = (np.array([1.0], np.float32), np.array([9.0], np.float32))
    nobody = union([UnionSummary(fresh, seen), UnionSummary(fresh)])
    assert (len(nobody.learner), len(nobody.refused)) == (0, 2)
    whole = union([nobody, UnionSummary(taught)])
    assert graph(whole.learner) == {(0.0,): (1, "ana"), (1.0,): (1, None)}
    assert whole.learner.vertices().vectors.dtype == np.float32
    assert listed(whole.refused) == [(9.0,)]
