"""The JSON of the REST interface; /api/v1/openapi.json is generated from these classes."""

from collections.abc import Mapping, Sequence, Set
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from onlooker.core.records import Ending, Explanation, Prediction
from onlooker.strangers.cards import Card
from onlooker.video.decoding import CameraState
from onlooker.vision.types import FaceBox, Refusal
from onlooker.web.frames import prediction_fields

LARGEST = 2**53 - 1
"""Larger integers are not exact in JavaScript."""

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]
Number = Annotated[int, Field(ge=0, le=LARGEST)]
PersonId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
FaceKey = PersonId


class Schema(BaseModel):
    """Base class: can be built from records with the same attributes; refuses unknown fields."""

    model_config = ConfigDict(from_attributes=True, extra="forbid")


class Problem(Schema):
    """An error, described in one sentence."""

    detail: str


class PersonRow(Schema):
    """A person with a name; the id is derived from the name and changes with it.

    labeled: faces that a person named; learned: faces learned by watching; examples: how many
    observations all of them stand for.
    """

    id: str
    name: str
    labeled: int
    learned: int
    examples: int


class ChangedPerson(PersonRow):
    """A person after a change; `undo` is the event to undo to, null if nothing changed."""

    undo: int | None


class NewName(Schema):
    """The new name of a person or a face."""

    name: Name


class MergeRequest(Schema):
    """Two ids of one person: the name of the first is dropped."""

    person: PersonId
    into: PersonId


class ReceiptRow(Schema):
    """How much was deleted from the disk, without the name."""

    labeled: int
    unlabeled: int
    multiplicity: int
    unreachable: list[int]
    pictures: int
    sightings: int
    events: int
    snapshots: int
    strangers: int


class ForgetPreview(Schema):
    """How much forgetting a person would delete, and how much of others stays.

    strangers: cards of faces that would be given the name. people_left, pictures_left: of others.
    """

    labeled: int
    unlabeled: int
    pictures: int
    strangers: int
    sightings: int
    people_left: int
    pictures_left: int


class FaceRow(Schema):
    """A vertex that is somebody's face: labeled by a person, or learned by watching."""

    vertex: int
    name: str
    kind: Literal["labeled", "learned"]
    examples: int
    picture: bool


class TaughtFace(Schema):
    """A vertex that has a name now, and the event to undo to."""

    person: PersonRow
    vertex: int
    undo: int | None


class GlimpseRow(Schema):
    """When and where a stranger was seen."""

    time: float
    camera: str | None
    frame: int | None


class StrangerRow(Schema):
    """A person without a name; faces are the keys of their pictures, the best first.

    candidate: who it may be, the most frequent of `candidates`, which counts the latest faces; it
    is a question, not a name. not_names: who it is not, as people said. ask: whether it is asked
    about. learned: where it is a question about the candidate, faces that have the candidate's name
    without a label, to be shown and confirmed with a yes.
    """

    card: int
    count: int
    first: GlimpseRow
    last: GlimpseRow
    faces: list[str]
    hidden: bool
    candidate: str | None
    candidates: dict[str, int]
    not_names: list[str]
    ask: bool
    learned: list[int]

    @classmethod
    def of(cls, card: Card, learned: Sequence[int] = ()) -> "StrangerRow":
        """From a card."""
        return cls(
            card=card.number,
            count=card.count,
            first=GlimpseRow.model_validate(card.first),
            last=GlimpseRow.model_validate(card.last),
            faces=[face.key for face in card.faces if face.key is not None],
            hidden=card.hidden,
            candidate=card.candidate,
            candidates=card.candidates,
            not_names=sorted(card.not_names),
            ask=card.ask,
            learned=list(learned),
        )


class StrangerName(NewName):
    """The name of a stranger; only the chosen faces are taught, or all on the card.

    learned: the numbers of faces that have the name already, and are right.
    """

    faces: Annotated[list[FaceKey], Field(min_length=1, max_length=16)] | None = None
    learned: Annotated[list[Number], Field(max_length=16)] = []


class NamedStranger(Schema):
    """A stranger who has a name now, how many faces were taught, and the event to undo to."""

    person: PersonRow
    taught: int
    undo: int | None


class StrangerCards(Schema):
    """Several strangers, by the numbers of their cards."""

    cards: Annotated[list[Number], Field(min_length=1, max_length=100)]


class StrangersName(StrangerCards, NewName):
    """The name of somebody who has several cards."""


class JoinedStrangers(Schema):
    """The card that has all of them now, and the event to undo to."""

    card: StrangerRow
    undo: int | None


class SamePersonRow(Schema):
    """A card that may be the same person as another card or, where it has a name, somebody known.

    gap: between their most alike faces, where 1 is the distance up to which faces are linked. face,
    and other_face or vertex, are those two.
    """

    card: int
    other: int | None
    name: str | None
    gap: float
    face: str | None
    other_face: str | None
    vertex: int | None


class NotThisName(Schema):
    """Whom a face or a stranger is not; a person whose name is known."""

    name: Name


class AskRequest(Schema):
    """Whether people may be asked about a stranger."""

    ask: bool


class AnswerTaken(Schema):
    """What a person said was taken in: of how many faces, and the event to undo to."""

    faces: int
    undo: int | None


class FaceGroup(Schema):
    """The faces that came to a name by the same narrowest link, the one in question first."""

    name: str | None
    vertices: list[int]


class DroppedVertices(Schema):
    """The vertices that were deleted, and the event to undo to.

    taken_out: examples of the group that had been merged into faces that stay, and are not there
    now. complete: whether history reaches back to when the group began; if not, some may be there.
    """

    dropped: list[int]
    taken_out: int
    complete: bool
    undo: int | None


class BoxRow(Schema):
    """A rectangle in pixels, origin at the top left."""

    left: float
    top: float
    width: float
    height: float


class RefusalRow(Schema):
    """Why a face was not good enough to be recognized."""

    reason: str
    value: float
    threshold: float


class PredictionRow(Schema):
    """One face: its name or null, the confidence, and the probability of ending in the sink.

    candidate: whom a face without a name may be, too far from every labeled face to be named so.
    """

    box: BoxRow
    name: str | None
    candidate: str | None
    confidence: float | None
    scores: dict[str, float]
    sink: float | None
    refusal: RefusalRow | None

    @classmethod
    def of(
        cls, box: FaceBox, answer: Prediction | None, refusal: Refusal | None
    ) -> "PredictionRow":
        """From the learner's prediction, or the refusal of the face."""
        return cls.model_validate(prediction_fields(box, answer, refusal))


class PhotoFace(PredictionRow):
    """A face of a photo that nothing was learned from yet: its key, and who it would be."""

    face: FaceKey


class FoundPhoto(Schema):
    """The faces of an uploaded photo, the largest first, and its size once it is upright."""

    width: int
    height: int
    faces: list[PhotoFace]


class PhotoKeys(Schema):
    """Faces of uploaded photos."""

    faces: Annotated[list[FaceKey], Field(min_length=1, max_length=300)]


class PhotoName(NewName):
    """Who a face of a photo is."""

    face: FaceKey


class PhotoNames(Schema):
    """Who the chosen faces are; the others are left out."""

    faces: Annotated[list[PhotoName], Field(min_length=1, max_length=300)]


class TaughtFaces(Schema):
    """Whose faces were taught, how many that were not known yet, and the event to undo to."""

    people: list[PersonRow]
    taught: int
    undo: int | None


class ChainLink(Schema):
    """One vertex of a chain, whose face it is, and how many examples it stands for."""

    vertex: int
    name: str | None
    examples: int
    picture: bool


class EndingRow(Schema):
    """A labeled face the walk ends at, the probability of that, and the most probable chain."""

    name: str
    share: float
    chain: list[ChainLink]

    @classmethod
    def of(cls, end: Ending, names: Mapping[int, str | None], pictured: Set[int]) -> "EndingRow":
        """From the learner's record."""
        chain = [
            ChainLink(
                vertex=step.vertex,
                name=names.get(step.vertex),
                examples=step.multiplicity,
                picture=step.vertex in pictured,
            )
            for step in end.chain
        ]
        return cls(name=end.name, share=end.share, chain=chain)


class NameShare(Schema):
    """A name, and the probability that the walk ends there."""

    name: str
    share: float


class ChainStep(Schema):
    """A step of a chain and how similar its two faces are; start is null for the face itself."""

    start: int | None
    end: int
    similarity: float


class CommonVertex(Schema):
    """The vertex that most of the walks pass, and which share of them."""

    vertex: int
    share: float


class ExplanationRow(Schema):
    """Where the random walk from a face ends; scores and sink add up to 1.

    candidate: whom a face without a name may be, too far from every labeled face to be named so.
    support: labeled, direct (linked to a labeled face) or inferred (only by way of others). hops
    and weakest_link are of the most probable chain to a labeled face of the name or candidate,
    bridge is the vertex that most of the walks to it pass.
    """

    name: str | None
    candidate: str | None
    scores: dict[str, float]
    alternatives: list[NameShare]
    sink: float
    endings: list[EndingRow]
    support: Literal["labeled", "direct", "inferred"] | None
    hops: int | None
    weakest_link: ChainStep | None
    bridge: CommonVertex | None

    @classmethod
    def of(
        cls, why: Explanation, names: Mapping[int, str | None], pictured: Set[int]
    ) -> "ExplanationRow":
        """From the learner's explanation."""
        prediction, link, bridge = why.prediction, why.weakest_link, why.bridge
        ranked = sorted(prediction.scores.items(), key=lambda pair: -pair[1])
        return cls(
            name=prediction.label,
            candidate=prediction.candidate,
            scores=dict(prediction.scores),
            alternatives=[NameShare(name=name, share=share) for name, share in ranked],
            sink=prediction.sink,
            endings=[EndingRow.of(ending, names, pictured) for ending in why.endings],
            support=prediction.support,
            hops=why.hops,
            weakest_link=None if link is None else ChainStep.model_validate(link),
            bridge=None if bridge is None else CommonVertex.model_validate(bridge),
        )


class SeenExplanation(ExplanationRow):
    """The explanation of a face of the live view, with its vertex and its stranger's card."""

    vertex: int | None
    card: int | None


class ExplainedFace(Schema):
    """A face of an uploaded picture; why is null if it was not good enough to be recognized."""

    box: BoxRow
    why: ExplanationRow | None


class AlarmFaces(Schema):
    """What an alarm says: whose name it is about, and the faces that caused it."""

    kind: str
    name: str
    words: str
    vertices: list[int]
    bridge: int | None
    """The face that most of the walks from these to a labeled face pass."""
    pictures: list[int]
    """Those of the faces that have a picture."""


class EventRow(Schema):
    """One event of the home's event log, with its changes as stored there."""

    sequence: int
    time: float
    camera: str | None
    frame: int | None
    kind: str
    changes: list[list[Any]]
    alarm: AlarmFaces | None = None
    """Of an event of this kind."""


class SightingHistory(Schema):
    """How often a person was sighted in equal parts of a period, the oldest first."""

    since: float = Field(serialization_alias="from")
    to: float
    counts: list[int]


class SightingRow(Schema):
    """One sighting of a person, or of a stranger by the number of the card.

    Numbers increase with time. picture: whether there is one.
    """

    number: int
    time: float
    camera: str
    frame: int
    name: str | None
    vertex: int | None
    card: int | None
    picture: bool


class SeenBeforeRow(Schema):
    """Somebody who looks like a face: how similar the most similar sighting is, from 0 to 1.

    count: how many sightings are similar enough to be linked, and how many of them at each camera;
    all of the person's, with similarity 0, if the learner names the face and none is linked to it.
    name and card are null where nobody is known and no cards are made.
    """

    name: str | None
    card: int | None
    similarity: float
    count: int
    cameras: dict[str, int]
    first: SightingRow
    last: SightingRow
    best: SightingRow


class FaceHistory(Schema):
    """Whether a face was here before; the most similar first, whom the learner names before all.

    faces: all faces of the picture, from the left. face: the one in question, counted from 1; null
    where there are several and none was chosen: then nobody was looked for.
    """

    faces: list[BoxRow]
    face: int | None
    seen: list[SeenBeforeRow]


class KnowledgeSummary(Schema):
    """How much is known. learned: unlabeled faces that were learned by watching."""

    people: int
    labeled: int
    learned: int
    vertices: int
    strangers: int
    sequence: int
    radius: float
    cameras: int


class UndoRequest(Schema):
    """The event to undo to."""

    to: Number


class UndoPreviewRow(Schema):
    """What an undo to an event would take back and bring back; nothing was changed.

    events: how many came since, all of which are taken back. people: who would have no name any
    more. renamed: names that would be changed back, and to what. labels: labeled faces, by name.
    learned: faces that were learned by watching. excluded: statements of who a face is not.
    cards_back: strangers who would have a card again; answers: cards of which people said something
    that would be taken back; strangers_back: faces that would be somebody's again. complete:
    whether all that was done to strangers since is remembered; if not, some cards stay away.
    """

    to: int
    events: int
    people: list[str]
    people_back: list[str]
    renamed: dict[str, str]
    labels: dict[str, int]
    labels_back: dict[str, int]
    learned: int
    learned_back: int
    excluded: int
    excluded_back: int
    cards_back: list[int]
    answers: int
    strangers_back: int
    complete: bool


class NewestEvent(Schema):
    """The number of the newest event."""

    sequence: int


class NewCamera(Schema):
    """The source of a camera, and its name."""

    source: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    name: Annotated[str, StringConstraints(max_length=1000)] | None = None
    """Letters, digits, spaces and . _ -, 64 at most, beginning with a letter or digit."""


class MeanSeconds(Schema):
    """Mean seconds per frame over the last ten seconds; whole includes the wait in the queue."""

    detect: float
    features: float
    learn: float
    whole: float


class CameraHealth(Schema):
    """The state of a camera, its speed over the last seconds, and how many frames it lost.

    since: when it came into this state; last_frame: when the newest frame arrived, null if none
    ever did; both in seconds since 1970. problem: of one that is failing, the last error.
    """

    name: str
    state: CameraState
    since: float
    problem: str | None
    last_frame: float | None
    fps: float
    seconds: MeanSeconds
    frames: int
    dropped: int
    reconnects: int


class DiskUse(Schema):
    """Bytes used by the home's folder, and bytes free on its disk."""

    home: int
    free: int


class RetentionRow(Schema):
    """How long data is stored."""

    stranger_hours: float
    question_hours: float
    sighting_days: float
    undo_days: float


class Alive(Schema):
    """That the service runs."""

    status: Literal["ok"]


class HealthReport(Schema):
    """The state of the service; degraded: it runs, but cannot learn, has problems, or a camera is
    failing.

    trust_radius: how far from a labeled face a name is carried; null: as far as a walk leads.
    """

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
    trust_radius: float | None
    memory: int
    disk: DiskUse
    retention: RetentionRow
    versions: dict[str, str]
    queue: int
    uptime: float


class KernelRow(Schema):
    """The parameters of the similarity: the heat parameter, and the cutoff of links."""

    bandwidth: float
    cutoff: float


class MapVertex(Schema):
    """One vertex of the graph."""

    vertex: int
    name: str | None
    labeled: bool
    examples: int
    picture: bool


class FacePairRow(Schema):
    """A face of the first person of a pair and one of the second, and how far apart they are."""

    distance: float
    first: int
    second: int


class DoubtfulFaceRow(Schema):
    """A learned face of which it helps to say that it is not somebody: so many walks end there."""

    vertex: int
    name: str
    not_name: str
    share: float


class PeoplePairRow(Schema):
    """Two people: their nearest faces, and the nearest of which one is labeled.

    alike: why they are too alike; labeled faces are linked, any faces are, or a face is within the
    trust radius of a label.
    """

    first: str
    second: str
    nearest: FacePairRow
    near_label: FacePairRow
    alike: Literal["labels", "faces", "radius"] | None
    doubt: DoubtfulFaceRow | None


class PersonSpreadRow(Schema):
    """How far the learned faces of a person are from the nearest labeled one.

    widest: between two labeled faces.
    """

    name: str
    labeled: int
    widest: float | None
    learned: list[float]


class SeparationRow(Schema):
    """How well people are told apart: everybody, and all pairs, the nearest first.

    reach: faces nearer than this are linked. proposed: a trust radius that ends before anybody
    else's face; linked people do not bound it.
    """

    people: list[PersonSpreadRow]
    pairs: list[PeoplePairRow]
    reach: float
    trust_radius: float | None
    proposed: float | None


class FarFaceRow(Schema):
    """A learned face far from every label of its name, and the chain that it hangs on."""

    vertex: int
    distance: float
    hops: int | None
    weakest_link: ChainStep | None


class PersonAuditRow(Schema):
    """What is known of one person; the empty name is nobody.

    hidden_labels: the names that labeled faces get when their own label is hidden. hidden_person:
    those that all examples get when the whole person is.
    """

    id: str
    name: str
    labeled: int
    learned: int
    examples: int
    farthest: list[FarFaceRow]
    hidden_labels: dict[str, int]
    hidden_person: dict[str, int]
    most_alike: str | None
    gap: float | None


class NamedTwiceRow(Schema):
    """Two faces of one frame that had one name, by the stored faces that they were near to."""

    name: str
    time: float
    camera: str | None
    frame: int | None
    surer: int
    other: int


class AuditRow(Schema):
    """An audit of the home as it was after an event.

    contamination: the estimated share of named faces that are somebody else's; null: it cannot be
    said, because there is one person only. refused: how many faces of strangers got no name.
    """

    sequence: int
    refused: int
    named_unknown: float
    contamination: float | None
    people: list[PersonAuditRow]
    twice: list[NamedTwiceRow]
    pictured: list[int]


class AuditReport(Schema):
    """The newest audit that is finished, if there is one, and how far the next one is.

    newest: the newest event of the home. people: how many are done, of how many; null: none runs.
    """

    newest: int
    done: int | None
    of: int | None
    audit: AuditRow | None


class GraphMap(Schema):
    """The graph; a link is two indices into the list of vertices, and a strength from 0 to 1."""

    sequence: int
    kernel: KernelRow
    vertices: list[MapVertex]
    left_out: int
    """Vertices that are not on the map, because there are too many."""
    links: list[tuple[int, int, float]]
