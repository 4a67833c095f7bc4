"""Alarms: what somebody who takes over a name leaves in the stream of the faces that get it.

The name of every accepted face is followed, with its straight distance from the faces that people
labeled, in units of the kernel's reach (how far a link goes). There are four alarms:

- *region*: the newest faces of a name form a region of their own. None of them is linked to a
  label; their mean is far from the mean of the faces that are (a mean has little noise and pose);
  and all are much more alike than they are like the faces around the labels. Somebody whose light
  changes, or who is partly covered, scatters; somebody else does not.
- *drift*: over many faces of a name the distance from the labels has grown, almost without a step
  back and without a jump, from within a link to beyond it. Light and visits come in jumps.
- *touching*: faces of one name lie between its labels and those of another name.
- *camera*: at one camera a name is given to faces as far from the labels as somebody else's, while
  at the other cameras they are linked to a label.

The numbers below were chosen on some of the attacks and streams of `onlooker reproduce alarms`,
which measures the result on others (docs/choices.md). A region is reported once: what is linked to
the faces of an earlier alarm continues that region.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from onlooker.core.checks import Floats
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.records import Prediction
from onlooker.core.similarity import distances

AlarmKind = Literal["region", "drift", "touching", "camera"]

RUN = 12
"""Faces of a name in a row that may be a region."""
EVERY = 3
"""Faces between two examinations of such a run."""
MOVED, GAP = 1.12, 0.58
"""In reaches: how far the mean of a run is from the mean of the faces that are linked to a label,
and by how much the distance from the faces around the labels exceeds the diameter of the run."""
ESTABLISHED = 20
"""Faces of a name that were linked to a label, at least: else it is unknown where it belongs."""
RECENT = 256
"""Linked faces over which their mean is taken, about."""
WINDOWS = (64, 96, 128, 192, 256)
"""Faces over which a drift is looked for, whenever DRIFT_EVERY more have come."""
DRIFT_EVERY = 4
DRIFTED = 1.1
"""In reaches, how far from the labels a drift must have led."""
STEADY = 0.94
"""Rank correlation of time and distance from the labels that is a drift."""
PARTS, JUMP = 8, 0.35
"""Of a window, and the share of the whole way that lies between two of them, at most."""
TOUCH = 0.1
"""Share of the best score that another name must have for the two to touch."""
TOUCHES = 5
"""Of the last RUN faces."""
AT_CAMERA, FAR = 32, 1.27
"""Newest faces of a name at one camera that are compared with those at the others, and how far from
the labels their middle one must be, in reaches."""
REGION_FACES = 64
"""Faces of a region that are remembered."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """What is suspicious, about whose name, and the vertices of the faces that caused it.

    >>> alarm = Alarm("region", "ana", (7, 9), bridge=5)
    >>> alarm.change
    ['alarm', 'region', 'ana', [7, 9], None, 5]
    >>> Alarm.of(alarm.change) == alarm
    True
    """

    kind: AlarmKind
    name: str
    vertices: tuple[int, ...]
    other: str | None = None
    """The other person, or the camera."""
    bridge: int | None = None
    """The vertex that most of the walks from these faces to the labels pass."""

    @property
    def change(self) -> list[Any]:
        """As it is stored in an event."""
        return ["alarm", self.kind, self.name, list(self.vertices), self.other, self.bridge]

    @classmethod
    def of(cls, change: Sequence[Any]) -> Self:
        """The alarm that was stored."""
        _, kind, name, vertices, *rest = change
        return cls(kind, name, tuple(vertices), *rest)

    @property
    def words(self) -> str:
        """What happened, for people.

        >>> print(Alarm("touching", "ana", (7,), "ben").words)
        is this ana? Faces lie between ana and ben
        """
        what = {
            "region": f"{RUN} faces in a row are alike, but far from all that was labeled",
            "drift": "faces have moved away from the labeled ones, step by step",
            "touching": f"faces lie between {self.name} and {self.other}",
            "camera": f"at {self.other} the faces are far from all that was labeled",
        }[self.kind]
        return f"is this {self.name}? {what[0].upper()}{what[1:]}"


class NotedFace(NamedTuple):
    """What is remembered of an accepted face."""

    distance: float
    """From the nearest label of its name, in reaches."""
    linked: bool
    """To a label of its name."""
    camera: str
    touches: str | None
    """Another name that its walk ends at, too."""


class _NameHistory:
    """The newest faces of one name."""

    def __init__(self) -> None:
        self.faces: deque[NotedFace] = deque(maxlen=max(WINDOWS))
        self.vectors: deque[Floats] = deque(maxlen=RUN)
        """Of the newest faces."""
        self.run = 0
        """Faces in a row, up to the newest, that are not linked to a label."""
        self.count = 0
        self.linked_count = 0
        self.linked_mean: Floats = np.zeros(0)
        """Of the faces that are linked to a label, the recent ones."""

    def note(self, x: Floats, face: NotedFace) -> None:
        """One more face."""
        self.faces.append(face)
        self.vectors.append(x)
        self.count += 1
        self.run = 0 if face.linked else self.run + 1
        if face.linked:
            self.linked_count += 1
            mean = self.linked_mean if self.linked_count > 1 else np.zeros_like(x)
            self.linked_mean = mean + (x - mean) / min(self.linked_count, RECENT)


class AlarmWatch:
    """Follows the faces of every name, in memory; what was reported, its user stores."""

    def __init__(self) -> None:
        self._names: defaultdict[str, _NameHistory] = defaultdict(_NameHistory)
        self._regions: list[list[Floats]] = []

    def restart(self, learner: OnlineHarmonicLearner, reported: Iterable[Alarm]) -> None:
        """After a start, or a change by a person: whatever is gone is not remembered any more."""
        for name in self._names.keys() - set(learner.names):
            del self._names[name]
        known = learner.vertices()
        vectors = dict(zip(known.ids.tolist(), known.vectors.astype(np.float64), strict=True))
        regions = [[vectors[at] for at in each.vertices if at in vectors] for each in reported]
        self._regions = [region for region in regions if region]

    def note(
        self, learner: OnlineHarmonicLearner, x: ArrayLike, prediction: Prediction, camera: str
    ) -> Alarm | None:
        """After a face was learned: the alarm that it raises, if any."""
        name = prediction.label
        if name is None or name not in learner.names:
            return None
        history = self._names[name]
        linked = prediction.support != "inferred"
        distance = learner.label_distance(x, name) / learner.kernel.reach
        face = NotedFace(distance, linked, camera, _touched(prediction))
        history.note(np.asarray(x, np.float64), face)
        found = _region(learner, name, history) or _drift(history) or _other(history)
        return None if found is None else self._new_alarm(learner, name, history, *found)

    def _new_alarm(
        self,
        learner: OnlineHarmonicLearner,
        name: str,
        history: _NameHistory,
        kind: AlarmKind,
        other: str | None,
    ) -> Alarm | None:
        """The alarm about the newest faces, unless they continue a region that was reported."""
        faces, kernel = list(history.vectors), learner.kernel
        for region in self._regions:
            rows = np.array(region)
            if any(distances(kernel.distance, x, rows).min() < kernel.reach for x in faces):
                region += faces
                del region[REGION_FACES // 2 : -REGION_FACES // 2]
                return None
        self._regions.append(faces)
        known = learner.vertices()
        gaps = [distances(kernel.distance, x, known.vectors) for x in faces]
        nearest = [int(known.ids[gap.argmin()]) for gap in gaps]
        bridge = learner.explain(faces[-1]).bridge
        vertices = tuple(dict.fromkeys(nearest))
        return Alarm(kind, name, vertices, other, None if bridge is None else bridge.vertex)


Suspicion = tuple[AlarmKind, str | None]
"""The kind, and the other person or the camera."""


def _region(learner: OnlineHarmonicLearner, name: str, history: _NameHistory) -> Suspicion | None:
    """Whether the newest faces form a region of their own; cheap tests come first."""
    if history.run < RUN or (history.run - RUN) % EVERY or history.linked_count < ESTABLISHED:
        return None
    run, kernel = np.array(history.vectors), learner.kernel
    (moved,) = distances(kernel.distance, run.mean(axis=0), history.linked_mean[None])
    if moved <= MOVED * kernel.reach:
        return None
    diameter = max(float(distances(kernel.distance, x, run).max()) for x in run)
    state = learner.state()
    rows = state.vectors.astype(np.float64)
    labels = rows[state.labels == state.names.index(name)]
    to_labels = [distances(kernel.distance, label, rows) for label in labels]
    around = rows[np.min(to_labels, axis=0) < kernel.reach]
    apart = np.median([distances(kernel.distance, x, around) for x in run])
    return ("region", None) if apart - diameter > GAP * kernel.reach else None


def _drift(history: _NameHistory) -> Suspicion | None:
    """Whether the distance from the labels has grown steadily, over one of the windows."""
    if history.count % DRIFT_EVERY or history.faces[-1].linked:
        return None
    moves = np.array([face.distance for face in history.faces])
    for size in WINDOWS:
        if len(moves) < size:
            return None
        window = moves[-size:]
        parts = np.median(window.reshape(PARTS, -1), axis=1)
        even = np.diff(parts).max() < JUMP * (parts[-1] - parts[0])
        if parts[0] < 1.0 and parts[-1] > DRIFTED and even and _rank_correlation(window) > STEADY:
            return "drift", None
    return None


def _other(history: _NameHistory) -> Suspicion | None:
    """Whether two people touch, or one camera differs from the others."""
    other, camera = history.faces[-1].touches, history.faces[-1].camera
    if other is None and history.run < RUN:
        return None
    faces = list(history.faces)
    if other is not None and [face.touches for face in faces[-RUN:]].count(other) >= TOUCHES:
        return "touching", other
    if history.run < RUN:
        return None
    here = [face for face in faces if face.camera == camera][-AT_CAMERA:]
    there = [face.linked for face in faces if face.camera != camera]
    if (
        len(here) == AT_CAMERA
        and len(there) >= ESTABLISHED
        and np.median([face.distance for face in here]) > FAR
        and 10 * sum(there) > 9 * len(there)
    ):
        return "camera", camera
    return None


def _touched(prediction: Prediction) -> str | None:
    """The second best name, if its score is not small beside the best."""
    scores = prediction.scores
    best = scores[prediction.label] if prediction.label is not None else 0.0
    others = [(score, name) for name, score in scores.items() if name != prediction.label]
    second = max(others, default=(0.0, None))
    return second[1] if second[0] >= TOUCH * best > 0.0 else None


def _rank_correlation(values: Floats) -> float:
    """Of values with their order: 1 if they only grow.

    >>> _rank_correlation(np.array([1.0, 2.0, 4.0])), _rank_correlation(np.array([3.0, 2.0]))
    (1.0, -1.0)
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]  # equal values share their mean rank
    return float(np.corrcoef(np.arange(len(values)), ranks)[0, 1])
