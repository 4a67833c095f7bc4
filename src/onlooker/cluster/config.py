"""Which sites there are, and which cameras each has; `config_file.py` reads them.

Which sites there are, and which cameras each has: a TOML file, checked as a whole.

folder = "cluster"                 # homes of all sites; storage that every node sees
features = "pixels"                # for all sites: what cannot be compared cannot be merged

[sites.north]
[sites.north.cameras]
door = "rtsp://10.0.0.5/1"
yard = { source = "0", node = "10.0.0.7" }     # the machine that the camera is at
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onlooker.cluster.messages import LearnerConfig
from onlooker.core.checks import as_number
from onlooker.core.errors import BadValue
from onlooker.core.similarity import HeatKernel
from onlooker.vision.finder import FaceFinder

SCALES: Mapping[str, tuple[float, float]] = {"pixels": (0.025, 1e-8), "embedding": (0.2, 1e-4)}
"""Bandwidth and cutoff that belong to the features, as for `watch` and `serve`."""
SHARED = ("features", "model", "detector", "bandwidth", "cutoff", "vertices")
"""What all sites must agree on. A site may say it again, but not differently."""


@dataclass(frozen=True)
class CameraConfig:
    """One camera: where its pictures come from, and at which machine."""

    name: str
    source: str
    node: str | None = None
    """The address of the machine, as Ray knows it; None: any."""

    def __repr__(self) -> str:
        return f"<camera {self.name}>"  # a source may hold a password


@dataclass(frozen=True)
class SiteConfig:
    """One site and its cameras."""

    name: str
    folder: Path
    cameras: tuple[CameraConfig, ...] = ()


@dataclass(frozen=True)
class Config:
    """The whole cluster."""

    folder: Path
    sites: tuple[SiteConfig, ...]
    finder: FaceFinder = field(default_factory=FaceFinder)
    bandwidth: float = SCALES["pixels"][0]
    cutoff: float = SCALES["pixels"][1]
    vertices: int = 500
    site_cpus: float = 1.0
    camera_cpus: float = 1.0
    people: Path | None = None
    """Labeled pictures, NAME/*.jpg or NAME.jpg, that `up` teaches to every site."""
    names_every: float = 5.0
    """Seconds between two rounds in which names taught at one site are told to the others."""

    @property
    def learner_config(self) -> LearnerConfig:
        """What all learners share."""
        features = self.finder.features
        kernel = HeatKernel(self.bandwidth, self.cutoff, features.distance)
        return LearnerConfig(kernel, features.tag, self.vertices)

    @property
    def cpus(self) -> int:
        """How many CPUs it asks Ray for."""
        cameras = sum(len(site.cameras) for site in self.sites)
        return int(len(self.sites) * self.site_cpus + cameras * self.camera_cpus) + 2


_NAME = re.compile(r"[\w.-]{1,64}")


def read_config(path: Path) -> Config:
    """Read and check a configuration; paths in it are relative to it."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadValue(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise BadValue(f"{path} is not a configuration: {error}") from error
    try:
        return config_of(table, path.absolute().parent)
    except BadValue as error:
        raise BadValue(f"{path}: {error}") from error


def config_of(table: Mapping[str, Any], base: Path) -> Config:
    """A configuration from a table.

    >>> table = {"sites": {"north": {"cameras": {"door": "0"}}, "south": {}}}
    >>> config_of(table, Path("here")).sites[0].cameras
    (<camera door>,)
    """
    known = ("folder", "people", "sites", "site_cpus", "camera_cpus", "names_every", *SHARED)
    _refuse_unknown(table, known, "the configuration")
    folder = base / _text(table.get("folder", "cluster"), "folder")
    people = table.get("people")
    sites = table.get("sites")
    if not isinstance(sites, Mapping) or not sites:
        raise BadValue("it lists no site; a site is a table such as [sites.north]")
    found = tuple(_site(name, one, folder, base) for name, one in sites.items())
    _refuse_shared_cameras(found)
    said = _agreed(table, sites)
    kind = said.get("features", "pixels")
    detector = said.get("detector", "yunet")
    finder = FaceFinder(detector, 320 if detector == "yunet" else None, kind, said.get("model"))
    bandwidth, cutoff = SCALES[finder.kind]
    return Config(
        folder,
        found,
        finder,
        float(as_number("bandwidth", said.get("bandwidth", bandwidth), least=1e-9)),
        float(as_number("cutoff", said.get("cutoff", cutoff), least=1e-300, below=1)),
        int(as_number("vertices", said.get("vertices", 500), least=1, whole=True)),
        float(as_number("site_cpus", table.get("site_cpus", 1.0), least=0)),
        float(as_number("camera_cpus", table.get("camera_cpus", 1.0), least=0)),
        None if people is None else base / _text(people, "people"),
        float(as_number("names_every", table.get("names_every", 5.0), least=0.1)),
    )


def _site(name: str, table: Any, folder: Path, base: Path) -> SiteConfig:
    if not _NAME.fullmatch(name) or name.startswith("."):
        raise BadValue(f"a site is named with letters, digits, - and _, got {name!r}")
    if not isinstance(table, Mapping):
        raise BadValue(f"site {name} must be a table, [sites.{name}]")
    _refuse_unknown(table, ("cameras", *SHARED), f"site {name}")
    cameras = table.get("cameras", {})
    if not isinstance(cameras, Mapping):
        raise BadValue(f'the cameras of site {name} must be a table such as door = "0"')
    return SiteConfig(
        name, folder / name, tuple(_camera(each, one, base) for each, one in cameras.items())
    )


def _camera(name: str, said: Any, base: Path) -> CameraConfig:
    if not _NAME.fullmatch(name):
        raise BadValue(f"a camera is named with letters, digits, - and _, got {name!r}")
    if not isinstance(said, Mapping):
        return CameraConfig(name, _placed(_text(said, f"the source of camera {name}"), base))
    _refuse_unknown(said, ("source", "node"), f"camera {name}")
    source = _text(said.get("source"), f"the source of camera {name}")
    node = said.get("node")
    where = None if node is None else _text(node, f"the node of {name}")
    return CameraConfig(name, _placed(source, base) if where is None else source, where)


def _placed(source: str, base: Path) -> str:
    """A recording beside the configuration is found from anywhere."""
    return str(base / source) if (base / source).exists() else source


def _refuse_shared_cameras(sites: tuple[SiteConfig, ...]) -> None:
    """A camera that learns at two sites would be counted twice when they are merged."""
    names: dict[str, str] = {}
    sources: dict[tuple[str, str | None], str] = {}
    for site in sites:
        for camera in site.cameras:
            other = names.setdefault(camera.name, site.name)
            if other != site.name:
                raise BadValue(
                    f"camera {camera.name} is claimed by the sites {other} and {site.name}"
                )
            place = (camera.source, camera.node)
            first = sources.setdefault(place, f"{site.name}/{camera.name}")
            if first != f"{site.name}/{camera.name}":
                raise BadValue(
                    f"{site.name}/{camera.name} and {first} have the same source; "
                    "one camera belongs to one site, once"
                )


def _agreed(table: Mapping[str, Any], sites: Mapping[str, Any]) -> dict[str, Any]:
    """What all sites share: each says it for itself or the file for all, and all say the same."""
    agreed = {}
    for key in SHARED:
        said = {name: site.get(key, table.get(key)) for name, site in sites.items()}
        (first, value), *others = said.items()
        for other, theirs in others:
            if theirs != value:
                raise BadValue(
                    f"{key} is {value!r} at site {first} and {theirs!r} at site {other}; "
                    "what cannot be compared cannot be merged: say it once, for all sites"
                )
        if value is not None:
            agreed[key] = value
    return agreed


def _refuse_unknown(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    if unknown := sorted(set(table) - set(known)):
        raise BadValue(f"{where} sets {', '.join(unknown)}; there is only {', '.join(known)}")


def _text(value: Any, what: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # the camera of a computer: 0
    if not isinstance(value, str) or not value.strip():
        raise BadValue(f"{what} must be a text, got {value!r}")
    return value
