"""The order in which a learner sees the pictures of a set, and which are labeled (Section 4.1).

Cameras come one after the other. A camera that was recorded as one video (no frame number twice) is
played in order; where the frames of each person are numbered separately, runs of 30 frames of each
are interleaved at random. The first four faces of each person on the first camera are labeled, and
not counted. People without a label are strangers. Pictures of a crowd are spread evenly over the
whole stream.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from onlooker.core.errors import BadValue
from onlooker.experiments.datasets.facebank import BankedFace
from onlooker.experiments.datasets.manifest import Picture, refuse
from onlooker.vision.types import FaceBox

LABELS = 4
RUN = 30
Labeling = Literal["first", "frontal"]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One picture of a stream."""

    camera: str
    person: str | None
    """Who it is; None for a stranger."""
    faces: tuple[NDArray[np.float32] | None, ...]
    """The vector of each detected face, largest first; None where the quality gate refused it."""
    labeled: bool = False
    staged: bool = True
    """Whether it belongs to the camera's recording; pictures of a crowd do not."""
    condition: str = ""
    """What disturbs the face, where the dataset says so."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """The choices that a stream depends on."""

    seed: int = 0
    people: tuple[str, ...] = ()
    """The people who are labeled; all on the first camera unless given."""
    strangers: int = 0
    """The number of pictures of the crowd in the stream."""
    labeling: Labeling = "first"
    """The first faces of each person, or the most frontal of the first run, as in the paper."""
    labels: int = LABELS
    """How many faces of each are labeled."""


Found = tuple[Picture, Sequence[BankedFace]]


def plan(recording: Sequence[Found], crowd: Sequence[Found], protocol: Protocol) -> list[Step]:
    """All steps of one set in order."""
    rng = np.random.default_rng(protocol.seed)
    cameras = list(dict.fromkeys(picture.camera for picture, _ in recording))
    by_camera = [
        _in_order([found for found in recording if found[0].camera == camera], rng)
        for camera in cameras
    ]
    labeled = _labeled(by_camera[0], protocol)
    known = {picture.person for picture in labeled}
    steps = [
        _step(picture, faces, known, labeled=picture in labeled)
        for found in by_camera
        for picture, faces in found
    ]
    return _mixed(steps, _some_of(crowd, protocol.strangers, rng))


def _in_order(found: Sequence[Found], rng: np.random.Generator) -> list[Found]:
    """One camera: as recorded, or the runs of its people interleaved at random."""
    frames = [picture.frame for picture, _ in found]
    if len(set(frames)) == len(frames):
        return sorted(found, key=lambda each: each[0].frame)
    runs: dict[str | None, list[list[Found]]] = {}
    for person in dict.fromkeys(picture.person for picture, _ in found):
        own = sorted(
            (each for each in found if each[0].person == person), key=lambda each: each[0].frame
        )
        runs[person] = [own[at : at + RUN] for at in range(0, len(own), RUN)]
    turns = [person for person, own in runs.items() for _ in own]
    waiting = {person: iter(own) for person, own in runs.items()}
    return [
        each for turn in rng.permutation(len(turns)) for each in next(waiting[turns[int(turn)]])
    ]


def _labeled(first: Sequence[Found], protocol: Protocol) -> set[Picture]:
    """The pictures that are labeled; an error lists the people who have no usable face."""
    met = list(dict.fromkeys(picture.person for picture, _ in first if picture.person))
    people = protocol.people or tuple(person for person in met if person)
    if unknown := [person for person in people if person not in met]:
        raise BadValue(f"not on the first camera: {', '.join(unknown)}; there: {', '.join(met)}")
    labeled: set[Picture] = set()
    problems = []
    for person in people:
        own = [found for found in first if found[0].person == person]
        if protocol.labeling == "frontal":
            own = own[:RUN]
        usable = [
            (picture, faces[0]) for picture, faces in own if faces and faces[0].vector is not None
        ]
        if protocol.labeling == "frontal":
            usable.sort(key=lambda each: turned(each[1].box))
        labeled |= {picture for picture, _ in usable[: protocol.labels]}
        if not usable:
            problems.append(f"{person} has no face to label on camera {first[0][0].camera}")
    refuse(f"set {first[0][0].set}", problems or ([] if people else ["it shows nobody by name"]))
    return labeled


def turned(box: FaceBox) -> float:
    """How far a face is turned: from the nose to the middle of the eyes, in eye distances.

    >>> turned(FaceBox(0, 0, 9, 9, 1.0, ((2, 3), (6, 3), (5, 5), (3, 7), (5, 7))))
    0.25
    """
    if not box.landmarks:
        raise BadValue("frontal faces need landmarks, which this detector does not find")
    right, left, nose = (np.array(point) for point in box.landmarks[:3])
    across = left - right
    return float(abs((nose - (left + right) / 2) @ across) / max(float(across @ across), 1e-9))


def _step(
    picture: Picture, faces: Sequence[BankedFace], known: set[str | None], *, labeled: bool
) -> Step:
    person = picture.person if picture.person in known else None
    vectors = tuple(face.vector for face in faces)
    return Step(picture.camera, person, vectors, labeled, condition=picture.condition)


def _some_of(crowd: Sequence[Found], count: int, rng: np.random.Generator) -> list[Found]:
    if count > len(crowd):
        raise BadValue(f"{count} strangers were asked for, the dataset has {len(crowd)}")
    return [crowd[int(at)] for at in rng.permutation(len(crowd))[:count]]


def _mixed(steps: Sequence[Step], crowd: Sequence[Found]) -> list[Step]:
    """Spread strangers evenly over the steps; each belongs to the camera of the next step."""
    return list(_merge(steps, crowd)) if crowd else list(steps)


def _merge(steps: Sequence[Step], crowd: Sequence[Found]) -> Iterator[Step]:
    positions = ((np.arange(len(crowd)) + 0.5) * len(steps) / len(crowd)).astype(int).tolist()
    placed = 0
    for at, step in enumerate(steps):
        while placed < len(crowd) and positions[placed] <= at:
            vectors = tuple(face.vector for face in crowd[placed][1])
            yield Step(step.camera, None, vectors, staged=False)
            placed += 1
        yield step
