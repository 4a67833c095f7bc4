"""People of a home: how much is known of each, and renaming or merging them in one event."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlooker.core.checks import as_name
from onlooker.core.errors import LabelConflict, NotFound
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import State
from onlooker.home.events import Change
from onlooker.home.home import Home


@dataclass(frozen=True, slots=True)
class PersonCounts:
    """How many vertices and examples a person has.

    >>> PersonCounts("ana", labeled=4, learned=31, examples=812).learned
    31
    """

    name: str
    labeled: int
    """Vertices that were labeled."""
    learned: int
    """Vertices that were learned from unlabeled examples."""
    examples: int
    """Examples that all of them stand for."""


class VertexOwner(NamedTuple):
    """One vertex: whose face it is, whether a person said so, how many examples it stands for."""

    vertex: int
    name: str | None
    labeled: bool
    examples: int


def vertex_owners(learner: OnlineHarmonicLearner) -> list[VertexOwner]:
    """Of every vertex, whose face it is: as labeled, or as it would be recognized now.

    One solve for all vertices; no vector is read.
    """
    known, owners = learner.vertices(vectors=False), learner.owners()
    rows = zip(known.ids.tolist(), known.names, known.multiplicities.tolist(), strict=True)
    return [
        VertexOwner(vertex, name or owners[vertex], name is not None, count)
        for vertex, name, count in rows
    ]


def count_people(learner: OnlineHarmonicLearner) -> list[PersonCounts]:
    """The counts of everybody, in the order they were first taught; one solve for all vertices.

    >>> from onlooker import HeatKernel
    >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> learner.teach([0.0], "ana")
    >>> _ = learner.observe([0.5])
    >>> count_people(learner)
    [PersonCounts(name='ana', labeled=1, learned=1, examples=2)]
    """
    return counts_of(learner.names, vertex_owners(learner))


def counts_of(names: Iterable[str], owners: Iterable[VertexOwner]) -> list[PersonCounts]:
    """The counts of these people, from whose face every vertex is."""
    counts = {name: [0, 0, 0] for name in names}
    for _, name, labeled, examples in owners:
        if name is not None:
            row = counts[name]
            row[0 if labeled else 1] += 1
            row[2] += examples
    return [PersonCounts(name, *row) for name, row in counts.items()]


def rename(home: Home, name: str, to: str) -> int:
    """Give a person another name, which must be unused: how many labeled faces they have."""
    if to in home.learner.names and to != name:
        raise LabelConflict(
            f"somebody is called {to!r} already; merge the two if they are one person"
        )
    return _change_name(home, "rename", name, to)


def merge(home: Home, name: str, into: str) -> int:
    """Join two names of one person: the first name is removed. How many labeled faces it had."""
    if into not in home.learner.names:
        raise NotFound(f"nobody is called {into!r}; rename {name!r} instead")
    return _change_name(home, "merge names", name, into)


def _change_name(home: Home, kind: str, name: str, to: str) -> int:
    """Change labels and sightings in one event. No vertex moves."""
    to, learner = as_name(to), home.learner
    if name not in learner.names:
        raise NotFound(f"nobody is called {name!r}; known are {', '.join(learner.names) or '-'}")
    state = learner.state()
    mine = state.ids[state.labels == learner.names.index(name)].tolist()
    if name == to:
        return len(mine)
    renamed = learner.restored(_renamed_state(state, name, to))
    changes: list[Change] = [["labeled", vertex, to] for vertex in sorted(mine)]
    before, after = learner.vertices().negatives, renamed.vertices().negatives
    changes += [
        ["negatives", vertex, sorted(after.get(vertex, ()), key=str)]
        for vertex in before
        if before[vertex] != after.get(vertex)
    ]
    changes.append(["names", list(renamed.names)])
    with home.batch():
        changes.append(["people", home.album.persons.rename(name, to)])
        home.replace_learner(kind, renamed, changes)
    return len(mine)


def _renamed_state(state: State, name: str, to: str) -> State:
    old = state.names.index(name)
    if to not in state.names:
        return replace(state, names=[to if each == name else each for each in state.names])
    names = [each for each in state.names if each != name]

    def moved(labels: NDArray[np.int64]) -> NDArray[np.int64]:
        labels = np.where(labels == old, state.names.index(to), labels)
        return np.where(labels > old, labels - 1, labels)

    negatives = np.column_stack([state.negatives[:, 0], moved(state.negatives[:, 1])])
    # "Not ana" of a face that is ben says nothing any more once ana is ben.
    mine = set(state.ids[moved(state.labels) == names.index(to)].tolist())
    stays = [not (vertex in mine and label == names.index(to)) for vertex, label in negatives]
    remaining = np.unique(negatives[np.array(stays, dtype=bool)], axis=0)
    return replace(state, names=names, labels=moved(state.labels), negatives=remaining)
