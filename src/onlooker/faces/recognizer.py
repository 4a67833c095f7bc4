"""Frames in, sightings out: the recognizer of Section 2.2 around the online learner."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from onlooker.errors import BadValue
from onlooker.faces.pictures import SUFFIXES, read_picture
from onlooker.faces.records import FaceBox, Frame, Pixels, Refusal, Sighting
from onlooker.faces.tracks import Track, Tracks
from onlooker.online import OnlineHarmonicLearner
from onlooker.records import Prediction

Detect = Callable[[Pixels], Sequence[FaceBox]]
Judge = Callable[[Pixels, FaceBox], Refusal | None]


class Features(Protocol):
    """From a face to a vector; the tag tells features apart."""

    @property
    def tag(self) -> str:
        """What the learner remembers of the features it was built with."""

    def __call__(self, pixels: Pixels, box: FaceBox) -> NDArray[np.float32]:
        """The vector of the face in a box."""


class FaceRecognizer:
    """A learner that looks at pictures: detect, judge, measure, observe, follow.

    With `one_each`, two faces in one frame are two people: of two that get the same name only the
    surer keeps it, and the other is neither named nor learned.
    """

    def __init__(
        self,
        learner: OnlineHarmonicLearner,
        *,
        detect: Detect,
        features: Features,
        judge: Judge,
        tracks: Tracks | None = None,
        one_each: bool = False,
    ) -> None:
        if learner.features != features.tag:
            raise BadValue(
                f"this learner was built with features {learner.features!r}, "
                f"the recognizer makes {features.tag!r}; start a new learner or change the features"
            )
        self.learner, self.one_each = learner, one_each
        self._detect, self._features, self._judge = detect, features, judge
        self._tracks = tracks or Tracks()

    def see(self, frame: Frame, *, learn: bool = True) -> list[Sighting]:
        """Name every face in a frame, and learn from those that were good enough."""
        boxes = list(self._detect(frame.pixels))
        refusals = [self._judge(frame.pixels, box) for box in boxes]
        answers = self._answers(frame.pixels, boxes, refusals, learn=learn)
        tracks = self._tracks.follow(frame.camera, frame.index, boxes)
        for track, answer in zip(tracks, answers, strict=True):
            if answer is not None:
                track.votes.append(answer.label)
        return [
            self._sighting(frame, *columns)
            for columns in zip(tracks, boxes, answers, refusals, strict=True)
        ]

    def enrol(self, name: str, files: Iterable[str | Path]) -> int:
        """Teach a name from pictures with exactly one face each; how many were taught.

        All pictures are looked at before the first is taught: a bad one leaves no trace.
        """
        vectors = [self._single_face(Path(file)) for file in files]
        if not vectors:
            raise BadValue(f"there is no picture to learn {name!r} from; four are a good start")
        for vector in vectors:
            self.learner.teach(vector, name)
        return len(vectors)

    def enrol_folder(self, folder: str | Path) -> dict[str, int]:
        """Teach everybody in `folder/NAME/*.jpg` and `folder/NAME.jpg`; how many pictures each."""
        people: dict[str, list[Path]] = {}
        for path in sorted(Path(folder).glob("*")):
            if path.is_dir():
                inside = sorted(p for p in path.iterdir() if p.suffix.lower() in SUFFIXES)
                people.setdefault(path.name, []).extend(inside)
            elif path.suffix.lower() in SUFFIXES:
                people.setdefault(path.stem, []).append(path)
        if not people:
            raise BadValue(f"nobody is in {folder}; it needs NAME/*.jpg or NAME.jpg")
        return {name: self.enrol(name, files) for name, files in people.items()}

    def teach(self, pixels: Pixels, box: FaceBox, name: str) -> None:
        """Label one face that was seen."""
        self.learner.teach(self._features(pixels, box), name)

    def _answers(
        self,
        pixels: Pixels,
        boxes: Sequence[FaceBox],
        refusals: Sequence[Refusal | None],
        *,
        learn: bool,
    ) -> list[Prediction | None]:
        vectors = [
            self._features(pixels, box) if refusal is None else None
            for box, refusal in zip(boxes, refusals, strict=True)
        ]
        ask = self.learner.observe if learn else self.learner.predict
        good = [at for at, vector in enumerate(vectors) if vector is not None]
        answers: list[Prediction | None] = [None] * len(boxes)
        losers = self._losers([(at, vectors[at]) for at in good]) if self.one_each else {}
        for at in good:
            vector = vectors[at]
            if at in losers:
                answers[at] = losers[at]
            elif vector is not None:
                answers[at] = ask(vector)
        return answers

    def _losers(
        self, faces: Sequence[tuple[int, NDArray[np.float32] | None]]
    ) -> dict[int, Prediction]:
        """The faces whose name a surer face in the same frame has, as nobody."""
        guesses = {at: self.learner.predict(vector) for at, vector in faces if vector is not None}
        best: dict[str, int] = {}
        for at, guess in guesses.items():
            if guess.label is None:
                continue
            rival = best.get(guess.label)
            score = guess.scores[guess.label]
            if rival is None or score > guesses[rival].scores[guess.label]:
                best[guess.label] = at
        return {
            at: Prediction(None, guess.scores, guess.sink, None)
            for at, guess in guesses.items()
            if guess.label is not None and best[guess.label] != at
        }

    def _single_face(self, path: Path) -> NDArray[np.float32]:
        pixels = read_picture(path)
        boxes = self._detect(pixels)
        if len(boxes) != 1:
            found = "no face" if not boxes else f"{len(boxes)} faces"
            raise BadValue(
                f"{path} shows {found}; a picture to learn a name from needs exactly one"
            )
        refusal = self._judge(pixels, boxes[0])
        if refusal is not None:
            raise BadValue(f"the face in {path} is {refusal}; take a better picture")
        return self._features(pixels, boxes[0])

    def _sighting(
        self,
        frame: Frame,
        track: Track,
        box: FaceBox,
        answer: Prediction | None,
        refusal: Refusal | None,
    ) -> Sighting:
        name = track.name
        where = (frame.camera, frame.index, frame.time)
        return Sighting(*where, track.number, box, name, answer, refusal)
