"""What a learner taught itself, and how far it may be wrong: from what people said, without truth.

Two things are tried on a copy. *Hide a label*: the labeled face becomes an unlabeled one; does the
walk still give its name? *Hide a person*: all their vertices are taken out, as if nobody had ever
taught them; how many of their examples get another name then?

**Contamination.** A learned face hangs on a chain to a label of its name; its weakest link is the
longest step of the chain whose longest step is shortest. A stranger's faces come to a name by a
step from one person to another, and how long such steps are can be measured: for each labeled face,
the distance to the nearest face under any other name, as if its own person were hidden. With m and
s the mean and the standard deviation of those, N faces of strangers come as near as m - z s once,
where z is the quantile of the normal distribution at 1 - 1/N. Of a learned face whose weakest link
is longer than that, nobody can say that it is the person. The estimate is the share of such
examples, N the number of all faces so far. It does not see a step that is shorter, such as
that of a relative, or of a label that is wrong.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from statistics import NormalDist, mean, stdev

import numpy as np
from numpy.typing import NDArray

from onlooker.core.checks import Floats, slots_where
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Link, Vertices
from onlooker.core.similarity import distances, squared_distances_of_all
from onlooker.home.events import Event

FARTHEST = 4
"""How many learned faces of each person are listed."""
TWICE = 100
"""The newest events that are read for pairs with one name."""


@dataclass(frozen=True, slots=True)
class FarFace:
    """A learned face far from every label of its name, and the chain that it hangs on.

    >>> FarFace(7, 1.2, 12, Link(3, 2, 1e-5)).hops
    12
    """

    vertex: int
    distance: float
    """To the nearest labeled face of the name, in a straight line."""
    hops: int | None
    weakest_link: Link | None


@dataclass(frozen=True, slots=True)
class PersonAudit:
    """What is known of one person, and what happens when some of it is hidden.

    >>> PersonAudit("ana", 4, 31, 812, (), {"ana": 3, None: 1}, {"ben": 2}, "ben", 1.1).named_others
    2
    """

    name: str
    labeled: int
    learned: int
    examples: int
    farthest: tuple[FarFace, ...]
    """The learned faces that are farthest from all labels."""
    hidden_labels: Mapping[str | None, int]
    """The names that labeled faces get when their own label is hidden."""
    hidden_person: Mapping[str | None, int]
    """The names that examples get when the whole person is hidden."""
    most_alike: str | None
    """The person with the labeled face nearest to one of theirs; None: there is nobody else."""
    gap: float | None
    """How near."""

    @property
    def named_others(self) -> int:
        """Examples that somebody else's name gets when the person is hidden."""
        return sum(count for name, count in self.hidden_person.items() if name is not None)


@dataclass(frozen=True, slots=True)
class NamedTwice:
    """Two faces of one frame that had one name: one of them is somebody else, or a picture.

    >>> NamedTwice("ana", 0.0, "door", 310, 7, 3).name
    'ana'
    """

    name: str
    time: float
    camera: str | None
    frame: int | None
    surer: int
    """The vertex near to the face that had the name."""
    other: int
    """The vertex near to the other one."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The people of a home, and an estimate of its contamination.

    >>> Audit((), 0.0, None).contamination is None
    True
    """

    people: tuple[PersonAudit, ...]
    named_unknown: float
    """The share of a hidden person's examples that get another name: a stranger's chance."""
    contamination: float | None
    """The estimated share of named examples that are somebody else's; None where it cannot be
    said, because there is one person only."""
    twice: tuple[NamedTwice, ...] = ()
    """What contradicts that two faces of one frame are two people, the newest first."""
    longest_link: float | None = None
    """Up to which distance a step between two faces is trusted for this."""


def audit(
    learner: OnlineHarmonicLearner,
    *,
    refused: int,
    events: Iterable[Event] = (),
    done: Callable[[], object] = lambda: None,
) -> Audit:
    """Look at everything that was learned. refused: how many faces were nobody so far.

    events: those of kind `twice`, the newest first. done is called after each person.
    """
    known, carried = learner.vertices(), learner.owners()
    people, wide = [], _with_room(learner)
    for name in learner.names:
        people.append(_person(wide, known, carried, name))
        done()
    hidden = sum(sum(person.hidden_person.values()) for person in people)
    unknown = sum(person.named_others for person in people) / hidden if hidden else 0.0
    named = sum(person.examples for person in people)
    twice = tuple(_named_twice(events, carried))
    if len(people) < 2:
        return Audit(tuple(people), unknown, None, twice)
    weakest, between = _links(learner, known, carried)
    rare = NormalDist().inv_cdf(1 - 1 / max(2, refused + named))
    longest = mean(between) - rare * stdev(between)
    suspicious = int(known.multiplicities[weakest > longest].sum())
    return Audit(tuple(people), unknown, suspicious / named, twice, longest)


def _named_twice(
    events: Iterable[Event], carried: Mapping[int, str | None]
) -> Iterator[NamedTwice]:
    """Each pair of vertices once, as long as both have the same name: then nobody settled it."""
    listed = set[tuple[int, int]]()
    for event in events:
        for kind, *fields in event.changes:
            if kind != "twice" or (pair := (fields[0], fields[1])) in listed:
                continue
            name = carried.get(fields[0])
            if name is not None and name == carried.get(fields[1]):
                listed.add(pair)
                yield NamedTwice(name, event.time, event.camera, event.frame, *pair)


def _links(
    learner: OnlineHarmonicLearner, known: Vertices, carried: Mapping[int, str | None]
) -> tuple[Floats, list[float]]:
    """The weakest link of each vertex, and for each label the nearest vertex of another name."""
    apart = np.sqrt(squared_distances_of_all(learner.kernel.distance, known.vectors))
    owners = np.array([carried[vertex] or "" for vertex in known.ids.tolist()])
    labels = np.array([name or "" for name in known.names])
    weakest, between = np.zeros(len(owners)), list[float]()
    for name in learner.names:
        mine, others = slots_where(owners == name), slots_where((owners != name) & (owners != ""))
        own = labels[mine] == name
        weakest[mine] = _longest_steps(apart[np.ix_(mine, mine)], own)
        between += apart[np.ix_(mine[own], others)].min(axis=1).tolist()
    return weakest, between


def _longest_steps(apart: Floats, labeled: NDArray[np.bool_]) -> Floats:
    """The longest step of the best chain from each vertex to a labeled one.

    >>> places = np.array([0.0, 1.0, 3.0, 3.5])
    >>> _longest_steps(abs(places[:, None] - places), np.array([True, False, False, False]))
    array([0., 1., 2., 2.])
    """
    longest, waiting = np.where(labeled, 0.0, np.inf), np.ones(len(apart), dtype=bool)
    for _ in range(len(apart)):
        vertex = int(np.where(waiting, longest, np.inf).argmin())
        waiting[vertex] = False
        longest = np.minimum(longest, np.maximum(longest[vertex], apart[vertex]))
    return longest


def _person(
    learner: OnlineHarmonicLearner,
    known: Vertices,
    carried: Mapping[int, str | None],
    name: str,
) -> PersonAudit:
    ids = known.ids.tolist()
    mine = [row for row, vertex in enumerate(ids) if carried[vertex] == name]
    labels = [row for row in mine if known.names[row] == name]
    learned = [row for row in mine if known.names[row] is None]
    gap, alike = _most_alike(learner, known, labels, name)
    return PersonAudit(
        name,
        len(labels),
        len(learned),
        int(known.multiplicities[mine].sum()),
        _farthest(learner, known, labels, learned),
        _hidden_labels(learner, known, labels),
        _hidden_person(learner, known, mine),
        alike,
        gap,
    )


def _gaps(learner: OnlineHarmonicLearner, known: Vertices, row: int, to: list[int]) -> Floats:
    """The distances of a vertex to some others."""
    return distances(learner.kernel.distance, known.vectors[row], known.vectors[to])


def _farthest(
    learner: OnlineHarmonicLearner, known: Vertices, labels: list[int], learned: list[int]
) -> tuple[FarFace, ...]:
    gaps = {row: float(_gaps(learner, known, row, labels).min()) for row in learned}
    faces = []
    for row in sorted(learned, key=lambda row: -gaps[row])[:FARTHEST]:
        why = learner.explain(known.vectors[row])
        faces.append(FarFace(int(known.ids[row]), gaps[row], why.hops, why.weakest_link))
    return tuple(faces)


def _most_alike(
    learner: OnlineHarmonicLearner, known: Vertices, labels: list[int], name: str
) -> tuple[float | None, str | None]:
    others = [row for row, each in enumerate(known.names) if each not in (None, name)]
    if not others:
        return None, None
    gaps = np.array([_gaps(learner, known, row, others) for row in labels])
    return float(gaps.min()), known.names[others[int(gaps.min(axis=0).argmin())]]


def _hidden_labels(
    learner: OnlineHarmonicLearner, known: Vertices, labels: list[int]
) -> dict[str | None, int]:
    found: dict[str | None, int] = {}
    for row in labels:
        copy = deepcopy(learner)
        copy.unteach(known.vectors[row])
        label = copy.predict(known.vectors[row]).label
        found[label] = found.get(label, 0) + 1
    return found


def _hidden_person(
    learner: OnlineHarmonicLearner, known: Vertices, mine: list[int]
) -> dict[str | None, int]:
    copy = deepcopy(learner)
    for row in mine:
        copy.drop(int(known.ids[row]))
    found: dict[str | None, int] = {}
    for row in mine:
        label = copy.predict(known.vectors[row]).label
        found[label] = found.get(label, 0) + int(known.multiplicities[row])
    return found


def _with_room(learner: OnlineHarmonicLearner) -> OnlineHarmonicLearner:
    """The same knowledge with room for one vertex more, so that hiding a label merges nothing."""
    return learner.empty_copy(max_vertices=learner.max_vertices + 1).restored(learner.state())
