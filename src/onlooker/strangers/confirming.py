"""What a yes confirms besides the stranger: faces that were learned under the same name.

With a trust radius a name is carried no farther from the labels than the radius, and an answer that
confirms one face moves it by one face. So whoever is asked "is this ana?" is also shown some of
what was learned as ana, and a yes makes labels of that too. The faces shown are those from which
the radius leads on farthest: far from every labeled face of the name, from the faces that the
question is about, and from each other. It is also where a learned face is most likely somebody
else's, so the person who leaves it out has found a mistake.
"""

from collections.abc import Container, Mapping, Sequence

from onlooker.core.checks import Rows
from onlooker.core.records import Vertices
from onlooker.core.similarity import HeatKernel
from onlooker.strangers.cards import most_different

LEARNED = 6
"""Faces that are shown at most. One person alone, who walks from the dark into the light (webcams),
is found in 0.971 of the frames after five answers with 4 of them, and in 0.975 with 6."""
NEAR = 0.5
"""Of the trust radius: a learned face that is nearer to a label has little to add to it."""


def faces_to_confirm(
    name: str,
    faces: Sequence[Rows],
    known: Vertices,
    owners: Mapping[int, str | None],
    kernel: HeatKernel,
    trust_radius: float,
    allowed: Container[int] | None = None,
) -> tuple[int, ...]:
    """The learned vertices to confirm with an answer that teaches these faces as `name`.

    owners: the name that each vertex carries. allowed: those that may be chosen, such as those with
    a picture; all unless given.

    >>> import numpy as np
    >>> from onlooker import OnlineHarmonicLearner
    >>> learner = OnlineHarmonicLearner(HeatKernel(0.3, 1e-5), trust_radius=2.0)
    >>> learner.teach([0.0], "ana")
    >>> [learner.observe([x]).label for x in (0.5, 1.2, 1.9, 2.4)]
    ['ana', 'ana', 'ana', None]
    >>> known, owners, asked = learner.vertices(), learner.owners(), np.array([2.4])
    >>> faces_to_confirm("ana", [asked], known, owners, learner.kernel, 2.0)
    (2,)
    """
    ids = known.ids.tolist()
    learned = [
        row
        for row, vertex in enumerate(ids)
        if owners.get(vertex) == name and (allowed is None or vertex in allowed)
    ]
    labeled = [known.vectors[row] for row, each in enumerate(known.names) if each == name]
    chosen = most_different(
        [known.vectors[row] for row in learned],
        LEARNED,
        kernel,
        known=[*labeled, *faces],
        least=NEAR * trust_radius,
    )
    return tuple(ids[learned[row]] for row in chosen)
