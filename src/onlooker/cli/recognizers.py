"""From settings to a recognizer: the parts, the learner from its file, the people in a folder."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from onlooker.cli.settings import Settings
from onlooker.core.errors import BadValue, Incompatible
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.similarity import HeatKernel
from onlooker.recognition.pipeline import deferred_signals
from onlooker.recognition.recognizer import FaceRecognizer
from onlooker.vision.finder import FaceFinder

Enrol = Callable[[FaceRecognizer], object]


class Workshop:
    """Builds recognizers that differ in their learner only."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._finder = finder_from(settings)

    def recognizer(self, learner: OnlineHarmonicLearner) -> FaceRecognizer:
        """A recognizer around a learner."""
        return FaceRecognizer(learner, self._finder, one_each=self._settings["one_each"])

    def learner(self, state: Path | None) -> OnlineHarmonicLearner:
        """The learner that the file keeps, or a new one where there is none."""
        if state is None or not state.exists():
            return self.new_learner()
        distance, tag = self._finder.features.distance, self._finder.features.tag
        try:
            known = OnlineHarmonicLearner.load(state, distance=distance, features=tag)
        except Incompatible as error:
            raise Incompatible(
                f"{error}; choose the same --features and --model, or another --state"
            ) from error
        self._refuse_other_numbers(known, state)
        return known

    def new_learner(self) -> OnlineHarmonicLearner:
        """One that knows nobody."""
        kernel = HeatKernel(
            self._settings["bandwidth"], self._settings["cutoff"], self._finder.features.distance
        )
        return OnlineHarmonicLearner(
            kernel, max_vertices=self._settings["vertices"], features=self._finder.features.tag
        )

    def teach(self, learner: OnlineHarmonicLearner, enrol: Enrol) -> dict[str, int]:
        """Teach what `enrol` teaches, except what is known already; how many new examples each.

        It enrols into a learner of its own first: whatever goes wrong, this one is unchanged.
        """
        scratch = self.new_learner()
        enrol(self.recognizer(scratch))
        found, known = _labeled(scratch), _labeled(learner)
        new = {place: name for place, name in found.items() if known.get(place) != name}
        vectors = {vector.tobytes(): vector for vector in scratch.vertices().vectors}
        taught = dict.fromkeys(found.values(), 0)
        with deferred_signals():
            # Two names at one place are refused: those first, before anything has changed.
            for place in sorted(new, key=lambda place: place not in known):
                learner.teach(vectors[place], new[place])
                taught[new[place]] += 1
        return taught

    def _refuse_other_numbers(self, known: OnlineHarmonicLearner, state: Path) -> None:
        """A number that somebody asked for is in force or refused, never ignored."""
        kept: Mapping[str, float] = {
            "bandwidth": known.kernel.bandwidth,
            "cutoff": known.kernel.cutoff,
            "vertices": known.max_vertices,
        }
        for key, value in kept.items():
            if self._settings.was_given(key) and self._settings[key] != value:
                raise BadValue(
                    f"{state} was built with {key} {value:g}, {self._settings.origins[key]} says "
                    f"{self._settings[key]:g}; leave it out, or choose another --state"
                )


def finder_from(settings: Settings) -> FaceFinder:
    """The detector and the features that the settings ask for."""
    size = settings["size"]
    return FaceFinder(
        detector=settings["detector"],
        size=size if settings["detector"] == "yunet" or settings.was_given("size") else None,
        kind=settings["features"],
        model=settings["model"],
        min_size=settings["min_size"],
    )


def existing_folder(
    folder: Path, holds: str = "people in NAME/*.jpg, NAME.jpg or NAME.mp4"
) -> Path:
    """The folder, if it is one."""
    if not folder.is_dir():
        raise BadValue(f"{folder} is not a folder; give one that holds {holds}")
    return folder


def everybody_in(folder: Path) -> Enrol:
    """Everybody whose pictures or videos a folder holds."""
    return lambda recognizer: recognizer.enrol_folder(existing_folder(folder))


def somebody(name: str, files: Sequence[Path]) -> Enrol:
    """One person from pictures and videos."""
    return lambda recognizer: recognizer.enrol(name, files)


def _labeled(learner: OnlineHarmonicLearner) -> dict[bytes, str]:
    """The name at each labeled place."""
    vertices = learner.vertices()
    return {
        vector.tobytes(): name
        for vector, name in zip(vertices.vectors, vertices.names, strict=True)
        if name is not None
    }
