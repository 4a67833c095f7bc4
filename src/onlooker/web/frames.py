"""What the owner of the home does with pictures: find faces, measure them, name them, learn.

What came of one look at a frame.

The faces that are on the screen now, so that a click on one can ask, name or correct it.

The newest usable face of each of the latest tracks, in memory only, never on the disk.

How much is known: counted once, and then one by one as faces are learned by watching.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from onlooker.core.errors import BadValue, NotFound
from onlooker.core.records import Prediction
from onlooker.home.home import Home
from onlooker.recognition.enrolment import Detect, Features, Judge
from onlooker.vision.pixels import lossless, thumbnail
from onlooker.vision.tracking import Tracker
from onlooker.vision.types import FaceBox, Frame, Pixels, Refusal, Sighting

STAGES = ("detect", "features", "learn")


@dataclass(frozen=True, slots=True)
class FrameResult:
    """The faces of a frame, in one order in all columns."""

    camera: str
    frame: int
    time: float
    sightings: tuple[Sighting, ...]
    vertices: tuple[int | None, ...]
    """Which vertex stands for the face, if it was learned."""
    cards: tuple[int | None, ...]
    """Which stranger's card it went to."""
    learned: int
    """How many unlabeled examples the learner has taken in so far."""
    seconds: Mapping[str, float]
    """By stage."""


class Stopwatch:
    """Seconds by stage.

    >>> watch = Stopwatch()
    >>> with watch.timed("detect"):
    ...     pass
    >>> watch.seconds["detect"] >= 0
    True
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add what the block takes."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] += time.perf_counter() - begun


TRACKS = 64
"""How many tracks are remembered; the one not seen for longest goes first."""


@dataclass(frozen=True, slots=True, eq=False)
class RecentFace:
    """The newest usable face of a track; a poor one only until there is a better."""

    sighting: Sighting
    vector: NDArray[Any] | None
    """None: all faces of this track were too poor so far."""
    pixels: Pixels
    vertex: int | None
    card: int | None

    @property
    def refusal(self) -> Refusal | None:
        """Why there is no vector."""
        return self.sighting.refusal

    def png(self) -> bytes:
        """Its picture."""
        return lossless(self.pixels)


class RecentFaces:
    """By camera and track; belongs to the thread that owns the home."""

    def __init__(self) -> None:
        self._faces: OrderedDict[tuple[str, int], RecentFace] = OrderedDict()

    def __len__(self) -> int:
        return len(self._faces)

    def keep(self, face: RecentFace) -> None:
        """Take in the newest; the track that was not seen for longest gives way."""
        key = face.sighting.camera, face.sighting.track
        before = self._faces.pop(key, None)
        usable = face.vector is not None or before is None or before.vector is None
        self._faces[key] = face if usable or before is None else before
        while len(self._faces) > TRACKS:
            self._faces.popitem(last=False)

    def face(self, camera: str, track: int) -> RecentFace:
        """The face of a track, if it was seen lately."""
        found = self._faces.get((camera, track))
        if found is None:
            raise NotFound(f"track {track} was not seen lately; choose a face that is there now")
        return found

    def forget(self, name: str) -> None:
        """Let go of all that was taken for somebody."""
        for key, face in list(self._faces.items()):
            answer = face.sighting.answer
            if face.sighting.name == name or (answer is not None and answer.label == name):
                del self._faces[key]

    def camera_removed(self, camera: str) -> None:
        """Let go of all that a camera saw."""
        for key in [key for key in self._faces if key[0] == camera]:
            del self._faces[key]


class KnownCounts(NamedTuple):
    """How many faces were named by people, and how many examples were learned without a name."""

    labeled: int
    learned: int


class KnownCounter:
    """Belongs to the thread that owns the home; reading all vertices for a number is too slow."""

    def __init__(self) -> None:
        self._known, self._sequence = KnownCounts(0, 0), -1

    def watched(self, home: Home, before: int) -> None:
        """A face was shown when `before` was the newest event; if it was learned, count it."""
        if self._sequence == before and home.sequence == before + 1:
            self._known = self._known._replace(learned=self._known.learned + 1)
            self._sequence = home.sequence

    def counted(self, home: Home) -> KnownCounts:
        """How much is known now."""
        if self._sequence != home.sequence:
            known = home.vertices()
            labeled = sum(name is not None for name in known.names)
            self._known = KnownCounts(labeled, int(known.multiplicities.sum()) - labeled)
            self._sequence = home.sequence
        return self._known


REMEMBERED = 1000
"""Tracks whose announced name is remembered, so that the diary has one line for each."""


class Strangers(Protocol):
    """Whoever keeps faces that nobody has a name for."""

    def met(
        self,
        vector: NDArray[Any],
        *,
        camera: str,
        frame: int,
        picture: Callable[[], bytes],
        quality: float,
    ) -> int:
        """A face that the learner does not know, and has not learned: the card it goes to."""


class Recognition(NamedTuple):
    """What became of a face: the answer, the vertex that stands for it, the stranger's card."""

    answer: Prediction | None
    vertex: int | None = None
    card: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredFace:
    """One face of a picture: its vector, or why it is too poor for one."""

    pixels: Pixels
    box: FaceBox
    refusal: Refusal | None
    vector: NDArray[np.float32] | None

    def png(self) -> bytes:
        """A small lossless picture of it."""
        return lossless(thumbnail(self.pixels, self.box))


class LiveRecognizer:
    """Detector, gate, features and tracks; belongs to the thread that owns the home."""

    def __init__(
        self,
        *,
        detect: Detect,
        features: Features,
        judge: Judge,
        one_each: bool = False,
    ) -> None:
        self._detect, self._features, self._judge = detect, features, judge
        self.strangers: Strangers | None = None
        """Recognition every face without a name."""
        self.recent, self.stock = RecentFaces(), KnownCounter()
        self._one_each = one_each
        self._tracks = Tracker()
        self._announced: OrderedDict[tuple[str, int], str | None] = OrderedDict()

    def faces(self, pixels: Pixels) -> list[MeasuredFace]:
        """Every face of a picture, the largest first."""
        return [self._measured(pixels, box) for box in self._detect(pixels)]

    def one_face(self, pixels: Pixels) -> MeasuredFace:
        """The only face of a picture, if it is good enough to learn from."""
        found = self.faces(pixels)
        if len(found) != 1:
            raise BadValue(f"there must be one face in the picture, {len(found)} were found")
        if found[0].refusal is not None:
            raise BadValue(f"the face cannot be used, {found[0].refusal}")
        return found[0]

    def see(self, home: Home, frame: Frame) -> FrameResult:
        """Name every face in a frame of a camera, and learn from those that were good enough."""
        watch = Stopwatch()
        with watch.timed("detect"):
            boxes = list(self._detect(frame.pixels))
        with watch.timed("features"):
            faces = [self._measured(frame.pixels, box) for box in boxes]
        with watch.timed("learn"):
            told = self._told(home, frame, faces)
        tracks = self._tracks.follow(frame.camera, frame.index, boxes)
        sightings = []
        for track, face, (answer, vertex, card) in zip(tracks, faces, told, strict=True):
            if answer is not None:
                track.votes.append(answer.label)
            where = frame.camera, frame.index, frame.time, track.number, face.box
            sighting = Sighting(*where, track.name, answer, face.refusal)
            shown = thumbnail(frame.pixels, face.box)
            self.recent.keep(RecentFace(sighting, face.vector, shown, vertex, card))
            self._announce(home, sighting)
            sightings.append(sighting)
        return FrameResult(
            *(frame.camera, frame.index, frame.time, tuple(sightings)),
            vertices=tuple(one.vertex for one in told),
            cards=tuple(one.card for one in told),
            learned=self.stock.counted(home).learned,
            seconds=watch.seconds,
        )

    def changed(self, forgotten: str | None = None) -> None:
        """Somebody corrected or taught the learner: what it said before does not count any more."""
        self._tracks.ask_again()
        if forgotten is not None:
            self.recent.forget(forgotten)
            for track in [one for one, name in self._announced.items() if name == forgotten]:
                del self._announced[track]

    def camera_removed(self, camera: str) -> None:
        """A camera is gone, and all that was remembered of it."""
        self._tracks.camera_removed(camera)
        self.recent.camera_removed(camera)
        for track in [one for one in self._announced if one[0] == camera]:
            del self._announced[track]

    def _measured(self, pixels: Pixels, box: FaceBox) -> MeasuredFace:
        refusal = self._judge(pixels, box)
        return MeasuredFace(pixels, box, refusal, None if refusal else self._features(pixels, box))

    def _told(self, home: Home, frame: Frame, faces: Sequence[MeasuredFace]) -> list[Recognition]:
        losers = self._losers(home, faces) if self._one_each else {}
        return [
            Recognition(losers.get(at))
            if face.vector is None or at in losers
            else self._learned(home, frame, face, face.vector)
            for at, face in enumerate(faces)
        ]

    def _learned(
        self, home: Home, frame: Frame, face: MeasuredFace, vector: NDArray[Any]
    ) -> Recognition:
        """Show a good face to the learner; one that it names nobody, to who keeps strangers."""
        where: dict[str, Any] = {"camera": frame.camera, "frame": frame.index}
        before, card = home.sequence, None
        answer = home.observe(vector, **where, picture=face.png)
        self.stock.watched(home, before)
        vertex = _standing(home, answer.vertex) if home.sequence != before else None
        if answer.label is None and self.strangers is not None:
            quality = float(face.box.area)
            card = self.strangers.met(vector, **where, picture=face.png, quality=quality)
        return Recognition(answer, vertex, card)

    def _losers(self, home: Home, faces: Sequence[MeasuredFace]) -> dict[int, Prediction]:
        """The faces whose name a surer face in the same frame has, as nobody."""
        best: dict[str, tuple[float, int]] = {}
        guesses = {at: home.predict(f.vector) for at, f in enumerate(faces) if f.vector is not None}
        for at, guess in guesses.items():
            if guess.label is not None:
                mine = guess.scores[guess.label], -at
                best[guess.label] = max(mine, best.get(guess.label, mine))
        return {
            at: Prediction(None, guess.scores, guess.sink, None)
            for at, guess in guesses.items()
            if guess.label is not None and best[guess.label][1] != -at
        }

    def _announce(self, home: Home, sighting: Sighting) -> None:
        """One line for the diary whenever a track gets a name, or another one."""
        track = sighting.camera, sighting.track
        known = self._announced.pop(track, None)
        self._announced[track] = sighting.name
        if len(self._announced) > REMEMBERED:
            self._announced.popitem(last=False)
        if sighting.name is not None and sighting.name != known:
            vertex = sighting.answer.vertex if sighting.answer else None
            home.record_sighting(
                camera=sighting.camera, frame=sighting.frame, name=sighting.name, vertex=vertex
            )


def _standing(home: Home, vertex: int | None) -> int | None:
    """The vertex that stands for a face just learned: its own may have been merged at once."""
    merged = home.learner.changes().merged
    while vertex is not None and vertex in merged:
        vertex = merged[vertex]
    return vertex
