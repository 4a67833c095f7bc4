"""Which sites a cluster has, and which cameras each site has: a TOML file, checked as a whole.

folder = "cluster"                 # homes of all sites; storage that every machine sees
features = "sface"                 # for all sites: only what can be compared can be merged

[sites.north]
[sites.north.cameras]
door = "rtsp://10.0.0.5/1"
yard = { source = "0", node = "10.0.0.7" }     # the machine that the camera is attached to

pydantic checks the types and ranges of single values; what several values must fulfil together is
checked here. An error is one line that names the file, the place in it, the value and what to do.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
)
from pydantic import ValidationError as PydanticError
from pydantic_core import PydanticCustomError

from onlooker.alerts.channels import Alerts
from onlooker.cluster.messages import LearnerConfig
from onlooker.core.checks import is_number
from onlooker.core.errors import BadValue
from onlooker.core.files import read_toml
from onlooker.core.similarity import HeatKernel
from onlooker.vision.finder import FaceFinder
from onlooker.vision.scales import (
    DEFAULT_SCALES,
    FACE_QUANTIZER,
    FeatureKind,
    Scale,
    trust_radius,
)

"""Bandwidth and cutoff that belong to the features, as for `watch` and `serve`."""


@dataclass(frozen=True)
class CameraConfig:
    """One camera: where its frames come from, and on which machine."""

    name: str
    source: str
    node: str | None = None
    """The address of the machine, as Ray knows it; None: any."""

    def __repr__(self) -> str:
        return f"<camera {self.name}>"  # a source may contain a password


@dataclass(frozen=True)
class SiteConfig:
    """One site and its cameras."""

    name: str
    folder: Path
    cameras: tuple[CameraConfig, ...] = ()


@dataclass(frozen=True)
class Config:
    """A whole cluster."""

    folder: Path
    sites: tuple[SiteConfig, ...]
    finder: FaceFinder = field(default_factory=FaceFinder)
    bandwidth: float = DEFAULT_SCALES["sface"].bandwidth
    cutoff: float = DEFAULT_SCALES["sface"].cutoff
    vertices: int = 500
    trust_radius: float | None = None
    site_cpus: float = 1.0
    camera_cpus: float = 1.0
    people: Path | None = None
    """Labeled pictures, NAME/*.jpg or NAME.jpg, that `up` teaches to every site."""
    names_every: float = 5.0
    """Seconds between two visits of the coordinator, which spreads new names to all sites."""
    webhook: str | None = field(default=None, repr=False)
    """Where alerts about cameras are sent; an address may hold a secret."""
    mqtt: str | None = None
    mqtt_password_file: Path | None = None

    @property
    def alerts(self) -> Callable[[], Alerts]:
        """Makes the senders of alerts, in the process that sends them."""
        return partial(Alerts, self.webhook, self.mqtt, self.mqtt_password_file)

    @property
    def learner_config(self) -> LearnerConfig:
        """The settings that the learners of all sites share."""
        features = self.finder.features
        kernel = HeatKernel(self.bandwidth, self.cutoff, features.distance)
        return LearnerConfig(
            kernel,
            features.tag,
            self.vertices,
            quantizer=FACE_QUANTIZER,
            trust_radius=self.trust_radius,
        )

    @property
    def cpus(self) -> int:
        """How many CPUs Ray must have."""
        cameras = sum(len(site.cameras) for site in self.sites)
        return int(len(self.sites) * self.site_cpus + cameras * self.camera_cpus) + 2


def read_config(path: Path) -> Config:
    """Read and check a configuration file; paths in it are relative to it."""
    table = read_toml(path)
    try:
        return config_of(table, path.absolute().parent)
    except BadValue as error:
        raise BadValue(f"{path}: {error}") from error


def config_of(table: Mapping[str, Any], base: Path) -> Config:
    """A configuration from the content of a file in the folder `base`.

    >>> table = {"sites": {"north": {"cameras": {"door": "0"}}, "south": {}}}
    >>> config_of(table, Path("here")).sites[0].cameras
    (<camera door>,)
    >>> config_of({"sites": {"north": {}}, "vertices": 0}, Path("here"))
    Traceback (most recent call last):
    ...
    onlooker.core.errors.BadValue: vertices must be greater than or equal to 1, got 0
    """
    try:
        file = _ClusterTable.model_validate(table)
    except PydanticError as error:
        raise BadValue(_message(error)) from None  # its own message shows values: passwords
    sites = tuple(
        SiteConfig(
            name,
            base / file.folder / name,
            tuple(_camera(camera, found, base) for camera, found in site.cameras.items()),
        )
        for name, site in file.sites.items()
    )
    _refuse_shared_cameras(sites)
    shared = _agreed(file)
    finder = FaceFinder(
        shared.detector or "yunet",
        None if shared.detector == "haar" else 320,
        shared.features or ("pixels" if shared.detector == "haar" else "sface"),
        shared.model,
    )
    default, radius = DEFAULT_SCALES[finder.kind], shared.trust_radius
    scale = Scale(shared.bandwidth or default.bandwidth, shared.cutoff or default.cutoff)
    return Config(
        base / file.folder,
        sites,
        finder,
        *scale,
        shared.vertices or 500,
        trust_radius("off" if radius is None else radius, finder.kind, scale),
        file.site_cpus,
        file.camera_cpus,
        None if file.people is None else base / file.people,
        file.names_every,
        file.webhook,
        file.mqtt,
        None if file.mqtt_password_file is None else base / file.mqtt_password_file,
    )


# ---- the file


def _number_as_text(value: Any) -> Any:
    """A camera of the computer is written 0 or "0"."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _source_as_table(value: Any) -> Any:
    """A camera is written door = "0" or door = { source = "0", node = ... }."""
    return value if isinstance(value, Mapping) else {"source": value}


def _radius(value: Any) -> str | float:
    if value in ("auto", "off"):
        return str(value)
    if is_number(value) and 0 <= value <= sys.float_info.max:
        return float(value)
    raise PydanticCustomError("trust_radius", "auto, off or a number from 0")


_Text = Annotated[str, BeforeValidator(_number_as_text), StringConstraints(pattern=r"\S")]
_SiteName = Annotated[str, StringConstraints(pattern=r"^[\w-][\w.-]{0,63}$")]
_CameraName = Annotated[str, StringConstraints(pattern=r"^[\w.-]{1,64}$")]


class _Table(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class _CameraTable(_Table):
    source: _Text
    node: _Text | None = None


class _SharedTable(_Table):
    """What all sites must agree on: said once for all, or by each site, but never differently."""

    features: FeatureKind | None = None
    model: _Text | None = None
    detector: Literal["yunet", "haar"] | None = None
    bandwidth: Annotated[float, Field(ge=1e-9)] | None = None
    cutoff: Annotated[float, Field(ge=1e-300, lt=1)] | None = None
    vertices: Annotated[int, Field(ge=1)] | None = None
    trust_radius: Annotated[str | float, PlainValidator(_radius)] | None = None


class _SiteTable(_SharedTable):
    cameras: dict[_CameraName, Annotated[_CameraTable, BeforeValidator(_source_as_table)]] = {}


class _ClusterTable(_SharedTable):
    sites: dict[_SiteName, _SiteTable] = Field(min_length=1)
    folder: _Text = "cluster"
    people: _Text | None = None
    site_cpus: float = Field(1.0, ge=0)
    camera_cpus: float = Field(1.0, ge=0)
    names_every: float = Field(5.0, ge=0.1)
    webhook: _Text | None = None
    mqtt: _Text | None = None
    mqtt_password_file: _Text | None = None


_TABLES: Sequence[tuple[tuple[str, ...], type[_Table]]] = (
    (("sites", "*", "cameras", "*"), _CameraTable),
    (("sites", "*"), _SiteTable),
    ((), _ClusterTable),
)
"""Which table is at which place."""


def _message(error: PydanticError) -> str:
    """The first thing that is wrong: its place, the value, and what is expected."""
    first = error.errors(include_url=False)[0]
    place, kind, value = [str(part) for part in first["loc"]], first["type"], first["input"]
    where = ".".join(place)
    if place[-1] == "[key]":
        what = "camera" if place[-3] == "cameras" else "site"
        return f"a {what} is named with letters, digits, - and _, got {place[-2]!r}"
    if place == ["sites"]:
        return "it lists no site; a site is a table such as [sites.north]"
    if kind == "extra_forbidden":  # the value is not shown: it may be a source with a password
        known = ", ".join(_settings_at(place[:-1]))
        return f"{where} is not a setting; the settings there are {known}"
    if kind == "missing":
        return f'{where} is missing; a camera is written door = "0" or door = {{ source = "0" }}'
    if kind in ("model_type", "dict_type"):
        return f"{where} must be a table, such as [{where}], got {_shown(value)}"
    if kind in ("string_type", "string_pattern_mismatch"):
        return f"{where} must be a text that is not empty, got {_shown(value)}"
    expected = first["msg"].removeprefix("Input should ").removeprefix("be ")
    return f"{where} must be {expected}, got {_shown(value)}"


def _settings_at(place: Sequence[str]) -> list[str]:
    for pattern, table in _TABLES:
        if len(pattern) == len(place):
            return list(table.model_fields)
    return []


def _shown(value: Any) -> str:
    """A value for a message; tables and lists may contain a source, and so a password."""
    if isinstance(value, Mapping):
        return "a table"
    return "a list" if isinstance(value, list) else repr(value)


# ---- what several values must fulfil together


def _camera(name: str, table: _CameraTable, base: Path) -> CameraConfig:
    """A recording beside the configuration is found from any folder, if it is on this machine."""
    local = base / table.source
    found = table.node is None and os.path.exists(local)  # False for a name that is too long
    return CameraConfig(name, str(local) if found else table.source, table.node)


def _refuse_shared_cameras(sites: tuple[SiteConfig, ...]) -> None:
    """A camera that two sites learn from would be counted twice when they are merged."""
    names: dict[str, str] = {}
    sources: dict[tuple[str, str | None], str] = {}
    for site in sites:
        for camera in site.cameras:
            other = names.setdefault(camera.name, site.name)
            if other != site.name:
                raise BadValue(
                    f"camera {camera.name} is claimed by the sites {other} and {site.name}; "
                    "a camera belongs to one site"
                )
            place = f"{site.name}/{camera.name}"
            first = sources.setdefault((camera.source, camera.node), place)
            if first != place:
                raise BadValue(
                    f"{place} and {first} have the same source; a camera belongs to one site, once"
                )


def _agreed(file: _ClusterTable) -> _SharedTable:
    """The settings that all sites share."""
    agreed: dict[str, Any] = {}
    for key in _SharedTable.model_fields:
        for_all = getattr(file, key)
        values = {}
        for name, site in file.sites.items():
            own = getattr(site, key)
            values[name] = for_all if own is None else own
        (first, value), *others = values.items()
        for other, theirs in others:
            if theirs != value:
                raise BadValue(
                    f"{key} is {value!r} at site {first} and {theirs!r} at site {other}; only "
                    "equal settings can be merged: set it once, for all sites"
                )
        agreed[key] = value
    return _SharedTable(**agreed)
