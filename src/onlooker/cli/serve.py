"""`onlooker serve`: cameras, learner and web pages that run for months.

The command and its options, then the service itself: a home with its learner, the people of a
folder, the cameras. Whatever needs the extra `web` is imported when the command runs, so that the
other commands work without it and start quickly.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Annotated

import typer

from onlooker.alerts.channels import Alerts
from onlooker.cli.alerts import print_and_send_alarm
from onlooker.cli.cluster import sites_of
from onlooker.cli.homes import (
    NewHomeOption,
    ServedHomeOption,
    StateOption,
    home_folder,
    open_or_create,
    teach_once,
    warn_of_chains,
)
from onlooker.cli.logs import LogFileOption, LogJsonOption, logging_to
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
    print_left_out,
    print_problem,
    requires,
)
from onlooker.cli.recognizers import existing_folder, faces_in_folder, finder_from
from onlooker.cli.settings import Settings, load_settings
from onlooker.core.errors import NotFound
from onlooker.home.home import Home
from onlooker.home.reopen import learner_like
from onlooker.recognition.pipeline import deferred_signals
from onlooker.strangers.book import StrangerBook
from onlooker.vision.finder import face_distances

if TYPE_CHECKING:
    from onlooker.web.auth import Guard
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
    typer.Option("--host", help="Address to listen on; 0.0.0.0 for all of this computer."),
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
    typer.Option("--webhook", metavar="URL", help="Post alerts: strangers, alarms, cameras."),
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
ProxyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--trusted-proxy",
        metavar="ADDRESS=WHAT",
        help="A reverse proxy, and which X-Forwarded- headers it sets: for,proto,host,prefix.",
    ),
]
CertificateOption = Annotated[
    Path | None,
    typer.Option("--tls-cert", metavar="FILE", help="Serve with TLS: a certificate (PEM)."),
]
KeyOption = Annotated[
    Path | None,
    typer.Option("--tls-key", metavar="FILE", help="Its key, if it is not in the same file."),
]
NewTokenOption = Annotated[
    bool,
    typer.Option(
        "--new-token",
        help="Print a new token for programs; the old one, sessions and links stop working.",
    ),
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
    trusted_proxy: ProxyOption = None,
    tls_cert: CertificateOption = None,
    tls_key: KeyOption = None,
    cluster: ClusterOption = None,
    log_json: LogJsonOption = False,
    log_file: LogFileOption = None,
) -> None:
    """Watch cameras, learn, and serve a web page and a REST API, until Ctrl-C or SIGTERM.

    Every change is on the disk before it is acknowledged. A new home begins with the contents of
    the --state file. The link that is printed signs a browser in, once; `onlooker login` prints
    another, and the token for programs. The folder of people is taught once: a person who was
    forgotten since is not taught again.

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
    if tls_key is not None and tls_cert is None:
        raise typer.BadParameter("--tls-key needs --tls-cert")
    with requires("serve", REQUIRED):
        from onlooker.web.auth import Guard, TrustedProxy
        from onlooker.web.credentials import Credentials
        from onlooker.web.server import is_loopback, listening_socket

        folders, folder_of_home = folder or [], Path(chosen["home"])
        proxies = [TrustedProxy.parse(each) for each in trusted_proxy or []]
        alerts = Alerts(webhook, mqtt, mqtt_password_file)
        with (
            logging_to(log_file, as_json=log_json) as say,
            sites_of(cluster) as sites,
            listening_socket(host, port) as listener,
            opened_service(folder_of_home, chosen, folders, alerts) as service,
        ):
            for source in sources or []:
                service.cameras.watch(source)
            for problem in service.cameras.resume():
                say(problem)
            guard = Guard(
                Credentials(folder_of_home),
                hosts=[host, *(allow or [])],
                public=not is_loopback(host),
                proxies=proxies,
            )
            _serve(service, listener, guard, host, (tls_cert, tls_key), sites, say)


def _serve(
    service: "Service",
    listener: socket,
    guard: "Guard",
    host: str,
    tls: tuple[Path | None, Path | None],
    sites: "ListSites",
    say: Callable[[str], None],
) -> None:
    """Answer requests until the process is interrupted."""
    from onlooker.web.app import create_app
    from onlooker.web.credentials import new_code, write_address
    from onlooker.web.server import Server

    certificate, key = tls
    home = guard.credentials.folder
    try:
        # The code that builds the routes swallows Ctrl-C.
        with deferred_signals():
            server = Server(
                create_app(service, guard=guard, list_sites=sites),
                before_shutdown=service.broadcast.close,
                certificate=certificate,
                key=key,
            )
            named = f"[{host.strip('[]')}]" if ":" in host else host
            scheme = "http" if certificate is None else "https"
            address = f"{scheme}://{named}:{listener.getsockname()[1]}/"
            write_address(home, address)
            say(f"listening on {address} (Ctrl-C ends it)")
            say(_link_text(address, new_code(home)))
        server.run([listener])
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def _link_text(address: str, code: str) -> str:
    return f"to use the page, open {address}#login={code} (once, within 15 minutes)"


def login(home: ServedHomeOption = None, new_token: NewTokenOption = False) -> None:
    """Print a link that signs a browser in at the service of a home, once, within 15 minutes.

    Whoever may write into the home may do this. With --new-token, print a token for programs
    instead: they send it in the header "Authorization: Bearer TOKEN".

    Example: onlooker login --home home/
    """
    folder = home_folder(home)
    learner_like(folder, face_distances())  # fails where no home is
    with requires("login", REQUIRED):
        from onlooker.web.credentials import Token, new_code, read_address

        if new_token:
            _, text = Token.in_folder(folder, new=True)
            print(text)
            return
        address = read_address(folder)
        if address is None:
            raise NotFound(
                f"no service was started for {folder} yet; start it: onlooker serve --home {folder}"
            )
        print_problem(_link_text(address, new_code(folder)))


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
            opened.on_alarm = partial(print_and_send_alarm, alerts)
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
                on_camera=alerts.camera,
            )
        )
