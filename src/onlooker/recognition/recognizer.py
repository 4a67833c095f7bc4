"""Frames in, sightings out: the recognizer of Section 2.2 around the online learner.

    pixels -> boxes -> tracks -> gate -> vectors -> observe -> votes -> sightings

`watch` runs it around a learner, `serve` around a home, where every face that is learned is an
event on the disk. Both get the same names for the same frames.
"""

import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from onlooker.core.errors import BadValue
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Prediction
from onlooker.home.home import Home
from onlooker.recognition.enrolment import FACES_PER_VIDEO, Enrolment, people_in
from onlooker.vision.finder import FaceFinder
from onlooker.vision.measuring import measure_new
from onlooker.vision.tracking import Track, Tracker
from onlooker.vision.types import FaceBox, Frame, MeasuredFace, Pixels, Sighting, Vector

VOTES = 15
"""Latest sightings of a track that vote on its name."""
SETTLED = 5
"""Votes after which a track may be left without a name, and measured faces in a row with the same
name after which only a larger change is measured. The first faces of somebody who comes are
often blurred, and a track that such a face left nameless would stay so until it looks different: on
the first frames of five webcams, with SFace, that cost 0.9 points of recall."""
NAMED_TRACKS = 1000
"""Tracks whose votes and name are remembered; the one not seen for longest goes first."""


class Strangers(Protocol):
    """Where faces go that nobody has a name for."""

    def observe(
        self,
        vector: Vector,
        *,
        camera: str,
        frame: int,
        picture: Callable[[], bytes],
        quality: float,
        likely: int | None,
        candidate: str | None,
        starts: bool,
    ) -> int | None:
        """A face that the learner does not know, and has not learned: the card it goes to.

        likely: the card that the face before it in the same track went to.
        candidate: who it may be, beyond the learner's trust radius.
        starts: whether it may start a card; if not, and it belongs to none, it goes nowhere.
        """

    def is_shown(self, number: int) -> bool:
        """Whether there is such a card, and nobody chose to ignore it."""


@dataclass(frozen=True, slots=True, eq=False)
class Recognition:
    """One face of a frame, and all that came of it."""

    face: MeasuredFace
    sighting: Sighting
    vertex: int | None
    """The vertex of the home that stands for the face, if it was measured and learned."""
    card: int | None
    """The card of the stranger it went to, if it was measured and not left out."""


class RecognizedFrame(NamedTuple):
    """The faces of a frame, the largest first, and the seconds that each stage took."""

    faces: list[Recognition]
    detect_seconds: float
    measure_seconds: float
    learn_seconds: float


class _Answer(NamedTuple):
    prediction: Prediction | None = None
    vertex: int | None = None
    card: int | None = None


@dataclass(slots=True)
class _TrackNames:
    """What a track was called: by the learner in its latest sightings, and to the home."""

    votes: deque[str | None] = field(default_factory=lambda: deque(maxlen=VOTES))
    """None, nobody known, is a vote, too. A face that was not measured votes as the one that was
    measured last."""
    answer: Prediction | None = None
    """What the learner said of the face that was measured last."""
    agreed: int = 0
    """Faces in a row, up to this one, that were measured and given its name."""
    announced: str | int | None = None
    """The name or the card that the home has a sighting of: each of a track is recorded once."""
    withheld: set[str] = field(default_factory=set)
    """Names that a surer face of the same frame had, of which the home has a record."""
    card: int | None = None
    """The card of a stranger that its last unknown face went to: the next one is likely theirs."""
    carded: bool = False
    """Whether a face before, in this track or the one that was lost where it began, has a card."""
    alone: Vector | None = None
    """The face before, if it belongs to no card although others have one."""

    def vote(self, answer: Prediction | None, *, measured: bool) -> str | None:
        """The track's name after one more answer; a refused face has none, and does not vote."""
        if answer is not None:
            if measured:
                same = self.answer is not None and self.answer.label == answer.label
                self.agreed = 0 if answer.label is None else self.agreed * same + 1
            self.votes.append(answer.label)
            self.answer = answer
        return majority(self.votes)

    def unsettled(self, name: str | None) -> bool:
        """Whether more answers may change its name: it is new and nameless, or they disagree."""
        if name is None and len(self.votes) < SETTLED:
            return True
        return bool(self.votes) and self.votes[-1] != name


class FaceRecognizer:
    """Names the faces in the frames of cameras, and learns from them.

    With `one_each`, two faces in one frame are two people: of two that get the same name only the
    surer one has it, and the other is neither named nor learned. `strangers` is given every good
    face that a home does not know.

    Where measuring a face is costly, it is measured when something is new (`measure_new`), and as
    long as more answers may change the name of its track. In between the track keeps its name, and
    nothing is learned. `every_face` measures every face of every frame.
    """

    def __init__(
        self,
        learner: OnlineHarmonicLearner | Home,
        finder: FaceFinder,
        *,
        tracker: Tracker | None = None,
        one_each: bool = False,
        strangers: Strangers | None = None,
        every_face: bool = False,
    ) -> None:
        self._knowledge = learner
        self._home = learner if isinstance(learner, Home) else None
        if self.learner.features != finder.features.tag:
            raise BadValue(
                f"this learner was built with features {self.learner.features!r}, the recognizer "
                f"makes {finder.features.tag!r}; start a new learner or change the features"
            )
        self.finder, self.one_each, self._every_face = finder, one_each, every_face
        self._tracker, self._strangers = tracker or Tracker(), strangers
        self._names: OrderedDict[tuple[str, int], _TrackNames] = OrderedDict()

    @property
    def learner(self) -> OnlineHarmonicLearner:
        """What it knows now; a home may replace its learner, after an undo for instance."""
        return self._knowledge.learner if isinstance(self._knowledge, Home) else self._knowledge

    # ---- recognizing

    def see(self, frame: Frame, *, learn: bool = True) -> list[Sighting]:
        """Name every face in a frame, and learn from those that were good enough."""
        return [each.sighting for each in self.recognize(frame, learn=learn).faces]

    def recognize(self, frame: Frame, *, learn: bool = True) -> RecognizedFrame:
        """The same, with all that came of each face."""
        began = time.perf_counter()
        boxes = self.finder.detect(frame.pixels)
        detected = time.perf_counter()
        tracks, every = self._tracker.follow(frame.camera, frame.index, boxes), self._every_face
        faces = [measure_new(self.finder, frame, track, every_face=every) for track in tracks]
        measured = time.perf_counter()
        answers = self._answers(frame, tracks, faces, learn=learn)
        learned = time.perf_counter()
        found = []
        for track, face, (prediction, vertex, card) in zip(tracks, faces, answers, strict=True):
            names = self._names_of(frame.camera, track)
            name = names.vote(prediction, measured=face.measured)
            track.settled = names.agreed >= SETTLED
            if names.unsettled(name):
                track.look = None  # so that its next face is measured
            where = frame.camera, frame.index, frame.time, track.number, face.box
            sighting = Sighting(*where, name, prediction, face.refusal, face.measured)
            self._announce(sighting, names, face)
            found.append(Recognition(face, sighting, vertex, card))
        return RecognizedFrame(found, detected - began, measured - detected, learned - measured)

    def clear_votes(self) -> None:
        """The learner was corrected or taught: what it said before does not count any more.

        Every face is measured in the next frame, so names follow at once.
        """
        self._tracker.forget_looks()
        for names in self._names.values():
            names.votes.clear()
            names.answer, names.agreed = None, 0

    def forget(self, name: str) -> None:
        """Remember of no track that it was announced by this name."""
        for names in self._names.values():
            if names.announced == name:
                names.announced = None

    def camera_removed(self, camera: str) -> None:
        """Drop the tracks of a camera."""
        self._tracker.camera_removed(camera)
        for track in [track for track in self._names if track[0] == camera]:
            del self._names[track]

    # ---- teaching

    def teach(self, pixels: Pixels, box: FaceBox, name: str) -> None:
        """Label one face that was seen."""
        self._knowledge.teach(self.finder.features(pixels, box), name)
        self.clear_votes()

    def enrol(
        self,
        name: str,
        files: Iterable[str | Path],
        *,
        faces_per_video: int = FACES_PER_VIDEO,
    ) -> int:
        """Teach a name from pictures with exactly one face each, and from videos; how many faces.

        Of a video, frames with exactly one good face count, and the faces that differ most are
        taught, among those that are linked to most of it. All files are read before anything is
        taught: a bad one leaves no trace.
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

    def _enrol(self, people: Mapping[str, Sequence[Path]], faces_per_video: int) -> dict[str, int]:
        """Into a learner of its own first: what is wrong is found before this one is changed."""
        learner = self.learner
        examples = Enrolment(self.finder, learner.kernel, faces_per_video).everybody(people)
        taught = OnlineHarmonicLearner(learner.kernel, sink=learner.sink, features=learner.features)
        for name, faces in examples.items():
            for face in faces:
                taught.teach(face.vector, name)
        self._knowledge.merge(taught)
        self.clear_votes()
        return {name: len(faces) for name, faces in examples.items()}

    # ---- one frame

    def _answers(
        self,
        frame: Frame,
        tracks: Sequence[Track],
        faces: Sequence[MeasuredFace],
        *,
        learn: bool,
    ) -> list[_Answer]:
        """What the learner says of each face, or said before; nothing of one that was refused."""
        before = [
            None if face.measured else self._names_of(frame.camera, track).answer
            for track, face in zip(tracks, faces, strict=True)
        ]
        losers = self._losers(faces, before) if self.one_each else {}
        answers = []
        for at, face in enumerate(faces):
            if at in losers:
                tracks[at].look = None  # it gets its name back when the other face has gone
                guess, winner = losers[at]
                if learn:
                    names = self._names_of(frame.camera, tracks[at])
                    self._record_twice(frame, names, guess.label, faces[winner], face)
                answers.append(_Answer(Prediction(None, guess.scores, guess.sink, None)))
            elif face.vector is None:
                answers.append(_Answer(before[at]))
            elif learn:
                names = self._names_of(frame.camera, tracks[at])
                answers.append(self._observe(frame, face, face.vector, names))
            else:
                answers.append(_Answer(self._knowledge.predict(face.vector)))
        return answers

    def _observe(
        self, frame: Frame, face: MeasuredFace, vector: Vector, names: _TrackNames
    ) -> _Answer:
        """Learn from a good face; where there is a home, on the disk and with a picture."""
        home = self._home
        if home is None:
            return _Answer(self.learner.observe(vector))
        camera, index, before = frame.camera, frame.index, home.sequence
        prediction = home.observe(vector, camera=camera, frame=index, picture=face.png)
        vertex = _standing(home, prediction.vertex) if home.sequence != before else None
        if prediction.label is not None or self._strangers is None:
            names.card, names.carded, names.alone = None, False, None
            return _Answer(prediction, vertex)
        card = self._strangers.observe(
            vector,
            camera=camera,
            frame=index,
            picture=face.png,
            quality=float(face.box.area),
            likely=names.card,
            candidate=prediction.candidate,
            starts=not names.carded or self._alike(names.alone, vector),
        )
        if card is None:
            names.alone = vector
        else:
            names.card, names.carded, names.alone = card, True, None
        return _Answer(prediction, vertex, card)

    def _alike(self, before: Vector | None, vector: Vector) -> bool:
        return before is not None and bool(self.learner.kernel.similarity(vector, before[None])[0])

    def _losers(
        self, faces: Sequence[MeasuredFace], before: Sequence[Prediction | None]
    ) -> dict[int, tuple[Prediction, int]]:
        """The faces whose name a surer face of the same frame has (or an earlier, on a tie).

        With what each would be called, and which face has the name.
        """
        guesses: dict[int, Prediction] = {}
        for at, (face, answer) in enumerate(zip(faces, before, strict=True)):
            if face.vector is not None:
                guesses[at] = self._knowledge.predict(face.vector)
            elif answer is not None:
                guesses[at] = answer
        best: dict[str, tuple[float, int]] = {}
        for at, guess in guesses.items():
            if guess.label is not None:
                mine = guess.scores[guess.label], -at
                best[guess.label] = max(mine, best.get(guess.label, mine))
        return {
            at: (guess, -best[guess.label][1])
            for at, guess in guesses.items()
            if guess.label is not None and best[guess.label][1] != -at
        }

    def _record_twice(
        self,
        frame: Frame,
        names: _TrackNames,
        name: str | None,
        surer: MeasuredFace,
        other: MeasuredFace,
    ) -> None:
        """Have the home record, once a track and name, that two faces of a frame had one name."""
        if self._home is None or name is None or name in names.withheld:
            return
        if surer.vector is None or other.vector is None:
            return  # in the next frame in which both are measured
        known, kernel = self._home.vertices(), self.learner.kernel
        near = [kernel.similarity(x, known.vectors) for x in (surer.vector, other.vector)]
        first, second = (int(known.ids[each.argmax()]) for each in near)
        self._home.record_twice(name, first, second, camera=frame.camera, frame=frame.index)
        names.withheld.add(name)

    def _names_of(self, camera: str, track: Track) -> _TrackNames:
        names = self._names.pop((camera, track.number), None)
        if names is None:
            lost = self._names.get((camera, track.continues)) if track.continues else None
            names = _TrackNames(carded=lost.carded, alone=lost.alone) if lost else _TrackNames()
        self._names[camera, track.number] = names
        if len(self._names) > NAMED_TRACKS:
            self._names.popitem(last=False)
        return names

    def _announce(self, sighting: Sighting, names: _TrackNames, face: MeasuredFace) -> None:
        """Have the home record a sighting whenever a track gets a name, or another one.

        And when it is settled that a track is a stranger: the first faces of somebody known are
        often blurred.
        """
        home = self._home
        if home is None:
            return
        known: str | int | None = sighting.name
        if known is None and names.card is not None and self._strangers is not None:
            settled = len(names.votes) >= SETTLED and not any(names.votes)
            if not settled or not self._strangers.is_shown(names.card):
                return
            known = names.card
        before, names.announced = names.announced, known
        if known is None or known == before:
            return
        vertex = sighting.answer.vertex if sighting.answer and sighting.name else None
        home.record_sighting(
            camera=sighting.camera,
            frame=sighting.frame,
            name=sighting.name,
            vertex=vertex,
            card=None if sighting.name else names.card,
            vector=face.vector,
            picture=face.jpeg,
        )


def majority(votes: Iterable[str | None]) -> str | None:
    """The name that most of a track's latest sightings got; None on a tie.

    Sightings without a name vote too: one person may step where another stood, and a stranger must
    not inherit a name.

    >>> majority(["ana", "ana", "ben"]), majority(["ana", None])
    ('ana', None)
    """
    first, *second = Counter(votes).most_common(2) or [(None, 0)]
    return None if second and second[0][1] == first[1] else first[0]


def _standing(home: Home, vertex: int | None) -> int | None:
    """The vertex that stands for a face just learned: its own may have been merged at once."""
    merged = home.learner.changes().merged
    while vertex is not None and vertex in merged:
        vertex = merged[vertex]
    return vertex
