"""From settings to a face finder, a new learner, and the faces of labeled people."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from onlooker.cli.settings import Settings
from onlooker.core.errors import BadValue
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.similarity import HeatKernel
from onlooker.recognition.enrolment import Enrolment, EnrolmentFace, people_in
from onlooker.vision.finder import FaceFinder

PeopleFaces = Mapping[str, Sequence[EnrolmentFace]]
"""The faces to teach, by name."""


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


def new_learner(settings: Settings, finder: FaceFinder) -> OnlineHarmonicLearner:
    """A learner that knows nobody."""
    kernel = HeatKernel(settings["bandwidth"], settings["cutoff"], finder.features.distance)
    return OnlineHarmonicLearner(
        kernel, max_vertices=settings["vertices"], features=finder.features.tag
    )


def faces_in_folder(settings: Settings, finder: FaceFinder) -> PeopleFaces:
    """The faces of everybody in the folder of people; nobody's if none is given."""
    if settings["people"] is None:
        return {}
    return faces_in_files(settings, finder, people_in(existing_folder(Path(settings["people"]))))


def faces_in_files(
    settings: Settings, finder: FaceFinder, people: Mapping[str, Sequence[Path]]
) -> PeopleFaces:
    """The faces to teach, from pictures and videos.

    They are taught to a learner of their own first: a file that cannot be used, or one face with
    two names, is an error before anything is changed.
    """
    scratch = new_learner(settings, finder)
    found = Enrolment(finder, scratch.kernel).everybody(people)
    for name, faces in found.items():
        for face in faces:
            scratch.teach(face.vector, name)
    return found


def existing_folder(
    folder: Path, holds: str = "people in NAME/*.jpg, NAME.jpg or NAME.mp4"
) -> Path:
    """The folder, if it is one."""
    if not folder.is_dir():
        raise BadValue(f"{folder} is not a folder; give one that holds {holds}")
    return folder
