"""What a learner taught itself, and how far it may be wrong: from what people said, without truth.

Two things are tried on a copy. *Hide a label*: the labeled face becomes an unlabeled one; does the
walk still give its name? *Hide a person*: all their vertices are taken out, as if nobody had ever
taught them; how many of their examples get another name then? That is what would happen to
somebody who is unknown, and so to a stranger: with s the share of a hidden person's examples that
get another name, refused the number of faces that were nobody, and named that of faces with a name,
there were refused / (1 - s) strangers' faces, of which s / (1 - s) refused were named wrongly.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from onlooker.core.checks import Floats
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Link, Vertices
from onlooker.core.similarity import squared_distances

FARTHEST = 4
"""How many learned faces of each person are listed."""
MOST_NAMED = 0.95
"""Where nearly every hidden face gets another name, the number of strangers cannot be estimated."""


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
class Audit:
    """The people of a home, and an estimate of its contamination.

    >>> Audit((), 0.0, None).contamination is None
    True
    """

    people: tuple[PersonAudit, ...]
    named_unknown: float
    """The share of a hidden person's examples that get another name: a stranger's chance."""
    contamination: float | None
    """The estimated share of named faces that are strangers'; None where it cannot be said."""


def audit(
    learner: OnlineHarmonicLearner, *, refused: int, done: Callable[[], object] = lambda: None
) -> Audit:
    """Look at everything that was learned. refused: how many faces were nobody so far.

    done is called after each person.
    """
    known, carried = learner.vertices(), learner.owners()
    people = []
    for name in learner.names:
        people.append(_person(learner, known, carried, name))
        done()
    hidden = sum(sum(person.hidden_person.values()) for person in people)
    unknown = sum(person.named_others for person in people) / hidden if hidden else 0.0
    named = sum(person.examples for person in people)
    contamination = None
    if len(people) > 1 and unknown < MOST_NAMED:
        contamination = min(1.0, unknown / (1 - unknown) * refused / max(1, named))
    return Audit(tuple(people), unknown, contamination)


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
    x, rows = (known.vectors[some].astype(np.float64) for some in (row, to))
    return np.sqrt(squared_distances(learner.kernel.distance, x, rows))


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
        copy = _copy(learner)
        copy.unteach(known.vectors[row])
        label = copy.predict(known.vectors[row]).label
        found[label] = found.get(label, 0) + 1
    return found


def _hidden_person(
    learner: OnlineHarmonicLearner, known: Vertices, mine: list[int]
) -> dict[str | None, int]:
    copy = _copy(learner)
    for row in mine:
        copy.drop(int(known.ids[row]))
    found: dict[str | None, int] = {}
    for row in mine:
        label = copy.predict(known.vectors[row]).label
        found[label] = found.get(label, 0) + int(known.multiplicities[row])
    return found


def _copy(learner: OnlineHarmonicLearner) -> OnlineHarmonicLearner:
    """The same knowledge with room for one vertex more, so that hiding a label merges nothing."""
    return learner.empty_copy(max_vertices=learner.max_vertices + 1).restored(learner.state())
