"""`onlooker serve`: cameras, learner and pages that run for months."""

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING

import typer

from onlooker.cli.alerts import Alerts
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
from onlooker.cli.serve_options import (
    AdoptOption,
    AllowOption,
    ClusterOption,
    FolderOption,
    HomeOption,
    HostOption,
    MqttOption,
    NewTokenOption,
    PasswordOption,
    PortOption,
    SourcesArgument,
    WebhookOption,
)
from onlooker.cli.settings import Settings, settings
from onlooker.cli.site_view import sites_of
from onlooker.cli.watch import INTERRUPTED

if TYPE_CHECKING:
    from onlooker.web.routes.sites import Sites
    from onlooker.web.service import Station

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
            _station(chosen, folder or [], alerts) as station,
        ):
            for source in sources or []:
                station.cameras.watch(source)
            for words in station.cameras.resume():
                print(f"onlooker: {one_line(words)}", file=sys.stderr)
            _serve(station, ours, Path(chosen["home"]), host, allow or [], new_token, sites)
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


def _station(
    chosen: Settings, folders: Sequence[Path], alerts: Alerts
) -> AbstractContextManager["Station"]:
    from onlooker.cli.serving import opened_station

    return opened_station(Path(chosen["home"]), chosen, folders, alerts)


def _serve(
    station: "Station",
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
                create_app(station, guard=guard, sites=sites), before_end=station.hub.close
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
