"""The correction "wrong": drop a face that has the wrong name, and what was learned through it.

Or, if the person who says so wants it, the whole group of faces that came to the name with it.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from onlooker.core import walks
from onlooker.core.checks import Slots, slots_where
from onlooker.core.cuts import beyond_narrowest_link
from onlooker.core.errors import NotFound
from onlooker.core.graph import Graph
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.persistence import graph_of
from onlooker.home.database import HomeDamaged
from onlooker.home.home import Home
from onlooker.strangers.cards import DroppedFace
from onlooker.strangers.strangers import Strangers


@dataclass(frozen=True, slots=True)
class Correction:
    """What one "wrong" removed.

    >>> Correction(vertices=(9, 7), examples=31, cards=(2,), undo_to=118).examples
    31
    """

    vertices: tuple[int, ...]
    """What was dropped, the wrong one last."""
    examples: int
    """How many examples they stood for."""
    cards: tuple[int, ...]
    """The cards of strangers that have the faces now."""
    undo_to: int
    """The event before it."""


def group_of(learner: OnlineHarmonicLearner, vertex: int) -> list[int]:
    """The vertices that came to the name of this one by the same narrowest link; this one first.

    A labeled vertex is a group by itself: a person put it there.
    """
    graph = graph_of(learner.state(), learner.kernel, learner.max_vertices)
    slot = _slot_of(graph, vertex)
    if slot >= graph.rows:
        return [int(vertex)]
    carried = learner.owners()
    group = graph.ids[beyond_narrowest_link(graph, slot, learner.sink)].tolist()
    same = [each for each in group if carried[each] == carried[vertex]]
    return [int(vertex), *(each for each in same if each != vertex)]


def learned_only_through(learner: OnlineHarmonicLearner, *vertices: int) -> list[int]:
    """The vertices that reach a label now, and none without these; the farthest first.

    In that order each can be dropped while all remaining ones still depend on these.

    >>> from onlooker import HeatKernel
    >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> learner.teach([0.0], "ana")
    >>> for x in (1.0, 2.0, 3.0, -1.0):
    ...     _ = learner.observe([x])
    >>> learned_only_through(learner, 1)
    [3, 2]
    """
    graph = graph_of(learner.state(), learner.kernel, learner.max_vertices)
    before = set(graph.ids[walks.unreachable(graph)].tolist())
    steps = _steps(graph, _slot_of(graph, vertices[0]))
    for vertex in vertices:
        graph.drop(_slot_of(graph, vertex))
    cut_off = set(graph.ids[walks.unreachable(graph)].tolist()) - before
    return sorted(cut_off, key=lambda each: (-steps.get(each, 0), each))


def wrong(
    home: Home,
    vertex: int,
    strangers: Strangers,
    *,
    time: float,
    group: Collection[int] = (),
    dropped: Callable[[DroppedFace], object] = lambda _: None,
) -> Correction:
    """Drop a vertex and all that was learned only through it; their faces become strangers.

    With its group (see `group_of`) all of that goes too, and the face is taught as not being who it
    was named: else the faces that are left halfway would give the name to the next one. One event
    each; `StrangerBook.wrong` makes them one transaction. dropped is called with each. No alert is
    sent for faces that the home had.
    """
    others = [int(each) for each in group if each != vertex]
    name = home.learner.owners().get(int(vertex)) if group else None
    through = learned_only_through(home.learner, vertex, *others)
    doomed = [*through, *others, int(vertex)]
    undo_to, known = home.sequence, home.vertices()
    rows = {each: row for row, each in enumerate(known.ids.tolist())}
    counts = [int(known.multiplicities[rows[each]]) for each in doomed]
    cards = set()
    for each, count in zip(doomed, counts, strict=True):
        picture: bytes | None = None
        with suppress(HomeDamaged):
            picture = home.album.picture(each)
        home.drop(each)
        vector = known.vectors[rows[each]].copy()
        dropped(DroppedFace(each, vector, count, picture))
        card = strangers.see(
            vector, time=time, camera=None, frame=None, picture=picture, times=count
        )
        strangers.mark_alerted(card)
        cards.add(card)
    if name is not None and name in home.learner.names:
        home.teach(known.vectors[rows[int(vertex)]].copy(), not_name=name)
    alive = {card.number for card in strangers.cards(hidden=True)}
    return Correction(tuple(doomed), sum(counts), tuple(sorted(alive & cards)), undo_to)


def _slot_of(graph: Graph, vertex: int) -> int:
    slot = graph.slot_of(vertex)
    if slot is None:
        raise NotFound(f"there is no vertex {vertex!r} any more; it was merged or dropped")
    return slot


def _steps(graph: Graph, start: int) -> dict[int, int]:
    """How many steps each unlabeled vertex is from a vertex, by id."""
    reached = np.zeros(graph.rows, dtype=bool)
    inside = start < graph.rows
    linked = graph.weights[start] > 0 if inside else graph.to_labels[:, start - graph.rows] > 0
    frontier: Slots = slots_where(linked)
    steps: dict[int, int] = {}
    distance = 1
    while len(frontier):
        reached[frontier] = True
        steps.update(dict.fromkeys(graph.ids[frontier].tolist(), distance))
        frontier = slots_where((graph.weights[frontier] > 0).any(axis=0) & ~reached)
        distance += 1
    return steps
