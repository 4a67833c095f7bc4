"""Which sites there are, and which cameras each has; `config_file.py` reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from onlooker.cluster.wire import Recipe
from onlooker.core.similarity import HeatKernel
from onlooker.vision.finder import Eyes

SCALES: Mapping[str, tuple[float, float]] = {"pixels": (0.025, 1e-8), "embedding": (0.2, 1e-4)}
"""Bandwidth and cutoff that belong to the features, as for `watch` and `serve`."""
SHARED = ("features", "model", "detector", "bandwidth", "cutoff", "vertices")
"""What all sites must agree on. A site may say it again, but not differently."""


@dataclass(frozen=True)
class Camera:
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
    cameras: tuple[Camera, ...] = ()


@dataclass(frozen=True)
class Config:
    """The whole cluster."""

    folder: Path
    sites: tuple[SiteConfig, ...]
    eyes: Eyes = field(default_factory=Eyes)
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
    def recipe(self) -> Recipe:
        """What all learners share."""
        features = self.eyes.features
        kernel = HeatKernel(self.bandwidth, self.cutoff, features.distance)
        return Recipe(kernel, features.tag, self.vertices)

    @property
    def cpus(self) -> int:
        """How many CPUs it asks Ray for."""
        cameras = sum(len(site.cameras) for site in self.sites)
        return int(len(self.sites) * self.site_cpus + cameras * self.camera_cpus) + 2
