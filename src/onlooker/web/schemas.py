"""What goes over the wire; the description at /api/v1/openapi.json is made of these.

Faces, names and reasons as they go over the wire.

Events, cameras and health as they go over the wire.
"""

from collections.abc import Mapping, Set
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from onlooker.core.records import Ending, Explanation, Prediction
from onlooker.strangers.cards import Card
from onlooker.vision.types import FaceBox, Refusal, Sighting
from onlooker.web.frames import FrameResult

LARGEST = 2**53 - 1
"""Numbers beyond are not the same in every language."""

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]
Number = Annotated[int, Field(ge=0, le=LARGEST)]
PersonId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
FaceKey = PersonId


class Model(BaseModel):
    """Made of records, too; unknown fields are refused."""

    model_config = ConfigDict(from_attributes=True, extra="forbid")


class Problem(Model):
    """What went wrong, in a sentence."""

    detail: str


class Person(Model):
    """Somebody who has a name; the id changes with the name."""

    id: str
    name: str
    labeled: int
    learned: int
    examples: int


class Changed(Person):
    """The same after a change; `undo` is the event to go back to, null if nothing changed."""

    undo: int | None


class NewName(Model):
    """What somebody or some face is called from now on."""

    name: Name


class Merge(Model):
    """Two ids that are one person: the name of the first goes."""

    person: PersonId
    into: PersonId


class Receipt(Model):
    """What was forgotten, and what was deleted from the disk."""

    name: str
    labeled: int
    unlabeled: int
    multiplicity: int
    unreachable: list[int]
    pictures: int
    sightings: int
    events: int
    snapshots: int
    strangers: int


class Face(Model):
    """A face that is known; learned ones were never labeled."""

    vertex: int
    name: str
    kind: Literal["labeled", "learned"]
    examples: int
    picture: bool


class Taught(Model):
    """A face that was taught, and the event to undo to."""

    person: Person
    vertex: int
    undo: int | None


class Glimpse(Model):
    """When and where somebody was seen."""

    time: float
    camera: str | None
    frame: int | None


class Stranger(Model):
    """Somebody without a name; faces are the keys of their pictures, the best first."""

    card: int
    count: int
    first: Glimpse
    last: Glimpse
    faces: list[str]
    hidden: bool

    @classmethod
    def of(cls, card: Card) -> "Stranger":
        """From a card."""
        return cls(
            card=card.number,
            count=card.count,
            first=Glimpse.model_validate(card.first),
            last=Glimpse.model_validate(card.last),
            faces=[face.key for face in card.faces if face.key is not None],
            hidden=card.hidden,
        )


class NewStranger(NewName):
    """Who a stranger is; only the chosen faces are taught, or else all of the best ones."""

    faces: Annotated[list[FaceKey], Field(min_length=1, max_length=16)] | None = None


class Met(Model):
    """A stranger who has a name now, how many faces were taught, and the event to undo to."""

    person: Person
    taught: int
    undo: int | None


class Dropped(Model):
    """The vertices that are gone, and the event to undo to."""

    dropped: list[int]
    undo: int | None


SURE = 0.5
"""From this confidence on, a name is shown without reserve."""


class Box(Model):
    """A rectangle in pixels, origin at the top left."""

    left: float
    top: float
    width: float
    height: float


class Poor(Model):
    """Why a face was too poor to be named."""

    reason: str
    value: float
    threshold: float


class Answer(Model):
    """One face: its name or null, how sure, and the probability of ending nowhere."""

    box: Box
    name: str | None
    confidence: float | None
    scores: dict[str, float]
    sink: float | None
    refusal: Poor | None

    @classmethod
    def of(cls, box: FaceBox, answer: Prediction | None, refusal: Refusal | None) -> "Answer":
        """From what the learner says."""
        return cls(
            box=Box.model_validate(box),
            name=answer.label if answer else None,
            confidence=answer.confidence if answer else None,
            scores=dict(answer.scores) if answer else {},
            sink=answer.sink if answer else None,
            refusal=Poor.model_validate(refusal) if refusal else None,
        )


class Link(Model):
    """One vertex on the way, whose face it is taken for, and how many examples it stands for."""

    vertex: int
    name: str | None
    examples: int
    picture: bool


class End(Model):
    """A labeled face the walk ends at: how often, and along which chain most probably."""

    name: str
    share: float
    chain: list[Link]

    @classmethod
    def of(cls, end: Ending, names: Mapping[int, str | None], pictured: Set[int]) -> "End":
        """From the learner's ending."""
        chain = [
            Link(
                vertex=step.vertex,
                name=names.get(step.vertex),
                examples=step.multiplicity,
                picture=step.vertex in pictured,
            )
            for step in end.chain
        ]
        return cls(name=end.name, share=end.share, chain=chain)


class Share(Model):
    """A name, and the probability that the walk ends there."""

    name: str
    share: float


class Why(Model):
    """Where the walk from a face ends; what is missing to 1 ended nowhere, in the sink."""

    name: str | None
    scores: dict[str, float]
    alternatives: list[Share]
    sink: float
    endings: list[End]

    @classmethod
    def of(cls, why: Explanation, names: Mapping[int, str | None], pictured: Set[int]) -> "Why":
        """From the learner's explanation."""
        told = why.prediction
        ranked = sorted(told.scores.items(), key=lambda pair: -pair[1])
        return cls(
            name=told.label,
            scores=dict(told.scores),
            alternatives=[Share(name=name, share=share) for name, share in ranked],
            sink=told.sink,
            endings=[End.of(ending, names, pictured) for ending in why.endings],
        )


class WhySeen(Why):
    """The same of a face on the screen: the vertex that stands for it, the stranger's card."""

    vertex: int | None
    card: int | None


class Explained(Model):
    """A face of a picture, and why; null for one too poor to be named."""

    box: Box
    why: Why | None


class Seen(Model):
    """One face in one frame of a camera; the name is what the track has come to say.

    known: this frame agrees with the track, clearly. unsure: a name is in play, but frame and
    track disagree, or the frame is not sure. poor: too poor to be named. nobody: nobody known.
    """

    track: int
    name: str | None
    state: Literal["known", "unsure", "nobody", "poor"]
    vertex: int | None
    card: int | None
    answer: Answer

    @classmethod
    def of(cls, sighting: Sighting, vertex: int | None, card: int | None) -> "Seen":
        """From a sighting."""
        return cls(
            track=sighting.track,
            name=sighting.name,
            state=state_of(sighting),
            vertex=vertex,
            card=card,
            answer=Answer.of(sighting.box, sighting.answer, sighting.refusal),
        )


def state_of(sighting: Sighting) -> Literal["known", "unsure", "nobody", "poor"]:
    """How sure a page may look about a face."""
    name, answer = sighting.name, sighting.answer
    if name is None and sighting.refusal is not None:
        return "poor"
    if name is None and (answer is None or answer.label is None):
        return "nobody"
    agreed = answer is not None and name is not None and answer.label == name
    return "known" if agreed and answer is not None and answer.confidence >= SURE else "unsure"


class Seconds(Model):
    """What the stages took for one frame."""

    detect: float
    features: float
    learn: float


class Result(Model):
    """What was seen in one frame; learned: from how many unlabeled faces it has learned so far."""

    camera: str
    frame: int
    time: float
    faces: list[Seen]
    learned: int
    seconds: Seconds

    @classmethod
    def of(cls, result: FrameResult) -> "Result":
        """From a look at a frame."""
        columns = zip(result.sightings, result.vertices, result.cards, strict=True)
        return cls(
            camera=result.camera,
            frame=result.frame,
            time=result.time,
            faces=[Seen.of(*column) for column in columns],
            learned=result.learned,
            seconds=Seconds(**result.seconds._asdict()),
        )


class Event(Model):
    """One change; the words of `changes` are those of the journal."""

    sequence: int
    time: float
    camera: str | None
    frame: int | None
    kind: str
    changes: list[list[Any]]


class History(Model):
    """How often somebody was sighted in equal parts of a time, the oldest first."""

    since: float = Field(serialization_alias="from")
    to: float
    counts: list[int]


class SightingRow(Model):
    """One line of the diary; numbers grow with time."""

    number: int
    time: float
    camera: str
    frame: int
    name: str | None
    vertex: int | None


class Summary(Model):
    """How much is known. learned: unlabeled faces that the learner took in by watching."""

    people: int
    labeled: int
    learned: int
    vertices: int
    strangers: int
    sequence: int
    radius: float
    cameras: int


class Undo(Model):
    """The event to go back to."""

    to: Number


class Sequence(Model):
    """The number of the newest event."""

    sequence: int


class NewCamera(Model):
    """What to watch."""

    source: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    name: Annotated[str, StringConstraints(pattern=r"^\w[\w. -]{0,63}$")] | None = None


class Camera(Model):
    """How a camera is."""

    name: str
    address: str
    state: Literal["starting", "watching", "lost", "ended", "failed"]
    problem: str | None
    frames: int
    dropped: int
    reconnects: int


class Stages(Model):
    """Mean seconds of a frame in the last ten seconds; whole: with waiting for its turn."""

    detect: float
    features: float
    learn: float
    whole: float


class CameraHealth(Model):
    """How fast a camera is looked at, and what it lost; fps over the last ten seconds."""

    name: str
    state: Literal["starting", "watching", "lost", "ended", "failed"]
    problem: str | None
    fps: float
    seconds: Stages
    frames: int
    dropped: int
    reconnects: int


class Disk(Model):
    """Bytes: of the home's folder, and free beside it."""

    home: int
    free: int


class Retention(Model):
    """How long what is kept."""

    stranger_hours: float
    sighting_days: float
    undo_days: float


class Health(Model):
    """How the service is; degraded: it serves, but cannot learn, or something was damaged."""

    status: Literal["ok", "degraded"]
    read_only: str | None
    problems: list[str]
    sequence: int
    oldest: int
    cameras_failing: list[str]
    version: str
    cameras: list[CameraHealth]
    vertices: int
    max_vertices: int
    memory: int
    disk: Disk
    retention: Retention
    versions: dict[str, str]
    queue: int
    uptime: float


class Kernel(Model):
    """What the similarity is made of: the heat parameter, and where links end."""

    bandwidth: float
    cutoff: float


class MapVertex(Model):
    """One vertex of the map."""

    vertex: int
    name: str | None
    labeled: bool
    examples: int
    picture: bool


class Map(Model):
    """The graph; links are places in the list of vertices, and a strength between 0 and 1."""

    sequence: int
    kernel: Kernel
    vertices: list[MapVertex]
    links: list[tuple[int, int, float]]
