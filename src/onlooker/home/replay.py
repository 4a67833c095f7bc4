"""The learner as it was after an event: the newest good snapshot before it, and the events since.

Nothing is measured and nothing is solved: the events say what the learner did. Where an undo lies
on the way, the state it went back to is found first, and only later events are applied to that.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onlooker.core.graph import UNLABELED
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.persistence import Saved
from onlooker.core.records import State
from onlooker.home.database import HomeDamaged, HomeError
from onlooker.home.events import Change, EventLog

NewestSnapshot: TypeAlias = Callable[[int], tuple[int, Saved] | None]
"""The newest good snapshot that is not after an event, and the event it was made after."""


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """A learner as it was after an event, and what could not be read."""

    settings: OnlineHarmonicLearner
    """An empty learner with the settings that were saved."""
    state: State
    sequence: int
    """The event that was reached: the one wanted, or the last before the damage."""
    problems: tuple[str, ...] = ()

    def learner(self, next_id: int = 0) -> OnlineHarmonicLearner:
        """The learner itself; ids below next_id have been in use."""
        newer = replace(self.state, next_id=max(next_id, self.state.next_id))
        return self.settings.restored(newer)


class NotRepaired(HomeError):
    """Damage was found, and the repair cannot be written: nothing may be built on it yet."""

    def __init__(self, learner: OnlineHarmonicLearner, error: Exception) -> None:
        super().__init__(f"damage could not be repaired yet: {error}")
        self.learner = learner
        """What could be read."""


class VertexTable:
    """The vertices of a learner as a plain table, to which changes are applied."""

    def __init__(self, state: State) -> None:
        names = [state.names[label] if label >= 0 else None for label in state.labels]
        counts = state.multiplicities.tolist()
        self.vertices: dict[int, list[Any]] = {
            vertex: [count, name, 0]
            for vertex, count, name in zip(state.ids.tolist(), counts, names, strict=True)
        }
        """By id: the number of examples, the name, and the event that brought the vertex."""
        self.negatives: dict[int, list[str | None]] = {}
        """By id: the names that a vertex is not; None: it is nobody."""
        for vertex, label in state.negatives.tolist():
            excluded = state.names[label] if label >= 0 else None
            self.negatives.setdefault(vertex, []).append(excluded)
        self.names, self.radius, self.next_id = list(state.names), state.radius, state.next_id
        self._vectors = dict(zip(state.ids.tolist(), state.vectors, strict=True))
        self._like = state.vectors[:0]

    def apply(self, changes: Iterable[Change], sequence: int) -> None:
        """Repeat what one event did."""
        vertices = self.vertices
        for change in changes:
            kind, vertex = change[0], change[1]
            if kind == "new":
                count, name = change[2:4] if len(change) > 2 else (1, None)
                vertices[vertex] = [count, name, sequence]
                self.next_id = max(self.next_id, vertex + 1)
            elif kind == "merged":
                vertices[change[2]][0] += vertices.pop(vertex)[0]
            elif kind == "absorbed":
                vertices[vertex][0] += change[2] if len(change) > 2 else 1
            elif kind == "reduced":
                vertices[vertex][0] -= change[2]
            elif kind == "dropped":
                del vertices[vertex]
                self.negatives.pop(vertex, None)
            elif kind in ("labeled", "unlabeled"):
                vertices[vertex][1] = change[2] if kind == "labeled" else None
                if kind == "unlabeled":
                    self.negatives.pop(vertex, None)
            elif kind == "negatives":
                if vertex not in vertices:
                    raise LookupError(vertex)
                self.negatives[vertex] = list(change[2])
            elif kind == "names":
                self.names = change[1]
            elif kind in ("doubled", "radius"):
                self.radius = change[1]
            elif kind not in ("undo", "twice", "people", "alarm", "camera"):
                raise ValueError(f"unknown change {kind!r}")

    @property
    def events_with_missing_vectors(self) -> set[int]:
        """The events that brought the vectors which are still to be read."""
        missing = (vertex for vertex in self.vertices if vertex not in self._vectors)
        return {self.vertices[vertex][2] for vertex in missing}

    def add_vectors(self, vectors: Mapping[int, NDArray[Any]]) -> list[int]:
        """Take in vectors; vertices that remain without one are removed and returned."""
        self._vectors.update(vectors)
        lost = [vertex for vertex in self.vertices if vertex not in self._vectors]
        for vertex in lost:
            del self.vertices[vertex]
        return lost

    def state(self, like: NDArray[Any] | None = None) -> State:
        """The table as the arrays a learner is made of; like: a vector, should none be left."""
        used = {name for _, name, _ in self.vertices.values()}
        names = [name for name in self.names if name in used]
        numbers: dict[str | None, int] = {name: number for number, name in enumerate(names)}
        numbers[None] = UNLABELED
        labels = [numbers.get(name, UNLABELED) for _, name, _ in self.vertices.values()]
        negatives = [
            (vertex, numbers[name])
            for vertex, excluded in sorted(self.negatives.items())
            for name in excluded
            if vertex in self.vertices and name in numbers
        ]
        rows = [self._vectors[vertex] for vertex in self.vertices]
        empty = self._like if like is None or self._like.shape[1] else like[None][:0]
        return State(
            np.array(list(self.vertices), dtype=np.int64),
            np.array(rows) if rows else empty,
            np.array([count for count, _, _ in self.vertices.values()], dtype=np.int64),
            np.array(labels, dtype=np.int64),
            names,
            self.radius,
            self.next_id,
            np.array(negatives, dtype=np.int64).reshape(-1, 2),
        )


class _DamagedEvent(Exception):
    """The event with that number cannot be applied."""

    def __init__(self, sequence: int, reason: str) -> None:
        super().__init__(sequence, reason)
        self.sequence, self.reason = sequence, reason


def replay(log: EventLog, newest: NewestSnapshot, upto: int) -> Replayed:
    """The learner after an event, or after the last one before the damage."""
    try:
        return _replay_exactly(log, newest, upto)
    except _DamagedEvent as damage:
        lost = f"events {damage.sequence} to {upto}" if damage.sequence < upto else f"event {upto}"
        found = replay(log, newest, damage.sequence - 1)
        problem = f"event {damage.sequence} {damage.reason}; lost: {lost}"
        return Replayed(found.settings, found.state, found.sequence, (problem, *found.problems))


def _replay_exactly(log: EventLog, newest: NewestSnapshot, upto: int) -> Replayed:
    saved, spans = _way_to(log, newest, upto)
    table = VertexTable(saved.state)
    for after, last in spans:
        _apply(log, table, after, last)
    lost = table.add_vectors(log.vectors(table.events_with_missing_vectors))
    problems = tuple(f"the vector of vertex {vertex} is damaged; it is lost" for vertex in lost)
    like = _any_vector(log, upto) if table.next_id > saved.state.next_id else None
    table.next_id = max(table.next_id, log.last()[1])  # no id is used twice
    return Replayed(OnlineHarmonicLearner(**saved.settings), table.state(like), upto, problems)


def _way_to(
    log: EventLog, newest: NewestSnapshot, upto: int
) -> tuple[Saved, list[tuple[int, int]]]:
    """A snapshot, and the events to apply to it, as ranges (after, last): around every undo."""
    spans: list[tuple[int, int]] = []
    top = upto
    while True:
        base, saved = _newest_snapshot(newest, top)
        undo = log.last_undo(base, top)
        if undo is None:
            return saved, [(base, top), *spans]
        spans.insert(0, (undo, top))
        top = _target_of_undo(log, undo)


@dataclass(frozen=True, slots=True, eq=False)
class MergedExamples:
    """Which vertices were merged into others since an event."""

    parts: Mapping[int, Mapping[int, int]]
    """By vertex: the vertices that are part of it now, and how many examples each had."""
    vectors: Mapping[int, NDArray[Any]]
    """Of the parts, where they are stored."""


class _PartTable(VertexTable):
    """The same table, which remembers what was merged into what."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.parts: dict[int, dict[int, int]] = {}
        self.brought: dict[int, int] = {}

    def apply(self, changes: Iterable[Change], sequence: int) -> None:
        for change in changes:
            if change[0] == "new":
                self.brought[change[1]] = sequence
            elif change[0] == "merged":
                part, into = change[1], change[2]
                inside = self.parts.pop(part, {})
                inside[part] = self.vertices[part][0] - sum(inside.values())
                self.parts[into] = {**self.parts.get(into, {}), **inside}
            elif change[0] == "dropped":
                self.parts.pop(change[1], None)
            elif change[0] == "reduced" and change[1] in self.parts:
                for part in change[3]:
                    self.parts[change[1]].pop(part, None)
            super().apply([change], sequence)


def merged_examples(log: EventLog, newest: NewestSnapshot, upto: int, since: int) -> MergedExamples:
    """What was merged into what, by replaying the events from the newest snapshot before one."""
    saved, spans = _way_to(log, lambda top: newest(min(top, since)), upto)
    table = _PartTable(saved.state)
    for after, last in spans:
        _apply(log, table, after, last)
    wanted = {part for inside in table.parts.values() for part in inside}
    vectors = log.vectors({table.brought[part] for part in wanted if part in table.brought})
    return MergedExamples(table.parts, {part: vectors[part] for part in wanted & vectors.keys()})


def _any_vector(log: EventLog, upto: int) -> NDArray[Any] | None:
    """A learner that lost every vertex still knows the length of its vectors."""
    sequence = log.last_with_vectors(upto)
    return None if sequence is None else next(iter(log.vectors([sequence]).values()), None)


def _newest_snapshot(newest: NewestSnapshot, upto: int) -> tuple[int, Saved]:
    found = newest(upto)
    if found is None:
        raise HomeDamaged(
            f"there is no good snapshot of event {upto} or before; restore a backup, "
            "or start with an empty folder"
        )
    return found


def _target_of_undo(log: EventLog, undo: int) -> int:
    for event, sound in log.events(undo - 1, undo):
        if sound:
            return int(event.changes[0][1])
    raise _DamagedEvent(undo, "is damaged")


def _apply(log: EventLog, table: VertexTable, after: int, upto: int) -> None:
    """Apply a range of events; each must exist and be sound."""
    expected = after + 1
    try:
        for sequence, changes in log.changes(after, upto):
            if sequence != expected:
                break
            if changes is None:
                raise _DamagedEvent(expected, "is damaged")
            table.apply(changes, expected)
            expected += 1
    except (LookupError, TypeError, ValueError) as error:
        raise _DamagedEvent(expected, f"contradicts those before it ({error!r})") from error
    except HomeDamaged as error:
        raise _DamagedEvent(expected, f"cannot be read ({error})") from error
    if expected <= upto:
        raise _DamagedEvent(expected, "is missing")
