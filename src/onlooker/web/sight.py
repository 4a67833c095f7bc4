"""What the owner of the home does with pictures: find faces, measure them, name them, learn."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from onlooker.errors import BadValue
from onlooker.faces.enrolment import Detect, Features, Judge
from onlooker.faces.features import square_crop
from onlooker.faces.home import Home
from onlooker.faces.records import FaceBox, Frame, Pixels, Refusal, Sighting
from onlooker.faces.tracks import Tracks
from onlooker.records import Prediction

THUMBNAIL = 96
"""Largest side of the picture that is kept of a face."""
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
    ) -> object:
        """A face that the learner does not know, and has not learned."""


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """One face of a picture: its vector, or why it is too poor for one."""

    pixels: Pixels
    box: FaceBox
    refusal: Refusal | None
    vector: NDArray[np.float32] | None

    def png(self) -> bytes:
        """A small lossless picture of it."""
        crop = square_crop(self.pixels, self.box)
        if crop.shape[0] > THUMBNAIL:
            crop = np.asarray(
                cv2.resize(crop, (THUMBNAIL, THUMBNAIL), interpolation=cv2.INTER_AREA)
            )
        return cv2.imencode(".png", crop)[1].tobytes()


class Sight:
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
        self.noticed: Callable[[Prediction], object] = lambda answer: None
        """Told every answer."""
        self.strangers: Strangers | None = None
        """Told every face without a name."""
        self._one_each = one_each
        self._tracks = Tracks()
        self._announced: OrderedDict[int, str | None] = OrderedDict()

    def faces(self, pixels: Pixels) -> list[Face]:
        """Every face of a picture, the largest first."""
        return [self._measured(pixels, box) for box in self._detect(pixels)]

    def one_face(self, pixels: Pixels) -> Face:
        """The only face of a picture, if it is good enough to learn from."""
        found = self.faces(pixels)
        if len(found) != 1:
            raise BadValue(f"there must be one face in the picture, {len(found)} were found")
        if found[0].refusal is not None:
            raise BadValue(f"the face cannot be used, {found[0].refusal}")
        return found[0]

    def see(self, home: Home, frame: Frame) -> list[Sighting]:
        """Name every face in a frame of a camera, and learn from those that were good enough."""
        faces = self.faces(frame.pixels)
        answers = self._answers(home, frame, faces)
        tracks = self._tracks.follow(frame.camera, frame.index, [face.box for face in faces])
        sightings = []
        for track, face, answer in zip(tracks, faces, answers, strict=True):
            if answer is not None:
                track.votes.append(answer.label)
            where = frame.camera, frame.index, frame.time, track.number, face.box
            sightings.append(Sighting(*where, track.name, answer, face.refusal))
        for sighting in sightings:
            self._announce(home, sighting)
        return sightings

    def _measured(self, pixels: Pixels, box: FaceBox) -> Face:
        refusal = self._judge(pixels, box)
        return Face(pixels, box, refusal, None if refusal else self._features(pixels, box))

    def _answers(self, home: Home, frame: Frame, faces: Sequence[Face]) -> list[Prediction | None]:
        losers = self._losers(home, faces) if self._one_each else {}
        answers: list[Prediction | None] = []
        for at, face in enumerate(faces):
            if face.vector is None or at in losers:
                answers.append(losers.get(at))
                continue
            where: dict[str, Any] = {"camera": frame.camera, "frame": frame.index}
            answer = home.observe(face.vector, **where, picture=face.png)
            if answer.label is None and self.strangers is not None:
                self.strangers.met(
                    face.vector, **where, picture=face.png, quality=float(face.box.area)
                )
            self.noticed(answer)
            answers.append(answer)
        return answers

    def _losers(self, home: Home, faces: Sequence[Face]) -> dict[int, Prediction]:
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
        known = self._announced.pop(sighting.track, None)
        self._announced[sighting.track] = sighting.name
        if len(self._announced) > REMEMBERED:
            self._announced.popitem(last=False)
        if sighting.name is not None and sighting.name != known:
            vertex = sighting.answer.vertex if sighting.answer else None
            home.sighted(
                camera=sighting.camera, frame=sighting.frame, name=sighting.name, vertex=vertex
            )
