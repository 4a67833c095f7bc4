"""Events, cameras and health as they go over the wire."""

from typing import Annotated, Any, Literal

from pydantic import StringConstraints

from onlooker.web.models import Model, Number


class Event(Model):
    """One change; the words of `changes` are those of the journal."""

    sequence: int
    time: float
    camera: str | None
    frame: int | None
    kind: str
    changes: list[list[Any]]


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


class Health(Model):
    """How the service is; degraded: it serves, but cannot learn, or something was damaged."""

    status: Literal["ok", "degraded"]
    read_only: str | None
    problems: list[str]
    sequence: int
    oldest: int
    cameras_failing: list[str]
    version: str
