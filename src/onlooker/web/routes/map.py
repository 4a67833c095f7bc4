"""The graph for people to look at.

The graph as a map: who is linked to whom, and how strongly.

Distances are measured once for each vertex, outside the thread that owns the home: with 500 faces
of 9,216 numbers all pairs take a second, and a camera must not wait for a picture of the graph.
"""

from threading import Lock
from typing import Annotated, Any, NamedTuple

import numpy as np
from fastapi import APIRouter, Header, Response
from fastapi.concurrency import run_in_threadpool
from numpy.typing import NDArray

from onlooker.core.checks import Floats
from onlooker.core.records import Vertices
from onlooker.core.similarity import HeatKernel, squared_norms
from onlooker.home.home import Home
from onlooker.web import schemas
from onlooker.web.people import Row
from onlooker.web.requests import call_home
from onlooker.web.responses import problems
from onlooker.web.service import Service

LINKS = 6
"""A vertex brings its so many strongest links."""
AT_ONCE = 64
"""New vertices that are measured together."""

Link = tuple[int, int, float]


class Chart:
    """Strengths of all pairs of the vertices seen last: 1 at no distance, 0 at the cutoff."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._ids: NDArray[np.int64] = np.zeros(0, np.int64)
        self._norms: Floats = np.zeros(0)
        self._moments: Floats = np.zeros((0, 0))
        self._strengths: Floats = np.zeros((0, 0))

    def links(self, known: Vertices, kernel: HeatKernel) -> list[Link]:
        """Each link once, by places in the table; only vertices that are new are measured."""
        with self._lock:
            self._update(known.ids, known.vectors, kernel)
            return strongest(self._strengths)

    def _update(self, ids: NDArray[np.int64], vectors: NDArray[Any], kernel: HeatKernel) -> None:
        """Strengths in the order of these vertices; those that are gone are let go."""
        _, old, kept = np.intersect1d(self._ids, ids, assume_unique=True, return_indices=True)
        new = np.setdiff1d(np.arange(len(ids)), kept)
        wide = vectors.astype(np.float64, copy=False) if len(new) else np.zeros((len(ids), 0))
        fresh = kernel.distance.moments(wide[new]) if len(new) else self._moments[:0]
        norms, moments = np.zeros(len(ids)), np.zeros((len(ids), fresh.shape[1]))
        strengths = np.zeros((len(ids), len(ids)))
        if len(kept):
            norms[kept], moments[kept] = self._norms[old], self._moments[old]
            strengths[np.ix_(kept, kept)] = self._strengths[np.ix_(old, old)]
        norms[new], moments[new] = squared_norms(wide[new]), fresh
        for start in range(0, len(new), AT_ONCE):
            rows = new[start : start + AT_ONCE]
            gaps = np.maximum(norms[rows, None] + norms - 2.0 * (wide[rows] @ wide.T), 0.0)
            for row, gap in zip(rows.tolist(), gaps, strict=True):
                squared = kernel.distance.squared(gap, moments[row], moments)
                reached = np.clip(1.0 - np.sqrt(squared) / kernel.reach, 0.0, 1.0)
                strengths[row], strengths[:, row] = reached, reached
        np.fill_diagonal(strengths, 0.0)
        self._ids, self._norms, self._moments = ids.copy(), norms, moments
        self._strengths = strengths


def strongest(strengths: Floats) -> list[Link]:
    """For each row its strongest few above zero; a pair that two rows bring is one link.

    >>> strongest(np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.25], [0.0, 0.25, 0.0]]))
    [(0, 1, 0.5), (1, 2, 0.25)]
    """
    order = np.argsort(-strengths, axis=1, kind="stable")[:, :LINKS]
    rows = np.repeat(np.arange(len(strengths)), order.shape[1])
    pairs = {
        (min(i, j), max(i, j)) for i, j in zip(rows.tolist(), order.ravel().tolist(), strict=True)
    }
    return [(i, j, float(strengths[i, j])) for i, j in sorted(pairs) if strengths[i, j] > 0]


TAG = Annotated[str | None, Header(max_length=200)]


class _Copy(NamedTuple):
    """What the map is made of, once the thread that owns the home has let go of it."""

    sequence: int
    kernel: HeatKernel
    known: Vertices
    rows: list[Row]
    pictured: set[int]


def map_routes(service: Service) -> APIRouter:
    """One map, whose distances are remembered."""
    routes, people, chart = APIRouter(tags=["people"]), service.people, Chart()
    unchanged: dict[int | str, dict[str, Any]] = {304: {"description": "Nothing has changed."}}

    @routes.get("/map", response_model=schemas.Map, responses={**problems(422), **unchanged})
    async def draw(response: Response, if_none_match: TAG = None) -> object:
        """Every vertex, and each one's strongest links. The ETag is the newest event."""

        def act(home: Home) -> _Copy | None:
            if if_none_match == _tag(home.sequence):
                return None
            known = home.vertices()
            rows, pictured = people.everything(home), set(home.album.vertices())
            return _Copy(home.sequence, home.learner.kernel, known, rows, pictured)

        copy = await call_home(service, act)
        if copy is None:
            return Response(status_code=304, headers={"etag": if_none_match or ""})
        response.headers["etag"] = _tag(copy.sequence)
        return await run_in_threadpool(_drawn, copy, chart)

    return routes


def _tag(sequence: int) -> str:
    return f'"{sequence}"'


def _drawn(copy: _Copy, chart: Chart) -> schemas.Map:
    return schemas.Map(
        sequence=copy.sequence,
        kernel=schemas.Kernel(bandwidth=copy.kernel.bandwidth, cutoff=copy.kernel.cutoff),
        vertices=[
            schemas.MapVertex(
                vertex=row.vertex,
                name=row.name,
                labeled=row.labeled,
                examples=row.examples,
                picture=row.vertex in copy.pictured,
            )
            for row in copy.rows
        ],
        links=chart.links(copy.known, copy.kernel),
    )
