"""The settings of the reproduction: real frames or simulated cameras, methods, cutoffs, seeds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from onlooker.core.errors import BadValue
from onlooker.experiments.datasets.facebank import find_faces
from onlooker.experiments.datasets.manifest import Dataset, read_dataset
from onlooker.experiments.datasets.simulated import HOME_SET, simulated_datasets
from onlooker.experiments.paper.methods import COMPARED, METHODS
from onlooker.experiments.paper.protocol import Labeling, Protocol, plan
from onlooker.experiments.paper.trial import Trial, material
from onlooker.vision.finder import FaceFinder
from onlooker.vision.scales import DEFAULT_SCALES

VIDEO_FRAMES = 480
CUTOFFS = (1e-1, 1e-2, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14)


@dataclass(frozen=True)
class Setup:
    """Everything that can be chosen."""

    data: Path | None = None
    """A folder of real frames; simulated cameras unless given, another cast for each seed."""
    finder: FaceFinder = field(default_factory=FaceFinder)
    seeds: int = 3
    methods: tuple[str, ...] = COMPARED
    cutoffs: tuple[float, ...] = CUTOFFS
    strangers: int = 0
    people: tuple[str, ...] = ()
    labeling: Labeling = "first"
    sets: tuple[str, ...] = ()
    """The sets of the dataset that are used; unless given all of them, of the simulated cameras
    those of the paper."""
    every_face: bool = True
    bandwidth: float | None = None
    n_g: int = 500
    frames: int | None = None
    """Of a simulated video, 480 unless given; of a long run."""

    def __post_init__(self) -> None:
        if unknown := [name for name in self.methods if name not in METHODS]:
            raise BadValue(f"no method {', '.join(unknown)}; there are {', '.join(METHODS)}")

    @property
    def fixed_cutoff(self) -> float:
        """The cutoff that a user has without choosing: the features' own, or the only one given."""
        own = DEFAULT_SCALES[self.finder.kind].cutoff
        return self.cutoffs[0] if len(self.cutoffs) == 1 else own

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """A dataset for each seed; simulated ones are made on first use."""
        if self.data is not None:
            return (self.data,) * self.seeds
        return simulated_datasets(self.seeds, frames=self.frames or VIDEO_FRAMES)

    @cached_property
    def dataset(self) -> Dataset:
        """The dataset of the first seed."""
        return read_dataset(self.folders[0])

    @property
    def names(self) -> tuple[str, ...]:
        """The sets that are used."""
        for name in self.sets:
            self.dataset.recording(name)  # raises if there is none
        names = self.sets or self.dataset.recordings
        if self.data is None and not self.sets:
            names = tuple(name for name in names if name != HOME_SET)
        if not names:
            raise BadValue(f"{self.dataset.name} shows nobody at a camera: there is no set to run")
        return names

    def trials(
        self,
        *,
        methods: Sequence[str] | None = None,
        cutoffs: Sequence[float] | None = None,
        sizes: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
        people: tuple[str, ...] | None = None,
    ) -> list[Trial]:
        """Every set, method, cutoff, size and seed."""
        return [
            Trial(
                folder,
                name,
                method,
                cutoff,
                self.finder,
                Protocol(
                    seed,
                    self.people if people is None else people,
                    self.strangers,
                    self.labeling,
                ),
                self.bandwidth,
                n_g,
                self.every_face,
            )
            for name in (names or self.names)
            for method in (methods or self.methods)
            for cutoff in (cutoffs or self.cutoffs)
            for n_g in (sizes or (self.n_g,))
            for seed, folder in enumerate(self.folders)
        ]

    def prepare(self) -> None:
        """Find all faces, and raise for what cannot be run, before the long work starts."""
        for folder in dict.fromkeys(self.folders):
            dataset = read_dataset(folder)
            find_faces(
                [each for each in dataset.pictures if self._used(dataset, each.set)], self.finder
            )
            for name in self.names:
                _, recording, crowd = material(folder, name, self.finder, self.strangers)
                plan(recording, crowd, Protocol(0, self.people, self.strangers, self.labeling))

    def _used(self, dataset: Dataset, name: str) -> bool:
        return name in self.names or (name not in dataset.recordings and self.strangers > 0)
