"""A learner as the header and arrays of a snapshot, and back.

Similarities are not saved: the distance of two vectors depends on the two alone, so computing them
again gives the same bits. Vertices are saved in slot order, so that sums are added up in the same
order as before.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onlooker.core import snapshot
from onlooker.core.checks import as_name, as_number, as_rows
from onlooker.core.errors import BadValue, BadVector, Incompatible, SnapshotError
from onlooker.core.graph import NOBODY, UNLABELED, Graph
from onlooker.core.quantizer import QUANTIZERS, Quantizer
from onlooker.core.records import State
from onlooker.core.similarity import Cosine, Distance, Euclidean, HeatKernel

WHAT = "onlooker.OnlineHarmonicLearner"

NO_NEGATIVES: NDArray[np.int64] = np.zeros((0, 2), dtype=np.int64)

KNOWN: tuple[Distance | Quantizer, ...] = (Euclidean(), Cosine(), *QUANTIZERS)


@dataclass(frozen=True, eq=False)
class Saved:
    """A learner taken apart: what its constructor is given, and what it has learned since."""

    settings: dict[str, Any]
    state: State

    def write(self, path: snapshot.Source) -> None:
        """Write it to a file."""
        settings, state = dict(self.settings), self.state
        kernel: HeatKernel = settings.pop("kernel")
        header = {
            "what": WHAT,
            "bandwidth": kernel.bandwidth,
            "cutoff": kernel.cutoff,
            "distance": repr(kernel.distance),
            **settings,
            "quantizer": repr(settings["quantizer"]),
            "radius": state.radius,
            "next_id": state.next_id,
            "names": state.names,
        }
        arrays = {
            "ids": state.ids,
            "labels": state.labels,
            "multiplicities": state.multiplicities,
            "vectors": state.vectors,
            "negatives": state.negatives,
        }
        snapshot.write(path, header, arrays)

    @classmethod
    def read(
        cls,
        path: snapshot.Source,
        *,
        distance: Distance | None,
        quantizer: Quantizer | None,
        features: str | None,
    ) -> Self:
        """Read it from a file; inconsistent content is refused, here or by `graph_of`."""
        file = snapshot.read(path)
        header: dict[str, Any] = file.header
        with errors_about(path):
            if header["what"] != WHAT:
                raise SnapshotError(
                    f"{snapshot.name_of(path)} holds {header['what']!r}, which is not a learner"
                )
            if features is not None and header["features"] != features:
                raise Incompatible(
                    f"{snapshot.name_of(path)} was built with features {header['features']!r}, "
                    f"not {features!r}"
                )
            return cls(_settings(header, distance, quantizer), _state(header, file.arrays))


@contextmanager
def errors_about(path: snapshot.Source) -> Iterator[None]:
    """Report values that cannot be used as an error of the file."""
    try:
        yield
    except (KeyError, TypeError, BadValue) as error:
        raise SnapshotError(f"{snapshot.name_of(path)} is not a sound learner: {error}") from error


def state_of(graph: Graph, names: list[str], radius: float) -> State:
    """A copy of what a graph holds."""
    slots = graph.occupied
    labels, ids = graph.label[slots].astype(np.int64), graph.ids[slots]
    negatives = [(vertex, -1) for vertex in ids[labels == NOBODY].tolist()]
    for vertex, excluded in graph.negatives.items():
        negatives += [(vertex, label) for label in excluded]
    return State(
        ids,
        graph.vectors.rows[slots],
        graph.multiplicity[slots],
        np.maximum(labels, UNLABELED),
        names,
        radius,
        graph.next_id,
        np.array(sorted(negatives), dtype=np.int64).reshape(-1, 2),
    )


def graph_of(state: State, kernel: HeatKernel, budget: int) -> Graph:
    """The graph that a state describes; an inconsistent state raises BadValue."""
    columns = _sound_columns(state)
    graph = Graph(kernel, state.vectors.shape[1], state.vectors.dtype, budget)
    nobody = {vertex for vertex, label in state.negatives.tolist() if label < 0}
    for vertex, label in state.negatives.tolist():
        if label >= 0:
            graph.negatives[vertex] = graph.negatives.get(vertex, frozenset()) | {label}
    for vector, vertex, label, multiplicity in zip(state.vectors, *columns, strict=True):
        query = graph.query(vector)
        near = graph.neighbours(query)
        if near.absorber is not None:
            raise BadValue("two vertices at the same place")
        if vertex in nobody:
            label = NOBODY
        graph.add(query, near, label=label, multiplicity=multiplicity, vertex=vertex)
    if graph.unlabeled_count > budget:
        raise BadValue(f"{graph.unlabeled_count} vertices exceed the budget")
    graph.log.clear()
    graph.next_id = state.next_id
    return graph


def _settings(
    header: Mapping[str, Any], distance: Distance | None, quantizer: Quantizer | None
) -> dict[str, Any]:
    if not isinstance(header["features"], str):
        raise BadValue("features are not a string")
    return {
        "kernel": HeatKernel(
            header["bandwidth"], header["cutoff"], _by_repr(header["distance"], distance)
        ),
        "sink": as_number("sink", header["sink"], least=0),
        "max_vertices": as_number("max_vertices", header["max_vertices"], least=1, whole=True),
        "quantizer": _by_repr(header["quantizer"], quantizer),
        "min_score": as_number("min_score", header["min_score"], least=0, below=1),
        "trust_radius": header.get("trust_radius"),  # checked as the constructor's
        "features": header["features"],
    }


def _state(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> State:
    if not isinstance(header["names"], list):
        raise BadValue("names are not a list")
    return State(
        arrays["ids"],
        arrays["vectors"],
        arrays["multiplicities"],
        arrays["labels"],
        names=[as_name(name, stored=True) for name in header["names"]],
        radius=as_number("radius", header["radius"], least=0),
        next_id=int(as_number("next_id", header["next_id"], least=0, below=2**62, whole=True)),
        negatives=arrays.get("negatives", NO_NEGATIVES),  # files of earlier versions have none
    )


def _sound_columns(state: State) -> list[NDArray[np.int64]]:
    ids, labels, multiplicities = columns = [state.ids, state.labels, state.multiplicities]
    vectors, names = state.vectors, len(set(state.names))
    if vectors.ndim != 2 or vectors.dtype.kind != "f":
        raise BadVector(f"vectors of shape {vectors.shape} and type {vectors.dtype}")
    if any(column.shape != (len(vectors),) or column.dtype != np.int64 for column in columns):
        raise BadValue("columns of different lengths or types")
    if len(vectors):
        as_rows(vectors)
    sound = (
        len(np.unique(ids)) == len(ids)
        and ((ids >= 0) & (ids < state.next_id)).all()
        and ((labels >= UNLABELED) & (labels < names)).all()
        and len(np.unique(labels[labels >= 0])) == names
        and (multiplicities > 0).all()
    )
    if not sound:
        raise BadValue("ids, labels or multiplicities out of range")
    _refuse_unsound_negatives(state)
    return columns


def _refuse_unsound_negatives(state: State) -> None:
    negatives = state.negatives
    if negatives.ndim != 2 or negatives.shape[1] != 2 or negatives.dtype != np.int64:
        raise BadValue(f"negatives of shape {negatives.shape} and type {negatives.dtype}")
    given = dict(zip(state.ids.tolist(), state.labels.tolist(), strict=True))
    for vertex, label in negatives.tolist():
        if vertex not in given or not -1 <= label < len(state.names):
            raise BadValue("negatives out of range")
        if given[vertex] >= 0 and label in (-1, given[vertex]):
            raise BadValue(f"vertex {vertex} has a label and a negative that excludes it")


def _by_repr(text: object, given: Any) -> Any:
    """The distance or quantizer that a file names; one outside the core must be given."""
    for known in KNOWN if given is None else (given,):
        if repr(known) == text:
            return known
    if given is not None:
        raise SnapshotError(f"this file was saved with {text}, not with {given!r}")
    raise SnapshotError(
        f"this file was saved with {text}, which is not part of the core; "
        "give it to load(path, distance=...) or load(path, quantizer=...)"
    )
