"""Frames in, sightings out: the recognizer of Section 2.2 around the online learner."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onlooker.core.errors import BadValue
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Prediction
from onlooker.recognition.enrolment import (
    FACES_PER_VIDEO,
    Detect,
    Enrolment,
    Features,
    Judge,
    people_in,
)
from onlooker.vision.tracking import Track, Tracker
from onlooker.vision.types import FaceBox, Frame, Pixels, Refusal, Sighting


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
        tracks: Tracker | None = None,
        one_each: bool = False,
    ) -> None:
        if learner.features != features.tag:
            raise BadValue(
                f"this learner was built with features {learner.features!r}, "
                f"the recognizer makes {features.tag!r}; start a new learner or change the features"
            )
        self.learner, self.one_each = learner, one_each
        self._detect, self._features, self._judge = detect, features, judge
        self._tracks = tracks or Tracker()

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

    def enrol(
        self,
        name: str,
        files: Iterable[str | Path],
        *,
        faces_per_video: int = FACES_PER_VIDEO,
    ) -> int:
        """Teach a name from pictures with exactly one face each, and from videos; how many faces.

        Of a video, frames with exactly one good face count, and the faces that differ most are
        taught, among those that are linked to most of it. All files are looked at before anything
        is taught: a bad one leaves no trace.
        """
        people = {name: [Path(file) for file in files]}
        return self._enrol(people, faces_per_video)[name]

    def enrol_folder(
        self, folder: str | Path, *, faces_per_video: int = FACES_PER_VIDEO
    ) -> dict[str, int]:
        """Teach everybody in `folder/NAME/*.jpg` and `folder/NAME.jpg`; how many faces each.

        Videos, such as `folder/NAME.mp4`, are used as `enrol` uses them.
        """
        return self._enrol(people_in(folder), faces_per_video)

    def teach(self, pixels: Pixels, box: FaceBox, name: str) -> None:
        """Label one face that was seen."""
        self.learner.teach(self._features(pixels, box), name)

    def _enrol(self, people: Mapping[str, Sequence[Path]], faces_per_video: int) -> dict[str, int]:
        """Into a learner of its own first: what is wrong is found before this one is changed."""
        learner = self.learner
        find = Enrolment(self._detect, self._features, self._judge, learner.kernel, faces_per_video)
        taught = OnlineHarmonicLearner(learner.kernel, sink=learner.sink, features=learner.features)
        found = find.everybody(people)
        for name, examples in found.items():
            for example in examples:
                taught.teach(example.vector, name)
        learner.merge(taught)
        return {name: len(examples) for name, examples in found.items()}

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
