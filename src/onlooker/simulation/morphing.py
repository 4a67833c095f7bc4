"""Animate a face: ten still pictures are joined into one endless, smooth movement.

The pictures of a person are the vertices of a spanning tree of the smoothest transitions, and the
animation walks around that tree: every picture is reached from one most like it. Along an edge the
face is morphed by optical flow, so that features move instead of fading out here and in there. An
edge over which the flow does not carry one picture onto the other (spectacles taken off, hair cut)
is left out, and with it the smaller part of the tree: no frame shows a torn or a double face.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from onlooker.core.errors import BadValue
from onlooker.simulation.orl import TALL, WIDE

Grey = NDArray[np.uint8]
Field = NDArray[np.float32]

GHOST = 9.8
"""Mean difference in detail (grey levels) that two pictures may have half way along their edge.

Chosen by eye from all 360 edges: below it faces only move, above it spectacles begin to fade.
"""

_ROWS, _COLUMNS = np.mgrid[:TALL, :WIDE].astype(np.float32)
_FACE = ((_COLUMNS - 46) / 40) ** 2 + ((_ROWS - 60) / 50) ** 2 < 1


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """Two pictures and the optical flow between them, in both directions."""

    before: Grey
    after: Grey
    forth: Field
    back: Field

    def at(self, share: float) -> Grey:
        """The face at this fraction of the transition.

        >>> still = np.full((112, 92), 90, np.uint8)
        >>> int(join(still, still).at(0.5).max())
        90
        """
        first, second = self.both(share)
        return cv2.addWeighted(first, 1 - share, second, share, 0).astype(np.uint8)

    def both(self, share: float) -> tuple[Grey, Grey]:
        """Each picture warped to where the features are at that fraction."""
        rest = 1 - share
        to_before = share * share * self.back - share * rest * self.forth
        to_after = rest * rest * self.forth - share * rest * self.back
        return _warp(self.before, to_before), _warp(self.after, to_after)

    def ghost(self) -> float:
        """How visible a double face is half way, in grey levels; light does not count."""
        first, second = self.both(0.5)
        difference = first.astype(np.float32) - second
        detail = difference - cv2.GaussianBlur(difference, (0, 0), 8)
        return float(np.abs(detail)[_FACE].mean())

    def reversed(self) -> "Edge":
        """The same edge in the other direction."""
        return Edge(self.after, self.before, self.back, self.forth)


def join(before: Grey, after: Grey) -> Edge:
    """The edge between two pictures."""
    return _join(_method(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM), before, after)


class AnimatedFace:
    """The pictures of one person as a closed animation; equal steps look about equally large.

    >>> from onlooker.simulation.orl import pictures_of
    >>> face = AnimatedFace(pictures_of(2))
    >>> face.at(0.0).shape
    (112, 92)
    >>> bool((face.at(0.0) == face.at(face.length)).all())
    True
    """

    def __init__(self, pictures: Grey) -> None:
        edges = _tree(pictures)
        if not edges:
            raise BadValue(f"no two of these {len(pictures)} pictures can be joined smoothly")
        linked = np.zeros((len(pictures), len(pictures)), np.bool_)
        for a, b in edges:
            linked[a, b] = linked[b, a] = True
        part = connected_components(linked, directed=False)[1]
        joined = part == np.bincount(part).argmax()
        steps = list(pairwise(_around(linked, int(joined.argmax()))))
        self.pictures = int(joined.sum())
        """How many of the pictures are part of it."""
        self._edges = [edges[a, b] if a < b else edges[b, a].reversed() for a, b in steps]
        self._ends = np.cumsum([_gap(edge) for edge in self._edges])
        self.length = float(self._ends[-1])
        """Length of one round, in grey levels of mean difference."""

    def at(self, position: float) -> Grey:
        """The face at this position; it repeats after `length`."""
        position %= self.length
        index = int(np.searchsorted(self._ends, position, side="right"))
        start = self._ends[index - 1] if index else 0.0
        return self._edges[index].at(float((position - start) / (self._ends[index] - start)))


def _around(linked: NDArray[np.bool_], start: int, parent: int = -1) -> Iterator[int]:
    """A depth-first tour of the tree: every edge there and back."""
    yield start
    for neighbour in np.flatnonzero(linked[start]).tolist():
        if neighbour != parent:
            yield from _around(linked, neighbour, start)
            yield start


def _tree(pictures: Grey) -> dict[tuple[int, int], Edge]:
    """The spanning tree with the least ghosts (judged by a quick flow), without its bad edges."""
    ghosts = np.zeros((len(pictures), len(pictures)))
    rough = _method(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST)
    for a, b in combinations(range(len(pictures)), 2):
        ghosts[a, b] = _join(rough, pictures[a], pictures[b]).ghost()
    ends = np.argwhere(minimum_spanning_tree(ghosts).toarray()).tolist()
    edges = {(a, b): join(pictures[a], pictures[b]) for a, b in ends}
    return {pair: edge for pair, edge in edges.items() if edge.ghost() <= GHOST}


def _gap(edge: Edge) -> float:
    """Mean difference of the blurred faces, apart from their brightness."""
    before, after = (
        cv2.GaussianBlur(picture, (0, 0), 3)[_FACE].astype(np.float64)
        for picture in (edge.before, edge.after)
    )
    return float(np.abs((before - before.mean()) - (after - after.mean())).mean()) + 1.0


def _method(preset: int) -> cv2.DISOpticalFlow:
    method = cv2.DISOpticalFlow.create(preset)
    method.setVariationalRefinementAlpha(40.0)  # stiffer than usual: a face is one piece
    return method


def _join(method: cv2.DISOpticalFlow, before: Grey, after: Grey) -> Edge:
    first, second = _equalised(before.tobytes()), _equalised(after.tobytes())
    return Edge(before, after, _flow(method, first, second), _flow(method, second, first))


@lru_cache(maxsize=16)
def _equalised(picture: bytes) -> Grey:
    """The input of the flow: contrast equalised, so that light does not matter."""
    soft = cv2.GaussianBlur(np.frombuffer(picture, np.uint8).reshape(TALL, WIDE), (0, 0), 1.0)
    return cv2.createCLAHE(2.0, (4, 4)).apply(soft).astype(np.uint8)


def _flow(method: cv2.DISOpticalFlow, before: Grey, after: Grey) -> Field:
    empty = np.zeros((*before.shape, 2), np.float32)
    return cv2.GaussianBlur(method.calc(before, after, empty), (0, 0), 2).astype(np.float32)


def _warp(picture: Grey, by: Field) -> Grey:
    columns, rows = _COLUMNS + by[..., 0], _ROWS + by[..., 1]
    border = cv2.BORDER_REPLICATE
    return cv2.remap(picture, columns, rows, cv2.INTER_LINEAR, borderMode=border).astype(np.uint8)
