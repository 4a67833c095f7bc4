"""`onlooker serve`: cameras, learner and pages that run for months.

What `onlooker serve` takes, beside what it shares with other commands.

From settings to a service: the home with its learner, the people in a folder, the finder.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Annotated

import typer

from onlooker.cli.alerts import Alerts
from onlooker.cli.cluster import sites_of
from onlooker.cli.homes import tell_left_out
from onlooker.cli.options import (
    BandwidthOption,
    CutoffOption,
    DetectorOption,
    FeaturesOption,
    ModelOption,
    OneEachOption,
    PeopleOption,
    VerticesOption,
    one_line,
)
from onlooker.cli.recognizers import Workshop, existing_folder, finder_from
from onlooker.cli.settings import Settings, settings
from onlooker.cli.watch import INTERRUPTED
from onlooker.core.errors import BadValue
from onlooker.core.learner import OnlineHarmonicLearner
from onlooker.home.home import Home
from onlooker.home.taught import Register
from onlooker.recognition.enrolment import Enrolment, Example, people_in
from onlooker.strangers.book import StrangerBook
from onlooker.vision.finder import FaceFinder
from onlooker.web.frames import LiveRecognizer
from onlooker.web.server import share_one_heap
from onlooker.web.service import Service

if TYPE_CHECKING:
    from onlooker.web.routes.sites import Sites
    from onlooker.web.service import Service


SourcesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE",
        help="0 (a camera), rtsp://..., video.mp4, a folder; door=0 names it. More can come later.",
        show_default=False,
    ),
]
HomeOption = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="Keeps all that was learned; made if not there."),
]
AdoptOption = Annotated[
    Path | None,
    typer.Option("--state", metavar="FILE", help="Of `watch`: a new home begins with it."),
]
HostOption = Annotated[
    str, typer.Option("--host", help="Where to listen; beyond 127.0.0.1 all needs the token.")
]
PortOption = Annotated[int, typer.Option("--port", min=1, max=65535, help="Where to listen.")]
AllowOption = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="NAME", help="Another name this computer is reached by."),
]
FolderOption = Annotated[
    list[Path] | None,
    typer.Option("--folder", metavar="DIR", help="Recordings in it may be added as cameras."),
]
WebhookOption = Annotated[
    str | None,
    typer.Option("--webhook", metavar="URL", help="Is told of each new stranger, once."),
]
MqttOption = Annotated[
    str | None,
    typer.Option(
        "--mqtt",
        metavar="URL",
        help="The same for Home Assistant: mqtt://[user@]host[:port][/prefix], or mqtts. "
        "The password is in ONLOOKER_MQTT_PASSWORD.",
    ),
]
PasswordOption = Annotated[
    Path | None,
    typer.Option("--mqtt-password-file", metavar="FILE", help="Or in the first line of a file."),
]
NewTokenOption = Annotated[
    bool, typer.Option("--new-token", help="Make another token; the old one is void.")
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="HOST:PORT|FILE",
        help="Of a Ray, or the configuration: the page shows its sites.",
    ),
]


NEEDED = {"fastapi": "web", "uvicorn": "web", "websockets": "web", "paho": "mqtt"}
"""The extra that brings it."""


def serve(
    sources: SourcesArgument = None,
    home: HomeOption = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8765,
    people: PeopleOption = None,
    state: AdoptOption = None,
    features: FeaturesOption = None,
    model: ModelOption = None,
    bandwidth: BandwidthOption = None,
    cutoff: CutoffOption = None,
    vertices: VerticesOption = None,
    detector: DetectorOption = None,
    one_each: OneEachOption = None,
    allow: AllowOption = None,
    folder: FolderOption = None,
    webhook: WebhookOption = None,
    mqtt: MqttOption = None,
    mqtt_password_file: PasswordOption = None,
    new_token: NewTokenOption = False,
    cluster: ClusterOption = None,
) -> None:
    """Watch cameras, learn, and answer programs and pages, until Ctrl-C or SIGTERM.

    Nothing that was acknowledged is lost, whatever happens. A new home begins with what the state
    file of `watch` knows, if there is one. The token is printed once, at the first start;
    whatever changes something needs it. Who is in the folder of people is taught once: whoever
    is forgotten stays so.

    Example: onlooker serve 0 --home home/ --people people/

    Example: onlooker serve door=rtsp://10.0.0.5/1 --home home/ --host 0.0.0.0 --allow box.local
    """
    chosen = settings(
        home=home,
        people=people,
        state=state,
        features=features,
        model=model,
        bandwidth=bandwidth,
        cutoff=cutoff,
        vertices=vertices,
        detector=detector,
        one_each=one_each,
    )
    if chosen["home"] is None:
        raise typer.BadParameter("where to keep what is learned? Give --home DIR")
    try:
        alerts = Alerts(webhook, mqtt, mqtt_password_file)
        with (
            sites_of(cluster) as sites,
            _listening(host, port) as ours,
            _service(chosen, folder or [], alerts) as service,
        ):
            for source in sources or []:
                service.cameras.watch(source)
            for words in service.cameras.resume():
                print(f"onlooker: {one_line(words)}", file=sys.stderr)
            _serve(service, ours, Path(chosen["home"]), host, allow or [], new_token, sites)
    except ModuleNotFoundError as error:
        extra = NEEDED.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        print(
            f"onlooker: serve needs {error.name}, not installed here: "
            f'pip install "onlooker[{extra}]"',
            file=sys.stderr,
        )
        raise typer.Exit(2) from error


def _listening(host: str, port: int) -> socket:
    from onlooker.web.server import listening

    return listening(host, port)


def _service(
    chosen: Settings, folders: Sequence[Path], alerts: Alerts
) -> AbstractContextManager["Service"]:
    # MOVED

    return opened_service(Path(chosen["home"]), chosen, folders, alerts)


def _serve(
    service: "Service",
    ours: socket,
    home: Path,
    host: str,
    allow: Sequence[str],
    new_token: bool,
    sites: "Sites",
) -> None:
    """Until somebody ends it."""
    from onlooker.recognition.pipeline import undisturbed
    from onlooker.web.app import create_app
    from onlooker.web.auth import Door, Guard, Token
    from onlooker.web.server import Server, is_loopback

    try:
        # A token that was made must be told, and the code that builds the routes swallows Ctrl-C.
        with undisturbed():
            token, text = Token.in_folder(home, new=new_token)
            guard = Guard(Door(token), hosts=[host, *allow], public=not is_loopback(host))
            server = Server(
                create_app(service, guard=guard, sites=sites), before_end=service.broadcast.close
            )
            named = f"[{host.strip('[]')}]" if ":" in host else host
            _tell(f"http://{named}:{ours.getsockname()[1]}/", text)
        server.run([ours])
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def _tell(where: str, token: str | None) -> None:
    """The address, and the token if it is new."""
    print(f"onlooker: listening on {one_line(where)}; Ctrl-C ends it", file=sys.stderr)
    if token is not None:
        print(
            f"onlooker: the token, shown this once: {token}\n"
            f"onlooker: to use the page, open {one_line(where)}login?token={token}",
            file=sys.stderr,
            flush=True,
        )


@contextmanager
def opened_service(
    home: Path, chosen: Settings, folders: Sequence[Path], alerts: Alerts
) -> Iterator[Service]:
    """A running service, closed however the block ends."""
    share_one_heap()
    finder, workshop = finder_from(chosen), Workshop(chosen)
    recognizer = LiveRecognizer(
        detect=finder.detect,
        features=finder.features,
        judge=finder.judge,
        one_each=chosen["one_each"],
    )
    folders = [existing_folder(folder, "recordings") for folder in folders]
    people = _enrolled(finder, workshop, chosen["people"])
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
        visitors = partial(StrangerBook, folder=home, alert=alerts if alerts.wanted else None)
        yield stack.enter_context(
            Service(
                open_home,
                visitors,
                recognizer,
                folders=folders,
                troubles=alerts.problems,
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


def _enrolled(
    finder: FaceFinder, workshop: Workshop, folder: str | None
) -> dict[str, list[Example]]:
    """Everybody in the folder; what is wrong with it is found before the home is changed."""
    if folder is None:
        return {}
    learner = workshop.new_learner()
    find = Enrolment(finder.detect, finder.features, finder.judge, learner.kernel)
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
