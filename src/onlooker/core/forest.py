"""For each unlabeled vertex one link on a way to a label, and which vertices others need.

A vertex is needed if another one would reach no label without it. The links form trees that hang on
labels, so a vertex on which no other hangs is not needed. Where some do, they are hung on others;
those for which that fails are held by this vertex alone, and it is needed. That remains so until a
vertex comes that links them with somebody else, so few vertices are searched twice.

The trees are built when they are asked for first, and again after a label has come or gone.
"""

import numpy as np
from numpy.typing import NDArray

from onlooker.core.checks import Floats, Slots, insert_rows, slots_where

Mask = NDArray[np.bool_]
"""True or False for each slot."""

LABEL, NOWHERE = -1, -2
"""Instead of the slot a vertex hangs on: it is linked to a label; it reaches none, or is free."""


class Forest:
    """The slot on which each unlabeled vertex hangs."""

    def __init__(self) -> None:
        self._holder: Slots = np.zeros(0, dtype=np.intp)
        self.known_needed: Mask = np.zeros(0, dtype=bool)
        """Which slots are known to be needed; others may be."""
        self._held: NDArray[np.bool_] = np.zeros((0, 0), dtype=bool)
        """The row of one that is needed: vertices that are linked to it and to each other only."""
        self.built = False
        """Whether questions can be asked."""

    def grow(self, slots: int) -> None:
        """Make room for that many slots."""
        extra = slots - len(self._holder)
        self._holder = insert_rows(self._holder, extra, NOWHERE)
        self.known_needed = insert_rows(self.known_needed, extra, False)
        self._held = np.pad(self._held, ((0, extra), (0, extra)))

    def build(self, weights: Floats, to_label: Mask) -> None:
        """Be ready for questions, given who is linked to a label."""
        self.built = True
        self.known_needed[:] = self._held[:] = False
        self._holder[:] = np.where(to_label, LABEL, NOWHERE)
        self._hang(~to_label, to_label, weights)

    # ---- what changes

    def reset(self) -> None:
        """Labels have come or gone, or others reach one than before: all is built again."""
        self.built = False

    def added(self, slot: int, neighbours: Slots, *, to_label: bool) -> None:
        """A vertex with these neighbours has come, and whether it is linked to a label."""
        if not self.built:
            return
        holders = neighbours[self._holder[neighbours] != NOWHERE]
        if not to_label and not len(holders):
            return
        if len(holders) < len(neighbours):
            self.reset()
            return
        self._holder[slot] = LABEL if to_label else holders[0]
        known = slots_where(self.known_needed)
        inside, passed_by = self._passed_by(known, neighbours, to_label=to_label)
        self._held[known[inside], slot] = True
        self._clear(known[passed_by])

    def removed(self, slot: int, weights: Floats) -> None:
        """A vertex is about to go; the weights still have its links."""
        if not self.built:
            return
        if self.needed(slot, weights):
            self.reset()
            return
        self._holder[slot] = NOWHERE
        holders = slots_where(self._held[:, slot])
        self._held[holders, slot] = False
        self._clear(holders[~self._held[holders].any(axis=1)])

    # ---- what is asked

    def reached(self, slots: Slots) -> bool:
        """Whether all of these reach a label."""
        return not (self._holder[slots] == NOWHERE).any()

    def needed(self, slot: int, weights: Floats) -> bool:
        """Whether some other vertex reaches a label only through this one."""
        if self.known_needed[slot]:
            return True
        waiting = self._holder == slot
        if not waiting.any():
            return False
        waiting = self._with_all_that_hang(waiting)
        others = (self._holder != NOWHERE) & ~waiting
        others[slot] = False
        self._held[slot] = self._hang(waiting, others, weights)
        self.known_needed[slot] = self._held[slot].any()
        return bool(self.known_needed[slot])

    def spares(self, slots: Slots, neighbours: Slots, *, to_label: bool) -> bool:
        """Whether a new vertex with these neighbours might make one of the slots less needed."""
        known = slots[self.known_needed[slots]]
        return bool(self._passed_by(known, neighbours, to_label=to_label)[1].any())

    def _passed_by(self, known: Slots, neighbours: Slots, *, to_label: bool) -> tuple[Mask, Mask]:
        """Of some that are needed: who holds some of the neighbours, and whom they then pass by."""
        held = self._held[known[:, None], neighbours]
        inside = np.logical_or.reduce(held, axis=1)
        outside = (~held & (neighbours != known[:, None])).any(axis=1)
        return inside, inside & (outside | to_label)

    def _clear(self, slots: Slots) -> None:
        self.known_needed[slots] = False
        self._held[slots] = False

    def _with_all_that_hang(self, some: Mask) -> Mask:
        """These vertices and all that hang on them, directly or not."""
        found = np.append(some, [False, False])  # for LABEL and NOWHERE, counted from the end
        while True:
            more = found[self._holder]
            more |= some
            if (more == found[:-2]).all():
                return more
            found[:-2] = more

    def _hang(self, waiting: Mask, holders: Mask, weights: Floats) -> Mask:
        """Hang those that wait on these, and on each other; those for which that fails."""
        left = slots_where(waiting)
        links = weights[left] > 0
        while len(left):
            to_holders = links & holders
            hung = to_holders.any(axis=1)
            if not hung.any():
                break
            self._holder[left[hung]] = to_holders[hung].argmax(axis=1)
            holders = np.zeros_like(holders)
            holders[left[hung]] = True
            left, links = left[~hung], links[~hung]
        failed = np.zeros_like(waiting)
        failed[left] = True
        return failed
