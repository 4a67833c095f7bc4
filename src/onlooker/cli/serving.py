"""From settings to a station: the home with its learner, the people in a folder, the eyes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from onlooker.cli.building import Workshop, existing_folder, eyes_of
from onlooker.cli.settings import Settings
from onlooker.errors import BadValue
from onlooker.faces.home import Home
from onlooker.faces.visitors import Visitors
from onlooker.faces.webhook import Webhook
from onlooker.online import OnlineHarmonicLearner
from onlooker.web.sight import Sight
from onlooker.web.station import Station


@contextmanager
def opened_station(
    home: Path, chosen: Settings, folders: Sequence[Path], webhook: str | None
) -> Iterator[Station]:
    """A running station, closed however the block ends."""
    eyes, workshop = eyes_of(chosen), Workshop(chosen)
    sight = Sight(
        detect=eyes.detect, features=eyes.features, judge=eyes.judge, one_each=chosen["one_each"]
    )
    folders = [existing_folder(folder, "recordings") for folder in folders]
    taught = _enrolled(workshop, chosen["people"])
    state = Path(chosen["state"]) if chosen["state"] else None
    adopt = state if state is not None and state.exists() else None

    def open_home() -> Home:
        opened = Home(home, new_learner=workshop.new_learner, adopt=adopt)
        try:
            _refuse_other_numbers(opened.learner, chosen, home)
            _teach(opened, taught)
        except BaseException:
            opened.close()
            raise
        return opened

    with ExitStack() as stack:
        alert = None
        if webhook is not None:
            alert = Webhook(webhook)
            stack.callback(alert.close)
        visitors = partial(Visitors, folder=home, alert=alert)
        yield stack.enter_context(Station(open_home, visitors, sight, folders=folders))


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


def _enrolled(workshop: Workshop, people: str | None) -> OnlineHarmonicLearner:
    """Everybody in the folder, in a learner of their own: what is wrong is found before."""
    learner = workshop.new_learner()
    if people is not None:
        workshop.recognizer(learner).enrol_folder(existing_folder(Path(people)))
    return learner


def _teach(home: Home, taught: OnlineHarmonicLearner) -> None:
    """What the home does not know yet."""
    known = home.vertices()
    there = {
        (vector.tobytes(), name) for vector, name in zip(known.vectors, known.names, strict=True)
    }
    new = taught.vertices()
    for vector, name in zip(new.vectors, new.names, strict=True):
        if name is not None and (vector.tobytes(), name) not in there:
            home.teach(vector, name)
