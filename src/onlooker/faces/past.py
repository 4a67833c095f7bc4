"""What was known after an event: the newest good snapshot before it, and the events since.

Nothing is solved: the events say what the learner did. Where an undo lies on the way, the state
it went back to is found first, and only what came after the undo is applied to that.
"""

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.persistence import Saved
from onlooker.core.records import State
from onlooker.faces.ledger import Ledger
from onlooker.faces.replay import Table
from onlooker.faces.snapshots import Snapshots
from onlooker.faces.store import StoreDamaged, StoreError


@dataclass(frozen=True, slots=True, eq=False)
class Remembered:
    """A learner as it was after an event, and what stood in the way."""

    settings: OnlineHarmonicLearner
    """An empty learner with the settings that were saved."""
    state: State
    sequence: int
    """The event it was reached: the one asked for, or the last before the damage."""
    problems: tuple[str, ...] = ()

    def learner(self, next_id: int = 0) -> OnlineHarmonicLearner:
        """The learner itself; ids below next_id have been in use."""
        newer = replace(self.state, next_id=max(next_id, self.state.next_id))
        return self.settings.restored(newer)


class NotMended(StoreError):
    """The way around some damage is known, but cannot be written: nothing may be built on it."""

    def __init__(self, learner: OnlineHarmonicLearner, error: Exception) -> None:
        super().__init__(f"damage could not be mended yet: {error}")
        self.learner = learner
        """What could be saved."""


class _Damaged(Exception):
    """The event with that number cannot be applied."""

    def __init__(self, sequence: int, reason: str) -> None:
        super().__init__(sequence, reason)
        self.sequence, self.reason = sequence, reason


def remember(ledger: Ledger, snapshots: Snapshots, upto: int) -> Remembered:
    """What was known after an event, or after the last one before the damage."""
    try:
        return _exactly(ledger, snapshots, upto)
    except _Damaged as damage:
        lost = f"events {damage.sequence} to {upto}" if damage.sequence < upto else f"event {upto}"
        found = remember(ledger, snapshots, damage.sequence - 1)
        problem = f"event {damage.sequence} {damage.reason}; lost: {lost}"
        return Remembered(found.settings, found.state, found.sequence, (problem, *found.problems))


def _exactly(ledger: Ledger, snapshots: Snapshots, upto: int) -> Remembered:
    spans: list[tuple[int, int]] = []
    top = upto
    while True:
        base, saved = _newest(snapshots, top)
        undo = ledger.last_undo(base, top)
        if undo is None:
            break
        spans.insert(0, (undo, top))
        top = _went_back_to(ledger, undo)
    table = Table(saved.state)
    for after, last in [(base, top), *spans]:
        _apply(ledger, table, after, last)
    lost = table.complete(ledger.vectors(table.unknown))
    problems = tuple(f"the vector of vertex {vertex} is damaged; it is lost" for vertex in lost)
    like = _any_vector(ledger, upto) if table.next_id > saved.state.next_id else None
    table.next_id = max(table.next_id, ledger.last()[1])  # no id is used twice
    return Remembered(OnlineHarmonicLearner(**saved.settings), table.state(like), upto, problems)


def _any_vector(ledger: Ledger, upto: int) -> NDArray[Any] | None:
    """A learner that lost every vertex still knows the length of its vectors."""
    sequence = ledger.brought_a_vector(upto)
    return None if sequence is None else next(iter(ledger.vectors([sequence]).values()), None)


def _newest(snapshots: Snapshots, upto: int) -> tuple[int, Saved]:
    found = snapshots.newest(upto)
    if found is None:
        raise StoreDamaged(
            f"there is no good snapshot of event {upto} or before; restore a backup, "
            "or begin anew in another folder"
        )
    return found


def _went_back_to(ledger: Ledger, undo: int) -> int:
    for event, sound in ledger.events(undo - 1, undo):
        if sound:
            return int(event.changes[0][1])
    raise _Damaged(undo, "is damaged")


def _apply(ledger: Ledger, table: Table, after: int, upto: int) -> None:
    """Apply the events of a span; each must be there, and sound."""
    expected = after + 1
    try:
        for sequence, changes in ledger.changes(after, upto):
            if sequence != expected:
                break
            if changes is None:
                raise _Damaged(expected, "is damaged")
            table.apply(changes, expected)
            expected += 1
    except (LookupError, TypeError, ValueError) as error:
        raise _Damaged(expected, f"contradicts those before it ({error!r})") from error
    except StoreDamaged as error:
        raise _Damaged(expected, f"cannot be read ({error})") from error
    if expected <= upto:
        raise _Damaged(expected, "is missing")
