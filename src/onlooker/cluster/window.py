"""What a sender has numbered and its site has not acknowledged.

It has no lock: one thread changes it, and that thread holds the sender's lock for whatever changes
the length, which others ask for. What is on its way, and from where to go on, no other asks for.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from onlooker.cluster.wire import Example
from onlooker.core.checks import as_number


class Window:
    """The examples between the last acknowledged one and the newest that has a number.

    >>> import numpy as np
    >>> window = Window(depth=2, batch_size=2)
    >>> window.go_on_after(10)
    >>> while window.has_room:
    ...     window.add(Example(0, np.zeros(2)))
    >>> [window.left("call", batch) for batch in iter(window.next_batch, [])]  # none again
    [0, 0]
    >>> window.acknowledge(11), window.acknowledge(11), len(window)
    (True, False, 3)
    >>> window.again()
    >>> [example.number for example in window.next_batch()]  # the second batch waits its turn
    [12, 13]
    >>> window.left("call", window.next_batch())
    2
    """

    def __init__(self, *, depth: int, batch_size: int) -> None:
        as_number("batch_size", batch_size, least=1, whole=True)
        as_number("depth", depth, least=1, whole=True)
        self._depth, self._batch_size = depth, batch_size
        self._examples: deque[Example] = deque()
        self._on_the_way: deque[Any] = deque()
        self.go_on_after(0)

    def go_on_after(self, last: int) -> None:
        """Begin to number: the site has everything up to this one."""
        self._number = last
        self._next = last + 1
        """The first that is not on its way."""
        self._unsent = last + 1
        """The first that never was."""

    def __len__(self) -> int:
        return len(self._examples)

    @property
    def first(self) -> int:
        """The first number that is not acknowledged, be it given already or not."""
        return self._examples[0].number if self._examples else self._number + 1

    @property
    def has_room(self) -> bool:
        """Whether one more could leave without waiting for an answer."""
        return len(self._examples) < self._depth * self._batch_size

    def add(self, example: Example) -> None:
        """Give an example the next number: from here on it must arrive."""
        self._number += 1
        self._examples.append(replace(example, number=self._number))

    # ---- on the way

    @property
    def may_send(self) -> bool:
        """Whether fewer batches are on their way than may be."""
        return len(self._on_the_way) < self._depth

    def next_batch(self) -> list[Example]:
        """What to send next, in order; nothing if all of it is on its way."""
        waiting = [example for example in self._examples if example.number >= self._next]
        return waiting[: self._batch_size]

    def left(self, sent: Any, batch: Sequence[Example]) -> int:
        """A batch is on its way, and `sent` stands for it; says how many were so before."""
        self._on_the_way.append(sent)
        again = sum(1 for example in batch if example.number < self._unsent)
        self._next = batch[-1].number + 1
        self._unsent = max(self._unsent, self._next)
        return again

    @property
    def oldest(self) -> Any:
        """What stands for the batch that left first: sites answer in order."""
        return self._on_the_way[0]

    def answered(self) -> None:
        """The oldest batch is not on its way any more."""
        self._on_the_way.popleft()

    def acknowledge(self, number: int) -> bool:
        """Let go of the first example; False if it was let go of before."""
        if not self._examples or self._examples[0].number != number:
            return False
        self._examples.popleft()
        return True

    def again(self) -> None:
        """Nobody knows what arrived: go on from the first that is not acknowledged."""
        self._on_the_way.clear()
        self._next = self.first
