"""From settings to a face finder, a new learner, and the faces of labeled people."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from onlooker.cli.output import print_problem
from onlooker.cli.settings import Settings
from onlooker.core.errors import BadValue, Incompatible
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.similarity import HeatKernel
from onlooker.home import transfer
from onlooker.home.reopen import is_home, learner_like
from onlooker.recognition.enrolment import Enrolment, EnrolmentFace, people_in
from onlooker.vision.finder import FaceFinder, face_distances, kind_of
from onlooker.vision.models import SFACE_INT8, ModelError
from onlooker.vision.scales import FACE_QUANTIZER, FeatureKind, Scale, new_scale, trust_radius

PeopleFaces = Mapping[str, Sequence[EnrolmentFace]]
"""The faces to teach, by name."""


def finder_from(settings: Settings, *, for_home: bool = True) -> FaceFinder:
    """The detector and the features that the settings ask for.

    Where the settings name no features, a home that exists or the state file that a new one begins
    with decides (unless the command has nothing to do with a home); else it is SFace, or, if that
    is not installed or damaged, HOG with one line that says so.
    """
    size = settings["size"]
    return FaceFinder(
        detector=settings["detector"],
        size=size if settings["detector"] == "yunet" or settings.was_given("size") else None,
        kind=_features(settings, _stored_learner(settings) if for_home else None),
        model=settings["model"],
        provider=settings["provider"],
        min_size=settings["min_size"],
    )


def _features(settings: Settings, stored: OnlineHarmonicLearner | None) -> FeatureKind:
    """The kind of features, from the settings or from what was stored."""
    if settings.was_given("features"):
        return cast("FeatureKind", settings["features"])
    if stored is not None:
        kind = kind_of(stored.features)
        if kind == "embedding" and settings["model"] is None:
            raise Incompatible(
                f"{settings['home'] or settings['state']} was built with features "
                f"{stored.features!r}: give that model with --features embedding --model FILE, or "
                "start a new --home and enrol the people again from their pictures"
            )
        return kind
    if settings.was_given("model"):
        return "embedding"
    if settings["detector"] == "haar":
        return "pixels"  # it finds no landmarks, and the paper has both
    try:
        SFACE_INT8.read()
    except ModelError as error:
        print_problem(f"{error}; until then faces are compared without a model (--features hog)")
        return "hog"
    return "sface"


def _stored_learner(settings: Settings) -> OnlineHarmonicLearner | None:
    """What an existing home was made with, or the state file that a new one begins with."""
    home, state = settings["home"], settings["state"]
    if home is not None and is_home(home):
        return learner_like(home, face_distances())
    return None if state is None else transfer.read(state, face_distances()).learner


def new_learner(settings: Settings, finder: FaceFinder) -> OnlineHarmonicLearner:
    """A learner that knows nobody."""
    scale = new_scale(finder.kind, trust_radius(settings["trust_radius"], finder.kind))
    scale = Scale(settings["bandwidth"] or scale.bandwidth, settings["cutoff"] or scale.cutoff)
    kernel = HeatKernel(*scale, finder.features.distance)
    return OnlineHarmonicLearner(
        kernel,
        max_vertices=settings["vertices"],
        quantizer=FACE_QUANTIZER,
        features=finder.features.tag,
        trust_radius=trust_radius(settings["trust_radius"], finder.kind, scale),
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
