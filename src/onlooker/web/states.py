"""Events, cameras and health as they go over the wire."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from onlooker.web.models import Model, Number


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


class Sighting(Model):
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
