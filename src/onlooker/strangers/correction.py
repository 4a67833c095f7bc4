"""The correction "wrong": drop a face that has the wrong name, and what was learned through it.

Or, if the person who says so wants it, the whole group of faces that came to the name with it.
"""

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlooker.core import walks
from onlooker.core.checks import Slots, slots_where
from onlooker.core.cuts import beyond_narrowest_link
from onlooker.core.errors import NotFound
from onlooker.core.graph import Graph
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.home.database import HomeDamaged
from onlooker.home.home import Home
from onlooker.strangers.cards import DroppedFace
from onlooker.strangers.strangers import Strangers

ANCHORS = 4
"""Faces of a group that are taught as not being who they were named, as many as a card has."""


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
    taken_out: int = 0
    """How many examples of the group had been merged into faces that stay; they are not now."""
    complete: bool = True
    """Whether history reaches back to when the group began; if not, some may still be there."""


def group_of(learner: OnlineHarmonicLearner, vertex: int) -> list[int]:
    """The vertices that came to the name of this one by the same narrowest link; this one first.

    A labeled vertex is a group by itself: a person put it there.
    """
    graph = learner.graph()
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
    graph = learner.graph()
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

    With its group (see `group_of`) all of that goes too, and the face, with the first few of the
    group, is taught as not being who it was named: else the faces that are left halfway would give
    the name to the next one. What was merged into faces that stay, and has more links to the group
    than to them, is taken out of them. One event each; `StrangerBook.wrong` makes them one
    transaction. dropped is called with each. No alert is sent for faces that the home had.
    """
    others = [int(each) for each in group if each != vertex]
    name = home.learner.owners().get(int(vertex)) if group else None
    through = learned_only_through(home.learner, vertex, *others)
    doomed = [*through, *others, int(vertex)]
    undo_to, known = home.sequence, home.vertices()
    rows = {each: row for row, each in enumerate(known.ids.tolist())}
    counts = [int(known.multiplicities[rows[each]]) for each in doomed]
    merged, complete = _merged_of(home, doomed, name) if name is not None else ([], True)
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
    home.reduce(_by_vertex(merged))
    for out in merged:
        dropped(DroppedFace(-1, out.vector, out.examples, None))
        card = strangers.see(out.vector, time=time, camera=None, frame=None, times=out.examples)
        strangers.mark_alerted(card)
        cards.add(card)
    if name is not None and name in home.learner.names:
        for each in [int(vertex), *others][:ANCHORS]:
            home.teach(known.vectors[rows[each]].copy(), not_name=name)
    alive = {card.number for card in strangers.cards(hidden=True)}
    return Correction(
        tuple(doomed),
        sum(counts),
        tuple(sorted(alive & cards)),
        undo_to,
        sum(out.examples for out in merged),
        complete,
    )


class _Merged(NamedTuple):
    """Examples of a vertex that was merged into one that stays."""

    part: int
    into: int
    examples: int
    vector: NDArray[Any]


def _merged_of(home: Home, doomed: Collection[int], name: str) -> tuple[list[_Merged], bool]:
    """What was merged into the faces of a name that stay, and has more links to those that go."""
    found, complete = home.merged_examples(since=min(doomed))
    known, carried = home.vertices(), home.learner.owners()
    ids, gone = known.ids.tolist(), set(doomed)
    own = np.array([carried[each] == name for each in ids])
    going = np.array([each in gone for each in ids])
    merged = []
    for into in [each for each in found.parts if carried.get(each) == name and each not in gone]:
        for part, count in found.parts[into].items():
            if part not in found.vectors:
                continue
            vector = found.vectors[part]
            mass = known.multiplicities - np.where(known.ids == into, count, 0)
            links = home.learner.kernel.similarity(vector, known.vectors) * mass
            if links[going].sum() > links[own & ~going].sum():
                merged.append(_Merged(part, into, count, vector))
    return merged, complete


def _by_vertex(merged: Iterable[_Merged]) -> dict[int, dict[int, int]]:
    parts: dict[int, dict[int, int]] = {}
    for each in merged:
        parts.setdefault(each.into, {})[each.part] = each.examples
    return parts


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
