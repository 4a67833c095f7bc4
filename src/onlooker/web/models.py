"""What goes over the wire; the description at /api/v1/openapi.json is made of these."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from onlooker.strangers.cards import Card

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
