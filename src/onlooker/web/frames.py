"""Frames in the service: recognized in the thread that owns the home, then counted and shown.

A frame becomes a `FrameResult`, which a page is sent as JSON. The newest usable face of each track
is remembered, in memory only, so that a click on the page can ask about it, name it or correct it.
The newest frame of each camera waits for somebody to look at it, and its JPEG is encoded only then.
Counts and speeds are for the health page.
"""

import json
import time
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Literal, NamedTuple

from onlooker.core.errors import BadValue, NotFound
from onlooker.core.records import Prediction
from onlooker.home.home import Home
from onlooker.recognition.drawing import annotated
from onlooker.recognition.recognizer import FaceRecognizer, Strangers
from onlooker.vision.finder import FaceFinder
from onlooker.vision.types import (
    FaceBox,
    Frame,
    MeasuredFace,
    Pixels,
    Refusal,
    Sighting,
    Vector,
    encode_jpeg,
    encode_png,
)

TRACKS = 64
"""Tracks whose face is remembered; the one not seen for longest goes first."""
WINDOW = 10.0
"""Seconds over which a speed is measured."""
FRAMES = 600
"""Frames of a camera that a speed is measured over at most."""
CERTAIN = 0.5
"""From this confidence on, the page shows a name without a question mark."""

FaceState = Literal["known", "unsure", "nobody", "poor"]


class StageSeconds(NamedTuple):
    """What each stage took for one frame."""

    detect: float
    features: float
    learn: float


@dataclass(frozen=True, slots=True)
class FrameResult:
    """The faces of a frame, in the same order in all columns."""

    camera: str
    frame: int
    time: float
    sightings: tuple[Sighting, ...]
    vertices: tuple[int | None, ...]
    """The vertex that stands for each face, if it was measured and learned."""
    cards: tuple[int | None, ...]
    """The card of the stranger that each face went to, if it was measured and not left out."""
    learned: int
    """Unlabeled examples that the home has learned so far."""
    seconds: StageSeconds

    def message(self) -> str:
        """The JSON that a page is sent: the live view, and the answer to a browser's frame.

        Where `measured` is false the face looked as before and was not measured in this frame: the
        answer is the one to the face of the track that was measured last, vertex and card are null.
        """
        faces = [
            {
                "track": sighting.track,
                "name": sighting.name,
                "state": state_of(sighting),
                "measured": sighting.measured,
                "vertex": vertex,
                "card": card,
                "answer": prediction_fields(sighting.box, sighting.answer, sighting.refusal),
            }
            for sighting, vertex, card in zip(
                self.sightings, self.vertices, self.cards, strict=True
            )
        ]
        fields = {
            "camera": self.camera,
            "frame": self.frame,
            "time": self.time,
            "faces": faces,
            "learned": self.learned,
            "seconds": self.seconds._asdict(),
        }
        return json.dumps(fields, allow_nan=False)


def state_of(sighting: Sighting) -> FaceState:
    """How certain the page shows a face to be; the name is the majority of the track's frames.

    known: this frame agrees with the track, with high confidence. unsure: there is a name, but
    frame and track disagree, or the confidence is low. poor: not good enough to be recognized.
    nobody: nobody known.
    """
    name, answer = sighting.name, sighting.answer
    if name is None and sighting.refusal is not None:
        return "poor"
    if name is None and (answer is None or answer.label is None):
        return "nobody"
    agreed = answer is not None and name is not None and answer.label == name
    return "known" if agreed and answer is not None and answer.confidence >= CERTAIN else "unsure"


def prediction_fields(
    box: FaceBox, answer: Prediction | None, refusal: Refusal | None
) -> dict[str, Any]:
    """What the interface says of one face (`web/schemas.py`, PredictionRow)."""
    return {
        "box": {"left": box.left, "top": box.top, "width": box.width, "height": box.height},
        "name": answer.label if answer else None,
        "candidate": answer.candidate if answer else None,
        "confidence": answer.confidence if answer else None,
        "scores": dict(answer.scores) if answer else {},
        "sink": answer.sink if answer else None,
        "refusal": None
        if refusal is None
        else {
            "reason": refusal.reason,
            "value": refusal.value,
            "threshold": refusal.threshold,
        },
    }


# ---- recognizing


class KnownCounts(NamedTuple):
    """Faces that were labeled by people, and examples that were learned without a label."""

    labeled: int
    learned: int


class LiveRecognizer:
    """The recognizer of a service; all but `finder` belongs to the thread that owns the home."""

    def __init__(self, finder: FaceFinder, *, one_each: bool = False) -> None:
        self.finder, self._one_each = finder, one_each
        self.recent = RecentFaces()
        self._known, self._known_at = KnownCounts(0, 0), -1

    def start(self, home: Home, strangers: Strangers) -> None:
        """Recognize with what this home knows; faces that it does not know go to `strangers`."""
        self._home = home
        self._recognizer = FaceRecognizer(
            home, self.finder, one_each=self._one_each, strangers=strangers
        )

    def see(self, frame: Frame) -> FrameResult:
        """Name every face in a frame of a camera, and learn from those that were good enough."""
        before = self._home.sequence
        found, *seconds = self._recognizer.recognize(frame)
        if self._known_at == before:  # every face that has a vertex was learned as one example
            learned = self._known.learned + sum(each.vertex is not None for each in found)
            self._known, self._known_at = self._known._replace(learned=learned), self._home.sequence
        for each in found:
            small = each.face.thumbnail()
            self.recent.add(
                RecentFace(each.sighting, each.face.vector, small, each.vertex, each.card)
            )
        return FrameResult(
            camera=frame.camera,
            frame=frame.index,
            time=frame.time,
            sightings=tuple(each.sighting for each in found),
            vertices=tuple(each.vertex for each in found),
            cards=tuple(each.card for each in found),
            learned=self.known().learned,
            seconds=StageSeconds(*seconds),
        )

    def one_face(self, pixels: Pixels) -> MeasuredFace:
        """The only face of a picture, if it is good enough to learn from."""
        found = self.finder.faces(pixels)
        if len(found) != 1:
            raise BadValue(f"there must be one face in the picture, {len(found)} were found")
        if found[0].refusal is not None:
            raise BadValue(f"the face cannot be used, {found[0].refusal}")
        return found[0]

    def known(self) -> KnownCounts:
        """How much the home knows.

        Counted anew only after events that were no frames: reading all vertices is too slow to be
        done for every frame.
        """
        if self._known_at != self._home.sequence:
            vertices = self._home.vertices(vectors=False)
            labeled = sum(name is not None for name in vertices.names)
            said = sum(map(len, vertices.negatives.values()))  # who a face is not is not learned
            self._known = KnownCounts(labeled, int(vertices.multiplicities.sum()) - labeled - said)
            self._known_at = self._home.sequence
        return self._known

    def corrected(self, forgotten: str | None = None) -> None:
        """The home was corrected or taught: names that tracks were given before do not count."""
        self._recognizer.clear_votes()
        if forgotten is not None:
            self._recognizer.forget(forgotten)
            self.recent.forget(forgotten)

    def camera_removed(self, camera: str) -> None:
        """Drop all that is remembered of a camera."""
        self._recognizer.camera_removed(camera)
        self.recent.camera_removed(camera)


# ---- faces to click on


@dataclass(frozen=True, slots=True, eq=False)
class RecentFace:
    """The newest usable face of a track that was measured; a poor one only until a better one."""

    sighting: Sighting
    vector: Vector | None
    """None: all faces of this track were too poor so far."""
    thumbnail: Pixels
    vertex: int | None
    card: int | None

    @property
    def refusal(self) -> Refusal | None:
        """Why there is no vector."""
        return self.sighting.refusal

    def png(self) -> bytes:
        """Its picture."""
        return encode_png(self.thumbnail)


class RecentFaces:
    """The newest usable face of each of the latest tracks, by camera and track."""

    def __init__(self) -> None:
        self._faces: OrderedDict[tuple[str, int], RecentFace] = OrderedDict()

    def __len__(self) -> int:
        return len(self._faces)

    def add(self, face: RecentFace) -> None:
        """Remember the newest face of a track, unless an earlier one has a vector and it has none.

        It has none where it is poor, or looks as before and was not measured.
        """
        key = face.sighting.camera, face.sighting.track
        before = self._faces.pop(key, None)
        better = before is None or before.vector is None or face.vector is not None
        self._faces[key] = face if better or before is None else before
        while len(self._faces) > TRACKS:
            self._faces.popitem(last=False)

    def face(self, camera: str, track: int) -> RecentFace:
        """The face of a track, if it was seen lately."""
        found = self._faces.get((camera, track))
        if found is None:
            raise NotFound(f"track {track} was not seen lately; choose a face that is there now")
        return found

    def forget(self, name: str) -> None:
        """Drop every face that was taken for somebody."""
        for key, face in list(self._faces.items()):
            answer = face.sighting.answer
            if face.sighting.name == name or (answer is not None and answer.label == name):
                del self._faces[key]

    def camera_removed(self, camera: str) -> None:
        """Drop every face of a camera."""
        for key in [key for key in self._faces if key[0] == camera]:
            del self._faces[key]


# ---- frames to look at


class FrameView:
    """One frame and what was seen in it, as pictures for a page; may be used from any thread."""

    def __init__(self, frame: Frame, result: FrameResult) -> None:
        self.result, self._frame = result, frame
        self._plain: bytes | None = None
        self._drawn: bytes | None = None
        self._lock = Lock()

    def plain(self) -> bytes:
        """Exactly this frame, as JPEG."""
        with self._lock:
            if self._plain is None:
                self._plain = encode_jpeg(self._frame.pixels)
            return self._plain

    def drawn(self) -> bytes:
        """The same with boxes and names."""
        with self._lock:
            if self._drawn is None:
                self._drawn = encode_jpeg(annotated(self._frame, self.result.sightings))
            return self._drawn


class LatestViews:
    """The newest view of each camera; may be used from any thread."""

    def __init__(self) -> None:
        self._newest: dict[str, FrameView] = {}
        self._lock = Lock()

    def put(self, view: FrameView) -> None:
        """Replace the view of its camera."""
        with self._lock:
            self._newest[view.result.camera] = view

    def newest(self, camera: str) -> FrameView | None:
        """None before the first frame."""
        with self._lock:
            return self._newest.get(camera)

    def camera_removed(self, camera: str) -> None:
        """Drop the view of a camera."""
        with self._lock:
            self._newest.pop(camera, None)

    def clear(self) -> None:
        """Drop all views: somebody was forgotten, and may be in them."""
        with self._lock:
            self._newest.clear()


# ---- counts and speeds


@dataclass(slots=True)
class _LatestFrames:
    """When each of the latest frames of a camera was done, and the seconds of its stages."""

    times: deque[float] = field(default_factory=lambda: deque(maxlen=FRAMES))
    seconds: deque[tuple[float, ...]] = field(default_factory=lambda: deque(maxlen=FRAMES))


class FrameStats:
    """Counts since the start and speeds of the last seconds, by camera; for any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        """By camera and by what became of frames and faces."""
        self.seconds: defaultdict[str, float] = defaultdict(float)
        """By camera, the time that its frames took."""
        self._latest: dict[str, _LatestFrames] = {}
        self._clock, self._lock = clock, Lock()

    def add(self, result: FrameResult, seconds: float) -> None:
        """Count a frame that took this long, waiting for the home included."""
        with self._lock:
            camera = result.camera
            self.counts[camera, "frames"] += 1
            self.seconds[camera] += seconds
            for sighting in result.sightings:
                named = "named" if sighting.name is not None else "unknown"
                self.counts[camera, "refused" if sighting.refusal else named] += 1
            latest = self._latest.setdefault(camera, _LatestFrames())
            latest.times.append(self._clock())
            latest.seconds.append((*result.seconds, seconds))

    def totals(self) -> tuple[dict[tuple[str, str], int], dict[str, float]]:
        """Copies of counts and seconds as they are now."""
        with self._lock:
            return dict(self.counts), dict(self.seconds)

    def stage_seconds(self, camera: str) -> dict[str, float]:
        """Mean seconds per frame of one camera, by stage, over the last ten seconds."""
        with self._lock:
            latest, now = self._latest.get(camera, _LatestFrames()), self._clock()
            while latest.times and latest.times[0] < now - WINDOW:
                latest.times.popleft()
                latest.seconds.popleft()
            rows = list(latest.seconds)
        stages = (*StageSeconds._fields, "whole")
        columns = zip(*rows, strict=True) if rows else [[0.0]] * len(stages)
        means = [sum(column) / max(1, len(rows)) for column in columns]
        return dict(zip(stages, means, strict=True))

    def camera_removed(self, camera: str) -> None:
        """Drop the numbers of a camera."""
        with self._lock:
            self.seconds.pop(camera, None)
            self._latest.pop(camera, None)
            for counted in [key for key in self.counts if key[0] == camera]:
                del self.counts[counted]
