"""Names in a home: whose each vertex is, and giving somebody another name in one event."""

from dataclasses import dataclass, replace

import numpy as np

from onlooker.core.checks import as_name
from onlooker.core.errors import LabelConflict, NotFound
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import State
from onlooker.home.events import Change
from onlooker.home.home import Home


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of somebody.

    >>> Known("ana", labeled=4, learned=31, examples=812).learned
    31
    """

    name: str
    labeled: int
    """Vertices that somebody named."""
    learned: int
    """Vertices that were learned by watching."""
    examples: int
    """What all of them stand for."""


def everybody(learner: OnlineHarmonicLearner) -> list[Known]:
    """Everybody, in the order they were first named; one solution for all vertices at once.

    >>> from onlooker import HeatKernel
    >>> learner = OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> learner.teach([0.0], "ana")
    >>> _ = learner.observe([0.5])
    >>> everybody(learner)
    [Known(name='ana', labeled=1, learned=1, examples=2)]
    """
    known, owners = learner.vertices(), learner.owners()
    owner = np.array([owners[vertex] for vertex in known.ids.tolist()], dtype=object)
    named = np.array([name is not None for name in known.names], dtype=bool)
    people = []
    for name in learner.names:
        mine = owner == name
        labeled = int(np.count_nonzero(mine & named))
        examples = int(known.multiplicities[mine].sum())
        people.append(Known(name, labeled, int(np.count_nonzero(mine)) - labeled, examples))
    return people


def rename(home: Home, name: str, to: str) -> int:
    """Give somebody another name, which must be free: how many labeled faces they have."""
    if to in home.learner.names and to != name:
        raise LabelConflict(f"somebody is called {to!r} already; merge the two if they are one")
    return _call(home, "rename", name, to)


def merge(home: Home, name: str, into: str) -> int:
    """Two names, one person: the first name goes. How many labeled faces it had."""
    if into not in home.learner.names:
        raise NotFound(f"nobody is called {into!r}; rename {name!r} instead")
    return _call(home, "merge names", name, into)


def _call(home: Home, kind: str, name: str, to: str) -> int:
    """One event: labels and diary, all or nothing. No vertex moves."""
    to, learner = as_name(to), home.learner
    if name not in learner.names:
        raise NotFound(f"nobody is called {name!r}; known are {', '.join(learner.names) or '-'}")
    state = learner.state()
    mine = state.ids[state.labels == learner.names.index(name)].tolist()
    if name == to:
        return len(mine)
    called = learner.restored(_with_other_name(state, name, to))
    changes: list[Change] = [["labeled", vertex, to] for vertex in sorted(mine)]
    changes.append(["names", list(called.names)])
    home.replace_learner(kind, called, changes, also=lambda: home.album.rename(name, to))
    return len(mine)


def _with_other_name(state: State, name: str, to: str) -> State:
    old = state.names.index(name)
    if to not in state.names:
        return replace(state, names=[to if each == name else each for each in state.names])
    names = [each for each in state.names if each != name]
    labels = np.where(state.labels == old, state.names.index(to), state.labels)
    labels = np.where(labels > old, labels - 1, labels)
    return replace(state, names=names, labels=labels)
