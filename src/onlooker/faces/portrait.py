"""What a home knows of one person, taken out to be given away; all others stay at home."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from onlooker.core.graph import UNLABELED
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import State
from onlooker.faces.home import Home
from onlooker.faces.parcel import Parcel
from onlooker.faces.store import StoreDamaged


@dataclass(frozen=True, slots=True, eq=False)
class Portrait:
    """Copies only: whoever has one need not wait for the home."""

    settings: OnlineHarmonicLearner
    state: State
    pictures: Mapping[int, bytes]

    def parcel(self) -> Parcel:
        """As an export holds it; measures all pairs of faces, so not in the home's thread."""
        return Parcel(self.settings.restored(self.state), self.pictures)


def portrait(home: Home, name: str, vertices: Collection[int]) -> Portrait:
    """The faces of a person, labeled and learned, as somebody else would be taught them."""
    state = home.learner.state()
    mine = np.isin(state.ids, list(vertices))
    theirs = state.labels[mine] == state.names.index(name)
    pictures: dict[int, bytes] = {}
    for vertex in set(home.album.vertices()) & set(vertices):
        with suppress(StoreDamaged):
            pictures[vertex] = home.album.picture(vertex) or b""
    alone = State(
        state.ids[mine],
        state.vectors[mine],
        state.multiplicities[mine],
        np.where(theirs, 0, UNLABELED),
        [name],
        state.radius,
        state.next_id,
    )
    return Portrait(home.learner, alone, pictures)
