"""A graph as arrays and back: what a saved learner consists of.

Similarities are not saved: the distance of two vectors depends on nothing but the two, so they
come back the same bits. Vertices are saved in slot order, so that sums are added up as before.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlooker.checks import as_rows
from onlooker.errors import BadVector, SnapshotError
from onlooker.graph import UNLABELED, Graph
from onlooker.quantizer import ClosestPair, Doubling, Quantizer
from onlooker.similarity import Cosine, Distance, Euclidean, HeatKernel

Arrays = dict[str, NDArray[Any]]

KNOWN: tuple[Distance | Quantizer, ...] = (Euclidean(), Cosine(), ClosestPair(), Doubling())


def graph_to_arrays(graph: Graph) -> Arrays:
    """Everything that cannot be computed again."""
    slots = graph.occupied
    return {
        "ids": graph.ids[slots],
        "labels": graph.label[slots].astype(np.int64),
        "multiplicities": graph.multiplicity[slots],
        "vectors": graph.vectors.rows[slots],
    }


def graph_from_arrays(
    kernel: HeatKernel, arrays: Mapping[str, NDArray[Any]], names: int, next_id: int
) -> Graph:
    """The graph that was saved; what contradicts itself is refused."""
    try:
        columns = [arrays[key] for key in ("ids", "labels", "multiplicities")]
        vectors = as_rows(arrays["vectors"]) if len(columns[0]) else arrays["vectors"]
    except (KeyError, BadVector) as error:
        raise _contradiction(str(error)) from error
    ids, labels, multiplicities = columns
    if any(column.shape != (len(vectors),) or column.dtype != np.int64 for column in columns):
        raise _contradiction("columns of different lengths or types")
    if vectors.ndim != 2:
        raise _contradiction(f"vectors of shape {vectors.shape}")
    sound = (
        len(np.unique(ids)) == len(ids)
        and ((ids >= 0) & (ids < next_id)).all()
        and ((labels >= UNLABELED) & (labels < names)).all()
        and len(np.unique(labels[labels >= 0])) == names
        and (multiplicities > 0).all()
    )
    if not sound:
        raise _contradiction("ids, labels or multiplicities out of range")
    graph = Graph(kernel, vectors.shape[1], vectors.dtype)
    graph.reserve(len(ids))
    for slot in range(len(ids)):
        query = graph.vectors.query(vectors[slot])
        near = graph.near(query)
        if graph.nearest(near, 0.0) is not None:
            raise _contradiction("two vertices at the same place")
        graph.restore(
            slot, int(ids[slot]), query, near, int(multiplicities[slot]), int(labels[slot])
        )
    graph.next_id = next_id
    return graph


def by_repr(text: object, given: Any = None) -> Any:
    """The distance or quantizer that a file names; one we do not know must be handed in."""
    for known in (given, *KNOWN):
        if known is not None and repr(known) == text:
            return known
    if given is not None:
        raise SnapshotError(f"this file was saved with {text}, not with {given!r}")
    raise SnapshotError(
        f"this file was saved with {text}, which is not part of the core; "
        "hand it to load(path, distance=...) or load(path, quantizer=...)"
    )


def _contradiction(what: str) -> SnapshotError:
    return SnapshotError(f"this snapshot contradicts itself ({what}); use an older copy")
