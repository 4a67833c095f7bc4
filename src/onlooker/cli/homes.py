"""Opening a home for a command, with or without its strangers, and teaching faces to it.

A home is the one place where commands store what was learned. A state file is what `export`
writes: a new home can begin with one, and so it can with a file that an earlier version of `watch`
saved.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from onlooker.cli.output import print_problem, print_problems
from onlooker.cli.recognizers import PeopleFaces, new_learner
from onlooker.cli.settings import Settings, load_settings
from onlooker.core.errors import BadValue, Incompatible
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.core.similarity import HeatKernel
from onlooker.home import transfer
from onlooker.home.home import FaceToTeach, Home
from onlooker.home.reopen import is_home, learner_like, reopen
from onlooker.recognition.pipeline import deferred_signals
from onlooker.strangers.book import StrangerBook
from onlooker.vision.finder import FaceFinder, face_distances
from onlooker.vision.scales import FeatureKind, Scale, safer_scale, trust_radius

HomeOption = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="The home; no service may use it now."),
]
ServedHomeOption = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="The home; its service may be running."),
]
NewHomeOption = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="Stores everything learned; made if absent."),
]
StateOption = Annotated[
    Path | None,
    typer.Option("--state", metavar="FILE", help="An exported file that a new home begins with."),
]


# ---- a home that exists


def home_folder(home: Path | None) -> Path:
    """The folder of the home, from the option or the settings."""
    chosen = load_settings(home=home)["home"]
    if chosen is None:
        raise typer.BadParameter("which home? Give --home DIR")
    return Path(chosen)


@contextmanager
def open_existing(home: Path | None) -> Iterator[Home]:
    """A home for the duration of the block, which Ctrl-C does not interrupt; reports problems."""
    folder = home_folder(home)
    learner_like(folder, face_distances())  # fails before a lock is made where no home is
    with deferred_signals(), reopen(folder, face_distances()) as found:
        yield found
        print_problems(found.problems)


@contextmanager
def open_with_strangers(home: Path | None) -> Iterator[StrangerBook]:
    """The same with its strangers, without those that have expired."""
    with open_existing(home) as found, StrangerBook(found) as book:
        book.expire()
        yield book
        print_problems(book.problems)


# ---- a home that may be new


def open_or_create(settings: Settings, finder: FaceFinder) -> Home:
    """Open the home of the settings; a new one begins with the state file, if one is given.

    A home or a file that does not fit the settings is refused before anything is made or changed.
    """
    folder = Path(settings["home"])
    if is_home(folder):
        _refuse_mismatch(learner_like(folder, face_distances()), settings, finder, "home")
    elif settings["state"] is not None:
        read_state(settings, finder)
        transfer.import_into(folder, settings["state"], face_distances())
    return Home(folder, new_learner=lambda: new_learner(settings, finder))


def read_state(settings: Settings, finder: FaceFinder) -> OnlineHarmonicLearner:
    """The learner in the state file, in memory only."""
    learner = transfer.read(settings["state"], face_distances()).learner
    _refuse_mismatch(learner, settings, finder, "state")
    return learner


def _refuse_mismatch(
    learner: OnlineHarmonicLearner, settings: Settings, finder: FaceFinder, key: str
) -> None:
    """A setting that differs from what a learner was made with is an error, never ignored."""
    where = f"{settings[key]} was built with"
    if learner.features != finder.features.tag:
        raise Incompatible(
            f"{where} features {learner.features!r}, not {finder.features.tag!r}; leave out "
            f"--features, or name a new --{key} and enrol the people again from their pictures"
        )
    stored: Mapping[str, float] = {
        "bandwidth": learner.kernel.bandwidth,
        "cutoff": learner.kernel.cutoff,
        "vertices": learner.max_vertices,
    }
    for name, value in stored.items():
        if settings.was_given(name) and settings[name] != value:
            raise BadValue(
                f"{where} {name} {value:g}, {settings.origins[name]} says {settings[name]:g}; "
                f"leave it out, or choose another --{key}"
            )
    radius = trust_radius(settings["trust_radius"], finder.kind, Scale.of(learner.kernel))
    if settings.was_given("trust_radius") and radius != learner.trust_radius:
        own = "off" if learner.trust_radius is None else f"{learner.trust_radius:g}"
        origin, said = settings.origins["trust_radius"], settings["trust_radius"]
        raise BadValue(
            f"{where} trust radius {own} and keeps it, {origin} says {said}; leave it out, or "
            f"choose another --{key}"
        )


def warn_of_chains(kind: FeatureKind, kernel: HeatKernel) -> None:
    """One line on stderr where the kernel in force is too near to the cliff, or beyond it."""
    safe = safer_scale(kind, Scale.of(kernel))
    if safe is not None:
        print_problem(
            f"warning: with bandwidth {kernel.bandwidth:g} and cutoff {kernel.cutoff:g}, strangers "
            "may be named through chains of other strangers; use a new home with bandwidth "
            f"{safe.bandwidth:g} and cutoff {safe.cutoff:.2g} or more (see `onlooker calibrate`)"
        )


# ---- teaching


def teach_new(home: Home, people: PeopleFaces) -> dict[str, int]:
    """Teach the faces that do not have that name yet, all or none; how many new ones each has.

    A face that has another name is an error. A person who was forgotten is known again: here the
    user names them. Afterwards no folder teaches these faces a second time.
    """
    faces = to_teach(people)
    with deferred_signals(), home.batch():
        taught = home.teach_all(faces)
        home.taught.add(faces)
    return taught


def teach_once(home: Home, people: PeopleFaces) -> list[str]:
    """Teach the faces of a folder that the home was never taught; return the names left out."""
    with deferred_signals():
        return home.teach_once(to_teach(people))


def to_teach(people: PeopleFaces) -> list[FaceToTeach]:
    """The faces of all people, with their names."""
    return [
        FaceToTeach(name, face.vector, face.png) for name, faces in people.items() for face in faces
    ]
