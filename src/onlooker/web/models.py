"""What goes over the wire; the description at /api/v1/openapi.json is made of these."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from onlooker.faces.cards import Card

LARGEST = 2**53 - 1
"""Numbers beyond are not the same in every language."""

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]
Number = Annotated[int, Field(ge=0, le=LARGEST)]
PersonId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]


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


class Face(Model):
    """A face that is known; learned ones were never labeled."""

    vertex: int
    name: str
    kind: Literal["labeled", "learned"]
    examples: int
    picture: bool


class Taught(Model):
    """A face that was taught."""

    person: Person
    vertex: int


class Glimpse(Model):
    """When and where somebody was seen."""

    time: float
    camera: str | None
    frame: int | None


class Stranger(Model):
    """Somebody without a name; pictures are numbered from 0, the best first."""

    card: int
    count: int
    first: Glimpse
    last: Glimpse
    pictures: int
    hidden: bool

    @classmethod
    def of(cls, card: Card) -> "Stranger":
        """From a card."""
        return cls(
            card=card.number,
            count=card.count,
            first=Glimpse.model_validate(card.first),
            last=Glimpse.model_validate(card.last),
            pictures=sum(face.picture is not None for face in card.faces),
            hidden=card.hidden,
        )


class Met(Model):
    """A stranger who has a name now, and how many faces were taught."""

    person: Person
    taught: int


class Dropped(Model):
    """The vertices that are gone."""

    dropped: list[int]
