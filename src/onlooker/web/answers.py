"""Faces, names and reasons as they go over the wire."""

from onlooker.faces.records import FaceBox, Refusal, Sighting
from onlooker.records import Explanation, Prediction
from onlooker.web.models import Model


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


class End(Model):
    """A labeled face the walk ends at: how often, and along which chain most probably."""

    name: str
    share: float
    chain: list[Link]


class Why(Model):
    """Where the walk from a face ends; what is missing to 1 ended nowhere, in the sink."""

    name: str | None
    scores: dict[str, float]
    sink: float
    endings: list[End]

    @classmethod
    def of(cls, why: Explanation, names: dict[int, str | None]) -> "Why":
        """From the learner's explanation."""
        endings = [
            End(
                name=ending.name,
                share=ending.share,
                chain=[
                    Link(
                        vertex=step.vertex, name=names.get(step.vertex), examples=step.multiplicity
                    )
                    for step in ending.chain
                ],
            )
            for ending in why.endings
        ]
        told = why.prediction
        return cls(name=told.label, scores=dict(told.scores), sink=told.sink, endings=endings)


class Explained(Model):
    """A face of a picture, and why; null for one too poor to be named."""

    box: Box
    why: Why | None


class Seen(Model):
    """One face in one frame of a camera; the name is what the track has come to say."""

    track: int
    name: str | None
    answer: Answer

    @classmethod
    def of(cls, sighting: Sighting) -> "Seen":
        """From a sighting."""
        answer = Answer.of(sighting.box, sighting.answer, sighting.refusal)
        return cls(track=sighting.track, name=sighting.name, answer=answer)


class Result(Model):
    """What was seen in one frame."""

    camera: str
    frame: int
    time: float
    faces: list[Seen]

    @classmethod
    def of(cls, camera: str, frame: int, time: float, seen: list[Sighting]) -> "Result":
        """From the sightings of a frame."""
        return cls(camera=camera, frame=frame, time=time, faces=[Seen.of(one) for one in seen])
