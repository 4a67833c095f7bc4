"""The strangers of a home: seen by its cameras, kept beside it, named into it.

Their file (`drawer.py`) is written every so many changes, when somebody is named or ignored, by
`tidy` and at the end. A crash may lose the sightings since; nobody was promised those.

Where the strangers of a home lie: strangers.snapshot in its folder, so that a restart shows the
same cards.

A file that is damaged, or was written with other features, is left aside with a word in
`problems`.

Strangers as one checked file: a readable header, and arrays (see `core.snapshot`).

The header lists the cards. The vectors of their best faces, and the pictures one after another,
are arrays in the same order, so that nobody's face hides where nobody would look for it.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onlooker.core import snapshot
from onlooker.core.errors import SnapshotError
from onlooker.core.files import remove_temporary_files
from onlooker.core.graph import UNLABELED
from onlooker.core.records import State
from onlooker.core.similarity import HeatKernel
from onlooker.home.album import as_png
from onlooker.home.durable_learner import Picture
from onlooker.home.home import Home
from onlooker.home.retention import DAY, ForgetReceipt
from onlooker.strangers.cards import Card, Dropped, Face, Glimpse, Record, finite
from onlooker.strangers.correction import Correction, wrong
from onlooker.strangers.groups import Place
from onlooker.strangers.strangers import Strangers, UndoHistory

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


FILE = "strangers.snapshot"


class Drawer:
    """The file of some strangers; those of before are read at once.

    >>> import tempfile
    >>> from onlooker import HeatKernel
    >>> strangers = Strangers(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     drawer = Drawer(Path(folder), strangers, "points")
    ...     card = strangers.see([0.0, 0.0], time=0.0, camera="door", frame=0)
    ...     drawer.unsaved, drawer.save(), drawer.unsaved
    (1, True, 0)
    """

    def __init__(self, folder: Path, strangers: Strangers, features: str) -> None:
        self.problems: list[str] = []
        """What was found damaged or could not be done, in words."""
        self._path, self._strangers, self._features = folder / FILE, strangers, features
        self._saved = strangers.changes
        remove_temporary_files(folder)
        if self._path.exists():
            try:
                read(self._path, strangers, features)
            except SnapshotError as error:
                self._problem(f"the strangers of before are not shown: {error}")
                self._saved = -1  # faces in a file that nobody can read would never expire

    @property
    def unsaved(self) -> int:
        """Changes that are not in the file."""
        return self._strangers.changes - self._saved

    def save(self) -> bool:
        """Write what has changed; what fails is told, and tried again later."""
        if not self.unsaved:
            return True
        try:
            write(self._path, self._strangers, self._features)
        except SnapshotError as error:
            self._problem(f"strangers are not saved: {error}")
            return False
        self._saved = self._strangers.changes
        return True

    def erase(self) -> None:
        """What is gone must be gone from the file too, even if there is no room for a new one."""
        if not self.save():
            self._path.unlink(missing_ok=True)

    def _problem(self, words: str) -> None:
        if words not in self.problems:
            self.problems.append(words)


Alert: TypeAlias = Callable[[Mapping[str, Any]], object]
"""Hears of a new stranger: event, card, count, camera, frame, time."""


class StrangerBook:
    """Strangers that last as long as their home says; call it from the home's thread.

    >>> import tempfile
    >>> from onlooker import HeatKernel, OnlineHarmonicLearner
    >>> def new_learner():
    ...     return OnlineHarmonicLearner(HeatKernel(bandwidth=0.3, cutoff=1e-5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Home(folder, new_learner=new_learner) as home, StrangerBook(home, folder) as book:
    ...         card = book.met([0.0, 0.0], camera="door", frame=0)
    ...         book.name(card, "ana"), home.predict([0.1, 0.0]).label
    (1, 'ana')

    alert hears of each stranger who was seen alert_after times, once.
    """

    def __init__(
        self,
        home: Home,
        folder: str | PathLike[str],
        *,
        alert: Alert | None = None,
        alert_after: int = 1,
        max_vertices: int = 300,
        save_every: int = 200,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.home, self._clock = home, clock
        self._alert, self._alert_after, self._save_every = alert, alert_after, save_every
        self.strangers = Strangers(home.learner.kernel, max_vertices=max_vertices)
        self._thoughts = UndoHistory(self.strangers)
        self._drawer = Drawer(Path(folder), self.strangers, home.learner.features)

    @property
    def problems(self) -> list[str]:
        """What was found damaged or could not be done, in words."""
        return self._drawer.problems

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is not written; before the home is closed, whose lock guards the file."""
        self._drawer.save()

    def met(
        self,
        vector: ArrayLike,
        *,
        camera: str,
        frame: int,
        picture: Picture = None,
        quality: float = 0.0,
    ) -> int:
        """A face that the home names nobody: the number of its card."""
        number = self.strangers.see(
            vector,
            time=self._clock(),
            camera=camera,
            frame=frame,
            picture=picture,
            quality=quality,
        )
        card = self.strangers.card(number)
        if self._alert and card.count >= self._alert_after and self.strangers.tell(number):
            self._alert({"event": "stranger", **told(card)})
        if self._drawer.unsaved >= self._save_every:
            self._drawer.save()
        return number

    def cards(self, *, hidden: bool = False) -> list[Card]:
        """One card a stranger, most seen first; the hidden ones if wanted."""
        return self.strangers.cards(hidden=hidden)

    def name(self, number: int, name: str, keys: Iterable[str] | None = None) -> int:
        """Teach the home who that is, and forget the stranger: how many faces were taught.

        keys: of the faces to teach; the others go with the card.
        """
        before, left = self.home.sequence, self.strangers.leftover(number)
        taught = self.strangers.name(
            number, name, lambda x, who, png: self.home.teach(x, who, picture=png), keys
        )
        self._thoughts.named(before, self._clock(), left)
        self._drawer.erase()
        return taught

    def settle(self, number: int, before: int) -> None:
        """A card is no stranger's any more, since the event after `before`."""
        self._thoughts.named(before, self._clock(), self.strangers.leftover(number))
        self.strangers.remove(number)
        self._drawer.erase()

    def ignore(self, number: int) -> None:
        """Hide a stranger, from now on."""
        self.strangers.ignore(number)
        self._drawer.erase()

    def show(self, number: int) -> None:
        """Take "ignore" back."""
        self.strangers.show(number)
        self._drawer.save()

    def wrong(self, vertex: int) -> Correction:
        """That face of the home is somebody else: drop it, and what was learned only through it."""
        before, now = self.home.sequence, self._clock()
        dropped: list[Dropped] = []
        try:
            return wrong(self.home, vertex, self.strangers, time=now, dropped=dropped.append)
        finally:
            self._thoughts.added(before, now, dropped)
            self._drawer.save()

    def undone(self, to: int) -> None:
        """The home went back to an event: cards that were named since come back, those that
        "wrong" made go, their pictures to the home. The latest few; older ones are forgotten."""
        before = self.strangers.changes
        self.home.show(self._thoughts.undone(to))
        if self.strangers.changes > before:
            self._drawer.erase()

    def forget(self, name: str) -> ForgetReceipt:
        """Delete somebody from the home, and the cards of faces that it would have named so.

        The cards go first: afterwards nobody could tell any more whose they were.
        """
        mine = [card.number for card in self.cards(hidden=True) if self._would_name(card, name)]
        for number in mine:
            self.strangers.remove(number)
        if mine:
            self._drawer.erase()
        try:
            return replace(self.home.forget(name), strangers=len(mine))
        finally:
            if name not in self.home.learner.names:
                self._thoughts.forget()  # what was taught or dropped

    def _would_name(self, card: Card, name: str) -> bool:
        """Whether the home takes any face of a card for somebody."""
        vectors = [face.vector for face in card.faces]
        vectors += [member.vector for member in self.strangers.leftover(card.number).members]
        return any(self.home.predict(vector).label == name for vector in vectors)

    def expire(self, now: float | None = None) -> int:
        """Delete what the home keeps no longer, and write the rest: how many cards went.

        Hidden strangers are remembered, without pictures, as long as sightings: who comes once a
        day is not to be ignored once a day.
        """
        now, retention = self._clock() if now is None else now, self.home.retention
        before = self.strangers.changes
        self._thoughts.forget(before=now - retention.stranger_hours * 3600)
        gone = self.strangers.expire(
            now - retention.stranger_hours * 3600,
            hidden_before=now - retention.sighting_days * DAY,
            now=now,
        )
        self._drawer.erase() if self.strangers.changes > before else self._drawer.save()
        return gone


def told(card: Card) -> dict[str, Any]:
    """A card in a few words, for programs.

    >>> from onlooker.strangers.cards import Glimpse
    >>> seen = Glimpse(12.5, "door", 310)
    >>> told(Card(3, 50, seen, seen, ()))["camera"]
    'door'
    """
    last = card.last
    where = {"camera": last.camera, "frame": last.frame, "time": last.time}
    return {"card": card.number, "count": card.count, **where}
