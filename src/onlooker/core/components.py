"""Connected components of the unlabeled vertices, updated at little cost as the graph changes.

A walk never passes through a labeled vertex, so labels do not connect. When components join, that
is recorded at once. That one has fallen apart is found by a search, which runs only now and then:
a component that is recorded as too large costs time, never correctness.
"""

import numpy as np
from numpy.typing import NDArray

from onlooker.core.checks import Floats, Slots, insert_rows, slots_where

NOWHERE = -1
"""The component number of free slots."""

STALE = 24
"""Vertices removed from a component after which it is searched for separate parts."""


class Components:
    """A component number per slot. Numbers are below the number of slots, so tables stay small."""

    def __init__(self) -> None:
        self._of: Slots = np.zeros(0, dtype=np.intp)
        self._departures: NDArray[np.intp] = np.zeros(0, dtype=np.intp)

    def grow(self, slots: int) -> None:
        """Make room for that many slots."""
        extra = slots - len(self._of)
        self._of = insert_rows(self._of, extra, NOWHERE)
        self._departures = insert_rows(self._departures, extra, 0)

    def join(self, slot: int, neighbours: Slots) -> None:
        """Add a vertex that is connected to these."""
        touched = self._of[neighbours]
        if not len(touched):
            self._assign_new_number(np.array([slot]))
            return
        number = self._of[slot] = touched[0]
        while (touched != number).any():
            other = touched[touched != number][0]
            self._of[self._of == other] = number
            self._departures[number] += self._departures[other]
            touched = self._of[neighbours]

    def leave(self, slot: int) -> None:
        """Remove a vertex, or one that was labeled; its component may have been split by that."""
        if self._of[slot] != NOWHERE:
            self._departures[self._of[slot]] += 1
            self._of[slot] = NOWHERE

    def reached(self, start: Slots, weights: Floats, *, exact: bool) -> Slots:
        """All members of the components of the start slots."""
        numbers = self._of[start]
        stale = self._departures[numbers] >= (1 if exact else STALE)
        if stale.any():
            for number in np.unique(numbers[stale]):
                self._search(int(number), weights)
            numbers = self._of[start]
        if len(numbers) and (numbers == numbers[0]).all():
            return slots_where(self._of == numbers[0])
        wanted = np.zeros(len(self._of) + 1, dtype=bool)
        wanted[numbers] = True
        wanted[NOWHERE] = False
        return slots_where(wanted[self._of])

    def _search(self, number: int, weights: Floats) -> None:
        """Find the connected parts of a component, breadth first."""
        members = slots_where(self._of == number)
        linked = weights.take(members, axis=0).take(members, axis=1) > 0
        self._of[members] = NOWHERE
        left = np.ones(len(members), dtype=bool)
        while left.any():
            part = np.zeros(len(members), dtype=bool)
            frontier = part.copy()
            frontier[np.argmax(left)] = True
            while frontier.any():
                part |= frontier
                frontier = linked[frontier].any(axis=0) & ~part
            self._assign_new_number(members[part])
            left &= ~part

    def _assign_new_number(self, slots: Slots) -> None:
        """Make these slots a component of their own, with a number that no slot has."""
        used = np.zeros(len(self._of) + 1, dtype=bool)
        used[self._of] = True
        number = np.argmin(used[:-1])  # as many numbers as slots: one of them is always unused
        self._of[slots] = number
        self._departures[number] = 0
