"""What `onlooker serve` takes, beside what it shares with other commands."""

from pathlib import Path
from typing import Annotated

import typer

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
