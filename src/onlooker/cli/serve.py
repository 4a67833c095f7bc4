"""`onlooker serve`: cameras, learner and web pages that run for months.

The command and its options, then the service itself: a home with its learner, the people of a
folder, the cameras. Whatever needs the extra `web` is imported when the command runs, so that the
other commands work without it and start quickly.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Annotated

import typer

from onlooker.cli.alerts import Alerts
from onlooker.cli.cluster import sites_of
from onlooker.cli.homes import (
    NewHomeOption,
    StateOption,
    open_or_create,
    teach_once,
    warn_of_chains,
)
from onlooker.cli.options import (
    BandwidthOption,
    CutoffOption,
    DetectorOption,
    FeaturesOption,
    ModelOption,
    OneEachOption,
    PeopleOption,
    ProviderOption,
    TrustRadiusOption,
    VerticesOption,
)
from onlooker.cli.output import (
    INTERRUPTED,
    one_line,
    print_left_out,
    print_problems,
    requires,
)
from onlooker.cli.recognizers import existing_folder, faces_in_folder, finder_from
from onlooker.cli.settings import Settings, load_settings
from onlooker.home.home import Home
from onlooker.recognition.pipeline import deferred_signals
from onlooker.strangers.book import StrangerBook

if TYPE_CHECKING:
    from onlooker.web.routes.sites import ListSites
    from onlooker.web.service import Service


SourcesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE",
        help="0 (a camera), rtsp://..., video.mp4, a folder; door=0 names it. Add more later.",
        show_default=False,
    ),
]
HostOption = Annotated[
    str,
    typer.Option(
        "--host", help="Address to listen on; other than 127.0.0.1, reading needs the token too."
    ),
]
PortOption = Annotated[int, typer.Option("--port", min=1, max=65535, help="Port to listen on.")]
AllowOption = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="NAME", help="Another host name of this computer."),
]
FolderOption = Annotated[
    list[Path] | None,
    typer.Option("--folder", metavar="DIR", help="Recordings in DIR may be added as cameras."),
]
WebhookOption = Annotated[
    str | None,
    typer.Option("--webhook", metavar="URL", help="Post an alert for each new stranger."),
]
MqttOption = Annotated[
    str | None,
    typer.Option(
        "--mqtt",
        metavar="URL",
        help="The same for Home Assistant: mqtt://[user@]host[:port][/prefix], or mqtts. "
        "The password is read from ONLOOKER_MQTT_PASSWORD.",
    ),
]
PasswordOption = Annotated[
    Path | None,
    typer.Option(
        "--mqtt-password-file", metavar="FILE", help="Read it from the first line of FILE."
    ),
]
NewTokenOption = Annotated[
    bool, typer.Option("--new-token", help="Make a new token; the old one stops working.")
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="HOST:PORT|FILE",
        help="A Ray, or a cluster configuration: the page shows its sites.",
    ),
]

REQUIRED = {"fastapi": "web", "uvicorn": "web", "websockets": "web", "paho": "mqtt"}
"""The packages that `serve` needs, and the extra that installs each."""


def serve(
    sources: SourcesArgument = None,
    home: NewHomeOption = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8765,
    people: PeopleOption = None,
    state: StateOption = None,
    features: FeaturesOption = None,
    model: ModelOption = None,
    provider: ProviderOption = None,
    bandwidth: BandwidthOption = None,
    cutoff: CutoffOption = None,
    vertices: VerticesOption = None,
    trust_radius: TrustRadiusOption = None,
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
    """Watch cameras, learn, and serve a web page and a REST API, until Ctrl-C or SIGTERM.

    Every change is on the disk before it is acknowledged. A new home begins with the contents of
    the --state file. The token is printed once, at the first start; every request that changes
    something needs it. The folder of people is taught once: a person who was forgotten since is
    not taught again.

    Example: onlooker serve 0 --home home/ --people people/

    Example: onlooker serve door=rtsp://10.0.0.5/1 --home home/ --host 0.0.0.0 --allow box.local
    """
    chosen = load_settings(
        home=home,
        people=people,
        state=state,
        features=features,
        model=model,
        provider=provider,
        bandwidth=bandwidth,
        cutoff=cutoff,
        vertices=vertices,
        trust_radius=trust_radius,
        detector=detector,
        one_each=one_each,
    )
    if chosen["home"] is None:
        raise typer.BadParameter("where to store what is learned? Give --home DIR")
    with requires("serve", REQUIRED):
        from onlooker.web.server import listening_socket

        alerts = Alerts(webhook, mqtt, mqtt_password_file)
        with (
            sites_of(cluster) as sites,
            listening_socket(host, port) as listener,
            opened_service(Path(chosen["home"]), chosen, folder or [], alerts) as service,
        ):
            for source in sources or []:
                service.cameras.watch(source)
            print_problems(service.cameras.resume())
            _serve(service, listener, Path(chosen["home"]), host, allow or [], new_token, sites)


def _serve(
    service: "Service",
    listener: socket,
    home: Path,
    host: str,
    allow: Sequence[str],
    new_token: bool,
    sites: "ListSites",
) -> None:
    """Answer requests until the process is interrupted."""
    from onlooker.web.app import create_app
    from onlooker.web.auth import Guard, Token, TokenChecker
    from onlooker.web.server import Server, is_loopback

    try:
        # A token that was made must be printed, and the code that builds the routes swallows
        # Ctrl-C.
        with deferred_signals():
            token, text = Token.in_folder(home, new=new_token)
            guard = Guard(TokenChecker(token), hosts=[host, *allow], public=not is_loopback(host))
            server = Server(
                create_app(service, guard=guard, list_sites=sites),
                before_shutdown=service.broadcast.close,
            )
            named = f"[{host.strip('[]')}]" if ":" in host else host
            _print_address(f"http://{named}:{listener.getsockname()[1]}/", text)
        server.run([listener])
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def _print_address(address: str, token: str | None) -> None:
    """The address, and the token if it is new."""
    print(f"onlooker: listening on {one_line(address)}; Ctrl-C ends it", file=sys.stderr)
    if token is not None:
        print(
            f"onlooker: the token, shown this once: {token}\n"
            f"onlooker: to use the page, open {one_line(address)}login?token={token}",
            file=sys.stderr,
            flush=True,
        )


@contextmanager
def opened_service(
    home: Path, chosen: Settings, folders: Sequence[Path], alerts: Alerts
) -> Iterator["Service"]:
    """A running service, closed however the block ends."""
    from onlooker.web.frames import LiveRecognizer
    from onlooker.web.server import limit_malloc_arenas
    from onlooker.web.service import Service

    limit_malloc_arenas()
    finder = finder_from(chosen)
    recognizer = LiveRecognizer(finder, one_each=chosen["one_each"])
    folders = [existing_folder(folder, "recordings") for folder in folders]
    people = faces_in_folder(chosen, finder)

    def open_home() -> Home:
        opened = open_or_create(chosen, finder)
        try:
            print_left_out(teach_once(opened, people))
            warn_of_chains(finder.kind, opened.learner.kernel)
            alerts.begin(opened.taught.identity)
        except BaseException:
            opened.close()
            raise
        return opened

    with ExitStack() as stack:
        stack.callback(alerts.close)
        book = partial(StrangerBook, alert=alerts if alerts.wanted else None)
        yield stack.enter_context(
            Service(
                open_home,
                book,
                recognizer,
                folders=folders,
                alert_problems=alerts.problems,
            )
        )
