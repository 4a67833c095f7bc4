"""Faces, names and reasons as they go over the wire."""

from collections.abc import Mapping, Set
from typing import Literal

from onlooker.core.records import Ending, Explanation, Prediction
from onlooker.vision.types import FaceBox, Refusal, Sighting
from onlooker.web.looked import Looked
from onlooker.web.models import Model

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
    def of(cls, looked: Looked) -> "Result":
        """From a look at a frame."""
        columns = zip(looked.sightings, looked.vertices, looked.cards, strict=True)
        return cls(
            camera=looked.camera,
            frame=looked.frame,
            time=looked.time,
            faces=[Seen.of(*column) for column in columns],
            learned=looked.learned,
            seconds=Seconds(**looked.seconds),
        )
