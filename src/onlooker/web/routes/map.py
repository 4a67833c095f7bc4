"""The graph as a map: the vertices, and the strongest links of each.

The distances of a vertex are computed once, outside the home thread: with 500 faces of 9,216
numbers all pairs take a second, and cameras must not wait for that. All pairs of 10,000 labeled
faces would take gigabytes, and nobody could tell them apart on a map: it has some of them.
"""

from collections import Counter
from collections.abc import Sequence
from threading import Lock
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from fastapi import APIRouter, Header, Response
from fastapi.concurrency import run_in_threadpool
from numpy.typing import NDArray

from onlooker.core.checks import Floats
from onlooker.core.similarity import HeatKernel, squared_norms
from onlooker.home.home import Home
from onlooker.home.people import VertexOwner
from onlooker.web.responses import problems
from onlooker.web.schemas import GraphMap, KernelRow, MapVertex
from onlooker.web.service import Service

MOST = 1000
"""The largest number of vertices on the map."""
LINKS = 6
"""The number of strongest links of each vertex that are on the map."""
BATCH = 64
"""New vertices whose distances are computed together."""

MapLink = tuple[int, int, float]
"""Two indices into the list of vertices, the smaller first, and a strength from 0 to 1."""
IfNoneMatch = Annotated[str | None, Header(max_length=200)]


class LinkStrengths:
    """The strength of every pair of vertices: 1 at distance 0, and 0 at the cutoff."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._ids: NDArray[np.int64] = np.zeros(0, np.int64)
        self._norms: Floats = np.zeros(0)
        self._moments: Floats = np.zeros((0, 0))
        self._strengths: Floats = np.zeros((0, 0))

    def links(
        self, ids: NDArray[np.int64], vectors: NDArray[Any], kernel: HeatKernel
    ) -> list[MapLink]:
        """Each link once; distances are computed only for vertices that are new."""
        with self._lock:
            self._update(ids, vectors, kernel)
            return strongest(self._strengths)

    def _update(self, ids: NDArray[np.int64], vectors: NDArray[Any], kernel: HeatKernel) -> None:
        """Bring the strengths into the order of these vertices; drop those of deleted ones."""
        _, old, same = np.intersect1d(self._ids, ids, assume_unique=True, return_indices=True)
        new = np.setdiff1d(np.arange(len(ids)), same)
        wide = vectors.astype(np.float64, copy=False) if len(new) else np.zeros((len(ids), 0))
        fresh = kernel.distance.moments(wide[new]) if len(new) else self._moments[:0]
        norms, moments = np.zeros(len(ids)), np.zeros((len(ids), fresh.shape[1]))
        strengths = np.zeros((len(ids), len(ids)))
        if len(same):
            norms[same], moments[same] = self._norms[old], self._moments[old]
            strengths[np.ix_(same, same)] = self._strengths[np.ix_(old, old)]
        norms[new], moments[new] = squared_norms(wide[new]), fresh
        for start in range(0, len(new), BATCH):
            rows = new[start : start + BATCH]
            gaps = np.maximum(norms[rows, None] + norms - 2.0 * (wide[rows] @ wide.T), 0.0)
            for row, gap in zip(rows.tolist(), gaps, strict=True):
                squared = kernel.distance.squared(gap, moments[row], moments)
                reached = np.clip(1.0 - np.sqrt(squared) / kernel.reach, 0.0, 1.0)
                strengths[row], strengths[:, row] = reached, reached
        np.fill_diagonal(strengths, 0.0)
        self._ids, self._norms, self._moments = ids.copy(), norms, moments
        self._strengths = strengths


def strongest(strengths: Floats) -> list[MapLink]:
    """The strongest links of each row that are above zero, each pair once.

    >>> strongest(np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.25], [0.0, 0.25, 0.0]]))
    [(0, 1, 0.5), (1, 2, 0.25)]
    """
    order = np.argsort(-strengths, axis=1, kind="stable")[:, :LINKS]
    rows = np.repeat(np.arange(len(strengths)), order.shape[1])
    pairs = {
        (min(i, j), max(i, j)) for i, j in zip(rows.tolist(), order.ravel().tolist(), strict=True)
    }
    return [(i, j, float(strengths[i, j])) for i, j in sorted(pairs) if strengths[i, j] > 0]


def on_the_map(owners: Sequence[VertexOwner], most: int = MOST) -> list[VertexOwner]:
    """All vertices, or the most important ones of everybody: as many labeled as learned of each.

    Those that stand for most examples come first, then the oldest.

    >>> many = [VertexOwner(number, "ana", True, 1) for number in range(9)]
    >>> [each.vertex for each in on_the_map([*many, VertexOwner(9, "ben", False, 4)], most=3)]
    [0, 1, 9]
    """
    if len(owners) <= most:
        return list(owners)
    seen: Counter[tuple[str | None, bool]] = Counter()
    places = list[tuple[int, int]]()
    for at, owner in sorted(enumerate(owners), key=lambda each: -each[1].examples):
        places.append((seen[owner.name, owner.labeled], at))
        seen[owner.name, owner.labeled] += 1
    return [owners[at] for at in sorted(at for _, at in sorted(places)[:most])]


class _GraphCopy(NamedTuple):
    """What the map needs of the home, copied in the home thread."""

    sequence: int
    kernel: HeatKernel
    ids: NDArray[np.int64]
    vectors: NDArray[Any]
    owners: list[VertexOwner]
    left_out: int
    pictured: set[int]

    @classmethod
    def of(cls, home: Home, owners: list[VertexOwner]) -> Self:
        """Only what is on the map: all vectors may be hundreds of megabytes."""
        shown, learner = on_the_map(owners), home.learner
        vectors = [learner.vector(owner.vertex) for owner in shown]
        return cls(
            home.sequence,
            learner.kernel,
            np.array([owner.vertex for owner in shown], np.int64),
            np.stack(vectors) if vectors else np.zeros((0, 0)),
            shown,
            len(owners) - len(shown),
            set(home.album.vertices()),
        )


def map_routes(service: Service) -> APIRouter:
    """The map, whose link strengths are cached."""
    routes, strengths = APIRouter(tags=["people"]), LinkStrengths()
    people, call = service.people, service.home_thread.call
    unchanged: dict[int | str, dict[str, Any]] = {304: {"description": "Nothing has changed."}}

    @routes.get("/map", response_model=GraphMap, responses={**problems(422), **unchanged})
    async def graph_map(response: Response, if_none_match: IfNoneMatch = None) -> object:
        """The vertices, and each one's strongest links. The ETag is the newest event.

        Of more than 1,000 vertices the map has some of everybody, labeled and learned.
        """

        def job(home: Home) -> _GraphCopy | None:
            if if_none_match == _etag(home.sequence):
                return None
            return _GraphCopy.of(home, people.vertex_owners(home))

        copy = await call(job)
        if copy is None:
            return Response(status_code=304, headers={"etag": if_none_match or ""})
        response.headers["etag"] = _etag(copy.sequence)
        return await run_in_threadpool(_graph_map, copy, strengths)

    return routes


def _etag(sequence: int) -> str:
    return f'"{sequence}"'


def _graph_map(copy: _GraphCopy, strengths: LinkStrengths) -> GraphMap:
    return GraphMap(
        sequence=copy.sequence,
        kernel=KernelRow(bandwidth=copy.kernel.bandwidth, cutoff=copy.kernel.cutoff),
        vertices=[
            MapVertex(
                vertex=owner.vertex,
                name=owner.name,
                labeled=owner.labeled,
                examples=owner.examples,
                picture=owner.vertex in copy.pictured,
            )
            for owner in copy.owners
        ],
        left_out=copy.left_out,
        links=strengths.links(copy.ids, copy.vectors, copy.kernel),
    )
