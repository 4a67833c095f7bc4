"""From settings to a station: the home with its learner, the people in a folder, the eyes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from onlooker.cli.alerts import Alerts
from onlooker.cli.building import Workshop, existing_folder, eyes_of
from onlooker.cli.opening import tell_left_out
from onlooker.cli.settings import Settings
from onlooker.core.errors import BadValue
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.home.home import Home
from onlooker.home.taught import Register
from onlooker.recognition.enrolment import Enrolment, Example, people_in
from onlooker.strangers.book import Visitors
from onlooker.vision.finder import Eyes
from onlooker.web.frames import Sight
from onlooker.web.server import share_one_heap
from onlooker.web.service import Station


@contextmanager
def opened_station(
    home: Path, chosen: Settings, folders: Sequence[Path], alerts: Alerts
) -> Iterator[Station]:
    """A running station, closed however the block ends."""
    share_one_heap()
    eyes, workshop = eyes_of(chosen), Workshop(chosen)
    sight = Sight(
        detect=eyes.detect, features=eyes.features, judge=eyes.judge, one_each=chosen["one_each"]
    )
    folders = [existing_folder(folder, "recordings") for folder in folders]
    people = _enrolled(eyes, workshop, chosen["people"])
    state = Path(chosen["state"]) if chosen["state"] else None
    adopt = state if state is not None and state.exists() else None

    def open_home() -> Home:
        opened = Home(home, new_learner=workshop.new_learner, adopt=adopt)
        try:
            _refuse_other_numbers(opened.learner, chosen, home)
            register = Register(home)
            tell_left_out(teach(opened, people, register))
        except BaseException:
            opened.close()
            raise
        alerts.begin(register.identity)
        return opened

    with ExitStack() as stack:
        stack.callback(alerts.close)
        visitors = partial(Visitors, folder=home, alert=alerts if alerts.wanted else None)
        yield stack.enter_context(
            Station(
                open_home,
                visitors,
                sight,
                folders=folders,
                troubles=alerts.troubles,
                camera_folder=home,
            )
        )


def _refuse_other_numbers(known: OnlineHarmonicLearner, chosen: Settings, home: Path) -> None:
    """A number that somebody asked for is in force or refused, never ignored."""
    kept: Mapping[str, float] = {
        "bandwidth": known.kernel.bandwidth,
        "cutoff": known.kernel.cutoff,
        "vertices": known.max_vertices,
    }
    for key, value in kept.items():
        if chosen.was_given(key) and chosen[key] != value:
            raise BadValue(
                f"{home} was built with {key} {value:g}, {chosen.origins[key]} says "
                f"{chosen[key]:g}; leave it out, or choose another --home"
            )


def _enrolled(eyes: Eyes, workshop: Workshop, folder: str | None) -> dict[str, list[Example]]:
    """Everybody in the folder; what is wrong with it is found before the home is changed."""
    if folder is None:
        return {}
    learner = workshop.new_learner()
    find = Enrolment(eyes.detect, eyes.features, eyes.judge, learner.kernel)
    people = find.everybody(people_in(existing_folder(Path(folder))))
    for name, examples in people.items():
        for example in examples:
            learner.teach(example.vector, name)  # which refuses one face of two people
    return people


def teach(home: Home, people: Mapping[str, Sequence[Example]], register: Register) -> list[str]:
    """Teach what the home was never taught before: the names that are left out altogether.

    A single face that was called wrong is not taught again either.
    """
    vertices, known = home.vertices(), home.learner.names
    there = set(zip((row.tobytes() for row in vertices.vectors), vertices.names, strict=True))
    left_out = register.left_out(people, known)
    for name, examples in people.items():
        if name in left_out:
            continue
        for example in examples:
            place = (example.vector.tobytes(), name)
            if place not in there and not register.knows(name, example.vector):
                home.teach(example.vector, name, picture=example.png)
                there.add(place)
            register.add(name, example.vector)
    register.save()
    return left_out
