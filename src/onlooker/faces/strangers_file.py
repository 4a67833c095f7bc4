"""Strangers as one checked file: a readable header, and arrays (see `core.snapshot`).

The header lists the cards. The vectors of their best faces, and the pictures one after another,
are arrays in the same order, so that nobody's face hides where nobody would look for it.
"""

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlooker.core import snapshot
from onlooker.core.errors import SnapshotError
from onlooker.core.graph import UNLABELED
from onlooker.core.records import State
from onlooker.core.similarity import HeatKernel
from onlooker.faces.album import as_png
from onlooker.faces.cards import Card, Face, Glimpse, Record, finite
from onlooker.faces.groups import Place
from onlooker.faces.strangers import Strangers

WHAT = "onlooker.Strangers"


def write(path: str | PathLike[str], strangers: Strangers, features: str) -> None:
    """Replace the file, all at once or not at all."""
    record = strangers.record()
    faces = [face for card in record.cards for face in card.faces]
    graph, places = record.graph, record.places
    header: dict[str, Any] = {
        "what": WHAT,
        **_identity(strangers.kernel, features),
        "next_id": graph.next_id,
        "next_card": record.next_card,
        "turn": record.turn,
        "cards": [_written(card) for card in record.cards],
    }
    pictures = b"".join(face.picture or b"" for face in faces)
    vectors = np.array([face.vector for face in faces], dtype=graph.vectors.dtype)
    arrays = {
        "ids": graph.ids,
        "vectors": graph.vectors,
        "multiplicities": graph.multiplicities,
        "groups": np.array([place.group for place in places], dtype=np.int64),
        "turns": np.array([place.turn for place in places], dtype=np.int64),
        "times": np.array([place.time for place in places], dtype=np.float64),
        "faces": vectors.reshape(len(faces), graph.vectors.shape[1]),
        "pictures": np.frombuffer(pictures, dtype=np.uint8),
    }
    snapshot.write(path, header, arrays)


def read(path: str | PathLike[str], strangers: Strangers, features: str) -> None:
    """Let strangers be those of a file; anything less than whole and fitting is an error."""
    file = snapshot.read(path)
    header: dict[str, Any] = file.header
    try:
        if header["what"] != WHAT:
            raise SnapshotError(f"{path} holds {header['what']!r}, which are not strangers")
        for key, value in _identity(strangers.kernel, features).items():
            if header[key] != value:
                raise SnapshotError(f"{path} was written with {key} {header[key]!r}, not {value!r}")
        strangers.restore(_record(header, file.arrays))
    except (LookupError, TypeError, ValueError) as error:
        raise SnapshotError(f"{path} does not hold sound strangers: {error!r}") from error


def _identity(kernel: HeatKernel, features: str) -> dict[str, Any]:
    """What must be the same where they are read."""
    return {
        "features": features,
        "bandwidth": kernel.bandwidth,
        "cutoff": kernel.cutoff,
        "distance": repr(kernel.distance),
    }


def _written(card: Card) -> dict[str, Any]:
    return {
        "number": card.number,
        "count": card.count,
        "first": _columns(card.first),
        "last": _columns(card.last),
        "hidden": card.hidden,
        "told": card.told,
        "faces": [
            {
                "quality": face.quality,
                "seen": _columns(face.seen),
                "bytes": len(face.picture or b""),
            }
            for face in card.faces
        ],
    }


def _columns(seen: Glimpse) -> list[Any]:
    return [seen.time, seen.camera, seen.frame]


def _glimpse(columns: list[Any]) -> Glimpse:
    time, camera, frame = columns
    if not isinstance(camera, str | None) or not isinstance(frame, int | None):
        raise ValueError(f"somebody was seen at {camera!r} in {frame!r}")
    return Glimpse(finite("time", time), camera, frame)


def _record(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Record:
    ids = arrays["ids"]
    labels = np.full(len(ids), UNLABELED, dtype=np.int64)
    columns = ids, arrays["vectors"], arrays["multiplicities"], labels
    state = State(*columns, names=[], radius=0.0, next_id=int(header["next_id"]))
    places = [arrays[name].tolist() for name in ("groups", "turns", "times")]
    if arrays["faces"].dtype != state.vectors.dtype or not np.isfinite(arrays["times"]).all():
        raise ValueError("faces or times of another kind")
    if arrays["faces"].shape[1:] != state.vectors.shape[1:]:
        raise ValueError(f"faces of shape {arrays['faces'].shape}")
    vectors, pictures, start = iter(arrays["faces"]), arrays["pictures"].tobytes(), 0
    cards = []
    for line in header["cards"]:
        faces = []
        for face in line["faces"]:
            end = start + int(face["bytes"])
            picture = as_png(pictures[start:end]) if end > start else None
            vector, seen = next(vectors), _glimpse(face["seen"])
            faces.append(Face(vector, picture, finite("quality", face["quality"]), seen))
            start = end
        first, last = _glimpse(line["first"]), _glimpse(line["last"])
        told = bool(line["hidden"]), bool(line["told"])
        cards.append(Card(int(line["number"]), int(line["count"]), first, last, (*faces,), *told))
    if next(vectors, None) is not None or start != len(pictures):
        raise ValueError("faces that belong to no card")
    everywhere = [Place(*place) for place in zip(*places, strict=True)]
    return Record(state, everywhere, cards, int(header["next_card"]), int(header["turn"]))
