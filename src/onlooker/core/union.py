"""The union of several learners as one learner: everything first, one shrinking at the end.

`merge` shrinks to the budget after every step, so that what is merged later finds only what is left
of what was merged before, and it cannot bring back an example that a learner refused because the
name was taught elsewhere only. `union` takes all vertices of all parts at once, observes the
refused examples again, and shrinks once, at the end. docs/merging.md says what that preserves.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from onlooker.core.checks import Rows, as_vector
from onlooker.core.errors import BadValue, Incompatible
from onlooker.core.graph import UNLABELED
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.quantizer import ClosestPair
from onlooker.core.records import State

REFUSED = 500
"""How many refused examples a site should store, the newest: as many as its default budget."""


@dataclass(frozen=True, slots=True, eq=False)
class UnionSummary:
    """One part of a union: a learner, and the examples for which it answered nobody."""

    learner: OnlineHarmonicLearner
    refused: tuple[Rows, ...] = ()
    """In order of time. The caller limits their number; a union passes on those still refused."""


def union(parts: Iterable[UnionSummary], *, max_vertices: int | None = None) -> UnionSummary:
    """One learner that knows what all parts know, and the examples that even that one refuses.

    max_vertices is the sum of the parts' unless given. The parts do not change. Unions can be
    united again; a smaller max_vertices is for the last of them.

    >>> from onlooker import HeatKernel
    >>> kernel = HeatKernel(bandwidth=0.5, cutoff=1e-3)
    >>> door, yard = (OnlineHarmonicLearner(kernel, sink=0.01) for _ in range(2))
    >>> door.teach([0.0], "ana"); yard.teach([5.0], "ben")
    >>> passer_by = np.array([6.0])
    >>> print(door.observe(passer_by).label)      # ben, whom only the yard knows
    None
    >>> both = union([UnionSummary(door, (passer_by,)), UnionSummary(yard)])
    >>> both.learner.names, len(both.learner), both.learner.predict([7.0]).label, both.refused
    (('ana', 'ben'), 3, 'ben', ())
    """
    some = list(parts)
    if not some:
        raise BadValue("there is nothing to unite: give at least one part")
    learners = [part.learner for part in some]
    budget = sum(each.max_vertices for each in learners) if max_vertices is None else max_vertices
    united = learners[0].empty_copy(max_vertices=budget)
    waiting = [x for part in some for x in part.refused]
    everything = _merged(learners, more=len(waiting))
    refused = _observe_again(everything, waiting)
    state = _sorted(everything.state())
    counted = (state.labels == UNLABELED) & ~np.isin(state.ids, state.negatives[:, 0])
    if state.radius == 0 and np.count_nonzero(counted) <= united.max_vertices:
        united = united.restored(state)
    else:  # merged into an empty one, it is settled at the largest R and shrunk, once
        united.merge(everything.restored(state))
    return UnionSummary(united, tuple(sorted(refused, key=_order)))


def _merged(learners: Sequence[OnlineHarmonicLearner], *, more: int) -> OnlineHarmonicLearner:
    """Every vertex of every part, and a budget for that many more, so that nothing shrinks."""
    first = learners[0]
    for other in learners:
        for what in ("quantizer", "min_score", "trust_radius"):
            here, there = getattr(first, what), getattr(other, what)
            if here != there:
                raise Incompatible(f"cannot unite: {what} {here!r} here, {there!r} there")
    room = sum(map(len, learners)) + more + 1
    whole = first.empty_copy(max_vertices=room, quantizer=ClosestPair())
    for learner in sorted(learners, key=_widest_first):
        whole.merge(learner)
    return whole


def _widest_first(learner: OnlineHarmonicLearner) -> int:
    """float64 before float32, which it can hold; a learner without vertices fits any type."""
    vectors = learner.vertices().vectors
    return -vectors.dtype.itemsize if len(vectors) else -np.dtype(np.longdouble).itemsize


def _observe_again(learner: OnlineHarmonicLearner, refused: Sequence[Rows]) -> list[Rows]:
    """Observe them again until no more are accepted; returns those still refused.

    Every pass but the last accepts at least one, so there is at most one pass more than examples.
    In order of time a chain of faces is mostly accepted in the first pass.
    """
    if not learner.names:
        return list(refused)
    known = learner.vertices().vectors
    waiting = [as_vector(x, like=known) for x in refused]
    before = len(waiting) + 1
    while 0 < len(waiting) < before:
        before = len(waiting)
        predictions = learner.observe_many(np.stack(waiting))
        waiting = [x for x, seen in zip(waiting, predictions, strict=True) if seen.label is None]
    return waiting


def _sorted(state: State) -> State:
    """The same state, with ages and names in an order that does not depend on that of the parts."""
    names = sorted(state.names)
    numbers = np.array([*map(names.index, state.names), UNLABELED], dtype=np.int64)
    rows = sorted(range(len(state.ids)), key=lambda row: _order(state.vectors[row]))
    new_ids = {int(state.ids[row]): place for place, row in enumerate(rows)}
    negatives = [(new_ids[vertex], numbers[label]) for vertex, label in state.negatives.tolist()]
    return State(
        np.arange(len(rows)),
        state.vectors[rows],
        state.multiplicities[rows],
        numbers[state.labels[rows]],  # -1, unlabeled, is the last of them
        names,
        state.radius,
        len(rows),
        np.array(sorted(negatives), dtype=np.int64).reshape(-1, 2),
    )


def _order(vector: Rows) -> bytes:
    """A sort key that depends on the numbers only; adding 0.0 makes -0.0 equal to 0.0."""
    return (vector + 0.0).tobytes()
